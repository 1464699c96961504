"""A controller that serves a webhook in its own process: `gates.py [--fixed]`, standard library only.

Of each Gate it makes a ConfigMap, and then writes `spec.locked` into the Gate. Every update of a Gate has to be approved
by its own webhook (`failurePolicy: Fail`).

As written, it looks after the Gates that are there before its webhook listens. The first time there are none. Started
again, it can't update a Gate: the API server reaches nobody, and refuses. It logs that, goes on, and does not come back
to that Gate. Fixed: the webhook listens first.
"""

import http.server
import json
import os
import pathlib
import ssl
import sys
import threading
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).parent
FIXED = "--fixed" in sys.argv[1:]
ACCOUNT = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
GATES = "/apis/planted.trommel.dev/v1/namespaces/default/gates"
API = f"https://{os.environ['KUBERNETES_SERVICE_HOST']}:{os.environ['KUBERNETES_SERVICE_PORT']}"
TRUST = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))


def call(method, path, body=None):
    """An answer of the API, still to be read."""
    headers = {
        "Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}",
        "Content-Type": "application/json",
        "User-Agent": "gates",
    }
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(API + path, data, headers, method=method)
    return urllib.request.urlopen(request, context=TRUST)


def look_after(gate):
    """Brings one Gate to where it is locked."""
    if gate["spec"].get("locked"):
        return
    name = gate["metadata"]["name"]
    lock = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"lock-{name}"}}
    try:
        call("POST", "/api/v1/namespaces/default/configmaps", lock).read()
    except urllib.error.HTTPError as refused:
        if refused.code != 409:
            raise
    gate["spec"]["locked"] = True
    try:
        call("PUT", f"{GATES}/{name}", gate).read()
    except urllib.error.HTTPError as refused:
        print("can't lock", name, json.load(refused)["message"], flush=True)


class Webhook(http.server.BaseHTTPRequestHandler):
    """Approves of every Gate that has a door."""

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        request = json.loads(self.rfile.read(length))["request"]
        allowed = bool(request["object"]["spec"].get("door"))
        response = {"uid": request["uid"], "allowed": allowed}
        if not allowed:
            response["status"] = {"message": "a gate has a door"}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        body = json.dumps(review).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Nothing: the history has it all."""


def listen():
    """Serves the webhook from now on."""
    server = http.server.ThreadingHTTPServer(("", 9443), Webhook)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(HERE / "server.crt", HERE / "server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": None}, daemon=True).start()


def main():
    if FIXED:
        listen()
    found = json.load(call("GET", GATES))
    for gate in found["items"]:
        look_after(gate)
    if not FIXED:
        listen()
    revision = found["metadata"]["resourceVersion"]
    for line in call("GET", f"{GATES}?watch=1&timeoutSeconds=86400&resourceVersion={revision}"):
        event = json.loads(line)
        if event["type"] == "ADDED":
            look_after(event["object"])


if __name__ == "__main__":
    main()

"""A controller that converts its own type in its own process: `doors.py [--fixed]`, standard library only.

Doors are stored in v1, where the one who made them says `spec.wood`; in v2 that is `spec.material`. The controller
lists and watches v2, and writes `spec.hung` into each Door: every Door that it sees has passed through its own webhook.

As written, it lists the Doors that are there before its webhook listens. The first time there are none. Started again,
it asks for a list that nobody can convert, gets an error, and ends; so it does each time. Fixed: the webhook listens
first.
"""

import http.server
import json
import os
import pathlib
import ssl
import sys
import threading
import urllib.request

HERE = pathlib.Path(__file__).parent
FIXED = "--fixed" in sys.argv[1:]
ACCOUNT = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
DOORS = "/apis/planted.trommel.dev/v2/namespaces/default/doors"
API = f"https://{os.environ['KUBERNETES_SERVICE_HOST']}:{os.environ['KUBERNETES_SERVICE_PORT']}"
TRUST = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
NAMES = {"planted.trommel.dev/v1": "wood", "planted.trommel.dev/v2": "material"}


def call(method, path, body=None):
    """An answer of the API, still to be read."""
    headers = {
        "Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}",
        "Content-Type": "application/json",
        "User-Agent": "doors",
    }
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(API + path, data, headers, method=method)
    return urllib.request.urlopen(request, context=TRUST)


def look_after(door):
    """Brings one Door to where it hangs."""
    spec = door["spec"]
    if spec.get("material") and not spec.get("hung"):
        spec["hung"] = True
        call("PUT", f"{DOORS}/{door['metadata']['name']}", door).read()


def convert(door, version):
    """A Door in another version."""
    old, new = NAMES[door["apiVersion"]], NAMES[version]
    spec = {new if field == old else field: value for field, value in door["spec"].items()}
    return {**door, "apiVersion": version, "spec": spec}


class Webhook(http.server.BaseHTTPRequestHandler):
    """Converts all that it is asked about."""

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        request = json.loads(self.rfile.read(length))["request"]
        version = request["desiredAPIVersion"]
        response = {
            "uid": request["uid"],
            "result": {"status": "Success"},
            "convertedObjects": [convert(door, version) for door in request["objects"]],
        }
        review = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "ConversionReview",
            "response": response,
        }
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
    found = json.load(call("GET", DOORS))
    if not FIXED:
        listen()
    for door in found["items"]:
        look_after(door)
    revision = found["metadata"]["resourceVersion"]
    for line in call("GET", f"{DOORS}?watch=1&timeoutSeconds=86400&resourceVersion={revision}"):
        event = json.loads(line)
        if event["type"] == "ADDED":
            look_after(event["object"])


if __name__ == "__main__":
    main()

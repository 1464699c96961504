"""The official client's informers, whose caches are told as lines of JSON: all of it when a line comes on stdin, and
from then on whenever something changed."""

import json
import os
import sys
import threading
from types import SimpleNamespace

from kubernetes import client, config
from kubernetes.informer import ADDED, DELETED, MODIFIED, SharedInformer

asked = threading.Event()
alone = threading.Lock()


def widgets(**arguments):
    """A list with attributes, as the informer expects of it; what is watched comes as it is."""
    answer = client.CustomObjectsApi().list_namespaced_custom_object(
        "example.com", "v1", plural="widgets", **arguments)
    if arguments.get("watch"):
        return answer
    return SimpleNamespace(items=answer["items"],
                           metadata=SimpleNamespace(resource_version=answer["metadata"]["resourceVersion"]))


def told(cached):
    if isinstance(cached, dict):
        meta = cached["metadata"]
        return meta["name"], f'{meta["resourceVersion"]} {cached["spec"]["value"]}'
    return cached.metadata.name, f'{cached.metadata.resource_version} {(cached.data or {}).get("value", "")}'


def tell():
    if asked.is_set():
        with alone:
            held = {name: dict(map(told, each.cache.list())) for name, each in informers.items()}
            print(json.dumps(held), flush=True)


config.load_kube_config(os.environ["KUBECONFIG"])
core = client.CoreV1Api()
informers = {
    "configmaps": SharedInformer(core.list_namespaced_config_map, namespace="default"),
    "selected": SharedInformer(core.list_namespaced_config_map, namespace="default", label_selector="keep=yes"),
    "widgets": SharedInformer(widgets, namespace="default"),
}
for informer in informers.values():
    for event in ADDED, MODIFIED, DELETED:
        informer.add_event_handler(event, lambda _: tell())
    informer.start()
if sys.stdin.readline():
    asked.set()
    tell()
threading.Event().wait()

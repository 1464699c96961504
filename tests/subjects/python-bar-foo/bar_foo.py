"""The Bar/Foo reconciler of examples/bar-foo, with kopf: `bar_foo.py [--fixed]`.

As written, the server chooses the Foo's name, and until kopf has patched the Bar's status nothing knows
it: a controller that is killed between the two makes a second Foo when it is started again. Fixed: the
name follows from the Bar, so a second try finds the first one's Foo and adopts it.
"""

import sys

import kopf
from kubernetes import client, config

GROUP, VERSION = "example.trommel.dev", "v1"
FIXED = "--fixed" in sys.argv[1:]


@kopf.on.startup()
def configure(**_):
    config.load_config()  # KUBECONFIG, or the Pod we run in


@kopf.on.resume(GROUP, VERSION, "bars")
@kopf.on.create(GROUP, VERSION, "bars")
def reconcile(body, spec, status, name, namespace, patch, logger, **_):
    """Brings one Bar to where its status names its Foo."""
    if status.get("objRef"):
        return
    foo = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Foo",
        "metadata": {"name": f"foo-{name}"} if FIXED else {"generateName": "foo-"},
        "spec": {"text": spec["text"]},
    }
    kopf.append_owner_reference(foo, owner=body)
    made = create(foo, namespace, owner=body["metadata"]["uid"])
    logger.info("its Foo is %s", made["metadata"]["name"])
    patch.status["objRef"] = {"name": made["metadata"]["name"]}


def create(foo, namespace, owner):
    """Makes the Foo, or returns the one of that name if it has the same owner."""
    foos = client.CustomObjectsApi()
    where = (GROUP, VERSION, namespace, "foos")
    try:
        return foos.create_namespaced_custom_object(*where, foo)
    except client.ApiException as refused:
        if refused.status != 409 or "name" not in foo["metadata"]:
            raise
    existing = foos.get_namespaced_custom_object(*where, foo["metadata"]["name"])
    owners = [reference["uid"] for reference in existing["metadata"].get("ownerReferences", [])]
    if owner not in owners:
        raise kopf.TemporaryError(f"{foo['metadata']['name']} belongs to somebody else", delay=10)
    return existing


if __name__ == "__main__":
    kopf.configure(verbose=False)
    kopf.run(standalone=True, clusterwide=True)

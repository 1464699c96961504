"""What Python controllers do with time: `timers.py kopf|sleep|event`; each happening is one line with its moment."""

import datetime
import sys
import threading
import time


def say(word):
    moment = datetime.datetime.now(datetime.timezone.utc).isoformat()
    print(word, "at", moment, flush=True)


def by_kopf():
    """A timer of kopf (asyncio): every five minutes for every ConfigMap."""
    import kopf
    from kubernetes import config

    @kopf.on.startup()
    def configure(**_):
        config.load_config()

    @kopf.timer("", "v1", "configmaps", interval=300)
    def reconcile(**_):
        say("reconcile")

    kopf.configure(verbose=False)
    kopf.run(standalone=True, namespace="default")


def beside(wait):
    """A thread that waits ten minutes again and again, beside a main thread that waits for ever."""

    def work():
        while True:
            say("reconcile")
            wait(600)

    threading.Thread(target=work).start()
    touch_the_cluster()
    threading.Event().wait()


def touch_the_cluster():
    from kubernetes import client, config

    config.load_config()
    client.CoreV1Api().list_namespaced_config_map("default")


if __name__ == "__main__":
    {
        "kopf": by_kopf,
        "sleep": lambda: beside(time.sleep),
        "event": lambda: beside(threading.Event().wait),
    }[sys.argv[1]]()

"""Handles each event of a watch with some kind of work, and says from when to when it was busy."""

import hashlib
import http.client
import os
import queue
import subprocess
import tempfile
import threading
import time

SERVER = ("127.0.0.1", 18080)


def connection():
    return http.client.HTTPConnection(*SERVER)


def work(line):
    kind = int(line) % 5
    if kind == 0:
        value = line.encode()
        for _ in range(2000):
            value = hashlib.sha256(value).digest()
    elif kind == 1:
        first, second = queue.Queue(), queue.Queue()
        echo = threading.Thread(target=lambda: [second.put(first.get()) for _ in range(50)])
        echo.start()
        for value in range(50):
            first.put(value)
            second.get()
        echo.join()
    elif kind == 2:
        with tempfile.NamedTemporaryFile() as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
    elif kind == 3:
        subprocess.run(["true"], check=True)
    else:
        once = connection()
        once.request("GET", "/echo/" + line)
        once.getresponse().read()
        once.close()


def serve(todo):
    while True:
        line = todo.get()
        begin = time.monotonic_ns()
        work(line)
        print(line, begin, time.monotonic_ns(), flush=True)


def main():
    todo = queue.Queue()
    threading.Thread(target=serve, args=(todo,), daemon=True).start()
    watch = connection()
    watch.request("GET", "/watch")
    lines = watch.getresponse()
    while True:
        todo.put(lines.readline().decode().strip())


main()

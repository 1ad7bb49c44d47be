"""The lab's server for tests: a real one on this machine, and the two ways to talk to it."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import uvicorn
    from websockets.sync.client import connect

    from gapless.lab import server as lab_server
    from gapless.lab.limits import LIMITS

TOKEN = "a-token-of-the-test"
COOKIE = f"gapless_lab={TOKEN}"


@contextlib.contextmanager
def served(**options):
    """A server in a thread; nothing compiles behind the tests. Gives its port."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    where = listener.getsockname()[1]
    warmth = lab_server.Warmth()
    warmth.start = lambda: None
    app = lab_server.application(TOKEN, {f"127.0.0.1:{where}", f"localhost:{where}"}, warmth, **options)
    config = uvicorn.Config(app, log_level="error", ws_max_size=LIMITS.message_bytes)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: running.run(sockets=[listener]), daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    yield where
    running.should_exit = True
    thread.join(10)


def fetch(port, method, path, body=None, **headers):
    """Status, headers and body of one request; an underscore in a header's name is a hyphen."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read()


def get(port, path, **headers):
    return fetch(port, "GET", path, **headers)


def talk(port, cookie=COOKIE, origin=None, **more):
    headers = {"Cookie": cookie} if cookie else {}
    return connect(
        f"ws://127.0.0.1:{port}/talk", origin=origin or f"http://127.0.0.1:{port}", additional_headers=headers, **more
    )


def hear(ws, timeout=60):
    """The next answer that is not about the kernels."""
    while True:
        answer = json.loads(ws.recv(timeout=timeout))
        if "warm" not in answer:
            return answer


def ask(ws, timeout=60, **question):
    ws.send(json.dumps(question))
    return hear(ws, timeout)

"""A visit to the lab from inside a network of its own; `test_offline` starts it there and reads what it prints.

python -m tests.lab.offline_visit socket | browser
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
ELSEWHERE = ("192.0.2.1", 80)  #: an address that belongs to nobody


def chromium() -> str:
    return os.environ.get("GAPLESS_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or ""


def _outside() -> str:
    try:
        socket.create_connection(ELSEWHERE, timeout=2).close()
    except OSError as error:
        return "unreachable" if error.errno == 101 else str(error)
    return "reached"


def _by_socket(link: str) -> dict:
    from websockets.sync.client import connect

    base, token = link.split("/?token=")
    host = base.removeprefix("http://")
    cookie = f"gapless_lab={token}"
    connection = http.client.HTTPConnection(host, timeout=30)
    connection.request("GET", "/", headers={"Cookie": cookie})
    page = connection.getresponse().status
    with connect(f"ws://{host}/talk", origin=base, additional_headers={"Cookie": cookie}) as ws:
        ws.send(json.dumps({"ask": "draw", "scene": "generalisation", "state": {"points": [[0, 1, 1], [1, 0, 1]]}}))
        answer: dict = {"warm": True}
        while "warm" in answer:
            answer = json.loads(ws.recv(timeout=500))
    return {"page": page, "numbers": len(answer["drawing"]["numbers"])}


def _by_browser(link: str) -> dict:
    from playwright.sync_api import sync_playwright

    from gapless.lab.scenes import NAMES

    base = link.split("/?token=")[0]
    own = (base, base.replace("http:", "ws:"), "data:", f"blob:{base}")
    console, asked, opened = [], [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page()
        page.on("console", lambda message: console.append(message.text))
        page.on("pageerror", lambda error: console.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.on("websocket", lambda ws: asked.append(ws.url))
        page.goto(link)
        page.wait_for_selector(".card", timeout=120_000)
        for name in NAMES:
            page.goto(f"{base}/#{name}")
            page.wait_for_selector(".scene .numbers dd", timeout=300_000, state="attached")
            opened.append(name)
            page.goto(f"{base}/#")
            page.wait_for_selector(".card")
        browser.close()
    foreign = [url for url in asked if not url.startswith(own)]
    return {"console": console, "asked": len(asked), "foreign": foreign, "opened": opened}


def main() -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "gapless", "lab", "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert server.stdout is not None
        link = server.stdout.readline().strip()
        found = _by_browser(link) if sys.argv[1] == "browser" else _by_socket(link)
    finally:
        server.terminate()
        server.wait(60)
    interfaces = sorted(path.name for path in Path("/sys/class/net").iterdir())
    names = sorted(name for _, name in socket.if_nameindex())
    print(json.dumps({"interfaces": names or interfaces, "outside": _outside(), **found}))


if __name__ == "__main__":
    main()

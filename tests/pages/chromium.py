"""A page in headless Chromium, over the pipes of its DevTools protocol: the standard library is enough."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip


def found():
    """The browser's path, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One tab. ``events`` keeps what the browser said: requests, messages of the console, exceptions."""

    def __init__(self, path):
        self.folder = tempfile.mkdtemp(prefix="gapless-chromium-")
        to_read, self.write_end = os.pipe()
        self.read_end, to_write = os.pipe()

        def wire():  # the protocol speaks on descriptors 3 and 4
            a, b = os.dup(to_read), os.dup(to_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [path, *FLAGS, f"--user-data-dir={self.folder}", "about:blank"],
            preexec_fn=wire, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.events, self.number, self.session = b"", [], 0, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for room in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{room}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        wanted = self.number
        while True:
            answer = self._next()
            if answer.get("id") == wanted:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def _next(self, seconds=60.0):
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read_end], [], [], max(0.0, end - time.monotonic()))
            part = os.read(self.read_end, 1 << 20) if ready else b""
            if not part:
                raise TimeoutError("the browser says nothing")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def until(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self._next())

    def open(self, url, width=1280, height=900, dark=False, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        self.events = []
        self.call("Page.navigate", url=url)
        self.until("Page.loadEventFired")

    def run(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def picture(self, path):
        """The whole page."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)["data"]
        with open(path, "wb") as stream:
            stream.write(base64.b64decode(data))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False, preferCSSPageSize=True)["data"])

    @property
    def requests(self):
        """Addresses that were asked for, but for the page itself and what it carries."""
        urls = [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
        return [url for url in urls if not url.startswith(("file:", "data:", "about:"))]

    @property
    def complaints(self):
        """Messages of the console, of the log, and exceptions."""
        said = {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}
        return [event["params"] for event in self.events if event.get("method") in said]

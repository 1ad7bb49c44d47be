"""The lab on this machine: a page, its files and a socket, for those who hold the link.

The token of the link becomes a cookie that scripts cannot read and other sites cannot send. Host and Origin are checked, so that
a page from elsewhere, or a name that somebody points at this machine, gets nothing. No path from a browser is opened.
Other machines reach the lab only where its owner names a host, and then a password takes the place of the link.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import logging
import os
import secrets
import socket
import threading
import warnings
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from .limits import LIMITS
from .scenes import NAMES, scene
from .session import AskError, Session

STATIC = Path(__file__).parent / "static"
FILES = {
    "lab.js": "text/javascript; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "lab.css": "text/css; charset=utf-8",
    "favicon.svg": "image/svg+xml",
}
HEAD = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Door:
    """Who may come in: the holders of a token, by one of the names of this server.

    ``any_address``: a port at which every numeric address counts as a name of this server. A foreign site can point a name of
    its own at this machine, but not a number.
    """

    cookie = "gapless_lab"

    def __init__(
        self, token: str, hosts: set[str], password: str | None = None, any_address: int | None = None
    ) -> None:
        self.token, self.hosts, self.password, self.any_address = token, hosts, password, any_address
        self.guesses = asyncio.Lock()

    def known_host(self, connection: HTTPConnection) -> bool:
        host = connection.headers.get("host", "")
        return host in self.hosts or (self.any_address is not None and _is_address(host, self.any_address))

    def own_origin(self, connection: HTTPConnection) -> bool:
        """Whether the page that asks is one of this server, under the name by which it was asked."""
        return connection.headers.get("origin") == f"http://{connection.headers.get('host')}"

    def fits(self, given: str | None) -> bool:
        return given is not None and _same(given, self.token)

    def admits(self, connection: HTTPConnection) -> bool:
        return self.known_host(connection) and self.fits(connection.cookies.get(self.cookie))

    async def knows(self, password: str) -> bool:
        """Whether the password is right. A wrong one takes a second, and guesses wait for each other."""
        async with self.guesses:
            if self.password is not None and _same(password, self.password):
                return True
            await asyncio.sleep(1.0)
            return False


def _same(given: str, wanted: str) -> bool:
    """Compared in a time that does not tell where they differ."""
    return secrets.compare_digest(given.encode(errors="surrogatepass"), wanted.encode(errors="surrogatepass"))


def _is_address(host: str, port: int) -> bool:
    name, _, given = host.rpartition(":")
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
        return given == str(port)
    return False


class Warmth:
    """Which scenes have drawn once, so that their kernels are there. The page says so while it waits."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.listeners: set[Callable[[], None]] = set()

    def start(self) -> None:
        threading.Thread(target=self._run, name="gapless-lab-warmth", daemon=True).start()

    def _run(self) -> None:
        for name in NAMES:
            with contextlib.suppress(Exception):  # a scene that cannot begin says so when somebody opens it
                scene(name).look(scene(name).begin())
            self.done.append(name)
            for listener in list(self.listeners):
                listener()
        gc.collect()
        gc.freeze()  # what the compiler holds stays: to walk through it again and again would hold a drag up by 80 ms

    def to_json(self) -> dict[str, Any]:
        return {"warm": list(self.done), "of": len(NAMES)}


def application(
    token: str,
    hosts: set[str],
    warmth: Warmth | None = None,
    password: str | None = None,
    any_address: int | None = None,
    seconds: float = LIMITS.answer_seconds,
) -> Starlette:
    """The lab as an ASGI application. ``seconds``: after that many an answer that is not there is given up."""
    rooms = _Rooms(token, Door(token, hosts, password, any_address), warmth or Warmth(), seconds)
    routes = [
        Route("/", rooms.page),
        Route("/enter", rooms.enter, methods=["POST"]),
        Route("/static/{name}", rooms.file),
        WebSocketRoute("/talk", rooms.talk),
    ]
    return Starlette(routes=routes, lifespan=rooms.lifespan)


class _Rooms:
    """What the lab answers: its page, the form for the password, its files, and the talk of a scene."""

    def __init__(self, token: str, door: Door, warmth: Warmth, seconds: float) -> None:
        self.token, self.door, self.warmth, self.seconds = token, door, warmth, seconds
        self.pool = ThreadPoolExecutor(max_workers=max(2, os.cpu_count() or 1), thread_name_prefix="gapless-lab")

    async def page(self, request: Request) -> Response:
        if not self.door.known_host(request):
            return _refused("This name is not one of the lab's. Open the link that `gapless lab` printed.")
        if self.door.password is None and self.door.fits(request.query_params.get("token")):
            return self._let_in()
        if not self.door.admits(request):
            if self.door.password is not None:
                return _form(200)
            return _refused(
                "The lab opens with the whole link that `gapless lab` printed: the token is missing or wrong."
            )
        return Response((STATIC / "index.html").read_bytes(), media_type="text/html; charset=utf-8", headers=HEAD)

    async def enter(self, request: Request) -> Response:
        if self.door.password is None or not self.door.known_host(request) or not self.door.own_origin(request):
            return _refused("The password is asked for by the lab's own page.")
        sent, most_bytes = b"", 4096
        async for piece in request.stream():
            sent += piece
            if len(sent) > most_bytes:
                return PlainTextResponse("a password is shorter\n", 413, headers=HEAD)
        given = parse_qs(sent.decode("utf-8", "replace"), keep_blank_values=True).get("password", [""])[0]
        return self._let_in() if await self.door.knows(given) else _form(403)

    async def file(self, request: Request) -> Response:
        name = request.path_params["name"]
        looks_of_form = name in ("lab.css", "favicon.svg")  # the page that asks for the password is drawn with these
        open_to_all = self.door.password is not None and self.door.known_host(request) and looks_of_form
        if not open_to_all and not self.door.admits(request):
            return _refused("no token")
        if name not in FILES:
            return PlainTextResponse("not here\n", 404, headers=HEAD)
        return Response((STATIC / name).read_bytes(), media_type=FILES[name], headers=HEAD)

    async def talk(self, ws: WebSocket) -> None:
        if not self.door.admits(ws) or not self.door.own_origin(ws):
            await ws.close(4403)
            return
        await ws.accept()
        session = Session(ws.send_json, self.pool, self.seconds)
        loop = asyncio.get_running_loop()

        def tell() -> None:
            asyncio.run_coroutine_threadsafe(ws.send_json(self.warmth.to_json()), loop)

        self.warmth.listeners.add(tell)
        worker = asyncio.create_task(session.work())
        try:
            await ws.send_json(self.warmth.to_json())
            while True:
                try:
                    session.receive(await ws.receive_text())
                except AskError as error:
                    await ws.send_json({"error": str(error)})
        except (WebSocketDisconnect, RuntimeError, KeyError):
            pass
        finally:
            self.warmth.listeners.discard(tell)
            worker.cancel()

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self.warmth.start()
        yield
        self.pool.shutdown(wait=False, cancel_futures=True)

    def _let_in(self) -> Response:
        answer = RedirectResponse("/", 303, headers=HEAD)
        answer.set_cookie(self.door.cookie, self.token, httponly=True, samesite="strict", path="/")
        return answer


def _refused(why: str) -> Response:
    return PlainTextResponse(why + "\n", 403, headers=HEAD)


def _form(status: int) -> Response:
    # A form is sent without its origin where the policy is no-referrer, and the origin is what we check.
    head = {**HEAD, "Referrer-Policy": "same-origin"}
    text = (STATIC / "enter.html").read_bytes()
    return Response(text, status, media_type="text/html; charset=utf-8", headers=head)


def is_this_machine(host: str) -> bool:
    """Whether only this machine reaches a server that listens there."""
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def serve(
    port: int = 0,
    *,
    host: str = "127.0.0.1",
    password: str | None = None,
    token: str | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the lab until it is interrupted; ``ready`` is called with the link. Port 0: any free one.

    A ``host`` that other machines reach needs a ``password``; its link holds no token, its page asks for the password.
    """
    import uvicorn

    if not is_this_machine(host) and password is None:
        raise ValueError(f"other machines reach a lab at {host}: it needs a password")
    if password is not None and len(password) < LIMITS.password_characters:
        raise ValueError(
            f"the password of the lab has at least {LIMITS.password_characters} characters; this one has {len(password)}"
        )
    warnings.simplefilter("ignore")  # the page says it; the terminal need not, at each move of a mouse
    token = token or secrets.token_urlsafe(24)
    try:
        family, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        raise ValueError(f"there is no address {host} here: {error.strerror}") from error
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(128)  # a browser that is faster than the server waits here
        bound, port = listener.getsockname()[:2]
        everywhere = ipaddress.ip_address(bound).is_unspecified
        name = socket.gethostname() if everywhere else host
        name = f"[{name}]" if ":" in name else name
        hosts = {f"{name}:{port}"} | (
            {f"127.0.0.1:{port}", f"localhost:{port}"} if is_this_machine(host) or everywhere else set()
        )
        app = application(token, hosts, password=password, any_address=port if everywhere else None)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, ws_max_size=LIMITS.message_bytes, server_header=False
        )
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        if ready is not None:
            ready(f"http://{name}:{port}/" + (f"?token={token}" if password is None else ""))
        asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))

"""One visitor: answers what a page asks, the latest state first, one drawing at a time.

A page that moves faster than its drawings come loses the states between: only the newest waits. Nothing of a visitor is kept
but that one state, so that visitors cannot see each other.
"""

from __future__ import annotations

import asyncio
import base64
import ctypes
import json
import logging
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import gapless

from .grammar import FormulaError
from .limits import LIMITS
from .scenes import NAMES, scene, takes_files
from .state import StateError

Send = Callable[[dict[str, Any]], Awaitable[None]]


class AskError(ValueError):
    """A question that no page of ours asks."""


def read(text: str | bytes) -> dict[str, Any]:
    """A message as JSON: an object, without NaN or infinities."""
    if len(text) > LIMITS.message_bytes:
        raise AskError(f"a message has at most {LIMITS.message_bytes // 1024} kB")
    try:
        found = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise AskError("a message must be JSON") from error
    if not isinstance(found, dict):
        raise AskError("a message must be an object")
    if len(text) > LIMITS.plain_bytes and not takes_files(found.get("scene")):
        raise AskError(f"a message has at most {LIMITS.plain_bytes // 1024} kB")
    return found


def _refuse(name: str) -> None:
    raise AskError(f"{name} is not a number of JSON")


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """What one question gets back. Pure: the same question gets the same answer."""
    asked = question.get("ask")
    if asked == "scenes":
        return {"scenes": [scene(name).describe() for name in NAMES]}
    name = question.get("scene")
    if not isinstance(name, str) or name not in NAMES:
        raise AskError("there is no such scene")
    wanted = scene(name)
    if asked == "begin":
        seed = question.get("seed", 0)
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**31:
            raise AskError("a seed is a whole number from 0")
        return {"state": wanted.begin(seed).to_json()}
    state = wanted.check(question.get("state"))
    if asked == "draw":
        return {"drawing": wanted.look(state).to_json()}
    if asked == "script":
        return {"file": f"gapless_{name}.py", "text": wanted.script(state)}
    if asked == "model":
        return _model(wanted, state, name)
    if asked == "report" and wanted.report is not None:
        return {"file": "report.html", "text": wanted.report(state)}
    raise AskError("a page asks for scenes, begin, draw, script, model or report")


def _model(wanted: Any, state: Any, name: str) -> dict[str, Any]:
    model, target = wanted.model(state)
    if model is None:
        raise AskError("this scene has no fitted model to save")
    with tempfile.TemporaryDirectory(prefix="gapless-lab-") as folder:
        path = Path(folder) / "model.gapless"
        gapless.files.model_file.save(model, path, target=target)
        data = path.read_bytes()
    return {"file": f"{name}.gapless", "bytes": base64.b64encode(data).decode()}


def answered(question: dict[str, Any]) -> dict[str, Any]:
    """`answer`, with the number of the question, or why there is no answer."""
    reply = {"seq": question.get("seq"), "ask": question.get("ask"), "scene": question.get("scene")}
    try:
        return {**reply, **answer(question)}
    except (AskError, StateError, FormulaError, ValueError) as error:
        return {**reply, "error": " ".join(str(error).split())[:300]}
    except Exception as error:  # a fault of ours must not end the visit
        logging.getLogger(__name__).exception("the lab could not answer %s", question.get("ask"))
        return {**reply, "error": f"the lab failed here, which is a fault of gapless ({type(error).__name__})"}


class _TooLong(BaseException):
    """Raised inside an answer that is given up; no `except Exception` of a fit holds it up."""


class Errand:
    """One question on its way through a thread, which can be called back."""

    def __init__(self, question: dict[str, Any]) -> None:
        self.question = question
        self.lock = threading.Lock()
        self.thread: int | None = None
        self.late = False

    def run(self) -> dict[str, Any]:
        try:
            try:
                with self.lock:
                    if self.late:
                        return {}
                    self.thread = threading.get_ident()
                return answered(self.question)
            finally:
                with self.lock:  # from here on nothing can be raised in this thread, nor what is under way arrive
                    _raise_in(threading.get_ident(), None)
                    self.thread = None
        except _TooLong:
            return {}

    def call_back(self) -> None:
        """End it: at the next line of Python that its thread comes to, between two steps of a solver."""
        with self.lock:
            self.late = True
            if self.thread is not None:
                _raise_in(self.thread, _TooLong)


def _raise_in(thread: int, kind: type[BaseException] | None) -> None:
    raised = None if kind is None else ctypes.py_object(kind)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)


def compiling() -> bool:
    """Whether numba compiles a kernel just now, for whomever: that is no fit that runs away, and has to be done once."""
    module = sys.modules.get("numba.core.compiler_lock")
    return module is not None and bool(module.global_compiler_lock.is_locked())


class Session:
    """Questions in, answers out. `receive` returns at once; `work` runs until it is cancelled.

    An answer that is not there after ``seconds`` is stopped, and the visitor is told so.
    """

    def __init__(self, send: Send, pool: Executor, seconds: float = LIMITS.answer_seconds) -> None:
        self.send, self.pool, self.seconds = send, pool, seconds
        self.latest: dict[str, Any] | None = None
        self.others: list[dict[str, Any]] = []
        self.wake = asyncio.Event()

    def receive(self, text: str | bytes) -> None:
        most_waiting = 16  #: questions other than drawings that may wait
        question = read(text)
        if question.get("ask") == "draw":
            self.latest = question
        elif len(self.others) < most_waiting:
            self.others.append(question)
        self.wake.set()

    async def work(self) -> None:
        while True:
            await self.wake.wait()
            if self.others:
                question = self.others.pop(0)
            elif self.latest is not None:
                question, self.latest = self.latest, None
            else:
                self.wake.clear()
                continue
            await self._send_answer(question)

    async def _send_answer(self, question: dict[str, Any]) -> None:
        errand = Errand(question)
        running = asyncio.get_running_loop().run_in_executor(self.pool, errand.run)
        watch = asyncio.create_task(self._call_back_late(errand, running))
        # The watch goes on where the visitor leaves: the thread has to come back in any case.
        reply = await asyncio.shield(watch)
        await self.send(reply)
        await running  # one thread for one visitor: the next question waits until it is free

    async def _call_back_late(self, errand: Errand, running: asyncio.Future[dict[str, Any]]) -> dict[str, Any]:
        """The answer, or, as soon as it is late, that it was stopped."""
        tick = 0.25  #: seconds between two looks at an answer that is not there yet
        left = self.seconds
        while left > 0.0:
            done, _ = await asyncio.wait({running}, timeout=min(tick, left))
            if done:
                return running.result()
            left -= 0.0 if compiling() else tick
        errand.call_back()
        told = f"this takes longer than {self.seconds:g} s and was stopped; take fewer points or a milder setting"
        asked = {name: errand.question.get(name) for name in ("seq", "ask", "scene")}
        return {**asked, "error": told}

"""The lab in a real browser: how long a drag and a slider wait for their picture, how it starts, and twenty visitors at once.

    python -m benchmarks.lab                       everything, and the page in benchmarks/results/lab.md (a quarter of an hour)
    python -m benchmarks.lab margin kernels        these scenes, printed
    python -m benchmarks.lab --visitors            twenty visitors, printed
    python -m benchmarks.lab --start               the start of the server, with and without kept kernels, printed
    python -m benchmarks.lab --picture lab.png     a picture of the scene of kernels, as docs/lab.png; nothing is timed

A time runs from the moment the browser got an input to the end of the frame that shows the answer to it: the way to the server,
the fit, the drawing, the way back and the painting. The fits of the same states are then timed again in this process, alone.
Needs Playwright and Chromium (``make test-lab`` installs the first, ``apt install chromium`` the second). Figures of a busy
machine are printed but not judged.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).resolve().parent / "results" / "lab.md"
CHROMIUM = os.environ.get("GAPLESS_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or ""
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip

LIMITS = {"perceptron": 100, "margin": 100, "kernels": 100, "descent": 100, "three_models": 100, "generalisation": 100,
          "bias_variance": 150, "convexity": 150, "ensembles": 400}  # ms, 95 of 100 actions  # fmt: skip
POINTS = 200
ACTIONS = 100
STARTS = (
    "The first visit to a new server, seconds of wall clock; the last column is the server's processor time, of all its\n"
    "threads (the other scenes are prepared at the same time)."
)
BUSY = 1.0  # load average before the start above which nothing is judged
VISITORS, MINUTES, VISITED = 20, 2, ("perceptron", "margin", "kernels", "descent", "three_models", "generalisation")

#: Notes when the browser got an input, and when the frame with the answer has been painted.
WATCH = """() => {
  const root = document.querySelector('.gapless-lab');
  window.times = []; window.began = null; window.armed = null;
  for (const name of ['pointermove', 'pointerup', 'input'])
    addEventListener(name, (event) => {
      if (window.armed === name) { window.began = event.timeStamp; window.armed = null; }
    }, true);
  new MutationObserver(() => {
    if (window.began === null) return;
    const began = window.began; window.began = null;
    requestAnimationFrame(() => setTimeout(() => window.times.push(performance.now() - began), 0));
  }).observe(root, { attributes: true, attributeFilter: ['data-seq'] });
}"""

#: Moves a slider to a share of its way and lets it go; false where that is where it stands.
SLIDE = """([name, share]) => {
  const it = document.querySelector(`[data-testid=control-${name}]`), low = +it.min, high = +it.max, before = it.value;
  it.value = low + share * (high - low);
  if (it.value === before) return false;
  it.dispatchEvent(new Event('input', { bubbles: true }));
  it.dispatchEvent(new Event('change', { bubbles: true }));
  return true;
}"""


@dataclass
class Waits:
    """What one scene made its visitor wait, in ms."""

    drag: list[float] = field(default_factory=list)
    slider: list[float] = field(default_factory=list)
    fit: list[float] = field(default_factory=list)
    missed: int = 0


@contextlib.contextmanager
def served(cache: str | None = None) -> Iterator[tuple[str, int]]:
    """A new server: its link and its process."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"} | ({"GAPLESS_CACHE": cache} if cache else {})
    command = [sys.executable, "-m", "gapless", "lab", "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    assert server.stdout is not None
    try:
        yield server.stdout.readline().strip(), server.pid
    finally:
        server.terminate()
        server.wait(60)


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    if not CHROMIUM:
        raise SystemExit("there is no Chromium here: apt install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


def picture(path: str) -> None:
    """The page of one scene, light, as the documentation shows it."""
    with served() as (link, _), browser() as chromium:
        page = chromium.new_context(viewport={"width": 1280, "height": 780}, reduced_motion="reduce").new_page()
        page.goto(link)
        page.wait_for_selector(".card", timeout=60_000)
        page.evaluate("() => { location.hash = '#kernels'; }")
        page.wait_for_selector(".numbers dd", timeout=900_000)
        page.wait_for_function("() => document.querySelector('.warmth').hidden", timeout=900_000)
        page.wait_for_timeout(500)
        page.screenshot(path=path)


def start_of(name: str) -> dict[str, Any]:
    """The state with which a scene begins here: 200 points where it takes as many."""
    from gapless.lab.scene import two_clouds
    from gapless.lab.scenes import scene

    wanted = scene(name)
    state = wanted.begin().to_json()
    if wanted.points == "classes":
        state["points"] = two_clouds(0, POINTS, 1.0)
    if wanted.points == "plain":
        state["points"] = [[x, y, 1] for x, y, _ in two_clouds(0, wanted.most, 1.0)]
    return state


def link_of(base: str, name: str, state: dict[str, Any]) -> str:
    import base64

    packed = base64.urlsafe_b64encode(json.dumps(state).encode()).decode()
    return f"{base}#{name}/{packed}"


def measured(page: Any, base: str, name: str, actions: int) -> tuple[Waits, list[dict[str, Any]]]:
    """Drags and slider moves in one scene, one after the other, and the states that the page asked for."""
    from gapless.lab.scenes import scene
    from gapless.lab.state import Slider

    found, asked = Waits(), []

    def heard(payload: Any) -> None:
        question = json.loads(payload)
        if question.get("ask") == "draw" and question.get("scene") == name:
            asked.append(question["state"])

    page.on("websocket", lambda socket: socket.on("framesent", heard))
    page.goto("about:blank")
    page.goto(link_of(base, name, start_of(name)))
    page.wait_for_selector(".numbers dd", timeout=600_000)
    page.wait_for_function("() => document.querySelector('.warmth')?.hidden !== false", timeout=600_000)
    page.wait_for_timeout(500)
    page.evaluate(WATCH)
    for state in [*asked]:  # kernels of every control are there before the clock runs
        scene(name).look(scene(name).check(state))
    if scene(name).points:
        found.drag = _drags(page, scene(name).release_above == 0, actions, found)
    sliders = [control.name for control in scene(name).controls if isinstance(control, Slider)]
    for control in sliders:  # once over its range, so that nothing is compiled within the measurement
        for share in (0.0, 1.0, 0.5):
            page.evaluate(SLIDE, [control, share])
            page.wait_for_timeout(300)
    del asked[:]
    page.wait_for_timeout(2000)
    page.evaluate("() => { window.times = []; window.began = window.armed = null; }")
    for k in range(actions):
        control, share = sliders[k % len(sliders)], (0.1 + 0.618034 * (k // len(sliders))) % 1.0
        one = _timed(page, "input", lambda control=control, share=share: page.evaluate(SLIDE, [control, share]))
        if one is None:
            found.missed += 1
        else:
            found.slider.append(one)
    found.fit = fits(name, asked)
    return found, asked


def _timed(page: Any, event: str, act: Any) -> float | None:
    """ms until the answer to an action is painted; None where there was none within 20 s."""
    from playwright.sync_api import Error

    before = page.evaluate("(name) => { window.armed = name; return window.times.length; }", event)
    if act() is False:
        page.evaluate("() => { window.armed = null; }")
        return None
    try:
        page.wait_for_function(f"() => window.times.length > {before}", timeout=20_000, polling="raf")
    except Error:
        page.evaluate("() => { window.armed = window.began = null; }")
        return None
    return float(page.evaluate("() => window.times.at(-1)"))


def _drags(page: Any, on_release: bool, actions: int, found: Waits) -> list[float]:
    """Steps of a point that is held; where the scene answers on release, whole drags, from the release on."""
    waits = []
    x, y = _middle(page)
    page.mouse.move(x, y)
    if not on_release:
        page.mouse.down()
    for k in range(-3, actions):  # three that are not counted
        way = (3.0 + 11.0 * ((k * 0.618034) % 1.0)) * (-1) ** k
        if on_release:
            x, y = _middle(page)
            page.mouse.move(x, y)
            page.mouse.down()
            page.mouse.move(x + way, y + 0.5 * way)
            one = _timed(page, "pointerup", page.mouse.up)
        else:
            one = _timed(page, "pointermove", lambda to=(x + way, y + 0.5 * way): page.mouse.move(*to))
        if one is None:
            found.missed += 1
        elif k >= 0:
            waits.append(one)
    if not on_release:
        page.mouse.up()
    page.wait_for_timeout(500)
    return waits


def _middle(page: Any) -> tuple[float, float]:
    dot = page.locator(".plane .held .dot").first.bounding_box()
    return dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2


def fits(name: str, states: list[dict[str, Any]]) -> list[float]:
    """ms of the public calls alone, for the same states, in this process."""
    from gapless.lab.scenes import scene

    wanted, found = scene(name), []
    for raw in states:
        given = wanted.arguments(wanted.check(raw))
        began = time.perf_counter()
        wanted.study(**given)
        found.append(1e3 * (time.perf_counter() - began))
    return found


def pair(values: list[float]) -> str:
    """p50 / p95, or nothing."""
    return "–" if not values else "{:.0f} / {:.0f}".format(*np.percentile(values, [50, 95]))


def over(values: list[float], limit: float) -> bool:
    return bool(values) and float(np.percentile(values, 95)) > limit


# -- how it starts


@dataclass
class Start:
    """Seconds; ``processor``: of the server until the first numbers were shown."""

    paint: float
    progress: float
    usable: float
    numbers: float
    processor: float


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def started(kept: bool) -> Start:
    """The first visit to a new server, which begins as soon as that listens."""
    with tempfile.TemporaryDirectory() as empty, browser() as chromium, served(None if kept else empty) as (link, pid):
        page = chromium.new_context(viewport={"width": 1440, "height": 900}).new_page()
        began = time.perf_counter()
        page.goto(link, wait_until="commit")
        page.wait_for_selector(".card", timeout=60_000)
        usable = time.perf_counter() - began
        progress = usable
        if not page.locator(".warmth").first.is_hidden():
            progress = time.perf_counter() - began
        page.evaluate("() => { location.hash = '#margin'; }")
        page.wait_for_selector(".numbers dd", timeout=900_000)
        numbers, processor = time.perf_counter() - began, processor_seconds(pid)
        name = "first-contentful-paint"
        paint = page.evaluate(f"() => performance.getEntriesByName('{name}')[0]?.startTime ?? NaN") / 1e3
    return Start(paint, progress, usable, numbers, processor)


# -- twenty visitors


@dataclass
class Crowd:
    waits: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    mixed: int = 0
    memory: list[tuple[float, float]] = field(default_factory=list)  # seconds, MB

    def after(self, seconds: float) -> float:
        """The mean memory of the ten seconds before."""
        return float(np.mean([mb for at, mb in self.memory if seconds - 10.0 <= at <= seconds]))


def crowd(minutes: float = MINUTES) -> Crowd:
    """Visitors spread over the scenes, an action a second each, for some minutes, on a warm server."""
    found = Crowd()
    with served() as (link, pid):
        asyncio.run(_crowd(link, pid, 60.0 * minutes, found))
    return found


async def _crowd(link: str, pid: int, seconds: float, found: Crowd) -> None:
    from websockets.asyncio.client import connect

    base, token = link.split("/?token=")
    host = base.removeprefix("http://")

    def opened() -> Any:
        return connect(f"ws://{host}/talk", origin=base, additional_headers={"Cookie": f"gapless_lab={token}"})

    async with opened() as ws:  # until every scene has drawn once
        told = json.loads(await ws.recv())
        while len(told.get("warm", ())) < told.get("of", 1):
            told = json.loads(await ws.recv())
    began = time.perf_counter()
    visitors = [_visitor(opened, VISITED[k % len(VISITED)], k, began, seconds, found) for k in range(VISITORS)]
    await asyncio.gather(_memory(pid, began, seconds, found), *visitors)


async def _memory(pid: int, began: float, seconds: float, found: Crowd) -> None:
    while (at := time.perf_counter() - began) < seconds:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        found.memory.append((at, pages * os.sysconf("SC_PAGE_SIZE") / 2**20))
        await asyncio.sleep(1.0)


async def _visitor(opened: Any, name: str, number: int, began: float, seconds: float, found: Crowd) -> None:
    from gapless.lab.scenes import scene
    from gapless.lab.state import Slider

    dice = random.Random(number)
    state = scene(name).begin(number).to_json()
    sliders = [control for control in scene(name).controls if isinstance(control, Slider) and not control.plays]
    async with opened() as ws:
        await asyncio.sleep(dice.random())
        turn = 0
        while time.perf_counter() - began < seconds:
            turn += 1
            if turn % 2:
                point = dice.choice(state["points"])
                point[0], point[1] = round(dice.uniform(-3.9, 3.9), 3), round(dice.uniform(-3.9, 3.9), 3)
            else:
                control = dice.choice(sliders)
                value = (
                    control.low * (control.high / control.low) ** dice.random()
                    if control.log
                    else dice.uniform(control.low, control.high)
                )
                state["values"][control.name] = control.check(round(value) if control.whole else value)
            sent = time.perf_counter()
            await ws.send(json.dumps({"ask": "draw", "scene": name, "state": state, "seq": turn}))
            answer: dict[str, Any] = {"warm": True}
            while "warm" in answer:
                answer = json.loads(await ws.recv())
            found.waits.append(1e3 * (time.perf_counter() - sent))
            if "error" in answer:
                found.errors.append(answer["error"])
            elif answer["seq"] != turn or answer["scene"] != name or not _is_mine(answer, state):
                found.mixed += 1
            await asyncio.sleep(max(0.0, sent + 1.0 - time.perf_counter()))


def _is_mine(answer: dict[str, Any], state: dict[str, Any]) -> bool:
    held = [layer for layer in answer["drawing"]["panels"][0]["layers"] if layer["kind"] == "points" and layer["drag"]]
    mine = [[float(f"{x:.5g}"), float(f"{y:.5g}")] for x, y, _ in state["points"]]
    return len(held) == 1 and held[0]["xy"] == mine


# -- the page


def load() -> float:
    return os.getloadavg()[0]


def waits_table(found: dict[str, Waits], judged: bool) -> list[str]:
    lines = ["| scene | limit | drag | slider | fit alone | actions | |", "|---|---|---|---|---|---|---|"]
    for name, waits in found.items():
        limit = LIMITS[name]
        verdict = "over" if over(waits.drag, limit) or over(waits.slider, limit) else "within"
        missed = f", {waits.missed} without a change" if waits.missed else ""
        lines.append(
            f"| {name} | {limit} | {pair(waits.drag)} | {pair(waits.slider)} | {pair(waits.fit)} | "
            f"{len(waits.drag)} + {len(waits.slider)}{missed} | {verdict if judged else 'not judged'} |"
        )
    return lines


def start_table(kept: Start, cold: Start) -> list[str]:
    lines = [
        "| | first contentful paint | page usable | says what is prepared | first numbers | processor until then |",
        "|---|---|---|---|---|---|",
    ]
    for name, one in (("kernels kept", kept), ("no kernels kept", cold)):
        lines.append(
            f"| {name} | {one.paint:.2f} | {one.usable:.2f} | {one.progress:.2f} | {one.numbers:.1f} | {one.processor:.1f} |"
        )
    return lines


def crowd_line(found: Crowd) -> str:
    middle, end = found.after(60.0), found.after(60.0 * MINUTES)
    return (
        f"{len(found.waits):,} actions: p50 / p95 {pair(found.waits)} ms, {len(found.errors)} errors, {found.mixed} answers with "
        f"points of others; memory {middle:.0f} MB after minute 1, {end:.0f} MB after minute {MINUTES} "
        f"({100 * (end / middle - 1):+.1f} %)."
    )


def main() -> None:
    from gapless.lab.scenes import NAMES

    parser = argparse.ArgumentParser(description="How long the lab makes its visitors wait.")
    parser.add_argument(
        "scenes", nargs="*", help=f"some of {', '.join(LIMITS)}; all, and the page of results, if none is named"
    )
    parser.add_argument("--visitors", action="store_true", help="twenty visitors for two minutes, alone")
    parser.add_argument("--start", action="store_true", help="the start of the server, alone")
    parser.add_argument("--actions", type=int, default=ACTIONS, help="drags, and slider moves, in each scene")
    parser.add_argument("--picture", metavar="FILE", help="save a picture of the page for the documentation, and end")
    options = parser.parse_args()
    if options.picture:
        picture(options.picture)
        return
    if unknown := set(options.scenes) - set(LIMITS):
        parser.error(f"no scene {', '.join(sorted(unknown))}; there are {', '.join(LIMITS)}")
    warnings.simplefilter("ignore")
    everything = not (options.scenes or options.visitors or options.start)
    before = load()
    judged = before <= BUSY
    print(
        f"load average before the start: {before:.2f}" + ("" if judged else f"; above {BUSY:g}: nothing is judged"),
        flush=True,
    )
    pages: list[str] = []
    if everything or options.start:
        lines = start_table(started(kept=True), started(kept=False))
        print("\n".join(lines), flush=True)
        pages += ["", STARTS, "", *lines]
    if everything or options.scenes:
        found: dict[str, Waits] = {}
        with served() as (link, _), browser() as chromium:
            page = chromium.new_context(viewport={"width": 1440, "height": 900}).new_page()
            page.goto(link)
            base = page.url.split("#")[0]
            for name in options.scenes or [name for name in NAMES if name in LIMITS]:
                page = page.context.new_page()
                found[name] = measured(page, base, name, options.actions)[0]
                page.close()
                print(waits_table({name: found[name]}, judged)[-1], f"load {load():.1f}", flush=True)
        pages += [
            "",
            f"Warm, one visitor, {POINTS} points where a scene takes as many. p50 / p95 in ms.",
            "",
            *waits_table(found, judged),
        ]
    if everything or options.visitors:
        line = crowd_line(crowd())
        print(line, flush=True)
        pages += [
            "",
            f"{VISITORS} visitors over {', '.join(VISITED)}, an action a second each, {MINUTES} minutes. {line}",
        ]
    if everything:
        _write(pages, before, judged)


def _write(pages: list[str], before: float, judged: bool) -> None:
    from benchmarks.core.machine import machine, packages

    state = f"load average before the start {before:.1f}, at the end {load():.1f}"
    head = [
        "# What the lab makes its visitors wait",
        "",
        "`python -m benchmarks.lab`: Chromium through Playwright. A time runs from the input to the end of the frame that shows",
        "its answer; a fit alone is the public calls of the same states, in a process of their own.",
        "",
        f"{machine()}; {state}; {packages()}",
    ]
    if not judged:
        head += [
            "",
            "**The machine was busy with other work: these times are too long, and nothing is judged by them.**",
        ]
    RESULTS.write_text("\n".join([*head, *pages]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

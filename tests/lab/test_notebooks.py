"""The lab in a notebook cell: the real `jupyter lab` and the real `marimo run`, two scenes in each, in Chromium."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import warnings

import pytest

from gapless.lab.scenes import scene
from tests.lab.offline_visit import FLAGS, chromium

pytestmark = pytest.mark.browser

SCENES = ("margin", "three_models")
TOKEN = "a-token-of-the-test"


@pytest.fixture(scope="module")
def browser():
    sync = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    if not chromium():
        pytest.skip("there is no Chromium here: apt install chromium")
    with sync.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield started
        started.close()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def running(command, folder, address):
    """A program that serves; returned when it answers at its address."""
    home = {
        name: str(folder / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    }
    home |= {
        "IPYTHONDIR": str(folder / "ipython"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_STATE_HOME": str(folder / "state"),
        "MARIMO_SKIP_UPDATE_CHECK": "1",
    }
    log = (folder / "log.txt").open("w")
    program = subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **home})
    deadline = time.monotonic() + 180.0
    while True:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return program
        except urllib.error.HTTPError:
            return program
        except OSError:
            if program.poll() is not None or time.monotonic() > deadline:
                program.kill()
                pytest.fail(f"{command[:4]} does not answer:\n{(folder / 'log.txt').read_text()[-3000:]}")
            time.sleep(0.5)


def shown(cell):
    pairs = cell.locator(".numbers dd").evaluate_all("all => all.map(d => [d.dataset.name, d.dataset.value])")
    return dict(pairs)


def first_numbers(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = scene(name).look(scene(name).begin()).to_json()
    return {number["name"]: number["value"] for number in told["numbers"]}


def drag_changes_numbers(page, cell, name):
    """The cell shows the numbers of the API, and other ones while a point is dragged, before the button is up."""
    cell.locator(".numbers dd").first.wait_for(timeout=400_000)
    before = shown(cell)
    assert before == first_numbers(name)
    dot = cell.locator(".plane .held .dot").first
    dot.scroll_into_view_if_needed()
    box = dot.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    for step in range(1, 11):
        page.mouse.move(box["x"] - 9 * step, box["y"] + 6 * step)
    deadline = time.monotonic() + 120.0
    while shown(cell) == before:
        assert time.monotonic() < deadline, "the drag changed nothing"
        page.wait_for_timeout(100)
    page.mouse.up()


def visit(browser, address, prepare=lambda page: None):
    page = browser.new_context(viewport={"width": 1500, "height": 1600}).new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    prepare(page)
    for k, name in enumerate(SCENES):
        cell = page.locator(".gapless-lab.cell").nth(k)
        cell.wait_for(timeout=300_000)
        drag_changes_numbers(page, cell, name)
    assert not [error for error in errors if "gapless" in error.lower() or "lab.js" in error]
    page.context.close()


def test_two_scenes_in_jupyter_lab(browser, tmp_path):
    pytest.importorskip("jupyterlab", reason="pip install jupyterlab")
    pytest.importorskip("anywidget", reason="the lab is an extra: anywidget")
    cells = [
        {"cell_type": "code", "id": f"cell{k}", "metadata": {}, "outputs": [], "execution_count": None,
         "source": f"import gapless\ngapless.lab({name!r})"}
        for k, name in enumerate(SCENES)
    ]  # fmt: skip
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    book = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "lab.ipynb").write_text(json.dumps(book))
    port = free_port()
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={tmp_path}",
        "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    program = running(command, tmp_path, f"http://127.0.0.1:{port}/api?token={TOKEN}")

    def run_cells(page):
        page.locator(".jp-Notebook .jp-CodeCell").nth(1).wait_for(timeout=180_000)
        page.locator("text=| Idle").first.wait_for(timeout=180_000)  # a key that comes before its kernel is lost
        page.locator(".jp-Notebook .jp-CodeCell .cm-content").first.click()
        for _ in SCENES:
            page.keyboard.press("Shift+Enter")

    try:
        visit(browser, f"http://127.0.0.1:{port}/lab/tree/lab.ipynb?token={TOKEN}", run_cells)
    finally:
        program.terminate()
        program.wait(60)


def test_two_scenes_in_marimo(browser, tmp_path):
    pytest.importorskip("marimo", reason="pip install marimo")
    pytest.importorskip("anywidget", reason="the lab is an extra: anywidget")
    lines = [
        "import marimo",
        "app = marimo.App()",
        "",
        "@app.cell",
        "def _():",
        "    import gapless, marimo as mo",
        "    return gapless, mo",
    ]
    for name in SCENES:
        lines += ["", "@app.cell", "def _(gapless, mo):", f"    mo.ui.anywidget(gapless.lab({name!r}))", "    return"]
    lines += ["", "if __name__ == '__main__':", "    app.run()", ""]
    (tmp_path / "lab_app.py").write_text("\n".join(lines))
    port = free_port()
    command = [
        sys.executable, "-m", "marimo", "-q", "run", "lab_app.py", "--headless", "--no-token",
        "--host", "127.0.0.1", "--port", str(port),
    ]  # fmt: skip
    program = running(command, tmp_path, f"http://127.0.0.1:{port}/")
    try:
        visit(browser, f"http://127.0.0.1:{port}/")
    finally:
        program.terminate()
        program.wait(60)

"""The lab in a real browser: every scene opens, draws, follows a drag before the button is up, and shows the API's numbers.

``make test-lab`` runs these: they need Playwright for Python and Chromium (Debian: apt install chromium).
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from gapless.lab.scenes import NAMES, scene

pytestmark = pytest.mark.browser

CHROMIUM = os.environ.get("GAPLESS_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or ""
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
#: Where pictures of all scenes go, if anybody wants to look at them.
PICTURES = os.environ.get("GAPLESS_LAB_PICTURES", "")


@pytest.fixture(scope="module")
def link():
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    server = subprocess.Popen(
        [sys.executable, "-m", "gapless", "lab", "--no-browser"], stdout=subprocess.PIPE, text=True, env=env
    )
    assert server.stdout is not None
    yield server.stdout.readline().strip()
    server.terminate()
    server.wait(20)


@pytest.fixture(scope="module")
def browser():
    sync = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    if not CHROMIUM:
        pytest.skip("there is no Chromium here: apt install chromium")
    with sync.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def page(browser, link):
    context = browser.new_context(viewport={"width": 1440, "height": 900}, has_touch=True, accept_downloads=True)
    shown = context.new_page()
    said, asked = [], []
    shown.on("console", lambda message: said.append(message.text))
    shown.on("pageerror", lambda error: said.append(str(error)))
    shown.on("request", lambda request: asked.append(request.url))
    shown.goto(link)
    yield shown
    assert not said
    assert all(url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")) for url in asked)
    context.close()


def open_scene(page, name):
    page.goto(page.url.split("#")[0] + "#" + name)
    page.wait_for_selector(".scene h1")
    page.wait_for_function("() => document.querySelectorAll('.plane path, .plane circle').length > 0", timeout=120_000)
    page.wait_for_timeout(50)


def state_of(page):
    page.click("[data-testid=link]")
    packed = page.url.split("/")[-1].replace("-", "+").replace("_", "/")
    return json.loads(base64.b64decode(packed + "=" * (-len(packed) % 4)))


def settle(page):
    """Until what is drawn is of the newest state."""
    page.wait_for_timeout(50)
    page.wait_for_function(
        "() => new Promise(done => { const root = document.querySelector('.gapless-lab'); let last = root.dataset.seq, calm = 0;"
        "const look = () => { calm = root.dataset.seq === last ? calm + 1 : 0; last = root.dataset.seq; calm > 8 ? done(true) :"
        " setTimeout(look, 40); }; look(); })",
        timeout=60_000,
    )


def shown_numbers(page):
    pairs = page.eval_on_selector_all(".numbers dd", "all => all.map(d => [d.dataset.name, d.dataset.value])")
    return dict(pairs)


def real_numbers(name, raw):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as the server does
        told = scene(name).look(scene(name).check(raw)).to_json()
    return {number["name"]: number["value"] for number in told["numbers"]}


def seq(page):
    return int(page.evaluate("() => +document.querySelector('.gapless-lab').dataset.seq"))


@pytest.mark.parametrize("name", NAMES)
def test_a_scene_draws_the_numbers_of_the_api(page, name):
    open_scene(page, name)
    settle(page)
    assert page.inner_text("[data-testid=sentence]").strip()
    assert shown_numbers(page) == real_numbers(name, state_of(page))


@pytest.mark.parametrize("name", [name for name in NAMES if scene(name).points])
def test_a_drag_is_answered_before_the_button_is_up(page, name):
    open_scene(page, name)
    settle(page)
    dot = page.locator(".plane .held .dot").first.bounding_box()
    before = seq(page)
    page.mouse.move(dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2)
    page.mouse.down()
    page.mouse.move(dot["x"] + 40, dot["y"] + 30, steps=6)
    if scene(name).release_above > 0:
        page.wait_for_function(f"() => +document.querySelector('.gapless-lab').dataset.seq > {before}", timeout=30_000)
    page.mouse.up()
    settle(page)
    assert seq(page) > before
    assert shown_numbers(page) == real_numbers(name, state_of(page))


@pytest.mark.parametrize("name", NAMES)
def test_sliders_and_play(page, name):
    open_scene(page, name)
    settle(page)
    slider = page.locator(".knob:not([hidden]) input[type=range]").last
    before = seq(page)
    slider.focus()
    page.keyboard.press(
        "ArrowRight" if page.evaluate("e => +e.value < +e.max", slider.element_handle()) else "ArrowLeft"
    )
    page.wait_for_function(f"() => +document.querySelector('.gapless-lab').dataset.seq > {before}", timeout=30_000)
    if page.locator("[data-testid=play]").count():
        settle(page)
        before = seq(page)
        page.click("[data-testid=play]")
        page.wait_for_function(f"() => +document.querySelector('.gapless-lab').dataset.seq > {before}", timeout=30_000)
        if page.inner_text("[data-testid=play]") == "Pause":
            page.click("[data-testid=play]")
    settle(page)
    assert shown_numbers(page) == real_numbers(name, state_of(page))


def test_keys_move_delete_and_undo(page):
    open_scene(page, "margin")
    settle(page)
    first = state_of(page)
    page.locator(".plane .held .dot").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("c")
    settle(page)
    moved = state_of(page)
    assert moved["points"][0][0] == pytest.approx(first["points"][0][0] + 0.05)
    assert moved["points"][0][2] == -first["points"][0][2]
    page.locator(".plane .held .dot").first.focus()
    page.keyboard.press("Delete")
    settle(page)
    assert len(state_of(page)["points"]) == len(first["points"]) - 1
    for _ in range(3):
        page.keyboard.press("Control+z")
    settle(page)
    assert state_of(page)["points"] == first["points"]


def test_a_touch_draws_a_point(page):
    open_scene(page, "margin")
    settle(page)
    box = page.locator(".plane").bounding_box()
    count = len(state_of(page)["points"])
    page.touchscreen.tap(box["x"] + 0.9 * box["width"], box["y"] + 0.1 * box["height"])
    settle(page)
    assert len(state_of(page)["points"]) == count + 1


def test_a_link_brings_the_state_back_to_the_bit(page, browser, link):
    open_scene(page, "margin")
    page.locator(".knob input[type=range]").first.focus()
    page.keyboard.press("ArrowRight")
    settle(page)
    state, numbers, address = state_of(page), shown_numbers(page), page.url
    other = browser.new_context().new_page()
    other.goto(link)
    other.goto(address)
    other.wait_for_selector(".numbers dd")
    settle(other)
    assert shown_numbers(other) == numbers
    assert state_of(other) == state
    other.context.close()


def test_the_exported_program_runs_and_prints_the_same(page, tmp_path):
    open_scene(page, "margin")
    settle(page)
    with page.expect_download() as download:
        page.click("[data-testid=script]")
    path = tmp_path / "program.py"
    download.value.save_as(path)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", path], capture_output=True, text=True, timeout=300, check=True
    )
    printed = dict(text.split(": ", 1) for text in done.stdout.splitlines())
    assert printed == shown_numbers(page)


TABLE = "height,weight,sport,plays\n" + "".join(
    f"{150 + 3 * (i % 17)},{'' if i == 5 else 50 + 2 * (i % 23)},{('ball', 'run')[i % 2]},{('yes', 'no')[(i % 17 + i % 5) > 9]}\n"
    for i in range(80)
)


def give(page, slot, name, content):
    before = seq(page)
    page.set_input_files(f"[data-testid=file-{slot}]", {"name": name, "mimeType": "", "buffer": content})
    page.wait_for_function(f"() => +document.querySelector('.gapless-lab').dataset.seq > {before}", timeout=60_000)
    settle(page)


def test_a_table_and_a_model_file_are_opened_and_judged_in_the_page(page, tmp_path):
    open_scene(page, "your_data")
    settle(page)
    give(page, "table", "../../etc/sport.csv", TABLE.encode())
    assert "sport.csv" in page.inner_text("[data-testid=sentence]")
    state = state_of(page)
    assert base64.b64decode(state["files"]["table"]["content"]).decode() == TABLE
    assert shown_numbers(page) == real_numbers("your_data", state)
    kinds = page.inner_text("[data-testid=table-kinds]")
    assert "category" in kinds
    assert "with gaps" in kinds
    assert page.locator("[data-testid=table-verdict] tbody tr").count() == int(shown_numbers(page)["claims"])
    with page.expect_download() as download:
        page.click("[data-testid=model]")
    path = tmp_path / "sport.gapless"
    download.value.save_as(path)
    give(page, "model", "sport.gapless", path.read_bytes())
    assert "the model file" in page.inner_text("[data-testid=sentence]")
    assert shown_numbers(page)["claims that hold"] == shown_numbers(page)["claims"]
    page.click("[data-testid=close-table]")  # now the example's rows, which the model has never seen
    settle(page)
    assert "cannot be read or fitted" in page.inner_text("[data-testid=sentence]")
    page.keyboard.press("Control+z")
    settle(page)
    assert "they hold" in page.inner_text("[data-testid=sentence]")


def test_a_file_that_is_too_large_is_not_even_sent(page):
    open_scene(page, "your_data")
    settle(page)
    before = seq(page)
    page.set_input_files("[data-testid=file-table]", {"name": "big.csv", "mimeType": "", "buffer": b"1,2\n" * 200_000})
    page.wait_for_function("() => document.querySelector('[data-testid=sentence]').textContent.includes('512 kB')")
    assert seq(page) == before


def test_a_slow_knob_answers_when_it_is_let_go(page):
    open_scene(page, "ensembles")
    settle(page)
    before = seq(page)
    box = page.locator("[data-testid=control-depth]").bounding_box()
    page.mouse.move(box["x"] + 8, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=5)
    page.wait_for_timeout(400)
    assert seq(page) == before
    page.mouse.up()
    page.wait_for_function(f"() => +document.querySelector('.gapless-lab').dataset.seq > {before}", timeout=30_000)


def test_the_mark_of_2_over_l_stands_on_the_knob(page):
    open_scene(page, "descent")
    settle(page)
    assert page.inner_text(".knob .mark:not([hidden])") == "2/L"


def go_to_state(page, name, state):
    base = page.url.split("#")[0]
    packed = state if isinstance(state, str) else base64.urlsafe_b64encode(json.dumps(state).encode()).decode()
    page.goto("about:blank")
    page.goto(f"{base}#{name}/{packed}")
    page.wait_for_function("() => document.querySelector('[data-testid=sentence]')?.textContent", timeout=60_000)
    settle(page)


def test_a_formula_that_is_not_defined_everywhere_is_drawn(page):
    ends = [[-2.0, 0.0, 1], [2.0, 0.0, 1]]
    go_to_state(page, "convexity", {"points": ends, "values": {"shape": "typed", "typed": "log(x)"}})
    assert "Convexity is asked on all of" in page.inner_text("[data-testid=sentence]")
    assert shown_numbers(page) == real_numbers("convexity", state_of(page))
    assert page.locator("[data-testid=control-width]").is_hidden()


@pytest.mark.parametrize(
    "state",
    ["AAAA", "!", "bnVsbA==", [1], {"points": "x"}, {"points": [[9.0, 0.0, 1]]}, {"points": [], "values": {"C": "NaN"}},
     {"points": [], "values": {"nobody": 1}}],
)  # fmt: skip
def test_a_link_that_holds_no_state_is_said_and_the_scene_begins_anew(page, state):
    go_to_state(page, "margin", state)
    assert "begins anew" in page.inner_text("[data-testid=sentence]")
    assert shown_numbers(page) == real_numbers("margin", scene("margin").begin().to_json())


def test_a_drag_by_touch_is_answered_before_the_finger_is_up(page):
    open_scene(page, "margin")
    settle(page)
    first, before = state_of(page), seq(page)
    hand = page.context.new_cdp_session(page)
    dot = page.locator(".plane .held .dot").first.bounding_box()
    for step in range(8):
        place = {"x": dot["x"] + 6 + 8 * step, "y": dot["y"] + 6 + 5 * step}
        hand.send("Input.dispatchTouchEvent", {"type": "touchMove" if step else "touchStart", "touchPoints": [place]})
    page.wait_for_function(f"() => +document.querySelector('.gapless-lab').dataset.seq > {before}", timeout=30_000)
    hand.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    settle(page)
    moved = [p for p, q in zip(first["points"], state_of(page)["points"], strict=True) if p != q]
    assert len(moved) == 1


def test_the_start_page_draws_all_ten(page):
    page.wait_for_function(
        "() => { const all = [...document.querySelectorAll('.card svg')];"
        f" return all.length === {len(NAMES)} && all.every(s => s.querySelector('path.line, circle, image')); }}",
        timeout=180_000,
    )


def test_large_type_and_dark(page):
    open_scene(page, "margin")
    settle(page)
    small = page.locator(".numbers").evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
    page.click("[data-testid=projector]")
    assert page.locator(".numbers").evaluate("e => parseFloat(getComputedStyle(e).fontSize)") > 1.3 * small
    card = "e => getComputedStyle(e).backgroundColor"
    light = page.locator(".numbers").evaluate(card)
    page.click("[data-testid=theme]")
    assert page.locator(".numbers").evaluate(card) != light


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser, link, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python").Axe()
    context = browser.new_context(
        color_scheme=scheme, reduced_motion="reduce", bypass_csp=True
    )  # axe is a script of the test
    page = context.new_page()
    page.goto(link)
    page.wait_for_selector(".card")
    found = {}
    for name in ("", *NAMES):
        if name:
            open_scene(page, name)
            settle(page)
        violations = axe.run(page).response["violations"]
        said = [
            f"{v['id']}: {n['target']}"
            for v in violations
            if v["impact"] in ("serious", "critical")
            for n in v["nodes"]
        ]
        if said:
            found[name or "start"] = said
    context.close()
    assert not found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 800])
def test_numbers_are_in_sight_without_scrolling(browser, link, width, scheme):
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(link)
    page.wait_for_selector(".card")
    if PICTURES:
        page.wait_for_timeout(3000)
        page.screenshot(path=str(Path(PICTURES) / f"start-{width}-{scheme}.png"))
    for name in NAMES:
        open_scene(page, name)
        settle(page)
        box = page.locator(".numbers").bounding_box()
        assert box["y"] + box["height"] <= 900
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        if PICTURES:
            page.screenshot(path=str(Path(PICTURES) / f"{name}-{width}-{scheme}.png"))
    context.close()

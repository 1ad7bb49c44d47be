"""Pages in a real browser: nothing is asked for, nothing is complained about, nothing runs, nothing sticks out."""

import re

import numpy as np
import pytest

import gapless
from tests.pages.chromium import Browser, found

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

pytestmark = [pytest.mark.slow, pytest.mark.skipif(found() is None, reason="there is no Chromium here")]

EVIL = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


def pages(folder):
    random = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = random.normal(size=(120, 6)) + 1.5 * np.eye(2, 6)[y]
    labels = np.array([EVIL, "\"yes\" & 'no'"])[y]
    names = [EVIL, 'a"><b>', "x" * 300, "\u202eright to left", "{{ 7 * 7 }}", "tab\there"]
    test = {"X_test": X + 0.5 * random.normal(size=X.shape), "y_test": labels}
    names = {"feature_names": names, "data_name": EVIL, "title": f"Title {EVIL}"}
    many = np.arange(200) % 20
    X_many = random.normal(size=(200, 40)) + 3 * np.eye(20, 40)[many]
    numbers = X @ np.arange(6.0) + random.normal(size=120)
    made = {
        "svm": gapless.report(gapless.LinearSVC(loss="hinge").fit(X, labels), X, labels, **test, **names),
        "kernel": gapless.report(gapless.SVC(gamma=0.1).fit(X, labels), X, labels, **test, **names),
        "tree": gapless.report(gapless.DecisionTreeClassifier(max_depth=3).fit(X, labels), X, labels, **test, **names),
        "boost": gapless.report(gapless.AdaBoostClassifier(n_estimators=20).fit(X, labels), X, labels, **test),
        "many": gapless.report(
            gapless.LogisticRegression().fit(X_many, many), X_many, many, X_test=X_many + 0.1, y_test=many
        ),
        "ridge": gapless.report(gapless.Ridge().fit(X, numbers), X, numbers, X_test=X + 0.1, y_test=numbers),
    }
    for name, page in made.items():
        page.save(folder / f"{name}.html")
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("pages")
    return place, pages(place)


def test_every_page_is_quiet_and_fits(folder, capsys):
    place, made = folder
    with Browser(found()) as browser:
        for name, page in made.items():
            url = (place / f"{name}.html").as_uri()
            for width, dark in ((1280, False), (420, False), (1280, True), (420, True)):
                browser.open(url, width=width, dark=dark, mobile=width < 600)
                assert browser.requests == [], name
                assert browser.complaints == [], (name, browser.complaints)
                assert browser.run("document.title") == page.title
                wide = browser.run("document.documentElement.scrollWidth")
                assert wide <= width, f"{name} sticks out at {width}: {wide}"
                back, ink = (
                    _light(browser.run(f"getComputedStyle(document.body).{what}"))
                    for what in ("backgroundColor", "color")
                )
                assert abs(back - ink) > 0.6, "too little contrast"
                assert (back < ink) == dark
            assert browser.run("document.scripts.length") == 0
            assert browser.run("document.images.length") == page.html.count("<img ")
            assert browser.run("[...document.images].every(i => i.complete && i.naturalWidth > 0)")


def _box(browser, selector):
    box = f"document.querySelector('{selector}').getBoundingClientRect()"
    return [browser.run(f"{box}.{side}") for side in ("left", "top", "right", "bottom")]


@pytest.mark.parametrize("width", [1280, 800, 420])
def test_the_contents_stay_in_sight(folder, width):
    place, _ = folder
    with Browser(found()) as browser:
        browser.open((place / "svm.html").as_uri(), width=width, height=700, mobile=width < 600)
        for share in (0.3, 0.6, 0.9):
            browser.run(f"window.scrollTo(0, {share} * document.documentElement.scrollHeight)")
            left, top, right, bottom = _box(browser, "nav")
            assert top == pytest.approx(0.0, abs=1.0), (width, share)
            assert bottom <= 700
            assert left >= -1
            assert right <= width + 1
            if width > 1000:  # beside the text
                assert right <= _box(browser, "main")[0]
            else:
                assert bottom - top < 60, "one line"
        for name in ("errors", "judge"):
            browser.run(f"document.querySelector('nav a[href=\"#{name}\"]').click()")
            below = 0 if width > 1000 else _box(browser, "nav")[3]
            assert below - 1 <= _box(browser, f"#{name}")[1] <= 120, (
                "the link goes there, and the heading is not covered"
            )


def test_formulas_are_set_and_the_plain_text_is_hidden(folder):
    place, _ = folder
    with Browser(found()) as browser:
        browser.open((place / "svm.html").as_uri())
        half = _box(browser, ".formula mfrac")
        above, below = _box(browser, ".formula mfrac mn:first-child"), _box(browser, ".formula mfrac mn:last-child")
        assert above[3] <= below[1] + 2, "the numerator stands above the denominator"
        assert half[3] - half[1] > 20
        assert browser.run("getComputedStyle(document.querySelector('.formula .plain')).display") == "none"


def test_a_confusion_table_of_twenty_classes_fits_beside_the_contents(folder):
    place, _ = folder
    with Browser(found()) as browser:
        browser.open((place / "many.html").as_uri(), width=1280)
        wide, room = (
            browser.run(f"document.querySelector('#errors .matrix').{part}")
            for part in ("scrollWidth", "parentElement.clientWidth")
        )
        assert browser.run("document.querySelectorAll('#errors .matrix tbody tr').length") == 20
        assert wide <= room
        assert browser.run("parseFloat(getComputedStyle(document.querySelector('#errors .matrix td')).fontSize)") >= 12


def test_a_request_would_be_seen(tmp_path):
    """The browser check can fail: a page with a script, a picture of another host and an error is caught."""
    (tmp_path / "bad.html").write_text(
        "<title>bad</title><img src='http://127.0.0.1:9/x.png'><script>console.error('oh'); missing()</script>"
    )
    with Browser(found()) as browser:
        browser.open((tmp_path / "bad.html").as_uri())
        assert browser.requests == ["http://127.0.0.1:9/x.png"]
        assert len(browser.complaints) >= 2


def test_what_a_page_says_cannot_reach_a_host(folder):
    """Even a script that got in could not run, and a picture that got in would not be fetched."""
    place, made = folder
    bad = made["svm"].html.replace(
        "</main>", "<img src='http://127.0.0.1:9/x.png'><script>document.title='owned'</script></main>"
    )
    (place / "bad.html").write_text(bad, encoding="utf-8")
    with Browser(found()) as browser:
        browser.open((place / "bad.html").as_uri())
        assert browser.run("document.title") == made["svm"].title
        blocked = [event for event in browser.events if event.get("method") == "Network.loadingFailed"]
        assert all(event["params"].get("blockedReason") == "csp" for event in blocked)


def test_it_prints(folder):
    place, made = folder
    with Browser(found()) as browser:
        for name in made:
            browser.open((place / f"{name}.html").as_uri(), dark=True)
            paper = browser.pdf()
            assert paper.startswith(b"%PDF")
            pages = len(re.findall(rb"/Type\s*/Page\b", paper))
            assert 2 <= pages <= 20, (name, pages)


def _light(colour):
    """0 for black, 1 for white."""
    return sum(int(part) for part in re.findall(r"\d+", colour)[:3]) / 765

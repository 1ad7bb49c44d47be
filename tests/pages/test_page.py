"""What a page holds: escaped names, honest figures, one file that is whole or not there."""

import html
import os
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import gapless
from gapless.pages.blocks import count, number, percent, said
from gapless.theory.samples.hoeffding import clopper_pearson
from tests.pages.test_every_estimator import Reader, page_of, rows

pytest.importorskip("jinja2")

EVIL = "<script>alert(1)</script>"
QUOTES = "\"yes\" & 'no' <b>"


def evil_rows():
    X, y = rows()
    return X, np.array([EVIL, QUOTES])[(y == "one").astype(int)]


# Escaping


@pytest.mark.parametrize(
    "model",
    [
        gapless.LinearSVC(loss="hinge"),
        gapless.SVC(),
        gapless.Perceptron(max_iter=20),
        gapless.DecisionTreeClassifier(max_depth=2),
        gapless.AdaBoostClassifier(n_estimators=3),
        gapless.LogisticRegression(class_weight={EVIL: 1.0, QUOTES: 2.0}),
    ],
)
def test_names_and_labels_of_the_data_are_text(model):
    X, y = evil_rows()
    names = [EVIL, "\"'><img src=x onerror=alert(1)>", "{{ 7 * 7 }}{% raw %}"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page = gapless.report(
            model.fit(X, y), X, y, X_test=X + 0.3, y_test=y, feature_names=names, pictures=False,
            data_name=f"{EVIL}.csv", test_name=QUOTES, title=EVIL,
            commands=[f"gapless train '{EVIL}'", f"gapless verify {QUOTES}"],
        )  # fmt: skip
    read = Reader(page.html)
    assert {"script", "b", "iframe", "object"}.isdisjoint(tag for tag, _ in read.tags)
    assert all(attrs["src"].startswith("data:") for tag, attrs in read.tags if tag == "img")
    assert not any(name.startswith("on") for _, attrs in read.tags for name in attrs)
    assert all(attrs["href"].startswith(("#", "data:")) for _, attrs in read.tags if "href" in attrs)
    text = read.sections
    assert EVIL in text["errors"]
    assert QUOTES in text["errors"]
    if "{{" in page.html:  # a feature that the model uses
        assert "{{ 7 * 7 }}{% raw %}" in text["features"]
    assert f"gapless verify {QUOTES}" in text["repeat"]
    assert html.escape(EVIL, quote=False).replace("'", "&#39;") in page.html


def test_the_head_forbids_every_host_and_every_script():
    X, y = rows()
    page = gapless.report(gapless.LinearSVC().fit(X, y), X, y, pictures=False)
    metas = [attrs for tag, attrs in Reader(page.html).tags if tag == "meta"]
    policy = next(attrs["content"] for attrs in metas if attrs.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert "http:" not in page.html
    assert "https:" not in page.html


def test_signs_that_no_page_can_show():
    assert said("a\0b\ud800c\nd\te") == "a\ufffdb\ufffdc d e"
    assert len(said("x" * 10_000)) == 120
    X, y = rows()
    labels = np.where(y == "one", "half \ud800", "nul \0").astype(object)
    page = gapless.report(gapless.LinearSVC().fit(X, labels), X, labels, pictures=False)
    assert "half \ufffd" in page.html
    page.html.encode("utf-8")


def test_numbers_as_a_person_reads_them():
    assert count(1234567) == "1\u202f234\u202f567"
    assert number(-0.00012345) == "−0.0001234" or number(-0.00012345) == "−0.0001235"
    assert number(float("nan")) == "not known"
    assert number(float("inf")) == "∞"
    assert number(3.0) == "3"
    assert number(56689.4) == "56\u202f689"
    assert number(-123456.7) == "−123\u202f457"
    assert number(5668.94) == "5669"
    assert number(1.5e12 + 0.5) == "1.5e+12"
    assert percent(0.12345) in ("12.35\u00a0%", "12.34\u00a0%")
    assert percent(3e-7) == "3e-05\u00a0%"


# Figures


def test_the_interval_is_the_exact_one():
    X, y = rows()
    X_test, y_test = rows(n=60, seed=5)
    model = gapless.LinearSVC(loss="hinge").fit(X, y)
    told = page_of(model, X, y, X_test=X_test, y_test=y_test)
    found = clopper_pearson(int((model.predict(X_test) != y_test).sum()), 60, 0.05)
    assert f"between {percent(found.low)} and {percent(found.high)}".replace("\u00a0", " ") in told["new-rows"]
    told = page_of(model, X, y, X_test=X_test, y_test=y_test, tested=10)
    found = clopper_pearson(int((model.predict(X_test) != y_test).sum()), 60, 0.005)
    assert f"between {percent(found.low)} and {percent(found.high)}".replace("\u00a0", " ") in told["new-rows"]


def test_training_rows_as_test_rows_give_no_interval():
    X, y = rows()
    told = page_of(gapless.LinearSVC().fit(X, y), X, y, X_test=X[::2], y_test=y[::2])
    assert "no interval follows" in told["new-rows"]
    assert "has no intervals" in told["errors"]
    half = np.vstack([X[:30], X[:30] + 0.01])
    told = page_of(gapless.LinearSVC().fit(X, y), X, y, X_test=half, y_test=np.r_[y[:30], y[:30]])
    assert "30 of the 60 test rows also occur among the training rows and are left out" in told["new-rows"]


def test_few_different_rows_coincide_without_being_copies():
    """Columns of few categories: every new row has been seen, and the interval holds all the same."""
    random = np.random.default_rng(0)
    X = random.integers(0, 2, size=(400, 3)).astype(float)
    y = (X[:, 0] + random.random(400) > 0.9).astype(int)
    told = page_of(gapless.LogisticRegression().fit(X[:300], y[:300]), X[:300], y[:300], X_test=X[300:], y_test=y[300:])
    assert "100 of the 100 test rows have the same values as a training row" in told["new-rows"]
    assert "On new rows the error lies between" in told["new-rows"]
    assert "held-out" in told["bounds"]


def test_costs_are_those_given():
    X, y = rows()
    X_test, y_test = rows(n=60, seed=5)
    model = gapless.LinearSVC().fit(X, y)
    found = model.predict(X_test)
    mean = (3.0 * ((y_test == "one") & (found == "two")) + 7.0 * ((y_test == "two") & (found == "one"))).mean()
    for costs in ({("one", "two"): 3, ("two", "one"): 7}, [[0, 3], [7, 0]]):
        told = page_of(model, X, y, X_test=X_test, y_test=y_test, costs=costs)
        assert f"as given{number(mean)}" in told["errors"]
    alone = min(3.0 * np.mean(y_test == "one"), 7.0 * np.mean(y_test == "two"))
    assert number(alone) in told["errors"]
    for bad in ({("one", "three"): 1}, [[0, 1]], [[0, np.nan], [1, 0]]):
        with pytest.raises(ValueError, match="cost"):
            gapless.report(model, X, y, costs=bad)


def test_other_data_is_refused():
    X, y = rows()
    model = gapless.LinearSVC().fit(X, y)
    for bad, labels, why in (
        (X + 1, y, "other data"),
        (X[:-1], y[:-1], "others go to X_test"),
        (X, y[::-1], "other labels"),
    ):
        with pytest.raises(gapless.CertificateError, match=why):
            gapless.report(model, bad, labels)
    with pytest.raises(ValueError, match="come together"):
        gapless.report(model, X, y, X_test=X)
    from sklearn.exceptions import NotFittedError
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(NotFittedError):
        gapless.report(gapless.LinearSVC(), X, y)
    with pytest.raises(TypeError, match="not a gapless model"):
        gapless.report(LogisticRegression().fit(X, y), X, y)


def test_bounds_that_say_nothing_are_called_vacuous():
    random = np.random.default_rng(3)
    X, y = random.normal(size=(40, 30)), np.arange(40) % 2
    told = page_of(gapless.LogisticRegression().fit(X, y), X, y)
    assert "vacuous" in told["bounds"]


def test_a_false_claim_is_shown_as_false():
    X, y = rows()
    model = gapless.LinearSVC(loss="hinge").fit(X, y)
    model.intercept_ = model.intercept_ + 0.5
    assert "does not confirm" in page_of(model, X, y)["judge"]


def test_the_same_model_gives_the_same_page():
    X, y = rows()
    model = gapless.SVC(gamma=0.3).fit(X, y)
    assert gapless.report(model, X, y, pictures=False).html == gapless.report(model, X, y, pictures=False).html


def test_pictures_are_images_in_the_page():
    pytest.importorskip("matplotlib")
    pytest.importorskip("gapless.plots")
    X, y = rows()
    page = gapless.report(gapless.LinearSVC(loss="hinge").fit(X, y), X, y)
    images = [attrs for tag, attrs in Reader(page.html).tags if tag == "img"]
    assert images
    assert all(attrs["src"].startswith(("data:image/svg+xml;base64,", "data:image/png;base64,")) for attrs in images)
    assert len(page.html) < 3_000_000


# Files


def test_a_page_is_written_whole(tmp_path):
    X, y = rows()
    place = tmp_path / "page.html"
    page = gapless.report(gapless.LinearSVC().fit(X, y), X, y, file=place, pictures=False)
    assert place.read_text(encoding="utf-8") == page.html
    assert os.listdir(tmp_path) == ["page.html"]
    assert page.path == os.fspath(place)
    assert "page.html" in repr(page)
    with pytest.raises(OSError, match="is a directory"):
        page.save(tmp_path)
    with pytest.raises(OSError, match="does not exist"):
        page.save(tmp_path / "nowhere" / "page.html")


def test_a_full_disk_leaves_what_was_there(tmp_path):
    """Real errors of the system: a limit on the size of files stops the writing in the middle."""
    pytest.importorskip("resource")  # not on Windows
    place = tmp_path / "page.html"
    place.write_text("before")
    code = f"""
        import resource
        from gapless.files.atomic_write import write_whole
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            write_whole({os.fspath(place)!r}, b"x" * 100_000)
        except OSError as error:
            print(error)
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert "could not be written" in ran.stdout, ran.stderr
    assert place.read_text() == "before"
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_notebook_shows_it_in_a_frame_that_runs_nothing():
    X, y = evil_rows()
    shown = gapless.report(gapless.LinearSVC().fit(X, y), X, y, pictures=False)._repr_html_()
    tags = Reader(shown).tags
    assert [tag for tag, _ in tags] == ["iframe"]
    assert "sandbox" in tags[0][1]


def test_without_jinja2_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    X, y = rows()
    with pytest.raises(ImportError, match=r"gapless\[report\]"):
        gapless.report(gapless.LinearSVC().fit(X, y), X, y)

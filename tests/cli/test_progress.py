"""The falling gap on stderr."""

import io
import sys
from types import ModuleType, SimpleNamespace

import pytest

from gapless.cli.progress import Progress


def event(pass_, gap):
    return SimpleNamespace(pass_=pass_, seconds=0.0, primal=1.0 + gap, dual=1.0, gap=gap, relative_gap=gap)


def test_nothing_before_a_second():
    stream = io.StringIO()
    with Progress(1e-4, stream) as progress:
        progress(event(1, 0.5))
    assert stream.getvalue() == ""


def test_silence_where_there_is_no_terminal():
    stream = io.StringIO()
    with Progress(1e-4, stream, quiet=0.0) as progress:
        progress(event(3, 0.5))
    assert stream.getvalue() == ""


@pytest.mark.parametrize("asked", [{"lines": True}, {"environment": "lines"}])
def test_lines_where_they_are_asked_for(asked, monkeypatch):
    monkeypatch.setenv("GAPLESS_PROGRESS", asked.pop("environment", ""))
    stream = io.StringIO()
    with Progress(1e-4, stream, quiet=0.0, **asked) as progress:
        progress(event(3, 0.5))
        progress(event(4, 0.4))  # within the second: not again
    (line,) = stream.getvalue().splitlines()
    assert "pass 3" in line
    assert "primal 1.5" in line
    assert "dual 1" in line
    assert "relative gap 5.0e-01 (tol 1e-04)" in line


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_silence_everywhere_where_that_is_asked_for(monkeypatch):
    monkeypatch.setenv("GAPLESS_PROGRESS", "off")
    stream = Terminal()
    with Progress(1e-4, stream, quiet=0.0) as progress:
        progress(event(3, 0.5))
    assert stream.getvalue() == ""


def test_a_bar_on_a_terminal():
    stream = Terminal()
    with Progress(1e-4, stream, quiet=0.0) as progress:
        progress(event(3, 0.5))
    assert "relative gap" in stream.getvalue()


def test_the_share_is_logarithmic_and_starts_again():
    progress = Progress(1e-4, io.StringIO())
    progress(event(1, 1.0))
    assert progress.share(1.0) == 0.0
    assert abs(progress.share(1e-2) - 0.5) < 1e-12
    assert progress.share(1e-5) == 1.0
    assert progress.share(float("inf")) == 0.0
    progress(event(9, 1e-4))
    progress(event(1, 1e-2))
    assert progress.first == 1e-2


@pytest.fixture
def notebook(monkeypatch):
    """IPython as a kernel has it: what is displayed, and what becomes of it."""
    shown = []

    def display(page, display_id=False):
        shown.append(page)
        return SimpleNamespace(update=lambda page: shown.append(page))

    package, module = ModuleType("IPython"), ModuleType("IPython.display")
    package.get_ipython = lambda: SimpleNamespace(kernel=object())
    module.HTML, module.display = str, display
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return shown


def test_one_bar_in_a_notebook_that_is_updated(notebook):
    with Progress(1e-4, quiet=0.0, name="<Model>") as progress:
        progress(event(1, 1.0))
        progress.next = 0.0
        progress(event(2, 1e-2))
    first, second = notebook
    assert 'value="0.000"' in first
    assert 'value="0.500"' in second
    assert "relative gap 1.0e-02" in second
    assert "&lt;Model&gt;" in second
    assert "<Model>" not in second


@pytest.mark.parametrize("name", ["LinearSVC", "LogisticRegression", "SVC", "Perceptron"])
def test_verbose_is_a_bar_in_a_notebook_and_lines_in_a_file(name, notebook, capsys, monkeypatch):
    import numpy as np

    import gapless

    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3))
    y = (X[:, 0] > 0.0).astype(int)
    getattr(gapless, name)(verbose=1).fit(X, y)
    assert notebook
    assert capsys.readouterr().out == ""
    monkeypatch.setitem(sys.modules, "IPython", None)
    getattr(gapless, name)(verbose=1).fit(X, y)
    assert f"[{name}] pass" in capsys.readouterr().out
    getattr(gapless, name)().fit(X, y)
    assert capsys.readouterr().out == ""

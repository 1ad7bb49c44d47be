"""The falling gap on stderr."""

import io
from types import SimpleNamespace

from gapless.cli.progress import Progress


def event(pass_, gap):
    return SimpleNamespace(pass_=pass_, seconds=0.0, primal=1.0 + gap, dual=1.0, gap=gap, relative_gap=gap)


def test_nothing_before_a_second():
    stream = io.StringIO()
    with Progress(1e-4, stream) as progress:
        progress(event(1, 0.5))
    assert stream.getvalue() == ""


def test_lines_where_there_is_no_terminal():
    stream = io.StringIO()
    with Progress(1e-4, stream, quiet=0.0) as progress:
        progress(event(3, 0.5))
        progress(event(4, 0.4))  # within the second: not again
    (line,) = stream.getvalue().splitlines()
    assert "pass 3" in line
    assert "primal 1.5" in line
    assert "dual 1" in line
    assert "relative gap 5.0e-01 (tol 1e-04)" in line


def test_a_bar_on_a_terminal():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

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

"""Checkpoints: model files with their true gap, from which the next fit goes on."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from gapless import LinearSVC, LogisticRegression, load, verify
from gapless.files import model_file
from tests.stream.data import cut, labels, rows, weights


@pytest.fixture
def at_once(monkeypatch):
    """Each better point is written."""
    monkeypatch.setattr(LinearSVC, "_checkpoint_seconds", 0.0)
    monkeypatch.setattr(LogisticRegression, "_checkpoint_seconds", 0.0)


@pytest.fixture
def written(monkeypatch):
    """The models that were written, as they were read back."""
    found = []
    save = model_file.save

    def saved(model, path):
        save(model, path)
        found.append(load(path))

    monkeypatch.setattr(model_file, "save", saved)
    return found


@pytest.mark.parametrize("place", ["memory", "blocks"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("make", [LinearSVC, lambda **more: LinearSVC(loss="hinge", **more), LogisticRegression])
def test_every_checkpoint_is_a_model_with_its_true_gap(tmp_path, at_once, written, make, classes, place):
    X, w = rows(1500), weights(1500)
    y = labels(X, classes)
    given = (X, y, w) if place == "memory" else (cut(3, X, y, w),)
    plain = make().fit(*given)
    found = make(checkpoint=tmp_path / "c.gapless").fit(*given)
    assert np.array_equal(found.coef_, plain.coef_)  # to watch a fit changes none of its bits
    at_once_by_numpy = place == "memory" and classes == 3 and make is not LogisticRegression  # some milliseconds
    assert len(written) > (0 if at_once_by_numpy else 1)
    for model in written:
        assert verify(model, X, y, w)
    if not at_once_by_numpy:
        assert written[0].certificate_.relative_gap > 1e-4
        assert written[0].status_ == "interrupted"
    assert written[-1].certificate_.relative_gap == found.certificate_.relative_gap
    assert found.certificate_.statement["parameters"]["checkpoint"] is None


def test_the_next_fit_goes_on(tmp_path):
    X = rows(1500)
    y = labels(X)
    place = tmp_path / "c.gapless"
    with pytest.warns(match="max_iter"):
        LinearSVC(loss="hinge", max_iter=1, checkpoint=place, penalize_intercept=True).fit(cut(3, X, y))
    first = load(place).certificate_.relative_gap
    assert first > 1e-4
    again = LinearSVC(loss="hinge", checkpoint=place, penalize_intercept=True).fit(cut(3, X, y))
    assert again.status_ == "converged"
    assert load(place).certificate_.relative_gap <= 1e-4
    with pytest.raises(ValueError, match="holds a LinearSVC"):
        LogisticRegression(checkpoint=place).fit(X, y)


def test_a_full_disk_is_told_once_and_the_last_good_file_stays(tmp_path, at_once, monkeypatch):
    X = rows(1500)
    y = labels(X)
    place = tmp_path / "c.gapless"
    save, times = model_file.save, []

    def full(model, path):
        times.append(1)
        if len(times) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        save(model, path)

    monkeypatch.setattr(model_file, "save", full)
    with pytest.warns(UserWarning, match="could not be written .No space left") as told:
        found = LinearSVC(loss="hinge", checkpoint=place).fit(X, y)
    assert len(told) == 1
    assert found.status_ == "converged"
    assert len(times) > 2
    assert verify(place, X, y)  # the first one, whole


PROGRAM = """
    import sys, time
    import numpy as np
    from gapless import LinearSVC
    LinearSVC._checkpoint_seconds = 0.0
    X = np.random.default_rng(0).normal(size=(4000, 30))
    y = (X[:, 0] + np.random.default_rng(1).normal(size=4000) > 0).astype(int)

    class Slow:
        def __iter__(self):
            for k in range(4):
                time.sleep(0.02)
                yield X[1000 * k : 1000 * k + 1000], y[1000 * k : 1000 * k + 1000]

    model = LinearSVC(loss="hinge", tol=1e-10, checkpoint=sys.argv[1]).fit(Slow())
    print(model.n_iter_, model.certificate_.relative_gap)
"""


@pytest.mark.slow
def test_a_program_that_was_killed_goes_on(tmp_path):
    place, program = tmp_path / "c.gapless", tmp_path / "p.py"
    program.write_text(textwrap.dedent(PROGRAM))
    running = subprocess.Popen([sys.executable, str(program), str(place)])
    deadline = time.monotonic() + 120
    while not place.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.5)
    running.send_signal(signal.SIGKILL)
    running.wait()
    left = load(place).certificate_
    assert left.status == "interrupted"
    done = subprocess.run([sys.executable, str(program), str(place)], capture_output=True, text=True, check=True)
    assert float(done.stdout.split()[1]) <= 1e-10
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".part")]  # what was being written is gone

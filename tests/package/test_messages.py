"""Messages show values as a user writes them: 1 and 'a', never np.int64(1) and np.str_('a')."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

import numpy as np
import pytest

import gapless
from gapless._runtime.written import written
from gapless.theory.generalisation import growth, vc
from gapless.theory.optimisation import global_minimum
from gapless.theory.samples import bias_variance, hoeffding
from gapless.theory.samples.confusion import confusion

X = np.array([[-2.0, 0.1], [-1.0, 0.4], [-1.5, -0.3], [1.0, 0.2], [2.0, -0.5], [1.5, 0.3]])
SIDE = np.array([0, 0, 0, 1, 1, 1])
ESTIMATORS = [
    name
    for name in dir(gapless)
    if isinstance(getattr(gapless, name), type) and hasattr(getattr(gapless, name), "get_params")
]
WRONG = (np.float64(-1.5), np.int64(-7), np.str_("nonsense"), [np.int64(-7)], {np.str_("nonsense"): np.float64(-1.5)})


@pytest.mark.parametrize("name", ESTIMATORS)
def test_no_estimator_shows_numpys_names(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a word in the place of ``checkpoint`` is a file
    told = 0
    # Of a bad random_state scikit-learn speaks.
    for parameter in sorted({*getattr(gapless, name)().get_params(deep=False)} - {"random_state"}):
        for value in WRONG:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    getattr(gapless, name)(**{parameter: value}).fit(X, SIDE)
                    said = []
                except Exception as error:  # which error it is, other tests say
                    told += isinstance(error, ValueError)
                    said = [str(error)]
            for text in [*said, *(str(warning.message) for warning in caught)]:
                assert "np." not in text, (parameter, value, text)
    assert told > 0


def test_written():
    assert written(np.int64(1)) == "1"
    assert written(np.float32(0.5)) == "0.5"
    assert written(np.bool_(True)) == "True"
    assert written(np.str_("a")) == "'a'"
    assert written([np.int64(1), (np.str_("a"),)]) == "[1, ('a',)]"
    assert written({np.str_("a"): np.float64(2.5)}) == "{'a': 2.5}"
    assert written(np.datetime64("2026-01-02")) == "2026-01-02"
    assert written(np.longdouble(1.5)) == "1.5"
    for value in (1, "a", [1, 2], (1,), (), {"a": [1]}, None, 2.5, b"a"):
        assert written(value) == repr(value)


class Scores:
    classes_ = np.array([0, 1])

    def decision_function(self, X):
        return np.asarray(X)[:, 0]


CALLS = [
    lambda: gapless.threshold_for(Scores(), {"false_positive": 1, "false_negative": 1}, X, SIDE + np.int64(1)),
    lambda: gapless.threshold_for(Scores(), {"false_positive": 1, "false_negative": 1}, X, SIDE, positive=np.int64(7)),
    lambda: gapless.threshold_for(Scores(), None, X, SIDE, delta=np.float64(2.0), at=0.5),
    lambda: gapless.calibrate(Scores(), X, SIDE + np.int64(1)),
    lambda: gapless.calibrate(Scores(), X, SIDE, np.str_("magic")),
    lambda: gapless.tune(gapless.LinearSVC(), X, SIDE, {"C": [1.0]}, cv=np.int64(1)),
    lambda: gapless.tune(gapless.LinearSVC(), X, SIDE, {"C": [1.0]}, time_limit=np.float64(-1.0)),
    lambda: gapless.path(gapless.LinearSVC(), X, SIDE, between=np.float64(-1.0)),
    lambda: gapless.path(gapless.SVC(), X, SIDE, [np.float64(3.0)], exact=True),
    lambda: gapless.convert(C=np.float64(-1.0), n=np.int64(5), to="alpha"),
    lambda: gapless.LinearSVC(class_weight={np.int64(0): np.float64(-1.0)}).fit(X, SIDE),
    lambda: gapless.LinearSVC().fit(X, SIDE + 0.5),
    lambda: hoeffding.solve(n=np.float64(2.5), delta=0.05),
    lambda: hoeffding.solve(epsilon=np.float64(-1.0), delta=0.05),
    lambda: vc.sample_size(np.float64(-1.0), 0.05, 3),
    lambda: growth.growth(np.int64(-3), 3),
    lambda: bias_variance.decompose(gapless.Ridge(), None, X, SIDE, draws=np.int64(1)),
    lambda: global_minimum.two_wells(np.float64(9.0)),
    lambda: confusion(SIDE, SIDE).recall(np.int64(7)),
    lambda: gapless.bounds(gapless.LinearSVC().fit(X, SIDE), X, SIDE, delta=np.float64(2.0)),
    lambda: gapless.descend(gapless.linear_risk(X, SIDE), steps=np.float64(-1.0)),
    lambda: gapless.linear_risk(X, SIDE, lam=np.float64(-1.0)),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_no_function_shows_numpys_names(number):
    with pytest.raises((ValueError, TypeError, KeyError, AttributeError)) as caught:
        CALLS[number]()
    assert not isinstance(caught.value, AttributeError), caught.value  # a call that is not there tests nothing
    assert "np." not in str(caught.value)


#: What ``!r`` may show: texts of our own, and objects whose repr is what is meant.
TEXTS = {
    "name", "name_", "__name__", "text", "word", "close[0]", "status", "self.status", "fit.status", "self.kind",
    "certificate.kind", "rates.kind", "diverged", "backend", "asked", "used", "missing[0]", "model", "self.model_",
    "learner", "f",
    "os.fspath(model)", "type(self).__name__", "self.rows.tolist()", "self.columns.tolist()",
}  # fmt: skip


def test_values_go_through_written():
    """The judge and the readers of files hold texts and JSON alone; elsewhere a value may be numpy's."""
    root = Path(gapless.__file__).parent
    found = []
    for path in sorted(root.rglob("*.py")):
        if {"judge", "files"} & set(path.relative_to(root).parts):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FormattedValue) and node.conversion == ord("r"):
                shown = ast.unparse(node.value)
                plain = isinstance(node.value, ast.Subscript) and isinstance(node.value.slice, ast.Slice)
                if shown not in TEXTS and not plain:
                    found.append(f"{path.relative_to(root)}:{node.lineno}: {shown}")
    assert not found, "write {written(value)} from gapless._runtime.written: " + ", ".join(found)

"""Newton's method for all classes at once: the optima of one class after the other, and what they claim holds."""

from __future__ import annotations

import numpy as np
import pytest

import gapless
from gapless import LinearSVC, verify


def classes_of(seed, n, d, K, noise):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    return X, (X @ random.normal(size=(d, K)) + noise * random.gumbel(size=(n, K))).argmax(axis=1)


@pytest.mark.parametrize("penalised", [False, True])
@pytest.mark.parametrize("C", [0.01, 100.0])
@pytest.mark.parametrize(
    "shape", [(300, 3, 5), (150, 20, 3)]
)  # products of columns written out, and rows chosen by class
def test_the_optima_are_those_of_single_classes(shape, C, penalised):
    X, y = classes_of(1, *shape, 0.7)
    weights = np.random.default_rng(2).integers(0, 3, y.size)
    model = LinearSVC(C=C, penalize_intercept=penalised, tol=1e-9).fit(X, y, weights)
    with gapless.config_context(backend="numba"):
        other = LinearSVC(C=C, penalize_intercept=penalised, tol=1e-9).fit(X, y, weights)
    assert model.certificate_.backend == "cpu numpy"
    for ours, theirs in zip(model.certificate_.subproblems, other.certificate_.subproblems, strict=True):
        assert ours.status == "converged"
        assert abs(ours.primal - theirs.primal) <= 2e-9 * theirs.primal
    assert verify(model, X, y, sample_weight=weights)
    assert verify(model, X, y, sample_weight=weights, rigorous=True)


def test_few_steps_are_obeyed_and_every_class_is_told():
    X, y = classes_of(3, 400, 4, 6, 0.5)
    with pytest.warns(gapless.ConvergenceWarning):
        stopped = LinearSVC(max_iter=1, tol=1e-12).fit(X, y)
    assert stopped.n_iter_ == 1
    assert verify(stopped, X, y)
    fitted = LinearSVC().fit(X, y)
    assert all(sub.n_iter >= 1 for sub in fitted.certificate_.subproblems)
    assert np.all(np.diff([dual for *_, dual, _ in fitted.history_]) >= 0.0)

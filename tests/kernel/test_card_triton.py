"""Triton's loops over tiles, by Triton's interpreter on small arrays: sums, their bounds, and pairs of classes."""

from __future__ import annotations

import importlib.util
import os
import sys

import numpy as np
import pytest

from gapless import SVC, verify
from gapless.backends.gpu import device
from gapless.kernels.rbf import RBF, squared_distances

here = all(importlib.util.find_spec(name) is not None for name in ("torch", "triton"))
pytestmark = pytest.mark.skipif(not here, reason="torch and triton are not installed (the extra gpu)")

rng = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def interpreter():
    if "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("triton was imported before its interpreter was asked for")
    os.environ["TRITON_INTERPRET"] = "1"
    with device.stand_in("cpu"), device.interpreted():
        yield


def rows_of(what: str, d: int) -> np.ndarray:
    if what == "plain":
        return rng.normal(size=(70, d))
    if what == "near duplicates":
        return rng.normal(size=(1, d)) + 1e-4 * rng.normal(size=(70, d))
    if what == "large norms":
        return 30.0 * rng.normal(size=(70, d)) / np.sqrt(d)
    if what == "subnormal low parts":  # below 2^-14 float16 loses bits, and lo is 2^-11 of hi
        return rng.normal(size=(70, d)) * np.exp2(rng.integers(-20, 0, size=(70, d)))
    return rng.integers(0, 256, size=(70, d)).astype(float)  # whole steps


@pytest.mark.parametrize("d", [5, 40, 150])
@pytest.mark.parametrize("what", ["plain", "near duplicates", "large norms", "subnormal low parts", "whole steps"])
def test_sums_are_within_their_bounds(what, d):
    import torch

    from gapless.backends.gpu.tiles import lay_out

    X = rows_of(what, d)
    kernel = RBF(0.3 / d if what != "whole steps" else 1e-5 / d)
    tiles, norms2 = lay_out(kernel, torch.from_numpy(X))
    v, columns = rng.normal(size=50), torch.arange(10, 60)
    K = kernel.from_distances(squared_distances(X, X))[:, 10:60]
    exact, sizes = K @ v, K @ np.abs(v)
    norm2 = float(norms2.max())
    both = tiles.add(columns, torch.from_numpy(v), sizes=True).numpy()
    rate = 2.0 * kernel.relative_error(d, norm2) + 2.0**-45
    assert (np.abs(both[:, 0] - exact) <= rate * sizes).all()
    assert (np.abs(both[:, 1] - sizes) <= rate * sizes).all()
    assert tiles.pieces is not None
    assert (tiles.pieces.lo is None) == (what == "whole steps")
    rough = tiles.add(columns, torch.from_numpy(v), exact=False).numpy()
    assert (np.abs(rough - exact) <= 2.0**-19 * (1.0 + kernel.gamma * norm2) * sizes).all()


def test_rough_scores_are_exact_where_they_count_and_bounded_elsewhere(monkeypatch):
    from gapless.backends.gpu.kernel_gram import CardGram
    from gapless.backends.gpu.kernel_scores import CardScores
    from gapless.problems.kernel import KernelDual

    monkeypatch.setattr(CardScores, "many_rows", 10)
    X = rng.normal(size=(120, 4))
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    gram = CardGram(RBF(2.0), X, 1 << 20)
    problem = KernelDual.c_svc(gram, y, np.full(120, 5.0))
    known = CardScores(problem)
    K = RBF(2.0).from_distances(squared_distances(X, X))
    beta = problem.repair(np.where(np.abs(X[:, 0]) < 0.5, 5.0, 0.0))
    for turn in range(3):
        found = known.look(beta, lambda: None)
        exact, sizes = K @ (y * beta), K @ beta
        assert known._kept.times == turn  # the later ones are corrections
        assert (np.abs(found.scores - exact) <= np.where(found.off > 0.0, found.off, 1e-12)).all()
        assert (found.off > 0.0).any()
        h = 1.0 - y * (exact + problem.best_scalars(exact)[0])
        counts = (beta > 0.0) | (h > 0.0)
        assert not found.off[counts].any()
        assert (known._kept.sizes >= sizes * (1.0 - 1e-12)).all()
        assert np.isclose(problem.best_scalars(found.scores)[0], problem.best_scalars(exact)[0], atol=1e-12)
        for sign in (1.0, -1.0):  # one of each class moves, and the sum stays
            beta[np.flatnonzero((y == sign) & (beta > 1.0))[turn]] -= 0.5


def test_slopes_of_all_lengths_at_once():
    import torch

    from gapless.backends.gpu.loops.vectors import slopes_along

    p, along, weights = (torch.from_numpy(rng.normal(size=1300)) for _ in range(3))
    lengths = torch.tensor([0.0, 0.1, 1.0], dtype=torch.float64)
    found = slopes_along(p, along, weights, lengths)
    assert np.allclose(found, [float((p + s * along).clamp(0, 1) @ weights) for s in lengths], rtol=1e-13)


@pytest.mark.slow
def test_pairs_of_classes_at_once():
    X = rng.normal(size=(50, 4))
    y = np.digitize(X[:, 0] + 0.4 * rng.normal(size=50), [-0.5, 0.5])
    weights = rng.integers(1, 3, size=50).astype(float)
    found = SVC(tol=1e-3, device="cuda").fit(X, y, weights)
    proof, other = found.certificate_, SVC(tol=1e-6, device="cpu").fit(X, y, weights).certificate_
    assert proof.converged
    assert not found.n_iter_.any()  # the pairs' own points were near enough
    assert abs(proof.primal - other.primal) <= proof.gap + other.gap
    assert verify(found, X, y, sample_weight=weights)

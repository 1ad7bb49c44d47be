"""Linear classifiers by the code of the card: on torch's tensors in memory, and on a card where there is one."""

from __future__ import annotations

import importlib.util
import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from gapless import LinearSVC, LogisticRegression, verify
from gapless.backends import choose
from gapless.backends.gpu import device
from gapless.errors import BackendWarning

here = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not here, reason="torch is not installed (the extra gpu)")
card = pytest.mark.skipif(device.why_no_card() is not None, reason=f"no card: {device.why_no_card()}")

rng = np.random.default_rng(0)
X = rng.normal(size=(1200, 7)) * np.exp(rng.normal(size=7))
HIDDEN = X @ rng.normal(size=7) + rng.normal(size=1200) + 0.7
Y, MANY = (HIDDEN > 0.0).astype(int), np.digitize(HIDDEN, [-2.0, 2.0])
OFFSETS = [{}, {"penalize_intercept": True}, {"fit_intercept": False}]
MODELS = [LinearSVC(loss="hinge"), LinearSVC(), LogisticRegression()]


@pytest.fixture(autouse=True)
def one_thread():
    """torch's threads wait for each other longer than small sums take."""
    if here:
        import torch

        torch.set_num_threads(1)


def agree(model, rows, y, weights=None, tol=1e-7):
    """The same fit by both: objectives no further apart than the gaps, and the judge accepts what the card made."""
    model.set_params(tol=tol)
    theirs = model.set_params(device="cpu").fit(rows, y, weights).certificate_
    given = rows.copy()
    ours = model.set_params(device="cuda").fit(rows, y, weights).certificate_
    assert np.array_equal(given, rows)  # a stand-in shares its memory
    assert ours.backend.startswith("cuda")
    assert ours.converged
    assert abs(ours.primal - theirs.primal) <= ours.gap + theirs.gap + 1e-12 * abs(theirs.primal)
    assert verify(model, rows, y, sample_weight=weights)
    return model


@needs_torch
@pytest.mark.parametrize("offset", OFFSETS, ids=lambda each: str(each))
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("model", MODELS, ids=lambda each: str(each))
def test_the_same_objective(model, C, offset):
    with device.stand_in("cpu"):
        agree(
            model.set_params(C=C, **(OFFSETS[1] | {"penalize_intercept": False} | {"fit_intercept": True} | offset)),
            X,
            Y,
        )


@pytest.mark.gpu
@card
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("model", MODELS, ids=lambda each: str(each))
def test_the_same_objective_on_a_card(model, C):
    agree(model.set_params(C=C), X, Y)
    agree(model.set_params(C=C), X.astype(np.float32), Y)


@needs_torch
def test_float32_weights_and_many_classes():
    weights = rng.integers(0, 3, size=1200).astype(float)
    with device.stand_in("cpu"):
        for model in (
            LinearSVC(loss="hinge", C=0.5),
            LinearSVC(C=0.5, class_weight="balanced"),
            LogisticRegression(C=0.5),
        ):
            agree(model, X.astype(np.float32), Y, tol=1e-6)
            agree(model, X, Y, weights, tol=1e-6)
        agree(LinearSVC(loss="hinge"), X, MANY)
        agree(LinearSVC(), X, MANY)


@needs_torch
def test_the_start_from_a_subset(monkeypatch):
    from gapless.solvers.linear import subset_start

    own = np.random.default_rng(2)
    rows = own.normal(size=(60_000, 3)).astype(np.float32)
    y = (rows.sum(1) + own.normal(size=60_000) > 0.3).astype(int)
    seen = []
    sample = subset_start.start_from_subset
    monkeypatch.setattr("gapless.solvers.linear.newton.start_from_subset", lambda *a: seen.append(1) or sample(*a))
    with device.stand_in("cpu"):
        agree(LogisticRegression(), rows, y, tol=1e-9)
        agree(LinearSVC(loss="hinge"), rows, y, tol=1e-6)
    assert seen


@needs_torch
def test_rows_that_are_there_already_stay_and_results_come_back_in_kind():
    import torch

    rows, labels = torch.from_numpy(X), torch.from_numpy(Y)
    with device.stand_in("cpu"):
        for model in (LinearSVC(loss="hinge"), LogisticRegression()):
            model.fit(rows, labels)
            host = type(model)(**model.get_params()).set_params(device="cuda").fit(X, Y)
            assert np.array_equal(model.coef_, host.coef_)
            assert model.certificate_.fingerprint == host.certificate_.fingerprint
            assert verify(model, X, Y)
            found = model.decision_function(rows)
            assert isinstance(found, torch.Tensor)
            assert np.abs(found.numpy() - (X @ model.coef_[0] + model.intercept_[0])).max() < 1e-12
            said = model.predict(rows)
            assert isinstance(said, torch.Tensor)
            assert np.array_equal(said.numpy(), model.predict(X))
        named = LinearSVC().fit(rows, np.where(Y, "yes", "no"))
        assert set(named.predict(rows)) == {"yes", "no"}
        for wrong, word in ((rows.clone().index_fill_(0, torch.tensor([3]), float("nan")), "NaN"), (rows[0], "2D")):
            with pytest.raises(ValueError, match=word):
                LinearSVC().fit(wrong, labels)
        with pytest.raises(ValueError, match=r"lies on a card.*several classes"):
            LogisticRegression().fit(rows, MANY)


@needs_torch
@pytest.mark.parametrize(
    ("model", "rows", "y"),
    [
        (LogisticRegression(), X, MANY), (LinearSVC(), sparse.csr_matrix(X), Y),
        (LinearSVC(loss="hinge"), X[:20], np.arange(20) % 2),
        (LinearSVC(solver="sgd", loss="hinge", max_iter=5, tol=1.0), X, Y),
    ],
    ids=["softmax", "sparse", "small", "descent"],
)  # fmt: skip
def test_what_has_no_way_on_a_card_runs_on_the_cpu_and_says_so(model, rows, y):
    wide = rows if rows.shape[0] > 20 else np.tile(rows, (1, 4))
    with device.stand_in("cpu"), pytest.warns(BackendWarning, match="device='cuda' used 'cpu'"):
        assert model.set_params(device="cuda").fit(wide, y).certificate_.backend.startswith("cpu")


def test_no_card_is_an_error_and_auto_is_not(monkeypatch):
    monkeypatch.setattr(choose, "why_no_card", lambda: "torch is not installed (pip install 'gapless[gpu]')")
    for model in MODELS:
        with pytest.raises(RuntimeError, match=r"torch is not installed.*'cpu'"):
            model.set_params(device="cuda").fit(X, Y)
        model.set_params(device="auto")
    large = np.broadcast_to(np.float32(1.0), (1_000_000, 60))

    def chosen(rows, C=1.0, loss="hinge", several=False):
        asked = SimpleNamespace(device="auto", loss=loss, C=C, solver="auto")
        return choose.linear_device(asked, rows, lambda: several)

    assert chosen(large) == "cpu"
    monkeypatch.setattr(choose, "why_no_card", lambda: None)
    assert chosen(large) == "cuda"
    assert chosen(large[:1000]) == "cpu"
    assert chosen(large, C=np.inf) == "cpu"
    assert chosen(large, loss="logistic") == "cuda"
    assert chosen(large, loss="logistic", several=True) == "cpu"


@needs_torch
def test_limits():
    with device.stand_in("cpu"):
        for model in (
            LinearSVC(loss="hinge", max_iter=1),
            LogisticRegression(tol=1e-15, time_limit=1e-6),
            LinearSVC(max_iter=0),
        ):
            with pytest.warns(UserWarning, match="gap"):
                model.set_params(device="cuda").fit(X, Y)
            assert model.certificate_.status in ("max_iter", "time_limit")
            assert verify(model, X, Y)


@needs_torch
@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed (the extra gpu)")
def test_tritons_passes_are_the_sums_of_float64():
    import torch

    from gapless.backends.gpu import sums

    if "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("triton was imported before its interpreter was asked for")
    os.environ["TRITON_INTERPRET"] = "1"
    rows = torch.from_numpy(rng.normal(size=(101, 5)).astype(np.float32))
    w, u = torch.from_numpy(rng.normal(size=5)), torch.from_numpy(rng.normal(size=101))
    with device.interpreted():
        z, g = sums.scores(rows, w), sums.combine(rows, u)
    assert np.abs((z - rows.double() @ w).numpy()).max() < 1e-14
    assert np.abs((g - rows.double().T @ u).numpy()).max() < 1e-13


@needs_torch
def test_totals_are_sums():
    import torch

    from gapless.backends.gpu import sums

    for n in (1, 127, 128, 129, 16_384, 100_001):
        values = rng.normal(size=n)
        assert abs(float(sums.total(torch.from_numpy(values))) - values.sum()) < 1e-11 * max(np.abs(values).sum(), 1.0)

"""Kernel machines by the code of the card: on torch's tensors in memory, and on a card where there is one."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from scipy import sparse

from gapless import SVC, SVR, NuSVC, NuSVR, OneClassSVM, verify
from gapless.backends import choose
from gapless.backends.gpu import device
from gapless.errors import BackendWarning

here = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not here, reason="torch is not installed (the extra gpu)")
card = pytest.mark.skipif(device.why_no_card() is not None, reason=f"no card: {device.why_no_card()}")

rng = np.random.default_rng(0)
X = rng.normal(size=(160, 5))
HIDDEN = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=160)
Y, T, MANY = (HIDDEN > 0.2).astype(int), HIDDEN, np.digitize(HIDDEN, [-1.0, 0.0, 1.0])

CASES = [
    (SVC(C=1e-3), Y), (SVC(C=1.0), Y), (SVC(C=1e5), Y), (SVC(kernel="poly", coef0=1.0), Y), (SVC(kernel="linear", C=3.0), Y),
    (SVC(C=5.0, class_weight="balanced"), Y), (SVC(C=2.0), MANY), (NuSVC(nu=0.3), Y), (NuSVC(nu=0.2), MANY),
    (SVR(C=1e-2), T), (SVR(C=100.0, epsilon=0.2), T), (NuSVR(C=1.0, nu=0.3), T), (NuSVR(C=100.0, nu=0.6), T),
    (OneClassSVM(nu=0.2), None), (OneClassSVM(nu=0.7, gamma=2.0), None),
]  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread():
    """torch's threads wait for each other longer than small sums take."""
    if here:
        import torch

        torch.set_num_threads(1)


def agree(model, rows, y, weights=None):
    """The same fit by both: objectives no further apart than the gaps, and the judge accepts what the card made."""
    model.set_params(tol=1e-7)
    theirs = model.set_params(device="cpu").fit(rows, y, weights).certificate_
    ours = model.set_params(device="cuda").fit(rows, y, weights).certificate_
    assert ours.backend.startswith("cuda")
    assert ours.converged
    assert all(sub.solver.startswith("semismooth") for sub in ours.subproblems)
    assert abs(ours.primal - theirs.primal) <= ours.gap + theirs.gap + 1e-12 * abs(theirs.primal)
    assert verify(model, rows, y, sample_weight=weights)
    return model


@needs_torch
@pytest.mark.parametrize(("model", "y"), CASES, ids=lambda each: str(each) if hasattr(each, "fit") else "")
def test_the_same_objective(model, y):
    with device.stand_in("cpu"):
        agree(model, X, y)


@pytest.mark.gpu
@card
@pytest.mark.parametrize(("model", "y"), CASES, ids=lambda each: str(each) if hasattr(each, "fit") else "")
def test_the_same_objective_on_a_card(model, y):
    agree(model, X, y)


@needs_torch
def test_weights_sparse_rows_and_float32():
    weights = rng.integers(0, 3, size=160).astype(float)
    with device.stand_in("cpu"):
        agree(SVC(C=2.0), X, Y, weights)
        rows = np.where(np.abs(X) < 0.7, 0.0, X)
        dense = agree(SVC(C=2.0), rows, Y).certificate_
        csr = agree(SVC(C=2.0), sparse.csr_matrix(rows), Y).certificate_
        assert csr.primal == dense.primal
        agree(SVC(C=2.0), X.astype(np.float32), Y)


@needs_torch
def test_nested_levels_lead_to_the_same_optimum(monkeypatch):
    from gapless.backends.gpu import kernel

    monkeypatch.setattr(kernel._Search, "smallest", 100)
    own = np.random.default_rng(1)
    rows = own.normal(size=(1500, 4))
    hidden = rows[:, 0] * rows[:, 1] + 0.4 * own.normal(size=1500)
    with device.stand_in("cpu"):
        agree(SVC(C=3.0), rows, np.where(hidden > 1.5, 1, -1))  # few of one class
        agree(NuSVR(C=3.0, nu=0.4), rows, hidden)
        model = agree(OneClassSVM(nu=0.3), rows, None)
        again = OneClassSVM(nu=0.3, tol=1e-7, device="cuda").fit(rows)
    assert np.array_equal(model.dual_coef_, again.dual_coef_)  # the same bits


@needs_torch
def test_limits_and_starts():
    with device.stand_in("cpu"):
        whole = SVC(C=100.0, tol=1e-8, device="cuda").fit(X, Y)
        again = SVC(C=100.0, tol=1e-8, device="cuda", init=whole).fit(X, Y)
        assert again.n_iter_[0] <= 3 < whole.n_iter_[0]
        for stopped in (
            SVC(C=100.0, max_iter=2, device="cuda"),
            SVC(C=100.0, tol=1e-13, time_limit=1e-6, device="cuda"),
        ):
            with pytest.warns(UserWarning, match="duality gap"):
                proof = stopped.fit(X, Y).certificate_
            assert proof.status in ("max_iter", "time_limit")
            assert proof.primal >= whole.certificate_.dual
            assert verify(stopped, X, Y)
        seen = []
        told = SVC(device="cuda")
        told._progress = seen.append
        assert told.fit(X, Y).history_


@needs_torch
def test_predictions_are_those_of_the_cpu():
    with device.stand_in("cpu"):
        for model in (
            SVC(device="cuda").fit(X, MANY),
            SVR(kernel="poly", device="cuda").fit(X, T),
            SVC(device="cuda").fit(X, Y),
        ):
            for rows in (X, X.astype(np.float32)):
                found = model.predict(rows), getattr(model, "decision_function", model.predict)(rows)
                model.set_params(device="cpu")
                exact = model.predict(rows), getattr(model, "decision_function", model.predict)(rows)
                model.set_params(device="cuda")
                assert np.abs(found[1] - exact[1]).max() <= (1e-11 if rows is X else 1e-4)
                assert (found[0] == exact[0]).mean() > 0.99 or isinstance(model, SVR)


@needs_torch
def test_what_has_no_way_on_a_card_runs_on_the_cpu_and_says_so():
    with device.stand_in("cpu"):
        for model in (SVC(kernel="sigmoid"), SVC(kernel=lambda a, b: a @ b.T), SVC(C=np.inf, kernel="rbf", gamma=50.0)):
            with pytest.warns(BackendWarning, match="device='cuda' used 'cpu'"):
                assert model.set_params(device="cuda").fit(X, Y).certificate_.backend.startswith("cpu")


def test_no_card_is_an_error_and_auto_is_not(monkeypatch):
    monkeypatch.setattr(choose, "why_no_card", lambda: "torch 9 sees no CUDA device")
    with pytest.raises(RuntimeError, match=r"device='cuda': torch 9 sees no CUDA device.*'cpu'.*doctor"):
        SVC(device="cuda").fit(X, Y)
    assert SVC(device="auto").fit(X, Y).certificate_.backend.startswith("cpu")
    assert choose.choose_device("auto", worth=True, hindrance=None) == "cpu"


def test_auto_takes_a_card_where_it_wins(monkeypatch):
    monkeypatch.setattr(choose, "why_no_card", lambda: None)
    large = np.broadcast_to(np.float32(1.0), (100_000, 54))
    assert choose.kernel_device("auto", "rbf", large, 100_000, False) == "cuda"
    assert choose.kernel_device("auto", "rbf", large[:1000], 1000, False) == "cpu"
    assert choose.kernel_device("auto", "sigmoid", large, 100_000, False) == "cpu"
    assert choose.kernel_device("cpu", "rbf", large, 100_000, False) == "cpu"


@needs_torch
def test_hashes_are_the_judges():
    import torch

    from gapless.backends.gpu.hashes import row_hashes_on_card
    from gapless.judge.fingerprint import row_hashes

    rows = rng.normal(size=(400, 9))
    rows[3, 2], rows[5], rows[7, 1], rows[8, 0] = -0.0, 0.0, 1e30, 1e-40
    for given in (rows, rows.astype(np.float32)):
        assert (row_hashes_on_card(torch.from_numpy(given)) == row_hashes(given)).all()


@needs_torch
@pytest.mark.parametrize("place", ["kernel.CardProblem", "kernel_gram.to_card"])
def test_a_full_card_is_an_error_in_words_and_leaves_the_model_as_it_was(monkeypatch, place):
    import torch

    def full(*args):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 TiB")

    with device.stand_in("cpu"):
        model = SVC(device="cuda").fit(X, Y)
        before = model.certificate_
        with monkeypatch.context() as patch:
            patch.setattr(f"gapless.backends.gpu.{place}", full)
            with pytest.raises(MemoryError, match=r"card's memory is full.*device='cpu'"):
                model.fit(X, MANY)
        assert model.certificate_ is before
        assert model.set_params(device="cpu").fit(X, MANY).certificate_.converged

"""LinearSVC(C=inf): offsets, classes, weights, proofs that there is none, files, the judge, limits and bad input."""

from __future__ import annotations

import json
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.svm import SVC

import gapless
from gapless.judge import check

X, SPECIES = load_iris(return_X_y=True)
SETOSA = np.where(SPECIES == 0, "setosa", "other")
OFFSETS = {
    "none": {"fit_intercept": False},
    "free": {},
    "penalised": {"penalize_intercept": True},
    "long constant": {"penalize_intercept": True, "intercept_scaling": 10.0},
}


def hard(**parameters):
    return gapless.LinearSVC(C=np.inf, **parameters)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("form", ["dense", "sparse", "float32"])
def test_certificate_and_judge(loss, offset, form):
    rows = {"dense": X, "sparse": sparse.csr_matrix(X), "float32": X.astype(np.float32)}[form]
    model = hard(loss=loss, **OFFSETS[offset]).fit(rows, SETOSA)
    certificate = model.certificate_
    assert certificate.kind == "gap"
    assert model.status_ == "converged"
    assert 0.0 <= certificate.gap <= 1e-12
    w, b = model.coef_[0], model.intercept_[0]
    penalty = 0.5 * w @ w
    if "penalised" in offset or "long" in offset:
        penalty += 0.5 * (b / OFFSETS[offset].get("intercept_scaling", 1.0)) ** 2
    assert certificate.primal == pytest.approx(penalty, rel=1e-14)
    assert model.alpha_.sum() - penalty == pytest.approx(certificate.dual, rel=1e-12)
    for rigorous in (False, True, "exact"):
        verdict = gapless.verify(model, rows, SETOSA, rigorous=rigorous)
        assert verdict, verdict
    (primal, dual, gap) = verdict.bounds[0]
    assert primal >= dual
    assert gap <= 1e-12
    assert "subject to" in str(model.objective_)


def test_same_as_svc_with_a_large_C():
    model = hard().fit(X, SETOSA)
    peer = SVC(kernel="linear", C=1e10, tol=1e-12).fit(X, SETOSA)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=2e-6)  # as far as LIBSVM goes
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=5e-6)
    assert np.flatnonzero(model.alpha_).tolist() == sorted(peer.support_.tolist())


def test_slackness_and_margins():
    model = hard().fit(X, SETOSA)
    read = model.slackness_
    assert read.consistent.all()
    assert read.support.sum() == 3
    assert read.counts[1, 1] == 3
    assert model.slack_.max() == 0.0
    found = gapless.margins(model, X, SETOSA)
    assert found.width == pytest.approx(1.0 / np.linalg.norm(model.coef_), rel=1e-14)
    assert found.gamma.min() == pytest.approx(found.width, rel=1e-12)
    assert not found.violates.any()
    assert "x2" in str(gapless.explain(model))


def test_a_constant_moves_only_the_penalised_offset():
    """Adding a constant to X: the free offset follows, w stays; a penalised one is another problem."""
    shifted = X + 5.0
    for offset, same in (("free", True), ("penalised", False), ("none", False)):
        w = hard(**OFFSETS[offset]).fit(X, SETOSA).coef_
        moved = hard(**OFFSETS[offset]).fit(shifted, SETOSA).coef_
        assert np.allclose(w, moved, atol=1e-9) is same


def test_more_than_two_classes():
    rows, y = make_blobs(90, centers=[[0, 0], [9, 0], [0, 9]], random_state=1)
    names = np.array(["a", "b", "c"])[y]
    model = hard().fit(rows, names)
    assert model.coef_.shape == (3, 2)
    for k, name in enumerate("abc"):
        one = hard().fit(rows, np.where(names == name, 1, -1))
        np.testing.assert_allclose(model.coef_[k], one.coef_[0], atol=1e-12)
        np.testing.assert_allclose(model.intercept_[k], one.intercept_[0], atol=1e-12)
    assert gapless.verify(model, rows, names, rigorous="exact")
    assert (model.predict(rows) == names).all()
    assert model.slackness_.consistent.all()
    assert (
        hard(n_jobs=2).fit(rows, names).certificate_.arrays["dual"].tobytes()
        == model.certificate_.arrays["dual"].tobytes()
    )


def test_weights_count_rows_in_or_out():
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.1, 9.0, 150)
    plain = hard().fit(X, SETOSA)
    weighted = hard(class_weight="balanced").fit(X, SETOSA, weights)
    np.testing.assert_allclose(weighted.coef_, plain.coef_, atol=1e-12)
    assert gapless.verify(weighted, X, SETOSA, weights)
    assert "no effect" in str(weighted.objective_)
    out = np.where(plain.alpha_ > 0, 0.0, weights)  # without its support vectors
    left = hard().fit(X, SETOSA, out)
    wanted = hard().fit(X[out > 0], SETOSA[out > 0])
    np.testing.assert_allclose(left.coef_, wanted.coef_, atol=1e-12)
    assert (left.alpha_[out == 0] == 0).all()
    assert gapless.verify(left, X, SETOSA, out, rigorous="exact")
    assert left.slackness_.consistent.all()
    none = hard(class_weight={"setosa": 0.0, "other": 1.0})
    with pytest.raises(ValueError, match="class"):
        none.fit(X, SETOSA)


def proves(error, rows, y):
    """Positive multipliers with sum m y (x, 1) = 0, in Fractions: no hyperplane separates with a margin."""
    signs = [1 if v else -1 for v in y]
    lines = [[*map(Fraction, rows[i].tolist()), Fraction(1)] for i in error.rows]
    sums = [
        sum(m * signs[i] * line[j] for m, i, line in zip(error.multipliers, error.rows, lines))
        for j in range(len(lines[0]))
    ]
    return min(error.multipliers) > 0 and not any(sums)


def test_not_separable_carries_the_proof():
    with pytest.raises(gapless.NotSeparable, match="1 from the rest") as caught:
        hard().fit(X, SPECIES)
    assert proves(caught.value, X, SPECIES == 1)
    assert gapless.verify(caught.value.witness, X, SPECIES == 1)
    names = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
    part = SPECIES > 0
    rows, y = X[part], names[part]
    with pytest.raises(gapless.NotSeparable, match="'versicolor' from 'virginica'") as caught:
        hard().fit(rows, y)
    assert "finite C" in str(caught.value)
    assert proves(caught.value, rows, y == "virginica")
    assert gapless.verify(caught.value.witness, rows, y)
    # The proof speaks of the user's rows where some of them have no weight.
    weights = np.ones(100)
    weights[:10] = 0.0
    with pytest.raises(gapless.NotSeparable) as caught:
        hard(penalize_intercept=True).fit(rows, y, weights)
    assert caught.value.rows.min() >= 10
    assert gapless.verify(caught.value.witness, rows, y, weights)
    assert proves(caught.value, rows, y == "virginica")


def test_save_and_load(tmp_path):
    model = hard().fit(X, SETOSA)
    gapless.save(model, tmp_path / "m.gapless")
    again = gapless.load(tmp_path / "m.gapless")
    assert np.inf == again.C
    assert (again.predict(X) == SETOSA).all()
    assert gapless.verify(tmp_path / "m.gapless", X, SETOSA, rigorous=True)


def forged(change):
    model = hard().fit(X, SETOSA)
    document, arrays = model.certificate_.document(), {k: v.copy() for k, v in model.certificate_.arrays.items()}
    change(document, arrays)
    return check(json.loads(json.dumps(document)), arrays, X, SETOSA)


FORGERIES = {
    "a shorter w": lambda d, a: a["coef"].__imul__(1.0 - 1e-9),
    "another offset": lambda d, a: a["intercept"].__iadd__(1e-9),
    "a negative alpha": lambda d, a: a["dual"].__setitem__((0, 0), -1e-3 if a["dual"][0, 0] >= 0 else 1e-3),
    "more alpha": lambda d, a: a["dual"].__imul__(1.1),
    "a finite C": lambda d, a: (d["problem"].__setitem__("C", 1e6), d["parameters"].__setitem__("C", 1e6)),
    "a lower primal": lambda d, a: [b.__setitem__("primal", b["primal"] * 0.999) for b in blocks(d)],
    "a higher dual": lambda d, a: [b.__setitem__("dual", b["dual"] * 1.001) for b in blocks(d)],
    "rounding": lambda d, a: [b.__setitem__("rounding", 1.0) for b in blocks(d)],
}


def blocks(document):
    return [document["certificate"], *document["certificate"]["subproblems"]]


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries(name):
    assert forged(lambda document, arrays: None)
    assert not forged(FORGERIES[name])


def test_a_forger_cannot_leave_the_sum_open():
    """sum alpha y != 0 would lift D above the optimum: the bound on the offset takes it back."""
    model = hard().fit(X, SETOSA)
    arrays = {k: v.copy() for k, v in model.certificate_.arrays.items()}
    positive = np.flatnonzero(SETOSA == model.classes_[1])
    arrays["dual"][0, positive[0]] += 0.1
    from gapless.judge import Task, evaluate
    from gapless.judge.rows import as_rows

    y = np.where(model.classes_[1] == SETOSA, 1, -1)[None, :]
    task = Task(as_rows(X), y, np.ones(150), "hard_margin", "free")
    found = evaluate(task, arrays["coef"], arrays["intercept"], arrays["dual"])[0]
    assert found.dual.up < model.certificate_.primal


def test_parameters():
    with pytest.raises(ValueError, match="leave solver='auto'"):
        hard(loss="hinge", solver="interior_point").fit(X, SETOSA)
    assert np.isinf(clone(hard()).C)


def test_limits():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30_000, 40))
    y = np.where(rows @ rng.normal(size=40) > 0, 1, -1)
    with pytest.warns(gapless.ConvergenceWarning, match="max_iter=1"):
        model = hard(max_iter=1).fit(rows, y)
    assert model.status_ == "max_iter"
    assert model.certificate_.dual <= hard().fit(rows, y).certificate_.primal
    with pytest.warns(gapless.ConvergenceWarning, match="time_limit"):
        model = hard(time_limit=1e-9).fit(rows, y)
    assert model.status_ == "time_limit"
    assert model.certificate_.primal == np.inf  # no point keeps the margins yet, and it does not say otherwise
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert hard(time_limit=60.0).fit(rows, y).status_ == "converged"


BAD = {
    "one class": ([[0.0], [1.0]], [1, 1], ValueError, "class"),
    "one row": ([[1.0]], [1], ValueError, "class"),
    "no margin at all": ([[0.0], [0.0]], [0, 1], gapless.NotSeparable, "no hyperplane"),
    "equal points": ([[1.0, 2.0], [1.0, 2.0], [3.0, 1.0]], [0, 1, 1], gapless.NotSeparable, "no hyperplane"),
    "touching": ([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1], gapless.NotSeparable, "no hyperplane"),
    "huge": ([[1e300], [-1e300]], [0, 1], ValueError, "Scale the columns"),
    "tiny": ([[1e-300], [-1e-300]], [0, 1], ValueError, "Scale the columns"),
    "huge and tiny": ([[1e300, 1e-300], [-1e300, 1e-300]], [0, 1], ValueError, "Scale the columns"),
    "not a number": ([[np.nan], [1.0]], [0, 1], ValueError, "NaN"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    rows, y, error, message = BAD[name]
    with pytest.raises(error, match=message):
        hard().fit(np.array(rows), np.array(y))


def test_a_zero_row_without_offset():
    rows, y = np.array([[0.0], [1.0], [-1.0]]), np.array([1, 1, 0])
    with pytest.raises(gapless.NotSeparable, match="through the origin") as caught:
        hard(fit_intercept=False).fit(rows, y)
    assert caught.value.rows.tolist() == [0]
    assert hard().fit(rows, y).coef_[0, 0] == pytest.approx(2.0, rel=1e-12)


@pytest.mark.parametrize("offset", OFFSETS)
def test_constant_columns(offset):
    rows = np.column_stack([X, np.full(150, 3.0), np.zeros(150)])
    model = hard(**OFFSETS[offset]).fit(rows, SETOSA)
    assert model.coef_[0, 5] == 0.0
    if offset == "free":  # a constant is of no use where the offset is free
        assert abs(model.coef_[0, 4]) <= 1e-12
        np.testing.assert_allclose(model.coef_[0, :4], hard().fit(X, SETOSA).coef_[0], atol=1e-12)
    assert gapless.verify(model, rows, SETOSA)


@pytest.mark.parametrize("scale", [1e-120, 1e-6, 1e6, 1e120])
@pytest.mark.parametrize("offset", ["none", "free"])
def test_units(scale, offset):
    model = hard(**OFFSETS[offset]).fit(X * scale, SETOSA)
    wanted = hard(**OFFSETS[offset]).fit(X, SETOSA)
    np.testing.assert_allclose(model.coef_ * scale, wanted.coef_, atol=1e-11)
    np.testing.assert_allclose(model.intercept_, wanted.intercept_, atol=1e-10)
    assert model.slackness_.support.sum() == wanted.slackness_.support.sum()


def test_far_from_the_origin():
    rows, y = np.array([[1e7], [1e7 + 1.0], [1e7 + 3.0]]), np.array([0, 0, 1])
    model = hard().fit(rows, y)
    assert model.coef_[0, 0] == pytest.approx(1.0, rel=1e-7)
    assert model.intercept_[0] == pytest.approx(-1e7 - 2.0, rel=1e-7)


def test_many_rows():
    """A working set finds the few rows that count, and the answer is that of all."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(30_000, 12))
    w = rng.normal(size=12)
    f = rows @ w + 0.3
    keep = np.abs(f) > 0.05
    rows, y = rows[keep], np.where(f[keep] > 0, 1, -1)
    model = hard(tol=1e-9).fit(rows, y)
    assert model.status_ == "converged"
    assert np.count_nonzero(model.alpha_) <= 13
    few = gapless.reduce(model, rows, y)
    again = hard().fit(rows[few.rows], y[few.rows])
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-9)


def test_many_columns():
    """Thousands of support vectors: block pivoting, and the same answer as by rows of half the length."""
    rng = np.random.default_rng(7)
    n, d = 2600, 20_000
    rows = sparse.random_array((n, d), density=0.002, rng=rng, format="csr")
    y = np.where(rng.random(n) > 0.4, 1, -1)
    for offset in ("none", "free"):
        model = hard(tol=1e-9, **OFFSETS[offset]).fit(rows, y)
        assert "pivoting" in model.certificate_.solver
        assert model.status_ == "converged"
        assert gapless.verify(model, rows, y)
        np.testing.assert_allclose(model.coef_[0], (model.alpha_ * y) @ rows, atol=1e-9 * np.abs(model.coef_).max())

"""What the certificate of kind "gradient" claims, its proof, its judge and its forgeries."""

from __future__ import annotations

import copy
import json
import math
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy import sparse

import gapless
from gapless import CertificateError, IllConditionedWarning, LogisticRegression, judge, load, save, verify
from gapless._runtime.config import config_context
from gapless.certificates.likelihood import GradientCertificate
from gapless.problems.likelihood import Likelihood, bound
from gapless.solvers.likelihood import solve_likelihood
from gapless.solvers.loop import Stop
from tests.likelihood.cases import loss_of, optimum_of, problem_of


def fit(X, y, sample_weight=None, **given):
    with warnings.catch_warnings(action="ignore"):
        return LogisticRegression(C=np.inf, **given).fit(X, y, sample_weight=sample_weight)


# -- the theorem ---------------------------------------------------------------------------------------------------------


def test_the_bound_holds_and_its_false_neighbour_does_not():
    """F - F* <= lam^2 psi(s) at models near and far, with heavy tails; lam^2/2 alone would be false."""
    random = np.random.default_rng(1)
    looked, beyond_half = 0, 0
    for _ in range(150):
        K, n, d = int(random.integers(2, 5)), int(random.integers(12, 60)), int(random.integers(1, 4))
        X, y = random.standard_t(2, size=(n, d)), random.integers(0, K, n)
        if len(set(y.tolist())) < K:
            continue
        problem = Likelihood.build(X, y, random.uniform(0.1, 3.0, n), K, bool(random.integers(2)))
        solution = solve_likelihood(problem, Stop(1e-4, 200, None))
        if solution.status != "converged":
            continue
        best = problem.measure(*problem.split(solution.theta))
        for size in 10.0 ** random.uniform(-2, 1.2, size=6):
            moved = solution.theta + size * random.standard_t(3, size=solution.theta.shape)
            found = problem.measure(*problem.split(moved))
            if found.reach < 1.0:
                looked += 1
                distance = found.loss - best.loss
                assert distance <= found.excess * (1 + 1e-9) + 1e-12 * best.loss
                beyond_half += distance > 0.5 * found.decrement**2 * (1 + 1e-6) + 1e-12 * best.loss
    assert looked > 300
    assert beyond_half > 10


def test_psi():
    """The bound used is above (s + (1 - s) ln(1 - s)) / s^2, and both tend to 1/2."""
    for s in np.linspace(0.001, 0.999, 200):
        psi = (s + (1 - s) * math.log1p(-s)) / s**2
        assert psi <= bound(1.0, s, math.inf) * (1 + 1e-12) <= 1.0 + 1e-12
    assert bound(1.0, 0.0, math.inf) == 0.5
    assert bound(1.0, 1.0, 3.0) == 3.0


def test_reach_is_never_below_one_where_no_optimum_exists():
    """On separated data, at any model whatever: otherwise the certificate would prove an optimum that is not there."""
    random = np.random.default_rng(2)
    for _ in range(100):
        n, d = int(random.integers(6, 40)), int(random.integers(1, 4))
        X = random.standard_t(3, size=(n, d))
        w = random.normal(size=d)
        y = (X @ w > 0).astype(int)
        if len(set(y.tolist())) < 2:
            continue
        problem = Likelihood.build(X, y, np.ones(n), 2, bool(random.integers(2)))
        for size in 10.0 ** random.uniform(-2, 1.5, size=4):
            W = size * (w + random.normal(size=d) * random.choice([0.0, 0.1, 1.0]))
            assert not problem.measure(W[None, :], np.zeros(1)).reach < 1.0


def test_the_figures_are_those_of_the_definition():
    """lam and rho from the textbook formulas, in plain numpy and in the user's own coordinates."""
    X, y, _ = problem_of(3, K=2, d=2)
    X = X / X.std(axis=0)
    model = fit(X, y, max_iter=2)
    A = np.column_stack([X, np.ones(len(y))])
    p = model.predict_proba(X)[:, 1]
    g = A.T @ (p - y)
    inverse = np.linalg.inv(A.T @ (A * (p * (1 - p))[:, None]))
    lam, rho = math.sqrt(g @ inverse @ g), math.sqrt(max(np.einsum("ij,jk,ik->i", A, inverse, A)))
    proof = model.certificate_
    assert proof.decrement == pytest.approx(lam, rel=1e-6)
    assert proof.reach == pytest.approx(rho * lam, rel=1e-6)
    assert proof.excess == pytest.approx(bound(lam, rho * lam, proof.loss), rel=1e-5)
    best, _ = optimum_of(X, y, np.ones(len(y)), 2)
    assert 0 < proof.loss - float(best) <= proof.excess


# -- the certificate -----------------------------------------------------------------------------------------------------


def test_what_it_says():
    X, y, c = problem_of(4, K=3)
    model = fit(X, y, c)
    proof = model.certificate_
    assert proof.kind == "gradient"
    assert proof.converged
    assert proof.gap is None
    assert proof.dual is None
    assert proof.relative_gap is None
    assert proof.loss == pytest.approx(loss_of(model.coef_, model.intercept_, X, y, c), rel=1e-13)
    assert proof.deviance == 2 * proof.loss == 2 * proof.primal
    assert 0.0 < proof.excess < 1e-15 * proof.loss  # never a fake zero
    assert proof.rank == model.rank_ == 3
    assert 1.0 <= proof.condition == model.condition_ < 10.0
    assert "no duality gap" in str(proof)
    assert "at most" in str(proof)
    assert "<table>" in proof._repr_html_()
    assert GradientCertificate.from_json(proof.to_json(), proof.arrays) == proof
    assert str(model.objective_).startswith("minimise sum_i s_i [ln sum_k exp(<w_k,x_i> + b_k)")
    assert "w|^2" not in str(model.objective_)
    passes, _, losses, duals, gaps = zip(*model.history_, strict=True)
    assert passes[-1] == model.n_iter_[0]
    assert losses[-1] <= losses[0]
    assert np.isnan(duals).all()
    assert np.isnan(gaps).all()


def test_stopping_early():
    X, y, _ = problem_of(5)
    with pytest.warns(gapless.ConvergenceWarning, match=r"stopped at max_iter=1 .*which exists") as caught:
        model = LogisticRegression(C=np.inf, max_iter=1).fit(X, y)
    assert caught[0].filename == __file__
    assert model.status_ == "max_iter"
    assert verify(model, X, y)
    best = fit(X, y).certificate_.loss
    assert best <= model.certificate_.loss <= best + model.certificate_.excess
    none = fit(X, y, max_iter=0)
    assert none.n_iter_[0] == 0
    assert verify(none, X, y)
    late = fit(X, y, time_limit=1e-9)
    assert late.status_ == "time_limit"
    assert not late.coef_.any()
    assert verify(late, X, y)
    with config_context(convergence="raise"), pytest.raises(gapless.ConvergenceWarning):
        LogisticRegression(C=np.inf, max_iter=1).fit(X, y)


def test_a_large_fit():
    """Past what is polished and merged: coefficients to a thousandth of their standard errors; stopped, only the loss."""
    random = np.random.default_rng(5)
    X = random.normal(size=(40_000, 12)) + 100.0
    y = ((X - 100.0) @ random.normal(size=(12, 3)) + random.gumbel(size=(40_000, 3))).argmax(axis=1)
    model = fit(X, y)
    assert model.status_ == "converged"
    assert model.certificate_.decrement <= 1e-3
    assert verify(model, X, y, rigorous=True).bounds[0][2] <= 1e-5
    stopped = fit(np.tile(X, (8, 1)), np.tile(y, 8), time_limit=0.05)
    assert stopped.status_ == "time_limit"
    assert math.isnan(stopped.certificate_.decrement)
    assert stopped.certificate_.excess == stopped.certificate_.loss
    assert verify(stopped, np.tile(X, (8, 1)), np.tile(y, 8))


@pytest.mark.parametrize("after", [0, 2])
def test_an_interrupted_fit_keeps_its_model(after):
    X, y, _ = problem_of(5, K=3)
    model = LogisticRegression(C=np.inf)

    def press(event):
        if event.pass_ == after:
            raise KeyboardInterrupt

    model._progress = press
    with pytest.raises(KeyboardInterrupt, match="keeps the model"):
        model.fit(X, y)
    assert model.status_ == "interrupted"
    assert model.n_iter_[0] == after
    assert verify(model, X, y)
    model._progress = None
    best = fit(X, y)
    np.testing.assert_allclose(fit(X, y, init=model).coef_, best.coef_, rtol=1e-9)


def test_tolerance_decides_and_rounding_is_not_hidden():
    X, y, _ = problem_of(6)
    assert fit(X, y, tol=1e-18).status_ == "converged"
    assert fit(X, y, tol=1e-40).status_ == "stalled"  # no float64 fit can prove that
    loose = fit(X, y, tol=0.5, max_iter=1)
    assert loose.certificate_.relative_excess <= 0.5 or loose.status_ == "max_iter"


def test_multipliers_and_what_does_not_exist():
    X, y, c = problem_of(7)
    model = fit(X, y, c)
    p = model.predict_proba(X)[np.arange(len(y)), y]
    np.testing.assert_allclose(model.alpha_, c * (1 - p), atol=1e-14)
    signed = model.alpha_ * np.where(y == 1, 1.0, -1.0)
    np.testing.assert_allclose(signed @ X, 0.0, atol=1e-10 * np.abs(X).max())
    three = fit(*problem_of(7, K=3)[:2])
    X3, y3, _ = problem_of(7, K=3)
    P = three.predict_proba(X3).T
    own = np.arange(3)[:, None] == y3
    np.testing.assert_allclose(three.alpha_, np.where(own, 1 - P, P), atol=1e-14)
    for name in ("slack_", "slackness_"):
        with pytest.raises(AttributeError, match="without a penalty"):
            getattr(model, name)
    assert "features" in str(gapless.explain(model, X))
    assert gapless.convert(C=np.inf, n=10, to="lam") == 0.0
    assert gapless.margins(model, X, y) is not None


# -- columns -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("K", [2, 3])
def test_dependent_columns_are_named_and_the_least_norm_is_given(K):
    pandas = pytest.importorskip("pandas")
    X, y, _ = problem_of(8, K=K)
    X = X / X.std(axis=0)
    wide = np.column_stack([X, X[:, 0] - 2.0 * X[:, 1], np.full(len(y), 3.0)])
    frame = pandas.DataFrame(wide, columns=["age", "height", "other", "both", "constant"])
    with pytest.warns(IllConditionedWarning, match=r"'age', 'both', 'height'|'age', 'height', 'both'") as caught:
        model = LogisticRegression(C=np.inf).fit(frame, y)
    assert len(caught) == 1
    assert "'other'" not in str(caught[0].message)
    assert "'constant'" not in str(caught[0].message)
    assert caught[0].filename == __file__
    assert model.rank_ == 3
    plain = fit(X, y)
    np.testing.assert_allclose(model.predict_proba(frame), plain.predict_proba(X), atol=1e-10)
    # Least norm: orthogonal to what does not change the scores.
    null = np.array([1.0, -2.0, 0.0, -1.0, 0.0])
    np.testing.assert_allclose(model.coef_ @ null, 0.0, atol=1e-10)
    np.testing.assert_allclose(model.coef_[:, 4], 0.0, atol=1e-14)
    assert verify(model, frame, y)
    with warnings.catch_warnings(action="error"):  # what the warning says to do
        LogisticRegression(C=np.inf).fit(frame.drop(columns="both"), y)


def test_nearly_dependent_columns():
    X, y, _ = problem_of(9)
    X = X / X.std(axis=0)
    random = np.random.default_rng(0)
    near = np.column_stack([X, X[:, 1] + 1e-9 * random.normal(size=len(y))])
    with pytest.warns(IllConditionedWarning, match=r"columns 1, 3 are nearly .*condition"):
        model = LogisticRegression(C=np.inf).fit(near, y)
    assert model.rank_ == 4
    assert 1e8 < model.condition_ < 1e11
    assert verify(model, near, y)


def test_more_columns_than_rows():
    random = np.random.default_rng(10)
    X, y = random.normal(size=(12, 40)), np.arange(12) % 2
    with pytest.warns(gapless.SeparationWarning):
        model = LogisticRegression(C=np.inf).fit(X, y)
    assert model.rank_ == 11
    assert (model.predict(X) == y).all()
    assert verify(model, X, y)


# -- the judge -----------------------------------------------------------------------------------------------------------

FITS = {
    "two classes": ({"K": 2}, {}, ""),
    "weights, balanced": ({"K": 2}, {"class_weight": "balanced"}, "weights"),
    "no offset, float32": ({"K": 2}, {"fit_intercept": False}, "float32"),
    "stopped early": ({"K": 2}, {"max_iter": 2}, ""),
    "three classes, sparse": ({"K": 3}, {}, "sparse"),
    "four classes, weights": ({"K": 4, "n": 200}, {"class_weight": {0: 2.5}}, "weights"),
    "collinear": ({"K": 3}, {}, "collinear"),
    "far from 0": ({"K": 2}, {}, "far"),
}


def case_of(name):
    shape, given, how = FITS[name]
    X, y, c = problem_of(20, **shape)
    X = X / X.std(axis=0)
    if how == "collinear":
        X = np.column_stack([X, X[:, 0] + X[:, 2]])
    if how == "far":
        X = X + 1e5
    if how == "float32":
        X = (X - X.mean(axis=0)).astype(np.float32)
    if how == "sparse":
        X = sparse.csr_matrix(np.where(np.abs(X - X.mean(axis=0)) < 1.0, 0.0, X))
    weights = c if how == "weights" else None
    return fit(X, y, weights, **given), X, y, weights


@pytest.mark.parametrize("name", FITS)
def test_the_judge_agrees_and_proves(name):
    model, X, y, weights = case_of(name)
    for rigorous in (False, True):
        verdict = verify(model, X, y, weights, rigorous=rigorous)
        assert verdict, str(verdict)
    high, low, excess = verdict.bounds[0]
    loss = model.certificate_.loss
    assert low <= loss <= high * (1 + 1e-13)
    if name == "collinear":
        assert (low, excess) == (0.0, high)  # no proof in floating point: nothing more is said
    else:
        assert excess <= 2.0 * model.certificate_.excess + 1e-12 * loss
    with pytest.raises(ValueError, match="exact"):
        verify(model, X, y, weights, rigorous="exact")


@pytest.mark.parametrize("K", [2, 3])
def test_proved_bounds_enclose_the_optimum_of_fifty_digits(K):
    random = np.random.default_rng(21)
    X, y, c = problem_of(21, n=50, d=2, K=K)
    X = X / np.abs(X).max(axis=0)
    best, _ = optimum_of(X, y, c, K)
    model = fit(X, y, c)
    for size in (0.0, 1e-8, 1e-4, 0.02):
        arrays = dict(model.certificate_.arrays)
        arrays["coef"] = arrays["coef"] + size * random.normal(size=arrays["coef"].shape)
        verdict = judge.check(model.certificate_.document(), arrays, X, y, c, rigorous=True)
        assert bool(verdict) == (size == 0.0)
        high, low, excess = verdict.bounds[0]
        assert low <= best <= high
        loss = loss_of(arrays["coef"], arrays["intercept"], X, y, c)
        assert loss - float(best) <= excess + 1e-12 * loss
        assert excess <= 3.0 * (loss - float(best)) + 1e-12 * loss


@pytest.mark.parametrize("name", FITS)
def test_forgeries(name):
    model, X, y, weights = case_of(name)
    document, arrays = model.certificate_.document(), dict(model.certificate_.arrays)

    def accepted(change=None, **other):
        forged, held = copy.deepcopy(document), {**arrays, **other}
        if change is not None:
            change(forged)
        try:
            return bool(judge.check(forged, held, X, y, weights))
        except CertificateError:
            return False

    def figure(**values):
        return lambda d: d["certificate"].update(values)

    block = document["certificate"]
    assert accepted()
    assert not accepted(figure(loss=block["loss"] * (1 - 1e-6)))
    assert not accepted(figure(decrement=block["decrement"] + 1e-3))
    assert not accepted(figure(reach=0.5 * block["reach"] if block["reach"] > 1e-3 else 1e-2))
    assert not accepted(figure(excess=block["excess"] * 1e6 + 1e-3))
    assert not accepted(figure(relative_excess=block["relative_excess"] * 0.5))
    assert not accepted(figure(rounding=2 * block["excess"]))
    assert not accepted(figure(rounding=-1.0))
    assert not accepted(figure(rank=block["rank"] - 1))
    assert not accepted(figure(rank=block["rank"] + 2))
    assert not accepted(figure(tol=block["tol"] / 2))
    assert not accepted(figure(kind="gap"))
    assert not accepted(figure(status="infeasible"))
    assert not accepted(figure(status="stalled" if block["status"] == "converged" else "converged"))
    assert not accepted(lambda d: d["problem"].update(C=1.0))
    assert not accepted(lambda d: (d["problem"].update(C=1.0), d["parameters"].update(C=1.0)))
    assert not accepted(lambda d: d["problem"].update(offset="free" if d["problem"]["offset"] == "none" else "none"))
    assert not accepted(lambda d: d["problem"].update(loss="hinge"))
    assert not accepted(lambda d: d["problem"]["class_weight"].__setitem__(0, 7.0))
    assert not accepted(lambda d: d["parameters"].update(l1_ratio=0.5))
    assert not accepted(lambda d: d.update(estimator="LinearSVC"))
    for key in ("excess", "reach", "rank", "fingerprint"):
        assert not accepted(lambda d, key=key: d["certificate"].pop(key))
    assert not accepted(lambda d: d["certificate"].update(gap=0.0))
    size = 1e-4 if arrays["coef"].dtype == np.float32 else 1e-6
    for array in ("coef", "intercept"):
        if arrays[array].any():
            moved = (arrays[array] * (1 + size)).astype(arrays[array].dtype)
            assert not accepted(**{array: moved}), array
            assert not accepted(**{array: moved.astype(np.float64 if moved.dtype == np.float32 else np.float32)})
    assert not accepted(coef=arrays["coef"] * np.nan)


def test_other_data_is_refused():
    model, X, y, _ = case_of("two classes")
    other = X.copy()
    other[3, 1] = np.nextafter(other[3, 1], np.inf)
    for data in ((other, y, None), (X, 1 - y, None), (X, y, np.full(len(y), 2.0)), (X[1:], y[1:], None)):
        with pytest.raises(CertificateError):
            verify(model, *data)


def test_a_false_separation_is_found():
    X, y, _ = problem_of(22)
    model = fit(X, y, max_iter=1)
    document = model.certificate_.document()
    document["certificate"]["status"] = "infeasible"
    verdict = judge.check(document, model.certificate_.arrays, X, y)
    assert [claim.name for claim in verdict.failed] == ["separates"]


def test_a_model_changed_by_hand_is_found():
    model, X, y, _ = case_of("two classes")
    model.coef_ = model.coef_ * (1 + 1e-6)
    assert not verify(model, X, y)
    with pytest.raises(gapless.ModelFileError):
        save(model, "anywhere")


# -- files and commands --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FITS)
def test_save_and_load(tmp_path, name):
    model, X, y, weights = case_of(name)
    save(model, tmp_path / "model.gapless")
    again = load(tmp_path / "model.gapless")
    assert again.certificate_ == model.certificate_
    assert again.C == np.inf
    assert again.rank_ == model.rank_
    assert again.condition_ == model.condition_
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert verify(tmp_path / "model.gapless", X, y, weights)
    assert str(again.objective_) == str(model.objective_)
    with pytest.raises(AttributeError, match="file"):
        again.alpha_  # noqa: B018


def test_the_judge_alone(tmp_path):
    X, y, _ = problem_of(23)
    save(fit(X, y), tmp_path / "model.gapless")
    np.savez(tmp_path / "data.npz", X=X, y=y)
    command = [sys.executable, "-m", "gapless.judge", tmp_path / "model.gapless", tmp_path / "data.npz", "--json"]
    done = subprocess.run([*command, "--rigorous"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["bounds"][0]["gap_up"] < 1e-15
    np.savez(tmp_path / "data.npz", X=X + 1.0, y=y)
    assert subprocess.run(command, capture_output=True).returncode == 2


def test_the_command_line(tmp_path):
    X, y, _ = problem_of(24, K=3)
    rows = [",".join(["a", "b", "c", "label"])]
    rows += [",".join([*(repr(float(v)) for v in x), str(k)]) for x, k in zip(X, y)]
    (tmp_path / "data.csv").write_text("\n".join(rows))
    call = [
        sys.executable,
        "-m",
        "gapless",
        "train",
        "data.csv",
        "--model",
        "logistic",
        "--C",
        "inf",
        "--out",
        "m.gapless",
    ]
    for extra in ([], ["--json"]):
        done = subprocess.run([*call, *extra], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    block = json.loads(done.stdout)["certificate"]
    assert block["kind"] == "gradient"
    assert block["excess"] < 1e-12
    done = subprocess.run(
        [sys.executable, "-m", "gapless", "verify", "m.gapless", "data.csv"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr


# -- bad input -----------------------------------------------------------------------------------------------------------


def test_bad_input():
    X, y, _ = problem_of(25, K=3)
    with pytest.raises(ValueError, match=r"class 2 has no weight.*Remove the class, give it weight\."):
        fit(X, y, np.where(y == 2, 0.0, 1.0))
    with pytest.raises(ValueError, match="at least one non-zero"):
        fit(X, y, np.zeros(len(y)))
    with pytest.raises(ValueError, match="coordinate_descent"):
        fit(X, y, solver="coordinate_descent")
    with pytest.raises(NotImplementedError, match="finite C"):
        fit(sparse.csr_matrix((20_000, 30_000)) + sparse.eye(20_000, 30_000, format="csr"), np.arange(20_000) % 2)
    for solver in ("auto", "newton", "lbfgs", "newton-cholesky"):
        np.testing.assert_array_equal(fit(X, y, solver=solver).coef_, fit(X, y).coef_)
    # Without a penalty nothing is penalised, the offset neither.
    np.testing.assert_array_equal(fit(X, y, intercept_scaling=2.0).coef_, fit(X, y).coef_)


def test_huge_and_tiny_columns_do_not_overflow():
    X, y, _ = problem_of(26)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    plain = fit(X, y)
    for factor in (1e-120, 1e120):
        scaled = fit(X * factor, y)
        np.testing.assert_allclose(scaled.coef_ * factor, plain.coef_, rtol=1e-9)
        assert scaled.status_ == "converged"
        assert verify(scaled, X * factor, y)


def test_one_row_of_a_class():
    random = np.random.default_rng(27)
    X, y = random.normal(size=(30, 1)), np.zeros(30, dtype=int)
    X[0], y[0] = 0.0, 1
    model = fit(X, y)
    assert model.status_ == "converged"
    assert verify(model, X, y)

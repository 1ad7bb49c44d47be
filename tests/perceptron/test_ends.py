"""It always ends: with every row on its side, or with an exact proof that none of this is possible."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_iris

from gapless import ConvergenceWarning, Perceptron, verify
from tests.perceptron.cases import inseparable, rosenblatt

XOR = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])


def proves(witness, X, y, offset):
    """sum m y (x, 1) = 0 with m > 0, written again."""
    signs = [int(s) for s in np.where(np.asarray(y) == np.max(y), 1, -1)]
    m = dict(zip(witness.rows, witness.multipliers))
    columns = [*X.T.tolist(), *([[1.0] * len(X)] if offset else [])]
    return all(v > 0 for v in m.values()) and not any(
        sum(m[i] * signs[i] * Fraction(column[i]) for i in m) for column in columns
    )


def run_endless(seeds):
    cycles = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X, y = inseparable(rng, [None, 0, 1][seed % 3])
        offset, shuffle = bool(rng.integers(2)), bool(rng.integers(2))
        model = Perceptron(
            tol=[None, 1e-3][seed % 2],
            certify=["auto", True][seed % 2],
            shuffle=shuffle,
            max_iter=-1,
            fit_intercept=offset,
            eta0=float(rng.choice([1.0, 0.5, 0.3])),
            variant=str(rng.choice(["plain", "plain", "pocket", "averaged", "voted"])),
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y)
        assert len(caught) == (model.variant == "plain")
        assert model.status_ == "infeasible", seed
        assert proves(model.certificate_.witness, X, y, offset), seed
        verdict = verify(model, X, y)
        assert verdict, (seed, [claim for claim in verdict.claims if not claim.holds])
        cycles += len(model.certificate_.witness.rows) > 2 * (X.shape[1] + 1)
    return cycles


def test_fits_without_an_end_end_with_a_proof():
    run_endless(range(100))


@pytest.mark.slow
def test_a_thousand_fits_without_an_end_end_with_a_proof():
    run_endless(range(1000))


def test_xor_comes_back():
    X, y = XOR
    with pytest.warns(
        ConvergenceWarning, match="no hyperplane separates the classes, as 4 rows prove exactly"
    ) as caught:
        model = Perceptron(shuffle=False, tol=None, max_iter=-1).fit(X, y)
    assert len(caught) == 1
    _, _, _, seen = rosenblatt(X, np.where(y, 1, -1), [0.0, 0.0, 0.0], passes=model.passes_)
    ends = seen[3::4]
    assert ends[-1] in ends[:-1]  # the state that came back
    assert model.passes_ <= 6
    # Points on the hyperplane count as errors, and of the states met none has fewer than this.
    errors = [sum(s * (w[0] * x[0] + w[1] * x[1] + w[2]) <= 0 for x, s in zip(X, np.where(y, 1, -1))) for w in seen]
    assert model.certificate_.errors == min([*errors, 4])
    assert proves(model.certificate_.witness, X, y, True)


def test_the_advice_of_the_warning_gives_no_warning():
    X, y = XOR
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = Perceptron(shuffle=False, variant="pocket", certify=True).fit(X, y)
    assert model.status_ == "infeasible"


def test_a_cycle_of_rounded_numbers_is_not_taken_for_a_proof():
    """Thirds are not dyadic: what came back in floats need not add up to 0, and the separation test decides."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        X = rng.integers(-2, 3, size=(8, 2)) / 3.0
        y = np.r_[1, 0, rng.integers(0, 2, size=6)]
        X[1] = X[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = Perceptron(shuffle=False, tol=None, max_iter=-1, eta0=0.7).fit(X, y)
        assert model.status_ == "infeasible"
        assert proves(model.certificate_.witness, X, y, True)


@pytest.mark.parametrize("n", [500, 9000])
def test_tol_ends_a_fit_without_a_word_and_the_proof_is_asked_for(n):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, 50))
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    model = Perceptron().fit(X, y)  # no warning
    assert (model.status_, model.certificate_.kind) == ("stalled", "heuristic")
    assert model.n_iter_ < 1000
    assert "was not asked (certify=True asks)" in str(model.certificate_)
    assert verify(model, X, y)
    for given in ({"certify": True}, {"tol": None}, {"certify": True, "tol": None}):
        with pytest.warns(ConvergenceWarning, match="no hyperplane"):
            proved = Perceptron(**given).fit(X, y)
        assert (proved.status_, proved.certificate_.kind) == ("infeasible", "bound")
        assert verify(proved, X, y)


def many_passes(X, y, **given):
    """A fit of so many passes that a proof costs less than a fifth of it: tol is below what its loss wavers by."""
    return Perceptron(tol=1e-300, n_iter_no_change=10_000, shuffle=False, **given).fit(X, y)


def test_a_proof_that_costs_little_is_added_and_changes_no_weights():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30_000, 1))
    noise = (X[:, 0] + rng.normal(size=30_000) > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="Perceptron stopped at max_iter")
        model, bare = many_passes(X, noise), many_passes(X, noise, certify=False)
    assert (model.status_, bare.status_) == ("infeasible", "max_iter")
    assert (model.certificate_.kind, bare.certificate_.kind) == ("bound", "heuristic")
    assert np.array_equal(model.coef_, bare.coef_)
    assert proves(model.certificate_.witness, X, noise, True)
    assert verify(model, X, noise)
    X[:2], X[2:] = (
        [[100.0], [101.0]],
        1.0,
    )  # two rows near each other and far from 0: thousands of passes have a mistake
    clear = (X[:, 0] <= 100.0).astype(int)
    with pytest.warns(ConvergenceWarning, match="of at most"):
        model = many_passes(X, clear)
    with pytest.warns(ConvergenceWarning, match="still on the wrong side"):
        bare = many_passes(X, clear, certify=False)
    assert (model.status_, bare.status_) == ("max_iter", "max_iter")
    assert np.array_equal(model.coef_, bare.coef_)
    assert model.mistakes_ <= model.certificate_.bound
    assert verify(model, X, clear)


def test_the_pocket_costs_what_the_passes_cost():
    """Counted in weights that are looked at, of which each reads all rows: some ten a pass, not one for each mistake."""
    from gapless.solvers.perceptron import PERCEPTRON_THRESHOLDS as limits

    rng = np.random.default_rng(0)
    for n in (300, 3000):
        X, y = rng.normal(size=(n, 5)), rng.integers(0, 2, n)
        with pytest.warns(ConvergenceWarning, match="no hyperplane"):
            model = Perceptron(certify=True).fit(X, y)
        assert limits.passes_of_pocket(6 * n) == 100
        assert model.certificate_.errors <= min(int(y.sum()), n - int(y.sum()))  # the best constant is no better
        assert verify(model, X, y)


def test_a_separable_fit_that_asks_for_the_proof_goes_on_beyond_tol():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(100, 2))
    y = (X @ [1.0, 2.0] > 0.1).astype(int)
    model = Perceptron(tol=10.0, certify=True).fit(X, y)
    assert model.status_ == "converged"
    assert model.score(X, y) == 1.0
    assert Perceptron(tol=10.0).fit(X, y).status_ == "stalled"


@pytest.mark.parametrize("variant", ["plain", "pocket", "averaged", "voted"])
def test_no_limit_comes_in_silence(variant):
    """tol=None leaves max_iter to end the fit, which is said; whether more passes would end is known where that was asked for."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(200, 5))
    y = (X @ [1.0, -2.0, 0.5, 0.1, 3.0] > 0.2).astype(int)
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=1 .*rows are still.*certify=True tells") as caught:
        model = Perceptron(tol=None, max_iter=1, variant=variant, certify=False).fit(X, y)
    assert len(caught) == 1
    assert model.status_ == "max_iter"
    with pytest.warns(ConvergenceWarning, match="of at most .*Raise max_iter .init=est resumes from this model.[.]"):
        model = Perceptron(tol=None, max_iter=1, variant=variant, certify=True).fit(X, y)
    assert model.certificate_.bound >= model.mistakes_
    assert verify(model, X, y)
    assert Perceptron(tol=None, max_iter=-1, variant=variant, init=model).fit(X, y).status_ == "converged"  # the advice


def test_a_last_pass_that_left_no_row_wrong_is_no_shortfall():
    X, y = np.array([[1.0], [-1.0]]), np.array([1, 0])
    model = Perceptron(tol=None, max_iter=1, fit_intercept=False, shuffle=False).fit(
        X, y
    )  # one mistake, then none: no warning
    assert (model.status_, model.mistakes_, model.certificate_.errors) == ("max_iter", 1, 0)


def test_xor_has_its_witness_however_few_the_passes():
    X, y = XOR
    for passes in (1, 2, 1000):
        for shuffle in (True, False):
            with pytest.warns(ConvergenceWarning, match="no hyperplane separates the classes, as 4 rows prove exactly"):
                model = Perceptron(tol=None, max_iter=passes, shuffle=shuffle, certify=True).fit(X, y)
            assert proves(model.certificate_.witness, X, y, True)
            assert verify(model, X, y)


def period(X, y):
    """Passes after which the weights come back, and the first such pass, by whole numbers alone."""
    theta, seen = [0] * (len(X[0]) + 1), {}
    while tuple(theta) not in seen:
        seen[tuple(theta)] = len(seen)
        for x, sign in zip(X, y):
            if sign * sum(t * v for t, v in zip(theta, (*x, 1))) <= 0:
                theta = [t + sign * v for t, v in zip(theta, (*x, 1))]
    return len(seen) - seen[tuple(theta)], seen[tuple(theta)]


@pytest.mark.parametrize(
    ("X", "y", "length"),
    [
        ([(-2, -26), (40, -2), (29, 37), (-21, 14), (-21, 14)], [-1, 1, -1, -1, 1], 2437),
        ([(-1, -29), (35, 10), (-24, 33), (38, 27), (38, 27)], [-1, 1, 1, 1, -1], 3706),
    ],
)
def test_a_cycle_of_thousands_of_passes_is_found(X, y, length):
    """Nothing but the state that comes back can tell: certify=False asks for no separation test."""
    assert period(X, y)[0] == length
    X, y = np.array(X, float), np.array(y)
    with pytest.warns(ConvergenceWarning, match="no hyperplane separates the classes"):
        model = Perceptron(shuffle=False, tol=None, max_iter=-1, certify=False).fit(X, y)
    assert model.status_ == "infeasible"
    assert length < model.passes_ <= 4 * (length + period(X.astype(int).tolist(), y.tolist())[1])
    assert proves(model.certificate_.witness, X, y, True)
    assert verify(model, X, y)


def test_limits():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 5))
    y = (X[:, 0] > 0).astype(int)
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=2 .*Raise max_iter"):
        model = Perceptron(max_iter=2).fit(X, y)
    assert (model.status_, model.n_iter_, model.t_) == ("max_iter", 2, 601.0)
    assert verify(model, X, y)
    again = Perceptron(max_iter=-1, init=model).fit(X, y)  # the advice: no warning, whether tol or a clean pass ends it
    assert again.status_ == "stalled"
    assert Perceptron(max_iter=-1, init=model, tol=None).fit(X, y).status_ == "converged"
    big = np.tile(X, (200, 1)) + rng.normal(size=(60000, 5))
    with pytest.warns(ConvergenceWarning, match="stopped at time_limit"):
        model = Perceptron(tol=None, max_iter=-1, certify=False, time_limit=0.05).fit(big, np.tile(y, 200))
    assert model.status_ == "time_limit"
    assert model.certificate_.seconds < 1.0


def test_iris():
    X, y = load_iris(return_X_y=True)
    assert Perceptron(tol=None).fit(X, y == 0).status_ == "converged"
    with pytest.warns(ConvergenceWarning, match="2 of 3 classes against the rest"):
        model = Perceptron(tol=None).fit(X, y)
    assert [sub.status for sub in model.certificate_.subproblems] == ["converged", "infeasible", "infeasible"]
    assert model.certificate_.subproblems[0].bound >= model.mistakes_[0]
    assert verify(model, X, y)
    assert model.score(X, y) > 0.7


@pytest.mark.parametrize("reason", ["interrupted", "time_limit"])
def test_stopped_while_the_pocket_is_filled(monkeypatch, reason):
    """Ctrl-C, or the end of the time, after the proof that nothing separates the classes: the proof and a model stay."""
    from gapless.solvers.loop import Loop
    from gapless.solvers.perceptron import Run

    fill = Run.fill_pocket
    loops = []
    monkeypatch.setattr(
        Loop, "__init__", lambda self, *a, _init=Loop.__init__, **k: (_init(self, *a, **k), loops.append(self))[0]
    )

    def stopped(self, passes, tick):
        if reason == "interrupted":
            for loop in loops:
                loop.interruption.requested = True
            return fill(self, passes, tick)
        return fill(self, passes, lambda: loops[-1].end("time_limit"))

    monkeypatch.setattr(Run, "fill_pocket", stopped)
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 2)), np.arange(60) % 2
    model = Perceptron(shuffle=False, certify=True)
    if reason == "interrupted":
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
    assert model.certificate_.subproblems[0].witness is not None
    assert verify(model, X, y)
    assert model.score(X, y) >= 0.5

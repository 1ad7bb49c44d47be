"""The run and its variants against scikit-learn's own, and against a few lines that say what each of them is."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_classification

from gapless import ConvergenceWarning, Perceptron, config_context, load, save, verify
from gapless.rows import as_rows
from gapless.rows.copies.binary import BinaryRows
from gapless.rows.copies.choose import best_copy
from gapless.rows.copies.words import PackedRows
from gapless.solvers.perceptron import Run
from tests.perceptron.cases import rosenblatt

#: Weights after a few passes are compared here, whether or not these were enough.
pytestmark = pytest.mark.filterwarnings("ignore:Perceptron stopped at max_iter")


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fit_intercept": False},
        {"eta0": 0.3},
        {"penalty": "l2", "alpha": 0.01},
        {"penalty": "l1", "alpha": 0.01},
        {"penalty": "elasticnet", "alpha": 0.003, "l1_ratio": 0.4, "eta0": 2.0},
        {"class_weight": {0: 2.0, 1: 0.5}},
        {"penalty": "l2", "class_weight": "balanced"},
    ],
)
def test_scikit_learns_weights_in_a_fixed_order(cancer, options):
    X, y = cancer
    given = {"shuffle": False, "tol": None, "max_iter": 7, **options}
    ours, peer = Perceptron(**given).fit(X, y), linear_model.Perceptron(**given).fit(X, y)
    assert np.allclose(ours.coef_, peer.coef_, rtol=1e-9, atol=1e-9)
    assert np.allclose(ours.intercept_, peer.intercept_, rtol=1e-9, atol=1e-9)
    assert (ours.n_iter_, ours.t_) == (peer.n_iter_, peer.t_)
    if options.get("class_weight") == "balanced":  # ours counts rows by their weight
        return
    weight = np.random.default_rng(0).random(len(y)) + 0.5
    ours.fit(X, y, sample_weight=weight)
    peer.fit(X, y, sample_weight=weight)
    assert np.allclose(ours.coef_, peer.coef_, rtol=1e-9, atol=1e-9)


def test_scikit_learns_stop(cancer):
    """Where tol ends the fit, it ends both at the same pass with the same weights (penalty: the loss alone is compared here)."""
    X, y = cancer
    for tol in (1e-3, 1e-2):
        ours = Perceptron(shuffle=False, tol=tol, certify=False).fit(X, y)
        peer = linear_model.Perceptron(shuffle=False, tol=tol).fit(X, y)
        assert ours.n_iter_ == peer.n_iter_
        assert np.allclose(ours.coef_, peer.coef_, rtol=1e-9)


DIGITS = load_digits(return_X_y=True)


@pytest.mark.parametrize("given", [{}, {"random_state": 7}, {"shuffle": False}, {"tol": 1e-2, "n_iter_no_change": 3}])
@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize(("X", "y"), [DIGITS, load_iris(return_X_y=True), (DIGITS[0], DIGITS[1] % 2)])
def test_the_default_is_scikit_learns_fit(X, y, given, early_stopping):
    """The same rows in the same order and the same end. Sums of small integers are the same in any order."""
    given = {**given, "early_stopping": early_stopping}
    ours, peer = Perceptron(**given).fit(X, y), linear_model.Perceptron(**given).fit(X, y)
    size = np.abs(peer.coef_).max()
    assert np.allclose(ours.coef_, peer.coef_, rtol=0, atol=1e-9 * size)
    assert np.allclose(ours.intercept_, peer.intercept_, rtol=0, atol=1e-9 * size)
    assert (ours.predict(X) == peer.predict(X)).all()
    assert ours.n_iter_ <= peer.n_iter_  # a clean pass ends a fit of ours
    verdict = verify(ours, X, y)
    assert verdict, [claim for claim in verdict.claims if not claim.holds]


def test_scikit_learns_start_values_and_parts(cancer):
    X, y = cancer
    rng = np.random.default_rng(0)
    start = {"coef_init": rng.normal(size=(1, X.shape[1])), "intercept_init": rng.normal(size=1)}
    given = {"shuffle": False, "tol": None, "max_iter": 3}
    ours = Perceptron(**given).fit(X, y, **start)
    peer = linear_model.Perceptron(**given).fit(X, y, **start)
    assert np.allclose(ours.coef_, peer.coef_, rtol=1e-9, atol=1e-9)
    ours, peer = Perceptron(**given), linear_model.Perceptron(**given)
    for part in np.array_split(np.arange(len(y)), 5):
        ours.partial_fit(X[part], y[part], classes=[0, 1])
        peer.partial_fit(X[part], y[part], classes=[0, 1])
    assert np.allclose(ours.coef_, peer.coef_, rtol=1e-9, atol=1e-9)
    assert (ours.t_, ours.n_iter_, ours.passes_) == (peer.t_, 1, 5)
    assert not hasattr(ours, "certificate_")
    with pytest.raises(AttributeError, match="after partial_fit"):
        _ = ours.status_


def test_several_classes_are_scikit_learns():
    X, y = load_iris(return_X_y=True)
    given = {"shuffle": False, "tol": None, "max_iter": 5}
    ours, peer = Perceptron(**given).fit(X, y), linear_model.Perceptron(**given).fit(X, y)
    for k in range(3):  # our fits end at a clean pass, which changes nothing
        assert np.allclose(ours.coef_[k], peer.coef_[k], rtol=1e-9, atol=1e-9)
    assert (ours.predict(X) == peer.predict(X)).all()
    assert ours.mistakes_.shape == ours.passes_.shape == (3,)
    same = Perceptron(**given, n_jobs=2).fit(X, y)
    assert np.array_equal(same.coef_, ours.coef_)


def test_averaged_is_scikit_learns(cancer):
    X, y = cancer
    peer = linear_model.SGDClassifier(
        loss="perceptron",
        penalty=None,
        learning_rate="constant",
        eta0=1.0,
        average=True,
        shuffle=False,
        tol=None,
        max_iter=4,
    ).fit(X, y)
    ours = Perceptron(variant="averaged", shuffle=False, tol=None, max_iter=4).fit(X, y)
    assert np.allclose(ours.coef_, peer.coef_, rtol=1e-9, atol=1e-9)
    assert np.allclose(ours.intercept_, peer.intercept_, rtol=1e-9, atol=1e-9)
    parts = Perceptron(variant="averaged", shuffle=False)
    for _ in range(4):
        parts.partial_fit(X, y, classes=[0, 1])
    assert np.allclose(parts.coef_, ours.coef_, rtol=1e-9, atol=1e-9)


def test_voted_and_averaged_from_the_states_of_a_run(cancer):
    X, y = cancer[0][:80, :5], np.where(cancer[1][:80], 1, -1)
    _, mistakes, _, seen = rosenblatt(X, y, np.zeros(6), 1.0, 3)
    seen = np.array(seen)
    ours = Perceptron(variant="averaged", shuffle=False, tol=None, max_iter=3).fit(X, y)
    assert np.allclose(np.append(ours.coef_, ours.intercept_), seen.mean(axis=0), rtol=1e-9, atol=1e-9)
    voted = Perceptron(variant="voted", shuffle=False, tol=None, max_iter=3).fit(X, y)
    assert voted.mistakes_ == mistakes
    assert np.allclose(voted.coef_, ours.coef_, rtol=1e-9, atol=1e-9)
    new = np.random.default_rng(0).normal(size=(200, 5))
    share = np.sign(new @ seen[:, :5].T + seen[:, 5]).mean(axis=1)
    assert np.allclose(voted.decision_function(new), share, atol=1e-12)
    assert (voted.predict(new) == np.where(share > 0, 1, -1)).all()
    assert verify(voted, X, y)


def test_a_stopped_vote_is_one_of_means_of_consecutive_weights(monkeypatch):
    """Counting reads all rows for each voter: where the time has ended, no more vote than are counted in a moment."""
    import gapless.fits.perceptron as fits

    counted = []
    count = fits._count_votes
    monkeypatch.setattr(fits, "_count_votes", lambda run, *tick: (counted.append(run.n_voters), count(run, *tick))[1])
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60_000, 20)), rng.integers(2, size=60_000)
    with config_context(convergence="ignore"):
        voted = Perceptron(variant="voted", tol=None, max_iter=1000, time_limit=0.3).fit(X, y)
    assert voted.status_ == "time_limit"
    assert counted[-1] <= 3e8 / X.size < voted.mistakes_
    arrays = voted.certificate_.arrays
    assert np.allclose(arrays["votes"] @ arrays["voters"][:, :-1] / arrays["votes"].sum(), voted.coef_[0], rtol=1e-9)
    assert voted.certificate_.subproblems[0].errors == np.count_nonzero((2 * y - 1) * voted.decision_function(X) <= 0)
    assert verify(voted, X, y)


def test_pocket_has_the_fewest_errors_of_all_states():
    rng = np.random.default_rng(1)
    for _ in range(10):
        X = rng.integers(-3, 4, size=(25, 2)).astype(float)
        y = rng.choice([-1, 1], 25)
        y[:2] = 1, -1
        _, _, _, seen = rosenblatt(X, y, np.zeros(3), 1.0, 12)
        rows = np.column_stack([X, np.ones(25)])
        fewest = min(int((y * (rows @ theta) <= 0).sum()) for theta in [np.zeros(3), *seen])
        model = Perceptron(variant="pocket", shuffle=False, tol=None, max_iter=12, certify=False).fit(X, y)
        if model.status_ == "max_iter":
            assert model.certificate_.errors == fewest
        assert verify(model, X, y)


def test_pocket_of_large_data_looks_at_long_runs_only():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 20))
    y = (X[:, 0] + rng.normal(size=3000) > 0).astype(int)
    plain = Perceptron(tol=None, max_iter=10, certify=False).fit(X, y)
    pocket = Perceptron(tol=None, max_iter=10, certify=False, variant="pocket").fit(X, y)
    assert pocket.certificate_.errors < plain.certificate_.errors
    assert np.array_equal(pocket.certificate_.arrays["last"], plain.certificate_.arrays["last"])
    assert verify(pocket, X, y)


def test_early_stopping(cancer):
    X, y = cancer
    model = Perceptron(early_stopping=True, n_iter_no_change=3).fit(X, y)
    assert model.n_iter_ < 100
    assert model.score(X, y) > 0.9
    assert verify(model, X, y)
    with pytest.raises(ValueError, match="early_stopping should be False"):
        model.partial_fit(X, y)


def test_warm_start_and_init_go_on(cancer):
    X, y = cancer
    given = {"shuffle": False, "tol": None, "max_iter": 4}
    whole = Perceptron(**given).fit(X, y)
    given["max_iter"] = 2
    half = Perceptron(**given).fit(X, y)
    for other in (
        Perceptron(**given, init=half).fit(X, y),
        Perceptron(**given, init=half.certificate_).fit(X, y),
        Perceptron(**given, init=(half.coef_, half.intercept_)).fit(X, y),
        Perceptron(**given, warm_start=True).fit(X, y).fit(X, y),
    ):
        assert np.array_equal(other.coef_, whole.coef_)
        assert verify(other, X, y)
    with pytest.raises(ValueError, match="'init' parameter of Perceptron must be"):
        Perceptron(init=3).fit(X, y)


def test_least_squares_as_a_start():
    """Learning From Data: from the weights of a linear regression there is little left to do."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(100, 2))
    y = np.where(X @ [1.0, -0.5] + 0.1 > 0, 1, -1)
    line = linear_model.LinearRegression().fit(X, y)
    start = Perceptron(tol=None, max_iter=-1, init=line).fit(X, y)
    assert np.array_equal(start.certificate_.arrays["start"], [[*line.coef_, line.intercept_]])
    assert start.status_ == "converged"
    assert verify(start, X, y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_and_sparse_and_compact_rows_agree(dtype):
    """Digits are integers: every sum is exact, so that all four kinds of rows give the same bits."""
    X, y = load_digits(return_X_y=True)
    X = (X * (X > 12)).astype(dtype)  # mostly zeros
    X = np.hstack([X, X])
    y = (y % 2 * 2 - 1).astype(np.int8)
    found = []
    for rows in (as_rows(X, 1.0), as_rows(sparse.csr_matrix(X), 1.0)):
        for fast in (rows, best_copy(rows, "random")):
            run = Run(rows, y, np.arange(y.size), np.zeros(129), shuffle=True, fast=fast)
            for _ in range(4):
                run.advance(lambda: None)
            found.append((run.theta.tolist(), run.mistakes, run.updates.tolist()))
    assert isinstance(best_copy(as_rows(X, 1.0), "random"), PackedRows)
    assert all(one == found[0] for one in found)
    ones = (X > 0).astype(dtype)
    pattern = best_copy(as_rows(sparse.csr_matrix(ones), 1.0), "random", least_values=0)
    assert isinstance(pattern, BinaryRows)
    found = []
    for fast in (None, pattern):
        for variant in ("plain", "pocket", "averaged"):
            run = Run(as_rows(ones, 1.0), y, np.arange(y.size), np.zeros(129), variant=variant, shuffle=True, fast=fast)
            for _ in range(3):
                run.advance(lambda: None)
            found.append((run.theta.tolist(), run.mistakes, [each.tolist() for each in run.pocket], run.lag.tolist()))
    assert found[:3] == found[3:]
    assert best_copy(as_rows(np.ones((2000, 128)), 1.0), "random").values.shape == (2000, 128)  # nothing to gain
    filling = np.vstack([np.zeros((4000, 128)), np.ones((200, 128)) * 3.0])  # the sample sees few of the full rows
    assert best_copy(as_rows(filling, 1.0), "random").indptr[-1] == 200 * 5 * 32


def test_columns_that_depend_on_each_other_but_for_rounding():
    """float64 cannot tell whether these are separable, and nothing is claimed that is not proved."""
    for classes in (2, 3):
        X, y = make_classification(n_informative=10, n_classes=classes, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = Perceptron().fit(X, y)
        assert model.status_ in ("stalled", "infeasible")
        assert verify(model, X, y)


@pytest.mark.parametrize("variant", ["plain", "pocket", "averaged", "voted"])
@pytest.mark.parametrize("classes", [2, 3])
def test_save_and_load(variant, classes, tmp_path):
    X, y = load_iris(return_X_y=True)
    y = np.array(["no", "yes"])[(y == 0) * 1] if classes == 2 else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = Perceptron(variant=variant, trace=True).fit(X, y)
    save(model, tmp_path / "model.gapless")
    again = load(tmp_path / "model.gapless")
    assert (again.predict(X) == model.predict(X)).all()
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert again.certificate_ == model.certificate_
    assert str(again.certificate_) == str(model.certificate_)
    assert np.array_equal(again.mistakes_, model.mistakes_)
    for judged in (again, model.certificate_, tmp_path / "model.gapless"):
        assert verify(judged, X, y)
    if variant == "plain":
        again.partial_fit(X, y)
    assert "<table>" in model.certificate_._repr_html_()
    assert model.certificate_.gap is None


def test_a_model_of_parts_cannot_be_saved(cancer, tmp_path):
    X, y = cancer
    with pytest.raises(Exception, match="fit"):
        save(Perceptron().partial_fit(X, y, classes=[0, 1]), tmp_path / "model.gapless")


def test_verbose(cancer, capsys):
    X, y = cancer
    Perceptron(verbose=1, max_iter=3, tol=None).fit(X, y)
    assert re.match(r"\[Perceptron\] pass 1  [\d.]+ s  mistakes \d+  mean loss ", capsys.readouterr().out)

"""Examples whose rows need not be read: every bit as if they had been, and a bound that is true and close."""

import numpy as np
import pytest
from scipy import sparse

from gapless import Schedule, Until, descend, linear_risk
from gapless.rows import as_rows
from gapless.rows.copies.straight import brought_forward, straight
from gapless.solvers.descent import skip_flat_rows as gradient_certain
from gapless.solvers.descent.engine import Engine
from gapless.solvers.descent.skip_flat_rows import ACROSS, FACTOR, RADIUS, SPARED, Certain
from gapless.solvers.descent.steps import OFFSET


def rows_and_labels(n=1200, d=80, seed=0):
    """Twins among them, some with the other label: a step for the one moves the other as far as the bound allows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[1::3] = X[::3][: X[1::3].shape[0]]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X *= rng.uniform(0.5, 2.0, size=(n, 1))
    y = np.where(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0.1, 1, -1)
    return X, y


@pytest.fixture
def eager(monkeypatch):
    """From the first epochs on, whatever a sample says; counts what was spared."""
    monkeypatch.setattr(gradient_certain, "FIRST", 1)
    monkeypatch.setattr(gradient_certain, "PROMISED", -1.0)
    monkeypatch.setattr(gradient_certain, "LONG", 1)
    spared = []
    begin = Certain.begin

    def counted(self, *given):
        spared.append(self.known[SPARED])
        begin(self, *given)

    monkeypatch.setattr(Certain, "begin", counted)
    return spared


def both(risk, monkeypatch, **settings):
    """The same descent with the question and without it."""
    asked = descend(risk, method="sgd", **settings)
    with monkeypatch.context() as patch:
        patch.setattr(gradient_certain, "FLAT", ())
        read = descend(risk, method="sgd", **settings)
    return asked, read


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(
    "schedule",
    [None, Schedule.constant(0.02), Schedule.inverse_root(0.1), Schedule.cosine(0.1, 30_000)],
    ids=["own", "constant", "root", "cosine"],
)
def test_the_same_bits(form, loss, schedule, eager, monkeypatch):
    X, y = rows_and_labels()
    risk = linear_risk(form(X), y, loss=loss, lam=1e-2)
    asked, read = both(risk, monkeypatch, schedule=schedule, stop=Until(epochs=25), trace=False)
    assert max(eager) > 0
    assert (asked.theta == read.theta).all()
    assert asked.value == read.value
    assert asked.relative_gap == read.relative_gap


def test_the_same_bits_where_v_is_multiplied_out(eager, monkeypatch):
    """1 - rate lam = 0.99: every other epoch s is too small, and what was known is known no more."""
    X, y = rows_and_labels()
    risk = linear_risk(X, y, loss="hinge", lam=1e-2)
    asked, read = both(risk, monkeypatch, schedule=1.0, stop=Until(epochs=25), trace=False)
    assert eager
    assert (asked.theta == read.theta).all()


@pytest.mark.parametrize("offset", ["free", "none", "penalised"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("visits", ["shuffled", "random"])
def test_the_same_bits_with_weights_offsets_averages_and_a_trace(offset, weighted, visits, eager, monkeypatch):
    X, y = rows_and_labels(seed=1)
    weight = np.random.default_rng(5).uniform(0.0, 3.0, y.size) if weighted else None
    risk = linear_risk(X, y, loss="hinge", lam=1e-2, offset=offset, sample_weight=weight)
    settings = {"stop": Until(epochs=20), "average": "uniform", "trace": 7, "visits": visits}
    asked, read = both(risk, monkeypatch, **settings)
    assert max(eager) > 0
    assert (asked.theta == read.theta).all()
    assert (asked.average == read.average).all()
    np.testing.assert_array_equal(asked.trace.theta, read.trace.theta)
    np.testing.assert_array_equal(asked.trace.loss, read.trace.loss)


def test_the_same_bits_of_a_copy_whose_rows_are_moved(eager, monkeypatch):
    rng = np.random.default_rng(3)
    n, d, filled = 2500, 900, 70
    columns = np.sort(np.argsort(rng.random((n, d)), axis=1)[:, :filled], axis=1)
    X = sparse.csr_matrix((rng.normal(size=n * filled) / 8, columns.ravel(), np.arange(n + 1) * filled), shape=(n, d))
    y = np.where(X @ rng.normal(size=d) > 0, 1, -1)
    moves = []
    monkeypatch.setattr(gradient_certain, "brought_forward", lambda *given: moves.append(1) or brought_forward(*given))
    monkeypatch.setattr(gradient_certain, "ASTRAY", 0.01)
    monkeypatch.setattr(gradient_certain, "EPOCHS_ASTRAY", 0.0)
    risk = linear_risk(X, y, loss="hinge", lam=1e-3)
    asked, read = both(risk, monkeypatch, stop=Until(epochs=60), trace=True)
    assert max(eager) > 0
    assert moves
    assert (asked.theta == read.theta).all()
    np.testing.assert_array_equal(asked.trace.loss, read.trace.loss)


@pytest.mark.parametrize("offset", ["free", "none", "penalised"])
@pytest.mark.parametrize("rate", [0.3, 0.01])
def test_the_bound_is_true_and_close(offset, rate, monkeypatch):
    """|v - c v0| computed from the vectors themselves, through many steps."""
    X, y = rows_and_labels(n=300, seed=2)
    risk = linear_risk(X, y, loss="hinge", lam=1e-2, offset=offset)
    schedule = Schedule.inverse_root(rate)
    engine = Engine(risk, np.zeros(81), "sgd", schedule, size=1, visits="random", seed=1, epochs=30)
    monkeypatch.setattr(Certain, "begin", lambda *_: None)  # it would take another v0
    engine.advance(engine.steps + engine.per_epoch)
    for _ in range(8):
        v0 = engine._theta.copy()
        engine.certain._refer(1, v0, 1.0, engine.state[OFFSET], 0.0)
        for _ in range(3):
            engine.advance(engine.steps + engine.per_epoch)
            known, v = engine.certain.known, engine._theta
            true = np.linalg.norm(v - known[FACTOR] * v0)
            assert known[ACROSS] == pytest.approx(v @ v0, rel=1e-10)
            assert 0.0 < true <= known[RADIUS]
            assert known[RADIUS] <= true * (1.0 + 1e-6) + 1e-6 * np.linalg.norm(v)


def test_losses_without_a_flat_side_and_short_rows_are_not_asked_about():
    X, y = rows_and_labels(n=200, d=80)
    for name, width, possible in [("hinge", 80, True), ("logistic", 80, False), ("hinge", 20, False)]:
        risk = linear_risk(X[:, :width], y, loss=name, lam=1e-2)
        engine = Engine(risk, np.zeros(width + 1), "sgd", Schedule.constant(0.1), size=1, epochs=30)
        assert engine.certain.possible is possible


def test_what_never_spares_is_given_up(monkeypatch):
    """Labels at random: every example is inside the margin again and again, and a sample says so."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 100)) / 10, np.where(rng.random(600) < 0.5, 1, -1)
    taken = []
    refer = gradient_certain.refer
    monkeypatch.setattr(gradient_certain, "refer", lambda *given: taken.append(1) or refer(*given))
    descend(linear_risk(X, y, loss="hinge", lam=1e-1), method="sgd", stop=Until(epochs=40), trace=False)
    assert len(taken) <= 1


def test_rows_moved_to_the_front_are_the_same_rows():
    X = sparse.random(50, 30, density=0.3, format="csr", random_state=1)
    rows, _ = straight(as_rows(X, 0.0), np.arange(50))
    wanted = np.random.default_rng(0).random(50) < 0.4
    moved = brought_forward(rows, wanted)
    assert moved.ends[1::2][wanted].max() <= moved.ends[::2][~wanted].min()
    for i in range(50):
        one, two = (r.words[r.ends[2 * i] : r.ends[2 * i + 1]] for r in (rows, moved))
        assert (one == two).all()

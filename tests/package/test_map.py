"""The map of the benchmarks: what it draws, how it judges, and what it says of what was measured."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression

from benchmarks import map as journey
from benchmarks.core import map_cells, map_clock, map_picture, map_run
from benchmarks.core.map_cells import Cell, draw_cell, log_uniform, make_data
from benchmarks.core.map_fits import KINDS, distance, linear_primal
from benchmarks.core.map_peers import duel
from benchmarks.studies.kernel import relative_gap


def tiny(estimator="Ridge", **changes):
    values = {
        "number": 0, "estimator": estimator, "C": 1.0, "data": "drawn", "n": 60, "d": 4, "form": "dense", "scaled": True,
        "classes": 0 if KINDS[estimator].task != "classes" else 2, "nature": "noisy", "weighted": False, "seed": 3,
    }  # fmt: skip
    return Cell(**(values | changes))


# ------------------------------------------------------------------------------------------------ drawing


def drawn(seed, count=400):
    random, kinds = np.random.default_rng(seed), list(KINDS.values())
    return [draw_cell(random, k, kinds[int(random.integers(len(kinds)))]) for k in range(count)]


def test_a_seed_draws_the_same_cells_and_another_others():
    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_cells_are_within_the_limits_and_everywhere():
    cells = drawn(5, 1500)
    for cell in cells:
        if cell.data == "drawn":
            assert 50 <= cell.n <= 200_000
            assert 2 <= cell.d <= 3000
            assert cell.n * cell.d <= 2e7
        kind = KINDS[cell.estimator]
        assert (cell.C in map_cells.STRENGTHS) == kind.strengths
        assert 2 <= cell.classes <= 26 if kind.task == "classes" else cell.classes == 0
        assert cell.form == "dense" or kind.sparse
        assert not cell.weighted or kind.weights
    assert {cell.estimator for cell in cells} == set(KINDS)
    assert {cell.nature for cell in cells} == {*map_cells.NATURES, "real"}
    assert {cell.data for cell in cells} >= {"drawn", "iris", "wine", "breast_cancer", "digits", "diabetes", "linnerud"}
    for name in ("form", "scaled", "weighted"):
        assert len({getattr(cell, name) for cell in cells}) == 2


def test_log_uniform_is_uniform_in_the_logarithm():
    random = np.random.default_rng(0)
    values = np.array([log_uniform(random, 2, 2000) for _ in range(20_000)])
    assert values.min() == 2
    assert values.max() <= 2000
    for low, high in ((2, 10), (10, 100), (100, 1000)):
        share = math.log(high / low) / math.log(2001 / 2)
        assert np.mean((values >= low) & (values < high)) == pytest.approx(share, abs=0.015)


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("nature", map_cells.NATURES)
def test_the_data_are_what_the_cell_says(form, nature):
    cell = tiny("SVC", n=900, d=30, form=form, nature=nature, classes=3, scaled=False, weighted=True)
    X, y, weights = make_data(cell)
    again = make_data(cell)
    assert sparse.issparse(X) == (form == "csr")
    assert X.shape == (900, 30)
    assert (abs(X - again[0]).max(), np.abs(y - again[1]).max(), np.abs(weights - again[2]).max()) == (0.0, 0, 0.0)
    assert (weights > 0.0).all()
    assert np.unique(y).size == 3
    counts = np.bincount(y)
    if nature == "imbalanced":
        assert counts.max() > 2 * counts.min()
    spread = abs(X).max(axis=0)
    spread = spread.toarray().ravel() if sparse.issparse(spread) else spread
    assert spread.max() > 100 * spread[spread > 0].min()  # raw units
    if nature == "collinear" and form == "dense":
        values = np.linalg.svd(make_data(tiny("SVC", n=900, d=30, nature=nature, classes=3))[0], compute_uv=False)
        assert int((values > 1e-3 * values[0]).sum()) == 10


def test_separable_data_are_separable_and_noisy_ones_are_not():
    for nature, best in (("separable", True), ("noisy", False)):
        X, y, _ = make_data(tiny("SVC", n=400, d=6, nature=nature))
        assert (LogisticRegression(C=1e8, max_iter=10_000).fit(X, y).score(X, y) == 1.0) == best


def test_the_data_of_scikit_learn_are_scaled_or_as_they_come():
    X, y, weights = make_data(tiny("SVC", data="iris", n=150, d=4, classes=3, nature="real", scaled=False))
    assert np.array_equal(X, load_iris().data)
    assert np.array_equal(y, load_iris().target)
    assert weights is None
    scaled = make_data(tiny("SVC", data="iris", n=150, d=4, classes=3, nature="real"))[0]
    assert np.allclose([scaled.mean(axis=0), scaled.std(axis=0) - 1.0], 0.0, atol=1e-12)


# ------------------------------------------------------------------------------------------------ judging


def test_what_scikit_learn_minimises_term_by_term():
    random = np.random.default_rng(0)
    X, y, weights = random.normal(size=(7, 2)), np.array([0, 1, 2, 0, 1, 2, 2]), random.random(7) + 0.5
    W, b = random.normal(size=(3, 2)), random.normal(size=3)
    z = X @ W.T + b
    softmax = 0.5 * (W**2).sum() + 3.0 * sum(
        c * (math.log(sum(math.exp(v) for v in line)) - line[k]) for c, line, k in zip(weights, z.tolist(), y)
    )
    assert linear_primal("logistic", W, b, (X, y, weights), 3.0) == pytest.approx(softmax, rel=1e-12)
    for loss, power in (("hinge", 1), ("squared_hinge", 2)):
        machines = 0.5 * ((W**2).sum() + (b**2).sum()) + 3.0 * sum(
            weights[i] * max(0.0, 1.0 - (1 if y[i] == k else -1) * z[i, k]) ** power for i in range(7) for k in range(3)
        )
        assert linear_primal(loss, W, b, (X, y, weights), 3.0) == pytest.approx(machines, rel=1e-12)
    two = (X, (y > 0).astype(int), None)
    short = [math.log1p(math.exp(-s * v)) for s, v in zip(np.where(y > 0, 1, -1), (X @ W[0] + b[0]).tolist())]
    value = linear_primal("logistic", W[:1], b[:1], two, 1.0)
    assert value == pytest.approx(0.5 * (W[0] ** 2).sum() + sum(short), rel=1e-12)


def test_a_loose_fit_is_judged_farther_by_what_it_is():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    cell = tiny("LogisticRegression", n=569, d=30)
    tight, loose = (LogisticRegression(tol=tol, max_iter=10_000).fit(X, y) for tol in (1e-12, 1.0))
    best, worse = (linear_primal("logistic", m.coef_, m.intercept_, (X, y, None), 1.0) for m in (tight, loose))
    assert distance(cell, tight, X, y, None) == pytest.approx(0.0, abs=1e-7)
    assert distance(cell, loose, X, y, None) == pytest.approx((worse - best) / worse, abs=1e-7)
    assert worse > best * (1.0 + 1e-3)


def test_the_gap_of_kernel_machines_knows_weights():
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).random(150) * 3.0 + 0.2
    model = svm.SVC(C=2.0, gamma=0.5, tol=1e-7).fit(X, y, sample_weight=weights)
    assert 0.0 <= relative_gap(model, X, y, 2.0, 0.5, weights) < 1e-5
    assert relative_gap(model, X, y, 2.0, 0.5) > 1e-2
    assert relative_gap(model, X, y, 2.0, 0.5, np.ones(150)) == relative_gap(model, X, y, 2.0, 0.5)


@pytest.mark.parametrize("estimator", ["LinearSVC", "SVC"])
def test_a_duel_ends_at_equal_distances(estimator):
    cell = tiny(estimator, n=150)
    X, y, _ = make_data(cell)
    found = duel(cell, X, y, 1)
    if found is None:
        pytest.skip("none of the peers is installed")
    assert found["own"] <= max(found["distance"], 1e-9) * (1.0 + 1e-9)
    assert min(found["gapless_s"], found["peer_s"]) > 0.0


# ------------------------------------------------------------------------------------------------ figures


def row(peer, ours, **more):
    cell = tiny(**({"estimator": more.pop("estimator")} if "estimator" in more else {}), n=more.pop("n", 60))
    common = {"judged": None, "asked": 1e-4, "subproblems": 1, "text": str(cell), "peers": None}
    return {**cell.as_row(), **common, "peer_s": peer, "ours_s": ours, **more}


ROWS = [
    row(0.1, 0.05),
    row(0.4, 0.05, n=200_000),
    row(0.1, 0.2, estimator="SVC"),
    row(0.004, 0.005),
    row(0.004, 0.009),
    row(0.004, 0.009, subproblems=45),
    {**row(1.0, 1.0), "failed": "MemoryError"},
    row(0.1, 0.1, peers={"peer_s": 0.09, "gapless_s": 0.01, "engine": None, "name": "snapml", "distance": 1e-3}),
    row(0.1, 0.1, peers={"peer_s": 0.09, "gapless_s": 0.1, "engine": "libsvm", "name": "LIBSVM", "distance": 1e-3}),
    row(0.1, 0.1, peers={"peer_s": 0.001, "gapless_s": 0.01, "name": "snapml", "distance": 1e-3}),
]


def test_the_figures_of_rows_that_are_known():
    found = map_run.figures(ROWS)
    assert (found["cells"], found["failed"]) == (10, 1)
    long = found["over 20 ms"]
    ratios = [2.0, 8.0, 0.5, 1e-3, 1.0, 1.0, 1.0]  # one without an end counts as a thousandth
    assert long["cells"] == 7
    assert long["geometric mean"] == pytest.approx(math.prod(ratios) ** (1 / 7))
    assert (long["least"], long["share >= 0.5"], long["share >= 1"]) == (0.0, 6 / 7, 5 / 7)
    short = found["below 20 ms"]
    assert (short["cells"], short["within what is allowed"]) == (3, pytest.approx(2 / 3))
    assert short["median ms more"] == pytest.approx(5.0)
    assert found["peers over 20 ms"]["geometric mean"] == pytest.approx(9.0)
    assert found["peers over 20 ms, our engine theirs"]["least"] == pytest.approx(0.9)


def test_the_worst_come_first():
    text = journey.report({"seed": 4, "machine": "m", "packages": "p", "drawn anew": 2, "rows": ROWS})
    worst = text.split("The worst twenty cells:\n")[1].splitlines()
    assert len(worst) == 10
    assert "MemoryError" in worst[0]
    assert worst[1].startswith("   2.0 times what is allowed  SVC")
    assert "seed 4: 10 cells, 1 failed, 2 drawn anew" in text


def test_the_picture_has_a_place_for_each_size(tmp_path):
    names, values, count = map_picture.table(ROWS)
    assert names == ["Ridge", "SVC"]
    assert count.tolist() == [[8, 0, 0, 1, 0, 0], [1, 0, 0, 0, 0, 0]]
    assert values[0, 3] == pytest.approx(3.0)  # 8 times
    assert values[1, 0] == pytest.approx(-1.0)
    pytest.importorskip("matplotlib", reason="the picture needs matplotlib")
    map_picture.draw(ROWS, tmp_path / "map.png", "a title")
    assert (tmp_path / "map.png").stat().st_size > 1000


# ---------------------------------------------------------------------------------------------- measuring


@pytest.mark.parametrize(("longest", "seconds", "turns"), [(0.1, 2.0, 5), (2.0, 2.0, 3), (9.0, 2.0, 1), (9.0, 1.2, 3)])
def test_slow_fits_of_which_one_is_plainly_faster_are_not_repeated(monkeypatch, longest, seconds, turns):
    now = [0.0]
    monkeypatch.setitem(map_clock.CLOCKS, "wall", lambda: now[0])
    made = []

    def fit(name, takes):
        made.append(name)
        now[0] += takes

    found = map_clock.in_turns({"ours": lambda: fit("o", 1.0), "peer": lambda: fit("p", seconds)}, 5, "wall", longest)
    assert found == {"ours_s": pytest.approx(1.0), "peer_s": pytest.approx(seconds)}
    assert made == ["o", "p"] * turns


def test_tiny_cells_are_measured_in_a_process_of_its_own():
    worker = map_run.Worker(1)
    try:
        found = worker.run(tiny(weighted=True), 1)
        assert found["n"] == 60
        assert found["status"] == "converged"
        assert min(found["ours_s"], found["peer_s"]) > 0.0
        assert found["peers"] is None
        assert worker.run(tiny("QDA", C=None, n=50, d=300), 1) is None  # scikit-learn refuses: fewer rows than columns
    finally:
        worker.close()


def test_workers_share_no_core(monkeypatch):
    monkeypatch.setattr(map_run.os, "sched_getaffinity", lambda _: {5, 1, 3, 2, 0, 7, 6}, raising=False)
    monkeypatch.setattr(map_run.os, "sched_setaffinity", lambda *_: None, raising=False)
    assert map_run.cores_of_workers(1, 2) == [None]
    assert map_run.cores_of_workers(3, 2) == [[0, 1], [2, 3], [5, 6]]
    with pytest.raises(SystemExit, match="need 8 cores; there are 7"):
        map_run.cores_of_workers(4, 2)


def test_a_cell_is_the_same_for_any_number_of_cells_and_workers(monkeypatch):
    class Recorder:
        def __init__(self, *_):
            pass

        def run(self, cell, repeats, clock, peers):
            return None if cell.seed % 3 == 0 else row(0.1, 0.1) | {"number": cell.number, "seed": cell.seed}

        def close(self):
            pass

    monkeypatch.setattr(map_run, "Worker", Recorder)
    monkeypatch.setattr(map_run, "cores_of_workers", lambda workers, threads: [None] * workers)
    found = [
        [(each["number"], each["seed"]) for each in journey.travel(journey._options(["--seed", "5", *more]))["rows"]]
        for more in (["--cells", "40"], ["--cells", "40", "--workers", "3"], ["--cells", "25"])
    ]
    assert found[0] == found[1]
    assert found[0][:25] == found[2]
    assert len(found[0]) == 40


def test_the_journey_keeps_what_it_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(map_cells, "ROWS", (50, 60))
    monkeypatch.setattr(map_cells, "COLUMNS", (2, 4))
    path = tmp_path / "map.json"
    assert (
        journey.main(
            ["--seed", "11", "--cells", "2", "--only", "Ridge", "--repeats", "1", "--threads", "1", "--json", str(path)]
        )
        == 0
    )
    kept = json.loads(path.read_text())
    assert (kept["seed"], len(kept["rows"])) == (11, 2)
    said = capsys.readouterr().out
    assert "seed 11: 2 cells" in said
    assert journey.main(["--read", str(path)]) == 0
    assert capsys.readouterr().out.strip() in said
    assert journey.main(["--read", str(path), str(path)]) == 0
    assert "seed 11, 11: 4 cells" in capsys.readouterr().out
    # What was measured is kept, the rest is measured with the same seed.
    more = ["--only", "Ridge", "--repeats", "1", "--threads", "1", "--json", str(path), "--resume"]
    assert journey.main(["--cells", "3", "--no-peers", "--clock", "processor", *more]) == 0
    longer = json.loads(path.read_text())
    assert (longer["seed"], longer["rows"][:2], len(longer["rows"])) == (11, kept["rows"], 3)
    assert "peers" not in longer["rows"][2]
    with pytest.raises(SystemExit, match="is of seed 11"):
        journey.main(["--seed", "12", *more])
    assert journey.main(["--seed", "11", "--budget", "0"]) == 0  # no time, no cell
    assert "0 cells" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="no estimator of the map: Ridgge"):
        journey.main(["--only", "Ridgge"])

"""S22. Local against global search: grid, bisection, and what a grid costs."""

import importlib.util

import numpy as np

from gapless import SVC, theory, tune

random = np.random.default_rng(0)
X = random.normal(size=(60, 2))
y = np.where((X**2).sum(axis=1) > 1.2, 1, -1)

# The grid: all candidates, cross-validated; the best score of its own table.
grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}
model = tune(SVC(), X, y, grid, cv=3)
found = model.tuning_
assert found.n_candidates == 6
assert len(found.table) == 6
assert np.isclose(found.best_score, max(row["score"] for row in found.table))
assert (model.C, model.gamma) == (found.best_params["C"], found.best_params["gamma"])
for row in found.table:
    assert np.isclose(row["score"], np.mean(row["folds"]))

# Bisection visits fewer of the same lattice; both are paid for as if all had been tried.
bisected = tune(SVC(gamma=1.0), X, y, space={"C": (1e-3, 1e3)}, method="bisection", cv=3).tuning_
assert bisected.n_candidates == 17
assert bisected.n_visited < 17
if importlib.util.find_spec("bayes_opt"):  # a Gaussian process, with the extra "tune"
    bayes = tune(SVC(gamma=1.0), X, y, space={"C": (1e-3, 1e3)}, method="bayes", cv=3, n_iter=8).tuning_
    assert bayes.n_visited <= 8

# 17 values along each axis: 17^d evaluations, refused where that is too many.
assert theory.global_minimum.grid_cost(3) == "17^3 = 4,913 evaluations"
wells = theory.global_minimum.two_wells(tilt=0.2)
best = theory.global_minimum.grid_search(wells.value, [(-2.0, 2.0)])
assert best.evaluations == 17
assert np.isclose(best.theta[0], -1.0)  # the lower well, which descent from 2 misses

"""What a tree claims is true on real and random data, in fractions too; and what is forged is found."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from gapless import DecisionTreeClassifier, DecisionTreeRegressor, judge, verify
from tests.tree.test_same_bits import problem

WAYS = [
    {},
    {"max_depth": 4, "min_samples_leaf": 5},
    {"min_weight_fraction_leaf": 0.03},
    {"max_leaf_nodes": 12},
    {"splitter": "random", "random_state": 0},
    {"max_features": 0.5, "random_state": 0},
    {"max_bins": 20},
    {"ccp_alpha": 0.01},
    {"categorical_features": [3], "min_samples_split": 0.05},
]


@pytest.mark.parametrize("options", WAYS, ids=lambda o: "-".join(o) or "whole")
@pytest.mark.parametrize("kind", ["two", "classes", "labels", "values", "targets"])
def test_true(kind, options):
    X, y = problem(kind, 1, 150)
    X[random_mask(X)] = np.nan
    weight = np.random.default_rng(2).integers(0, 3, 150) / 2
    kinds = (DecisionTreeRegressor,) if kind in ("values", "targets") else (DecisionTreeClassifier,)
    for make in kinds:
        models = [make(**options)]
        if make is DecisionTreeClassifier:
            models.append(make(criterion="entropy", class_weight="balanced", **options))
        for model in models:
            model.fit(X, y, sample_weight=weight)
            found = verify(model, X, y, sample_weight=weight)
            assert found, str(found)


def random_mask(X):
    return np.random.default_rng(3).random(X.shape) < 0.05


@pytest.mark.parametrize("seed", range(6))
def test_every_split_is_the_best_in_fractions(seed):
    kind = ["two", "classes", "values"][seed % 3]
    X, y = problem(kind, seed, 60)
    X = np.round(X, 1)
    model = (DecisionTreeRegressor if kind == "values" else DecisionTreeClassifier)().fit(X, y)
    found = verify(model, X, y, rigorous="exact")
    assert found, str(found)
    assert found.tier == "exact"
    assert any("fractions" in claim.name for claim in found.claims)


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer, load_diabetes])
def test_real_data(load):
    X, y = load(return_X_y=True)
    model = (DecisionTreeRegressor if load is load_diabetes else DecisionTreeClassifier)().fit(X, y)
    assert verify(model, X, y)


def forged(model, change):
    document, arrays = model.certificate_.document(), {k: v.copy() for k, v in model.certificate_.arrays.items()}
    document = copy.deepcopy(document)
    change(document, arrays)
    return document, arrays


def _worse(document, arrays):
    arrays["threshold"][0] += 0.5


def _other(document, arrays):
    arrays["feature"][0] = (arrays["feature"][0] + 1) % 6


def _cycle(document, arrays):
    arrays["right"][0] = 0


def _stump(document, arrays):  # a leaf where more could be done
    inner = np.flatnonzero(arrays["left"] >= 0)[-1]
    keep = np.ones(arrays["left"].size, dtype=bool)
    keep[[arrays["left"][inner], arrays["right"][inner]]] = False
    number = np.cumsum(keep) - 1
    for side in ("left", "right"):
        arrays[side] = np.where(arrays[side] < 0, -1, number[np.maximum(arrays[side], 0)]).astype(np.int32)
        arrays[side][inner] = -1
    for name in arrays:
        if name != "levels":
            arrays[name] = arrays[name][keep]
    block = document["certificate"]
    block["nodes"], block["leaves"] = int(keep.sum()), int((arrays["left"] < 0).sum())


CHANGES = {
    "threshold": _worse,
    "feature": _other,
    "cycle": _cycle,
    "leaf without a reason": _stump,
    "value": lambda d, a: a["value"].__setitem__((3, 0), a["value"][3, 0] + 1e-6),
    "impurity": lambda d, a: a["impurity"].__setitem__(0, a["impurity"][0] * 1.001),
    "weight": lambda d, a: a["weighted_n"].__setitem__(2, 7.5),
    "rows": lambda d, a: a["n_samples"].__setitem__(1, 3),
    "error": lambda d, a: d["certificate"].__setitem__("error", 0.001),
    "leaves": lambda d, a: d["certificate"].__setitem__("leaves", 5),
    "depth": lambda d, a: d["certificate"].__setitem__("depth", 5),
    "not all tried": lambda d, a: d["problem"].__setitem__("exact", False),
    "claims less": lambda d, a: d["certificate"].__setitem__("best", False),
    "min_leaf": lambda d, a: d["problem"].__setitem__("min_leaf", 2),
    "max_depth": lambda d, a: d["parameters"].__setitem__("max_depth", 2),
    "criterion": lambda d, a: d["parameters"].__setitem__("criterion", "entropy"),
    "class weight": lambda d, a: d["parameters"].__setitem__("class_weight", "balanced"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_forgeries(name):
    X, y = problem("classes", 4, 120)
    model = DecisionTreeClassifier().fit(X, y)
    document, arrays = forged(model, CHANGES[name])
    assert not judge.check(document, arrays, X, y)
    assert judge.check(*forged(model, lambda d, a: None), X, y)


@pytest.mark.parametrize("seed", range(12))
def test_weights_of_all_sizes_and_many_zeros(seed):
    """Weights from 1e-8 to 1 and columns that are mostly one value: no claim is broken by rounding."""
    random = np.random.default_rng(seed)
    X = np.where(
        random.random((150, 5)) < random.choice([0.2, 0.6, 0.9]), 1.5, np.round(random.normal(size=(150, 5)), 3)
    )
    X[:, 0] = random.random(150) < 0.3
    X[random.random(X.shape) < random.choice([0.0, 0.1])] = np.nan
    weight = np.exp(random.uniform(-18, 0, 150))
    if seed % 3 == 0:
        model, y = DecisionTreeRegressor(), random.normal(size=150) * 1e6
    else:
        model = DecisionTreeClassifier(criterion=["gini", "entropy"][seed % 2])
        y = random.integers(0, 2 if seed % 3 == 1 else 5, 150)
    found = verify(model.fit(X, y, sample_weight=weight), X, y, sample_weight=weight)
    assert found, str(found)

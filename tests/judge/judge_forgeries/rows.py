"""Changes of the data: labels, weights and values of rows, with the fingerprint left as it is or made right again."""

from __future__ import annotations

import numpy as np

from .tools import costliest_row, dense, put_dense, refingerprint


def label_flipped(case, rng):
    i = rng.integers(len(case.y))
    values = case.document["classes"]["values"]
    case.y[i] = values[(values.index(case.y.tolist()[i]) + 1) % len(values)]


def label_flipped_and_sealed(case, rng):
    i = costliest_row(case, rng)
    values = case.document["classes"]["values"]
    case.y[i] = values[(values.index(case.y.tolist()[i]) + 1) % len(values)]
    refingerprint(case)


def labels_shuffled_and_sealed(case, rng):
    before = case.y.tolist()
    case.y = case.y[rng.permutation(len(case.y))]
    if case.y.tolist() == before:
        return False
    refingerprint(case)


def label_unknown(case, rng):
    case.y = case.y.astype(object)
    case.y[rng.integers(len(case.y))] = "nobody"


def weight_changed(case, rng):
    weights = np.ones(len(case.y)) if case.sample_weight is None else case.sample_weight
    weights[rng.integers(len(weights))] += 0.5
    case.sample_weight = weights


def weight_changed_and_sealed(case, rng):
    i = costliest_row(case, rng)
    weights = np.ones(len(case.y)) if case.sample_weight is None else case.sample_weight
    weights[i] *= float(rng.choice([0.5, 0.9, 0.99]))
    case.sample_weight = weights
    refingerprint(case)


def weights_dropped(case, rng):
    if case.sample_weight is None:
        return False
    case.sample_weight = None


def weights_dropped_and_sealed(case, rng):
    if case.sample_weight is None:
        return False
    case.sample_weight = None
    refingerprint(case)


def value_changed(case, rng):
    X = dense(case).copy()
    i, j = rng.integers(len(X)), rng.integers(X.shape[1])
    X[i, j] = np.nextafter(X[i, j], X.dtype.type(np.inf))  # one unit in the last place
    put_dense(case, X)


def value_changed_and_sealed(case, rng):
    i = costliest_row(case, rng)
    X = dense(case).copy()
    X[i] += 0.3 + rng.random(X.shape[1])
    put_dense(case, X)
    refingerprint(case)


def rows_swapped(case, rng):
    X = dense(case).copy()
    X[[0, 1]] = X[[1, 0]]
    put_dense(case, X)


def columns_swapped(case, rng):
    X = dense(case).copy()
    if X.shape[1] < 2:
        return False
    X[:, [0, 1]] = X[:, [1, 0]]
    put_dense(case, X)


def row_dropped(case, rng):
    case.X, case.y = case.X[1:], case.y[1:]
    if case.sample_weight is not None:
        case.sample_weight = case.sample_weight[1:]


def value_not_finite(case, rng):
    X = dense(case).copy()
    X[0, 0] = rng.choice([np.nan, np.inf])
    put_dense(case, X)

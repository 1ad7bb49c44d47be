"""Default arguments, everywhere: no warning, relative_gap <= tol, and the judge agrees.

Six real sets of at most 3,000 rows in full, six larger ones in a cover of all pairs of choices.  `make test-matrix`.
"""

from __future__ import annotations

import itertools
import warnings
from functools import lru_cache

import numpy as np
import pytest
from scipy import sparse

import gapless
from tests.shared_data import load, needs_data

pytestmark = [pytest.mark.matrix, needs_data]

SMALL = ("australian", "german.numer", "diabetes_pima", "splice", "titanic", "pcmac")
LARGE = ("a9a", "w8a", "ijcnn1", "phishing", "spambase", "reuters_moneyfx")
MODELS = ("hinge", "squared_hinge", "logistic")
FORMS = ("dense", "csr")
DTYPES = ("float32", "float64")
WEIGHTS = ("weights", "none")
OFFSETS = ("free", "penalised", "no offset")
CS = (1e-4, 1e-2, 1.0, 1e2, 1e4)
FACTORS = (LARGE, MODELS, FORMS, DTYPES, WEIGHTS, OFFSETS, CS)


@lru_cache(maxsize=4)
def data(name: str, form: str, dtype: str):
    X, y = load(name)
    if form == "csr":
        return sparse.csr_matrix(X, dtype=dtype), y
    return np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X, dtype=dtype), y


def pairwise(factors):
    """A small list of combinations in which every pair of values of two factors occurs (greedy, deterministic)."""
    wanted = {
        (i, a, j, b) for i, j in itertools.combinations(range(len(factors)), 2) for a in factors[i] for b in factors[j]
    }
    random = np.random.default_rng(0)
    rows = []
    while wanted:
        best, most = None, -1
        for _ in range(200):
            row = tuple(values[random.integers(len(values))] for values in factors)
            covered = sum((i, row[i], j, row[j]) in wanted for i, j in itertools.combinations(range(len(row)), 2))
            if covered > most:
                best, most = row, covered
        if most > 0:
            rows.append(best)
            wanted -= {(i, best[i], j, best[j]) for i, j in itertools.combinations(range(len(best)), 2)}
    return rows


def model(kind: str, offset: str, C: float):
    given = {"C": C, "fit_intercept": offset != "no offset", "penalize_intercept": offset == "penalised"}
    return gapless.LogisticRegression(**given) if kind == "logistic" else gapless.LinearSVC(loss=kind, **given)


def check(name, kind, form, dtype, weighted, offset, C):
    X, y = data(name, form, dtype)
    weights = None
    if weighted == "weights":
        weights = np.random.default_rng(1).integers(0, 4, y.size) * 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = model(kind, offset, C).fit(X, y, sample_weight=weights)
    certificate = fitted.certificate_
    assert certificate.status == "converged"
    assert certificate.relative_gap <= fitted.tol
    verdict = gapless.verify(fitted, X, y, sample_weight=weights)
    assert verdict, str(verdict)


@pytest.mark.parametrize("C", CS)
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("weighted", WEIGHTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", SMALL)
def test_small(name, kind, form, dtype, weighted, offset, C):
    check(name, kind, form, dtype, weighted, offset, C)


@pytest.mark.parametrize(("name", "kind", "form", "dtype", "weighted", "offset", "C"), pairwise(FACTORS))
def test_large(name, kind, form, dtype, weighted, offset, C):
    check(name, kind, form, dtype, weighted, offset, C)

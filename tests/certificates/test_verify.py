"""verify: models, certificates, pipelines and what is neither; on two points whose solution is known by
hand.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from gapless.certificates.fingerprint import fingerprint
from gapless.certificates.linear import Certificate, assemble
from gapless.certificates.model_document import problem_block, statement
from gapless.certificates.subproblem import certify
from gapless.certificates.verify import verify
from gapless.errors import CertificateError
from gapless.losses import Hinge
from gapless.problems.linear import LinearProblem
from gapless.solvers.solution import Solution

# x = ±1, y = ±1, C = 1/4: alpha = C, w = 1/2, P = D = 3/8
X = np.array([[1.0, 0.0], [-1.0, 0.0]])
Y = np.array(["yes", "no"])


def hand_made(w=0.5, alpha=0.25, tol=1e-4):
    y, u = np.array([1.0, -1.0]), np.array([alpha, -alpha])
    problem = LinearProblem.build(X, y, np.full(2, 0.25), Hinge(), "free")
    part = certify(problem, Solution(np.array([w, 0.0, 0.0]), u, "converged", 1, 0.0, "by hand"), tol=tol)
    said = statement(
        "LinearSVC", {"C": 0.25, "loss": "hinge", "tol": tol, "fit_intercept": True, "class_weight": None},
        np.array(["no", "yes"]), 2, problem_block("hinge", "free", 0.25, np.ones(2)),
    )  # fmt: skip
    arrays = {"coef": np.array([[w, 0.0]]), "intercept": np.zeros(1), "dual": u[None, :]}
    return assemble([part], said, arrays, fingerprint(X, np.array([1, 0])), tol, 0.0)


def model(certificate):
    return SimpleNamespace(
        certificate_=certificate,
        coef_=certificate.arrays["coef"].copy(),
        intercept_=certificate.arrays["intercept"].copy(),
        n_features_in_=2,
    )


@pytest.mark.parametrize("rigorous", [False, True, "exact"])
def test_the_optimum_is_confirmed(rigorous):
    certificate = hand_made()
    assert (certificate.primal, certificate.dual, certificate.status) == (0.375, 0.375, "converged")
    assert verify(certificate, X, Y, rigorous=rigorous)
    assert verify(model(certificate), X, Y, rigorous=rigorous)
    again = Certificate.from_json(certificate.to_json(), certificate.arrays)
    assert verify(again, X, Y)


@pytest.mark.parametrize(
    "form",
    [np.asfortranarray, sparse.csr_array, sparse.csc_matrix, pd.DataFrame, pl.DataFrame, np.ndarray.tolist],
)
def test_any_form_of_the_same_data(form):
    for labels in (Y, Y.tolist(), pd.Series(Y), pl.Series(Y), Y.astype(object)):
        assert verify(hand_made(), form(X), labels)
    assert verify(hand_made(), form(X), Y, sample_weight=[1, 1])


def test_a_worse_model_says_so_and_is_confirmed_in_that():
    certificate = hand_made(w=0.0)
    assert certificate.status == "stalled"
    assert verify(certificate, X, Y)


def test_a_model_changed_after_the_fit_is_found_out():
    changed = model(hand_made())
    changed.coef_[0, 0] = 0.6
    assert not verify(changed, X, Y)
    moved = model(hand_made())
    moved.intercept_[0] = 0.5  # every offset in [-1/2, 1/2] is as good, and this one too
    assert verify(moved, X, Y)
    moved.intercept_[0] = 0.75
    assert not verify(moved, X, Y)
    assert verify(model(hand_made()), X, Y)


def test_a_claim_that_is_too_good_is_found_out():
    good, bad = hand_made(), hand_made(w=0.0)
    document = {**bad.document(), "certificate": good.document()["certificate"]}
    assert not verify(Certificate.from_document(document, bad.arrays), X, Y)


def test_other_data_labels_or_weights_cannot_be_judged():
    for data, labels, weight in (
        (X + 1, Y, None),
        (X, Y[::-1], None),
        (X, Y, [1.0, 2.0]),
        (X[:1], Y[:1], None),
    ):
        with pytest.raises(CertificateError):
            verify(hand_made(), data, labels, sample_weight=weight)


def test_pipelines():
    last = model(hand_made())
    last.fit = last.predict = lambda *_: None
    pipe = Pipeline([("halve", FunctionTransformer(lambda A: A / 2).fit(X)), ("svc", last)])
    assert verify(pipe, 2 * X, Y)


def test_what_cannot_be_verified():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        verify(LogisticRegression(), X, Y)
    with pytest.raises(TypeError, match="LogisticRegression has no certificate_"):
        verify(LogisticRegression().fit(X, Y), X, Y)


def test_a_path_is_read(tmp_path):
    with pytest.raises((ValueError, OSError), match="nothing"):
        verify(tmp_path / "nothing.gapless", X, Y)

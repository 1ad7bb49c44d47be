"""Verdicts on valid documents of every kind, what raises, and what the verdict shows."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from judge_cases import OFFSETS, make_case

from gapless.judge import CertificateError, Claim, Verdict, check, fingerprint

LOSSES = ("hinge", "squared_hinge", "logistic")
ALL = list(itertools.product(LOSSES, OFFSETS, (2, 3), (False, True), (None, "balanced", {0: 2.0})))


def judge(case, **changes):
    given = {"X": case.X, "y": case.y, "sample_weight": case.sample_weight, **changes}
    return check(case.document, case.arrays, **given)


@pytest.mark.parametrize("k", range(len(ALL)))
def test_valid_documents_are_true(k):
    loss, offset, n_classes, weighted, class_weight = ALL[k]
    case = make_case(
        k,
        loss,
        offset,
        n_classes,
        weighted,
        class_weight,
        dtype="float32" if k % 4 == 1 else "float64",
        sparse=k % 3 == 0,
        scale=2.5 if offset == "penalised" else 1.0,
        C=(1e-3, 1.0, 1e3)[k % 3],
        spoil=(0.0, 0.01)[k % 2],
    )
    for rigorous in (False, True, "exact"):
        verdict = judge(case, rigorous=rigorous)
        assert verdict, verdict
        assert len(verdict.bounds) == (len(case.document["certificate"]["subproblems"]) if rigorous else 0)
        for sub, (primal, dual, gap) in zip(case.document["certificate"]["subproblems"], verdict.bounds, strict=False):
            assert primal >= sub["primal"] - sub["rounding"]
            assert dual <= sub["dual"] + sub["rounding"]
            assert gap >= primal - dual - 1e-9 * abs(primal)


@pytest.mark.parametrize("kind", ["int", "float", "bool", "str"])
def test_labels_of_every_type(kind):
    case = make_case(5, kind=kind)
    assert judge(case)
    assert judge(case, y=case.y.tolist())
    assert judge(case, y=pd.Series(case.y))
    assert judge(case, y=case.y.reshape(-1, 1))
    if kind == "str":
        assert judge(case, y=case.y.astype(str))
        assert judge(case, y=pd.Series(case.y).astype("category"))
    else:
        assert judge(case, y=case.y.astype(np.float64))
        assert judge(case, y=pl.Series(case.y.tolist()))
        with pytest.raises(CertificateError, match="other labels"):
            judge(case, y=case.y.astype(str))


def test_large_integer_labels_are_not_rounded():
    case = make_case(5)
    case.document["classes"]["values"] = [2**53, 2**53 + 1]
    assert judge(case, y=case.y + 2**53)
    with pytest.raises(CertificateError, match="other labels"):
        judge(case, y=(case.y + 2**53).astype(float))


def test_data_of_every_layout():
    case = make_case(6, weighted=True)
    frame = pd.DataFrame(case.X, columns=["a", "b", "c"])
    for X in (
        np.asfortranarray(case.X),
        case.X.tolist(),
        frame,
        pl.DataFrame(case.X),
        sp.csr_matrix(case.X),
        sp.csc_array(case.X),
    ):
        assert judge(case, X=X)
    assert judge(case, sample_weight=pd.Series(case.sample_weight))
    assert judge(case, sample_weight=case.sample_weight.tolist())


def test_other_data_raises():
    case = make_case(7, weighted=True)
    with pytest.raises(CertificateError, match="other data: the rows"):
        judge(case, X=case.X + 1e-12)
    with pytest.raises(CertificateError, match="other data: X has 39 rows"):
        judge(case, X=case.X[1:], y=case.y[1:], sample_weight=case.sample_weight[1:])
    with pytest.raises(CertificateError, match="other data: X has 40 rows and 2 features"):
        judge(case, X=case.X[:, 1:])
    with pytest.raises(CertificateError, match="other labels: y is not"):
        judge(case, y=1 - case.y)
    with pytest.raises(CertificateError, match="other labels: row 0 is 7"):
        judge(case, y=np.full(40, 7))
    with pytest.raises(CertificateError, match="other labels: y has shape"):
        judge(case, y=case.y[1:])
    with pytest.raises(CertificateError, match="other labels"):
        judge(case, y=[[1, 2], [3]] * 20)
    with pytest.raises(CertificateError, match="other labels"):
        judge(case, y=np.array([{} for _ in range(40)]))
    with pytest.raises(CertificateError, match="other weights: no sample_weight"):
        judge(case, sample_weight=None)
    with pytest.raises(CertificateError, match="other weights: sample_weight is not"):
        judge(case, sample_weight=case.sample_weight * 2)
    with pytest.raises(CertificateError, match="other weights: sample_weight has shape"):
        judge(case, sample_weight=case.sample_weight[1:])
    with pytest.raises(CertificateError, match="negative or not finite"):
        judge(case, sample_weight=-case.sample_weight)
    with pytest.raises(CertificateError, match="not hold numbers"):
        judge(case, sample_weight=["a"] * 40)
    X = case.X.copy()
    X[4, 1] = np.nan
    with pytest.raises(CertificateError, match="row 4 of X has a value that is not finite"):
        judge(case, X=X)
    with pytest.raises(CertificateError, match="does not hold numbers"):
        judge(case, X=case.X.astype(str))


def test_unit_weights_are_no_weights():
    case = make_case(8)
    assert judge(case, sample_weight=np.ones(40))
    assert judge(case, sample_weight=1.0)


def test_documents_that_cannot_be_read():
    case = make_case(9)
    with pytest.raises(CertificateError, match="written by a newer gapless"):
        check({**case.document, "schema": 2}, case.arrays, case.X, case.y)
    certificate = {**case.document["certificate"], "kind": "gradient"}
    with pytest.raises(CertificateError, match="kind is 'gradient'"):
        check({**case.document, "certificate": certificate}, case.arrays, case.X, case.y)
    with pytest.raises(CertificateError, match="'Unknown'; with this certificate there are LinearSVC"):
        check({**case.document, "estimator": "Unknown"}, case.arrays, case.X, case.y)
    with pytest.raises(CertificateError, match="no array dual"):
        check(case.document, {k: v for k, v in case.arrays.items() if k != "dual"}, case.X, case.y)
    with pytest.raises(CertificateError, match="coef is float64"):
        check(case.document, {**case.arrays, "coef": case.arrays["coef"][:, 1:]}, case.X, case.y)
    with pytest.raises(CertificateError, match="no array"):
        check(case.document, None, case.X, case.y)
    with pytest.raises(ValueError, match="rigorous is 'very'"):
        check(case.document, case.arrays, case.X, case.y, rigorous="very")


def test_exact_refuses_what_rounding_does_not_cover():
    """In exact arithmetic the admitted rounding must cover the whole error of the figures."""
    case = make_case(10, "hinge", "none", spoil=0.01)
    sub = case.document["certificate"]["subproblems"][0]
    block = case.document["certificate"]
    sub["rounding"] = block["rounding"] = 0.0
    for place in (sub, block):
        place["dual"] -= 40 * np.spacing(place["dual"])
        place["gap"] = place["primal"] - place["dual"]
        place["relative_gap"] = place["gap"] / max(abs(place["primal"]), abs(place["dual"]))
    assert not judge(case, rigorous="exact")


def test_a_claim_that_fails_is_named():
    case = make_case(11, spoil=0.01)
    case.arrays["coef"] *= 1.1
    verdict = judge(case)
    assert not verdict
    assert {claim.name for claim in verdict.failed} == {"primal", "gap"}
    assert "FALSE: 2 of" in str(verdict)
    assert "NO  primal" in str(verdict)


def test_what_the_verdict_shows():
    case = make_case(12, n_classes=3)
    verdict = judge(case, rigorous=True)
    text = str(verdict)
    assert text.startswith("TRUE")
    assert "[2] primal" in text
    assert "proved [0]" in text
    for word in ("seconds", "backend", "n_iter", "which ending, if not converged", "max_iter"):
        assert any(word in entry for entry in verdict.unchecked)
    block = json.loads(verdict.to_json())
    assert block["verdict"] is True
    assert len(block["claims"]) == len(verdict.claims)
    assert len(block["bounds"]) == 3
    assert block["bounds"][1]["gap_up"] == verdict.bounds[1][2]
    broken = Verdict([Claim("x", float("nan"), None, False)], [], [(float("inf"), 0.0, 1.0)])
    assert json.loads(broken.to_json())["claims"][0]["claimed"] == "nan"
    assert not Verdict([], [])


def test_not_converged_is_a_valid_claim_and_which_ending_is_free():
    case = make_case(13, spoil=0.1)
    assert case.document["certificate"]["status"] == "max_iter"
    assert judge(case)
    for word in ("time_limit", "stalled", "interrupted"):
        case.document["certificate"]["status"] = case.document["certificate"]["subproblems"][0]["status"] = word
        assert judge(case)
    case.document["certificate"]["status"] = "stalled"  # not an ending of any subproblem
    assert not judge(case)


def test_no_rows_at_all():
    case = make_case(17)
    case.document["certificate"]["fingerprint"] = fingerprint(np.zeros((0, 3)), np.zeros(0, dtype=int))
    case.arrays["dual"] = np.zeros((1, 0))
    for rigorous in (False, True, "exact"):
        assert not judge(case, X=np.zeros((0, 3)), y=np.zeros(0, dtype=int), rigorous=rigorous)


def test_the_data_are_left_alone():
    case = make_case(14, weighted=True, sparse=True)
    before = case.copy()
    judge(case, rigorous="exact")
    assert case.document == before.document
    assert (case.X != before.X).nnz == 0
    assert all(np.array_equal(case.arrays[name], before.arrays[name]) for name in case.arrays)
    assert np.array_equal(case.sample_weight, before.sample_weight)


def test_numpy_is_all_it_loads():
    code = (
        "import sys, gapless.judge, gapless.judge.__main__\n"
        "print([m for m in ('scipy', 'sklearn', 'numba', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True])
def test_speed_on_a_hundred_thousand_rows(sparse):
    case = make_case(15, "logistic", "free", n=100_000, d=50, sparse=sparse)
    assert judge(case)
    start = time.perf_counter()
    judge(case)
    assert time.perf_counter() - start < 1.5  # 0.15 s on an idle core; others may be at work

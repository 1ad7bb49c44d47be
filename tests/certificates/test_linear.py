"""Certificates: totals, status, exact JSON, sentences that hold."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import pickle
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gapless
from gapless.certificates.linear import Certificate, assemble
from gapless.certificates.model_document import problem_block, statement
from gapless.certificates.subproblem import Subproblem, certify_values
from gapless.judge.fingerprint import digest
from gapless.numbers import relative_gap

FINGERPRINT = {"n_rows": 2, "n_features": 1, "rows": "0" * 32, "labels": "1" * 32, "weights": "2" * 32}


def sub(primal, dual, *, tol=1e-4, ending="converged", positive=1, **more):
    return certify_values(primal, dual, tol=tol, ending=ending, positive=positive, **more)


def said_of(classes, **changes):
    problem = problem_block("hinge", "free", 1.0, [1.0] * len(classes))
    given = {"estimator_name": "LinearSVC", "parameters": {"C": 1.0}, "classes": classes, "n_features": 1}
    return statement(**{**given, "problem": problem, **changes})


def certificate(*subs, classes=(-1, 1), tol=1e-4, seconds=0.02, **more):
    subs = subs or (sub(92.47337, 92.4705, solver="semismooth", n_iter=12),)
    arrays = {"coef": np.array([[1.5]]), "intercept": np.array([0.25]), "dual": np.array([[0.5, -0.5]])}
    return assemble(subs, said_of(np.array(classes)), arrays, FINGERPRINT, tol, seconds, **more)


# ------------------------------------------------------------------------------------------------ one
# subproblem
def test_two_points_with_known_solution():
    """x = ±1, y = ±1: w = 1, b = 0, alpha = 1/2 each, P = D = 1/2 for C >= 1/2; alpha = C below."""
    for C in (Fraction(1), Fraction(1, 2), Fraction(1, 4)):
        alpha = min(C, Fraction(1, 2))
        w = 2 * alpha
        primal = w * w / 2 + C * 2 * max(Fraction(0), 1 - w)
        dual = 2 * alpha - w * w / 2
        assert primal == dual
        s = sub(float(primal), float(dual), tol=0.0)
        assert (s.gap, s.relative_gap, s.status) == (0.0, 0.0, "converged")


def test_certify_recomputes_from_the_returned_point():
    from gapless.certificates.subproblem import certify
    from gapless.losses import Hinge
    from gapless.problems.linear import LinearProblem
    from gapless.solvers.solution import Solution

    X, y, c = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), np.array([0.25, 0.25])
    problem = LinearProblem.build(X, y, c, Hinge(), "free")
    # by hand: alpha = c, w = 1/2, P = 1/8 + 1/4 = 3/8 = D
    best = Solution(np.array([0.5, 0.0]), np.array([0.25, -0.25]), "max_iter", 3, 0.1, "by hand")
    s = certify(problem, best, tol=1e-12)
    assert (s.primal, s.dual, s.status) == (0.375, 0.375, "converged")
    assert 0.0 < s.rounding < 1e-11
    # a solver that claims convergence at a worse point is not believed: w = 0 has P = 1/2
    s = certify(problem, Solution(np.zeros(2), best.u, "converged", 3, 0.1, "by hand"), tol=1e-4, positive=1)
    assert (s.primal, s.gap, s.relative_gap, s.status) == (0.5, 0.125, 0.25, "stalled")
    # the model as returned counts, not the solver's own
    s = certify(problem, best, tol=1e-4, theta=np.array([0.0, 0.0]))
    assert s.primal == 0.5


def test_relative_gap_is_of_the_larger_value_and_keeps_its_sign():
    assert relative_gap(0.0, 0.0) == 0.0
    assert relative_gap(2.0, 1.0) == 0.5
    assert relative_gap(-1.0, -2.0) == 0.5
    assert relative_gap(1.0, 1.5) == pytest.approx(-1 / 3)


@pytest.mark.parametrize(
    ("primal", "dual", "ending", "status"),
    [
        (1.0, 0.9999, "max_iter", "converged"),  # the gap decides, and <= counts
        (1.0, 0.99, "max_iter", "max_iter"),
        (1.0, 0.99, "converged", "stalled"),
        (1.0, 0.99, "interrupted", "interrupted"),
        (1.0, 0.99, "not_finite", "not_finite"),  # on the way: what is returned is from before
        (math.inf, 0.99, "max_iter", "not_finite"),
        (1.0, math.nan, "converged", "not_finite"),
        (math.inf, -math.inf, "infeasible", "infeasible"),
    ],
)
def test_the_gap_decides_the_status(primal, dual, ending, status):
    assert sub(primal, dual, ending=ending, tol=1.0 - 0.9999).status == status


def test_statuses_are_a_closed_list():
    with pytest.raises(ValueError, match="unknown status 'fine'"):
        sub(1.0, 1.0, ending="fine")
    with pytest.raises(ValueError, match="unknown status"):
        Subproblem(1, "ok", 1.0, 1.0, 0.0, 0.0, 0.0, 1, 0.1, "x")


# --------------------------------------------------------------------------------------------------------
# totals
def test_totals_are_sums():
    c = certificate(
        sub(3.0, 2.5, positive=0, n_iter=4, rounding=1e-15, solver="newton", ending="max_iter"),
        sub(1.0, 1.0, positive=1, n_iter=9, rounding=2e-15, solver="semismooth"),
        sub(2.0, 1.9, positive=2, n_iter=2, rounding=4e-15, solver="newton", ending="time_limit"),
        classes=["a", "b", "cat"],
        seconds=2.0,
    )
    assert (c.primal, c.dual, c.rounding, c.n_iter, c.seconds) == (6.0, 5.4, 7e-15, 9, 2.0)
    assert c.gap == math.fsum([0.5, 0.0, 2.0 - 1.9])
    assert c.relative_gap == c.gap / 6.0
    assert c.status == "max_iter"  # of 'a', the worst by relative gap
    assert c.worst.positive == 0
    assert c.solver == "newton, semismooth"
    assert c.kind == "gap"


def test_one_that_did_not_converge_is_enough_even_if_the_sums_are_close():
    c = certificate(sub(1e6, 1e6), sub(1.0, 0.9, ending="stalled"), classes=[0, 1])
    assert c.relative_gap < c.tol
    assert c.status == "stalled"
    assert "relative duality gap 1.0e-01 > tol=1e-04" in c.shortfall()
    assert certificate(sub(1.0, 1.0), sub(2.0, 2.0)).shortfall() is None


def test_unknown_values_are_worse_than_any_gap():
    c = certificate(sub(1.0, 0.1, ending="max_iter"), sub(math.nan, 0.0), classes=[0, 1])
    assert c.status == "not_finite"
    assert math.isnan(c.primal)
    assert "nothing is known" in str(c)
    assert certificate(sub(math.inf, 0.0), sub(-math.inf, 0.0)).status == "not_finite"


def test_a_certificate_speaks_of_something():
    with pytest.raises(ValueError, match="at least one subproblem"):
        assemble([], {}, {}, FINGERPRINT, 1e-4, 0.0)


# ----------------------------------------------------------------------------------------------------------
# JSON
def test_document_has_the_agreed_keys():
    document = certificate().document()
    assert list(document) == [
        "format", "schema", "version", "estimator", "parameters", "classes", "n_features",
        "feature_names", "target",
        "dtype", "problem", "certificate",
    ]  # fmt: skip
    assert list(document["certificate"]) == [
        "kind", "tol", "status", "primal", "dual", "gap", "relative_gap", "rounding", "n_iter",
        "seconds", "compile_seconds", "backend",
        "solver", "fingerprint", "subproblems",
    ]  # fmt: skip
    assert list(document["certificate"]["subproblems"][0]) == [
        "positive", "status", "primal", "dual", "gap", "relative_gap", "rounding", "n_iter", "seconds",
        "solver",
    ]  # fmt: skip
    assert document["version"] == gapless.__version__


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(0, 1e3),
    st.floats(1e-16, 1),
)
def test_json_round_trip_is_exact(primal, dual, seconds, tol):
    c = certificate(sub(primal, dual, tol=tol, seconds=seconds, rounding=seconds / 3), tol=tol, seconds=seconds)
    again = Certificate.from_json(c.to_json(), c.arrays)
    assert again == c
    assert again.subproblems == c.subproblems
    assert hash(again) == hash(c)
    for name in ("primal", "dual", "gap", "relative_gap", "tol", "rounding", "seconds"):
        assert np.float64(getattr(again, name)).tobytes() == np.float64(getattr(c, name)).tobytes()


def test_values_that_are_not_finite_travel_too():
    c = certificate(sub(math.inf, -math.inf), sub(math.nan, 1.0), classes=[0, 1])
    text = c.to_json()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert Certificate.from_json(text, c.arrays) == c


def test_from_document_ignores_the_table_of_arrays():
    c = certificate()
    document = {**c.document(), "arrays": {"coef": {"dtype": "<f8", "shape": [1, 1]}}}
    assert Certificate.from_document(document, c.arrays) == c


def test_a_document_shares_nothing_with_its_certificate():
    c = certificate()
    c.document()["parameters"]["C"] = 100.0
    assert c.document()["parameters"]["C"] == 1.0


def test_equality_pickle_copy():
    c = certificate()
    assert pickle.loads(pickle.dumps(c)) == c
    assert copy.deepcopy(c) == c
    assert c != certificate(tol=1e-3)
    assert c != "c"
    other = copy.deepcopy(c)
    other.arrays["dual"][0, 0] = np.nextafter(0.5, 1)
    assert c != other
    with pytest.raises(AttributeError):
        c.gap = 0.0


# -----------------------------------------------------------------------------------------------------
# sentences
def test_sentence():
    assert str(certificate()) == (
        "LinearSVC: the objective is at most 0.0032 % above its optimum (primal 92.47337, dual "
        "92.4705, relative gap "
        "3.1e-05 <= tol 1e-04; converged in 12 passes, 0.020 s, semismooth)."
    )


def test_sentence_without_percentage():
    text = str(certificate(sub(0.5, -0.5, ending="max_iter", n_iter=1)))
    assert "at most 1.0 above its optimum" in text
    assert "> tol 1e-04; stopped at max_iter after 1 pass," in text


def test_percentage_is_of_the_dual_and_never_too_small():
    # gap / dual = 1/3 exactly; gap / primal would be 25 %
    shown = re.search(r"at most ([\d.]+) %", str(certificate(sub(4.0, 3.0, ending="stalled")))).group(1)
    assert float(shown) >= 100 / 3
    assert float(shown) < 34.1


def test_negative_gap_is_shown_as_such_and_claimed_with_its_rounding():
    c = certificate(sub(1.0, 1.0 + 4e-16, rounding=1e-15))
    assert c.gap < 0
    assert "relative gap -4.4e-16 <=" in str(c)
    assert "at most 1.1e-13 %" in str(c)


def test_sentence_of_several_classes():
    c = certificate(
        sub(1.0, 1.0, positive=0), sub(1.0, 0.9, positive=1, ending="max_iter"), sub(1.0, 1.0, positive=2),
        classes=["ant", "cat", "dog"],
    )  # fmt: skip
    assert "3 problems of one class against the rest, 2 converged; the worst is 'cat' with relative gap 1.0e-01" in str(
        c
    )
    text = c.shortfall(max_iter=1000)
    assert text.startswith("LinearSVC stopped at max_iter=1000 after")
    assert text.endswith("(1 of 3 classes; worst: 'cat' against the rest.)")


def test_html_is_escaped_and_never_raises():
    c = certificate(sub(1.0, 1.0, positive=0), sub(1.0, 1.0, positive=1), classes=["<b>", "x"])
    page = c._repr_html_()
    assert "<table>" in page
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    broken = Certificate(
        status="converged", primal="?", dual=None, gap=None, relative_gap=None, tol=None, rounding=None,
        n_iter=None, seconds=None, solver=None, fingerprint={}, subproblems=(),
    )  # fmt: skip
    assert broken._repr_html_().startswith("<pre>")
    many = certificate(*(sub(1.0, 1.0, positive=k) for k in range(60)), classes=range(60))
    assert "10 more" in many._repr_html_()


def test_repr_is_one_line():
    assert "\n" not in repr(certificate())
    assert "LinearSVC: converged" in repr(certificate())


def test_objective_from_the_certificate_alone():
    c = certificate()
    assert "s_i" in str(c.objective)  # the digest of the weights is not that of ones
    fingerprint = {**FINGERPRINT, "weights": digest(np.ones(2), "<f8")}
    plain = dataclasses.replace(c, fingerprint=fingerprint)
    assert str(plain.objective) == (
        "minimise 1/2|w|^2 + 1.0 * sum_i max(0, 1 - y_i(<w,x_i> + b)) over 2 rows, offset free"
    )

"""What warnings say: the figures, their direction of rounding, and advice that can be followed."""

from __future__ import annotations

import math
import pickle
import re
import warnings

import numpy as np
import pytest
import sklearn.exceptions
from hypothesis import given
from hypothesis import strategies as st

from gapless import errors
from gapless.errors import Shortfall, above_optimum, convergence_message, separation_message, short, tolerance


def message(status="max_iter", **changes):
    figures = {
        "seconds": 3.12,
        "relative_gap": 3.2e-3,
        "tol": 1e-4,
        "primal": 100.0,
        "dual": 99.68,
        "max_iter": 1000,
    }
    figures.update({name: changes.pop(name) for name in Shortfall._fields if name in changes})
    return convergence_message("LinearSVC", Shortfall(status, **figures), **changes)


def test_the_sentence_of_a_stop_at_max_iter():
    assert message() == (
        "LinearSVC stopped at max_iter=1000 after 3.1 s: relative duality gap 3.2e-03 > tol=1e-04. "
        "The objective is "
        "at most 0.33 % above the optimum. Raise max_iter (init=est resumes from this model), or "
        "accept tol=4e-03."
    )


@pytest.mark.parametrize("unlimited", [-1, None])
def test_our_own_cap_is_named_where_no_limit_was_given(unlimited):
    assert "stopped at its cap of 500 passes after" in message(max_iter=unlimited, n_iter=500)


def test_one_against_the_rest_names_the_worst():
    text = message(subproblems=10, unconverged=2, worst="'cat' against the rest")
    assert text.endswith(" (2 of 10 classes; worst: 'cat' against the rest.)")
    assert "of 1" not in message(worst="x against the rest")


def test_absolute_gap_where_the_optimum_is_not_known_to_be_positive():
    assert "at most 0.50 above the optimum" in message(primal=0.25, dual=-0.25, relative_gap=2.0)
    # a dual that is positive by less than its rounding proves nothing about the sign
    assert "%" not in above_optimum(1.0, 1e-12, rounding=1e-9)


@pytest.mark.parametrize(
    ("status", "start", "advice"),
    [
        ("max_iter", "stopped at max_iter=1000 after", "Raise max_iter"),
        ("time_limit", "stopped at time_limit=2.5 (pass 7) after", "Raise time_limit"),
        ("stalled", "stalled (pass 7) after", "Accept tol=4e-03, or scale the columns"),
        ("interrupted", "was interrupted (pass 7) after", "Fit again with init=est"),
        ("infeasible", "found no feasible model", "Use a finite C"),
        ("not_finite", "met numbers that are not finite", "Scale the columns"),
    ],
)
def test_every_ending_has_its_words_and_advice(status, start, advice):
    text = message(status, n_iter=7, time_limit=2.5)
    assert text.startswith(f"LinearSVC {start}")
    assert advice in text


def test_divergence_has_its_own_words():
    text = message("not_finite", n_iter=7, diverged="sgd")
    assert text.startswith("LinearSVC diverged with solver='sgd' (pass 7) after")
    assert "Scale the columns of X (StandardScaler, MaxAbsScaler) and use solver='auto'." in text


def test_only_a_fit_without_convergence_has_a_message():
    for status in ("converged", "done"):
        with pytest.raises(ValueError, match="status is"):
            message(status)
    assert set(errors.STATUSES) == {
        "converged", "max_iter", "time_limit", "stalled", "interrupted", "infeasible", "not_finite",
    }  # fmt: skip


def test_no_tolerance_is_offered_that_would_mean_nothing():
    assert "accept" not in message(relative_gap=0.4)
    text = message("not_finite", relative_gap=math.nan, primal=math.inf, dual=math.nan)
    assert "accept" not in text.lower()
    assert "nothing is known" in text


@given(st.floats(1e-14, 0.099))
def test_the_accepted_tolerance_is_met_by_the_model_at_hand(relative_gap):
    offered = float(re.search(r"accept tol=(\S+)\.$", message(relative_gap=relative_gap)).group(1))
    assert relative_gap <= offered <= max(11 * relative_gap, 1e-13)


@given(st.floats(1e-300, 1e300))
def test_at_most_is_never_rounded_down(value):
    assert float(short(value, up=True)) >= value
    assert float(short(value, up=True)) <= 1.2 * value


@given(st.floats(1e-6, 1e6), st.floats(0, 10))
def test_percentage_is_an_upper_bound(dual, excess):
    primal = dual * (1 + excess)
    shown = float(above_optimum(primal, dual).removesuffix(" %"))
    assert shown >= 100 * (primal - dual) / dual


def test_short_numbers():
    assert [short(v) for v in (0.0, 0.32, 3.2e-9, 123456.7, 1e-4, math.inf)] == [
        "0", "0.32", "3.2e-09", "123457", "1.0e-04", "inf",
    ]  # fmt: skip
    assert tolerance(1e-4) == "1e-04"
    assert tolerance(0.05) == "0.05"
    assert tolerance(1.25e-4) == "0.000125"


def test_separation():
    text = separation_message("complete", margin=0.41, columns=["x3", "x7"])
    assert text.startswith(
        "the classes are completely separated (margin 0.41, witness in est.certificate_.separation);"
    )
    assert "Columns involved: 'x3', 'x7'." in text
    quasi = separation_message("quasi", rows_on_plane=18, n_rows=200)
    assert "quasi-separated: 18 of 200 rows lie on the separating hyperplane" in quasi
    with pytest.raises(ValueError, match="separation"):
        separation_message("overlap")


def test_other_messages_name_the_way_out():
    assert "device='cpu'" in errors.backend_mismatch_message("triton", 8e-5, 2.1e-2, 1e-4)
    assert "2.1e-02 (tol 1e-04)" in errors.backend_mismatch_message("triton", 8e-5, 2.1e-2, 1e-4)
    assert errors.backend_message("auto", "cpu", "no CUDA device").endswith("Run 'gapless doctor'.")
    assert "CalibratedClassifierCV" in errors.no_probabilities_message("LinearSVC")


def test_families():
    assert issubclass(errors.ConvergenceWarning, sklearn.exceptions.ConvergenceWarning)
    for error in (errors.NotSeparable, errors.CertificateError, errors.ModelFileError, errors.DataError):
        assert issubclass(error, ValueError)
    for warning in (errors.SeparationWarning, errors.IllConditionedWarning, errors.BackendWarning):
        assert issubclass(warning, UserWarning)


def test_errors_survive_another_process():
    witness = np.array([0.5, 0.5])
    error = pickle.loads(pickle.dumps(errors.NotSeparable("no hyperplane separates", witness)))
    assert str(error) == "no hyperplane separates"
    assert error.witness.tolist() == [0.5, 0.5]
    data = pickle.loads(pickle.dumps(errors.DataError("bad number", file="a.csv", line=3, column="x")))
    assert (str(data), data.line) == ("bad number", 3)


def test_filters_of_scikit_learn_hold_for_ours():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sklearn.exceptions.ConvergenceWarning)
        warnings.warn("quiet", errors.ConvergenceWarning, stacklevel=1)

"""Changes of what is claimed: figures, endings and the fingerprint."""

from __future__ import annotations

import numpy as np

from .tools import FIGURES, amount_beyond_rounding, restate, settle, some, subproblems


def dual_raised(case, rng):
    sub = some(case, rng)
    amount = amount_beyond_rounding(sub, rng)
    sub["dual"] += amount
    sub["gap"] = sub["primal"] - sub["dual"]
    restate(sub)
    settle(case)


def primal_lowered(case, rng):
    sub = some(case, rng)
    amount = amount_beyond_rounding(sub, rng)
    sub["primal"] -= amount
    sub["gap"] = sub["primal"] - sub["dual"]
    restate(sub)
    settle(case)


def both_moved(case, rng):
    sub = some(case, rng)
    amount = amount_beyond_rounding(sub, rng)
    sub["primal"] += amount
    sub["dual"] += amount
    restate(sub)
    settle(case)


def gap_lowered(case, rng):
    sub = some(case, rng)
    sub["gap"] -= amount_beyond_rounding(sub, rng)
    restate(sub)
    settle(case)


def gap_raised(case, rng):
    sub = some(case, rng)
    sub["gap"] += amount_beyond_rounding(sub, rng)
    restate(sub)
    settle(case)


def relative_gap_alone(case, rng):
    sub = some(case, rng)
    sub["relative_gap"] += 1e-6
    sub["status"] = "converged" if sub["relative_gap"] <= case.document["certificate"]["tol"] else "max_iter"


def rounding_huge(case, rng):
    sub = some(case, rng)
    sub["rounding"] = float(10.0 ** rng.uniform(-3, 3)) * (abs(sub["primal"]) + 1e-3)
    settle(case)


def rounding_hides_a_gap(case, rng):
    sub = some(case, rng)
    amount = amount_beyond_rounding(sub, rng)
    sub["dual"] += amount
    sub["gap"] = sub["primal"] - sub["dual"]
    sub["rounding"] += 2 * amount
    restate(sub)
    settle(case)


def rounding_negative(case, rng):
    sub = some(case, rng)
    sub["rounding"] = -1e-9
    settle(case)


def figure_not_finite(case, rng):
    some(case, rng)[str(rng.choice(FIGURES))] = str(rng.choice(["nan", "inf", "-inf"]))


def total_figure_not_finite(case, rng):
    case.document["certificate"][str(rng.choice(FIGURES))] = str(rng.choice(["nan", "inf", "-inf"]))


def figure_a_raw_nan(case, rng):
    some(case, rng)[str(rng.choice(FIGURES))] = float(rng.choice([np.nan, np.inf]))


def total_moved(case, rng):
    block = case.document["certificate"]
    name = str(rng.choice(["primal", "dual", "gap"]))
    block[name] += amount_beyond_rounding(block, rng)


def total_rounding_moved(case, rng):
    case.document["certificate"]["rounding"] *= 1.0 + 1e-6


def ending_flipped(case, rng):
    sub = some(case, rng)
    sub["status"] = "max_iter" if sub["status"] == "converged" else "converged"
    statuses = [each["status"] for each in subproblems(case)]
    bad = [status for status in statuses if status != "converged"]
    case.document["certificate"]["status"] = bad[0] if bad else "converged"


def total_ending_flipped(case, rng):
    block = case.document["certificate"]
    block["status"] = "stalled" if block["status"] == "converged" else "converged"


def ending_unknown(case, rng):
    some(case, rng)["status"] = "optimal"


def tol_tightened(case, rng):
    relative = min(sub["relative_gap"] for sub in subproblems(case))
    if case.document["certificate"]["status"] != "converged" or relative <= 0:
        return False
    case.document["certificate"]["tol"] = case.document["parameters"]["tol"] = relative / 2


def tol_of_one_place(case, rng):
    place = case.document["parameters"] if rng.random() < 0.5 else case.document["certificate"]
    place["tol"] *= 1.5


def tol_not_a_number(case, rng):
    case.document["certificate"]["tol"] = case.document["parameters"]["tol"] = str(rng.choice(["nan", "inf"]))


def digest_edited(case, rng):
    block = case.document["certificate"]["fingerprint"]
    name = str(rng.choice(["rows", "labels", "weights"]))
    k = int(rng.integers(32))
    block[name] = block[name][:k] + ("0" if block[name][k] != "0" else "1") + block[name][k + 1 :]


def digest_in_capitals(case, rng):
    block = case.document["certificate"]["fingerprint"]
    block["rows"] = block["rows"].upper() + "0"


def rows_counted_wrong(case, rng):
    case.document["certificate"]["fingerprint"]["n_rows"] += int(rng.choice([-1, 1, 10**9]))


def features_counted_wrong(case, rng):
    case.document["certificate"]["fingerprint"]["n_features"] += 1


def features_counted_wrong_twice(case, rng):
    case.document["certificate"]["fingerprint"]["n_features"] += 1
    case.document["n_features"] += 1

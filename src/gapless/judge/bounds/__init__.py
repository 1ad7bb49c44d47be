"""The bounds on new rows that stand in a document: every one is made anew.

    delta        the shares of all of them together are at most delta, exactly
    held-out     errors on the test rows, if these are given (`answers`), that they are no training rows, and the binomial
    compression  that nothing of the problem was computed from the rows, how many of them are kept, Campi and Garatti's bound
    PAC-Bayes    the margins of the hyperplane on the rows, and the kl inequality
    VC           the errors on the rows, and Cover's count of the dichotomies
    votes        errors of members, and of pairs of them, on the rows out of bags that are drawn again from their seeds; and
                 that each member is what its own bag makes of it
    leave-one-out: the counts (`leave_one_out`); what they say holds in expectation only

A value has to be proved, in integers or by outward rounding, and may not be more than a millionth above what its figures give.
What nobody can see in a file, that rows are independent and settings were fixed beforehand, is listed as not checked.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ..arithmetic.compare import at_most
from ..errors import CertificateError
from ..form.entries import number
from ..verdict import Verdict
from .case import BoundsCase
from .claims import compression, held_out, pac_bayes, vc, votes
from .leave_one_out import leave_one_out

__all__ = ["judge_bounds"]


def judge_bounds(
    verdict: Verdict,
    document: dict[str, Any],
    arrays: dict[str, np.ndarray],
    data: tuple[Any, Any, Any],
    check: Callable[..., Any],
    test: tuple[Any, Any] | None = None,
    by_rows: bool = False,
) -> Verdict:
    """The verdict with the claims of the entry ``bounds``; ``data`` is (X, y, sample_weight) of the fit, ``test`` (X, y).

    ``by_rows``: the training rows had a part in how the features were made, which leaves nothing but test rows to count on.
    ``check`` judges the documents of members.
    """
    classes, mark, block = document["classes"], document["certificate"]["fingerprint"], document["bounds"]
    if classes is None or len(classes["values"]) < 2 or not mark["n_rows"]:
        raise CertificateError("the certificate cannot be read: there are bounds, and no classes to be wrong about")
    case = BoundsCase(document, arrays, data, test, check)
    _share_claims(case)
    likely = {"held-out": held_out, "compression": compression, "PAC-Bayes": pac_bayes, "VC": vc, "votes": votes}
    for row in block["rows"]:
        if by_rows and row["method"] != "held-out":
            case.claim(f"{row['method']}, columns", "units of their own", "scaled, filled or coded by the rows", False)
        if row["delta"] is None:
            if row["method"] == "leave-one-out":
                leave_one_out(case, row)
            case.unchecked.append(f"bounds: {row['method']} on these rows: it holds in expectation only")
        elif row["method"] == "leave-one-out":
            # Its count cannot hold with high probability: a delta beside it is a false claim.
            case.claim("leave-one-out", "with probability", None, False)
        else:
            likely[row["method"]](case, row)
    unchecked = [*verdict.unchecked, *case.unchecked, *_assumptions(block, test is None)]
    return Verdict([*verdict.claims, *case.claims], unchecked, verdict.bounds, verdict.tier)


def _assumptions(block: dict[str, Any], without_test: bool) -> list[str]:
    """What nobody can see in a file, whatever its own words are."""
    methods = [row["method"] for row in block["rows"]]
    assumed = {
        "held-out": "the test rows chose nothing, or among the models tested",
        "compression": "C, kernel, weights and scaling were fixed without the training rows, or are among the settings tried",
        "PAC-Bayes": "the columns of X have units that were fixed without the training rows",
        "votes": "a bagging's setting is among those tried, and a pool of cuts was fixed without the training rows",
    }
    texts = []
    if "held-out" in methods and without_test and block["shared"] is not None:
        texts.append("shared: which share of the test rows occurs in training (give the judge these rows too)")
    texts += [f"that {text}" for name, text in assumed.items() if name in methods]
    if methods:
        texts.append("that the rows are independent draws from one distribution, and so are the new ones")
        texts.append("the words beside the values")
    texts += [f"why {str(name)[:40]} was refused" for name in block["refused"]]
    return [f"bounds: {text}" for text in texts]


def _share_claims(case: BoundsCase) -> None:
    block = case.block
    delta, rows = number(block["delta"]), block["rows"]
    total = sum((Fraction(number(row["delta"])) for row in rows if row["delta"] is not None), Fraction(0))
    case.claim("delta", delta, float(total), total <= Fraction(delta), "the shares of all bounds together")  # exactly
    expected = {row["method"] for row in rows if row["delta"] is None}
    case.claim("in expectation", sorted(expected), None, expected <= {"leave-one-out"})
    candidates = (case.document.get("tuning") or {}).get("candidates", 1)  # the rows may have chosen among so many
    counts = at_most(candidates, block["tried"])
    case.claim("tried", [block["tried"], block["tested"]], None, counts, "settings, models tested")
    values = [number(row["value"]) for row in rows]
    case.claim("order", "tightest first", None, values == sorted(values))
    if not any(row["method"] == "held-out" for row in rows):
        case.claim("shared", block["shared"], None, block["shared"] is None, "there are no test rows")

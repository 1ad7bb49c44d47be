"""The bounds on new rows that stand in a document: every one is made anew.

    delta        the shares of all of them together are at most delta, exactly
    held-out     errors on the test rows, if these are given (`answers`), that they are no training rows, and the binomial
    compression  that nothing of the problem was computed from the rows, how many of them are kept, Campi and Garatti's bound
    PAC-Bayes    the margins of the hyperplane on the rows, and the kl inequality
    VC           the errors on the rows, and Cover's count of the dichotomies
    votes        errors of members, and of pairs of them, on the rows out of bags that are drawn again from their seeds; and
                 that each member is what its own bag makes of it
    leave-one-out: the counts (`leave_one_out`); what they say holds in expectation only

A value has to be proved, in integers or by outward rounding, and may not be more than LOOSE above what its figures give.
What nobody can see in a file, that rows are independent and settings were fixed beforehand, is listed as not checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ..arithmetic.compare import at_most
from ..document import number
from ..errors import CertificateError
from ..verdict import Claim, Verdict
from .claims import CLAIMS, Case
from .document import flaw
from .leave_one_out import leave_one_out

__all__ = ["flaw", "judged"]

#: What nobody can see in a file, whatever its own words are.
INDEPENDENT = "the rows are independent draws from one distribution, and so are the new ones"
ASSUMED = {
    "held-out": "the test rows chose nothing, or among the models tested",
    "compression": "C, kernel, weights and scaling were fixed without the training rows, or are among the settings tried",
    "PAC-Bayes": "the columns of X have units that were fixed without the training rows",
    "votes": "a bagging's setting is among those tried, and a pool of cuts was fixed without the training rows",
}


def judged(
    verdict: Verdict,
    block: Any,
    document: Mapping[str, Any],
    arrays: Mapping[str, Any],
    data: tuple[Any, Any, Any],
    test: tuple[Any, Any] | None = None,
    by_rows: bool = False,
) -> Verdict:
    """The verdict with the claims of the entry ``bounds``; ``data`` is (X, y, sample_weight) of the fit, ``test`` (X, y).

    ``by_rows``: the training rows had a part in how the features were made, which leaves nothing but test rows to count on.
    """
    found = flaw(block)
    if found:
        raise CertificateError(f"the certificate cannot be read: {found}")
    classes, mark = document["classes"], document["certificate"]["fingerprint"]
    if classes is None or len(classes["values"]) < 2 or not mark["n_rows"]:
        raise CertificateError("the certificate cannot be read: there are bounds, and no classes to be wrong about")
    claims, unchecked = _shares(block, document), list(verdict.unchecked)
    case = Case(
        document, arrays, *data, test=test, tried=block["tried"], tested=block["tested"], shared=block["shared"]
    )
    for row in block["rows"]:
        if by_rows and row["method"] != "held-out":
            name = f"bounds: {row['method']}, columns"
            claims.append(Claim(name, "units of their own", "scaled, filled or coded by the rows", False))
        if row["delta"] is None:
            claims += leave_one_out(case, row) if row["method"] == "leave-one-out" else []
            unchecked.append(f"bounds: {row['method']} on these rows: it holds in expectation only")
            continue
        made, rest = CLAIMS[row["method"]](case, row)
        claims += made
        unchecked += rest
    methods = [row["method"] for row in block["rows"]]
    if "held-out" in methods and test is None and block["shared"] is not None:
        which = "which share of the test rows occurs in training (give the judge these rows too)"
        unchecked.append(f"bounds: shared: {which}")
    unchecked += [f"bounds: that {text}" for name, text in ASSUMED.items() if name in methods]
    unchecked += [f"bounds: that {INDEPENDENT}", "bounds: the words beside the values"] if methods else []
    unchecked += [f"bounds: why {str(name)[:40]} was refused" for name in block["refused"]]
    claims = [claim._replace(holds=bool(claim.holds)) for claim in claims]
    return Verdict([*verdict.claims, *claims], unchecked, verdict.bounds, verdict.tier)


def _shares(block: dict[str, Any], document: Mapping[str, Any]) -> list[Claim]:
    delta = number(block["delta"])
    total = sum((Fraction(number(row["delta"])) for row in block["rows"] if row["delta"] is not None), Fraction(0))
    fits = total <= Fraction(delta)  # exactly
    claims = [Claim("bounds: delta", delta, float(total), fits, "the shares of all bounds together")]
    expected = {row["method"] for row in block["rows"] if row["delta"] is None}
    claims.append(Claim("bounds: in expectation", sorted(expected), None, expected <= {"leave-one-out"}))
    candidates = (document.get("tuning") or {}).get("candidates", 1)  # the rows may have chosen among so many
    counts = at_most(candidates, block["tried"])
    claims.append(Claim("bounds: tried", [block["tried"], block["tested"]], None, counts, "settings, models tested"))
    values = [number(row["value"]) for row in block["rows"]]
    claims.append(Claim("bounds: order", "tightest first", None, values == sorted(values)))
    if not any(row["method"] == "held-out" for row in block["rows"]):
        none = block["shared"] is None
        claims.append(Claim("bounds: shared", block["shared"], None, none, "there are no test rows"))
    return claims

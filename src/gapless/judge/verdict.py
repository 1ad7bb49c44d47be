"""What the judge says: each claim with the figure it found itself, and what it could not check."""

from __future__ import annotations

import html
import json
import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Claim(NamedTuple):
    """One claim of a certificate.

    Attributes
    ----------
    name, claimed, recomputed : what is claimed, the certificate's figure, and the judge's own, None where there is none
    holds, note : whether the claim is true, and why not
    """

    name: str
    claimed: Any
    recomputed: Any
    holds: bool
    note: str = ""


@dataclass(frozen=True)
class Verdict:
    """True where every claim holds.

    Attributes
    ----------
    claims, unchecked : each `Claim`, and what was not checked, a sentence each
    bounds : of the rigorous tier, (primal_up, dual_low, gap_up) of each subproblem
    tier : how it was computed: "float64", with proved bounds, or in exact arithmetic
    """

    claims: list[Claim]
    unchecked: list[str]
    bounds: list[tuple[float, float, float]] = field(default_factory=list)
    tier: str = "float64"

    def __bool__(self) -> bool:
        return bool(self.claims) and all(claim.holds for claim in self.claims)

    @property
    def failed(self) -> list[Claim]:
        """The claims that do not hold."""
        return [claim for claim in self.claims if not claim.holds]

    def __str__(self) -> str:
        head = f"FALSE: {len(self.failed)} of {len(self.claims)} claims do not hold"
        head = f"TRUE: all {len(self.claims)} claims hold" if self else head
        rows = [("", "claim", "claimed", "recomputed", "")]
        for name, claimed, recomputed, holds, note in self.claims:
            rows.append(("ok" if holds else "NO", name, _shown(claimed), _shown(recomputed), note))
        widths = [max(len(row[j]) for row in rows) for j in range(4)]
        lines = [f"{head} ({self.tier})", ""]
        lines += ["  ".join([*map(str.ljust, row, widths), row[4]]).rstrip() for row in rows]
        for k, (primal, dual, gap) in enumerate(self.bounds):
            which = f" [{k}]" if len(self.bounds) > 1 else ""
            lines.append(f"proved{which}: primal <= {primal!r}, optimum >= {dual!r}, primal - optimum <= {gap!r}")
        lines += ["", "not checked: " + "; ".join(self.unchecked)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def to_json(self, indent: int | None = 2) -> str:
        """The verdict as JSON text; floats come back to the bit, non-finite ones are strings (``indent``: json.dumps)."""
        block = {
            "verdict": bool(self),
            "tier": self.tier,
            "claims": [_plain(claim._asdict()) for claim in self.claims],
            "unchecked": list(self.unchecked),
            "bounds": [_plain(dict(zip(("primal_up", "dual_low", "gap_up"), each))) for each in self.bounds],
        }
        return json.dumps(block, indent=indent, allow_nan=False, ensure_ascii=False)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else f"{value:.12g}" if isinstance(value, float) else repr(value)
    text = "-" if value is None else text
    return text if len(text) <= 40 else text[:37] + "..."


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value

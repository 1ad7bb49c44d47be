"""What the judge says: each claim with the figure it found itself, and what it could not check."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Claim(NamedTuple):
    """One claim of a certificate. ``recomputed`` is the judge's own figure, None where there is none to
    show."""

    name: str
    claimed: Any
    recomputed: Any
    holds: bool
    note: str = ""


@dataclass(frozen=True)
class Verdict:
    """True where every claim holds. ``bounds`` (rigorous) has (primal_up, dual_low, gap_up) of each
    subproblem."""

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
        failed = self.failed
        if self:
            head = f"TRUE: all {len(self.claims)} claims hold"
        else:
            head = f"FALSE: {len(failed)} of {len(self.claims)} claims do not hold"
        rows = [("", "claim", "claimed", "recomputed", "")]
        for claim in self.claims:
            mark = "ok" if claim.holds else "NO"
            rows.append((mark, claim.name, _shown(claim.claimed), _shown(claim.recomputed), claim.note))
        widths = [max(len(row[j]) for row in rows) for j in range(4)]
        lines = [f"{head} ({self.tier})", ""]
        for row in rows:
            cells = [text.ljust(width) for text, width in zip(row, widths, strict=False)]
            lines.append("  ".join([*cells, row[4]]).rstrip())
        for k, (primal, dual, gap) in enumerate(self.bounds):
            which = f" [{k}]" if len(self.bounds) > 1 else ""
            lines.append(f"proved{which}: primal <= {primal!r}, optimum >= {dual!r}, primal - optimum <= {gap!r}")
        lines += ["", "not checked: " + "; ".join(self.unchecked)]
        return "\n".join(lines)

    def to_json(self, indent: int | None = 2) -> str:
        """The verdict as JSON text; floats come back to the bit, non-finite ones are strings."""
        block = {
            "verdict": bool(self),
            "tier": self.tier,
            "claims": [_plain(claim._asdict()) for claim in self.claims],
            "unchecked": list(self.unchecked),
            "bounds": [
                {"primal_up": _plain(primal), "dual_low": _plain(dual), "gap_up": _plain(gap)}
                for primal, dual, gap in self.bounds
            ],
        }
        return json.dumps(block, indent=indent, allow_nan=False, ensure_ascii=False)


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.12g}"
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value

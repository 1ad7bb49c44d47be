"""What certificates have in common: a statement, arrays, and a document of JSON values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["Bounded", "Stated"]


class Bounded:
    """What a certificate says of new rows."""

    statement: Mapping[str, Any]

    @property
    def generalisation(self) -> dict[str, Any] | None:
        """What ``gapless.bounds`` said of new rows, as it stands in the model file; None before it was asked."""
        return self.statement.get("bounds")

    def _on_new_rows(self) -> str:
        """The same in a sentence."""
        told = self.generalisation or {}
        rows = [row for row in told.get("rows", ()) if row["delta"] is not None]
        if not rows:
            return ""
        best = min(rows, key=lambda row: row["value"])
        if best["value"] >= 1.0:
            return " Of new rows no bound says anything."
        said = f" On new rows the error is at most {best['value']:.4g}, but for a failure of probability "
        return said + f"{told['delta']:g} ({best['method']})."


class Stated(Bounded):
    """The base of a certificate that has ``document``, ``statement``, ``status`` and ``arrays``."""

    status: str
    statement: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]

    def document(self) -> dict[str, Any]:
        """The model document without its arrays: JSON values only."""
        raise NotImplementedError

    @property
    def converged(self) -> bool:
        return self.status == "converged"

    @property
    def estimator(self) -> str:
        return str(self.statement.get("estimator", "the model"))

    def _stated(self, certificate: Mapping[str, Any]) -> dict[str, Any]:
        """The statement with its certificate block, as JSON gives it back."""
        return json.loads(json.dumps({**self.statement, "certificate": certificate}, allow_nan=False))

    def to_json(self, indent: int | None = 2) -> str:
        """The document as text; every float comes back to the bit."""
        return json.dumps(self.document(), indent=indent, allow_nan=False, ensure_ascii=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        mine, theirs = self.arrays, other.arrays
        same = mine.keys() == theirs.keys() and all(np.array_equal(mine[k], theirs[k]) for k in mine)
        return same and self.document() == other.document()

    def __hash__(self) -> int:
        return hash((self.estimator, self.status))


def statement_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document without its certificate and arrays."""
    return {key: value for key, value in document.items() if key not in ("certificate", "arrays")}

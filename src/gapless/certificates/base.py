"""What certificates have in common: a statement, arrays, and a document of JSON values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.certificates.model_document import decode_float, encode_float
from gapless.errors import short

__all__ = ["Bounded", "Stated", "WithoutGap", "times_of"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Bounded:
    """What a certificate says of the time it took, and of new rows.

    Attributes
    ----------
    compile_seconds : seconds of waiting for compiles, which ``seconds`` leaves out
    """

    compile_seconds: float = 0.0

    @property
    def _took(self) -> str:
        """The seconds in words."""
        seconds: float = self.seconds  # type: ignore[attr-defined]
        return f"{short(seconds)} s" + (
            f" and {short(self.compile_seconds)} s of compiling" if self.compile_seconds else ""
        )

    def _times(self) -> dict[str, Any]:
        """The entries of the document."""
        seconds: float = self.seconds  # type: ignore[attr-defined]
        return {"seconds": encode_float(seconds), "compile_seconds": encode_float(self.compile_seconds)}

    @property
    def generalisation(self) -> dict[str, Any] | None:
        """What ``gapless.bounds`` said of new rows, as it stands in the model file; None before it was asked."""
        return self.statement.get("bounds")  # type: ignore[attr-defined]

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
        """Whether the status is "converged"."""
        return self.status == "converged"

    @property
    def estimator(self) -> str:
        """Name of the estimator."""
        return str(self.statement.get("estimator", "the model"))

    def _stated(self, certificate: Mapping[str, Any]) -> dict[str, Any]:
        """The statement with its certificate block, as JSON gives it back."""
        return json.loads(json.dumps({**self.statement, "certificate": certificate}, allow_nan=False))

    def to_json(self, indent: int | None = 2) -> str:
        """The document as text; every float comes back to the bit. ``indent`` as in json.dumps."""
        return json.dumps(self.document(), indent=indent, allow_nan=False, ensure_ascii=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        mine, theirs = self.arrays, other.arrays
        same = mine.keys() == theirs.keys() and all(np.array_equal(mine[k], theirs[k]) for k in mine)
        return same and self.document() == other.document()

    def __hash__(self) -> int:
        return hash((self.estimator, self.status))


class WithoutGap(Stated):
    """The base of a certificate whose kind has no primal, no dual and no gap: all of them are None, none is made up."""

    @property
    def primal(self) -> None:
        """There is none, nor a dual, nor a gap."""
        return None

    dual = gap = relative_gap = primal


def times_of(block: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of ``_times``; files of earlier versions have no compile_seconds."""
    return {name: decode_float(block.get(name, 0.0)) for name in ("seconds", "compile_seconds")}


def statement_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document without its certificate and arrays."""
    return {key: value for key, value in document.items() if key not in ("certificate", "arrays")}

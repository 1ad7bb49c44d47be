"""What certificates have in common: a certificate is its fields.

The JSON block "certificate" of a model document has the fields of the dataclass, in their order. document, from_document,
to_json, == and hash follow from them. Beside its block a certificate has the statement (the rest of the document) and arrays.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, Self, get_args, get_origin, get_type_hints

import numpy as np

from gapless.certificates.model_document import decode_float, encode_float
from gapless.errors import STATUSES, short

#: Metadata of a field that has no key in the JSON block.
NO_KEY = {"key": False}


class _Coding(NamedTuple):
    """From a field to JSON values, and back; None stays None."""

    name: str
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]
    optional: bool  #: the field has a default
    left_out: bool  #: there is no key where the field is None


def _coding_of(hint: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """What encodes and decodes a value of this type."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is UnionType:
        return _coding_of(next(each for each in args if each is not NoneType))
    if origin in (tuple, Sequence):
        encode, decode = _coding_of(args[0])
        return (lambda values: [encode(each) for each in values]), (lambda values: tuple(decode(v) for v in values))
    if origin is Mapping:
        return dict, dict
    if hint in (int, str, bool):
        return hint, hint
    if hint in (float, Any):
        return encode_float, decode_float
    return (lambda value: value.document()), hint.from_document


@cache
def _codings(cls: Any) -> tuple[_Coding, ...]:
    """The fields that have a key, in the order of the document."""
    hints = get_type_hints(cls)
    found = []
    for each in fields(cls):
        if each.metadata.get("key", True):
            optional = each.default is not MISSING or each.default_factory is not MISSING
            found.append(_Coding(each.name, *_coding_of(hints[each.name]), optional, each.default is None))
    return tuple(found)


class HasStatus:
    """Something that says how it ended."""

    status: str

    @property
    def converged(self) -> bool:
        """Whether the status is "converged"."""
        return self.status == "converged"


class Block:
    """The base of a dataclass whose fields are a JSON block; a field whose default is None has no key where it is None."""

    def document(self) -> dict[str, Any]:
        """The JSON block."""
        cls: Any = type(self)
        block = {}
        for name, encode, _, _, left_out in _codings(cls):
            value = getattr(self, name)
            if value is not None or not left_out:
                block[name] = None if value is None else encode(value)
        return block

    @classmethod
    def from_document(cls, block: Mapping[str, Any]) -> Self:
        """The inverse of ``document``. ``block`` is a dictionary of JSON values."""
        return cls(**read_block(cls, block))


def read_block(cls: type, block: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a class by name, from its JSON block; those that an earlier version did not have keep their defaults."""
    return {
        name: None if block[name] is None else decode(block[name])
        for name, _, decode, optional, _ in _codings(cls)
        if name in block or not optional
    }


class BaseCertificate(HasStatus):
    """The base of all certificates; a subclass is a frozen dataclass, its fields in the order of the document's keys.

    Attributes
    ----------
    compile_seconds : seconds of waiting for compiles, which ``seconds`` leaves out
    """

    kind: str
    seconds: float
    compile_seconds: float
    backend: str
    fingerprint: Mapping[str, Any]
    statement: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]

    def __post_init__(self) -> None:
        check_status(self.status)

    @property
    def estimator(self) -> str:
        """Name of the estimator."""
        return str(self.statement.get("estimator", "the model"))

    def document(self) -> dict[str, Any]:
        """The model document without its arrays: JSON values only."""
        # Through JSON and back: a document that is handed out shares nothing with this object.
        block = Block.document(self)  # type: ignore[arg-type]
        return json.loads(json.dumps({**self.statement, "certificate": block}, allow_nan=False))

    def to_json(self, indent: int | None = 2) -> str:
        """The document as text; every float comes back to the bit. ``indent`` as in json.dumps."""
        return json.dumps(self.document(), indent=indent, allow_nan=False, ensure_ascii=False)

    @classmethod
    def from_document(cls, document: Mapping[str, Any], arrays: Mapping[str, np.ndarray] | None = None) -> Self:
        """The inverse of ``document``; ``arrays`` are those of the model file."""
        statement = {key: value for key, value in document.items() if key not in ("certificate", "arrays")}
        return cls(**read_block(cls, document["certificate"]), statement=statement, arrays=dict(arrays or {}))  # type: ignore[call-arg]

    @classmethod
    def from_json(cls, text: str, arrays: Mapping[str, np.ndarray] | None = None) -> Self:
        """The inverse of ``to_json``. ``text`` is the document; ``arrays`` are those of the model file."""
        return cls.from_document(json.loads(text), arrays)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        mine, theirs = self.arrays, other.arrays
        same = mine.keys() == theirs.keys() and all(_same_array(mine[name], theirs[name]) for name in mine)
        return same and self.document() == other.document()

    def __hash__(self) -> int:
        return hash((self.estimator, self.status, self.fingerprint.get("rows")))

    @property
    def generalisation(self) -> dict[str, Any] | None:
        """What ``gapless.bounds`` said of new rows, as it stands in the model file; None before it was asked."""
        return self.statement.get("bounds")

    def _sentence_of_new_rows(self) -> str:
        """The best bound of ``generalisation``, in a sentence."""
        known = self.generalisation or {}
        rows = [row for row in known.get("rows", ()) if row["delta"] is not None]
        if not rows:
            return ""
        best = min(rows, key=lambda row: row["value"])
        if best["value"] >= 1.0:
            return " Of new rows no bound says anything."
        text = f" On new rows the error is at most {best['value']:.4g}, but for a failure of probability "
        return text + f"{known['delta']:g} ({best['method']})."

    @property
    def _duration(self) -> str:
        """The seconds in words."""
        compiling = f" and {short(self.compile_seconds)} s of compiling" if self.compile_seconds else ""
        return f"{short(self.seconds)} s{compiling}"


class WithoutGap(BaseCertificate):
    """The base of a certificate whose kind has no primal, no dual and no gap: all of them are None, none is made up."""

    @property
    def primal(self) -> None:
        """There is none, nor a dual, nor a gap."""
        return None

    dual = gap = relative_gap = primal


def check_status(status: str) -> None:
    """Refuse a word that is no end of a fit."""
    if status not in STATUSES:
        raise ValueError(f"unknown status {status!r}; a fit ends as one of {list(STATUSES)}")


def _same_array(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays have the same type, shape and values; NaN equals NaN."""
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))

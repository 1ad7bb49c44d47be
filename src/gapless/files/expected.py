"""What a trained model expects of a data file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gapless.files.cells.cells import Style
from gapless.files.encoding import Encoding


@dataclass(frozen=True)
class Expected:
    """What a trained model expects of a file: its columns, its label column, the type of its labels."""

    n_features: int
    names: list[str] | None = None
    target: str | None = None
    label_kind: str | None = None
    categories: frozenset[int] = frozenset()  # columns of texts
    typed: bool = False  # missing values and texts are features of the model
    encoding: Any = None  # how columns become features (`Encoding`)
    dtype: str = "float64"  # that numbers are read as
    split: Mapping[str, Any] | None = None  # rows, share and seed: which rows of the file were trained on
    styles: Mapping[int, Style] = field(default_factory=dict)  # how columns were written that are no plain numbers
    target_style: Style | None = None
    missing: frozenset[str] = frozenset()  # words for no value that were given
    classes: tuple[Any, ...] = ()
    weights: str | None = None  # the name of the column of weights

    @property
    def label_style(self) -> Style:
        return self.target_style or Style()

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Expected:
        """Read off a model document (`judge.read(path)[0]`)."""
        kind = "float" if document["classes"] is None else document["classes"]["type"]
        classes = tuple(document["classes"]["values"]) if kind == "str" else ()
        given, origin = document.get("input"), document.get("origin") or {"dtype": "float64", "split": None}
        plain = cls(
            n_features=int(document["n_features"]),
            names=document.get("feature_names"),
            target=document.get("target"),
            label_kind=kind,
            dtype=origin["dtype"],
            split=origin["split"],
            classes=classes,
            weights=origin.get("weights"),
        )
        if given is None:
            return plain
        encoding = Encoding.of_document(given)
        reading = encoding.reading()
        names = [column["name"] for column in given["columns"]]
        return replace(
            plain,
            n_features=len(names),
            names=None if None in names else names,
            categories=frozenset(j for j, column in enumerate(given["columns"]) if column["kind"] == "category"),
            typed=True,
            encoding=encoding,
            dtype=given["dtype"],
            styles={k: style for k, style in enumerate(reading.styles) if style is not None},
            target_style=reading.target,
            missing=reading.missing,
        )

    @classmethod
    def from_model(cls, model: Any) -> Expected:
        """Of a model that was loaded, or fitted."""
        document = dict(model.certificate_.document())
        encoding = getattr(model, "encoding_", None)
        if encoding is not None:
            document["input"] = encoding.document()
        return cls.from_document(document)

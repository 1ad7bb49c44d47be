"""The part of a model document that says what was fitted, in JSON values, and its inverse.

A document holds no objects: numbers, strings, lists and dicts only. A float that JSON cannot write stands as
the string "inf", "-inf" or "nan"; a dict of class weights as a list of pairs, so that its keys keep their
type; a random generator, which no file can give back, as null.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from numbers import Real
from typing import Any

import numpy as np

import gapless
from gapless._runtime.written import written


def encode_float(value: Any) -> float | str:
    """A float as JSON can write it, exactly."""
    value = float(value)
    if math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")


def decode_float(value: Any) -> float:
    """The inverse of ``encode_float``."""
    if isinstance(value, str):
        if value not in ("inf", "-inf", "nan"):
            raise ValueError(f"expected a number, got the string {written(value)}")
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"expected a number, got {written(value)}")
    return float(value)


def encode_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """``get_params(deep=False)`` in JSON values."""
    return {str(name): _encode_value(value) for name, value in parameters.items()}


def _encode_value(value: Any) -> Any:
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, Real):
        return encode_float(value)
    if isinstance(value, Mapping):
        return [[_encode_value(key), _encode_value(item)] for key, item in value.items()]
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufU" and value.size <= 1000:
        return _encode_value(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_encode_value(item) for item in value]
    if is_dataclass(value):  # a Schedule
        return _encode_value(asdict(value))  # type: ignore[arg-type]
    return None  # random generators, callbacks, models to resume from: a file cannot give them back


def decode_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters to hand to an estimator: "inf" is a float again and class weights are a dict."""
    decoded: dict[str, Any] = {}
    for name, value in parameters.items():
        value = _decode_non_finite(value)
        if name == "class_weight" and isinstance(value, list):
            value = {key: _decode_non_finite(item) for key, item in value}
        elif name == "schedule" and isinstance(value, list):
            value = gapless.Schedule(**dict(value))
        decoded[name] = value
    return decoded


def _decode_non_finite(value: Any) -> Any:
    return float(value) if isinstance(value, str) and value in ("inf", "-inf", "nan") else value


def encode_classes(classes: Any) -> dict[str, Any]:
    """``classes_`` with the type of its labels."""
    classes = np.asarray(classes)
    kind = {"b": "bool", "i": "int", "u": "int", "f": "float"}.get(classes.dtype.kind, "str")
    values = classes.tolist()
    if kind == "str" and not all(isinstance(value, str) for value in values):
        raise ValueError(
            f"classes of dtype {classes.dtype} cannot be written: labels are ints, floats, bools or strings"
        )
    return {"type": kind, "values": [str(v) for v in values] if kind == "str" else values}


def decode_classes(block: Mapping[str, Any]) -> np.ndarray:
    """``classes_`` again; strings come back as objects, whose length is not bounded."""
    dtypes = {"int": np.int64, "float": np.float64, "bool": np.bool_, "str": object}
    kind, values = block["type"], block["values"]
    if kind not in dtypes:
        raise ValueError(f"unknown class type {written(kind)}; it is one of {list(dtypes)}")
    if kind == "int" and any(value > np.iinfo(np.int64).max for value in values):
        return np.array(values, dtype=np.uint64)
    return np.array(values, dtype=dtypes[kind])


def problem_block(
    loss: str, offset: str, C: float, class_weight: Sequence[float] | np.ndarray, offset_scale: float = 1.0
) -> dict[str, Any]:
    """The mathematical problem: loss, offset, C and the resolved weight of each class."""
    if offset not in ("none", "penalised", "free"):
        raise ValueError(f"offset is {written(offset)}; it is 'none', 'penalised' or 'free'")
    return {
        "loss": str(loss),
        "offset": offset,
        "offset_scale": encode_float(offset_scale),
        "C": encode_float(C),
        "class_weight": [encode_float(w) for w in class_weight],
    }


def statement(
    estimator_name: str,
    parameters: Mapping[str, Any],
    classes: Any,
    n_features: int,
    problem: Mapping[str, Any],
    *,
    feature_names: Sequence[str] | np.ndarray | None = None,
    dtype: Any = np.float64,
    target: str | None = None,
) -> dict[str, Any]:
    """What was fitted: everything of a model document but the certificate and the arrays. A regression has no classes."""
    names = None if feature_names is None else [str(name) for name in feature_names]
    if names is not None and len(names) != n_features:
        raise ValueError(f"{len(names)} feature names for {n_features} features")
    return {
        "format": "gapless model",
        "schema": 1,
        "version": gapless.__version__,
        "estimator": str(estimator_name),
        "parameters": encode_parameters(parameters),
        "classes": None if classes is None else encode_classes(classes),
        "n_features": int(n_features),
        "feature_names": names,
        "target": None if target is None else str(target),
        "dtype": np.dtype(dtype).name,
        "problem": dict(problem),
    }

"""What a case came to, as short hashes: the bits of its numbers, the bytes of its model file, its verdict.

Only public names are read, and no name of a class or module goes into a hash, so that moves and renames leave the hashes as
they are. Seconds, dates and the version are taken out.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import re
import tempfile
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import gapless

#: Keys of a model's document that are a time, or the release that wrote it.
_TIMED = re.compile(r'("(?:compile_)?seconds": |"version": )("[^"]*"|[-+.\deE]+)')
#: Attributes that are a time, or that the file and the verdict already speak of.
_LEFT_OUT = re.compile(
    r"seconds|^certificates?_?$|^estimators?_?$|^tuning_$|^model_$"  # a time, or told elsewhere
    r"|^(why|notes?|what|assumes|refused|told|reason|stop_reason_?|status_|latex|plain)$"  # prose
)
#: Methods of a fitted model whose answers are its predictions.
_ANSWERS = ("predict", "predict_proba", "decision_function", "score_samples", "transform", "apply", "staged_predict")
#: Rows that a model predicts: more would measure the same kernels again.
_PREDICTED = 1500


def short(digest: Any) -> str:
    return digest.hexdigest()[:16]


def bits_of(value: Any) -> str:
    """A hash of a value's numbers, to the bit."""
    digest = hashlib.sha256()
    _feed(digest, value)
    return short(digest)


def public_fields(value: Any) -> dict[str, Any]:
    """Public attributes that hold a value: fields of a dataclass, or what the constructor set."""
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    else:
        names = list(vars(value)) if hasattr(value, "__dict__") else []
    return {
        name: getattr(value, name) for name in sorted(names) if not name.startswith("_") and not _LEFT_OUT.search(name)
    }


def _feed(digest: Any, value: Any) -> None:
    if isinstance(value, enum.Enum):
        value = value.value
    if hasattr(value, "node_count"):  # the tree in scikit-learn's form
        state = value.__getstate__()
        value = (state["nodes"], state["values"])
    if sparse.issparse(value):
        rows = value.tocsr()
        _feed(digest, ("sparse", rows.shape, rows.data, rows.indices, rows.indptr))
    elif isinstance(value, np.ndarray):
        _feed_array(digest, value)
    elif isinstance(value, np.generic):
        _feed(digest, value.item())
    elif isinstance(value, float):
        digest.update(f" {value.hex()}".encode())
    elif value is None or isinstance(value, str | int | complex | bytes | Fraction):
        digest.update(f" {value!r}".encode())
    elif isinstance(value, dict):
        for key in sorted(value, key=repr):
            if not (isinstance(key, str) and _LEFT_OUT.search(key)):
                _feed(digest, (repr(key), value[key]))
    elif isinstance(value, list | tuple | range):
        digest.update(f" [{len(value)}".encode())
        named = zip(getattr(value, "_fields", [""] * len(value)), value)
        for part in (part for name, part in named if "seconds" not in name):
            _feed(digest, part)
    elif isinstance(value, set | frozenset):
        _feed(digest, sorted(value, key=repr))
    elif callable(getattr(value, "fit", None)):
        _feed(digest, fitted(value))
    elif type(value).__module__.startswith("gapless"):
        _feed(digest, public_fields(value))
    else:
        digest.update(b" an object")


def _feed_array(digest: Any, array: np.ndarray) -> None:
    if array.dtype == object:
        _feed(digest, array.tolist())
    elif array.dtype.names:
        _feed(digest, {name: array[name] for name in array.dtype.names})
    else:
        digest.update(f" {array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())


def fitted(model: Any) -> dict[str, Any]:
    """The fitted attributes of a model, stored ones and properties: name -> value."""
    stored = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    for base in type(model).__mro__:
        stored |= {
            name
            for name, value in vars(base).items()
            if name.endswith("_") and not name.startswith("_") and isinstance(value, property)
        }
    values: dict[str, Any] = {}
    for name in sorted(stored):
        if _LEFT_OUT.search(name):
            continue
        try:
            value = getattr(model, name)
            # an entry of the history is (step, seconds, primal, dual, gap)
            values[name] = [(each[0], *each[2:]) for each in value] if name == "history_" else value
        except (AttributeError, NotImplementedError, ValueError):
            values[name] = "none"  # a property that this model does not have
    members = getattr(model, "estimators_", None)
    if members is not None:
        values["members"] = [fitted(each) for each in members]
    return values


def told_by_model(model: Any, X: Any, y: Any, sample_weight: Any = None, rigorous: Any = False) -> dict[str, Any]:
    """Bits, file, verdict and status of a fitted model."""
    values = fitted(model)
    if sparse.issparse(X) or not hasattr(X, "iloc"):
        some = X[:_PREDICTED]
    else:
        some = X.iloc[:_PREDICTED]
    for name in _ANSWERS:
        if hasattr(model, name):
            found = getattr(model, name)(some)
            values[name] = found if not hasattr(found, "__next__") else list(found)
    told: dict[str, Any] = {"bits": {name: bits_of(value) for name, value in values.items()}}
    certificate = getattr(model, "certificate_", None)
    told["status"] = str(getattr(certificate, "status", None))
    if certificate is not None:
        told["dual"] = {name: bits_of(array) for name, array in dict(certificate.arrays).items()}
    told |= told_by_file(model)
    try:
        told |= told_by_judge(gapless.verify(model, X, y, sample_weight, rigorous=rigorous))
    except (gapless.CertificateError, gapless.ModelFileError, NotImplementedError, TypeError, ValueError) as refused:
        told["verdict"] = type(refused).__name__
    return told


def told_by_file(model: Any) -> dict[str, str]:
    """A hash of the saved file's members in their order, with what is a time or a version taken out."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "model.gapless"
        try:
            gapless.save(model, place)
        except gapless.ModelFileError as refused:
            return {"file": type(refused).__name__}
        digest = hashlib.sha256()
        with zipfile.ZipFile(place) as archive:
            for member in archive.infolist():
                content = archive.read(member)
                if member.filename == "model.json":
                    content = _TIMED.sub(r"\1", content.decode()).encode()
                digest.update(f"{member.filename} {member.date_time} {member.compress_type}".encode())
                digest.update(content)
        try:
            again = gapless.load(place)
        except gapless.ModelFileError as refused:  # a kernel that is a function of the user's
            return {"file": short(digest), "loaded": type(refused).__name__}
        same = all(
            np.array_equal(array, again.certificate_.arrays[name], equal_nan=True)
            for name, array in dict(model.certificate_.arrays).items()
        )
    return {"file": short(digest), "loaded": "the same arrays" if same else "OTHER arrays"}


def told_by_judge(verdict: Any) -> dict[str, str]:
    """Verdict and claims as a hash of their values, and their words apart: prose may be rewritten."""
    claims = [(claim.name, repr(claim.claimed), repr(claim.recomputed), claim.holds) for claim in verdict.claims]
    notes = [claim.note for claim in verdict.claims]
    return {
        "verdict": f"{bool(verdict)} {bits_of([claims, verdict.bounds, verdict.tier])}",
        "words": bits_of([notes, verdict.unchecked]),
    }

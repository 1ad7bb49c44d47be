"""The model file: a zip of a JSON document and raw arrays. Nothing in it can run; the judge reads it alone.

Members: model.json and the arrays that go with it (coef.bin, intercept.bin, dual.bin ...), little-endian, in C order.
The archive comment is the SHA-256 of every byte before it. Reading is the judge's (`gapless.judge.read`); here is the
writing, and the way from what was read to an estimator.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from gapless import judge
from gapless.certificates.verify import arrays_now
from gapless.files.atomic_write import put
from gapless.files.encoding import Encoding
from gapless.judge.errors import ModelFileError
from gapless.judge.kinds import array_shapes
from gapless.readings.training_rows import RowHashes, row_hashes_of
from gapless.registry import MODULES


def save(
    model: Any, path: str | os.PathLike[str], *, target: str | None = None, encoding: Encoding | None = None
) -> None:
    """Write a fitted model with its certificate. `target` is the name of the label column, if there was one; `encoding` says
    how its features come from the columns of a table (a model that was loaded with one keeps it).

    The file is written beside `path` and moved into place when it is whole and has been read back: whatever
    happens on the way, an existing file stays as it was. The same model gives the same bytes.

    Parameters
    ----------
    model : fitted estimator
    path : file to write
    target : name of the label column, if there was one
    encoding : how features come from the columns of a table
    """
    document, arrays = _statement(model, target)
    known = row_hashes_of(model)
    if known is not None:
        document["training_rows"] = {"distinct": int(known.hashes.size), "twins": known.twins}
        arrays["training_rows"] = known.hashes.astype("<u8")
        document["arrays"]["training_rows"] = {"dtype": "<u8", "shape": [int(known.hashes.size)]}
    encoding = getattr(model, "encoding_", None) if encoding is None else encoding
    if encoding is not None:
        document["input"] = encoding.document()
        document["feature_names"] = encoding.names
    place = os.path.realpath(os.fspath(path))  # a link stays a link, its file is replaced
    if os.path.isdir(place):
        raise ModelFileError(f"{os.fspath(path)}: is a directory; give the name of a file")
    folder = os.path.dirname(place)
    if not os.path.isdir(folder):
        raise ModelFileError(f"{place}: the folder {folder} does not exist")
    with put(os.fspath(path), place, judge.read) as stream:
        _write(stream, document, arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model file: an estimator that predicts the same bits, with its certificate.

    Where its features were made of the columns of a table, `encoding_` makes them:
    `model.predict(model.encoding_.transform(data))` for a `Dataset` that was read with `typed=True`.

    Parameters
    ----------
    path : the model file
    """
    document, arrays = judge.read(path)
    given, hashes = document.pop("input", None), arrays.pop("training_rows", None)
    rows = document.pop("training_rows", None)
    model = _model(document, arrays, os.fspath(path))
    if hashes is not None:
        named = model.certificate_.fingerprint
        model.training_rows_ = RowHashes(named["rows"], hashes, named["n_rows"], rows["twins"])
    if given is not None:
        model.encoding_ = Encoding.of_document(given)
        with contextlib.suppress(AttributeError):  # the encoding gives bare arrays; its names are the features'
            del model.feature_names_in_
    return model


def _model(document: Mapping[str, Any], arrays: Mapping[str, np.ndarray], where: str) -> Any:
    """The estimator of a document; the learners of an ensemble before itself."""
    name = document.get("estimator")
    if not isinstance(name, str) or name not in MODULES:
        raise ModelFileError(f"{where}: holds {name!r}; this gapless reads {', '.join(MODULES)}")
    cls = _class(name)
    known = cls().get_params(deep=False)
    try:
        unknown = [key for key in document["parameters"] if key not in known]
        if unknown:
            raise ModelFileError(f"{where}: {name} has no parameter {unknown[0]!r}; the file was altered")
        own, inner = _parts(document, arrays)
        if document["certificate"]["status"] != "not_finite" and not _finite(document, own):
            raise ModelFileError(f"{where}: its numbers are not finite, and it does not say so")
        if "learners" in document:
            learners = [_model(each, part, where) for each, part in zip(document["learners"] or [], inner)]
            model = cls._from_document(document, own, learners)
        else:
            model = cls._from_document(document, own)
    except ModelFileError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise ModelFileError(f"{where}: the document does not describe a {name} ({problem})") from error
    return model


def _parts(
    document: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], list[dict[str, np.ndarray]]]:
    """The arrays of a document itself, and those of each of its learners, whose names begin with its number."""
    own: dict[str, np.ndarray] = {}
    inner: list[dict[str, np.ndarray]] = [{} for _ in document.get("learners") or []]
    for name, array in arrays.items():
        number, dot, rest = name.partition(".")
        (inner[int(number)] if dot else own)[rest if dot else name] = array
    return own, inner


def _finite(document: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bool:
    """Whether all numbers are; the logarithm of a prior of 0 is -inf by right, and only missing values are beyond inf."""
    kind = document["certificate"]["kind"]
    by_right = {"moments": ("intercept", np.isneginf), "heuristic": ("threshold", np.isposinf)}.get(kind, ("", None))
    return all(
        bool((np.isfinite(array) | (by_right[1](array) if by_right[1] and name == by_right[0] else False)).all())
        for name, array in arrays.items()
    )


def _class(name: str) -> Any:
    return getattr(importlib.import_module(MODULES[name]), name)


def _statement(model: Any, target: str | None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The document and the arrays of a fitted model of ours, in the types of the file."""
    name = type(model).__name__
    # A class whose defaults alone differ says which one it is a model of.
    if name not in MODULES or vars(type(model)).get("_model_of", type(model)) is not _class(name):
        whole = f"{type(model).__module__}.{type(model).__qualname__}"
        raise ModelFileError(f"cannot save {whole}: a model file holds gapless.{' or gapless.'.join(MODULES)}")
    certificate = getattr(model, "certificate_", None)
    if certificate is None:
        from sklearn.exceptions import NotFittedError

        if getattr(model, "covariance_estimator", None) is not None:
            raise ModelFileError(
                f"cannot save a {name} with a covariance_estimator: nobody can recompute its covariances from a file"
            )
        if why := getattr(model, "stop_reason_", ""):
            raise ModelFileError(f"cannot save this {name}, it has no certificate: {why}")
        raise NotFittedError(f"this {name} is not fitted yet: call fit before save")
    document = dict(certificate.document())
    arrays = dict(certificate.arrays)
    for key, mine in arrays_now(model, arrays).items():
        if not np.array_equal(mine, arrays[key], equal_nan=True):
            raise ModelFileError(f"{key}_ is not what fit returned: the certificate does not speak of it; fit again")
    if target is not None:
        document["target"] = str(target)
    names = getattr(model, "feature_names_in_", None)
    if document.get("feature_names") is None and names is not None:
        document["feature_names"] = [str(each) for each in names]
    if "learners" in document and model._to_save() is not None:
        document["learners"] = []
        for k, learner in enumerate(model._to_save()):
            inner, parts = _learner(model, learner)
            document["learners"].append(inner)
            arrays |= {f"{k}.{key}": part for key, part in parts.items()}
    forms = array_shapes(document)
    stored = {key: np.ascontiguousarray(arrays[key], dtype=dtype) for key, (dtype, _) in forms.items()}
    document["arrays"] = {key: {"dtype": a.dtype.str, "shape": list(a.shape)} for key, a in stored.items()}
    return document, stored


def _learner(model: Any, learner: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Document and arrays of a learner of an ensemble."""
    whole = f"{type(learner).__module__}.{type(learner).__qualname__}"
    if type(learner).__name__ not in MODULES or type(learner) is not _class(type(learner).__name__):
        raise ModelFileError(
            f"cannot save this {type(model).__name__}: its base learner is {whole}, and a model file holds those of gapless alone"
        )
    if getattr(learner, "certificate_", None) is None:
        raise ModelFileError(f"cannot save this {type(model).__name__}: its base learner {whole} has no certificate")
    inner, parts = _statement(learner, None)
    inner.pop("arrays")
    return inner, parts


def _write(stream: BinaryIO, document: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    comment_bytes = 64
    try:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1, sort_keys=False)
        content = text.encode("utf-8")
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"the model cannot be written as JSON: {error}") from error
    with zipfile.ZipFile(stream, "w") as archive:
        archive.comment = b"0" * comment_bytes
        _member(archive, "model.json", content)
        for key, array in arrays.items():
            _member(archive, f"{key}.bin", array.reshape(-1).view(np.uint8).data)
    stream.flush()
    end = stream.seek(0, os.SEEK_END) - comment_bytes
    digest = hashlib.sha256()
    stream.seek(0)
    left = end
    while left:
        block = stream.read(min(left, 1 << 20))
        digest.update(block)
        left -= len(block)
    stream.seek(end)
    stream.write(digest.hexdigest().encode("ascii"))


def _member(archive: zipfile.ZipFile, name: str, content: bytes | memoryview) -> None:
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))  # no clock: the same model, the same bytes
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3
    info.external_attr = 0o644 << 16
    info.file_size = len(content)  # tells zipfile ahead whether 64-bit sizes are needed
    with archive.open(info, "w") as member:
        for start in range(0, len(content), 1 << 22):
            member.write(content[start : start + (1 << 22)])

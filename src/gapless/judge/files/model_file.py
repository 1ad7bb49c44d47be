"""Reads a model file. Nothing in it is trusted: sizes are compared before memory is taken, names are a fixed
set, and whatever is wrong comes out as a ModelFileError.

The file is a zip of model.json and of the arrays that go with it (coef.bin, intercept.bin, dual.bin ...), raw; its
archive comment is the SHA-256 of all bytes before the comment, and is checked before anything is parsed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from ..errors import ModelFileError
from ..form.document import newer_schema
from ..form.entries import is_count
from ..kinds import array_shapes, defect, defect_of_arrays

#: No array has more bytes; model.json has at most these more than 4 times the file: arrays are as long as what it says of them.
MOST_ARRAY_BYTES, MOST_JSON_BYTES = 1 << 34, 1 << 23
_CHUNK = 1 << 20


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The document and the arrays of a model file; ModelFileError for anything that is not one."""
    where = os.fspath(path)
    try:
        with open(path, "rb") as stream:
            _check_digest(stream, str(where))
            return _parse(stream, str(where))
    except ModelFileError:
        raise
    except OSError as error:
        raise ModelFileError(f"{where}: cannot be read ({error.strerror or error})") from None
    except MemoryError:
        raise ModelFileError(f"{where}: its arrays do not fit in memory") from None
    except Exception as error:  # a broken zip throws many things; each of them means the same here
        raise ModelFileError(f"{where}: is damaged ({type(error).__name__}: {error})") from error


def _check_digest(stream: BinaryIO, where: str) -> None:
    comment_bytes = 64
    record, size = struct.Struct("<4s4H2LH"), os.fstat(stream.fileno()).st_size
    if size < record.size + comment_bytes:
        raise ModelFileError(f"{where}: is no gapless model, or only its beginning ({size} bytes)")
    stream.seek(size - comment_bytes - record.size)
    end = record.unpack(stream.read(record.size))
    comment = stream.read(comment_bytes)
    if end[0] != b"PK\x05\x06" or end[-1] != comment_bytes:
        raise ModelFileError(f"{where}: is no gapless model, or is truncated or damaged (no checksum at its end)")
    digest = hashlib.sha256()
    stream.seek(0)
    left = size - comment_bytes
    while left > 0:
        part = stream.read(min(left, _CHUNK))
        if not part:
            raise ModelFileError(f"{where}: became shorter while it was read")
        digest.update(part)
        left -= len(part)
    if digest.hexdigest().encode("ascii") != comment:
        raise ModelFileError(f"{where}: is damaged: its bytes do not match its checksum")
    stream.seek(0)


def _parse(stream: BinaryIO, where: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    # What parsing may take, beside 16 times the file: an object of Python has some 64 bytes, a block 232 more; 0 has none.
    most_parsed_bytes = 3 << 24
    with zipfile.ZipFile(stream) as archive:
        members: dict[str, zipfile.ZipInfo] = {}
        for info in archive.infolist():
            if info.filename in members:
                raise ModelFileError(f"{where}: the member {info.filename[:60]!r} stands twice")
            members[info.filename] = info
        if "model.json" not in members:
            raise ModelFileError(f"{where}: is no gapless model (no model.json)")
        size = os.fstat(stream.fileno()).st_size
        content = _bytes(archive, members["model.json"], MOST_JSON_BYTES + 4 * size, where)
        several = content.count(b"[") + content.count(b",") - content.count(b" 0,")
        parsed = 64 * several + 296 * content.count(b"{")
        if parsed > most_parsed_bytes + 16 * size:
            raise ModelFileError(f"{where}: model.json is of more parts than a file of {size} bytes speaks of")
        document = _json(content, where)
        if newer := newer_schema(document):
            raise ModelFileError(f"{where}: was {newer}")
        if found := defect(document):
            raise ModelFileError(f"{where}: {found}")
        implied = array_shapes(document)
        expected = {"model.json", *(f"{name}.bin" for name in implied)}
        if members.keys() != expected:
            odd = sorted(members.keys() ^ expected)[0]
            raise ModelFileError(f"{where}: the member {odd[:60]!r} is {'missing' if odd in expected else 'unknown'}")
        shapes = _shapes(document, implied, where)
        for name, (dtype, shape) in shapes.items():  # of all members before one is read
            needed, given = dtype.itemsize * math.prod(shape), members[f"{name}.bin"].file_size
            if given != needed:
                raise ModelFileError(f"{where}: {name}.bin has {given} bytes, its shape {shape} needs {needed}")
        arrays = {}
        for name, (dtype, shape) in shapes.items():
            flat = np.frombuffer(_bytes(archive, members[f"{name}.bin"], MOST_ARRAY_BYTES, where), dtype=dtype)
            arrays[name] = flat.astype(dtype.newbyteorder("="), copy=False).reshape(shape)
    if found := defect_of_arrays(document, arrays):
        raise ModelFileError(f"{where}: {found}")
    document.pop("arrays")
    return document, arrays


def _bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int, where: str) -> bytearray:
    """The bytes of a member. They are taken as they come out: a false size cannot make us reserve more."""
    # Deflate packs at most 1032 to 1: a member that declares more lies about its size.
    most_ratio = 1100
    name = info.filename
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or info.flag_bits & 0x1:
        raise ModelFileError(f"{where}: {name} is encrypted or packed in a way this reader does not know")
    if info.file_size > most:
        raise ModelFileError(f"{where}: {name} declares {info.file_size} bytes; at most {most} are read")
    if info.file_size > most_ratio * info.compress_size + 4096:
        raise ModelFileError(f"{where}: {name} declares more bytes than its archive can hold")
    content = bytearray()
    with archive.open(info) as member:
        while len(content) <= info.file_size:
            part = member.read(_CHUNK)
            if not part:
                break
            content += part
    if len(content) != info.file_size:
        raise ModelFileError(f"{where}: {name} has not the size it declares")
    return content


def _json(content: bytearray, where: str) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        block = dict(items)
        if len(block) != len(items):
            raise ModelFileError(f"{where}: an entry of model.json stands twice")
        return block

    def constant(text: str) -> Any:
        raise ModelFileError(f"{where}: model.json holds {text}, which is no JSON")

    try:
        return json.loads(content.decode("utf-8"), object_pairs_hook=pairs, parse_constant=constant)
    except UnicodeDecodeError:
        raise ModelFileError(f"{where}: model.json is not UTF-8") from None
    except RecursionError:
        raise ModelFileError(f"{where}: model.json is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ModelFileError(f"{where}: model.json is no JSON ({error})") from None


def _shapes(
    document: dict[str, Any], implied: Mapping[str, tuple[str, list[int]]], where: str
) -> dict[str, tuple[np.dtype, tuple[int, ...]]]:
    """Type and shape of each array as the document declares them, if they are what the rest of it implies."""
    declared = document.get("arrays")
    if not isinstance(declared, dict) or declared.keys() != implied.keys():
        raise ModelFileError(f"{where}: the entry arrays does not describe {', '.join(implied)}")
    shapes = {}
    for name, (wanted, sizes) in implied.items():
        block = declared[name]
        if not isinstance(block, dict) or block.keys() != {"dtype", "shape"}:
            raise ModelFileError(f"{where}: the entry arrays.{name} is not a dtype and a shape")
        dtype, shape = block["dtype"], block["shape"]
        if dtype != wanted:
            raise ModelFileError(f"{where}: arrays.{name}.dtype is {str(dtype)[:20]!r}, not {wanted!r}")
        if not isinstance(shape, list) or not all(map(is_count, shape)) or shape != sizes:
            raise ModelFileError(f"{where}: arrays.{name}.shape is not {sizes}")
        shapes[name] = (np.dtype(wanted), tuple(shape))
    return shapes

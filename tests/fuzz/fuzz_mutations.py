"""Mutations of files: bytes, texts, archives with right checksums, npy headers, model documents and their arrays.

``mutated(kind, k)`` is the k-th mutation of a kind: the same bytes in every process, so that a number names a file.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
from fuzz_corpus import KINDS, seeds

Random = np.random.Generator
WORDS = (
    0, 1, 2, 3, 7, 8, 63, 64, 127, 128, 255, 256, 1000, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1,
    2**63,
)  # fmt: skip
CELLS = (
    "", " ", "nan", "NaN", "inf", "-inf", "1e400", "-1e400", "1e-400", "1e160", "1_000", "0x10", "１２", "1e5", "+7", "-0",
    "1.5e", "--5", "1,234.5", "1.234,5", "1,5", ".5", "5.", "1e+", "99999999999999999999", "0.1" + "0" * 400, "9" * 400,
    "TRUE", "no", "?", "NA", "null", '"', '""', '"a', "'", "a\x00b", "\x00", "€ 5", "5 %", "(3)", "1/2/2020", "31.12.2020",
    "2020-13-45", "12:30", "\u2212 5", "é", "😀", "\ufeff", "1:2", "qid:3", "#", "x" * 300, "-", "=1+1", "1e308", "4.9e-324",
    "2.2250738585072011e-308", "9007199254740993", "0.30000000000000004",
)  # fmt: skip
SEPARATORS = (
    b",", b";", b"\t", b"|", b" ", b"\n", b"\r", b"\r\n", b'"', b"\x00", b":", b"#", b"\\", b"\xef\xbb\xbf", b"\xff",
    b"\x1a",
)  # fmt: skip


def mutated(kind: str, k: int) -> bytes:
    """The k-th file of a kind."""
    rng = np.random.default_rng([KINDS.index(kind), k])
    known = seeds(kind)
    name = list(known)[int(rng.integers(len(known)))]
    content = known[name]
    for _ in range(1 + int(rng.integers(3) == 0)):
        content = _pick(rng, BY_KIND[kind])(content, rng, kind)
    return content


def _pick(rng: Random, choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _place(rng: Random, content: bytes) -> int:
    return int(rng.integers(len(content) + 1))


# -- bytes


def flip(content: bytes, rng: Random, kind: str) -> bytes:
    """A few bytes or bits are others."""
    out = bytearray(content)
    for _ in range(int(rng.integers(1, 9)) if out else 0):
        at = int(rng.integers(len(out)))
        out[at] = int(rng.integers(256)) if rng.random() < 0.5 else out[at] ^ (1 << int(rng.integers(8)))
    return bytes(out)


def truncate(content: bytes, rng: Random, kind: str) -> bytes:
    return content[: _place(rng, content)] if rng.random() < 0.7 else content[_place(rng, content) :]


def splice(content: bytes, rng: Random, kind: str) -> bytes:
    """The beginning of one file and the end of another."""
    other = _pick(rng, list(seeds(kind).values()))
    return content[: _place(rng, content)] + other[_place(rng, other) :]


def repeat(content: bytes, rng: Random, kind: str) -> bytes:
    """A part stands twice, or is gone."""
    a, b = sorted((_place(rng, content), _place(rng, content)))
    return content[:b] + content[a:] if rng.random() < 0.5 else content[:a] + content[b:]


def overwrite(content: bytes, rng: Random, kind: str) -> bytes:
    """A whole number of 2, 4 or 8 bytes is another: lengths, offsets and types of binary formats."""
    out = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        size = _pick(rng, (1, 2, 4, 4, 8))
        if len(out) <= size:
            return bytes(out)
        near_end = rng.random() < 0.4
        span = min(len(out) - size, 600)
        at = len(out) - size - int(rng.integers(span)) if near_end else int(rng.integers(len(out) - size))
        if rng.random() < 0.8 and size > 1:
            at -= at % size
        value = int(_pick(rng, WORDS)) * (-1 if rng.random() < 0.3 else 1)
        if rng.random() < 0.3:
            value = int.from_bytes(out[at : at + size], "little") + int(rng.integers(-9, 10))
        out[at : at + size] = (value % (1 << (8 * size))).to_bytes(size, "little")
    return bytes(out)


# -- texts


def cells(content: bytes, rng: Random, kind: str) -> bytes:
    """Some cells say something else."""
    text = content.decode("utf-8", "surrogateescape")
    sign = max(",;\t |", key=text.count) if text else ","
    lines = text.split("\n")
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(len(lines)))
        parts = lines[at].split(sign)
        j, cell = int(rng.integers(len(parts))), _pick(rng, CELLS)
        if kind == "svmlight" and rng.random() < 0.7:
            cell = f"{_pick(rng, (0, 1, 2, 9, -1, 2**31, 2**63, 2**64, '1.5', 'x', ''))}:{cell}"
        parts[j] = parts[j] + cell if rng.random() < 0.2 else cell
        if rng.random() < 0.1:
            parts.insert(j, cell)
        lines[at] = sign.join(parts)
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def column(content: bytes, rng: Random, kind: str) -> bytes:
    """Every cell of a column says something else of one sort."""
    text = content.decode("utf-8", "surrogateescape")
    sign = max(",;\t |", key=text.count) if text else ","
    lines, j = text.split("\n"), int(rng.integers(5))
    sort = _pick(
        rng, (CELLS, CELLS[:20], ("1,5", "2,25", "1.234,5"), ("1,234", "12,345.6"), ("5 %", "7 %"), ("1e999", "1"))
    )
    for i in range(int(rng.integers(2)), len(lines)):
        parts = lines[i].split(sign)
        if len(parts) > j:
            parts[j] = _pick(rng, sort)
            lines[i] = sign.join(parts)
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def signs(content: bytes, rng: Random, kind: str) -> bytes:
    """Separators, quotes, line ends and marks go in, or stand for others."""
    if rng.random() < 0.4:
        return content.replace(_pick(rng, SEPARATORS), _pick(rng, SEPARATORS), int(_pick(rng, (-1, 1, 3, 20))))
    for _ in range(int(rng.integers(1, 5))):
        at = _place(rng, content)
        content = content[:at] + _pick(rng, SEPARATORS) * int(_pick(rng, (1, 1, 2, 30))) + content[at:]
    return content


def lines(content: bytes, rng: Random, kind: str) -> bytes:
    """Lines stand twice, in another order, or are gone."""
    parts = content.split(b"\n")
    for _ in range(int(rng.integers(1, 4))):
        at, to = int(rng.integers(len(parts))), int(rng.integers(len(parts)))
        what = rng.integers(4)
        if what == 0 and len(parts) > 1:
            del parts[at]
        elif what == 1:
            parts.insert(to, parts[at])
        elif what == 2:
            parts[at], parts[to] = parts[to], parts[at]
        else:
            parts.insert(to, _pick(rng, (b"", b"# x", b"a,b", b'"', b"Total;;", b"x" * 3000, b",,,", b"\xff\xfe")))
    return b"\n".join(parts)


def recode(content: bytes, rng: Random, kind: str) -> bytes:
    """Another encoding, or a mark that lies about it."""
    text = content.decode("utf-8", "replace")
    name = _pick(rng, ("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "latin-1", "utf-32", "cp1252", "utf-7"))
    return text.encode(name, "replace") if rng.random() < 0.8 else _pick(rng, (b"\xff\xfe", b"\xfe\xff")) + content


def huge(content: bytes, rng: Random, kind: str) -> bytes:
    """One very long cell."""
    at = _place(rng, content)
    return (
        content[:at]
        + _pick(rng, (b"9", b"x", b'"', b" ", b"0.", b"\x00", b"a\n")) * int(_pick(rng, (140_000, 1 << 18)))
        + content[at:]
    )


# -- archives


def _members(content: bytes) -> dict[str, bytes] | None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(info.file_size for info in archive.infolist()) > 1 << 24:
                return None
            return {info.filename: archive.read(info) for info in archive.infolist()}
    except Exception:
        return None


def _archive(members: dict[str, bytes], kind: str, stored: bool = False) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as archive:
        archive.comment = b"0" * 64 if kind == "model" else b""
        for name, part in members.items():
            archive.writestr(name or "x", part)
    return seal(out.getvalue(), None, kind)


def seal(content: bytes, rng: Random | None, kind: str) -> bytes:
    """With a right checksum at its end, which only model files have."""
    if kind != "model" or len(content) < 64:
        return content
    return content[:-64] + hashlib.sha256(content[:-64]).hexdigest().encode()


def sealed(change: Callable[[bytes, Random, str], bytes]) -> Callable[[bytes, Random, str], bytes]:
    """The same change before the checksum is made."""

    def both(content: bytes, rng: Random, kind: str) -> bytes:
        return seal(change(content[:-64], rng, kind) + content[-64:], rng, kind)

    return both


def members(content: bytes, rng: Random, kind: str) -> bytes:
    """Members are renamed, swapped, cut, longer, gone, or of another file."""
    own = _members(content)
    if not own:
        return flip(content, rng, kind)
    names, what = list(own), int(rng.integers(7))
    a, b = _pick(rng, names), _pick(rng, names)
    if what == 0:
        own[a], own[b] = own[b], own[a]
    elif what == 1:
        own[_pick(rng, ("x", "../x", "X.npy", "y.npy", "model.json", "coef.bin", "é"))] = own.pop(a)
    elif what == 2:
        own[a] = truncate(own[a], rng, kind)
    elif what == 3:
        own[a] = own[a] + bytes(int(_pick(rng, (1, 8, 4096, 1 << 20))))
    elif what == 4:
        del own[a]
    elif what == 5:
        own[a] = (overwrite if rng.random() < 0.5 else flip)(own[a], rng, kind)
    else:
        other = _members(_pick(rng, list(seeds(kind).values()))) or own
        name = _pick(rng, list(other))
        own[name] = other[name]
    return _archive(own, kind, bool(rng.integers(2)))


def header(content: bytes, rng: Random, kind: str) -> bytes:
    """The header of an array says another type, shape, order or version."""
    own = _members(content)
    names = [
        name for name in own or {} if name.endswith(".npy") and own[name][:6] == b"\x93NUMPY" and len(own[name]) > 10
    ]
    if not own or not names:
        return flip(content, rng, kind)
    name = _pick(rng, names)
    part = own[name]
    length = int.from_bytes(part[8:10], "little")
    told, data = part[10 : 10 + length].decode("latin-1"), part[10 + length :]
    changes = [
        (
            "shape",
            _pick(
                rng,
                (
                    "()",
                    "(0,)",
                    "(20,)",
                    "(3, 20)",
                    "(20, 3, 1)",
                    "(-1, 3)",
                    "(2**40,)",
                    f"({2**40}, 3)",
                    f"({2**63},)",
                    "(20.0,)",
                    "20",
                ),
            ),
        ),
        (
            "descr",
            _pick(
                rng,
                (
                    "'<f8'",
                    "'<f4'",
                    "'>f8'",
                    "'<f2'",
                    "'<i8'",
                    "'|O'",
                    "'<U1'",
                    "'|S8'",
                    "'<c16'",
                    "'<M8[s]'",
                    "[('a', '<f8')]",
                    "'|V8'",
                    "'<f16'",
                    "'|b1'",
                    "'x'",
                ),
            ),
        ),
        ("fortran_order", _pick(rng, ("True", "False", "1", "None"))),
    ]
    key, value = _pick(rng, changes)
    start = told.find(f"'{key}':") + len(key) + 3
    depth, end = 0, start
    while end < len(told) and not (told[end] in ",}" and depth == 0):
        depth += (told[end] in "([") - (told[end] in ")]")
        end += 1
    told = told[:start] + " " + value + told[end:] if rng.random() < 0.9 else told[: int(rng.integers(len(told) + 1))]
    version = _pick(rng, (b"\x01\x00", b"\x01\x00", b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x09\x00"))
    size = len(told).to_bytes(2 if version[0] == 1 else 4, "little")
    own[name] = b"\x93NUMPY" + version + size + told.encode("latin-1", "replace") + data
    return _archive(own, kind, bool(rng.integers(2)))


def directory(content: bytes, rng: Random, kind: str) -> bytes:
    """The archive's own entries lie: sizes, methods, flags, names."""
    out = bytearray(content)
    places = [k for mark in (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06") for k in _all(content, mark)]
    for _ in range(int(rng.integers(1, 4)) if places else 0):
        at = _pick(rng, places) + int(rng.integers(4, 46))
        if at < len(out) - 64:
            out[at] = int(_pick(rng, (0, 1, 8, 9, 12, 14, 127, 128, 255)))
    return seal(bytes(out), rng, kind)


def _all(content: bytes, mark: bytes) -> list[int]:
    found, at = [], content.find(mark)
    while at >= 0:
        found.append(at)
        at = content.find(mark, at + 1)
    return found


def bomb(content: bytes, rng: Random, kind: str) -> bytes:
    """A member that grows when it is unpacked, and says so or not."""
    own = _members(content)
    if not own or rng.random() < 0.8:  # some 2 MB to pack: now and then
        return members(content, rng, kind)
    name = "model.json" if kind == "model" else _pick(rng, list(own))
    unit = _pick(rng, (b"[],", b'{"a":{}},', b"0,", b" ", b"[", b'"ab",', b"\x00", b"1e5,"))
    own[name] = (b"[" if kind == "model" else own[name]) + unit * int(_pick(rng, (10_000, 200_000, 2_000_000)))
    return _archive(own, kind)


# -- model documents and arrays


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value[:40]) if isinstance(value, list) else ()
    found = [path] if path else []
    for key, each in inside:
        found += _paths(each, (*path, key))
    return found


def _values(rng: Random, old: Any) -> Any:
    if isinstance(old, bool):
        return _pick(rng, (not old, None, 0, "yes"))
    if isinstance(old, int | float) and rng.random() < 0.7:
        return _pick(
            rng,
            (
                0,
                -1,
                1,
                old + 1,
                old - 1,
                -old,
                old * 2,
                old * 1e3,
                0.5,
                2**31,
                2**53,
                2**63,
                2**64,
                10**400,
                1e308,
                1e-308,
                "nan",
                "inf",
                "-inf",
            ),
        )
    if isinstance(old, str) and rng.random() < 0.6:
        return _pick(
            rng,
            (
                old + "x",
                old[:-1],
                "",
                "\x00",
                "é" * 50,
                "linear",
                "precomputed",
                "callable",
                "stump",
                "other",
                "csr",
                "dense",
                "none",
                "str",
                "int",
                "float32",
                "voted",
            ),
        )
    if isinstance(old, list) and rng.random() < 0.7:
        return _pick(
            rng,
            (
                old[:-1],
                old + old[:1],
                old[::-1],
                [],
                old * 2,
                [old],
                [None] * len(old),
                [0] * len(old),
                [-1] * len(old),
            ),
        )
    return _pick(rng, (None, True, False, 0, -1, 1.5, "x", [], {}, [[]], {"a": 1}, 10**30, "nan", [1, 2], "9" * 5000))


def document(content: bytes, rng: Random, kind: str) -> bytes:
    """Entries of the document are others, gone, or of another document, with a right checksum."""
    own = _members(content)
    if not own or "model.json" not in own:
        return flip(content, rng, kind)
    try:
        told = json.loads(own["model.json"])
    except (ValueError, RecursionError):
        return flip(content, rng, kind)
    other = json.loads((_members(_pick(rng, list(seeds("model").values()))) or own).get("model.json", b"{}") or b"{}")
    if not isinstance(told, dict):
        return flip(content, rng, kind)
    for _ in range(int(rng.integers(1, 4))):
        paths = _paths(told)
        if not paths:
            break
        path = _pick(rng, paths)
        block = told
        for key in path[:-1]:
            block = block[key]
        what = rng.random()
        if what < 0.1:
            del block[path[-1]]
        elif what < 0.2 and isinstance(block, dict):
            block[_pick(rng, ("x", "bounds", "tuning", "origin", "input", "learners", "training_rows"))] = block[
                path[-1]
            ]
        elif what < 0.35:
            where = _pick(rng, _paths(other) or [("x",)])
            block[path[-1]] = _at(other, where)
        else:
            block[path[-1]] = _values(rng, block[path[-1]])
    if rng.random() < 0.5:
        _follow(told, own)
    return _archive({**own, "model.json": json.dumps(told).encode("utf-8", "replace")}, kind)


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _follow(told: dict[str, Any], own: dict[str, bytes]) -> None:
    """Declare, and cut or fill, the arrays as the changed document implies them: so that sizes alone do not give it away."""
    from gapless.judge.kinds import array_shapes, defect

    try:
        if defect({**told, "arrays": {}}) is not None:
            return
        forms = array_shapes(told)
        sizes = {
            name: int(np.prod(shape, dtype=object)) * np.dtype(dtype).itemsize for name, (dtype, shape) in forms.items()
        }
    except Exception:
        return
    if sum(sizes.values()) > 1 << 22:
        return
    told["arrays"] = {name: {"dtype": dtype, "shape": shape} for name, (dtype, shape) in forms.items()}
    old = {name: own.pop(name) for name in list(own) if name != "model.json"}
    for name, size in sizes.items():
        own[f"{name}.bin"] = (old.get(f"{name}.bin", b"") + bytes(size))[:size]


def learners(content: bytes, rng: Random, kind: str) -> bytes:
    """A learner of an ensemble is the model of another file, with its arrays."""
    own, other = _members(content), _members(_pick(rng, list(seeds(kind).values())))
    try:
        told, inner = json.loads((own or {})["model.json"]), json.loads((other or {})["model.json"])
        k = int(rng.integers(len(told["learners"])))
        forms = inner.pop("arrays")
        told["learners"][k] = inner
        for name in [name for name in told["arrays"] if name.startswith(f"{k}.")]:
            del told["arrays"][name], own[f"{name}.bin"]
        told["arrays"] |= {f"{k}.{name}": form for name, form in forms.items()}
        own |= {f"{k}.{name}.bin": other[f"{name}.bin"] for name in forms}
    except (ValueError, KeyError, TypeError, RecursionError):  # no ensemble
        return document(content, rng, kind)
    return _archive({**own, "model.json": json.dumps(told).encode("utf-8", "replace")}, kind)


def arrays(content: bytes, rng: Random, kind: str) -> bytes:
    """Entries of the arrays are others, with a right checksum: indices beyond their range, numbers that are none."""
    own = _members(content)
    if not own or "model.json" not in own:
        return flip(content, rng, kind)
    try:
        forms = json.loads(own["model.json"])["arrays"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return flip(content, rng, kind)
    if not isinstance(forms, dict):  # what an earlier mutation made of it
        return flip(content, rng, kind)
    for _ in range(int(rng.integers(1, 4))):
        name = _pick(rng, list(forms) or [""])
        try:
            array = np.frombuffer(own[f"{name}.bin"], dtype=forms[name]["dtype"]).copy()
        except (ValueError, KeyError, TypeError):
            continue
        if not array.size:
            continue
        where = rng.integers(array.size, size=int(rng.integers(1, 4)))
        if rng.random() < 0.2:
            array = array[rng.permutation(array.size)]
        elif array.dtype.kind == "f":
            with np.errstate(all="ignore"):
                array[where] = _pick(
                    rng, (0.0, -1.0, np.nan, np.inf, -np.inf, 1e308, 1e-308, -array[where], array[where] * 1e3)
                )
        else:
            ends = np.iinfo(array.dtype)
            value = int(_pick(rng, (0, 1, -1, -2, 2, int(array.size), int(array.max()) + 1, ends.max, ends.min, 1000)))
            array[where] = min(max(value, int(ends.min)), int(ends.max))
        own[f"{name}.bin"] = array.tobytes()
    return _archive(own, kind)


BYTES = (flip, truncate, splice, repeat, overwrite)
TEXTS = (cells, cells, cells, column, column, signs, signs, lines, lines, recode, huge)
BY_KIND: dict[str, tuple[Callable[[bytes, Random, str], bytes], ...]] = {
    "model": (
        *BYTES,
        *map(sealed, BYTES),
        document,
        document,
        document,
        document,
        arrays,
        arrays,
        arrays,
        arrays,
        learners,
        members,
        directory,
        bomb,
    ),
    "csv": (*BYTES, *TEXTS),
    "svmlight": (*BYTES, *TEXTS),
    "npz": (*BYTES, members, members, header, header, header, directory, bomb),
    "arrow": (flip, overwrite, overwrite, overwrite, *BYTES),
    "parquet": (flip, overwrite, overwrite, overwrite, *BYTES),
}

"""Reading model files: whatever is wrong is a ModelFileError that says what."""

from __future__ import annotations

import io
import json
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from judge_cases import file_bytes, make_case, sealed

from gapless.judge import ModelFileError
from gapless.judge.files import model_file as reader
from gapless.judge.files.model_file import read


@pytest.fixture(scope="module")
def case():
    return make_case(1, "hinge", "free", n_classes=3)


@pytest.fixture
def place(tmp_path):
    return tmp_path / "model.gapless"


def refused(place, content, match):
    place.write_bytes(content)
    with pytest.raises(ModelFileError, match=match) as caught:
        read(place)
    assert str(place) in str(caught.value)


def with_json(case, change):
    """A file whose model.json went through ``change``, all checksums right."""
    content = file_bytes(case.document, case.arrays)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        document = json.loads(archive.read("model.json"))
    return file_bytes(case.document, case.arrays, extra={"model.json": change(document)})


def edited(case, **entries):
    return with_json(case, lambda document: json.dumps({**document, **entries}).encode())


def test_a_file_comes_back_to_the_bit(case, place):
    place.write_bytes(file_bytes(case.document, case.arrays))
    document, arrays = read(place)
    assert document == case.document
    for name, array in case.arrays.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].flags.writeable
        assert np.array_equal(arrays[name], array)
    read(str(place))


def test_float32_arrays(place):
    case = make_case(2, "logistic", "free", dtype="float32")
    place.write_bytes(file_bytes(case.document, case.arrays))
    arrays = read(place)[1]
    assert arrays["coef"].dtype == np.float32
    assert arrays["dual"].dtype == np.float64


def test_files_that_are_no_model(case, place):
    refused(place, b"", "only its beginning")
    refused(place, b"hello" * 100, "no checksum")
    refused(place, file_bytes(case.document, case.arrays)[:-70], "no checksum")
    refused(place, file_bytes(case.document, case.arrays, seal=False), "does? not match|do not match")
    refused(place, file_bytes(case.document, case.arrays) + b" ", "no checksum")
    with pytest.raises(ModelFileError, match="cannot be read"):
        read(place.parent / "nowhere")
    with pytest.raises(ModelFileError, match="cannot be read"):
        read(place.parent)


def test_the_next_schema(case, place):
    sentence = r"written by a newer gapless \(schema 2; this one reads 1\): upgrade gapless"
    refused(place, edited(case, schema=2), sentence)
    # whatever else the next one brings
    content = file_bytes(
        case.document,
        case.arrays,
        extra={"model.json": b'{"format": "gapless model", "schema": 2}', "more.bin": b"x"},
    )
    refused(place, content, sentence)


def test_members(case, place):
    refused(place, file_bytes(case.document, case.arrays, extra={"extra.bin": b"x"}), "'extra.bin' is unknown")
    refused(place, file_bytes(case.document, case.arrays, extra={"../../evil": b"x"}), "is unknown")
    refused(place, file_bytes(case.document, case.arrays, extra={"dual.bin": None}), "'dual.bin' is missing")
    refused(place, file_bytes(case.document, case.arrays, extra={"model.json": None}), "no model.json")
    refused(place, file_bytes(case.document, case.arrays, extra={"coef.bin": b"abc"}), "coef.bin has 3 bytes")


def test_a_member_twice(case, place):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.comment = b"0" * 64
        archive.writestr("model.json", b"{}")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("model.json", b"{}")
    refused(place, sealed(stream.getvalue()), "stands twice")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[1, 2]", "no JSON object"),
        (b'{"format": "gapless model", "schema": NaN}', "NaN"),
        (b'{"format": "gapless model", "schema": 1, "x": Infinity}', "Infinity"),
        (b'{"a": 1, "a": 2}', "stands twice"),
        (b"[" * 100_000, "nested too deeply|no JSON"),
        (b'{"a":' * 50_000, "nested too deeply|no JSON"),
        (b'{"schema": ' + b"9" * 5000 + b"}", "damaged"),
        (b'{"format": "other"}', "'other', not 'gapless model'"),
        (b'{"format": "gapless model", "schema": 0}', "schema 0 is unknown"),
        (b'{"format": "gapless model", "schema": 1}', "version is missing"),
    ],
)
def test_json_that_is_none_of_ours(case, place, text, match):
    refused(place, file_bytes(case.document, case.arrays, extra={"model.json": text}), match)


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        (None, "arrays is None"),
        ({}, "does not describe"),
        ({"coef": 1, "intercept": 1, "dual": 1}, "not a dtype and a shape"),
        (
            {
                "coef": {"dtype": "<f8", "shape": [3, 3]},
                "intercept": {"dtype": "O", "shape": [3]},
                "dual": {},
            },
            "dtype is 'O'",
        ),
        ({"coef": {"dtype": "<f8", "shape": [3, 10**12]}, "intercept": {}, "dual": {}}, "shape is not"),
        ({"coef": {"dtype": "<f8", "shape": [-3, -3]}, "intercept": {}, "dual": {}}, "shape is not"),
        ({"coef": {"dtype": "<f8", "shape": [3.0, 3.0]}, "intercept": {}, "dual": {}}, "shape is not"),
        ({"coef": {"dtype": "<f4", "shape": [3, 3]}, "intercept": {}, "dual": {}}, "not '<f8'"),
    ],
)
def test_declared_arrays(case, place, arrays, match):
    refused(place, edited(case, arrays=arrays), match)


def test_sizes_are_compared_before_memory_is_taken(case, place, monkeypatch):
    # a billion rows declared consistently everywhere: the member is too small for them
    document = json.loads(json.dumps(case.document))
    document["certificate"]["fingerprint"]["n_rows"] = 10**12
    declared = {
        "coef": {"dtype": "<f8", "shape": [3, 3]},
        "intercept": {"dtype": "<f8", "shape": [3]},
        "dual": {"dtype": "<f8", "shape": [3, 10**12]},
    }
    text = json.dumps({**document, "arrays": declared}).encode()
    refused(place, file_bytes(case.document, case.arrays, extra={"model.json": text}), "dual.bin has 960 bytes")
    monkeypatch.setattr(reader, "MOST_ARRAY_BYTES", 500)
    refused(place, file_bytes(case.document, case.arrays), "at most 500 are read")


def test_a_member_that_lies_about_its_size(case, place):
    content = bytearray(file_bytes(case.document, case.arrays))
    directory = content.rindex(b"PK\x01\x02", 0, content.rindex(b"dual.bin"))
    for size in (10**9, 2**32 - 1, 3):
        forged = bytearray(content)
        forged[directory + 24 : directory + 28] = struct.pack("<L", size)
        refused(place, sealed(bytes(forged)), "dual.bin|damaged")


def test_a_bomb_is_not_unpacked(case, place):
    bomb = file_bytes(case.document, case.arrays, extra={"model.json": b" " * (reader.MOST_JSON_BYTES + (1 << 18))})
    assert 4 * len(bomb) < 1 << 18
    refused(place, bomb, "at most")


@pytest.mark.parametrize("unit", [b"[],", b'{"a":{}},', b"0,", b'"ab",', b"1.5,", b"[[[", '"é😀",'.encode()])
@pytest.mark.parametrize("size", [1 << 26, 1 << 23, 1 << 21])
def test_memory_is_in_proportion_to_the_file(case, place, unit, size):
    """64 MiB of empty lists, which a file of 65 kB packs, were 1.8 GB of objects."""
    text = b"[" + unit * (size // len(unit)) + b"[]]"
    place.write_bytes(file_bytes(case.document, case.arrays, extra={"model.json": text}))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError):
            read(place)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 20 * place.stat().st_size + (100 << 20)


def test_encrypted_and_unknown_packing(case, place):
    content = bytearray(file_bytes(case.document, case.arrays))
    directory = content.index(b"PK\x01\x02")
    for offset, value in ((8, 1), (10, 12), (10, 99)):
        forged = bytearray(content)
        forged[directory + offset] = value
        refused(place, sealed(bytes(forged)), "encrypted or packed|damaged")


def test_every_entry_is_required(case, place):
    for key in case.document:
        document = {name: value for name, value in case.document.items() if name != key}
        place.write_bytes(with_json(case, lambda _, document=document: json.dumps(document).encode()))
        with pytest.raises(ModelFileError):
            read(place)

"""No forged document is accepted and none crashes the judge: byte flips, false changes, junk."""

from __future__ import annotations

import numpy as np
import pytest
from judge_cases import Case, file_bytes, make_case, sealed
from judge_forgeries import CHANGES, forgeries

from gapless.judge import CertificateError, ModelFileError, check, read

CASES = [
    dict(loss=loss, offset=offset, **more)
    for loss in ("hinge", "squared_hinge", "logistic")
    for offset, more in [
        ("none", {"weighted": True}),
        ("none", {"n_classes": 3, "spoil": 0.03}),
        ("penalised", {"scale": 2.5, "class_weight": "balanced"}),
        ("penalised", {"kind": "str", "spoil": 0.01}),
        ("free", {"dtype": "float32", "C": 0.1}),
        ("free", {"n_classes": 3, "weighted": True, "class_weight": {0: 2.0}, "spoil": 0.02}),
        ("free", {"sparse": True, "kind": "float", "C": 10.0}),
    ]
]


def accepted(case: Case, rigorous=False) -> bool:
    try:
        return bool(check(case.document, case.arrays, case.X, case.y, case.sample_weight, rigorous))
    except CertificateError:
        return False


@pytest.mark.parametrize("number", range(len(CASES)))
def test_false_changes_are_refused(number):
    rng = np.random.default_rng(number)
    case = make_case(100 + number, **CASES[number])
    assert accepted(case)
    assert accepted(case, "exact")
    names = []
    for name, forged in forgeries(case, rng):
        assert not accepted(forged), f"{CASES[number]}: {name} was accepted"
        names.append(name)
    wellformed = {change.__name__ for change in CHANGES} & set(names)
    assert len(wellformed) >= 72  # 21 cases: more than 1,500


def test_false_changes_are_refused_through_a_file(tmp_path):
    rng = np.random.default_rng(50)
    place = tmp_path / "model.gapless"
    n = 0
    for number in (0, 4, 12):
        case = make_case(200 + number, **CASES[number])
        place.write_bytes(file_bytes(case.document, case.arrays))
        document, arrays = read(place)
        assert document == case.document
        assert accepted(Case(document, arrays, case.X, case.y, case.sample_weight))
        for name, forged in forgeries(case, rng):
            if name in ("array_of_another_type", "dtype_changed"):
                continue  # this writer stores every array in the type the document says
            try:
                place.write_bytes(file_bytes(forged.document, forged.arrays))
            except (KeyError, ValueError, TypeError, AttributeError):
                continue  # a document so broken that this writer cannot write it
            try:
                document, arrays = read(place)
            except ModelFileError:
                continue
            finally:
                n += 1
            assert not accepted(Case(document, arrays, forged.X, forged.y, forged.sample_weight)), name
    assert n > 150


def test_byte_flips_are_refused(tmp_path):
    case = make_case(3, "hinge", "free")
    content = file_bytes(case.document, case.arrays)
    place = tmp_path / "model.gapless"
    rng = np.random.default_rng(0)
    for _ in range(500):
        k, bit = int(rng.integers(len(content))), 1 << int(rng.integers(8))
        place.write_bytes(content[:k] + bytes([content[k] ^ bit]) + content[k + 1 :])
        with pytest.raises(ModelFileError):
            read(place)


def test_byte_flips_with_the_checksum_made_right(tmp_path):
    """The zip's own sizes and sums still guard the members; a flip in what nobody reads changes nothing."""
    case = make_case(3, "logistic", "free", spoil=0.02)
    content = file_bytes(case.document, case.arrays)
    place = tmp_path / "model.gapless"
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(500):
        k, bit = int(rng.integers(len(content) - 64)), 1 << int(rng.integers(8))
        place.write_bytes(sealed(content[:k] + bytes([content[k] ^ bit]) + content[k + 1 :]))
        try:
            document, arrays = read(place)
        except ModelFileError:
            refused += 1
            continue
        assert document == case.document
        assert all(np.array_equal(arrays[name], case.arrays[name]) for name in arrays)
    assert refused > 350


def test_truncated_files_are_refused(tmp_path):
    case = make_case(3, "hinge", "free")
    content = file_bytes(case.document, case.arrays)
    place = tmp_path / "model.gapless"
    for k in [0, 1, 21, 85, 86, 100, *range(200, len(content), 97), len(content) - 1]:
        place.write_bytes(content[:k])
        with pytest.raises(ModelFileError):
            read(place)
        if k > 86:
            place.write_bytes(sealed(content[:k]))
            with pytest.raises(ModelFileError):
                read(place)


JUNK = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2**70,
    10**400,
    0.0,
    -0.0,
    1e308,
    5e-324,
    0.5,
    "",
    "x",
    "nan",
    "inf",
    [],
    {},
    [1],
    [[]],
    {"a": 1},
]
# What the judge says it does not check, and entries that only restate what is checked elsewhere.
FREE = {
    "seconds",
    "n_iter",
    "backend",
    "solver",
    "version",
    "feature_names",
    "target",
    "max_iter",
    "time_limit",
}


def leaves(block, path=()):
    items = block.items() if isinstance(block, dict) else enumerate(block) if isinstance(block, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from leaves(value, (*path, key))


@pytest.mark.parametrize("number", [0, 5, 9, 18, 19])
def test_junk_anywhere_is_refused_or_harmless(number):
    rng = np.random.default_rng(number)
    case = make_case(300 + number, **CASES[number])
    for path in list(leaves(case.document)):
        for value in [JUNK[k] for k in rng.choice(len(JUNK), size=4, replace=False)]:
            forged = case.copy()
            block = forged.document
            for key in path[:-1]:
                block = block[key]
            before, block[path[-1]] = block[path[-1]], value
            if accepted(forged):
                # an equal number of another type, or what nobody claims to check
                unused = case.document["problem"]["offset"] == "none" and "intercept" in str(path[-1])
                assert FREE & set(path) or value == before or unused, (path, value)


@pytest.mark.parametrize(
    "junk", [None, 3, "x", [], {}, {"format": "gapless model"}, {"format": "gapless model", "schema": 1}]
)
def test_documents_that_are_none(junk):
    with pytest.raises(CertificateError):
        check(junk, {}, np.zeros((2, 1)), [0, 1])

"""The judge believes no proof of separation that has been tampered with."""

from __future__ import annotations

import contextlib
import copy
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris

from gapless import CertificateError, ModelFileError, judge, separability, verify

IRIS = load_iris(return_X_y=True)
CASES = {
    "complete": (IRIS[0], IRIS[1] == 0),
    "quasi": (np.array([[-1.0, 3], [0, 2], [0, 2], [1, 1], [2, 0]]), np.array([0, 0, 1, 1, 1])),
    "overlap": (IRIS[0][50:], IRIS[1][50:]),
    "rank": (np.array([[0.0, 0, 1], [0, 0, 1], [1, 2, 1], [1, 2, 1]]), np.array([0, 1, 0, 1])),
    "three": IRIS,
}


def proof(name):
    X, y = CASES[name]
    document = separability(X, y).document()
    assert judge.check(document, {}, X, y)
    return document, document["certificate"], X, y


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("status", ["complete", "quasi", "overlap"])
def test_another_status(name, status):
    document, block, X, y = proof(name)
    if block["status"] != status:
        block["status"] = status
        assert not judge.check(document, {}, X, y)


@pytest.mark.parametrize("name", ["quasi", "overlap", "rank", "three"])
def test_other_multipliers(name):
    document, block, X, y = proof(name)
    for change in ("1/1000000007", 0.0, -1.0, "-1/3"):
        forged = copy.deepcopy(document)
        forged["certificate"]["multipliers"][0] = change
        assert not judge.check(forged, {}, X, y)
    forged = copy.deepcopy(document)
    for key in ("rows", "rivals", "multipliers"):
        forged["certificate"][key].pop()
    assert not judge.check(forged, {}, X, y)
    forged = copy.deepcopy(document)
    for key in ("rows", "rivals", "multipliers"):
        forged["certificate"][key] = []
    assert not judge.check(forged, {}, X, y)
    forged = copy.deepcopy(document)
    for key in ("rows", "rivals", "multipliers"):  # a pair twice
        forged["certificate"][key].append(block[key][0])
    assert not judge.check(forged, {}, X, y)
    forged = copy.deepcopy(document)
    forged["certificate"]["rows"][0] = len(y)
    assert not judge.check(forged, {}, X, y)


def test_a_relation_of_low_rank_is_no_overlap():
    """Two equal rows with both labels are a Gordan vector; with 'overlap' written on it, it is a lie."""
    X, y = np.array([[-1.0], [0.0], [0.0], [1.0]]), np.array([0, 0, 1, 1])
    document = separability(X, y).document()
    document["certificate"].update(status="overlap", direction=None, columns=[], on_plane=0)
    assert {claim.name for claim in judge.check(document, {}, X, y).failed} == {"rank of the rows with multipliers"}
    document["certificate"]["kernel"] = [[[1.0, 0.0]]]
    assert "kernel vectors orthogonal to every row" in {c.name for c in judge.check(document, {}, X, y).failed}
    document["certificate"]["kernel"] = [[[0.0, 0.0]]]
    assert not judge.check(document, {}, X, y)


def test_a_kernel_is_needed_where_the_rank_is_not_full():
    document, block, X, y = proof("rank")
    assert len(block["kernel"]) == 2
    block["kernel"].pop()
    assert not judge.check(document, {}, X, y)
    block["kernel"].append(block["kernel"][0])
    assert not judge.check(document, {}, X, y)


@pytest.mark.parametrize("name", ["complete", "quasi", "three"])
def test_other_directions(name):
    document, block, X, y = proof(name)
    for change in (lambda v: -v, lambda v: 0.0 * v):
        forged = copy.deepcopy(document)
        forged["certificate"]["direction"] = [[change(v) for v in line] for line in block["direction"]]
        assert not judge.check(forged, {}, X, y)
    forged = copy.deepcopy(document)
    forged["certificate"]["direction"][0].pop()
    assert not judge.check(forged, {}, X, y)
    forged = copy.deepcopy(document)
    forged["certificate"]["direction"][-1][-1] += (
        2.0**-20
    )  # an offset a little off moves rows off the plane, or the margin
    assert name == "complete" or not judge.check(forged, {}, X, y)


def test_other_figures():
    document, block, X, y = proof("complete")
    for key, value in (
        ("margin", block["margin"] * 1.001),
        ("margin", None),
        ("on_plane", 1),
        ("columns", [0]),
        ("columns", []),
    ):
        forged = copy.deepcopy(document)
        forged["certificate"][key] = value
        assert not judge.check(forged, {}, X, y)


def test_a_row_that_only_rounding_has_on_its_side():
    """y f = 2^-60 with terms of size 1: float64 alone would call it 0, or worse."""
    X, y = np.array([[1.0 + 2.0**-52, 1.0], [1.0, 1.0]]), np.array([1, 0])
    found = separability(X, y)
    assert found.status == "complete"
    document = found.document()
    document["certificate"].update(direction=[[1.0, -1.0, -(2.0**-53)]], margin=2.0**-54, columns=[0, 1], narrow=None)
    assert judge.check(document, {}, X, y)
    document["certificate"]["direction"] = [[1.0, -1.0, -(2.0**-52)]]
    assert not judge.check(document, {}, X, y)


def test_other_data_and_unreadable_proofs():
    document, _, X, y = proof("overlap")
    with pytest.raises(CertificateError, match="other data"):
        judge.check(document, {}, X + 1.0, y)
    with pytest.raises(CertificateError, match="other labels"):
        judge.check(document, {}, X, np.roll(y, 1))
    with pytest.raises(CertificateError, match="other weights"):
        judge.check(document, {}, X, y, np.full(len(y), 2.0))
    for key, value in (
        ("multipliers", ["1/0"]),
        ("rows", [-1]),
        ("status", "perhaps"),
        ("kernel", [["x"]]),
        ("offset", 1),
    ):
        forged = copy.deepcopy(document)
        forged["certificate"][key] = value
        with pytest.raises(CertificateError, match="cannot be read"):
            judge.check(forged, {}, X, y)
    with pytest.raises(CertificateError, match="cannot be read"):
        judge.check({**document, "more": 1}, {}, X, y)
    with pytest.raises(CertificateError):
        judge.check({**document, "schema": 2}, {}, X, y)


def test_a_stranger_checks_the_files(tmp_path):
    """The proof as JSON and the data: the command of the judge needs nothing else."""
    X, y = CASES["three"]
    np.savez(tmp_path / "data.npz", X=X, y=y)
    (tmp_path / "proof.json").write_text(separability(X, y).to_json(), encoding="utf-8")
    assert verify(tmp_path / "proof.json", X, y)
    call = [sys.executable, "-m", "gapless.judge", "proof.json", "data.npz"]
    done = subprocess.run(call, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rows on the plane" in done.stdout
    text = (tmp_path / "proof.json").read_text(encoding="utf-8")
    (tmp_path / "proof.json").write_text(text.replace('"status": "quasi"', '"status": "overlap"'), encoding="utf-8")
    assert subprocess.run(call, capture_output=True, cwd=tmp_path).returncode == 1
    for broken in ("{", "[1]", '{"format": "gapless separation"}'):
        (tmp_path / "proof.json").write_text(broken, encoding="utf-8")
        with pytest.raises(ModelFileError, match="proof.json"):
            verify(tmp_path / "proof.json", X, y)
        assert subprocess.run(call, capture_output=True, cwd=tmp_path).returncode == 2


@pytest.mark.parametrize("name", CASES)
def test_other_classes(name):
    """Classes are the labels, sorted, each once, and each has a row."""
    document, _, X, y = proof(name)
    values = document["classes"]["values"]
    more = [] if isinstance(values[0], bool) else [[*values, values[-1] + 1]]
    for other in ([*values, values[0]], values[::-1], *more):
        forged = copy.deepcopy(document)
        forged["classes"]["values"] = other
        with contextlib.suppress(CertificateError):
            assert not judge.check(forged, {}, X, y)

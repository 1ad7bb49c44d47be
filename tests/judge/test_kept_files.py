"""Model files of earlier states, one of each estimator and more: they load, answer as before, hold, and are written the same."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import gapless
from tests.judge.keep_files import ANSWERS, KEPT

HERE = Path(__file__).parent
#: As 0.1.0 wrote them before the files of the sources were moved to the rooms of their families.
FOLDER = HERE / "files_0_1_0_late"


@pytest.fixture(params=sorted(KEPT))
def kept(request):
    """The file, its rows in the form that they were fitted in, and what was kept with them."""
    with np.load(FOLDER / f"{request.param}.npz") as stored:
        data = dict(stored)
    X = data.pop("X")
    form = KEPT[request.param][3]
    return FOLDER / f"{request.param}.gapless", sparse.csr_matrix(X) if form == "sparse" else X, data


def test_a_file_of_each_estimator_is_kept():
    estimators = {name for name, value in vars(gapless.estimators).items() if isinstance(value, type)}
    estimators |= {name for name in dir(gapless) if hasattr(getattr(gapless, name), "get_params")}
    assert {each[0] for each in KEPT.values()} == estimators
    assert {path.stem for path in FOLDER.iterdir()} == KEPT.keys()


def test_it_answers_as_it_did(kept):
    file, X, data = kept
    model = gapless.load(file)
    for name in ANSWERS:
        if name in data:
            found = getattr(model, name)(X)
            if found.dtype.kind in "fc":
                np.testing.assert_allclose(
                    found, data[name], rtol=1e-6 if found.dtype == np.float32 else 1e-11, atol=1e-12
                )
            else:
                np.testing.assert_array_equal(found, data[name])


def test_it_holds(kept):
    file, X, data = kept
    model = gapless.load(file)
    assert gapless.verify(model, X, data.get("y"), data.get("sample_weight"))


def test_it_is_written_again_as_it_was(kept, tmp_path):
    """The same members in the same order with the same bytes; of the document only the version may be another."""
    file, _, _ = kept
    again = tmp_path / "again.gapless"
    gapless.save(gapless.load(file), again)
    with zipfile.ZipFile(file) as before, zipfile.ZipFile(again) as after:
        assert before.namelist() == after.namelist()
        for name in before.namelist():
            if name == "model.json":
                old, new = (json.loads(archive.read(name)) for archive in (before, after))
                new["version"] = old["version"]
                assert json.dumps(new) == json.dumps(old), "another key, another order, or another value"
            else:
                assert before.read(name) == after.read(name), name

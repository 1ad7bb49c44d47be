"""Model files with right checksums whose arrays point where nothing is: refused before compiled code sees them."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import gapless
from gapless import ModelFileError, load

OLD = Path(__file__).parents[1] / "judge" / "files_0_1_0"
#: Arrays of places: in columns, classes, nodes or other arrays.
PLACES = (
    "left",
    "right",
    "feature",
    "classes",
    "feature_lists",
    "vector_columns",
    "vector_starts",
    "cut_ends",
    "answers",
)
FILES = sorted(path.name for path in OLD.glob("*.gapless"))


def forged(content: bytes, change) -> bytes:
    """The file after ``change(document, arrays)``, with a right checksum."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(members.pop("model.json"))
    forms = document["arrays"]
    arrays = {
        name: np.frombuffer(members[f"{name}.bin"], form["dtype"]).reshape(form["shape"]).copy()
        for name, form in forms.items()
    }
    change(document, arrays)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = b"0" * 64
        archive.writestr("model.json", json.dumps(document))
        for name, array in arrays.items():
            archive.writestr(f"{name}.bin", array.tobytes())
    body = out.getvalue()[:-64]
    return body + hashlib.sha256(body).hexdigest().encode()


def places_in(name: str) -> list[str]:
    with zipfile.ZipFile(OLD / name) as archive:
        forms = json.loads(archive.read("model.json"))["arrays"]
    return [key for key, form in forms.items() if key.rpartition(".")[2] in PLACES and np.prod(form["shape"])]


CASES = [(name, array) for name in FILES for array in places_in(name)]


def test_files_of_all_families_with_places_are_there():
    assert {array.rpartition(".")[2] for _, array in CASES} >= {*PLACES} - {"cut_ends"}


@pytest.mark.parametrize(("name", "array"), CASES)
def test_places_outside_are_refused(tmp_path, name, array):
    place, content = tmp_path / "m.gapless", (OLD / name).read_bytes()
    place.write_bytes(forged(content, lambda document, arrays: None))
    load(place)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        form = json.loads(archive.read("model.json"))["arrays"][array]
        honest = np.frombuffer(archive.read(f"{array}.bin"), form["dtype"])
    ends = np.iinfo(honest.dtype)
    for value in (-3, int(ends.max), int(ends.min), int(honest.size) + 1000):
        if not ends.min <= value <= ends.max or (ends.min == 0 and value == 0):
            continue
        for at in {int(np.argmax(honest)), honest.size - 1, int(np.argmin(honest))}:

            def change(document, arrays, at=at, value=value):
                arrays[array].reshape(-1)[at] = value

            place.write_bytes(forged(content, change))
            with pytest.raises(
                ModelFileError, match=array.rpartition(".")[2] + "|no tree|a leaf has a cut|part the array"
            ):
                load(place)


@pytest.mark.parametrize("name", [name for name in FILES if "Tree" in name or "Bagging" in name or "trees" in name])
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_tree_that_never_ends_is_refused(tmp_path, name, side):
    """The child of a node is the root, the node itself, or a node that has a parent already."""
    for kind in ("root", "itself", "shared"):

        def change(document, arrays, kind=kind):
            array = next(a for key, a in arrays.items() if key.rpartition(".")[2] == side and (a >= 0).any())
            at = int(np.flatnonzero(array >= 0)[-1])
            array[at] = {"root": 0, "itself": at, "shared": int(array.max()) if array.max() != array[at] else 1}[kind]

        (tmp_path / "m").write_bytes(forged((OLD / name).read_bytes(), change))
        with pytest.raises(ModelFileError, match="no tree|above its parent"):
            load(tmp_path / "m")


def test_support_vectors_that_are_not_as_many_as_the_dual_has(tmp_path):
    for name in ("SVC_linear_sparse.gapless", "SVR.gapless"):

        def change(document, arrays):
            row = int(np.flatnonzero(arrays["dual"].any(axis=0))[0])
            arrays["dual"][:, row] = 0.0

        (tmp_path / "m").write_bytes(forged((OLD / name).read_bytes(), change))
        with pytest.raises(ModelFileError, match=r"support\.rows"):
            load(tmp_path / "m")


@pytest.mark.parametrize(
    ("ensemble", "learner", "words"),
    [
        ("BaggingClassifier", "LinearSVC_hinge_three", "classes are not those of the ensemble"),
        ("BaggingClassifier", "GaussianDiscriminant_per_class", "classes are not those of the ensemble"),
        ("BaggingClassifier", "Ridge", "it is no classifier"),
        ("BaggingRegressor", "Ridge", "it has 3 features, and is given 2"),
        ("AdaBoostClassifier_trees", "GaussianDiscriminant_per_class", "classes are not those of the ensemble"),
        ("AdaBoostClassifier_trees", "LinearRegression_targets", "several outputs"),
        ("AdaBoostRegressor", "DecisionTreeRegressor_targets", "several outputs"),
        ("AdaBoostRegressor", "GaussianDiscriminant_per_class", "its answers are no numbers"),
    ],
)
def test_learners_that_cannot_answer_for_their_ensemble(tmp_path, ensemble, learner, words):
    with zipfile.ZipFile(OLD / f"{learner}.gapless") as archive:
        inner = json.loads(archive.read("model.json"))
        forms = inner.pop("arrays")
        own = {name: np.frombuffer(archive.read(f"{name}.bin"), form["dtype"]) for name, form in forms.items()}

    def change(document, arrays):
        document["learners"][1] = inner
        for name in [name for name in arrays if name.startswith("1.")]:
            del arrays[name], document["arrays"][name]
        arrays |= {f"1.{name}": array for name, array in own.items()}
        document["arrays"] |= {f"1.{name}": form for name, form in forms.items()}

    (tmp_path / "m").write_bytes(forged((OLD / f"{ensemble}.gapless").read_bytes(), change))
    with pytest.raises(ModelFileError, match=f"learner 1: .*{words}"):
        load(tmp_path / "m")


def test_columns_of_a_sparse_row_that_do_not_rise(tmp_path):
    def change(document, arrays):
        starts, columns = arrays["vector_starts"], arrays["vector_columns"]
        row = int(np.flatnonzero(np.diff(starts) > 1)[0])
        columns[starts[row] + 1] = columns[starts[row]]

    (tmp_path / "m").write_bytes(forged((OLD / "SVC_linear_sparse.gapless").read_bytes(), change))
    with pytest.raises(ModelFileError, match="does not rise"):
        load(tmp_path / "m")


def test_learners_of_several_sorts(tmp_path):
    """A bag asks each learner what the first one has: another estimator among them has no decision function."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = (X[:, 0] > 0).astype(int)
    place, other = tmp_path / "m.gapless", tmp_path / "o.gapless"
    gapless.save(gapless.BaggingClassifier(gapless.LinearSVC(), n_estimators=3, random_state=0).fit(X, y), place)
    gapless.save(gapless.BaggingClassifier(n_estimators=3, random_state=0).fit(X, y), other)
    parts = {}
    forged(other.read_bytes(), lambda document, arrays: parts.update(document=document, arrays=arrays))

    def change(document, arrays):
        document["learners"][1] = parts["document"]["learners"][1]
        for name in [name for name in arrays if name.startswith("1.")]:
            del arrays[name], document["arrays"][name]
        arrays |= {name: array for name, array in parts["arrays"].items() if name.startswith("1.")}
        document["arrays"] |= {
            name: form for name, form in parts["document"]["arrays"].items() if name.startswith("1.")
        }

    place.write_bytes(forged(place.read_bytes(), change))
    with pytest.raises(ModelFileError, match="learner 1: it is of another sort than the first"):
        load(place)


def test_rows_of_another_width(tmp_path):
    """Hashes of rows do not see columns of zeros: the fingerprint's number of columns has to be the model's."""
    place = tmp_path / "m.gapless"
    content = (OLD / "LogisticRegression.gapless").read_bytes()
    place.write_bytes(
        forged(content, lambda document, arrays: document["certificate"]["fingerprint"].update(n_features=1))
    )
    with pytest.raises(ModelFileError, match="fingerprint.n_features is not n_features"):
        load(place)


def test_a_text_is_no_base_learner(tmp_path):
    place = tmp_path / "m.gapless"
    content = (OLD / "AdaBoostClassifier.gapless").read_bytes()
    place.write_bytes(forged(content, lambda document, arrays: document["parameters"].update(estimator="hour")))
    model = load(place)
    assert model.estimator is None
    assert len(model.estimators_) == len(model.estimator_errors_)

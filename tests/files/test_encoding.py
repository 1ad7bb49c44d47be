"""Columns to features: the same bits as scikit-learn's transformers, back again, and through the model file and the judge."""

import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import gapless
from gapless import judge
from gapless.files import Dataset, Encoding, Expected, read_csv
from gapless.judge.errors import ModelFileError
from gapless.judge.files.inputs import features, training_rows


def a_table(n=200, seed=0, missing=True):
    random = np.random.default_rng(seed)
    X = np.column_stack(
        [random.normal(50, 20, n), random.integers(0, 4, n), np.exp(random.normal(size=n)), random.integers(0, 3, n)]
    )
    if missing:
        X[random.random(n) < 0.1, 0] = np.nan
        X[random.random(n) < 0.1, 1] = np.nan
    levels = [None, ["a b", "c", "d,e", 'f"'], None, ["no", "si", "yes"]]
    y = np.where(np.nan_to_num(X[:, 0]) + 10 * (X[:, 3] == 1) + random.normal(size=n) > 50, "high", "low")
    return Dataset(X, y, ["age", "job", "size", "paid"], "y", levels=levels)


def test_the_same_bits_as_scikit_learn():
    data = a_table()
    ours = Encoding.fit(data).transform(data)
    number = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    theirs = ColumnTransformer(
        [
            ("age", number, [0]),
            ("age is missing", MissingIndicator(features="all"), [0]),
            ("job", OneHotEncoder(sparse_output=False), [1]),
            ("size", number, [2]),
            ("paid", OneHotEncoder(sparse_output=False), [3]),
        ]
    ).fit_transform(data.X)
    assert ours.tobytes() == np.ascontiguousarray(theirs, dtype=np.float64).tobytes()


def test_names_and_inverse():
    data = a_table()
    encoding = Encoding.fit(data)
    assert encoding.names[:3] == ["age", "age is missing", "job=a b"]
    assert encoding.names[-4:] == ["size", "paid=no", "paid=si", "paid=yes"]
    back = encoding.inverse_transform(encoding.transform(data))
    np.testing.assert_allclose(back.X, data.X, rtol=1e-12)
    assert back.levels == data.levels
    again = Encoding.of_document(json.loads(json.dumps(encoding.document())))
    assert again.transform(data).tobytes() == encoding.transform(data).tobytes()


def test_many_levels_are_sparse_and_the_same(monkeypatch):
    from gapless.files import encoding

    data = a_table()
    fitted = Encoding.fit(data)
    dense = fitted.transform(data)
    monkeypatch.setattr(encoding, "SPARSE_FROM", 3)
    sparse = fitted.transform(data)
    assert sparse.format == "csr"
    np.testing.assert_array_equal(sparse.toarray(), dense)


def test_texts_and_gaps_that_training_had_not_are_said():
    data = a_table(missing=False)
    fitted = Encoding.fit(data)
    new = Dataset(
        np.array([[np.nan, 0, 1.0, 1], [40.0, 1, 1.0, np.nan]]),
        None,
        data.names,
        levels=[None, ["c", "new"], None, ["no", "yes"]],
    )
    Z = fitted.transform(new)
    told = " | ".join(fitted.surprises(new))
    assert "'age': 1 missing value, taken as" in told
    assert "'job': 1 row with a text not seen in training ('new'), 0 in all its features" in told
    assert "'paid': 1 missing value, not seen in training" in told
    assert Z[1, 1:5].sum() == 0
    assert Z[0, 1:5].tolist() == [0, 1, 0, 0]
    assert Z[1, -3:].sum() == 0


def test_the_judge_makes_the_same_features():
    data = a_table()
    for dtype in ("float64", "float32"):
        table = Dataset(data.X.astype(dtype), data.y, data.names, levels=data.levels)
        fitted = Encoding.fit(table)
        cells = [
            data.X[:, j] if known is None else [None if np.isnan(c) else known[int(c)] for c in data.X[:, j]]
            for j, known in enumerate(data.levels)
        ]
        theirs = features(fitted.document(), cells)
        np.testing.assert_array_equal(theirs, fitted.transform(table).astype(np.float64))


@pytest.fixture
def saved(tmp_path):
    """A CSV with texts and gaps, and a model of three quarters of it."""
    data = a_table()
    words = [
        ["" if np.isnan(v) else (k[int(v)] if k else repr(float(v))) for v, k in zip(row, data.levels)]
        for row in data.X
    ]
    quoted = [['"' + w.replace('"', '""') + '"' if set(w) & set(',"') else w for w in row] for row in words]
    path, out = tmp_path / "data.csv", tmp_path / "m.gapless"
    path.write_text(
        "age,job,size,paid,y\n" + "\n".join(",".join([*r, label]) for r, label in zip(quoted, data.y)) + "\n"
    )
    read = read_csv(path, typed=True)
    split = {"rows": 200, "share": 0.25, "seed": 3}
    kept = training_rows({"split": split}, 200)
    fitted = Encoding.fit(read.rows(kept))
    model = gapless.LinearSVC(loss="hinge").fit(fitted.transform(read.rows(kept)), read.y[kept])
    origin = {"command": None, "dtype": "float64", "split": split}
    model.certificate_ = replace(model.certificate_, statement={**model.certificate_.statement, "origin": origin})
    gapless.save(model, out, target="y", encoding=fitted)
    return path, out, model


def test_through_the_file(saved, tmp_path, capsys):
    from gapless.judge.__main__ import main

    path, out, model = saved
    again = gapless.load(out)
    raw = read_csv(path, expected=Expected.from_model(again))
    np.testing.assert_array_equal(
        again.predict(again.encoding_.transform(raw)), model.predict(again.encoding_.transform(raw))
    )
    assert main([str(out), str(path)]) == 0  # the judge reads the raw file, and finds the training rows
    path.write_text(path.read_text().replace("si", "yes", 1))
    assert main([str(out), str(path)]) == 2  # other data
    gapless.save(again, tmp_path / "n.gapless")
    assert gapless.load(tmp_path / "n.gapless").encoding_.names == again.encoding_.names
    assert judge.read(tmp_path / "n.gapless")[0]["origin"] == judge.read(out)[0]["origin"]
    assert judge.read(out)[0]["feature_names"] == again.encoding_.names
    capsys.readouterr()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d["input"].update(columns=[]), "input.columns"),
        (lambda d: d["input"]["columns"][0].update(scale=0.0), "scale"),
        (lambda d: d["input"]["columns"][0].update(mean="nan"), "mean"),
        (lambda d: d["input"]["columns"][1].update(levels=["a", "a"]), "levels"),
        (lambda d: d["input"]["columns"].pop(), "input gives"),
        (lambda d: d["input"]["columns"][0].update(more=1), "more"),
        (lambda d: d["input"].update(dtype="object"), "input.dtype"),
        (lambda d: d["input"]["columns"].__setitem__(0, 5), "no object"),
        (lambda d: d["origin"].update(split={"rows": 1, "share": 2.0, "seed": 0}), "origin.split.share"),
        (lambda d: d["origin"].update(split=3), "origin.split"),
        (lambda d: d["origin"].update(command=3), "origin.command"),
        (lambda d: d["origin"].update(dtype="int8"), "origin.dtype"),
        (lambda d: d["origin"].pop("dtype"), "origin.dtype"),
        (lambda d: d["origin"].update(more=1), "more"),
        (lambda d: d.update(origin=[]), "origin is no object"),
    ],
)
def test_an_altered_entry_is_refused(saved, change, says):
    import hashlib

    _, out, _ = saved
    with zipfile.ZipFile(out) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(contents["model.json"])
    change(document)
    contents["model.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = b"0" * 64
        for name, content in contents.items():
            archive.writestr(name, content)
    content = out.read_bytes()[:-64]
    out.write_bytes(content + hashlib.sha256(content).hexdigest().encode())
    with pytest.raises(ModelFileError, match=says):
        gapless.load(out)


def test_a_full_disk_leaves_nothing(saved, tmp_path, monkeypatch):
    import os

    _, out, model = saved
    before = out.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        gapless.save(model, out)
    assert out.read_bytes() == before
    with pytest.raises(OSError, match="No space left"):
        gapless.save(model, tmp_path / "new.gapless")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.csv", "m.gapless"]

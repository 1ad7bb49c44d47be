"""Model files of the least squares family: the same bits after the journey, and no forgery is believed."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import gapless
from gapless import (
    CertificateError,
    LeastSquaresClassifier,
    LinearRegression,
    ModelFileError,
    Ridge,
    load,
    save,
    verify,
)
from gapless.judge.__main__ import main as judge
from tests.files.test_modelfile import cut, forge, put, seal


def rows(n=40, d=4, targets=3):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    Y = X @ rng.normal(size=(d, targets)) + rng.normal(size=(n, targets)) + 1.0
    return X, Y, rng.integers(0, 3, n).astype(float)


X, Y, S = rows()
LABELS = np.array(["low", "mid", "high"])[np.digitize(Y[:, 0], np.quantile(Y[:, 0], [0.3, 0.6]))]
WIDE = sparse.random_array((300, 12_000), density=0.002, rng=np.random.default_rng(1), format="csr")

# model, X, y, weights
MODELS = {
    "one target": (LinearRegression(), X, Y[:, 0], None),
    "one column": (LinearRegression(), X, Y[:, :1], S),
    "three targets, weights": (LinearRegression(), X, Y, S),
    "no offset": (LinearRegression(fit_intercept=False), X, Y[:, 0], None),
    "float32": (LinearRegression(), X.astype(np.float32), Y, None),
    "sparse": (LinearRegression(), sparse.csr_matrix(X), Y, None),
    "whole numbers": (LinearRegression(), X, np.arange(len(X)), None),
    "ridge": (Ridge(0.3), X, Y[:, 0], S),
    "ridge, one column": (Ridge(), X, Y[:, :1], None),
    "ridge, a penalty for each target": (Ridge(np.array([0.1, 1.0, 10.0])), X, Y, None),
    "ridge, no penalty on one": (Ridge([0.0, 1.0, 2.0]), X, Y, S),
    "ridge, float32": (Ridge(), X.astype(np.float32), Y[:, 0], None),
    "ridge, no offset": (Ridge(fit_intercept=False), X, Y, None),
    "ridge, conjugate gradients": (Ridge(), WIDE, np.arange(300.0), None),
    "classes": (LeastSquaresClassifier(), X, LABELS, S),
    "two classes, penalty": (LeastSquaresClassifier(0.5, class_weight="balanced"), X, LABELS == "low", None),
    "class weights": (LeastSquaresClassifier(class_weight={"low": 2.0}), X, LABELS, None),
}


@pytest.fixture(params=MODELS)
def fitted(request):
    model, data, y, weights = MODELS[request.param]
    return clone(model).fit(data, y, weights), data, y, weights


@pytest.fixture
def saved(tmp_path):
    model = LinearRegression().fit(X, Y, S)
    save(model, tmp_path / "m")
    return tmp_path / "m"


def test_the_same_bits_after_the_journey(fitted, tmp_path):
    model, data, y, weights = fitted
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert type(again) is type(model)
    for name in ("coef_", "intercept_", "n_iter_", "solver_", "rank_", "condition_", "classes_"):
        assert hasattr(again, name) == hasattr(model, name)
        mine, theirs = np.asarray(getattr(model, name, 0)), np.asarray(getattr(again, name, 0))
        np.testing.assert_array_equal(mine, theirs)
        assert mine.shape == theirs.shape
        assert mine.dtype == theirs.dtype or name == "classes_"
    assert np.asarray(model.predict(data)).tolist() == np.asarray(again.predict(data)).tolist()
    if hasattr(model, "decision_function"):
        assert model.decision_function(data).tobytes() == again.decision_function(data).tobytes()
    else:
        assert model.predict(data).tobytes() == again.predict(data).tobytes()
    assert again.certificate_ == model.certificate_
    assert str(again.certificate_) == str(model.certificate_)
    assert again.objective_ == model.objective_
    for name, value in model.get_params().items():
        assert np.array_equal(getattr(again, name), value), name
    for tier in (False, True):
        assert verify(tmp_path / "m", data, y, weights, rigorous=tier)
        assert verify(again, data, y, weights, rigorous=tier)
    save(again, tmp_path / "n")
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()
    clone(again).fit(data, y, weights)


def test_without_a_gap_there_is_no_dual(tmp_path):
    members = {}
    for name in ("three targets, weights", "ridge"):
        model, data, y, weights = MODELS[name]
        save(clone(model).fit(data, y, weights), tmp_path / "m")
        with zipfile.ZipFile(tmp_path / "m") as archive:
            members[name] = archive.namelist()
    assert members["three targets, weights"] == ["model.json", "coef.bin", "intercept.bin"]
    assert members["ridge"] == ["model.json", "coef.bin", "intercept.bin", "dual.bin"]


def test_what_a_file_does_not_hold_says_so(saved):
    with pytest.raises(AttributeError, match="a model file does not hold it"):
        _ = load(saved).singular_


def test_a_changed_model_is_not_saved(tmp_path):
    model = LinearRegression().fit(X, Y[:, 0])
    model.coef_ = model.coef_ * 1.01
    with pytest.raises(ModelFileError, match="coef_ is not what fit returned"):
        save(model, tmp_path / "m")


# ------------------------------------------------------------------ the judge alone
def csv(path, values, names):
    lines = [",".join(names), *(",".join(map(repr, map(float, row))) for row in values)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_the_judge_alone(tmp_path, capsys):
    model = LinearRegression().fit(X, Y, S)
    save(model, tmp_path / "m")
    names = ["a", "b", "c", "d", "u", "v", "w", "weight"]
    table = csv(tmp_path / "data.csv", np.column_stack([X, Y, S]), names)
    asked = [str(tmp_path / "m"), table, "--target", "u", "--target", "v", "--target", "w", "--weights", "weight"]
    for tier in ([], ["--rigorous"], ["--exact"]):
        assert judge([*asked, *tier]) == 0
        assert "TRUE" in capsys.readouterr().out
    np.savez(tmp_path / "data.npz", X=X, y=Y, sample_weight=S)
    assert judge([str(tmp_path / "m"), str(tmp_path / "data.npz")]) == 0
    assert judge([*asked[:4], "--weights", "weight"]) == 2  # one target of three: v, w are taken for features
    Ridge().fit(X, Y[:, 0])
    save(Ridge().fit(X, Y[:, 0]), tmp_path / "r", target="u")
    one = csv(tmp_path / "one.csv", np.column_stack([X, Y[:, 0]]), names[:5])
    capsys.readouterr()
    assert judge([str(tmp_path / "r"), one]) == 0
    text = (tmp_path / "one.csv").read_text().splitlines()
    (tmp_path / "bad.csv").write_text("\n".join([*text[:3], text[3].rsplit(",", 1)[0] + ",many"]))
    assert judge([str(tmp_path / "r"), str(tmp_path / "bad.csv")]) == 2
    assert "bad.csv:4: column 'u': 'many' is not a number" in capsys.readouterr().err
    light = "\n".join(
        f"{y!r} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row))
        for row, y in zip(X.tolist(), Y[:, 0].tolist(), strict=True)
    )
    (tmp_path / "one.svm").write_text(light)
    assert judge([str(tmp_path / "r"), str(tmp_path / "one.svm")]) == 0


def test_the_judge_needs_only_numpy(saved, tmp_path):
    np.savez(tmp_path / "data.npz", X=X, y=Y, sample_weight=S)
    code = (
        "import sys\n"
        "class No:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('scipy', 'sklearn', 'numba'): raise ImportError(name)\n"
        "sys.meta_path.insert(0, No())\n"
        "from gapless.judge.__main__ import main\n"
        f"sys.exit(main([{str(saved)!r}, {str(tmp_path / 'data.npz')!r}, '--exact']))\n"
    )
    source = gapless.__file__.rsplit("/gapless/", 1)[0]
    done = subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {source!r})\n" + code],
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr


# ------------------------------------------------------------------ forgeries
def test_byte_flips(saved):
    whole = saved.read_bytes()
    rng = np.random.default_rng(2)
    for at in [0, len(whole) - 64, len(whole) - 1, *rng.integers(0, len(whole), size=200).tolist()]:
        saved.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << int(rng.integers(8)))]) + whole[at + 1 :])
        with pytest.raises(ModelFileError):
            load(saved)
    saved.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelFileError):
        load(saved)


@pytest.mark.parametrize("name", ["three targets, weights", "ridge, a penalty for each target", "classes"])
def test_flipped_numbers_under_a_right_checksum(name, tmp_path):
    """One bit of one number of coef, intercept or dual: seen by the judge wherever it is larger than rounding."""
    model, data, y, weights = MODELS[name]
    model = clone(model).fit(data, y, weights)
    rng = np.random.default_rng(3)
    for array in model.certificate_.arrays:
        for _ in range(10):
            save(model, tmp_path / "m")
            numbers = np.array(model.certificate_.arrays[array])
            at = tuple(int(rng.integers(size)) for size in numbers.shape)
            if array == "dual" and weights is not None and weights[at[-1]] == 0:
                continue
            numbers[at] = numbers[at] * (1.0 + 2.0 ** -int(rng.integers(1, 20))) + 1e-3
            forge(tmp_path / "m", members={f"{array}.bin": numbers.tobytes()})
            assert not verify(tmp_path / "m", data, y, weights), (array, at)


def targets(**entries):
    return lambda document: document["certificate"]["targets"][0].update(entries)


CLAIMS = {
    "other residuals": targets(rss=1.0),
    "other R2": targets(r2=0.999),
    "not orthogonal": targets(orthogonality=0.5, status="stalled"),
    "too much rounding": targets(rounding=1.0),
    "a status that does not follow": targets(status="max_iter"),
    "another status": put("certificate", "status", value="stalled"),
    "rank": put("certificate", "rank", value=1),
    "rank beyond the columns": put("certificate", "rank", value=5),
    "tol": put("certificate", "tol", value=0.5),
    "offset": put("problem", "offset", value="none"),
    "penalty": put("problem", "alpha", value=[1.0, 0.0, 0.0]),
    "a parameter": put("parameters", "positive", value=True),
    "no offset asked for": put("parameters", "fit_intercept", value=False),
}


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("tier", [False, True, "exact"])
def test_changed_claims_are_false(saved, claim, tier):
    forge(saved, CLAIMS[claim])
    assert not verify(saved, X, Y, S, rigorous=tier)


def test_other_data_and_weights(saved):
    moved = X.copy()
    moved[3, 1] += 1e-9
    for args in ((moved, Y, S), (X, Y + 1e-9, S), (X, Y), (X, Y, S + 1.0), (X[:-1], Y[:-1], S[:-1]), (X, Y[:, :1], S)):
        with pytest.raises(CertificateError):
            verify(saved, *args)
    with pytest.raises(CertificateError, match="does not hold numbers"):
        verify(saved, X, np.array([["a", "b", "c"]] * len(X)), S)


def test_the_next_schema(saved):
    forge(saved, put("schema", value=2))
    with pytest.raises(ModelFileError, match=r"newer gapless \(schema 2; this one reads 1\): upgrade"):
        load(saved)


@pytest.mark.parametrize(
    "change",
    [
        put("estimator", value="LeastSquaresClassifier"),
        put("estimator", value="LinearSVC"),
        put("classes", value={"type": "int", "values": [0, 1]}),
        put("certificate", "kind", value="gap"),
        put("certificate", "kind", value="bound"),
        put("certificate", "targets", value=[]),
        put("certificate", "targets", value=[{}]),
        put("certificate", "surprise", value=1),
        put("certificate", "rank", value=-1),
        put("certificate", "condition", value=None),
        put("certificate", "fingerprint", "n_rows", value=-1),
        put("certificate", "fingerprint", "rows", value="0"),
        put("certificate", "fingerprint", "labels", value=7),
        put("problem", "alpha", value=[0.0]),
        put("problem", "alpha", value="0"),
        put("problem", "loss", value="hinge"),
        put("problem", "class_weight", value=[1.0, 1.0]),
        put("problem", "columns_of_y", value=None),
        put("problem", "columns_of_y", value=10**9),
        put("parameters", "evil", value=1),
        put("feature_names", value=["a"]),
        put("n_features", value=10**12),
        put("dtype", value="float32"),
        put("arrays", "coef", "shape", value=[3, 10**9]),
        put("arrays", "dual", value={"dtype": "<f8", "shape": [3, 40]}),
        cut("arrays", "coef"),
        cut("problem", "alpha"),
        cut("certificate", "targets"),
        cut("classes"),
    ],
)
def test_documents_that_describe_no_model(saved, change):
    forge(saved, change)
    with pytest.raises(ModelFileError) as found:
        load(saved)
    assert "\n" not in str(found.value)
    document = json.loads(json.dumps(LinearRegression().fit(X, Y, S).certificate_.document()))
    assert document["estimator"] == "LinearRegression"


@pytest.mark.parametrize("members", [{"dual.bin": b""}, {"coef.bin": b"\0" * 8}, {"coef.bin": None}, {"x": b"1"}])
def test_members_that_do_not_belong(saved, members):
    forge(saved, members=members)
    with pytest.raises(ModelFileError):
        load(saved)


def test_numbers_that_are_not_finite(saved):
    forge(saved, members={"coef.bin": np.full((3, 4), np.nan).tobytes()})
    with pytest.raises(ModelFileError, match="not finite"):
        load(saved)
    seal(saved)
    assert not verify(saved, X, Y, S)

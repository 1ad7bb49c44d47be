"""The model file: the same bits after the journey, and nothing but a whole, honest file is read."""

import hashlib
import json
import os
import pickle
import stat
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

import gapless
from gapless import LinearSVC, LogisticRegression, ModelFileError, load, save
from gapless.files import model_file as modelfile

MEMBERS = ["model.json", "coef.bin", "intercept.bin", "dual.bin"]


def rows(n=80, d=4, classes=2, dtype=np.float64):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, d))
    score = X @ rng.normal(size=(d, classes)) + 0.7 * rng.normal(size=(n, classes))
    return X.astype(dtype), score.argmax(axis=1)


MODELS = {
    "hinge": (LinearSVC(loss="hinge"), 2, np.float64, None),
    "squared hinge, no offset": (LinearSVC(fit_intercept=False), 2, np.float64, None),
    "penalised offset": (
        LinearSVC(loss="hinge", penalize_intercept=True, intercept_scaling=2.0),
        2,
        np.float64,
        None,
    ),
    "logistic": (LogisticRegression(C=0.3), 2, np.float64, None),
    "logistic float32": (LogisticRegression(), 2, np.float32, None),
    "strings": (LinearSVC(loss="hinge", class_weight={"one": 2.0}), 2, np.float64, ["one", "zwei é"]),
    "booleans": (LogisticRegression(class_weight="balanced"), 2, np.float64, [False, True]),
    "floats": (LinearSVC(), 2, np.float64, [-1.0, 1.0]),
    "three classes": (LinearSVC(loss="hinge", tol=1e-6), 3, np.float64, ["a", "b", "c"]),
    "three classes float32": (LogisticRegression(), 3, np.float32, None),
}


@pytest.fixture(params=MODELS)
def fitted(request):
    model, classes, dtype, labels = MODELS[request.param]
    X, y = rows(classes=classes, dtype=dtype)
    y = y if labels is None else np.asarray(labels)[y]
    return gapless_clone(model).fit(X, y), X, y


def gapless_clone(model):
    from sklearn.base import clone

    return clone(model)


@pytest.fixture
def saved(tmp_path):
    X, y = rows()
    path = tmp_path / "model.gapless"
    model = LinearSVC(loss="hinge").fit(X, y)
    save(model, path)
    return path, model, X, y


def test_the_same_bits_after_the_journey(fitted, tmp_path):
    model, X, y = fitted
    path = tmp_path / "model.gapless"
    save(model, path)
    again = load(path)
    assert type(again) is type(model)
    for name in ("coef_", "intercept_", "alpha_", "classes_"):
        mine, theirs = np.asarray(getattr(model, name)), np.asarray(getattr(again, name))
        np.testing.assert_array_equal(mine, theirs)
        if name != "classes_":
            assert mine.dtype == theirs.dtype
            assert mine.shape == theirs.shape
    assert model.decision_function(X).tobytes() == again.decision_function(X).tobytes()
    assert model.predict(X).tolist() == again.predict(X).tolist()
    if hasattr(model, "predict_proba"):
        assert model.predict_proba(X).tobytes() == again.predict_proba(X).tobytes()
    assert again.certificate_ == model.certificate_
    assert again.n_features_in_ == model.n_features_in_
    assert again.get_params() == model.get_params()
    assert again.status_ == model.status_
    assert again.objective_ == model.objective_
    assert gapless.verify(again, X, y)
    assert gapless.verify(path, X, y)


def test_a_loaded_model_can_be_saved_again_to_the_same_bytes(fitted, tmp_path):
    model, _, _ = fitted
    first, second = tmp_path / "a.gapless", tmp_path / "b.gapless"
    save(model, first)
    save(load(first), second)
    assert first.read_bytes() == second.read_bytes()


def test_feature_names_and_target(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = rows(d=3)
    frame = pd.DataFrame(X, columns=["alpha", "béta", "γ"])
    model = LogisticRegression().fit(frame, y)
    save(model, tmp_path / "m", target="outcome")
    again = load(tmp_path / "m")
    assert again.feature_names_in_.tolist() == ["alpha", "béta", "γ"]
    assert again.certificate_.document()["target"] == "outcome"
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[["γ", "alpha", "béta"]])


def test_infinite_parameters_come_back(tmp_path):
    X, y = rows()
    model = LinearSVC(loss="hinge", time_limit=float("inf")).fit(X, y)
    save(model, tmp_path / "m")
    assert load(tmp_path / "m").time_limit == float("inf")


def test_the_loaded_model_is_an_estimator_like_any_other(saved):
    path, model, X, y = saved
    again = load(path)
    gapless_clone(again)
    again.set_params(C=0.5).fit(X, y)
    assert again.certificate_ != model.certificate_
    assert pickle.loads(pickle.dumps(load(path))).predict(X).tolist() == model.predict(X).tolist()


# ------------------------------------------------------------------ what cannot be saved
def test_what_is_not_fitted_or_not_ours(tmp_path):
    X, y = rows()
    with pytest.raises(NotFittedError, match="LinearSVC is not fitted"):
        save(LinearSVC(), tmp_path / "m")
    with pytest.raises(ModelFileError, match=r"cannot save sklearn.*Ridge: a model file holds gapless\.Perceptron"):
        save(Ridge().fit(X, y), tmp_path / "m")

    class LinearSVC2(LinearSVC):
        pass

    LinearSVC2.__name__ = "LinearSVC"
    with pytest.raises(ModelFileError, match="cannot save"):
        save(LinearSVC2().fit(X, y), tmp_path / "m")
    with pytest.raises(ModelFileError, match="cannot save"):
        save("a string", tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_a_model_changed_after_the_fit_is_not_saved(tmp_path):
    X, y = rows()
    model = LinearSVC().fit(X, y)
    model.coef_ = model.coef_ * 1.01
    with pytest.raises(ModelFileError, match="coef_ is not what fit returned"):
        save(model, tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_folders(saved, tmp_path):
    model = saved[1]
    with pytest.raises(ModelFileError, match="directory"):
        save(model, tmp_path)
    with pytest.raises(ModelFileError, match="does not exist"):
        save(model, tmp_path / "none" / "m")
    with pytest.raises(ModelFileError):
        load(tmp_path)
    with pytest.raises(ModelFileError, match="none"):
        load(tmp_path / "none")


# ------------------------------------------------------------------ failures while writing
@pytest.mark.parametrize("where", ["_write", "fsync", "replace", "read", "member"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file_and_nothing_else(saved, monkeypatch, where, error):
    path, model, X, _ = saved
    before = path.read_bytes()

    def fail(*args, **kwargs):
        raise error

    if where == "_write":
        monkeypatch.setattr(modelfile, "_write", fail)
    elif where == "member":  # the disk fills up in the middle of the archive
        real, calls = modelfile._member, []

        def some(*args):
            calls.append(args)
            return real(*args) if len(calls) < 3 else fail()

        monkeypatch.setattr(modelfile, "_member", some)
    elif where == "read":
        monkeypatch.setattr(modelfile.judge, "read", fail)
    else:
        monkeypatch.setattr(modelfile.os, where, fail)
    with pytest.raises(type(error)):
        save(model, path)
    monkeypatch.undo()
    assert os.listdir(path.parent) == [path.name]
    assert path.read_bytes() == before
    np.testing.assert_array_equal(load(path).predict(X), model.predict(X))


@pytest.mark.skipif(sys.platform == "win32", reason="permissions and links of POSIX")
def test_mode_and_links(saved, tmp_path):
    path, model, _, _ = saved
    mask = os.umask(0o027)
    try:
        save(model, tmp_path / "new")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(os.stat(tmp_path / "new").st_mode) == 0o640
    os.chmod(path, 0o604)
    save(model, path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o604
    link = tmp_path / "link"
    link.symlink_to(path)
    path.write_bytes(b"old")
    save(model, link)
    assert link.is_symlink()
    assert load(path).get_params() == model.get_params()


# ------------------------------------------------------------------ what is refused when reading
def test_members_and_checksum(saved):
    path = saved[0]
    content = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == MEMBERS
        comment = archive.comment
    assert comment.decode() == hashlib.sha256(content[:-64]).hexdigest()
    assert b"pickle" not in content


def test_truncated(saved):
    path = saved[0]
    whole = path.read_bytes()
    for length in [0, 1, 10, 63, 64, 65, len(whole) // 2, len(whole) - 65, len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(ModelFileError):
            load(path)
    path.write_bytes(whole + b"x")
    with pytest.raises(ModelFileError):
        load(path)


def test_byte_flips(saved):
    path = saved[0]
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    for at in [0, 1, len(whole) - 64, len(whole) - 1, *rng.integers(0, len(whole), size=300).tolist()]:
        bit = 1 << int(rng.integers(8))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
        with pytest.raises(ModelFileError):
            load(path)


def forge(path, change=None, members=None, order=None):
    """Rewrite a model file with other contents and a right checksum."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    if change is not None:
        document = json.loads(contents["model.json"])
        change(document)
        contents["model.json"] = json.dumps(document).encode()
    contents.update(members or {})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = b"0" * 64
        for name in order or contents:
            if contents.get(name) is not None:
                archive.writestr(name, contents[name])
    seal(path)


def seal(path):
    content = path.read_bytes()[:-64]
    path.write_bytes(content + hashlib.sha256(content).hexdigest().encode())


def test_a_forged_file_without_lies_is_read(saved):
    path, model, X, _ = saved
    forge(path, lambda document: None)
    np.testing.assert_array_equal(load(path).predict(X), model.predict(X))


def test_the_next_schema_version(saved):
    path = saved[0]
    forge(path, lambda document: document.update(schema=2))
    with pytest.raises(ModelFileError, match=r"newer gapless \(schema 2; this one reads 1\): upgrade"):
        load(path)


def put(*keys, value):
    def change(document):
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = value

    return change


def cut(*keys):
    def change(document):
        for key in keys[:-1]:
            document = document[key]
        del document[keys[-1]]

    return change


@pytest.mark.parametrize(
    "change",
    [
        put("estimator", value="os.system"),
        put("estimator", value="SVC"),
        put("estimator", value=["LinearSVC"]),
        put("format", value="something else"),
        put("schema", value="1"),
        put("parameters", "evil", value=1),
        put("parameters", "__class__", value="os.system"),
        put("parameters", value=[1, 2]),
        put("parameters", "class_weight", value=[[1, 2, 3]]),
        put("parameters", "class_weight", value=[[[1], 2]]),
        put("n_features", value=5),
        put("n_features", value=-1),
        put("n_features", value="4"),
        put("feature_names", value=["a"]),
        put("feature_names", value=[1, 2, 3, 4]),
        put("classes", value={"type": "int", "values": [0]}),
        put("classes", value={"type": "object", "values": [0, 1]}),
        put("classes", value={"type": "int", "values": [0, 1, 2]}),
        put("classes", value=[0, 1]),
        put("dtype", value="object"),
        put("dtype", value="float32"),
        put("arrays", "coef", "dtype", value="|O"),
        put("arrays", "coef", "shape", value=[1, 10**9]),
        put("arrays", "dual", "shape", value=[10**9, 10**9]),
        put("arrays", "coef", "shape", value=[-1, -4]),
        put("arrays", "coef", "shape", value=[4]),
        put("arrays", "coef", "shape", value="(1, 4)"),
        put("arrays", "../coef", value={"dtype": "<f8", "shape": [1]}),
        put("certificate", "status", value="perfect"),
        put("certificate", "primal", value="many"),
        put("certificate", "subproblems", value=[]),
        cut("certificate"),
        cut("certificate", "fingerprint"),
        cut("classes"),
        cut("problem"),
        cut("arrays"),
        cut("arrays", "dual"),
        cut("parameters"),
    ],
)
def test_documents_that_describe_no_model(saved, change):
    path = saved[0]
    forge(path, change)
    with pytest.raises(ModelFileError) as found:
        load(path)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    "members",
    [
        {"../x": b"out"},
        {"/etc/x": b"out"},
        {"extra.bin": b"1"},
        {"model.json": b"not json"},
        {"model.json": b'{"format": NaN}'},
        {"model.json": b"[" * 100_000},
        {"model.json": b"\xff\xfe"},
        {"model.json": b"[]"},
        {"coef.bin": None},
        {"coef.bin": b""},
        {"coef.bin": b"\0" * 31},
        {"dual.bin": b"\0" * 10_000_000},
        {"model.pkl": pickle.dumps({"a": 1})},
        {"coef.bin": pickle.dumps(np.zeros((1, 4)))},
    ],
)
def test_members_that_do_not_belong(saved, tmp_path, members):
    path = saved[0]
    forge(path, members=members)
    with pytest.raises(ModelFileError):
        load(path)
    assert os.listdir(tmp_path) == [path.name]


def test_a_pickle_is_never_run(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "exploded"),))

    (tmp_path / "m").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ModelFileError):
        load(tmp_path / "m")
    assert not (tmp_path / "exploded").exists()


def test_a_zip_bomb_is_refused_before_it_unfolds(saved):
    """A member of 256 MB in a quarter of one, declared honestly: it is not what the shape needs."""
    path = saved[0]
    zeros = b"\0" * (1 << 20)
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in MEMBERS}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = b"0" * 64
        for name in MEMBERS:
            if name != "dual.bin":
                archive.writestr(name, contents[name])
                continue
            with archive.open(name, "w") as member:
                for _ in range(256):
                    member.write(zeros)
    seal(path)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError):
            load(path)
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def test_non_finite_coefficients_are_refused(saved):
    path = saved[0]
    forge(path, members={"coef.bin": np.full(4, np.nan).tobytes()})
    with pytest.raises(ModelFileError):
        load(path)


def test_a_model_without_finite_numbers_is_kept_as_it_is(tmp_path):
    """NaN is what fit returned: a comparison that NaN fails said that the model had been changed."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = (X[:, 0] + 0.3 * X[:, 1] > 0.1).astype(int)
    y[:4] = 1 - y[:4]
    with pytest.warns(UserWarning, match="not finite"):
        model = gapless.LinearSVC(C=1e308).fit(X, y)
    if model.certificate_.status != "not_finite":
        pytest.skip("this fit has numbers")
    gapless.save(model, tmp_path / "m.gapless")
    again = gapless.load(tmp_path / "m.gapless")
    assert again.certificate_.status == "not_finite"
    assert np.array_equal(again.intercept_, model.intercept_, equal_nan=True)

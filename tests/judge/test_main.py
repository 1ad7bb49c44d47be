"""``python -m gapless.judge``: data files, exit codes, errors in one line."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from judge_cases import file_bytes, make_case

from gapless.judge import CertificateError, DataError, check
from gapless.judge.__main__ import main
from gapless.judge.files.data_file import read_data


@pytest.fixture
def folder(tmp_path):
    """A model, and its data in every format."""
    case = make_case(1, "hinge", "free", weighted=True, kind="str")
    case.document["feature_names"] = ["a", "b", "c"]
    case.document["target"] = "kind"
    (tmp_path / "model").write_bytes(file_bytes(case.document, case.arrays))
    lines = ["weight,c,a,b,kind,other"]
    for x, label, weight in zip(case.X.tolist(), case.y.tolist(), case.sample_weight.tolist(), strict=True):
        lines.append(f'{weight!r},{x[2]!r},{x[0]!r},{x[1]!r},"{label}",ignored')
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    np.savez(tmp_path / "data.npz", X=case.X, y=case.y.astype(str), sample_weight=case.sample_weight)
    plain = make_case(2, "logistic", "penalised", n_classes=3, sparse=True)
    (tmp_path / "plain").write_bytes(file_bytes(plain.document, plain.arrays))
    rows = []
    for i, label in enumerate(plain.y.tolist()):
        row = plain.X[i]
        rows.append(
            " ".join([str(label), *(f"{j + 1}:{v!r}" for j, v in zip(row.indices, row.data.tolist(), strict=True))])
        )
    rows.insert(3, "# a comment")
    (tmp_path / "data.svm").write_text("\n".join(rows) + "\n")
    X = plain.X.tocsr()
    np.savez(
        tmp_path / "csr.npz",
        X_data=X.data,
        X_indices=X.indices,
        X_indptr=X.indptr,
        X_shape=np.array(X.shape),
        y=plain.y,
        w=np.ones(len(plain.y)),
    )
    return tmp_path


def run(folder, model, data, *options):
    return main([str(folder / model), str(folder / data), *options])


@pytest.mark.parametrize(
    ("model", "data", "options"),
    [
        ("model", "data.csv", ["--weights", "weight"]),
        ("model", "data.csv", ["--weights", "weight", "--target", "kind", "--rigorous"]),
        ("model", "data.npz", ["--exact"]),
        ("plain", "data.svm", []),
        ("plain", "csr.npz", ["--weights", "w"]),
    ],
)
def test_true_is_zero(folder, capsys, model, data, options):
    assert run(folder, model, data, *options) == 0
    out = capsys.readouterr()
    assert out.out.startswith("TRUE")
    assert not out.err


def test_json(folder, capsys):
    assert run(folder, "plain", "data.svm", "--json", "--rigorous") == 0
    block = json.loads(capsys.readouterr().out)
    assert block["verdict"] is True
    assert block["bounds"]


def test_false_is_one(folder, capsys):
    case = make_case(2, "logistic", "penalised", n_classes=3, sparse=True)
    case.arrays["coef"] *= 1.5
    (folder / "forged").write_bytes(file_bytes(case.document, case.arrays))
    assert run(folder, "forged", "data.svm") == 1
    assert capsys.readouterr().out.startswith("FALSE")


@pytest.mark.parametrize(
    ("model", "data", "options", "words"),
    [
        ("nowhere", "data.csv", [], "cannot be read"),
        ("data.csv", "data.csv", [], "no gapless model"),
        ("model", "nowhere.csv", [], "cannot be read"),
        ("model", "data.csv", [], "other weights: no sample_weight"),
        ("model", "data.csv", ["--weights", "none"], "no column 'none' (weights)"),
        ("model", "data.csv", ["--target", "none"], "no column 'none' (label)"),
        ("model", "data.csv", ["--target", "a", "--weights", "weight"], "other labels"),
        ("plain", "data.npz", [], "other labels"),
        ("plain", "csr.npz", ["--target", "t"], "no array 't'"),
        ("plain", "csr.npz", ["--weights", "v"], "no array 'v'"),
        ("plain", "data.svm", ["--target", "t"], "no columns to name"),
    ],
)
def test_errors_are_two(folder, capsys, model, data, options, words):
    assert run(folder, model, data, *options) == 2
    out = capsys.readouterr()
    assert not out.out
    assert out.err.startswith("error: ")
    assert words in out.err
    assert out.err.count("\n") == 1


def test_a_fault_of_the_judge_is_no_verdict(folder, capsys, monkeypatch):
    monkeypatch.setattr("gapless.judge.__main__.check", lambda *args: 1 / 0)
    assert run(folder, "plain", "data.svm") == 2
    assert "the judge failed (ZeroDivisionError" in capsys.readouterr().err


def test_as_a_program(folder):
    command = [sys.executable, "-m", "gapless.judge", str(folder / "plain"), str(folder / "data.svm")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "TRUE" in done.stdout
    assert subprocess.run([*command, "--exact", "--rigorous"], capture_output=True).returncode == 2


# ------------------------------------------------------------------- data files

DOCUMENT = {
    "n_features": 2,
    "feature_names": None,
    "target": None,
    "classes": {"type": "int", "values": [0, 1]},
}


def reading(tmp_path, text, name="data.csv", **changes):
    place = tmp_path / name
    place.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_data(place, {**DOCUMENT, **changes})


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a,b,y\n1,2,0\n1,2\n", 3, None, "the line has 2 cells, the header 3"),
        ("a,b,y\n1,2,0\n1,x,1\n", 3, "b", "'x' is not a number"),
        ("a,b,y\n1,2,0\n\n1,,1\n", 4, "b", "the cell is empty"),
        ("a,b,y\n1,nan,0\n", 2, "b", "not finite"),
        ("a,b,y\n1,1_0,0\n", 2, "b", "not a number"),
        ("a,b,y\n1,2,\n", 1, None, "no row has a label"),
        ("a,y\n1,0\n", 1, None, "1 feature columns, the model 2"),
        ("a,b,y\n", 1, None, "no rows"),
        ('a,b,y\n1,2,"0\n', 2, None, "cannot be read as CSV"),
    ],
)
def test_csv_errors_say_where(tmp_path, text, line, column, words):
    with pytest.raises(DataError) as caught:
        reading(tmp_path, text)
    assert words in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.file == str(tmp_path / "data.csv")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("1 1:2\n0 1:2 b:3\n", 2, "'b:3' is not index:value"),
        ("1 1:2\n0 1:x\n", 2, "'x' is not a number"),
        ("1 1:2\n0 1:2 1:3\n", 2, "stands twice"),
        ("1 1:2\n0 3:2\n", 2, "index 3 is beyond the model's 2 features"),
        ("1 1:2\n2:3 1:2\n", 2, "there is no label"),
        ("1 1:inf\n", 1, "not finite"),
    ],
)
def test_svmlight_errors_say_where(tmp_path, text, line, words):
    with pytest.raises(DataError) as caught:
        reading(tmp_path, text, "data.svm")
    assert words in str(caught.value)
    assert caught.value.line == line


def test_csv_forms(tmp_path):
    for text in ("a,b,y\n1,2,0\n3,4,1\n", "a;b;y\r\n1;2;0\r\n3;4;1\r\n", "\ufeffa\tb\ty\n1\t2\t0\n3\t4\t1"):
        data = reading(tmp_path, text)
        assert data.X.tolist() == [[1, 2], [3, 4]]
        assert data.y.tolist() == [0, 1]
        assert data.sample_weight is None
    named = reading(tmp_path, "class,b,a\n0,2,1\n", feature_names=["a", "b"])
    assert named.X.tolist() == [[1, 2]]
    assert named.y.tolist() == [0]
    with pytest.raises(DataError, match="no column 'q'"):
        reading(tmp_path, "a,b,y\n1,2,0\n", feature_names=["a", "q"])
    assert reading(tmp_path, "a,b,last\n1,2,0\n").y.tolist() == [0]


@pytest.mark.parametrize(
    ("kind", "texts", "wanted"),
    [
        ("int", "0 1 1", [0, 1, 1]),
        ("float", "-1 1.0 1", [-1.0, 1.0, 1.0]),
        ("bool", "True false 1", [True, False, True]),
        ("str", "0 1 b", ["0", "1", "b"]),
        ("int", "0 1 b", ["0", "1", "b"]),
    ],
)
def test_labels_take_the_type_of_the_classes(tmp_path, kind, texts, wanted):
    text = "a,b,y\n" + "".join(f"1,2,{label}\n" for label in texts.split())
    assert reading(tmp_path, text, classes={"type": kind, "values": []}).y.tolist() == wanted


def test_svmlight_counts_from_zero_or_one(tmp_path):
    one = reading(tmp_path, "1 1:5 2:6 # x\n0 2:7\n", "d.svm").X
    zero = reading(tmp_path, "1 0:5 1:6\n0 qid:3 1:7\n", "d.svm").X
    for X in (one, zero):
        assert X.shape == (2, 2)
        assert X.data.tolist() == [5, 6, 7]
        assert X.indices.tolist() == [0, 1, 1]


@pytest.mark.parametrize("text", ["", "\n\n", b"\xff\xfe\x00"])
def test_files_without_data(tmp_path, text):
    with pytest.raises(DataError):
        reading(tmp_path, text)


def test_broken_npz(tmp_path):
    with pytest.raises(DataError, match="no readable npz"):
        reading(tmp_path, b"PK\x03\x04 nothing", "data.npz")
    np.savez(tmp_path / "pickled.npz", X=np.array([{}], dtype=object), y=np.zeros(1))
    with pytest.raises(DataError, match="no readable npz"):
        read_data(tmp_path / "pickled.npz", DOCUMENT)
    np.savez(tmp_path / "half.npz", y=np.zeros(1))
    with pytest.raises(DataError, match="no array X"):
        read_data(tmp_path / "half.npz", DOCUMENT)
    with pytest.raises(DataError, match="cannot be read"):
        read_data(tmp_path / "nowhere.npz", DOCUMENT)
    np.savez(tmp_path / "shape.npz", X_data=[1.0], X_indices=[0], X_indptr=[0, 1], X_shape=[1.0, 2.0], y=[0])
    with pytest.raises(DataError, match="two whole numbers"):
        read_data(tmp_path / "shape.npz", DOCUMENT)


# ------------------------------------------------------------------- what train read


def test_files_without_a_header(tmp_path):
    for text in ("1.5,2,0\n3,4,1\n", "1.5;2;0\n3;4;1\n", "1,5;2;0\n3;4;1\n", "\n1.5\t2\t0\n3\t4\t1"):
        style = {
            "name": None,
            "kind": "number",
            "fill": 0.0,
            "mean": 0.0,
            "scale": 1.0,
            "indicator": False,
            "decimal": ",",
        }
        commas = {"input": {"columns": [style, style], "dtype": "float64"}} if "1,5" in text else {}
        data = reading(tmp_path, text, **commas)
        assert data.X.tolist() == [[1.5, 2], [3, 4]]
        assert data.y.tolist() == [0, 1]
    texts = {"type": "str", "values": ["no", "yes"]}
    assert reading(tmp_path, "1.5,2,no\n3,4,yes\n", classes=texts).y.tolist() == ["no", "yes"]
    # Names that are numbers: a frame's, that count from 0, and names that leave as many rows as the fit had.
    assert reading(tmp_path, "0,1,y\n1.5,2,0\n3,4,1\n").X.shape == (2, 2)
    fit = {"certificate": {"fingerprint": {"n_rows": 2}}}
    assert reading(tmp_path, "2019,2020,y\n1.5,2,0\n3,4,1\n", **fit).X.shape == (2, 2)


def test_the_label_by_its_number(tmp_path):
    (tmp_path / "data.csv").write_text("0,1.5,2\n1,3,4\n")
    data = read_data(tmp_path / "data.csv", DOCUMENT, "1")
    assert data.X.tolist() == [[1.5, 2], [3, 4]]
    assert data.y.tolist() == [0, 1]


def test_the_weights_by_the_name_in_the_file(tmp_path):
    origin = {"command": None, "dtype": "float64", "split": None, "weights": "w"}
    data = reading(tmp_path, "a,w,b,y\n1,5,2,0\n3,6,4,1\n", origin=origin)
    assert data.X.tolist() == [[1, 2], [3, 4]]
    assert data.sample_weight.tolist() == [5, 6]


def test_names_of_columns_are_compared(tmp_path, folder):
    named = {"feature_names": ["a", "b"]}
    assert reading(tmp_path, "b,other,a,y\n2,9,1,0\n4,9,3,1\n", **named).X.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(DataError, match=r"no column 'b', which is a feature of the model; there are a, c, y"):
        reading(tmp_path, "a,c,y\n1,2,0\n3,4,1\n", **named)
    X, y = np.array([[2.0, 1.0], [4.0, 3.0]]), np.array([0, 1])
    np.savez(tmp_path / "names.npz", X=X, y=y, feature_names=["b", "a"])
    assert read_data(tmp_path / "names.npz", {**DOCUMENT, **named}).X.tolist() == [[1, 2], [3, 4]]
    np.savez(tmp_path / "names.npz", X=X, y=y, feature_names=["b", "c"])
    with pytest.raises(DataError, match="no column 'a', which is a feature of the model"):
        read_data(tmp_path / "names.npz", {**DOCUMENT, **named})


def test_names_of_a_frame_are_compared():
    pd = pytest.importorskip("pandas")
    case = make_case(1, "hinge", "free")
    case.document["feature_names"] = ["a", "b", "c"]
    frame = pd.DataFrame(case.X, columns=["a", "b", "c"])
    assert check(case.document, case.arrays, frame, case.y)
    with pytest.raises(CertificateError, match="column 2 of X is 'x', the model's feature is 'b'"):
        check(case.document, case.arrays, frame.rename(columns={"b": "x"}), case.y)
    with pytest.raises(CertificateError, match="column 1 of X is 'c', the model's feature is 'a'"):
        check(case.document, case.arrays, frame[["c", "a", "b"]], case.y)
    with pytest.raises(CertificateError, match="column 4 of X is 'd', the model's feature is None"):
        check(case.document, case.arrays, frame.assign(d=1.0), case.y)


def test_a_number_of_many_digits_is_too_large_and_not_infinite(tmp_path):
    with pytest.raises(DataError, match=r"999999999999… of 100000 characters is not finite, or beyond the range"):
        reading(tmp_path, f"a,b,y\n1,2,0\n3,{'9' * 100_000},1\n")


def test_huge_cells_among_the_first_lines_are_an_error_of_the_file(tmp_path):
    with pytest.raises(DataError, match="field larger than field limit"):
        reading(tmp_path, f"a,b,y\n{'9' * 200_000},2,0\n3,4,1\n", feature_names=["a", "b"])

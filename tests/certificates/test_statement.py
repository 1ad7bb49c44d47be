"""What was fitted, in JSON values, and back."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from gapless.certificates.model_document import (
    decode_classes,
    decode_float,
    decode_parameters,
    encode_classes,
    encode_float,
    encode_parameters,
    problem_block,
    statement,
)


def through_json(value):
    return json.loads(json.dumps(value, allow_nan=False))


@pytest.mark.parametrize("value", [0.1, -0.0, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan, 1 / 3])
def test_floats_to_the_bit(value):
    again = decode_float(through_json(encode_float(value)))
    assert np.float64(again).tobytes() == np.float64(value).tobytes()
    assert decode_float(through_json(encode_float(np.float32(0.1)))) == float(np.float32(0.1))


@pytest.mark.parametrize("bad", ["1.0", "infinity", None, True, [1.0]])
def test_what_is_no_number_is_refused(bad):
    with pytest.raises(ValueError, match="expected a number"):
        decode_float(bad)


def test_parameters_come_back():
    given = {
        "C": math.inf,
        "tol": np.float64(1e-4),
        "max_iter": np.int64(1000),
        "fit_intercept": np.bool_(True),
        "loss": "hinge",
        "class_weight": {0: 1.5, 1: np.float64(2.0)},
        "time_limit": None,
        "verbose": 0,
    }
    again = decode_parameters(through_json(encode_parameters(given)))
    assert again == given
    assert isinstance(again["fit_intercept"], bool)
    assert isinstance(again["verbose"], int)


@pytest.mark.parametrize("keys", [(0, 1), ("a", "b"), (True, False), (-1.0, 1.0)])
def test_keys_of_class_weights_keep_their_type(keys):
    given = {"class_weight": {keys[0]: 1.0, keys[1]: 2.0}}
    again = decode_parameters(through_json(encode_parameters(given)))["class_weight"]
    assert again == given["class_weight"]
    assert [type(key) for key in again] == [type(key) for key in keys]


def test_balanced_is_a_string_and_stays_one():
    assert decode_parameters(encode_parameters({"class_weight": "balanced"})) == {"class_weight": "balanced"}


@pytest.mark.parametrize("thing", [np.random.RandomState(0), np.random.default_rng(0), object(), print])
def test_what_no_file_can_hold_is_null(thing):
    assert encode_parameters({"random_state": thing}) == {"random_state": None}
    assert encode_parameters({"random_state": 7}) == {"random_state": 7}


@pytest.mark.parametrize(
    ("classes", "kind"),
    [
        (np.array([-1, 1]), "int"),
        (np.array([0, 1], dtype=np.uint8), "int"),
        (np.array([-1.0, 1.0]), "float"),
        (np.array([False, True]), "bool"),
        (np.array(["a", "bc"]), "str"),
        (np.array(["a", "bc"], dtype=object), "str"),
        (np.array([1, 2**63 + 5], dtype=np.uint64), "int"),
    ],
)
def test_classes_come_back(classes, kind):
    block = encode_classes(classes)
    assert block["type"] == kind
    again = decode_classes(through_json(block))
    assert again.tolist() == classes.tolist()
    assert [type(v) for v in again.tolist()] == [type(v) for v in classes.tolist()]


def test_classes_that_cannot_be_written_are_refused():
    with pytest.raises(ValueError, match="cannot be written"):
        encode_classes(np.array([b"a", b"b"], dtype=object))
    with pytest.raises(ValueError, match="unknown class type 'code'"):
        decode_classes({"type": "code", "values": []})


def test_statement():
    problem = problem_block("logistic", "penalised", np.inf, np.ones(2), offset_scale=2)
    assert problem == {
        "loss": "logistic", "offset": "penalised", "offset_scale": 2.0, "C": "inf",
        "class_weight": [1.0, 1.0],
    }  # fmt: skip
    s = statement(
        "LogisticRegression", {"C": np.inf}, np.array(["a", "b"]), 2, problem,
        feature_names=np.array(["x", "y"], dtype=object), dtype=np.float32, target="label",
    )  # fmt: skip
    assert s == through_json(s)
    assert (s["dtype"], s["feature_names"], s["target"], s["schema"]) == ("float32", ["x", "y"], "label", 1)
    with pytest.raises(ValueError, match="1 feature names for 2 features"):
        statement("LinearSVC", {}, np.array([0, 1]), 2, problem, feature_names=["x"])
    with pytest.raises(ValueError, match="offset is 'fixed'"):
        problem_block("hinge", "fixed", 1.0, [1.0, 1.0])

"""Every scene of the lab: what it draws for any state, that its numbers are the API's, and that its program prints them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import warnings

import numpy as np
import pytest

import gapless
from gapless.lab.scenes import NAMES, scene
from gapless.lab.state import Choice, StateError, Switch
from tests.lab.states import SHAPES, random_state

MANY = int(os.environ.get("GAPLESS_LAB_STATES", "500"))


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a state may well be degenerate; the page says so in its sentence
        yield


def _look(name, seed):
    wanted = scene(name)
    state = random_state(wanted, seed)
    drawing = wanted.look(state)
    told = json.loads(json.dumps(drawing.to_json(), allow_nan=False))
    assert told["sentence"].strip()
    assert told["panels"]
    for panel in told["panels"]:
        for span in (panel["x"], panel["y"]):
            assert span[0] < span[1]
            assert np.isfinite(span).all()
    for number in told["numbers"]:
        assert number["source"]
        assert number["text"]
        if number["name"] == "gap":
            assert not number["text"].startswith("−")
    return state, drawing


@pytest.mark.parametrize("name", NAMES)
def test_any_state_is_drawn(name):
    for seed in range(len(SHAPES)):
        _look(name, seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_500_states_are_drawn(name):
    for seed in range(MANY):
        _look(name, seed)


ODD = {
    "no points": [],
    "one": [[0.0, 0.0, 1]],
    "one class": [[0.1 * i, 0.2 * (i % 5), 1] for i in range(20)],
    "equal points of both classes": [[1.0, 1.0, 1 if i % 2 else -1] for i in range(10)],
    "on a line": [[0.2 * i - 2.0, 0.2 * i - 2.0, 1 if i > 9 else -1] for i in range(20)],
}


@pytest.mark.parametrize("name", [name for name in NAMES if scene(name).points == "classes"])
@pytest.mark.parametrize("shape", ODD)
def test_odd_points_are_drawn_for_every_choice(name, shape):
    wanted = scene(name)
    choices = [control for control in wanted.controls if isinstance(control, Choice)] or [None]
    switches = [control.name for control in wanted.controls if isinstance(control, Switch)]
    for control in choices:
        for word in [word for word, _ in control.options] if control else [""]:
            for on in ("", *switches):
                values = {**({control.name: word} if control else {}), **({on: True} if on else {})}
                drawing = wanted.look(wanted.check({"points": ODD[shape], "values": values}))
                assert drawing.sentence
                json.dumps(drawing.to_json(), allow_nan=False)


@pytest.mark.parametrize("name", NAMES)
def test_the_exported_program_prints_the_numbers_of_the_page(name):
    wanted = scene(name)
    for state in (wanted.begin(), random_state(wanted, 7)):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(
                compile(wanted.script(state), name, "exec"), {"__name__": "__main__"}
            )  # our own text, from our own state
        got = dict(text.split(": ", 1) for text in printed.getvalue().splitlines())
        assert got == {number.name: str(number.value) for number in wanted.look(state).numbers}


@pytest.mark.parametrize("name", NAMES)
def test_a_state_comes_back_from_json_to_the_bit(name):
    wanted = scene(name)
    state = random_state(wanted, 3)
    again = wanted.check(json.loads(json.dumps(state.to_json())))
    assert again == state
    assert wanted.look(again).to_json() == wanted.look(state).to_json()


def _rows(state):
    table = np.array(state.points)
    return table[:, :2], table[:, 2].astype(int)


def _numbers(drawing):
    return {number.name: number.value for number in drawing.numbers}


def test_the_margin_is_linear_svcs():
    wanted = scene("margin")
    state = wanted.begin(5)
    X, y = _rows(state)
    model = gapless.LinearSVC(loss="hinge", C=1.0, tol=1e-6).fit(X, y)
    numbers = _numbers(wanted.look(state))
    assert numbers["primal P"] == model.certificate_.primal
    assert numbers["dual D"] == model.certificate_.dual
    assert numbers["margin 1/|w|"] == pytest.approx(1.0 / np.linalg.norm(model.coef_), rel=1e-12)
    assert numbers["support vectors"] == int((np.abs(model.alpha_) > 0).sum())


def test_dropping_all_but_the_support_vectors_changes_nothing():
    wanted = scene("margin")
    state = wanted.check({"points": wanted.start(1), "values": {"alone": True, "C": 0.5}})
    assert _numbers(wanted.look(state))["largest change of w"] < 1e-6


def test_a_hard_margin_that_does_not_exist_shows_its_witness():
    points = [[-1, -1, 1], [1, 1, 1], [-1, 1, -1], [1, -1, -1]]  # xor
    wanted = scene("margin")
    drawing = wanted.look(wanted.check({"points": points, "values": {"hard": True}}))
    held = drawing.panels[0].layers[-1].content
    assert sorted(held["ring"]) == [0, 1, 2, 3]  # both diagonals meet in the middle: all four rows are needed
    assert "no hard margin" in drawing.sentence


def test_the_perceptron_follows_its_trace():
    wanted = scene("perceptron")
    state = wanted.begin()
    X, y = _rows(state)
    model = gapless.Perceptron(trace=True, certify=True, tol=None, max_iter=300).fit(X, y)
    numbers = _numbers(wanted.look(state))
    assert numbers["mistakes"] == model.mistakes_ == len(model.trace_)
    assert numbers["most mistakes"] >= numbers["mistakes"]
    # theta of the trace by hand: the sum of y (x, 1) over the mistakes made
    by_hand = np.zeros(3)
    for step in model.trace_:
        by_hand += y[step.row] * np.append(X[step.row], 1.0)
        np.testing.assert_allclose(step.theta, by_hand, rtol=0, atol=1e-12)


def test_weights_of_boosting_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.choice([-1, 1], size=40)
    model = gapless.AdaBoostClassifier(n_estimators=6).fit(X, y)
    weights = np.full(40, 1 / 40)
    for stump, alpha, found in zip(model.estimators_, model.estimator_weights_, model.staged_weights(X, y)):
        weights = weights * np.exp(alpha * (stump.predict(X) != y))
        weights /= weights.sum()
        np.testing.assert_allclose(found, weights, rtol=1e-9)
        # the next round starts where this one is worth nothing: error one half under the new weights
        assert weights[stump.predict(X) != y].sum() == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ([], "points and values"),
        ({"points": 3}, "list"),
        ({"points": [[0.0, 0.0]]}, "point 0"),
        ({"points": [[0.0, float("nan"), 1]]}, "between"),
        ({"points": [[0.0, 1e9, 1]]}, "between"),
        ({"points": [[0.0, "1", 1]]}, "between"),
        ({"points": [[0.0, True, 1]]}, "between"),
        ({"points": [[0.0, 0.0, 2]]}, "label"),
        ({"points": [[0.0, 0.0, 1]] * 2001}, "2,000"),
        ({"values": {"C": float("inf")}}, "finite"),
        ({"values": {"C": 1e9}}, "between"),
        ({"values": {"C": True}}, "finite"),
        ({"values": {"hard": 1}}, "true or false"),
        ({"values": {"__class__": 1}}, "no control"),
        ({"other": 1}, "no others"),
    ],
)
def test_a_state_that_no_control_makes_is_refused(raw, said):
    with pytest.raises(StateError, match=said):
        scene("margin").check(raw)

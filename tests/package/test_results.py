"""Results print as sentences and show as tables: an instance of every class that a public function returns."""

from __future__ import annotations

import dataclasses
import html.parser
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

import gapless
from gapless import theory
from gapless._runtime import results as _results
from tests.package import surface

#: A name that a page must not take for a tag.
HOSTILE = "<script>alert('x')</script>"
#: Classes of which the walk below meets no instance, and why.
ABSENT = {"Program": "cvxpy makes it, an extra", "Page": "a page of its own"}


def two_classes() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 2))
    return X, np.where(X[:, 0] + 0.4 * random.normal(size=40) > 0.0, HOSTILE, "other")


def line(X: Any, y: Any) -> Any:
    a, b = np.polyfit(np.ravel(X), y, 1)
    return lambda t: a * np.ravel(t) + b


def draw(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = random.uniform(-1.0, 1.0, 4)
    return x, np.sin(x)


def made() -> list[Any]:
    """Results of all kinds, by calls that a user would write."""
    from gapless.files import from_frame
    from gapless.plots import OffsetsDisplay, ReliabilityDisplay, SeparationDisplay, TreeDisplay
    from gapless.tuning.calibrate import calibrate

    X, y = two_classes()
    z, three = X @ [1.0, -1.0], np.digitize(X[:, 0], [-0.5, 0.5])
    svc = gapless.LinearSVC(loss="hinge").fit(X, y)
    kernel = gapless.SVC().fit(X, three)
    logistic = gapless.LogisticRegression(C=np.inf).fit(X, y)
    boosted = gapless.AdaBoostClassifier(n_estimators=4).fit(X, y)
    bagged = gapless.BaggingClassifier(n_estimators=4, random_state=0).fit(X, y)
    tree = gapless.DecisionTreeClassifier(max_depth=2).fit(X, y)
    gauss = gapless.GaussianDiscriminant().fit(X, y)
    sides = np.where(X[:, 0] > 0.0, 1, -1)
    perceptron = gapless.Perceptron(trace=True, shuffle=False).fit(X, sides)
    xor = gapless.Perceptron(shuffle=False, certify=True).fit([[0, 0], [1, 1], [0, 1], [1, 0]], [1, 1, -1, -1])
    half = gapless.LogisticRegression().fit(X[:20], y[:20])
    tuned = gapless.tune(gapless.Ridge(), X, z, {"alpha": [0.1, 1.0]}, cv=2, nested=2)
    classified = gapless.tune(gapless.LinearSVC(), X, y, {"C": [0.1, 1.0]}, cv=2)
    risk = gapless.linear_risk(X, sides, loss="logistic", lam=0.1)
    sure = calibrate(half, X[20:30], y[20:30])
    data = from_frame(
        __import__("pandas").DataFrame({"a": [1.0, 2.0], "b": ["2020-01-02", "2021-03-04"], "y": [0, 1]}), target="y"
    )
    vote = np.random.default_rng(0).random((50, 3)) < 0.2
    f = theory.global_minimum
    net = f.wide(X[:4], 4)
    return [
        svc, kernel, logistic, tree, boosted, bagged, gauss, perceptron, xor, tuned, classified,
        gapless.Ridge().fit(X, z), gapless.Lasso(alpha=0.1).fit(X, z),
        gapless.LinearRegression().fit(X, z), gapless.SVC(kernel="linear").fit(X, y).slackness_,
        gapless.unpatch(), svc.slackness_, svc.objective_, gapless.margins(svc, X, y),
        gapless.reduce(svc, X, y), gapless.reduce(kernel, X, three),
        gapless.explain(svc, X, feature_names=[HOSTILE, "b"]), gapless.separability(X, sides), gapless.verify(svc, X, y),
        gapless.bayes_rule([[0.5], [0.1]], [0.5, 0.5]), gauss.boundary("other", HOSTILE), gapless.estimate_cost(gapless.SVC(), X),
        gapless.bounds(svc, X, y), gapless.convert(C=1.0, n=10),
        gapless.descend((lambda x: 5.0 * float(x @ x), lambda x: 10.0 * x), [1.0], schedule=0.15, stop=2),
        gapless.descend(risk, stop=3), risk, gapless.Until(steps=3),
        gapless.Schedule.inverse(0.5), gapless.path(gapless.SVC(kernel="linear"), X, sides, exact=True),
        gapless.path(gapless.LogisticRegression(), X, sides, Cs=[0.1, 1.0]), sure, sure.reliability(X[30:], y[30:]),
        gapless.threshold_for(half, {"false_positive": 1.0, "false_negative": 2.0}, X[20:], y[20:]),
        gapless.threshold_for(half, {"false_positive": 1.0, "false_negative": 2.0}, X[20:], y[20:]).predictor(),
        classified.tuning_.bound(), data, gapless.Encoding.fit(data),
        theory.averaging.averaging(gapless.LinearRegression(), lambda n, r: (r.normal(size=(n, 1)), r.normal(size=n)),
                                   np.zeros((2, 1)), n=8, members=2, repetitions=4),
        theory.bias_variance.decompose(line, draw, [0.0, 0.5], np.sin, draws=20),
        theory.bias_variance.bootstrap(line, [0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 2.0], [0.5], [0.5], draws=20),
        theory.compression.one_sided(3, 100), theory.confusion.confusion(half, X[20:], y[20:]),
        theory.convexity.of_function(np.sin, (0.0, 3.0)), theory.convexity.quadratic([[1.0]]), theory.convexity.convex(1),
        theory.convexity.standard_form(theory.convexity.convex(), {"c": theory.convexity.concave()}),
        f.at_point(net.model, net.jacobian, net.start, z[:4]), net, f.two_wells(), f.ends(f.two_wells(), [[1.0]], stop=5),
        f.grid_search(lambda t: float(t @ t), [(-1.0, 1.0)]), theory.growth.halfspaces(2), theory.growth.dichotomies(X[:4]),
        theory.growth.split(X[:4]), theory.hoeffding.solve(n=100, epsilon=0.1), theory.hoeffding.held_out(3, 100),
        theory.hoeffding.urn(0.5, 10, 0.2, draws=50), theory.hoeffding.central_limit(0.5, 10, draws=50),
        theory.hoeffding.verification(10, 5, draws=50), theory.leave_one_out.leave_one_out(svc, X, y),
        theory.learning_curve.learning_curve(gapless.LinearRegression(), (X, z), [5, 10], "squared", repeats=3, test=10),
        theory.overfitting.overfitting(values=(1, 2), n=20, repetitions=3), theory.order_statistics.quantile_interval([1.0, 2.0]),
        theory.pac_bayes.linear([1.0, 0.0], X, sides), theory.pick_to_learn.pick_to_learn(gapless.LinearSVC(), X, sides, first=1),
        theory.support_vectors.margin_violation(svc, X, y), theory.vc.shatters(X[:3]), theory.vc.bound(1000, 3),
        theory.vc.sample_size(0.1, 0.1, 3), theory.vc.tradeoff([1, 2], [0.2, 0.1], n=1000),
        theory.vc.ghost_sample(20, 0.3, draws=20), theory.votes.votes(vote), theory.pseudo_inverse.cost(20, 3),
        theory.vc.effective_dimension(X), gapless.path(gapless.SVC(), X, sides, exact=True).score_steps(X, sides),
        OffsetsDisplay.from_data(X, sides), ReliabilityDisplay.from_estimator(half, X[20:], y[20:]),
        SeparationDisplay.from_data(X, sides), TreeDisplay.from_estimator(tree),
    ]  # fmt: skip


def inside(value: Any, met: dict[type, Any], depth: int = 0) -> None:
    """The first instance of each class of gapless in a value: its fields, attributes, entries."""
    cls = type(value)
    if depth > 8 or cls in met or isinstance(value, str | bytes | np.ndarray):
        return
    if isinstance(value, dict | list | tuple) and not hasattr(cls, "_fields"):
        for entry in [*(value.values() if isinstance(value, dict) else value)][:200]:
            inside(entry, met, depth + 1)
        return
    if not cls.__module__.startswith("gapless."):
        return
    met[cls] = value
    names = [f.name for f in dataclasses.fields(cls)] if dataclasses.is_dataclass(cls) else getattr(cls, "_fields", [])
    for name in [*names, *vars(value)] if hasattr(value, "__dict__") else names:
        inside(getattr(value, name), met, depth + 1)


@cache
def instances() -> dict[type, Any]:
    met: dict[type, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inside(made(), met)
    return {cls: value for cls, value in met.items() if cls in results()}


@cache
def results() -> frozenset[type]:
    return frozenset(cls for cls in surface.results() if surface.is_result(cls))


class Checker(html.parser.HTMLParser):
    """Tags of a fragment, each closed in order, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_there_is_an_instance_of_every_result():
    missing = {cls.__name__ for cls in results()} - {cls.__name__ for cls in instances()} - set(ABSENT)
    assert missing == set()


def test_every_result_prints_as_a_sentence_and_shows_as_a_table():
    for cls, value in instances().items():
        said = str(value)
        if cls.__module__.startswith("gapless.judge") and cls.__name__ == "Claim":
            continue  # the judge shares no code; a Verdict shows its claims
        assert " " in said or cls is gapless.Schedule, cls  # a schedule is its formula: 0.5/t
        assert "array(" not in said, cls
        assert "object at 0x" not in said, cls
        assert len(repr(value)) < 20_000, cls
        assert "array(" not in repr(value), cls
        page = Checker()
        page.feed(value._repr_html_())
        page.close()
        assert page.open == [], cls
        assert page.tags <= {"p", "pre", "table", "tr", "th", "td", "br"}, cls
        assert "table" in page.tags or cls.__name__ == "Verdict", cls
        assert said.split()[0] in page.text, cls


@pytest.mark.parametrize("name", ["Explanation", "Margins", "Confusion", "Threshold"])
def test_names_of_the_user_are_escaped(name):
    value = next(value for cls, value in instances().items() if cls.__name__ == name)
    shown = value._repr_html_()
    assert "<script" not in shown
    if HOSTILE in str(value):
        assert "&lt;script&gt;" in shown


def test_a_field_that_cannot_be_shown_does_not_raise():
    class Broken:
        def __str__(self) -> str:
            raise RuntimeError("no")

    @_results.result
    @dataclasses.dataclass
    class Holder:
        """One field."""

        field: Any

        def __str__(self) -> str:
            return f"it holds {self.field}"

    assert "<pre>" in Holder(Broken())._repr_html_()
    shown = Holder("a & b")._repr_html_()
    assert "<td>a &amp; b</td>" in shown
    assert repr(Holder(1)) == "it holds 1"


def test_columns_stand_side_by_side_and_long_ones_are_cut():
    found = theory.vc.tradeoff(np.arange(1, 41), np.linspace(0.4, 0.1, 40), n=1000)._repr_html_()
    assert "<th>dimensions</th><th>e_in</th><th>penalty</th>" in found
    assert found.count("<tr>") == 1 + 3 + 1 + 13  # fields n, delta, kind; 12 rows and the dots
    assert "<td>39</td><td>40</td>" in found

"""Cuts for costs: closed forms, enumeration, and intervals that hold for cuts which the rows chose."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from gapless import LinearSVC, LogisticRegression, calibrate, threshold_for
from gapless.tuning.intervals import mean_interval


class Scores:
    """A classifier whose score is its one column."""

    classes_ = np.array([0, 1])

    def decision_function(self, X):
        return np.asarray(X).ravel()


def sample(n, seed, share=0.5, apart=1.0):
    """Scores N(-apart, 1) and N(apart, 1)."""
    random = np.random.default_rng(seed)
    y = (random.random(n) < share).astype(int)
    return random.standard_normal(n) + apart * (2 * y - 1), y


def expected_cost(t, share, apart, fp, fn):
    return fn * share * norm.cdf(t - apart) + fp * (1 - share) * norm.sf(t + apart)


def test_cut_of_the_data_is_the_cheapest_of_all():
    s, y = sample(40, 0)
    s = np.round(s, 1)  # ties
    found = threshold_for(Scores(), {"false_positive": 1, "false_negative": 3}, s[:, None], y)

    def cost(t):
        return np.mean(np.where(y == 1, 3.0 * (s <= t), 1.0 * (s > t)))

    every = min(cost(t) for t in [-math.inf, *np.unique(s)])
    assert found.data.cost == pytest.approx(every)
    assert cost(found.data.score) == pytest.approx(every)
    assert found.data.counts.sum() == 40
    assert found.predictor().predict(s[:, None]).tolist() == (s > found.data.score).astype(int).tolist()


def test_theory_is_bayes_rule_for_two_normals():
    """Equal variances: log-odds are 2 a s + ln(share odds), so that the best cut is known in closed form."""
    s, y = sample(40_000, 1, share=0.2)
    fp, fn = 1.0, 4.0
    found = threshold_for(Scores(), {"false_positive": fp, "false_negative": fn}, s[:, None], y)
    best = (math.log(fp / fn) - math.log(0.2 / 0.8)) / 2.0
    assert found.probability == pytest.approx(fp / (fp + fn))
    assert found.theory.score == pytest.approx(best, abs=0.05)
    assert found.data.score == pytest.approx(best, abs=0.25)
    assert expected_cost(found.theory.score, 0.2, 1.0, fp, fn) <= expected_cost(best, 0.2, 1.0, fp, fn) * 1.01
    assert expected_cost(best, 0.2, 1.0, fp, fn) in found.data.interval


def test_full_matrix_of_costs():
    s, y = sample(2000, 2)
    costs = [[-1.0, 4.0], [6.0, 0.5]]
    found = threshold_for(Scores(), costs, s[:, None], y)
    assert found.probability == pytest.approx(5.0 / (5.0 + 5.5))
    each = np.asarray(costs)[y, (s > found.data.score).astype(int)]
    assert found.data.cost == pytest.approx(each.mean())
    assert found.data.interval.low <= each.mean() <= found.data.interval.high


def test_intervals_hold_for_cuts_that_the_rows_chose_and_the_plain_one_would_not():
    """Many runs of a known truth. Scores without any meaning, costs that are rare and large: the chosen cut looks cheap."""
    plain = chosen = fixed = 0
    runs, fp, fn = 300, 1.0, 1.0
    for seed in range(runs):
        random = np.random.default_rng(seed)
        s, y = random.standard_normal(60), random.integers(0, 2, 60)
        found = threshold_for(Scores(), {"false_positive": fp, "false_negative": fn}, s[:, None], y, delta=0.1)
        truth = 0.5  # whatever the cut
        chosen += truth in found.data.interval
        fixed += truth in found.as_it_is.interval
        each = np.where(y == 1, s <= found.data.score, s > found.data.score)
        plain += abs(each.mean() - truth) <= norm.ppf(0.95) * 0.5 / math.sqrt(60)
    assert chosen >= 0.9 * runs
    assert fixed >= 0.9 * runs
    assert plain < 0.9 * runs


def test_mean_interval_holds_and_is_narrow_where_the_variance_is_small():
    failed = 0
    for seed in range(400):
        values = np.random.default_rng(seed).beta(0.3, 3.0, 80)
        failed += 0.3 / 3.3 not in mean_interval(values, 0.0, 1.0, 0.1)
    assert failed <= 40
    still = mean_interval(np.full(2000, 0.25), 0.0, 1.0, 0.05)
    assert still.high - still.low < 0.02 < 2 * math.sqrt(math.log(2 / 0.05) / 4000)


def test_class_weights_move_the_cut_and_say_so():
    random = np.random.default_rng(4)
    X = random.standard_normal((4000, 2))
    y = (random.random(4000) < 1 / (1 + np.exp(-(2 * X[:, 0] - 2.0)))).astype(int)
    costs = {"false_positive": 1.0, "false_negative": 5.0}
    plain = LogisticRegression(C=1e3).fit(X[:2000], y[:2000])
    weighted = LogisticRegression(C=1e3, class_weight={0: 1.0, 1: 5.0}).fit(X[:2000], y[:2000])
    first = threshold_for(plain, costs, X[2000:], y[2000:])
    second = threshold_for(weighted, costs, X[2000:], y[2000:])
    assert first.theory.probability == pytest.approx(1 / 6)
    assert second.theory.probability == pytest.approx(0.5)  # the weights carry the costs
    assert "twice" in second.imbalance
    # two ways to the same rule, where the model is right
    same = first.predictor("theory").predict(X[2000:]) == second.predictor("theory").predict(X[2000:])
    assert same.mean() > 0.97
    assert first.theory.cost < first.as_it_is.cost
    third = threshold_for(calibrate(weighted, X[2000:3000], y[2000:3000]), costs, X[3000:], y[3000:])
    assert third.theory.probability == pytest.approx(1 / 6)


def test_weights_are_repetitions():
    s, y = sample(200, 6)
    weight = np.where(y == 1, 3.0, 1.0)
    costs = {"false_positive": 1.0, "false_negative": 2.0}
    rows = np.repeat(np.arange(200), weight.astype(int))
    found = threshold_for(Scores(), costs, s[:, None], y, sample_weight=weight)
    again = threshold_for(Scores(), costs, s[rows][:, None], y[rows])
    assert found.data.cost == pytest.approx(again.data.cost)
    assert found.data.score == pytest.approx(again.data.score)
    assert found.data.interval is None
    assert found.as_it_is.interval.low <= found.as_it_is.cost <= found.as_it_is.interval.high


def test_own_rows_and_bad_input():
    s, y = sample(300, 7)
    X = np.column_stack([s, np.ones(300)])
    model = LinearSVC().fit(X, y)
    with pytest.warns(UserWarning, match="trained on"):
        found = threshold_for(model, [[0, 1], [1, 0]], X, y)
    assert found.data.interval is None
    assert "trained on" in str(found)
    for costs, message in [
        ([[0, 1]], "2 x 2"),
        ([[0, 0], [0, 0]], "every cut is as good"),
        ([[1, 0], [1, 0]], "costs less than the right answer"),
        ({"false_positive": 1}, "false_negative"),
        ([[0, np.inf], [1, 0]], "finite"),
    ]:
        with pytest.raises(ValueError, match=message):
            threshold_for(Scores(), costs, s[:, None], y)
    flipped = threshold_for(Scores(), {"false_positive": 1, "false_negative": 9}, s[:, None], y, positive=0)
    assert flipped.probability == pytest.approx(0.9)


# -- a cut that is fixed beforehand ------------------------------------------------------------------------------------


def test_a_fixed_cut_is_what_the_probabilities_say():
    s, y = sample(400, 3)
    model = LogisticRegression().fit(s[:200, None], y[:200])
    X, truth = s[200:, None], y[200:]
    called = model.predict_proba(X)[:, 1] >= 0.8  # what P >= 0.8 means, row by row
    found = threshold_for(model, {"false_positive": 1, "false_negative": 10}, X, truth, at=0.8)
    assert np.array_equal(found.predictor().predict(X) == 1, called)
    assert np.array_equal(found.predictor("fixed").predict(X) == 1, called)
    assert found.fixed.cost == pytest.approx(np.mean(10.0 * (truth * ~called) + (1 - truth) * called))
    assert found.fixed.counts.tolist() == [[sum(~called & (truth == i)), sum(called & (truth == i))] for i in (0, 1)]
    # The rows did not choose it: the interval is that of a mean of independent costs.
    each = np.where(truth == 1, 10.0 * ~called, 1.0 * called)
    assert found.fixed.interval == mean_interval(each, 0.0, 10.0, 0.05)
    assert "fixed    score >= 1.38629 (probability >= 0.8)" in str(found)
    assert found.theory.probability == pytest.approx(1 / 11)  # that of the costs stands beside it
    said = str(found)
    assert said.startswith("as asked, call it positive where its probability is at least 0.8; the costs say")
    assert "<td>fixed</td>" in found._repr_html_()
    plain = threshold_for(model, {"false_positive": 1, "false_negative": 10}, X, truth)
    assert str(plain).startswith("call it positive where its probability is above 0.0909")
    assert "<td>fixed</td>" not in plain._repr_html_()
    without = threshold_for(model, None, X, truth, at=np.float64(0.8))
    assert without.fixed.cost == pytest.approx(np.mean(called != truth))
    assert threshold_for(model, {"false_positive": 1, "false_negative": 10}, X, truth).fixed is None


def test_a_fixed_cut_holds_at_the_probability_itself():
    # Five trees give the probabilities 0, 0.2, ..., 1: those of 0.8 itself are called, with 0.81 they are not.
    model = Fifths()
    X = np.repeat(np.arange(6) / 5, 3)[:, None]
    y = (np.arange(18) % 2).astype(int)
    at = threshold_for(model, None, X, y, at=0.8).predictor().predict(X)
    assert np.array_equal(at == 1, X[:, 0] >= 0.8)
    assert np.array_equal(threshold_for(model, None, X, y, at=0.81).predictor().predict(X) == 1, X[:, 0] >= 0.81)


class Fifths:
    """Probabilities alone, as an ensemble of five votes has them."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        p = np.asarray(X, float).ravel()
        return np.column_stack([1.0 - p, p])


def test_a_fixed_cut_of_scores_without_probabilities():
    s, y = sample(500, 5)
    found = threshold_for(Scores(), None, s[:, None], y, at=0.8)
    sure = calibrate(Scores(), s[:, None], y, "sigmoid")
    called = sure.predict_proba(s[:, None])[:, 1] >= 0.8
    assert np.array_equal(found.predictor().predict(s[:, None]) == 1, called)
    assert "Massart" in str(found.fixed.interval)  # the rows chose the sigmoid
    with pytest.raises(ValueError, match="at= needs probabilities"):
        threshold_for(Scores(), None, s[:, None], np.ones(500, int), at=0.8)


@pytest.mark.parametrize("at", [0, 1, 1.5, np.nan, True, np.float64(-0.5), "half"])
def test_a_fixed_cut_is_a_probability(at):
    s, y = sample(20, 6)
    with pytest.raises(
        ValueError, match=r"at is a probability strictly between 0 and 1; got (0|1|1.5|nan|True|-0.5|'half')$"
    ):
        threshold_for(Scores(), None, s[:, None], y, at=at)
    with pytest.raises(ValueError, match="give costs, or a fixed cut: at=0.8"):
        threshold_for(Scores(), None, s[:, None], y)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        (
            {"false_positive": 1, "false_negative": np.inf},
            r"costs\[1\]\[0\], for rows of class 1 called 0, is infinite",
        ),
        ([[0, np.inf], [1, 0]], r"costs\[0\]\[1\], for rows of class 0 called 1, is infinite: .* Give a finite cost"),
        ([[-np.inf, 1], [1, 0]], r"costs\[0\]\[0\], for rows of class 0 called 0, is minus infinite"),
        ([[0, 1], [np.nan, 0]], r"costs\[1\]\[0\], for rows of class 1 called 0, is not a number"),
        ([[0, 1, 2]], r"a 2 x 2 matrix of numbers; got shape \(1, 3\)"),
    ],
)
def test_costs_that_are_no_numbers_are_named(costs, message):
    s, y = sample(20, 7)
    with pytest.raises(ValueError, match=message):
        threshold_for(Scores(), costs, s[:, None], y)

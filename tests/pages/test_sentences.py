"""What the page says is said once, is true by another computation, and nothing is said of what is not there."""

import re

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gapless
from gapless.pages.report import PLAN
from gapless.pages.sections.costs import cost_interval
from tests.pages.reading import cells, number, section, styled, tree, words
from tests.pages.test_every_estimator import numbers, rows

pytest.importorskip("jinja2")

RATE = r"\d+(?:\.\d+)?(?:e-\d+)? %"
BETWEEN = re.compile(rf"({RATE}) (?:to|and) ({RATE})")


def report(model, *data, **options):
    return tree(gapless.report(model, *data, pictures=False, **options))


def exact(k, n, confidence=0.95):
    """Clopper and Pearson's interval by scipy."""
    found = binomtest(k, n).proportion_ci(confidence, method="exact")
    return found.low, found.high


def cancer(test=142):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = np.log(X + 1.0), np.where(y == 1, "benign", "malignant")
    return X[test:], y[test:], X[:test], y[:test]


@pytest.fixture(scope="module")
def two_classes():
    X, y, X_test, y_test = cancer()
    model = gapless.LinearSVC(loss="hinge", C=0.1).fit(X, y)
    return model, report(model, X, y, X_test=X_test, y_test=y_test), (X, y, X_test, y_test)


# Contents


def test_the_contents_name_every_section_and_stay_in_sight(two_classes):
    _, root, _ = two_classes
    nav = root.find("body/nav")
    shorts = {name: short for name, short, *_ in PLAN}
    present = [each.get("id") for each in root.iter("section")]
    assert [(a.get("href"), words(a)) for a in nav.iter("a")] == [(f"#{name}", shorts[name]) for name in present]
    style = root.find("head/style").text
    assert re.search(r"\nnav \{[^}]*position: sticky; top: 0", style)
    assert not list(root.iter("script"))


def test_a_section_without_anything_to_say_is_not_there():
    X, y = load_diabetes(return_X_y=True)
    root = report(gapless.Ridge().fit(X, y), X, y)
    present = {each.get("id") for each in root.iter("section")}
    assert present == {"asked", "found", "optimum", "new-rows", "features", "judge", "data", "repeat", "versions"}


@pytest.mark.parametrize("model", [gapless.LinearSVC(), gapless.AdaBoostClassifier(n_estimators=5), gapless.SVC()])
def test_nothing_is_listed_as_not_given(model):
    X, y = rows()
    X_test, y_test = rows(n=60, seed=5)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    told = words(report(pipeline, X, y, X_test=X_test, y_test=y_test).find("body"))
    assert not re.search(r"not given|does not apply|why not|refused", told, re.IGNORECASE)


# One interval


def test_one_error_has_one_interval(two_classes):
    model, root, (_, _, X_test, y_test) = two_classes
    k, n = int((model.predict(X_test) != y_test).sum()), len(y_test)
    low, high = exact(k, n)
    shown = tuple(f"{100 * end:.2f} %" for end in (low, high))
    card = next(each for each in styled(root, "card") if "error on new rows" in words(each))
    found = [BETWEEN.findall(words(part)) for part in (card, section(root, "new-rows"), section(root, "bounds"))]
    assert all(each == [shown] for each in found), found  # each place has it, and no other


def test_the_cost_of_errors_of_one_price_has_the_interval_of_the_error(two_classes):
    model, root, (_, _, X_test, y_test) = two_classes
    k, n = int((model.predict(X_test) != y_test).sum()), len(y_test)
    table = next(each for each in section(root, "errors").iter("table") if "mean cost" in words(each))
    first = cells(table)[1]
    assert number(first[1]) == pytest.approx(k / n, rel=1e-3)
    assert [number(end) for end in first[2].split(" to ")] == pytest.approx(exact(k, n), rel=1e-3)


def test_intervals_of_costs():
    counts = np.array([[80, 3], [5, 12]])
    low, high = cost_interval(counts, np.array([[0.0, 1.0], [5.0, 0.0]]), 0.05)
    one, five = exact(3, 100, 0.975), exact(5, 100, 0.975)
    assert (low, high) == pytest.approx((one[0] + 5 * five[0], one[1] + 5 * five[1]))
    gain = cost_interval(counts, np.array([[-2.0, 0.0], [0.0, 0.0]]), 0.05)
    right = exact(80, 100)
    assert gain == pytest.approx((-2 * right[1], -2 * right[0]))
    many = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 4.0], [5.0, 6.0, 0.0]])
    width = 6.0 * np.sqrt(np.log(2 / 0.05) / (2 * 900))
    mean = (100 * many).sum() / 900
    assert cost_interval(np.full((3, 3), 100), many, 0.05) == pytest.approx((mean - width, mean + width))


def test_models_that_the_test_rows_compared_share_delta():
    X, y = rows()
    X_test, y_test = rows(n=60, seed=5)
    model = gapless.LinearSVC().fit(X, y)
    root = report(model, X, y, X_test=X_test, y_test=y_test, tested=10)
    k = int((model.predict(X_test) != y_test).sum())
    low, high = exact(k, 60, 0.995)
    told = words(section(root, "new-rows"))
    assert f"between {100 * low:.2f} % and {100 * high:.2f} %: the exact 99.5 % interval" in told
    assert "compared 10 models" in told


def test_the_interval_of_a_file_with_training_rows_is_of_the_other_rows():
    X, y, X_test, y_test = cancer()
    model = gapless.LinearSVC(loss="hinge", C=0.1).fit(X, y)
    mixed, labels = np.vstack([X[:200], X_test]), np.r_[y[:200], y_test]
    root = report(model, X, y, X_test=mixed, y_test=labels, test_name="all.csv", data_name="train.csv")
    told = words(section(root, "new-rows"))
    assert "200 of the 342 test rows also occur among the training rows and are left out" in told
    assert "of the other 142" in told
    k = int((model.predict(X_test) != y_test).sum())
    low, high = exact(k, 142)
    assert BETWEEN.findall(told) == [(f"{100 * low:.2f} %", f"{100 * high:.2f} %")]
    matrix = styled(section(root, "errors"), "matrix")[0]
    assert sum(int(row[-1]) for row in cells(matrix)[1:]) == 142


@pytest.mark.parametrize(
    "model", [gapless.DecisionTreeClassifier(max_depth=4), gapless.Ridge(), gapless.AdaBoostClassifier(n_estimators=5)]
)
def test_rows_of_every_kind_of_model_are_known_again(model):
    """Trees see their rows in float32."""
    X, y, X_test, y_test = cancer()
    if isinstance(model, gapless.Ridge):
        y, y_test = (y == "benign").astype(float), (y_test == "benign").astype(float)
    model = model.fit(X, y)
    root = report(model, X, y, X_test=np.vstack([X[:50], X_test]), y_test=np.r_[y[:50], y_test])
    assert "50 of the 192 test rows" in words(section(root, "new-rows"))


def test_rows_held_out_of_one_file_are_new_though_they_coincide():
    X, y = rows()
    model = gapless.LinearSVC().fit(X, y)
    held, labels = np.vstack([X[:3], rows(n=57, seed=5)[0]]), np.r_[y[:3], rows(n=57, seed=5)[1]]
    told = words(section(report(model, X, y, X_test=held, y_test=labels, data_name="one.csv"), "new-rows"))
    assert "3 of the 60 test rows have the same values as a training row" in told
    low, high = exact(int((model.predict(held) != labels).sum()), 60)
    assert BETWEEN.findall(told) == [(f"{100 * low:.2f} %", f"{100 * high:.2f} %")]


# Errors


def test_the_baseline_balanced_error_and_auc_are_those_of_scikit_learn(two_classes):
    model, root, (_, y, X_test, y_test) = two_classes
    common = max(set(y), key=list(y).count)
    card = next(each for each in styled(root, "card") if "without a model" in words(each))
    assert words(card) == f"without a model{100 * np.mean(y_test != common):.2f} %error of always answering “{common}”"
    told = words(section(root, "new-rows"))
    balanced = 1.0 - balanced_accuracy_score(y_test, model.predict(X_test))
    assert f"balanced error{100 * balanced:.2f} %" in told
    area = roc_auc_score(y_test == "malignant", model.decision_function(X_test))
    assert f"AUC{area:.4g}: how often a row of “malignant” has a higher score than a row of “benign”" in told


def test_a_model_that_is_not_better_than_the_commonest_class_is_said_not_to_be():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(600, 3)), np.where(np.arange(600) % 30 == 0, "rare", "usual")
    model = gapless.LinearSVC().fit(X[:300], y[:300])
    told = words(section(report(model, X[:300], y[:300], X_test=X[300:], y_test=y[300:]), "new-rows"))
    low, high = exact(int((model.predict(X[300:]) != y[300:]).sum()), 300)
    always = np.mean(y[300:] == "rare")
    assert low <= always <= high
    assert f"Always answering “usual” has an error of {100 * always:.2f} %, which lies in the interval" in told
    assert "do not show that the model is better" in told


def test_a_model_that_is_better_is_not_doubted(two_classes):
    _, root, _ = two_classes
    assert "do not show" not in words(section(root, "new-rows"))


def test_a_regression_is_compared_with_the_mean():
    X, y = load_diabetes(return_X_y=True)
    model = gapless.Ridge(alpha=0.1).fit(X[100:], y[100:])
    root = report(model, X[100:], y[100:], X_test=X[:100], y_test=y[:100])
    off = np.sqrt(np.mean((y[:100] - y[100:].mean()) ** 2))
    card = next(each for each in styled(root, "card") if "without a model" in words(each))
    assert f"without a model{off:.4g}" in words(card)
    table = next(iter(section(root, "new-rows").iter("table")))
    line = next(row for row in cells(table) if row[0].startswith("test, always the training mean"))
    assert number(line[1]) == pytest.approx(off, rel=1e-4)


@pytest.mark.parametrize("classes", [2, 20])
def test_there_is_one_confusion_table(classes):
    random = np.random.default_rng(1)
    y = np.arange(800) % classes
    X = random.normal(size=(800, 12)) + 1.3 * random.normal(size=(classes, 12))[y]
    labels = np.array([f"class {k:02}" for k in range(classes)])[y]
    model = gapless.LogisticRegression().fit(X[:400], labels[:400])
    pytest.importorskip("matplotlib")
    root = tree(gapless.report(model, X[:400], labels[:400], X_test=X[400:], y_test=labels[400:]))
    tables = [table for table in styled(root, "matrix") if "called" in words(table)]
    assert len(tables) == 1
    assert not any("taken for" in image.get("alt", "") for image in root.iter("img"))
    head, *lines = cells(tables[0])
    assert head[1:-1] == sorted(set(labels)) == [line[0] for line in lines]
    counts = np.array([[int(cell) for cell in line[1:-1]] for line in lines])
    assert np.array_equal(counts, confusion_matrix(labels[400:], model.predict(X[400:])))
    assert [int(line[-1]) for line in lines] == counts.sum(axis=1).tolist()


# Formulas


def test_the_objective_is_typeset_with_the_numbers_of_the_fit():
    X, y = rows()
    root = report(gapless.LinearSVC(C=0.25).fit(X, y), X, y)
    formula = styled(section(root, "asked"), "set")[0]
    assert formula.get("aria-label") == "1/2|w|^2 + 0.25 * sum_i max(0, 1 - y_i(<w,x_i> + b))^2"
    half, loss = formula.iter("math")
    assert [words(part) for part in half.iter("mfrac")] == ["12"]
    assert words(half) == "12‖w‖2"
    assert words(loss) == "+0.25·∑imax(0,1−yi(⟨w,xi⟩+b))2"
    assert [words(part) for part in loss.iter("munder")] == ["∑i"]
    square = list(loss.iter("msup"))[-1]
    assert words(square[1]) == "2"
    plain = styled(section(root, "asked"), "plain")[0]
    assert words(plain) == formula.get("aria-label")  # for a browser without MathML


LINEAR = [
    gapless.LinearSVC(), gapless.LinearSVC(loss="hinge", penalize_intercept=True), gapless.LinearSVC(fit_intercept=False),
    gapless.LogisticRegression(C=1e-5), gapless.LogisticRegression(C=np.inf), gapless.LeastSquaresClassifier(),
    gapless.LinearSVC(class_weight="balanced"),
]  # fmt: skip
KERNEL = [
    gapless.SVC(), gapless.SVC(kernel="poly"), gapless.SVC(kernel="sigmoid"), gapless.SVC(C=np.inf), gapless.NuSVC(nu=0.3),
]  # fmt: skip
NUMBERS = [gapless.LinearRegression(), gapless.Ridge(), gapless.SVR(), gapless.NuSVR(), gapless.OneClassSVM()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "data"),
    [
        *((model, rows(k)) for model in LINEAR for k in (2, 3)),
        *((model, rows()) for model in KERNEL),
        *((model, numbers()) for model in NUMBERS),
    ],
    ids=lambda value: repr(value) if hasattr(value, "fit") else "",
)
def test_every_objective_is_typeset(model, data):
    X, y = data
    model = type(model)(**model.get_params())
    model = model.fit(X) if isinstance(model, gapless.OneClassSVM) else model.fit(X, y)
    asked = section(report(model, X, None if isinstance(model, gapless.OneClassSVM) else y), "asked")
    shown = " ".join(each.get("aria-label") for each in styled(asked, "set"))
    assert shown.replace(" ", "") in str(model.objective_).replace("minimise ", "").replace(",  ", " ").replace(" ", "")
    assert list(asked.iter("math"))


# Bounds


@pytest.fixture(scope="module")
def bounded():
    X, y, X_test, y_test = cancer()
    model = gapless.LinearSVC(loss="hinge", C=0.1).fit(X, y)
    found = gapless.bounds(model, X, y, X_test=X_test, y_test=y_test)
    return model, found, section(report(model, X, y, X_test=X_test, y_test=y_test), "bounds"), (y, X_test, y_test)


def places(element, tag):
    found = [re.search(r"left:([\d.]+)%(?:;width:([\d.]+)%)?", each.get("style", "")) for each in element.iter(tag)]
    return [tuple(float(part) for part in each.groups() if part) for each in found if each]


def test_bars_of_bounds_stand_on_a_scale_with_the_error_that_was_seen(bounded):
    model, found, bounds, (y, X_test, y_test) = bounded
    bars = styled(bounds, "bars")[0]
    ticks = [words(each) for each in styled(styled(bars, "axis")[0], "track")[0]]
    assert ticks[0] == "0 %"
    most = number(ticks[-1])
    assert [number(tick) for tick in ticks] == pytest.approx(np.linspace(0, most, 5))
    lines = [each for each in styled(bars, "bar") if list(each.iter("i"))]
    assert [words(styled(line, "name")[0]) for line in lines] == [row.method for row in found.rows]
    for line, row in zip(lines, found.rows):
        (left, width), *_ = places(line, "i")
        assert left == 0.0
        assert width == pytest.approx(100 * min(row.value, 1.0) / most, abs=1e-2)
        seen, common = places(line, "s")
        error = np.mean(model.predict(X_test) != y_test)
        assert seen[0] == pytest.approx(100 * error / most, abs=1e-2)
        always = max(set(y), key=list(y).count)
        assert common[0] == pytest.approx(100 * np.mean(y_test != always) / most, abs=1e-2)
    legend = words(styled(bounds, "legend")[0])
    assert f"seen on the test rows: {100 * error:.2f} %" in legend


def test_formulas_of_bounds_hold_for_their_values(bounded):
    """The equations as the page prints them, with the values that it prints, by scipy."""
    from scipy.stats import binom

    _, found, bounds, _ = bounded
    shown = {
        words(styled(each, "lead")[0]).rstrip(":"): styled(each, "set")[0].get("aria-label")
        for each in styled(bounds, "formula")
    }
    assert list(shown) == [row.method for row in found.rows]
    k, n, delta = re.fullmatch(
        r"sum_\(j = 0\)\^(\d+) binom\((\d+), j\) e\^j \(1 - e\)\^\(\d+ - j\) = (\S+)", shown["held-out"]
    ).groups()
    assert binom.cdf(int(k), int(n), found["held-out"].value) == pytest.approx(float(delta), rel=1e-2)
    delta, k, n = re.fullmatch(
        r"(\S+) \* P\(N >= (\d+) \+ 1\) = (\d+) e \* P\(N = \d+\)", shown["compression"]
    ).groups()
    e, k, n = found["compression"].value, int(k), int(n)
    assert float(delta) * binom.sf(k, n, e) == pytest.approx(n * e * binom.pmf(k, n, e), rel=1e-2)


# Weights


def test_weights_per_unit_and_per_standard_deviation_are_those_of_the_columns():
    X, y, *_ = cancer()
    X = np.exp(X[:, :5]) * [1000.0, 1.0, 0.01, 1.0, 5.0]
    model = make_pipeline(StandardScaler(), gapless.LogisticRegression()).fit(X, y)
    features = section(report(model, X, y), "features")
    bars = styled(features, "bars")[0]
    assert words(styled(bars, "head")[0]) == "featureper standard deviationper unit"
    names, per_deviation, per_unit = [], [], []
    for line in styled(bars, "bar")[1:]:
        names.append(int(words(styled(line, "name")[0]).removeprefix("x")))
        one, two = (number(words(figure)) for figure in styled(line, "figure"))
        per_deviation.append(one)
        per_unit.append(two)
    assert per_deviation == pytest.approx(np.array(per_unit) * X[:, names].std(axis=0), rel=2e-3)
    offset = number(re.search(r"offset b = (\S+) in the units", words(features)).group(1))
    order = np.argsort(names)
    scores = X @ np.array(per_unit)[order] + offset  # by hand, from the figures on the page
    assert scores == pytest.approx(model.decision_function(X), abs=0.02 * np.abs(scores).max())


def test_columns_that_were_mixed_have_no_units():
    from sklearn.decomposition import PCA

    X, y, *_ = cancer()
    mixed = make_pipeline(StandardScaler(), PCA(3), gapless.LogisticRegression()).fit(X, y)
    told = words(section(report(mixed, X, y), "features"))
    assert "weights have no units of the data" in told
    assert "in the units of the data" not in told
    twice = make_pipeline(StandardScaler(), StandardScaler(with_mean=False), gapless.LogisticRegression()).fit(X, y)
    once = make_pipeline(StandardScaler(), gapless.LogisticRegression()).fit(X, y)
    shown = [words(styled(section(report(model, X, y), "features"), "bars")[0]) for model in (twice, once)]
    assert shown[0] == shown[1]


def test_weights_of_many_classes_stand_in_one_table():
    random = np.random.default_rng(1)
    y = np.arange(600) % 20
    X = (random.normal(size=(600, 6)) + 2 * random.normal(size=(20, 6))[y]) * [1.0, 100.0, 0.01, 1.0, 1.0, 1.0]
    model = gapless.LogisticRegression().fit(X, y)
    features = section(report(model, X, y), "features")
    head, *lines = cells(styled(features, "matrix")[0])
    assert head == ["feature", *(str(k) for k in range(20))]
    shown = {line[0]: [number(cell) for cell in line[1:]] for line in lines}
    for j in range(6):
        assert shown[f"x{j}"] == pytest.approx(
            model.coef_[:, j] * X[:, j].std(), abs=6e-3 * np.abs(model.coef_ * X.std(0)).max()
        )
    (units,) = [table for table in features.iter("table") if "offset b" in words(table)]
    head, *lines = cells(units)
    for k, line in enumerate(lines):
        assert [number(cell) for cell in line[2:]] == pytest.approx(
            [model.coef_[k, int(name[1:])] for name in head[2:]], rel=1e-2, abs=1e-12
        )


# Others


def test_there_are_no_others_where_there_are_none():
    X, y = numbers()
    model = gapless.SVR(epsilon=0.0, C=1e-3).fit(X, y)
    assert len(model.support_) == len(X)
    told = words(section(report(model, X, y), "rows"))
    assert "80 rows of 80" in told
    assert "the others" not in told
    alone = {
        "model": "linear SVM",
        "setting": "C=1",
        "validation": 0.1,
        "test": None,
        "kind": "gap",
        "relative_gap": 1e-9,
    }
    X, y = rows()
    told = words(section(report(gapless.LinearSVC().fit(X, y), X, y, compared=[{**alone, "chosen": True}]), "found"))
    assert "others" not in told
    assert "smallest error" not in told


def test_the_comparison_shows_the_figures_that_there_are():
    X, y = rows()
    X_test, y_test = rows(n=60, seed=5)
    model = gapless.LinearSVC().fit(X, y)
    options = {"X_test": X_test, "y_test": y_test}
    low, high = exact(4, 60)
    plain = {
        "model": "linear SVM", "setting": "C=1", "validation": 0.1, "kind": "gap", "relative_gap": 1e-9, "seconds": 0.25,
        "test": {"wrong": 4, "rows": 60, "error": 4 / 60, "interval": [low, high]},
    }  # fmt: skip
    root = report(model, X, y, compared=[{**plain, "chosen": True}, plain], **options)
    head, first, second = cells(next(iter(section(root, "found").iter("table"))))
    assert head == ["model", "setting", "validation", "held out", "interval", "gap", "seconds"]
    assert first == [
        "linear SVM ★",
        "C=1",
        "10.00 %",
        "6.67 %",
        f"{100 * low:.2f} % to {100 * high:.2f} %",
        "1e−09",
        "0.2",
    ]
    assert second[0] == "linear SVM"
    more = {
        "balanced": True, "balanced_error": 0.25, "auc": 0.875, "bound": 0.2,
        "recall": [{"class": "one", "found": 9, "rows": 10}, {"class": "two", "found": 47, "rows": 50}],
    }  # fmt: skip
    constant = {"model": "baseline", "setting": "always one", "validation": 0.5, "kind": "constant", "relative_gap": None,
                "seconds": 0.0, "test": {"wrong": 30, "rows": 60, "error": 0.5, "interval": exact(30, 60)}}  # fmt: skip
    root = report(model, X, y, compared=[{**plain, **more, "chosen": True}, plain, constant], **options)
    found = section(root, "found")
    head, first, second, last = cells(next(iter(found.iter("table"))))
    line = dict(zip(head, first))
    assert line["class weight"] == "balanced"
    assert line["balanced error"] == "25.00 %"
    assert line["recall of “one”"] == "90.00 %"  # the rarer of the two
    assert line["AUC"] == "0.875"
    assert line["all below"] == "20.00 %"
    assert dict(zip(head, second))["AUC"] == ""
    assert last[:2] == ["baseline", "always one"]
    assert dict(zip(head, last))["gap"] == dict(zip(head, last))["seconds"] == ""
    told = words(found)
    assert "The baseline looks at no column: it always gives the commonest class." in told
    assert "“All below” is another figure" in told


def test_a_command_is_not_cut_or_changed():
    X, y = rows()
    long = "gapless train data.csv " + " ".join(f"--drop 'column\t{k}'" for k in range(2000))
    root = report(gapless.LinearSVC().fit(X, y), X, y, commands=[long, "gapless verify m d"])
    shown = [each.text for each in section(root, "repeat").iter("code")]
    assert shown == [long, "gapless verify m d"]
    python = [each.text for each in section(report(gapless.LinearSVC(C=2.0).fit(X, y), X, y), "repeat").iter("code")]
    assert "gapless.LinearSVC(C=2.0).fit(X, y)" in python[0]
    assert not any(sign in text for text in python for sign in "“”‘’")  # typographic quotes are no Python and no shell
    for text in python[:3]:
        compile(text, "page", "exec")

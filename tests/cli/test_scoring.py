"""The figures of `gapless train`, against scikit-learn's and scipy's; and the sentences that are made of them."""

import json
import re

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics
from typer.testing import CliRunner

from gapless.cli import app, scoring
from gapless.cli.commands import compare
from gapless.cli.scoring import Answers

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, [str(a) for a in arguments])


def run_json(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Two kinds of models, which have class weights, are as good a test as five."""
    every = compare.classifiers
    monkeypatch.setattr(compare, "classifiers", lambda: every()[:2])


def write(path, X, y, header=None):
    names = header or [f"x{j}" for j in range(X.shape[1])]
    lines = [",".join([*(repr(float(v)) for v in row), str(label)]) for row, label in zip(X, y)]
    path.write_text(",".join([*names, "label"]) + "\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture
def rare(tmp_path):
    """One row in 200 is 'fraud', and a line finds most of them."""
    random = np.random.default_rng(4)
    X = random.normal(size=(1600, 3))
    score = X @ [1.0, 0.5, 0.0] + 0.4 * random.normal(size=1600)
    return write(tmp_path / "rare.csv", X, np.where(score > np.quantile(score, 0.995), "fraud", "fine"))


@pytest.fixture
def noise(tmp_path):
    random = np.random.default_rng(1)
    return write(tmp_path / "noise.csv", random.normal(size=(160, 2)), np.where(random.random(160) < 0.6, "x", "y"))


# ------------------------------------------------------------------ figures


@pytest.fixture(params=[2, 4])
def answers(request):
    K = request.param
    random = np.random.default_rng(K)
    classes = np.array([f"class {k}" for k in range(K)])
    y = classes[random.choice(K, 120, p=np.arange(1, K + 1) / (K * (K + 1) / 2))]
    chances = random.dirichlet(np.ones(K), 120) + 0.5 * (y[:, None] == classes)
    chances = (chances / chances.sum(axis=1, keepdims=True)).round(2)  # with ties
    chances /= chances.sum(axis=1, keepdims=True)
    return Answers(y, classes[chances.argmax(axis=1)], classes, chances, chances)


def test_figures_of_classes(answers):
    y, called, classes = answers.y, answers.predicted, answers.classes
    of = {name: each.of([answers]) for name, each in scoring.CLASSES.items()}
    assert of["error"] == pytest.approx(1 - metrics.accuracy_score(y, called))
    assert of["balanced_error"] == pytest.approx(1 - metrics.balanced_accuracy_score(y, called))
    one_by_one = [metrics.roc_auc_score(y == c, answers.scores[:, k]) for k, c in enumerate(classes)]
    assert of["auc"] == pytest.approx(np.mean(one_by_one))
    assert of["log_loss"] == pytest.approx(metrics.log_loss(y, answers.chances, labels=classes))
    found = scoring.recalls(y, called, classes)
    assert [k / n for k, n in found] == pytest.approx(metrics.recall_score(y, called, labels=classes, average=None))


def test_figures_of_numbers():
    random = np.random.default_rng(0)
    y, called = random.normal(size=50), random.normal(size=50)
    of = {
        name: each.of([Answers(y[:20], called[:20]), Answers(y[20:], called[20:])])
        for name, each in scoring.NUMBERS.items()
    }
    assert of["rmse"] == pytest.approx(metrics.root_mean_squared_error(y, called))
    assert of["mae"] == pytest.approx(metrics.mean_absolute_error(y, called))
    assert of["r2"] == pytest.approx(metrics.r2_score(y, called))


def test_parts_that_lack_a_class():
    """Recalls are of all parts together; a part with one class has no AUC, and is left out."""
    classes = np.array([0, 1])
    scores = np.array([[0.1, 0.9], [0.9, 0.1], [0.6, 0.4]])
    first = Answers(np.array([1, 0, 0]), np.array([1, 0, 0]), classes, scores)
    second = Answers(np.array([0, 0]), np.array([0, 1]), classes, scores[:2])
    assert scoring.CLASSES["auc"].of([first, second]) == 1.0
    assert scoring.CLASSES["balanced_error"].of([first, second]) == pytest.approx(0.5 * (1 / 4))
    assert np.isnan(scoring.CLASSES["auc"].of([second]))


def test_a_model_that_saw_fewer_classes_is_scored_on_all():
    from gapless import LogisticRegression

    random = np.random.default_rng(2)
    X, y = random.normal(size=(60, 2)), np.repeat(["a", "b", "c"], 20)
    X[y == "b"] += 3
    model = LogisticRegression().fit(X[y != "c"], y[y != "c"])
    told = Answers.of(model, X, y, np.array(["a", "b", "c"]), scoring.CLASSES["log_loss"], ranks=True)
    chances = np.column_stack([model.predict_proba(X), np.zeros(60)])
    np.testing.assert_array_equal(told.chances, chances)
    assert np.isneginf(told.scores[:, 2]).all()
    np.testing.assert_array_equal(told.scores[:, 1], model.decision_function(X))
    wanted = metrics.log_loss(y, chances, labels=["a", "b", "c"])
    assert scoring.CLASSES["log_loss"].of([told]) == pytest.approx(wanted)


# ------------------------------------------------------------------ chance


def test_the_sign_test(answers):
    baseline = Answers(answers.y, np.full(120, answers.classes[-1]), answers.classes)
    found = scoring.against_baseline(scoring.CLASSES["error"], answers, baseline)
    ours, theirs = answers.predicted == answers.y, baseline.predicted == answers.y
    b, c = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
    assert found.p_value == pytest.approx(stats.binom.sf(b - 1, b + c, 0.5))
    assert found.better == (ours.sum() > theirs.sum())


def test_shuffles_and_ranks(answers):
    baseline = Answers(
        answers.y, np.full(120, answers.classes[-1]), answers.classes, np.zeros((120, len(answers.classes)))
    )
    random = np.random.default_rng(0)
    for name in ("balanced_error", "auc"):
        judged = scoring.CLASSES[name]
        noisy = random.permutation(120)
        shuffled = Answers(answers.y, answers.predicted[noisy], answers.classes, answers.scores[noisy])
        p = scoring.against_baseline(judged, shuffled, baseline).p_value
        ours = judged.loss(judged.of([shuffled]))
        drawn = []
        for _ in range(2000):
            k = random.permutation(120)
            drawn.append(
                judged.loss(judged.of([Answers(answers.y[k], shuffled.predicted, answers.classes, shuffled.scores)]))
            )
        assert p == pytest.approx(np.mean(np.array(drawn) <= ours + 1e-12), abs=0.06)
        assert scoring.against_baseline(judged, answers, baseline).beaten


def test_the_paired_test_of_numbers():
    random = np.random.default_rng(3)
    y = random.normal(size=40)
    model, baseline = Answers(y, 0.5 * y + 0.1 * random.normal(size=40)), Answers(y, np.full(40, y.mean()))
    found = scoring.against_baseline(scoring.NUMBERS["rmse"], model, baseline)
    gain = (y - baseline.predicted) ** 2 - (y - model.predicted) ** 2
    wanted = stats.t.sf(gain.mean() / (gain.std(ddof=1) / np.sqrt(40)), 39)
    assert found.p_value == pytest.approx(wanted)
    assert found.beaten


# ------------------------------------------------------------------ what is printed


def test_the_table_has_a_baseline_and_true_figures(rare, tmp_path):
    """Every figure of the held-out columns, computed anew from the model file and the split."""
    import gapless
    from gapless.cli.holdout import draw_split
    from gapless.files import Expected, read_data

    out = tmp_path / "m.gapless"
    labels = np.array([row.rpartition(",")[2] for row in rare.read_text().splitlines()[1:]])
    seed = next(k for k in range(99) if (labels[draw_split(1600, 0.25, k)[1]] == "fraud").sum() == 3)
    options = ["--scoring", "balanced_error", "--seed", seed, "-o", out, "--no-report", "--quiet"]
    result = run("train", rare, "--target", "label", *options)
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 100
    text = " ".join(result.stdout.split())
    model = gapless.load(out)
    raw = read_data(rare, expected=Expected.from_model(model))
    train, held = draw_split(1600, 0.25, seed)
    Z, y = model.encoding_.transform(raw), np.asarray(raw.y)
    called = model.predict(Z[held])
    wrong, truth = int((called != y[held]).sum()), y[held]
    cells = re.search(r"^\* .*$", result.stdout, re.MULTILINE)[0]
    assert "balanced" in cells  # class weights: nothing else finds a class of 1 in 200
    percents = [float(each) for each in re.findall(r"([\d.]+) %", cells)]
    interval = stats.binomtest(wrong, 400).proportion_ci(0.95, "exact")
    models = len(re.findall(r"^[* ]  (?:linear SVM|logistic) ", result.stdout, re.MULTILINE))
    assert models == 4
    bound = stats.beta.ppf(1 - 0.05 / models, wrong + 1, 400 - wrong)
    fraud = truth == "fraud"
    recall = np.mean(called[fraud] == "fraud")
    assert percents[1:] == pytest.approx(
        [100 * wrong / 400, 100 * bound, 100 * (1 - metrics.balanced_accuracy_score(truth, called)), 100 * recall],
        abs=0.051,
    )
    scores = model.decision_function(Z[held])
    assert float(re.search(r"% +(\d\.\d{3}) ", cells)[1]) == pytest.approx(
        metrics.roc_auc_score(fraud, scores), abs=5e-4
    )
    k = int((y[train] == "fraud").sum())
    assert f"'fraud' has {k} of the 1200 training rows ({100 * k / 1200:.2g} %): weights that balance" in text
    assert f"share of the {fraud.sum()} held-out rows of 'fraud', the rarer class, that is called so" in text
    base = re.search(r"^ +baseline +always fine .*$", result.stdout, re.MULTILINE)[0]
    assert [float(each) for each in re.findall(r"([\d.]+) %", base)] == pytest.approx(
        [50, 100 * fraud.mean(), 50, 0], abs=0.005
    )
    assert "always 'fine', whatever the features: balanced_error 50.00 % on the held-out rows" in text
    assert "better by more than chance" in text
    assert "NOT better" not in text
    # One interval, of the chosen model's error, which says of which rows it is.
    assert len(re.findall(r"95 % interval", text)) == 1
    told = f"error {100 * wrong / 400:.2f} % ({wrong} of 400), 95 % interval {100 * interval.low:.2f} % to "
    assert f"{told}{100 * interval.high:.2f} % (exact, Clopper-Pearson), of the rows held out" in text


def test_by_error_a_rare_class_hides_and_that_is_said(rare, tmp_path):
    result = run("train", rare, "--target", "label", "-o", tmp_path / "m", "--no-report", "--quiet", "--seed", "3")
    text = " ".join(result.stdout.split())
    told = run_json("train", rare, "--target", "label", "-o", tmp_path / "m", "--no-report", "--seed", "3")
    assert told["scoring"] == "error"
    assert "--scoring balanced_error chooses by the mean error of the classes" in text
    plain = [each for each in told["compared"] if not each["balanced"]]
    assert min(each["validation"] for each in plain) == min(each["validation"] for each in told["compared"])
    assert {each["model"] for each in told["compared"] if each["balanced"]} == {"linear SVM", "logistic"}
    assert ("NOT better" in text) is (not told["chance"]["beaten"])
    if not told["chance"]["beaten"]:
        assert "see balanced, recall and AUC" in text


def test_noise_is_called_noise(noise, tmp_path):
    result = run("train", noise, "--target", "label", "-o", tmp_path / "m", "--no-report", "--quiet")
    text = " ".join(result.stdout.split())
    assert "always 'x', whatever the features: error" in text
    assert "NOT better" in text
    told = run_json("train", noise, "--target", "label", "-o", tmp_path / "m", "--no-report")
    assert told["chance"]["beaten"] is False
    assert told["baseline"]["test"]["error"] == pytest.approx(told["baseline"]["test"]["wrong"] / 40)


@pytest.mark.parametrize(
    ("name", "key"),
    [("auc", "auc"), ("roc_auc", "auc"), ("balanced_accuracy", "balanced_error"), ("accuracy", "error")],
)
def test_scikit_learns_names(noise, tmp_path, name, key):
    assert (
        run_json("train", noise, "--target", "label", "--scoring", name, "-o", tmp_path / "m", "--no-report")["scoring"]
        == key
    )


def test_any_scorer_of_scikit_learn_chooses(noise, tmp_path):
    """f1_macro, computed anew by scikit-learn's own cross_val_score over the same folds."""
    from sklearn.model_selection import cross_val_score

    from gapless import LogisticRegression
    from gapless.files import Encoding, read_csv

    arguments = ["train", noise, "--target", "label", "--scoring", "f1_macro", "-o", tmp_path / "m", "--no-report"]
    told = run_json(*arguments)
    from gapless.cli.holdout import draw_split

    table = read_csv(noise, target="label", typed=True).rows(draw_split(160, 0.25, 0)[0])
    X, y = Encoding.fit(table).transform(table), table.y
    cuts, _ = compare.folds(y, 0, True)
    each = next(each for each in told["compared"] if each["model"] == "logistic")
    model = LogisticRegression(C=float(each["setting"].split("=")[1]))
    assert each["validation"] == pytest.approx(np.average(
        cross_val_score(model, X, y, cv=cuts, scoring="f1_macro"), weights=[len(valid) for _, valid in cuts]
    ))  # fmt: skip


def test_probabilities_are_asked_of_those_that_give_them(noise, tmp_path):
    told = run_json("train", noise, "--target", "label", "--scoring", "log_loss", "-o", tmp_path / "m", "--no-report")
    assert [each["model"] for each in told["compared"]] == ["logistic"]
    assert told["not_compared"] == {"linear SVM": "log_loss needs probabilities, which it does not give"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--scoring", "balanced_eror"), "--scoring balanced_eror: no such score; did you mean balanced_error?"),
        (
            ("--scoring", "rmse"),
            "--scoring rmse: the target holds classes; choose by error, balanced_error, auc, log_loss",
        ),
        (("--scoring", "f1"), "--scoring f1: pos_label=1 is not a valid label"),
        (("--scoring", "auc", "--model", "svm"), "--scoring chooses among models; --model svm fits one"),
    ],
)
def test_bad_scorings(noise, tmp_path, options, says):
    result = run("train", noise, "--target", "label", *options, "-o", tmp_path / "m", "--no-report")
    assert result.exit_code == 2
    assert says in result.output
    assert not (tmp_path / "m").exists()


# ------------------------------------------------------------------ folds


@pytest.mark.parametrize("few", [1, 2, 3, 7])
def test_a_rare_class_leaves_five_folds(few):
    y = np.array(["a"] * 40 + ["b"] * 33 + ["c"] * few)
    cuts, said = compare.folds(y, 5, True)
    assert said == "5 folds"
    assert len(cuts) == 5
    assert sorted(np.concatenate([valid for _, valid in cuts]).tolist()) == list(range(len(y)))
    for label, rows in (("a", 40), ("b", 33), ("c", few)):
        counts = [int((y[valid] == label).sum()) for _, valid in cuts]
        assert max(counts) - min(counts) <= 1
        assert sum(counts) == rows
    lacking = sum("c" not in y[train] for train, _ in cuts)
    assert lacking == (1 if few == 1 else 0)
    for train, valid in cuts:
        assert sorted([*train.tolist(), *valid.tolist()]) == list(range(len(y)))


def test_a_class_of_one_row_is_wrong_where_it_is_not_known(tmp_path):
    """The validation error of each model, counted by hand over the folds."""
    from gapless import LogisticRegression

    random = np.random.default_rng(6)
    X = random.normal(size=(45, 2))
    y = np.where(X[:, 0] > 0, "in", "out")
    y[7] = "lost"
    families = (compare.classifiers()[1],)
    result = compare.compare(families, X, y, None, scoring=scoring.CLASSES["error"], seconds=60, seed=0, labels=True)
    cuts, _ = compare.folds(y, 0, True)
    errors = [
        sum(int((LogisticRegression(C=C).fit(X[t], y[t]).predict(X[v]) != y[v]).sum()) for t, v in cuts) / 45
        for C in (0.03, 0.3, 3.0)
    ]
    assert result.tried[0].validation == pytest.approx(min(errors))


def test_two_classes_one_of_them_with_one_row():
    """The fold that lacks it has one class to train on: that class is the answer, and the row is wrong."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.array(["a"] * 29 + ["b"])
    result = compare.compare(
        compare.classifiers(), X, y, None, scoring=scoring.CLASSES["error"], seconds=60, seed=0, labels=True
    )
    assert [each.name for each in result.tried] == ["linear SVM", "logistic", "linear SVM", "logistic"]
    assert result.baseline.validation == pytest.approx(1 / 30)
    assert not result.left_out


def test_a_class_in_the_held_out_rows_alone(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(61, 2))
    y = np.where(X[:, 0] > 0, "x", "y")
    from gapless.cli.holdout import draw_split

    y[draw_split(61, 0.25, 0)[1][0]] = "z"
    result = run("train", write(tmp_path / "d.csv", X, y), "--target", "label", "-o", tmp_path / "m", "--no-report")
    text = " ".join(result.stdout.split())
    assert "'z' (1): among the held-out rows alone, and wrong there whatever is learned" in text
    assert result.exit_code == 0


def test_a_rare_class_without_a_held_out_row(tmp_path):
    """Nothing that was held out says what a model knows of it: no figure is given, and that is told."""
    random = np.random.default_rng(0)
    X = random.normal(size=(800, 2))
    from gapless.cli.holdout import draw_split

    y = np.full(800, "fine", dtype="U5")
    y[draw_split(800, 0.25, 0)[0][:5]] = "fraud"
    out, page = tmp_path / "m", tmp_path / "page.html"
    result = run("train", write(tmp_path / "d.csv", X, y), "--target", "label", "-o", out, "--report", page)
    text = " ".join(result.stdout.split())
    assert "'fraud' (5): in no held-out row, whose errors say nothing of such rows; --seed draws others" in text
    assert "recall: none, as no held-out row is of 'fraud', the rarer class" in text
    assert "no held-out row is of 'fraud', so that none of the figures says what a model knows of it" in text
    assert "see balanced" not in text
    told = page.read_text(encoding="utf-8")
    assert "No test row is of “fraud”: nothing here says what the model knows of such rows." in told
    assert "recall of “fraud”" in told
    assert "recall of “fine”" not in told


@pytest.mark.parametrize("rows", [3, 12])
def test_a_handful_of_rows(tmp_path, rows):
    X = np.arange(2.0 * rows).reshape(rows, 2) ** 1.1
    y = np.where(np.arange(rows) < rows // 2, "a", "b")
    result = run("train", write(tmp_path / "d.csv", X, y), "--target", "label", "-o", tmp_path / "m", "--no-report")
    assert result.exit_code == 0, result.output
    assert "baseline" in result.stdout
    held = round(rows / 4)
    assert f"error on the {held} held-out row{'s' if held > 1 else ''}" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("name", "labels", "wanted"),
    [
        ("error", True, "accuracy"),
        ("auc", True, "roc_auc"),
        ("f1_macro", True, "f1_macro"),
        ("mae", False, "neg_mean_absolute_error"),
        ("neg_mean_squared_error", False, "neg_mean_squared_error"),
        ("r2", False, "r2"),
    ],
)
def test_names_that_tune_gives_to_scikit_learn(name, labels, wanted):
    assert scoring.scikit_name(name, labels) == wanted

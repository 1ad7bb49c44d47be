"""As a new user would: CSVs of adult, bank and titanic, each by `gapless train`, against a careful scikit-learn pipeline.

    python -m benchmarks.studies.tables [adult] [bank] [titanic] [--keep FOLDER]

The tables are made from the data folder: categories as text, some cells missing. The pipeline is ColumnTransformer
(median, StandardScaler; most frequent, OneHotEncoder) and GridSearchCV over a linear SVM, logistic regression, an RBF SVM,
AdaBoost and bagged trees. Both choose and fit by the training file alone; errors are those on the test file. Each is a process
of its own, timed from its start to its end: ours is one command, and its time has the certificate and the report in it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.readers import folder

NAMES = {
    "adult": [
        "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship",
        "race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country",
    ],
    "bank": [
        "age", "job", "marital", "education", "default", "balance", "housing", "loan", "contact", "day", "month",
        "duration", "campaign", "pdays", "previous", "poutcome",
    ],
    "titanic": ["class", "age", "sex"],
}  # fmt: skip
TARGET = {"adult": "income", "bank": "subscribed", "titanic": "survived"}
LABELS = {"adult": ("<=50K", ">50K"), "bank": ("no", "yes"), "titanic": ("no", "yes")}
MISSING = 0.02  # share of the cells of every third column that is blanked


def parts(name: str, source: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X and y to train on and to test on, and which columns are categories."""
    with np.load(source / f"{name}.npz") as file:
        if "X_train" in file:
            return (*(file[key] for key in ("X_train", "y_train", "X_test", "y_test")), file["cat_mask"])
        X, y = file["X"], file["y"]
        mask = file["cat_mask"] if "cat_mask" in file else np.ones(X.shape[1], dtype=bool)
    order = np.random.RandomState(0).permutation(len(y))
    train, test = np.sort(order[len(y) // 4 :]), np.sort(order[: len(y) // 4])
    return X[train], y[train], X[test], y[test], mask


def write_csv(name: str, source: Path, train: Path, test: Path | None = None) -> None:
    """The training table, and the test table, as text."""
    X, y, X_test, y_test, mask = parts(name, source)
    random = np.random.RandomState(1)
    whole = np.concatenate([X, X_test])
    columns: list[list[str]] = []
    for j, called in enumerate(NAMES[name]):
        values = whole[:, j]
        if mask[j]:
            levels, codes = np.unique(values, return_inverse=True)
            texts = [f"{called} {k}" for k in range(len(levels))]
            if name == "adult" and called in ("workclass", "occupation", "native_country"):
                texts[0] = "?"  # as the original has it
            column = [texts[k] for k in codes]
        else:
            column = [f"{value:g}" if value != round(value) else str(int(value)) for value in values.tolist()]
        if j % 3 == 0:
            for i in np.flatnonzero(random.rand(len(column)) < MISSING).tolist():
                column[i] = ""
        columns.append(column)
    labels = [LABELS[name][int(value > 0)] for value in np.concatenate([y, y_test]).tolist()]
    rows = [",".join(cells) for cells in zip(*columns, labels, strict=True)]
    head = ",".join([*NAMES[name], TARGET[name]])
    train.write_text("\n".join([head, *rows[: len(y)]]) + "\n", encoding="utf-8")
    if test is not None:
        test.write_text("\n".join([head, *rows[len(y) :]]) + "\n", encoding="utf-8")


def peer(train: str, test: str, target: str) -> None:
    """The scikit-learn pipeline, from files to search to prediction; prints its error on the test file and its best model."""
    import pandas as pd
    from sklearn.compose import ColumnTransformer, make_column_selector
    from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import Pipeline, make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import SVC, LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    frame, new = pd.read_csv(train), pd.read_csv(test)
    X, y = frame.drop(columns=target), frame[target]
    encode = ColumnTransformer(
        [
            (
                "numbers",
                make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
                make_column_selector(dtype_include=np.number),
            ),
            (
                "texts",
                make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")),
                make_column_selector(dtype_exclude=np.number),
            ),
        ]
    )
    pipeline = Pipeline([("encode", encode), ("model", LinearSVC())])
    grid: list[dict[str, list[Any]]] = [
        {"model": [LinearSVC()], "model__C": [0.01, 0.1, 1.0]},
        {"model": [LogisticRegression(max_iter=1000)], "model__C": [0.1, 1.0, 10.0]},
        {"model": [AdaBoostClassifier(n_estimators=200)]},
        {"model": [BaggingClassifier(DecisionTreeClassifier(min_samples_leaf=5), n_estimators=100)]},
        {"model": [SVC()]},
    ]
    search = GridSearchCV(pipeline, grid, cv=3, n_jobs=2).fit(X, y)
    error = float((search.predict(new.drop(columns=target)) != new[target]).mean())
    print(json.dumps([error, type(search.best_params_["model"]).__name__]))


def timed(*command: str) -> tuple[float, str]:
    """Seconds of a python process, and what it printed. Bytecode is kept, as every installation does."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    ran = subprocess.run([sys.executable, "-m", *command], check=True, stdout=subprocess.PIPE, env=environment)
    return time.perf_counter() - start, ran.stdout.decode("utf-8")


def main(asked: list[str]) -> None:
    source = folder()
    if source is None:
        print("no data sets; set GAPLESS_DATA to their folder")
        return
    keep = Path(asked.pop(asked.index("--keep") + 1)) if "--keep" in asked else None
    with tempfile.TemporaryDirectory(prefix="gapless-tables-") as made:
        place = Path(made) if keep is None else keep
        for name in [each for each in asked if each != "--keep"] or list(NAMES):
            train, test, model = place / f"{name}.csv", place / f"{name}_test.csv", place / f"{name}.gapless"
            write_csv(name, source, train, test)
            files = (str(train), str(test))
            seconds, said = timed(
                "gapless",
                "train",
                files[0],
                "--target",
                TARGET[name],
                "--test",
                files[1],
                "--out",
                str(model),
                "--json",
            )
            found = json.loads(said)
            error, n = found["test"]["error"], found["test"]["rows"]
            theirs_s, said = timed("benchmarks.studies.tables", "--peer", *files, TARGET[name])
            theirs, theirs_best = json.loads(said)
            spread = (theirs * (1 - theirs) / n) ** 0.5
            print(
                f"{name}: gapless {100 * error:.2f} % in {seconds:.1f} s ({found['estimator']}), sklearn {100 * theirs:.2f} % in "
                f"{theirs_s:.1f} s ({theirs_best}); apart {(error - theirs) / spread:+.1f} standard errors",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        peer(*sys.argv[2:])
    else:
        main(sys.argv[1:])

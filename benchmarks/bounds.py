"""How tight bounds without a test set are, on real data, beside published ones: `python -m benchmarks.bounds [SET ...]`.

Training rows as in the published study (Zantedeschi et al. 2021; stumps, ten a column): the training part of svmguide1, 80 % of
mushrooms, phishing, cod-rna and adult (the 32,561 rows of a9a); 80 % of spambase, the training parts of ijcnn1 and a9a.  Units
come from the rows that are left out.  Three families are compared, each with delta/3, and with settings from a lattice, all
that were considered, by whose size its delta is divided again:

    compression      an RBF SVC on all training rows: its margin violations                                   fixed
    Pick-to-Learn    an RBF SVC on the rows that it needs: its errors                                         fixed
    bagging          trees, counted out of their bags: the error of one of them that is drawn for each row    randomised

The hold-out bound has all of delta, trains on one half and counts on the other.
"""

from __future__ import annotations

import sys
import time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.datasets import find_folder
from gapless import SVC, BaggingClassifier, DecisionTreeClassifier, bounds, config_context
from gapless.theory.compression import pick_to_learn
from gapless.theory.hoeffding import clopper_pearson

DELTA = 0.05
FAMILIES = 3
#: (C, gamma times the number of columns); of Pick-to-Learn also which wrong row is picked; leaves and draws of trees.
SVC_LATTICE = [(C, g) for C in (1.0, 10.0, 100.0, 1000.0) for g in (0.25, 1.0, 4.0)]
PICK_LATTICE = [(C, g, pick) for C in (1.0, 10.0, 100.0) for g in (1.0, 4.0) for pick in ("worst", "nearest")]
BAG_LATTICE = [(leaf, draws) for leaf in (1, 5, 20) for draws in (0.5, 1.0)]
MEMBERS = 25


class Study(NamedTuple):
    """A set: its file, of how many parts one is left out (None: the file's own test part), and the settings looked at."""

    file: str
    parts: int | None
    scaled: bool
    svc: tuple[float, float]
    pick: tuple[float, float, str]
    most: int
    bag: tuple[int, float]
    published: tuple[float, float, float, float] | None  # first order, second order, binomial, Dirichlet


STUDIES = {
    "svmguide1": Study(
        "svmguide1", None, True, (100.0, 4.0), (10.0, 4.0, "nearest"), 120, (5, 0.5), (18.6, 31.1, 26.4, 11.4)
    ),
    "mushrooms": Study(
        "mushrooms", 5, False, (100.0, 0.25), (100.0, 1.0, "worst"), 60, (1, 0.5), (12.3, 21.3, 11.5, 4.8)
    ),
    "phishing": Study(
        "phishing", 5, True, (1000.0, 1.0), (10.0, 4.0, "nearest"), 200, (1, 0.5), (25.8, 35.7, 24.6, 13.5)
    ),
    "cod-rna": Study("cod-rna", 5, True, (10.0, 4.0), (10.0, 4.0, "nearest"), 80, (5, 0.5), (49.5, 60.6, 36.2, 15.2)),
    "adult": Study("a9a", 5, False, (1.0, 4.0), (1.0, 1.0, "nearest"), 60, (20, 0.5), (46.9, 53.3, 41.1, 25.4)),
    "spambase": Study("spambase", 5, False, (10.0, 4.0), (10.0, 1.0, "nearest"), 120, (1, 0.5), None),
    "a9a": Study("a9a", None, False, (1.0, 4.0), (1.0, 1.0, "nearest"), 60, (20, 0.5), None),
    "ijcnn1": Study("ijcnn1", None, False, (10.0, 4.0), (10.0, 4.0, "nearest"), 120, (1, 0.5), None),
}


def rows_of(study: Study, folder: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and left-out rows, in units that the training rows did not choose."""
    with np.load(folder / f"{study.file}.npz", allow_pickle=False) as file:
        X, y = _part(file, "_train" if "y_train" in file.files else "")
        if study.parts is None:
            Z, z = _part(file, "_test")
        else:
            order = np.random.RandomState(0).permutation(len(y))
            left, train = order[: len(y) // study.parts], order[len(y) // study.parts :]
            Z, z = X[left], y[left]
            X, y = X[train], y[train]
    if study.file == "spambase":
        X, Z = np.log1p(X), np.log1p(Z)
    if study.scaled:
        low, high = Z.min(axis=0), Z.max(axis=0)
        span = np.where(high > low, high - low, 1.0)
        X, Z = 2.0 * (X - low) / span - 1.0, 2.0 * (Z - low) / span - 1.0
    return X, y, Z, z


def _part(file: Any, part: str) -> tuple[np.ndarray, np.ndarray]:
    if f"X{part}" in file.files:
        return file[f"X{part}"].astype(np.float64), file[f"y{part}"].astype(np.int64)
    from scipy import sparse

    parts = (file[f"X{part}_data"].astype(np.float64), file[f"X{part}_indices"], file[f"X{part}_indptr"])
    return sparse.csr_matrix(parts, shape=tuple(file[f"X{part}_shape"])).toarray(), file[f"y{part}"].astype(np.int64)


def measure(name: str, folder: Any) -> dict[str, Any]:
    """Bounds and, for comparison only, errors on the left-out rows."""
    study = STUDIES[name]
    assert study.svc in SVC_LATTICE
    assert study.pick in PICK_LATTICE
    assert study.bag in BAG_LATTICE
    X, y, Z, z = rows_of(study, folder)
    n, d = X.shape
    told: dict[str, Any] = {"rows": n}
    with config_context(convergence="ignore"):
        model = SVC(C=study.svc[0], gamma=study.svc[1] / d, tol=1e-9).fit(X, y)
        found = bounds(model, X, y, DELTA / FAMILIES, tried=len(SVC_LATTICE), methods="compression")
        told["compression"] = (found.best.value, float(np.mean(model.predict(Z) != z)))
        C, g, pick = study.pick
        share = DELTA / FAMILIES / len(PICK_LATTICE)
        few = pick_to_learn(SVC(C=C, gamma=g / d), X, y, -1, share, study.most, pick)
        told["Pick-to-Learn"] = (few.high, float(np.mean(few.predict(Z) != z)))
        leaf, draws = study.bag
        trees = BaggingClassifier(
            DecisionTreeClassifier(min_samples_leaf=leaf), n_estimators=MEMBERS, max_samples=draws, random_state=0
        ).fit(X, y)
        row = bounds(trees, X, y, DELTA / FAMILIES, tried=len(BAG_LATTICE), methods="votes")["votes"]
        assert row.randomised is not None
        mean = float(np.mean([trees.classes_[m.predict(Z).astype(int)] != z for m in trees.estimators_]))
        told["bagging, drawn"] = (row.randomised, mean)
        told["bagging, vote"] = (row.value, float(np.mean(trees.predict(Z) != z)))
        half = SVC(C=study.svc[0], gamma=study.svc[1] / d).fit(X[: n // 2], y[: n // 2])
        wrong = int(np.count_nonzero(half.predict(X[n // 2 :]) != y[n // 2 :]))
        told["hold-out"] = (clopper_pearson(wrong, n - n // 2, DELTA, 1).high, float(np.mean(half.predict(Z) != z)))
    return told


def main(names: list[str]) -> None:
    folder = find_folder()
    if folder is None:
        raise SystemExit("no data: set GAPLESS_DATA to the folder of the sets")
    columns = ("compression", "Pick-to-Learn", "bagging, drawn", "bagging, vote", "hold-out")
    print("bounds in per cent at delta = 0.05, error on the left-out rows in brackets; published without brackets")
    print("| | rows | " + " | ".join(columns) + " | best fixed | first order | second order | binomial | Dirichlet |")
    print("|---" * (len(columns) + 7) + "|")
    for name in names or STUDIES:
        started = time.perf_counter()
        told = measure(name, folder)
        cells = [f"{100 * told[c][0]:.1f} ({100 * told[c][1]:.1f})" for c in columns]
        fixed = 100 * min(told[c][0] for c in ("compression", "Pick-to-Learn", "bagging, vote"))
        published = STUDIES[name].published
        cells += [f"**{fixed:.1f}**", *(f"{p:.1f}" for p in published or ())] + ["–"] * (0 if published else 4)
        print(f"| {name} | {told['rows']:,} | " + " | ".join(cells) + " |", flush=True)
        print(f"{name}: {time.perf_counter() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])

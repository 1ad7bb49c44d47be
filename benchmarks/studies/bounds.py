"""How tight bounds without a test set are, on real data, beside published ones: `python -m benchmarks.studies.bounds [SET ...]`.

Training rows as in the published study (Zantedeschi et al. 2021; stumps, ten a column): the training part of svmguide1, 80 % of
mushrooms, phishing, cod-rna and adult (the 32,561 rows of a9a); 80 % of spambase, the training parts of ijcnn1 and a9a.  Units
come from the rows that are left out.  Three families are compared, each with delta/3, on the same settings for every set: the
lattices below, all of which are run, and by whose sizes delta is divided again.

    compression      an RBF SVC on all training rows: its margin violations                                   fixed
    Pick-to-Learn    an RBF SVC on the rows that it needs: its errors                                         fixed
    bagging          trees, counted out of their bags: their majority                                         fixed
                     the same, one of them that is drawn for each row                                         randomised

The hold-out bound has all of delta: the SVC is trained on one half with each setting, and counted on the other.

What is finished is kept at once (.kept/bounds.json), and not run again; --fresh forgets the sets that are named.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.core import objective
from benchmarks.core.datasets import find_folder
from gapless import SVC, BaggingClassifier, DecisionTreeClassifier, bounds, config_context
from gapless.theory.generalisation.compression import pick_to_learn
from gapless.theory.samples.hoeffding import clopper_pearson

DELTA = 0.05
#: Per family all settings that are tried on every set: C and gamma times the number of columns; of Pick-to-Learn also which
#: wrong row is picked; the smallest leaves of trees, and the draws of a bag as a share of the rows.
LATTICES: dict[str, list[tuple[Any, ...]]] = {
    "compression": [(C, g) for C in (1.0, 10.0, 100.0, 1000.0) for g in (0.25, 1.0, 4.0)],
    "Pick-to-Learn": [(C, g, pick) for C in (1.0, 10.0, 100.0) for g in (1.0, 4.0) for pick in ("worst", "nearest")],
    "bagging": [(leaf, draws) for leaf in (1, 5, 20) for draws in (0.5, 1.0)],
}
HOLD_OUT = LATTICES["compression"]
MEMBERS = 25
#: Picking ends after so many rows, or so many without gain: that costs nothing more, its delta is for every step there is.
MOST, PATIENCE = 400, 40
KEPT = "bounds.json"


class Study(NamedTuple):
    """A set: its file, of how many parts one is left out (None: the file's own test part), whether it gets units."""

    file: str
    parts: int | None
    scaled: bool
    published: tuple[float, float, float, float] | None  # first order, second order, binomial, Dirichlet


STUDIES = {
    "svmguide1": Study("svmguide1", None, True, (18.6, 31.1, 26.4, 11.4)),
    "mushrooms": Study("mushrooms", 5, False, (12.3, 21.3, 11.5, 4.8)),
    "phishing": Study("phishing", 5, True, (25.8, 35.7, 24.6, 13.5)),
    "cod-rna": Study("cod-rna", 5, True, (49.5, 60.6, 36.2, 15.2)),
    "adult": Study("a9a", 5, False, (46.9, 53.3, 41.1, 25.4)),
    "spambase": Study("spambase", 5, False, None),
    "a9a": Study("a9a", None, False, None),
    "ijcnn1": Study("ijcnn1", None, False, None),
}


class Rows(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    X_left: np.ndarray
    y_left: np.ndarray

    def error(self, model: Any) -> float:
        """On the left-out rows: for comparison only, no bound knows it."""
        return float(np.mean(model.predict(self.X_left) != self.y_left))


def rows_of(study: Study, folder: Path) -> Rows:
    """Training and left-out rows, in units that the training rows did not choose."""
    with np.load(folder / f"{study.file}.npz", allow_pickle=False) as file:
        X, y = _part(file, "_train" if "y_train" in file.files else "")
        order = np.random.RandomState(0).permutation(len(y))
        if study.parts is None:
            Z, z = _part(file, "_test")
            X, y = X[order], y[order]
        else:
            left, train = order[: len(y) // study.parts], order[len(y) // study.parts :]
            Z, z = X[left], y[left]
            X, y = X[train], y[train]
    if study.file == "spambase":
        X, Z = np.log1p(X), np.log1p(Z)
    if study.scaled:
        low, high = Z.min(axis=0), Z.max(axis=0)
        span = np.where(high > low, high - low, 1.0)
        X, Z = 2.0 * (X - low) / span - 1.0, 2.0 * (Z - low) / span - 1.0
    return Rows(X, y, Z, z)


def _part(file: Any, part: str) -> tuple[np.ndarray, np.ndarray]:
    if f"X{part}" in file.files:
        return file[f"X{part}"].astype(np.float64), file[f"y{part}"].astype(np.int64)
    from scipy import sparse

    parts = (file[f"X{part}_data"].astype(np.float64), file[f"X{part}_indices"], file[f"X{part}_indptr"])
    return sparse.csr_matrix(parts, shape=tuple(file[f"X{part}_shape"])).toarray(), file[f"y{part}"].astype(np.int64)


def share(family: str) -> float:
    """Of delta, for one setting of a family."""
    return DELTA / len(LATTICES) / len(LATTICES[family])


def _machine(C: float, g: float, rows: Rows, **rest: Any) -> SVC:
    return SVC(C=C, gamma=g / rows.X.shape[1], **rest)


def compression(rows: Rows, C: float, g: float) -> dict[str, Any]:
    model = _machine(C, g, rows, tol=1e-9).fit(rows.X, rows.y)
    tried = len(LATTICES["compression"])
    table = bounds(model, rows.X, rows.y, DELTA / len(LATTICES), tried=tried, methods="compression")
    if not table.rows:  # refused: nothing is claimed
        return {"fixed": 1.0, "error": rows.error(model), "told": table.refused["compression"]}
    return {"fixed": table.best.value, "error": rows.error(model), "told": f"{table.best.figures['k']:,} kept"}


def picking(rows: Rows, C: float, g: float, pick: str) -> dict[str, Any]:
    learner = _machine(C, g, rows)
    few = pick_to_learn(learner, rows.X, rows.y, -1, share("Pick-to-Learn"), MOST, pick, PATIENCE)
    return {"fixed": few.high, "error": rows.error(few), "told": f"{len(few.rows)} + {few.errors:,}"}


def bagging(rows: Rows, leaf: int, draws: float) -> dict[str, Any]:
    tree = DecisionTreeClassifier(min_samples_leaf=leaf)
    model = BaggingClassifier(tree, n_estimators=MEMBERS, max_samples=draws, random_state=0).fit(rows.X, rows.y)
    tried = len(LATTICES["bagging"])
    found = bounds(model, rows.X, rows.y, DELTA / len(LATTICES), tried=tried, methods="votes")["votes"]
    answers = [model.classes_[m.predict(rows.X_left).astype(int)] for m in model.estimators_]
    majority = np.sign(np.sum(answers, axis=0))  # labels are -1 and 1, and the members an odd number
    return {
        "fixed": found.value,
        "error": float(np.mean(majority != rows.y_left)),
        "drawn": found.randomised,
        "drawn error": float(np.mean([a != rows.y_left for a in answers])),
        "told": found.what.split("(")[1].split(")")[0],
    }


def hold_out(rows: Rows, C: float, g: float) -> dict[str, Any]:
    half = len(rows.y) // 2
    model = _machine(C, g, rows).fit(rows.X[:half], rows.y[:half])
    wrong = int(np.count_nonzero(model.predict(rows.X[half:]) != rows.y[half:]))
    high = clopper_pearson(wrong, len(rows.y) - half, DELTA / len(HOLD_OUT), 1).high
    return {"fixed": high, "error": rows.error(model), "told": f"{wrong:,} of {len(rows.y) - half:,}"}


FAMILIES = {
    "compression": (compression, LATTICES["compression"]),
    "Pick-to-Learn": (picking, LATTICES["Pick-to-Learn"]),
    "bagging": (bagging, LATTICES["bagging"]),
    "hold-out": (hold_out, HOLD_OUT),
}


def measure(name: str, folder: Path) -> list[dict[str, Any]]:
    """What every setting of every family gives, kept at once."""
    rows: Rows | None = None
    found = []
    for family, (run, lattice) in FAMILIES.items():
        for setting in lattice:
            key = f"{name}, {family}, {', '.join(map(str, setting))}"
            told = objective.read(KEPT).get(key)
            if told is None:
                rows = rows_of(STUDIES[name], folder) if rows is None else rows
                started = time.process_time()
                with config_context(convergence="ignore"):
                    told = run(rows, *setting)
                told |= {"family": family, "setting": list(setting), "rows": len(rows.y)}
                told["seconds"] = round(time.process_time() - started, 2)
                objective.keep(KEPT, key, told)
                print(f"{key}: {told}", file=sys.stderr, flush=True)
            found.append(told)
    return found


COLUMNS = ("compression", "Pick-to-Learn", "bagging, vote", "bagging, drawn", "hold-out")


def best(found: list[dict[str, Any]], column: str) -> tuple[float, float, dict[str, Any]]:
    """The smallest bound of a column, the error beside it, and where they come from."""
    family, _, kind = column.partition(", ")
    bound, error = ("drawn", "drawn error") if kind == "drawn" else ("fixed", "error")
    told = min((t for t in found if t["family"] == family), key=lambda t: t[bound])
    return told[bound], told[error], told


def table(names: list[str], folder: Path) -> list[str]:
    """Bounds in per cent, the errors on the left-out rows in brackets; then what they come from."""
    lines = [
        "| | rows | " + " | ".join(COLUMNS) + " | ours, fixed | first order | second order | binomial | Dirichlet |"
    ]
    lines.append("|---" * (len(COLUMNS) + 7) + "|")
    sources = ["| | " + " | ".join(c for c in COLUMNS if c != "bagging, vote") + " | CPU s |", "|---" * 6 + "|"]
    for name in names:
        found = measure(name, folder)
        cells = {c: best(found, c) for c in COLUMNS}
        fixed = min(cells[c][0] for c in ("compression", "Pick-to-Learn", "bagging, vote"))
        published = STUDIES[name].published
        row = [f"{100 * cells[c][0]:.1f} ({100 * cells[c][1]:.1f})" for c in COLUMNS]
        row += [f"**{100 * fixed:.1f}**", *(f"{p:.1f}" for p in published or ())] + [""] * (0 if published else 4)
        lines.append(f"| {name} | {found[0]['rows']:,} | " + " | ".join(row) + " |")
        told = [cells[c][2] for c in COLUMNS if c != "bagging, vote"]
        where = [
            f"{', '.join(f'{s:g}' if isinstance(s, float) else str(s) for s in t['setting'])}: {t['told']}"
            for t in told
        ]
        sources.append(f"| {name} | " + " | ".join(where) + f" | {sum(t['seconds'] for t in found):.0f} |")
    return [*lines, "", *sources]


def main(arguments: list[str]) -> None:
    folder = find_folder()
    if folder is None:
        raise SystemExit("no data: set GAPLESS_DATA to the folder of the sets")
    names = [a for a in arguments if a != "--fresh"] or list(STUDIES)
    if "--fresh" in arguments:
        objective.write(KEPT, {k: v for k, v in objective.read(KEPT).items() if k.split(",")[0] not in names})
    print("\n".join(table(names, folder)))


if __name__ == "__main__":
    main(sys.argv[1:])

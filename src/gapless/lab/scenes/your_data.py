"""Your data: a table or a saved model, its certificate, the bounds on new rows, and the judge's verdict on all claims."""

from __future__ import annotations

from typing import Any

import numpy as np

import gapless
from gapless.lab.drawing import Drawing, Layer, Panel, Table, histogram, line, points, shown
from gapless.lab.scene import Scene, falling_gap
from gapless.lab.state import Choice, Slider, State


def check_size(data, rows=20_000, columns=1_000, cells=100_000):
    """Count lines and cells before anything is read: a page is for tables that a person can look at."""
    lines = data.count(b"\n") + 1
    widest = max(data[:100_000].split(b"\n", 1)[0].count(sign) for sign in (b",", b";", b"\t", b" ", b"|")) + 1
    if data.count(b'"') > 2 * cells or sum(data.count(sign) for sign in (b",", b";", b"\t", b"|")) > cells:
        raise ValueError(f"the table has more than {cells:,} cells; this page takes no more: use `gapless train`")
    if lines > rows + 1:
        raise ValueError(f"the table has about {lines:,} lines; this page takes {rows:,}: use `gapless train`")
    if widest > columns:
        raise ValueError(f"the table has about {widest:,} columns; this page takes {columns:,}: use `gapless train`")


def open_files(data, saved):
    """The table and, where there is one, the model: by temporary files that this program names."""
    import tempfile
    from pathlib import Path

    check_size(data)
    with tempfile.TemporaryDirectory(prefix="gapless-lab-") as folder:
        table, file = Path(folder, "table.csv"), Path(folder, "model.gapless")
        table.write_bytes(data)
        lines = data[:100_000].decode("utf-8-sig", "replace").splitlines()
        first = next((text for text in lines if text.split("#", 1)[0].strip()), "")
        kind = "svmlight" if gapless.files.svmlight.looks_like_svmlight(first) else "csv"
        try:
            if not saved:
                return gapless.read_data(table, format=kind, typed=kind == "csv"), None, None
            file.write_bytes(saved)
            model = gapless.load(file)
            expected = gapless.files.Expected.from_model(model)
            return gapless.read_data(table, format=kind, expected=expected), model, expected
        except (ValueError, OSError) as error:
            said = str(error).replace(str(table), "the table").replace(str(file), "the model file")
            raise ValueError(said.replace(folder, "")) from None


def hold_out(table, expected, held, seed):
    """The training rows, the test rows, the numbers of the training rows, how texts were coded, and how rows were split."""
    share = held
    if expected is not None:
        split = expected.split
        same = split is not None and split["rows"] == table.n_rows
        share, seed = (split["share"], split["seed"]) if same else (0.0, seed)
    order = np.random.RandomState(seed).permutation(table.n_rows)
    away = round(share * table.n_rows)
    rows = np.sort(order[away:])
    kept, test = table.rows(rows), table.rows(np.sort(order[:away]))
    encoding = None if hasattr(table.X, "toarray") or expected is not None else gapless.Encoding.fit(kept)
    encoding = expected.encoding if expected is not None else encoding
    if encoding is not None:
        if encoding.width > 1000:
            raise ValueError(f"the texts of this table become {encoding.width:,} features; this page takes 1,000")
        kept, test = encoding.applied(kept), encoding.applied(test)
    return kept, test, rows, encoding, {"rows": table.n_rows, "share": share, "seed": seed} if away else None


def fit_learner(kept, encoding, split, learner, C, gamma, rounds):
    """The learner of that name, fitted within a time limit; labels that are numbers take ridge."""
    import dataclasses

    learner = "ridge" if kept.y.dtype.kind == "f" else "svm" if learner == "ridge" else learner
    if learner == "rbf" and kept.n_rows > 2000:
        raise ValueError(f"a kernel takes 2,000 rows on this page; there are {kept.n_rows:,}: take a line")
    model = {
        "svm": gapless.LinearSVC(loss="hinge", C=C, time_limit=2.0),
        "logistic": gapless.LogisticRegression(C=C, max_iter=1000, time_limit=2.0),
        "rbf": gapless.SVC(kernel="rbf", C=C, gamma=gamma, time_limit=2.0),
        "boosting": gapless.AdaBoostClassifier(n_estimators=rounds, random_state=0, time_limit=2.0),
        "ridge": gapless.Ridge(alpha=1.0 / C),
    }[learner].fit(kept.X, kept.y)
    if encoding is not None:
        model.encoding_ = encoding
    origin = {"command": "gapless lab", "dtype": "float64", "split": split}
    statement = {**model.certificate_.statement, "origin": origin}
    model.certificate_ = dataclasses.replace(model.certificate_, statement=statement)
    return model


def study(data, saved, learner, C, gamma, rounds, held, seed, rigorous):
    numbers, parts = {}, {"model": None, "error": None}
    try:
        table, model, expected = open_files(data, saved)
        kept, test, rows, encoding, split = hold_out(table, expected, held, seed)
        if model is None:
            model = fit_learner(kept, encoding, split, learner, C, gamma, rounds)
        verdict = gapless.verify(model, kept.X, kept.y, kept.weights, rigorous=rigorous)
    except (ValueError, OSError, MemoryError) as error:
        return numbers, {"model": None, "error": str(error)}
    parts = {
        "model": model,
        "error": None,
        "table": table,
        "kept": kept,
        "test": test,
        "encoding": encoding,
        "rows": rows,
    }
    parts |= {"verdict": verdict, "bounds": None, "refused": "", "target": table.target}
    certificate = model.certificate_
    numbers = {
        "rows": kept.n_rows,
        "columns": table.n_features,
        "features": kept.n_features,
        "claims that hold": len(verdict.claims) - len(verdict.failed),
        "claims": len(verdict.claims),
    }
    if getattr(certificate, "gap", None) is not None:
        numbers["primal P"] = certificate.primal
        numbers["dual D"] = certificate.dual
        numbers["gap"] = certificate.gap
    if kept.y.dtype.kind == "f":
        numbers["R², training rows"] = model.score(kept.X, kept.y)
        return numbers, parts
    numbers["training errors"] = int((model.predict(kept.X) != kept.y).sum())
    fresh = (test.X, test.y) if test.n_rows else (None, None)
    if test.n_rows:
        numbers["errors, held out"] = int((model.predict(test.X) != test.y).sum())
    try:
        bounds = gapless.bounds(model, kept.X, kept.y, X_test=fresh[0], y_test=fresh[1])
        sure = [row for row in bounds.rows if row.delta is not None]
        numbers["error on new rows, at most"] = sure[0].value if sure else None
        parts["bounds"] = bounds
    except (ValueError, TypeError, NotImplementedError) as error:
        parts["refused"] = str(error)
    return numbers, parts


def arguments(state: State) -> dict[str, Any]:
    given = {name: state[name] for name in ("learner", "C", "gamma", "rounds", "held", "seed")}
    table, saved = state.files.get("table"), state.files.get("model")
    return {
        "data": example() if table is None else table.content,
        "saved": b"" if saved is None else saved.content,
        **given,
        "rigorous": state["judge"] == "rigorous",
    }


def example() -> bytes:
    """90 students: hours and sleep before an exam, where they learned, and whether they passed."""
    rng = np.random.default_rng(11)
    lines = ["hours,sleep,place,passed"]
    for i in range(90):
        hours, sleep = rng.uniform(0.0, 10.0), rng.uniform(4.0, 9.0)
        place = ("home", "library", "train")[i % 3]
        luck = rng.normal() + (0.8 if place == "library" else 0.0)
        passed = "yes" if hours + 0.9 * sleep + luck > 11.2 else "no"
        lines.append(f"{hours:.1f},{'' if i % 29 == 7 else f'{sleep:.1f}'},{place},{passed}")
    return ("\n".join(lines) + "\n").encode()


def draw(state: State, numbers: dict[str, Any], parts: dict[str, Any]) -> Drawing:
    if parts["model"] is None:
        empty = Panel("plane", "", (0.0, 1.0), (0.0, 1.0), (), " ", " ")
        return Drawing(f"This cannot be read or fitted: {' '.join(str(parts['error']).split())[:400]}", (empty,))
    tables = (_verdict(parts["verdict"]), *_promises(parts), _kinds(parts))
    last = max(0, parts["table"].n_features - 1)
    limits = {"across": (0.0, float(last)), "up": (0.0, float(last))} if last else {}
    panels = (_picture(state, parts), *_scores(parts), *falling_gap(parts["model"]))
    return Drawing(_sentence(state, numbers, parts), panels, limits=limits, tables=tables)


def _picture(state: State, parts: dict[str, Any]) -> Panel:
    """Rows of the table in two of its columns; for numbers as labels, what was found against what is."""
    tones = ("minus", "plus", "good", "third", "fourth", "accent", "bad", "ink")  #: of the classes, in order
    most_drawn = 600  #: points in the picture
    kept, model = parts["kept"], parts["model"]
    some = np.linspace(0, kept.n_rows - 1, min(kept.n_rows, most_drawn)).astype(int)
    said = np.asarray(model.predict(kept.X))[some]
    y = kept.y[some]
    if kept.y.dtype.kind == "f":
        ends = _span(np.concatenate([y, said]))
        layers: tuple[Layer, ...] = (
            line([[ends[0], ends[0]], [ends[1], ends[1]]], "mute", "dashed", "as it is"),
            points(np.column_stack([y, said]), "plus", "faint", name="rows"),
        )
        return Panel("plane", "", ends, ends, layers, parts["target"] or "label", "predicted")
    table = parts["table"]
    of = parts["rows"][some]
    chosen = [min(state["across"], table.n_features - 1), min(state["up"], table.n_features - 1)]
    dense = table.X[of].toarray() if hasattr(table.X, "toarray") else np.asarray(table.X)[of]
    places = dense[:, chosen].astype(float)
    across, up = (_column(table, j) for j in chosen)
    classes = list(model.classes_)
    layers = tuple(
        points(
            places[mine],
            tones[k % len(tones)],
            ["ringed" if wrong else "faint" for wrong in (said != y)[mine]],
            name=f"{parts['target'] or 'class'} {classes[k]}",
        )
        for k, mine in enumerate(y == one for one in classes)
        if k < 12 and mine.any()
    )
    return Panel("plane", "", _span(places[:, 0]), _span(places[:, 1]), layers, across, up)


def _span(values: np.ndarray) -> tuple[float, float]:
    """A range with some room around what is finite."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    room = 0.06 * (high - low) or max(abs(high), 1.0) * 0.5
    return low - room, high + room


def _column(table: Any, j: int) -> str:
    return f"column {j + 1}" if table.names is None else str(table.names[j])[:40]


def _scores(parts: dict[str, Any]) -> tuple[Panel, ...]:
    """The scores of both classes: the line is at 0."""
    model, kept = parts["model"], parts["kept"]
    if kept.y.dtype.kind == "f" or len(model.classes_) != 2 or not hasattr(model, "decision_function"):
        return ()
    score = np.asarray(model.decision_function(kept.X), dtype=float)
    span = _span(np.append(score, 0.0))
    zero = line([[0.0, 0.0], [0.0, 1.0]], "ink", "dashed")
    named = {one: str(one) for one in model.classes_}
    return (histogram("scores", "Scores of the training rows", score, kept.y, named, span, "score", [zero]),)


def _verdict(verdict: Any) -> Table:
    rows = tuple(
        ("holds" if claim.holds else "FALSE", str(claim.name), _cell(claim.claimed), _cell(claim.recomputed))
        for claim in verdict.claims
    )
    bad = tuple(i for i, claim in enumerate(verdict.claims) if not claim.holds)
    return Table("verdict", f"The judge ({verdict.tier})", ("", "claim", "claimed", "recomputed"), rows, bad)


def _promises(parts: dict[str, Any]) -> tuple[Table, ...]:
    found = parts["bounds"]
    if found is None:
        return ()
    rows = [(row.method, shown(row.value), row.what) for row in found.rows]
    rows += [(method, "refused", why) for method, why in found.refused.items()]
    return (Table("bounds", f"Error on new rows, δ = {found.delta:g}", ("method", "at most", "what"), tuple(rows)),)


def _kinds(parts: dict[str, Any]) -> Table:
    table, encoding = parts["table"], parts["encoding"]
    rows = []
    for j in range(min(table.n_features, 60)):
        entry = {"kind": "number"} if encoding is None else encoding.columns[j]
        levels = entry.get("levels")
        become = "itself" if encoding is None else "itself, centred and scaled"
        become = f"{len(levels)} features, one a text" if levels is not None else become
        become = "parts of a date" if entry["kind"] == "date" else become
        gone = "with gaps" if entry.get("indicator") or entry.get("missing") else ""
        rows.append((_column(table, j), entry["kind"], become, gone))
    more = f", the first 60 of {table.n_features:,}" if table.n_features > 60 else ""
    return Table("kinds", f"Columns{more}", ("column", "kind", "becomes", ""), tuple(rows))


def _cell(value: Any) -> str:
    text = "−" if value is None else shown(value) if isinstance(value, int | float) else str(value)
    return text if len(text) <= 28 else text[:27] + "…"


def _sentence(state: State, numbers: dict[str, Any], parts: dict[str, Any]) -> str:
    verdict, table = parts["verdict"], state.files.get("table")
    name = "The example" if table is None else table.name[:40]
    kind = type(parts["model"]).__name__
    made = "the model file," if "model" in state.files else "a fresh"
    if not verdict:
        first = verdict.failed[0]
        return f"FALSE: {len(verdict.failed)} of {len(verdict.claims)} claims of {kind} do not hold, first of all “{first.name}”."
    holds = f"The judge recomputed all {len(verdict.claims)} claims, and they hold"
    best = numbers.get("error on new rows, at most")
    promise = "" if best is None else f" On new rows at most {100 * best:.3g} % are wrong, with probability 95 %."
    return f"{name}: {made} {kind} on {numbers['rows']:,} rows. {holds}.{promise}"


def report(state: State) -> str:
    """The page of `gapless.report` for this state."""
    _, parts = study(**arguments(state))
    if parts["model"] is None:
        raise ValueError(parts["error"])
    kept, test = parts["kept"], parts["test"]
    table = state.files.get("table")
    page = gapless.report(
        parts["model"], kept.X, kept.y,
        X_test=test.X if test.n_rows else None, y_test=test.y if test.n_rows else None,
        sample_weight=kept.weights, feature_names=kept.names, data_name="example.csv" if table is None else table.name,
    )  # fmt: skip
    return page.html


def make_scene() -> Scene:
    return Scene(
        "your_data",
        "Your data",
        "Open a table, or a model file with the table it was trained on: the judge recomputes every claim from the rows.",
        (
            Choice(
                "learner",
                "learner",
                (("svm", "linear SVM"), ("logistic", "logistic regression"), ("rbf", "SVM, RBF kernel"),
                 ("boosting", "boosted stumps"), ("ridge", "ridge, for numbers")),
                "svm",
            ),
            Slider("C", "C", 1e-3, 1e3, 1.0, log=True, when=("learner", ("svm", "logistic", "rbf", "ridge"))),
            Slider("gamma", "γ", 1e-3, 1e1, 0.3, log=True, when=("learner", ("rbf",))),
            Slider("rounds", "rounds", 1, 100, 40, 1, whole=True, when=("learner", ("boosting",))),
            Slider("held", "share held out", 0.0, 0.5, 0.2, 0.05),
            Slider("seed", "which rows are held out", 0, 99, 0, 1, whole=True),
            Choice("judge", "judge", (("float64", "float64"), ("rigorous", "proved bounds")), "float64"),
            Slider("across", "column across", 0, 999, 0, 1, whole=True),
            Slider("up", "column up", 0, 999, 1, 1, whole=True),
        ),
        lambda seed: [],
        study,
        arguments,
        draw,
        points="",
        most=0,
        helpers=(check_size, open_files, hold_out, fit_learner),
        files=(("table", "Open a table", ".csv,.tsv,.txt,.svm,.svmlight,.libsvm"), ("model", "Open a model file", ".gapless")),
        report=report,
        rounding=lambda parts: getattr(parts["model"].certificate_, "rounding", 0.0) or 0.0 if parts["model"] else 0.0,
    )  # fmt: skip

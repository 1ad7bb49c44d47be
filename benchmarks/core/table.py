"""The tables of RESULTS.md, from what was measured and kept; between two markers, nothing else is touched."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.core import limits, objective
from benchmarks.core.machine import machine, packages

PAGE = Path(__file__).resolve().parents[1] / "RESULTS.md"
RESULTS = PAGE.parent / "results"
START, END = "<!-- measured: start -->", "<!-- measured: end -->"


def rewrite() -> None:
    """RESULTS.md's tables and results/curves.csv; a table of which nothing is kept here stays as it is."""
    text = PAGE.read_text()
    head, _, rest = text.partition(START)
    _, _, tail = rest.partition(END)
    if not rest or not text.count(END):
        raise SystemExit(f"{PAGE.name} has lost its markers {START} and {END}.")
    before = rest.partition(END)[0].strip()
    PAGE.write_text(f"{head}{START}\n{_merged(before, render())}\n{END}{tail}")
    write_curves()


def _merged(before: str, now: str) -> str:
    """The parts of ``now`` with the remarks (> ...) of ``before``, and those of ``before`` that ``now`` has not, in its order."""
    old, new = ({part.split("\n", 1)[0]: part.rstrip() for part in text.split("\n### ")} for text in (before, now))
    top = next(iter(new))
    kept = [
        "\n\n".join([new.pop(title), *_remarks(part)]) if title in new else part
        for title, part in list(old.items())[1:]
    ]
    return "\n\n### ".join([new.pop(top), *kept, *new.values()])


def _remarks(part: str) -> list[str]:
    return [paragraph for paragraph in part.split("\n\n") if paragraph.startswith("> ")]


def render() -> str:
    parts = [f"{machine()}; {limits.THREADS} threads.\n{packages()}."]
    rows = list(objective.read("rows.json").values())
    for loss, targets in limits.TARGETS.items():
        for target in targets:
            chosen = [row for row in rows if (row["loss"], row["target"]) == (loss, target)]
            if chosen:
                parts.append(_duels(loss, target, chosen))
    for section in (
        _offset,
        _threads,
        _least_squares,
        _memory,
        _perceptron,
        _descent,
        _kernel_machines,
        _predicting,
        _kernel_grid,
        _kernel_growth,
        _ensembles,
        _trees,
        _tuning,
    ):
        if lines := section():
            parts.append("\n".join(lines))
    return "\n\n".join(parts)


def geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(math.fsum(logs) / len(logs))


def _duels(loss: str, target: float, rows: list[dict[str, Any]]) -> str:
    lines = [
        f"### {loss} to {target:g}",
        "",
        "| data | C | gapless s | its tol | distance | proved s | way | fastest peer | its tol | its s | distance | ratio |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if row["peer"]:
            peer = f"{row['peer']} | {row['peer_tol']:.2g} | {row['peer_seconds']:.3g} | {row['peer_distance']:.0e}"
        else:
            peer = f"none within {limits.SECONDS:g} s | | > {limits.SECONDS:g} | "
        ratio = f"{'' if row['peer'] else '> '}{row['ratio']:.2f}"
        mine = f"{row['seconds']:.3g} | {row.get('tol', row['target']):.2g} | {row['distance']:.0e} | "
        mine += f"{row.get('proved', row['seconds']):.3g}"
        mine += f" | {row['way'].replace('_', ' ')}"
        lines.append(f"| {row['data']} | {row['C']:g} | {mine} | {peer} | {ratio} |")
    ratios = [row["ratio"] for row in rows]
    lines += ["", f"Geometric mean of {len(ratios)}: **{geometric_mean(ratios):.2f}**; least {min(ratios):.2f}."]
    return "\n".join(lines)


def _offset() -> list[str]:
    return _pairs("offset.json", "A free offset, tol = 1e-6", ("without s", "with s", "costs"))


def _threads() -> list[str]:
    return _pairs("threads.json", "Threads, tol = 1e-6", ("two threads s", "one thread s", "gains"))


def _pairs(name: str, title: str, heads: tuple[str, str, str]) -> list[str]:
    rows = objective.read(name).values()
    if not rows:
        return []
    lines = [
        f"### {title}",
        "",
        f"| data | loss | C | {heads[0]} | {heads[1]} | {heads[2]} |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        times = f"{row['seconds']:.3g} | {row['other']:.3g} | {row['other'] / row['seconds']:.2f}"
        lines.append(f"| {row['data']} | {row['loss']} | {row['C']:g} | {times} |")
    return lines


def _least_squares() -> list[str]:
    rows = list(objective.read("least_squares.json").values())
    if not rows:
        return []
    names = list(dict.fromkeys(name for row in rows for name in row["seconds"]))
    rule = "---|" * (len(names) + 2)
    lines = [
        f"### Least squares, {rows[0]['shape'][0]:,} x {rows[0]['shape'][1]}, seconds (distance)",
        "",
        f"| | offset | {' | '.join(names)} |",
        f"|{rule}",
    ]
    for row in rows:
        cells = [f"{row['seconds'][n]:.3g} ({row['distance'][n]:.0e})" if n in row["seconds"] else "" for n in names]
        lines.append(f"| {row['kind']} | {'free' if row['fit_intercept'] else 'none'} | {' | '.join(cells)} |")
    return lines


def _descent() -> list[str]:
    rows = objective.read("descent.json").values()
    if not rows:
        return []
    lines = [
        "### Epochs of stochastic descent, hinge, lam = 1e-4",
        "",
        "| data | sklearn ms | gapless ms | ratio | traced ms | ratio | epochs | in all ms | ratio | value | its gap | theirs |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        peer, plain, traced = (row["seconds"][way] for way in ("sklearn", "plain", "traced"))
        times = f"{1e3 * peer:.3g} | {1e3 * plain:.3g} | {peer / plain:.2f} | {1e3 * traced:.3g} | {peer / traced:.2f}"
        values = f"{row['value']:.5f} | {row['relative_gap']:.1e} | {row['peer_value']:.5f}"
        all_ = f"{1e3 * row['in_all']['plain']:.3g} | {row['in_all']['sklearn'] / row['in_all']['plain']:.2f}"
        lines.append(f"| {row['data']} | {times} | {row['epochs']} | {all_} | {values} |")
    return lines


def _memory() -> list[str]:
    rows = objective.read("memory.json").values()
    if not rows:
        return []
    lines = [
        "### Memory: growth of the process during a fit",
        "",
        "| model | data | X MB | grew by MB | bound MB |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        sizes = " | ".join(f"{row[part] / 1e6:.0f}" for part in ("X", "grew", "bound"))
        lines.append(f"| {row['model']} | {row['data']} | {sizes} |")
    return lines


def _perceptron() -> list[str]:
    rows = objective.read("perceptron.json").values()
    if not rows:
        return []
    lines = [
        "### Perceptron: milliseconds an epoch, and seconds of a whole fit of so many",
        "",
        "| data | rows visited | gapless ms | sklearn ms | ratio | epochs | gapless s | sklearn s | ratio |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        epoch, fit = row["epoch"], row["fit"]
        cells = (
            f"{1e3 * epoch['gapless']:.3g} | {1e3 * epoch['sklearn']:.3g} | {epoch['sklearn'] / epoch['gapless']:.2f}"
        )
        whole = f"{fit['gapless']:.3g} | {fit['sklearn']:.3g} | {fit['sklearn'] / fit['gapless']:.2f}"
        lines.append(f"| {row['data']} | {row['order']} | {cells} | {row['epochs'] + 1} | {whole} |")
    return lines


def _trees() -> list[str]:
    rows = objective.read("trees.json").values()
    if not rows:
        return []
    lines = [
        "### One deep tree: seconds of a fit, milliseconds of a prediction, test error",
        "",
        "| data | rows | gapless s | sklearn s | ratio | sklearnex s | ratio | predict ms | sklearn ms | ratio "
        "| error | sklearn | sklearnex |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        fit, walk, error = row["fit"], row["predict"], row["error"]
        other = f"{fit['sklearnex']:.3g} | {fit['sklearnex'] / fit['gapless']:.2f}" if "sklearnex" in fit else " | "
        cells = [
            f"{fit['gapless']:.3g} | {fit['sklearn']:.3g} | {fit['sklearn'] / fit['gapless']:.2f} | {other}",
            f"{1e3 * walk['gapless']:.3g} | {1e3 * walk['sklearn']:.3g} | {walk['sklearn'] / walk['gapless']:.2f}",
            " | ".join(
                f"{100 * error[key]:.2f} %" if key in error else "" for key in ("gapless", "sklearn", "sklearnex")
            ),
        ]
        lines.append(f"| {row['data']} | {row['rows']} | {' | '.join(cells)} |")
    return lines


def _kernel_machines() -> list[str]:
    rows = list(objective.read("kernel_machines.json").values())
    if not rows:
        return []
    lines = [
        "### SVC, Gaussian kernel: seconds of a fit, certificate included",
        "",
        "| data | n | support vectors | gapless s | its gap | fastest peer | its s | its gap | ratio | sklearn s | ratio |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    ratios, plain = [], []
    for row in rows:
        seconds, gaps, peer = row["seconds"], row["gaps"], row["peer"]
        ratios.append(seconds[peer] / seconds["gapless"])
        plain.append(seconds["sklearn SVC"] / seconds["gapless"])
        cells = f"{seconds['gapless']:.3g} | {gaps['gapless']:.0e} | {peer} | {seconds[peer]:.3g} | {gaps[peer]:.0e}"
        lines.append(
            f"| {row['data']} | {row['n']:,} | {row['support']:,} | {cells} | {ratios[-1]:.2f} | "
            f"{seconds['sklearn SVC']:.3g} | {plain[-1]:.1f} |"
        )
    return [*lines, "", f"Geometric means: {geometric_mean(ratios):.2f} and {geometric_mean(plain):.1f}."]


def _predicting() -> list[str]:
    rows = list(objective.read("kernel_machines.json").values())
    if not rows:
        return []
    lines = [
        "### SVC, Gaussian kernel: milliseconds to predict 20,000 rows",
        "",
        "| data | rows | gapless ms | fastest peer | its ms | ratio | sklearn ms | ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]
    ratios, plain = [], []
    for row in rows:
        for dtype in ("float32", "float64"):
            own = {key.removesuffix(f" {dtype}"): s for key, s in row["predicting"].items() if key.endswith(dtype)}
            peer = min((key for key in own if key != "gapless"), key=lambda key: own[key])
            ratios.append(own[peer] / own["gapless"])
            plain.append(own["sklearn SVC"] / own["gapless"])
            lines.append(
                f"| {row['data']} | {dtype} | {1e3 * own['gapless']:.3g} | {peer} | {1e3 * own[peer]:.3g} | "
                f"{ratios[-1]:.2f} | {1e3 * own['sklearn SVC']:.3g} | {plain[-1]:.1f} |"
            )
    return [*lines, "", f"Geometric means: {geometric_mean(ratios):.2f} and {geometric_mean(plain):.1f}."]


def _kernel_grid() -> list[str]:
    rows = list(objective.read("kernel_grid.json").values())
    if not rows:
        return []
    lines = [
        "### SVC around the best cell of a cross-validated grid: seconds of a fit",
        "",
        "| data | C | gamma | support vectors | gapless s | its gap | sklearnex s | its gap | ratio |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    ratios = []
    for row in rows:
        ours, peer = row["gapless"], row["sklearnex"]
        ratios.append(peer["seconds"] / ours["seconds"])
        lines.append(
            f"| {row['data']} | {row['C']:g} | {row['gamma']:.4g} | {row['support']:,} | {ours['seconds']:.3g} | "
            f"{ours['gap']:.0e} | {peer['seconds']:.3g} | {peer['gap']:.0e} | {ratios[-1]:.2f} |"
        )
    return [*lines, "", f"Geometric mean: {geometric_mean(ratios):.2f}."]


def _kernel_growth() -> list[str]:
    rows = list(objective.read("kernel_growth.json").values())
    if not rows:
        return []
    who = list(rows[0]["seconds"])
    lines = [
        "### SVC on more and more rows of covtype: seconds of a fit, and memory with cache_size=200",
        "",
        f"| rows | {' | '.join(who)} | MB | allowed MB |",
        "|---|" + "---|" * (len(who) + 2),
    ]
    for row in rows:
        cells = [f"{row['seconds'][key]:.3g}" if key in row["seconds"] else "" for key in who]
        lines.append(f"| {row['n']:,} | {' | '.join(cells)} | {row['grew'] / 1e6:.0f} | {row['bound'] / 1e6:.0f} |")
    growth = []
    for key in who:
        known = [row for row in rows if key in row["seconds"]]
        x = [math.log(row["n"]) for row in known]
        y = [math.log(row["seconds"][key]) for row in known]
        middle_x, middle_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
        over = math.fsum((a - middle_x) ** 2 for a in x)
        growth.append(f"{key} {math.fsum((a - middle_x) * (b - middle_y) for a, b in zip(x, y)) / over:.2f}")
    return [*lines, "", f"Exponents of n: {', '.join(growth)}."]


def _ensembles() -> list[str]:
    rows = objective.read("ensembles.json").values()
    if not rows:
        return []
    lines = [
        "### Ensembles: seconds of a fit and of the prediction of the test part, and its error",
        "",
        "| data | task | who | fit s | ratio | predict s | ratio | error (standard error) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        ours = row["who"]["gapless"]
        for who, found in row["who"].items():
            fit = f"{found['fit']:.3g} | {found['fit'] / ours['fit']:.1f}"
            predict = f"{found['predict']:.3g} | {found['predict'] / ours['predict']:.1f}"
            error = f"{found['error']:.4f} ({found['standard_error']:.4f})"
            lines.append(f"| {row['data']} | {row['task']} | {who} | {fit} | {predict} | {error} |")
    return lines


def write_curves() -> None:
    """Every try of every solver: seconds against distance."""
    swept = objective.read("sweeps.json")
    if not swept:
        return
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / "curves.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["data", "loss", "C", "solver", "tol", "seconds", "distance"])
        for key, solvers in swept.items():
            data, loss, C = key.split(" ")
            for solver, found in solvers.items():
                for point in sorted(found["points"], key=lambda point: -point["tol"]):
                    distance = "killed" if point["distance"] is None else f"{point['distance']:.3e}"
                    writer.writerow(
                        [data, loss, C[2:], solver, f"{point['tol']:.2g}", f"{point['seconds']:.4g}", distance]
                    )


def _tuning() -> list[str]:
    rows = list(objective.read("tuning.json").values())
    if not rows:
        return []
    lines = [
        "### Tuning an SVC: 10,000 rows, 6 x 6 grid, 5 folds, seconds with the last fit",
        "",
        "| data | d | gapless s | GridSearchCV, n_jobs=2 s | ratio | best score | its best | cells differ by |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        seconds = f"{r['gapless']:.3g} | {r['sklearn']:.3g} | {r['sklearn'] / r['gapless']:.1f}"
        lines.append(
            f"| {r['data']} | {r['d']} | {seconds} | {r['best']:.4f} | {r['best_peer']:.4f} | {r['apart']:.1e} |"
        )
    return lines

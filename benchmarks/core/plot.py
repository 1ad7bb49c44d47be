"""Curves of distance against seconds, from results/curves.csv: `python -m benchmarks.core.plot` (needs matplotlib)."""

from __future__ import annotations

import csv
from collections import defaultdict

from benchmarks.core.table import RESULTS


def main() -> None:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "gapless"  # the same figures give the same file
    from matplotlib import pyplot

    curves: dict[str, dict[tuple[str, str], dict[str, list[tuple[float, float]]]]] = {}
    with (RESULTS / "curves.csv").open() as file:
        for row in csv.DictReader(file):
            if row["distance"] != "killed":
                panel = curves.setdefault(row["loss"], {}).setdefault((row["data"], row["C"]), defaultdict(list))
                # below 1e-12 the distance is rounding
                panel[row["solver"]].append((float(row["seconds"]), max(float(row["distance"]), 1e-12)))
    for loss, panels in curves.items():
        names = list(dict.fromkeys(name for panel in panels.values() for name in panel))
        names.sort(key=lambda name: name != "gapless")
        colours = {name: pyplot.get_cmap("tab20")(k) for k, name in enumerate(names)}
        across = 4
        down = -(-len(panels) // across)
        figure, axes = pyplot.subplots(
            down, across, figsize=(4 * across, 3 * down), squeeze=False, layout="constrained"
        )
        for axis in axes.ravel()[len(panels) :]:
            axis.axis("off")
        for axis, ((data, C), panel) in zip(axes.ravel(), sorted(panels.items())):
            for name in (name for name in names if name in panel):
                seconds, distances = zip(*sorted(panel[name]))
                width = 2.5 if name == "gapless" else 1.0
                axis.loglog(seconds, distances, "o-", ms=3, lw=width, color=colours[name], label=name)
            axis.set_title(f"{data}, C = {C}", fontsize=10)
            axis.set_xlabel("seconds")
            axis.set_ylabel("(P − P*) / P*")
        found = {label: line for axis in axes.ravel() for line, label in zip(*axis.get_legend_handles_labels())}
        figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=6, fontsize=9)
        figure.savefig(RESULTS / f"curves_{loss}.svg", metadata={"Date": None})
        pyplot.close(figure)


if __name__ == "__main__":
    main()

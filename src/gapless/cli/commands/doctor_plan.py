"""``gapless doctor --plan``: what a fit of so many rows would take, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

from gapless._runtime.lazy import load
from gapless._runtime.written import written
from gapless.cli.output import print_json, print_line, print_title


def print_plan(given: Sequence[str], json: bool) -> None:
    """Print the plan; ``given`` are numbers by name: rows=1e9 columns=100 workers=100."""
    # With numpy, which the help does without.
    threads: Any = load("gapless._runtime.threads")
    plans: Any = load("gapless.backends.blocks.plan")
    cluster = _read(given, plans.Cluster())
    with threads.one_blas_thread(), threads.thread_team(1):
        rates = plans.measure_rates(int(cluster.columns))
    told: dict[str, Any] = {}
    for loss in plans.steps():
        found = plans.plan(cluster, rates, loss)
        told[loss] = {**found._asdict(), "seconds": found.seconds}
    if json:
        print_json({"command": "doctor", "cluster": cluster._asdict(), "measured_here": rates._asdict(), "plan": told})
        return
    size = cluster.rows * cluster.columns * cluster.item
    print_title("plan")
    print_line("  data", f"{cluster.rows:,.0f} rows x {cluster.columns:,.0f} columns, {size / 1e9:,.3g} GB")
    print_line("  workers", f"{cluster.workers:,.0f}, one core each, {size / cluster.workers / 1e9:.3g} GB of X each")
    for loss, each in told.items():
        print_line(
            f"  {loss.replace('squared_hinge', 'sq. hinge')}",
            f"{each['rounds']} rounds, {each['bytes_here'] / 1e6:,.3g} MB travel, about {each['seconds']:,.3g} s: computing "
            f"{each['compute']:,.3g}, reading {each['reading']:,.3g}, waiting {each['waiting']:,.3g}",
        )
    print_title("where these come from")
    print_line(
        "  measured",
        f"on this machine just now, of one core: {rates.values:,.3g} values a second in a pass, {rates.multiplications:,.3g} "
        "multiplications a second in a Hessian",
    )
    print_line(
        "  readings",
        "of all rows, and rounds, to a relative gap of 1e-4: measured for logistic on covtype, estimates for the others",
    )
    print_line(
        "  assumed",
        f"latency {cluster.latency:g} s, bandwidth {cluster.bandwidth:g} B/s, overhead {cluster.overhead:g} s a task",
    )
    print_line("  extrapolated", "all seconds are extrapolated: no fit of this size has been run here")


def _read(given: Sequence[str], cluster: Any) -> Any:
    """The cluster with the numbers that were given by name."""
    found = cluster
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name not in cluster._fields:
            raise typer.BadParameter(f"{text!r} is not NAME=NUMBER; the names are {', '.join(cluster._fields)}")
        try:
            number = float(value)
        except ValueError:
            raise typer.BadParameter(f"{text!r}: {written(value)} is not a number") from None
        if not number > 0.0:
            raise typer.BadParameter(f"{text!r}: a number above 0 is asked for")
        found = found._replace(**{name: number})
    return found

"""What `gapless train` prints of a fitted model: lines for people, or one JSON object."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gapless.cli.output import certificate_figures, print_json, print_line
from gapless.cli.table import column_kinds

if TYPE_CHECKING:
    from gapless.cli.commands.train import Request, Result


def tell(request: Request, whole: Any, rows: Any, result: Result) -> None:
    """Print what was found."""
    model, certificate = result.model, result.model.certificate_
    if result.comparison is not None:
        from gapless.cli.compare_output import show  # with numpy, which the help does without

        show(result.comparison)
    if getattr(model, "objective_", None):
        print_line("objective", model.objective_)
    print_line("certificate", certificate)
    print_line("training", f"error {result.trained}, of the rows trained on: it says nothing of new rows")
    if result.new is not None:
        which = "held out" if request.test is None else f"of {request.test}"
        print_line("test", f"error {result.new.with_interval()}, of the rows {which}")
    print_line("saved", f"{request.out} (status {certificate.status})")
    if result.page is not None:
        print_line("report", f"{result.page}: open it in a browser")
    print_line("next", result.check)


def tell_json(request: Request, whole: Any, rows: Any, result: Result) -> None:
    """Print one JSON object."""
    from gapless.readings.explain import coefficients  # with numpy, which the help does without

    model, comparison, certificate = result.model, result.comparison, result.model.certificate_
    chance = None if comparison is None else comparison.chance
    print_json(
        {
            "command": "train",
            "data": os.fspath(request.data),
            "rows": rows.data.n_rows,
            "features": rows.data.n_features,
            "classes": model.classes_.tolist() if hasattr(model, "classes_") else None,
            "target": whole.target,
            "notes": [*whole.notes, *column_kinds(whole), *whole.told],
            "left_out": rows.left_out,
            "scoring": None if comparison is None else comparison.scoring.name,
            "compared": None if comparison is None else [each.document() for each in comparison.tried],
            "not_compared": None if comparison is None else comparison.left_out,
            "baseline": None if comparison is None else comparison.baseline.document(),
            "chance": None
            if chance is None
            else {"beaten": chance.beaten, "p_value": chance.p_value, "test": chance.how},
            "estimator": type(model).__name__,
            "objective": getattr(model, "objective_", None),
            "coefficients": coefficients(model, rows.data.X, rows.data.names),
            "certificate": certificate_figures(certificate),
            "sentence": str(certificate),
            "converged": certificate.status == "converged",
            "training": result.trained.document(),
            "test": None if result.new is None else result.new.document(interval=True),
            "model": os.fspath(request.out),
            "report": None if result.page is None else os.fspath(result.page),
            "exit": result.code,
        }
    )

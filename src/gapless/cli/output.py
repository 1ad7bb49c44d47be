"""How the commands print: labelled lines within 100 columns, or one JSON object."""

from __future__ import annotations

import json
import math
import sys
import textwrap
from typing import Any

WIDTH = 100
LABEL = 13


def print_line(label: str, text: object) -> None:
    """`label      text`, the text wrapped under itself. No colour: it reads the same in a file."""
    body = textwrap.wrap(" ".join(str(text).split()), WIDTH - LABEL, break_long_words=False, break_on_hyphens=False)
    for k, part in enumerate(body or [""]):
        _print(f"{label if k == 0 else '':<{LABEL}}{part}".rstrip())


def _print(text: str) -> None:
    try:
        print(text, flush=True)
    except UnicodeEncodeError:  # a terminal that cannot show ½ or ‖w‖
        encoding = sys.stdout.encoding or "ascii"
        print(text.encode(encoding, "replace").decode(encoding), flush=True)


def print_json(document: dict[str, Any]) -> None:
    """One JSON object on stdout; what is not finite is a string, as in the model file."""
    print(json.dumps(plain(document), ensure_ascii=True, allow_nan=False), flush=True)


def plain(value: Any) -> Any:
    """JSON values only: numpy scalars and arrays become Python's."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return str(value)


def certificate_figures(certificate: Any) -> dict[str, Any]:
    """The numbers of a certificate, without its fingerprint."""
    names = (
        "kind", "status", "primal", "dual", "gap", "relative_gap", "rounding", "tol", "n_iter", "seconds",
        "compile_seconds", "solver",
    )  # fmt: skip
    told = {name: getattr(certificate, name, None) for name in (*names, "backend")}
    least_squares = ("orthogonality", "rss", "r2", "rank", "condition")
    beyond = (*least_squares, "loss", "deviance", "decrement", "reach", "excess", "relative_excess")
    return told | {name: getattr(certificate, name) for name in beyond if hasattr(certificate, name)}


def print_title(text: str) -> None:
    """A heading, bold on a terminal."""
    from rich.console import Console

    Console(highlight=False, markup=False, emoji=False, soft_wrap=True).print(f"\n{text}", style="bold")

"""Numbers of the command line, each with its range: what is typed is read here, so that nothing beyond it gets further.

A number that float64 cannot hold (1e400) would be read as infinity in silence, and -C inf is a hard margin: infinity must be
written as inf, where it has a meaning.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer


def number(text: str) -> float:
    """A number as typed; a ValueError for NaN, and for infinity unless inf is written."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise ValueError(f"{text!r} is not a number")
    if math.isinf(value) and text.strip().lower().lstrip("-") not in ("inf", "+inf", "infinity", "+infinity"):
        raise ValueError(f"{text} is beyond the largest number, 1.8e308; write inf for infinity")
    if value == 0.0 and any(digit in "123456789" for digit in text.lower().partition("e")[0]):
        raise ValueError(f"{text} is below the smallest number, 4.9e-324, and would be read as 0")
    return value


def _within(fits: Callable[[float], bool], what: str) -> Callable[[Any], float]:
    """What reads an option: a number of a range."""

    def read(text: Any) -> float:
        try:
            value = text if isinstance(text, float) else number(str(text))  # a default comes as it is
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        if not fits(value):
            raise typer.BadParameter(f"{text} is not {what}")
        return value

    return read


above_0 = _within(lambda value: 0.0 < value < math.inf, "a finite number above 0")
above_0_or_inf = _within(lambda value: value > 0.0, "a number above 0")
from_0 = _within(lambda value: 0.0 <= value < math.inf, "a finite number of 0 or more")
between_0_and_1 = _within(lambda value: 0.0 < value < 1.0, "strictly between 0 and 1")

#: An option whose default is nothing, which the help does not show; the same for a number.
bare_option = partial(typer.Option, show_default=False)
number_option = partial(bare_option, metavar="NUMBER")

Delta = Annotated[
    float, typer.Option(help="Probability that any of the bounds fails.", parser=between_0_and_1, metavar="NUMBER")
]
SearchSeconds = Annotated[
    float | None, number_option(help="Most seconds of the search, compiling apart.", parser=above_0)
]

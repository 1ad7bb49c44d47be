"""How much a page shows of what there may be any number of."""

from __future__ import annotations

from typing import NamedTuple


class PageLimits(NamedTuple):
    """Entries beyond these are counted in the page, not listed: a page stays one that a person reads."""

    text: int = 120  #: characters of a user's text
    classes: int = 30  #: classes of a table, a confusion matrix or a shaded table of scores
    unfolded_classes: int = 8  #: classes of a table that stands open
    lines: int = 12  #: outputs, proving rows or columns that are listed
    features: int = 15  #: features of a chart, the largest coefficients first
    charts: int = 3  #: scores that have a chart each
    parts: int = 20  #: subproblems of a table of gaps
    support_vectors: int = 10  #: rows of a table of multipliers
    drawn_rows: int = 4_000  #: rows of a kernel machine's picture; a linear model's has ten times as many
    drawn_numbers: int = 10_000_000  #: numbers in X that are made dense for a picture


LIMITS = PageLimits()

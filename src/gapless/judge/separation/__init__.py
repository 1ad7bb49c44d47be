"""Checks a proof that classes are separated completely, quasi-separated, or overlap: in exact arithmetic, from the data alone."""

from .case import check
from .document import flaw, speaks_of

__all__ = ["check", "flaw", "speaks_of"]

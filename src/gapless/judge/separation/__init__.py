"""Checks a proof that classes are separated completely, quasi-separated, or overlap: in exact arithmetic, from the data alone."""

from .case import check
from .document import handles
from .reader import read_proof

__all__ = ["check", "handles", "read_proof"]

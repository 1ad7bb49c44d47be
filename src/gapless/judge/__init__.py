"""The independent checker: the standard library and numpy, and nothing else of gapless.

``python -m gapless.judge MODEL DATA`` reads a model file and a data file by itself and says whether what the
certificate claims is true.
"""

from . import starting
from .check import check
from .errors import CertificateError, DataError, ModelFileError
from .files.model_file import read
from .fingerprint import fingerprint, row_hashes
from .linear.recompute import Figures, Task, distance_bound, evaluate, row_weights
from .separation.reader import read_proof
from .verdict import Claim, Verdict
from .walked import Walked

__all__ = [
    "CertificateError", "Claim", "DataError", "Figures", "ModelFileError", "Task", "Verdict", "Walked", "check",
    "distance_bound", "evaluate", "fingerprint", "read", "read_proof", "row_hashes", "row_weights",
]  # fmt: skip
starting.over()

"""Files in and out: data files (CSV, TSV, Parquet, Arrow, svmlight, npz), data frames, and the model file."""

from gapless.files.csv.read import read_csv
from gapless.files.dataset import Dataset
from gapless.files.encoding import Encoding
from gapless.files.expected import Expected
from gapless.files.frames import from_frame
from gapless.files.model_file import load, save
from gapless.files.npz import read_npz
from gapless.files.read import read_data
from gapless.files.svmlight import read_svmlight

__all__ = [
    "Dataset", "Encoding", "Expected", "from_frame", "load", "read_csv", "read_data", "read_npz", "read_svmlight",
    "save",
]  # fmt: skip

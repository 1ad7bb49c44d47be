"""Reads a proof that stands in a JSON file of its own, as ``Separability.to_json`` writes it."""

from __future__ import annotations

import json
import os
from typing import Any

from ..errors import ModelFileError
from .document import defect, handles


def read_proof(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The document of a proof; ModelFileError for anything that is not one."""
    where = os.fspath(path)
    try:
        if os.path.getsize(path) > 1 << 28:
            raise ModelFileError(f"{where}: is too large for a proof of separation")
        with open(path, encoding="utf-8") as stream:
            document = json.load(stream)
    except OSError as error:
        raise ModelFileError(f"{where}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{where}: is no JSON text ({error})") from None
    if not handles(document):
        raise ModelFileError(f"{where}: is no proof of separation")
    if found := defect(document):
        raise ModelFileError(f"{where}: cannot be read: {found}")
    return dict(document)

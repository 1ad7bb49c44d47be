"""The scores of a search in a file that is always whole: a killed search goes on from it and ends with the same answer.

Scores in the file are not computed again; the next candidates follow from the scores and the seed alone.  A chain of fits, each
started from the fit before, is written when it is complete: a resumed search starts every fit from the same model.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import threading
from typing import Any


class Journal:
    """Scores by candidate and fold; ``task`` describes the search.  Without a path nothing is written."""

    _header = {"format": "gapless tuning", "schema": 1}

    def __init__(self, path: Any = None, task: dict[str, Any] | None = None) -> None:
        self.path = None if path is None else os.path.realpath(os.fspath(path))
        self.task = task or {}
        self.entries: dict[str, list[Any]] = {}
        self.resumed = 0
        self._lock = threading.Lock()
        if self.path is not None:
            self._read()

    def _read(self) -> None:
        assert self.path is not None
        if os.path.isdir(self.path):
            raise ValueError(f"{self.path} is a directory; give the name of a file")
        folder = os.path.dirname(self.path)
        if not os.path.isdir(folder):
            raise ValueError(f"{self.path}: the folder {folder} does not exist")
        if not os.path.exists(self.path):
            self._write()
            return
        try:
            with open(self.path, encoding="utf-8") as stream:
                found = json.load(stream)
            if any(found.get(key) != value for key, value in self._header.items()):
                raise ValueError("no tuning file")
            entries = {str(key): [float(v) for v in value] for key, value in found["entries"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{self.path} is no tuning file of this gapless ({error}); give another name") from error
        for key, value in self.task.items():
            if found["task"].get(key) != value:
                raise ValueError(
                    f"{self.path} is of another search: its {key} differs. Give another file, or the same arguments as before."
                )
        self.entries, self.resumed = entries, len(entries)

    def get(self, key: str) -> list[Any] | None:
        return self.entries.get(key)

    def put(self, found: dict[str, list[Any]]) -> None:
        """Add entries, and write the file once."""
        with self._lock:
            self.entries.update(found)
            if self.path is not None:
                self._write()

    def _write(self) -> None:
        assert self.path is not None
        text = json.dumps({**self._header, "task": self.task, "entries": self.entries}, sort_keys=True)
        handle, temporary = tempfile.mkstemp(prefix=".tuning-", dir=os.path.dirname(self.path))
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, self.path)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            if isinstance(error, OSError):
                said = f"{self.path}: could not be written ({error.strerror}); what it held before is there"
                raise type(error)(error.errno, said) from error
            raise

"""Kernels that public calls ask for after `warmup`, though `warmup` has not: run as a process, told as JSON.

A kernel that was asked for once is in the process. A new request is a kernel that `warmup` does not know of, whether or not
another test has left it on disk.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path

import gapless
from gapless import _kernel_cache
from tests.package import calls

asked: list[str] = []
found = _kernel_cache._Cache._found


def recorded(self, sig, context, everywhere=True):
    if everywhere:
        asked.append(f"{self._py_func.__module__}.{self._py_func.__qualname__}{sig}")
    return found(self, sig, context, everywhere)


def main(what: str, names: str) -> dict[str, list[str]]:
    _kernel_cache._Cache._found = recorded
    gapless.warmup(names or None)
    missing: dict[str, list[str]] = {}
    thorough = what == "all"

    def told(label, run):
        before = len(asked)
        run()
        if asked[before:]:
            missing[label] = asked[before:]

    for label, run in calls.fits(thorough):
        if not names or label.startswith(f"{names}("):
            told(label, run)
    if names:
        return missing
    for label, run in calls.functions(thorough):
        told(label, run)
    if thorough:
        from gapless.cli.app import main as command

        with tempfile.TemporaryDirectory() as folder:
            for label, arguments in calls.commands(Path(folder)):
                with contextlib.redirect_stdout(io.StringIO()):
                    told(label, lambda arguments=arguments: command(arguments))
    return missing


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))

"""A second Python process that runs ``serve`` of one of our modules, and is told what to do by its standard input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any


def start(module: str, environment: dict[str, str], **options: Any) -> subprocess.Popen[Any]:
    """Start it, with our ``sys.path`` and this environment besides our own; OSError where there can be none."""
    command = f"import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {module} import serve; serve()"
    places = json.dumps([os.path.abspath(place) for place in sys.path])
    return subprocess.Popen(
        [sys.executable, "-P", "-c", command, places],
        stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, **environment}, **options,
    )  # fmt: skip

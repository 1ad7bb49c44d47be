"""Compile kernels once, so that the first fit of each later process finds them on disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator

import gapless
from gapless._compile import kernel_store as store
from gapless._compile.processor import HOST
from gapless._runtime.clock import Stopwatch
from gapless._warmup.names import CALLS, KINDS, parse_names
from gapless._warmup.step import Step


def warmup(
    names: str | Iterable[str] | None = None,
    *,
    progress: Callable[[str, int, int], None] | None = None,
    kinds: tuple[str, ...] = KINDS,
) -> float:
    """Compile kernels for this processor and keep them on disk: the first fit of a later process does not wait.

    Parameters
    ----------
    names : str or list of str, optional
        Estimators, functions and commands ("LinearSVC", "separability", "train") whose kernels are wanted. All by default:
        each loss × each solver × dense and CSR × float32 and float64.
    progress : callable, optional
        ``progress(what, done, total)`` is called before each step.
    kinds : tuple of str, optional
        The forms of rows that are wanted, as words of "dense float64", "dense float32", "CSR float64" and "CSR float32".

    Returns
    -------
    float
        The seconds taken.
    """
    watch = Stopwatch()
    if store.level() != HOST and not os.environ.get("GAPLESS_PROCESSOR"):
        _compile_in_child(None if names is None else parse_names(names), kinds)
        store.keep_to_host()
        return watch.seconds + watch.compile_seconds
    steps = steps_for(names, kinds)
    for done, step in enumerate(steps):
        if progress is not None:
            progress(step.what, done, len(steps))
        with gapless.config_context(backend="numba"):
            step.run()
    if store.level() == HOST:
        store.keep_to_host()
    if progress is not None:
        progress("done", len(steps), len(steps))
    return watch.seconds + watch.compile_seconds


def _compile_in_child(names: tuple[str, ...] | None, kinds: tuple[str, ...]) -> None:
    """Compile for the host's own processor in another process: this one runs the wheel's kernels, made for many processors."""
    child = (
        "import json, sys; sys.path[:] = json.loads(sys.argv[1]); names, kinds = json.loads(sys.argv[2]); "
        "from gapless._warmup.compile_ahead import warmup; warmup(names, kinds=tuple(kinds))"
    )
    environment = {**os.environ, "GAPLESS_PROCESSOR": HOST, "GAPLESS_QUIET": "1"}
    places = json.dumps([os.path.abspath(place) for place in sys.path])
    subprocess.run([sys.executable, "-P", "-c", child, places, json.dumps([names, kinds])], env=environment, check=True)


def steps_for(names: str | Iterable[str] | None = None, kinds: tuple[str, ...] = KINDS) -> list[Step]:
    """The steps that the kernels of some names need, for some forms of rows."""
    asked = parse_names(names)
    whole = {*asked, *(other for name in asked for other in CALLS.get(name, ()))}
    return [step for step in all_steps() if whole & set(step.names) and any(_is_for(step.what, kind) for kind in kinds)]


def _is_for(what: str, kind: str) -> bool:
    """Whether a step, by its title, is for such rows, or for rows of any kind or precision."""
    form, _, dtype = kind.partition(" ")
    other = {"float64": "float32", "float32": "float64", "": "nothing"}[dtype]
    return (form in what or not any(each in what for each in KINDS)) and other not in what


def all_steps() -> Iterator[Step]:
    """Every step, family by family."""
    # Imported here: the families import all solvers and numba, which asking for names (`gapless warmup --help`) does not need.
    from gapless._warmup import (
        boosting,
        descent,
        kernel,
        least_squares,
        linear,
        perceptron,
        readers,
        rows,
        sparse,
        tree,
    )
    from gapless._warmup.samples import Samples

    samples = Samples()
    for family in (readers, rows, linear, least_squares, sparse, descent, perceptron, kernel, tree, boosting):
        yield from family.steps(samples)

"""How a model came from a file, kept in it: the command as it was typed, and which rows were held out."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

import typer

from gapless.cli.table import Rows

#: Options that say how a file is read, for every command alike.
READING = ("weights", "header", "format", "index_base", "encoding", "decimal", "date_order")


def typed(context: typer.Context, only: Iterable[str] | None = None) -> str:
    """The command line as it was given, in one that a shell can read: all that a fit depends on, or the options of ``only``."""
    # Options that say where things go and what is shown, not what is fitted.
    not_of_the_fit = ("out", "report", "no_report", "file", "n_jobs", "strict", "quiet", "json", "debug")
    first, rest = [], []
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        value = context.params.get(name)
        if source is None or source.name != "COMMANDLINE" or value is None or name in not_of_the_fit:
            continue
        if parameter.param_type_name == "argument":
            first += [place(value)]
        elif only is None or name in only:
            rest += _option(parameter, value)
    if only is not None:
        return "".join(f" {shlex.quote(word)}" for word in rest)
    return shlex.join(["gapless", str(context.info_name), *first, *rest])


def place(path: Any) -> str:
    """A file as an argument: one whose name begins with a dash would be read as an option."""
    word = _word(path)
    return f"./{word}" if word.startswith("-") and word != "-" else word


def _option(parameter: Any, value: Any) -> list[str]:
    long = max(parameter.opts, key=len)
    if isinstance(value, bool):
        return [long if value else max(parameter.secondary_opts, key=len, default=long)]
    values = value if isinstance(value, list | tuple) else [value]
    return [word for each in values for word in (long, _word(each))]


def _word(value: Any) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return str(value)


def remember(model: Any, context: typer.Context, rows: Rows) -> None:
    """Put it into the certificate's statement, which the model file carries; and the hashes of the training rows."""
    from gapless.readings.training_rows import (  # with numpy, which the help does without
        is_training_data,
        keep_row_hashes,
    )

    dtype = "float32" if str(rows.data.X.dtype) == "float32" else "float64"
    origin = {"command": typed(context), "dtype": dtype, "split": rows.split}
    if rows.data.weights_name is not None:
        origin["weights"] = rows.data.weights_name
    certificate = model.certificate_
    model.certificate_ = replace(certificate, statement={**certificate.statement, "origin": origin})
    if is_training_data(model, rows.data.X):
        keep_row_hashes(model, rows.data.X)


def check_command(context: typer.Context, model: Path, data: Path, whole: Any, rows: Rows) -> str:
    """The command that verifies what was saved."""
    told = typed(context, READING)
    if whole.target is None:
        told += typed(context, ("target",))
    if rows.encoding is None:  # else the columns of the model are known by name
        told += typed(context, ("drop",))
    return f"{shlex.join(['gapless', 'verify', place(model), place(data)])}{told}"


def make_command(command: str, model: Path) -> str:
    """The command that makes the model again, where it lies."""
    return f"{command} --out {shlex.quote(place(model))}"

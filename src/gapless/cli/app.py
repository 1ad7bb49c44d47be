"""The command line: its commands, its exit codes, its one-line errors.

0 all is well; 1 a verification is false, or a fit did not converge under --strict; 2 bad input or usage;
3 an error of gapless itself; 4 the output cannot be written; 130 interrupted.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

import gapless
from gapless.cli.commands.bounds import bounds
from gapless.cli.commands.demo import demo
from gapless.cli.commands.doctor import doctor
from gapless.cli.commands.lab import lab
from gapless.cli.commands.predict import predict
from gapless.cli.commands.report import report
from gapless.cli.commands.train import train
from gapless.cli.commands.tune import tune
from gapless.cli.commands.verify import verify
from gapless.cli.commands.warmup import warmup
from gapless.cli.guard import Code, drop_output, lost_output, opened_streams, run_line, say
from gapless.cli.program import is_program, run_program

app = typer.Typer(
    name="gapless",
    help="Linear models that prove themselves. "
    "Every fit says how far it can be from its optimum, and anybody can check. "
    "`gapless script.py` runs a program with these models in the place of scikit-learn's.",
    epilog="Exit codes: 0 ok · 1 verification false, or not converged under --strict · "
    "2 bad input or usage · 3 internal error · 4 output not written · 130 interrupted",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for command in (demo, train, tune, predict, verify, bounds, report, lab, doctor, warmup):
    app.command()(command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gapless {gapless.__version__}")
        raise typer.Exit()


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code is returned."""
    opened_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    if is_program(given):
        return run_program(given)
    try:
        code = run_line(typer.main.get_command(app), given)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # as of a command: who read the help has enough
        drop_output()
        return Code.ok
    except OSError as error:  # of the help or the version, which no command guards
        lost = lost_output(error)
        if lost is None:
            raise
        say(lost)
        return Code.not_written


def run() -> int:
    """The command as a process of its own. At its end all that was loaded would be searched for cycles once more, which takes
    as long as a fit; what is frozen is left alone."""
    code = main()
    gc.freeze()
    return code

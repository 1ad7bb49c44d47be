"""What stands between a command and the user: every error is one line on stderr and an exit code."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TypeVar

import typer


class Code:
    """The exit codes."""

    ok, false, bad_input, internal, not_written, interrupted = 0, 1, 2, 3, 4, 130


F = TypeVar("F", bound=Callable[..., Any])


def one_line(text: object) -> str:
    return " ".join(str(text).split())


def words(error: BaseException) -> str:
    """What an error says, without the number of the system's."""
    if isinstance(error, OSError) and error.strerror:
        return one_line(error.strerror if error.filename is None else f"{error.filename}: {error.strerror}")
    return one_line(error) or type(error).__name__


def say(text: str) -> None:
    """One line on stderr; where that cannot be written either, the exit code says enough."""
    with suppress(OSError):
        print(f"gapless: {text}", file=sys.stderr, flush=True)


def opened_streams() -> None:
    """A stream that was closed (``>&-``) is as /dev/null: nothing fails over it, and no other file gets its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def lost_output(error: BaseException) -> str | None:
    """What to say of an error of stdout (a full device), which Python drops what was written over; None: it is another error."""
    innermost = error.__traceback__
    while innermost is not None and innermost.tb_next is not None:
        innermost = innermost.tb_next
    module = "" if innermost is None else str(innermost.tb_frame.f_globals.get("__name__", ""))
    printing = module.startswith(("gapless.cli.", "click", "typer", "rich"))
    if not isinstance(error, OSError) or isinstance(error, BrokenPipeError) or error.filename or not printing:
        return None
    drop_output()
    return f"the output cannot be written ({error.strerror or error})"


def drop_output() -> None:
    """Nothing is left that Python could fail over at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def stop(text: str, code: int = Code.bad_input) -> NoReturn:
    """One line on stderr, and out."""
    say(text)
    raise typer.Exit(code)


def guarded(command: F) -> F:
    """Errors of a command become one line and an exit code; with --debug the traceback is shown as well."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        debug = bool(kwargs.get("debug"))
        try:
            with warnings_as_lines():
                return command(*args, **kwargs)
        except KeyboardInterrupt:
            if debug:
                raise
            stop("interrupted", Code.interrupted)
        except BrokenPipeError:
            # The reader of our output has gone (| head): nothing to say, and nobody to say it to.
            drop_output()
            raise typer.Exit(Code.ok) from None
        except Exception as error:
            if debug or _is_clicks(error):
                raise
            lost = lost_output(error)
            if lost is not None:
                stop(lost, Code.not_written)
            if isinstance(error, ValueError | OSError | NotImplementedError | MemoryError):
                stop(words(error), Code.bad_input)
            stop(f"internal error: {type(error).__name__}: {one_line(error)} (--debug shows where)", Code.internal)

    return run  # type: ignore[return-value]


def run_line(command: Any, arguments: list[str]) -> int:
    """Run one line of the command; usage errors become one line on stderr, and every ending an exit code."""
    # click lives inside typer in newer versions and beside it in older ones: found through a public name.
    usage_error: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")
    try:
        result = command.main(args=arguments, prog_name="gapless", standalone_mode=False)
        return result if isinstance(result, int) else Code.ok
    except typer.Exit as ending:
        return ending.exit_code
    except (typer.Abort, KeyboardInterrupt):
        say("interrupted")
        return Code.interrupted
    except SystemExit as ending:  # click's own end where the reader of the help has gone
        if not isinstance(ending.__context__, BrokenPipeError):
            raise
        raise ending.__context__ from None
    except usage_error as error:
        name = type(error).__name__
        if name == "NoArgsIsHelpError":  # the help itself is the answer to `gapless` alone
            typer.echo(error.format_message())
            return Code.bad_input
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "gapless"
        say(f"{one_line(error.format_message())} (see {path} --help)")
        return Code.bad_input


def _is_clicks(error: BaseException) -> bool:
    """Exit, Abort and usage errors are the command line's own, and pass."""
    return any(c.__name__ in ("Exit", "Abort", "ClickException") for c in type(error).__mro__)


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Warnings are one line each on stderr, without the place in our code."""

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        say(f"warning: {one_line(message)}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        # The files know their columns' names and match them; the estimator sees bare arrays.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        warnings.showwarning = show
        yield

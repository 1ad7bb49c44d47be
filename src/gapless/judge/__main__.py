"""``python -m gapless.judge MODEL DATA``: exit 0 where every claim holds, 1 where one does not, 2 on an error, 4 where the
verdict cannot be written, 130 where Ctrl-C was pressed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from .case import Rigour
from .check import check
from .errors import CertificateError, DataError, ModelFileError
from .files.data_file import read_data
from .files.model_file import read
from .separation.reader import read_proof


def main(arguments: Sequence[str] | None = None) -> int:
    """Read a model file and a data file, judge, print the verdict. What must not end in 1 is said by another code."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed (>&-): as /dev/null, so that no file of ours gets its number
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    try:
        return _main(arguments)
    except KeyboardInterrupt:
        return _stop(130, "interrupted")
    except SystemExit:  # the help, or words on bad usage, are on their way
        if lost := _written("", "the help"):
            return lost
        raise


def _main(arguments: Sequence[str] | None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m gapless.judge",
        description="Check the certificate of a model file against its training data, trusting nobody.",
        epilog="exit codes: 0 every claim holds, 1 a claim is false, 2 it cannot be judged, 4 the verdict cannot be "
        "written, 130 interrupted",
    )
    parser.add_argument("model", help="model file written by gapless, or a proof of separation (.json)")
    parser.add_argument("data", help="training data: CSV, svmlight, or npz with X, y[, sample_weight]")
    parser.add_argument(
        "--target",
        metavar="NAME",
        action="append",
        help="label column (CSV, by its name or number; repeat it for several targets) or array (npz)",
    )
    parser.add_argument("--weights", metavar="NAME", help="column or array of sample weights")
    parser.add_argument("--test", metavar="DATA", help="the test rows of a held-out bound, where the model has one")
    parser.add_argument("--encoding", metavar="NAME", help="encoding of the texts, where it is not found out, as gbk")
    tier = parser.add_mutually_exclusive_group()
    tier.add_argument("--rigorous", action="store_true", help="prove bounds that hold in exact arithmetic")
    tier.add_argument("--exact", action="store_true", help="compute without rounding (up to some 10,000 rows)")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")
    options = parser.parse_args(arguments)
    rigorous: Rigour = "exact" if options.exact else bool(options.rigorous)
    try:
        proof = options.model.lower().endswith(".json")  # a proof of separation is a text of its own
        document, arrays = (read_proof(options.model), {}) if proof else read(options.model)
        data = read_data(options.data, document, options.target, options.weights, encoding=options.encoding)
        new = None
        if options.test:
            new = read_data(options.test, document, options.target, options.weights, True, options.encoding)
        test = (None, None) if new is None else (new.X, new.y)
        verdict = check(document, arrays, data.X, data.y, data.sample_weight, rigorous, *test)
    except (CertificateError, DataError, ModelFileError) as error:
        return _stop(2, f"{error}")
    except Exception as error:  # 1 would say "false": a fault of the judge must not be taken for a verdict
        return _stop(2, f"the judge failed ({type(error).__name__}: {error})")
    text = verdict.to_json() if options.json else str(verdict)
    return _written(f"{text}\n", f"the verdict, which is {'TRUE' if verdict else 'FALSE'},") or (0 if verdict else 1)


def _written(text: str, what: str) -> int:
    """Print a text; 4 where it cannot be written, else 0."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), end="", flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is left to fail at the end
        if not isinstance(error, BrokenPipeError):  # who read has enough (| head): the exit code still says it
            return _stop(4, f"{what} cannot be written ({error.strerror or error})")
    return 0


def _stop(code: int, text: str) -> int:
    """One line on stderr, if that can be written, and the exit code."""
    with suppress(OSError):
        print(f"error: {' '.join(text.split())}", file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())

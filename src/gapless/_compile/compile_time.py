"""How long a call compiles where no kernel is kept: measured, and told as an estimate before it begins."""

from __future__ import annotations

import sys
import threading
from types import FrameType

#: Processor seconds of a first call on a small table of float64 without kernels, less those of the same call with them:
#: `python -m benchmarks.cold`, whose machine stands in benchmarks/results/cold.md. `tests/package/test_cold.py` holds them.
SECONDS = {
    "LinearRegression": 0.8,
    "Ridge": 1.2,
    "LinearSVC": 3.4,
    "LogisticRegression": 4.4,
    "SVC": 3.7,
    "SVR": 3.5,
    "Perceptron": 1.0,
    "AdaBoostClassifier": 2.1,
    "DecisionTreeClassifier": 5.2,
    "BaggingClassifier": 5.3,
    "separability": 0.7,
    "predict": 0.3,
    "train": 15.5,
}
#: Calls whose kernels are about those of another call; None: those that the model needs which the call is given.
ALIKE: dict[str, str | None] = {
    "LeastSquaresClassifier": "LinearRegression",
    "Lasso": "Ridge",
    "ElasticNet": "Ridge",
    "NuSVC": "SVC",
    "NuSVR": "SVR",
    "OneClassSVM": "SVR",
    "DecisionTreeRegressor": "DecisionTreeClassifier",
    "BaggingRegressor": "BaggingClassifier",
    "AdaBoostRegressor": "DecisionTreeClassifier",
    **dict.fromkeys(
        ("tune", "path", "descend", "reduce", "calibrate", "bounds", "verify", "margins", "report", "demo")
    ),
}


def expected(call: str = "") -> tuple[str, float | None]:
    """A public call by name, and the processor seconds that it compiles for at first, None where these are not known.

    Without a name it is the call that this thread is in, or else the main thread, the outermost; none: an empty name."""
    if call:
        return call, _seconds(call)
    stacks = sys._current_frames()
    for thread in (threading.get_ident(), threading.main_thread().ident):
        calls = _public_calls(stacks.get(thread or 0))
        if calls:
            known = (_seconds(name) for name in calls)
            return calls[0], next((seconds for seconds in known if seconds is not None), None)
    return "", None


def _seconds(call: str) -> float | None:
    return SECONDS.get(ALIKE.get(call, call) or "")


def _public_calls(frame: FrameType | None) -> list[str]:
    """Estimators, functions and commands on a stack, the outermost first."""
    found: list[str] = []
    while frame is not None:
        name = frame.f_code.co_name
        if frame.f_globals.get("__name__", "").startswith("gapless.") and not name.startswith("_"):
            names = [name, *(each.__name__ for each in type(frame.f_locals.get("self")).__mro__)]
            found += [each for each in names if each in SECONDS or each in ALIKE][:1]
        frame = frame.f_back
    return found[::-1]

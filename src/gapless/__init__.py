"""gapless: learners that prove themselves.

Every fit states how far its model can be from the best one for its own objective, and the model file
carries that statement in a form which anybody with the data can check.

The public names are loaded when they are first used (PEP 562), so that `import gapless` costs nothing;
`__init__.pyi` gives them to type checkers and editors.
"""

import importlib

from gapless import registry

__version__ = "0.1.0"

# public name -> the module that defines it
_HOME = {
    **registry.MODULES,  # the estimators
    "bayes_rule": "gapless.theory.samples.bayes_rule",
    "estimate_cost": "gapless.estimators.cost",
    "patch": "gapless.estimators.patch",
    "unpatch": "gapless.estimators.patch",
    "to_onnx": "gapless.estimators.exchange.to_onnx",
    "to_sklearn": "gapless.estimators.exchange.to_sklearn",
    # what is claimed, and how anybody knows
    "certify": "gapless.certificates.subproblem",
    "verify": "gapless.certificates.verify",
    "margins": "gapless.readings.margins",
    "explain": "gapless.readings.explain",
    "reduce": "gapless.readings.reduce",
    "convert": "gapless.problems.units_of_C",
    "separability": "gapless.certificates.separation",
    # what is known of new rows
    "bounds": "gapless.theory.generalisation.bounds",
    # choosing
    "calibrate": "gapless.tuning.calibrate",
    "gap_scorer": "gapless.tuning.scorer",
    "path": "gapless.tuning.path.path",
    "threshold_for": "gapless.tuning.threshold",
    "tune": "gapless.tuning.search.tune",
    # descent that can be watched
    "descend": "gapless.solvers.descent.descend",
    "Until": "gapless.solvers.descent.descend",
    "Schedule": "gapless.solvers.descent.schedules",
    "linear_risk": "gapless.solvers.descent.objective",
    # one page
    "report": "gapless.pages.report",
    # files
    "Dataset": "gapless.files.dataset",
    "Encoding": "gapless.files.encoding",
    "from_frame": "gapless.files.frames",
    "read_blocks": "gapless.files.blocks.read_blocks",
    "read_data": "gapless.files.read",
    "save": "gapless.files.model_file",
    "load": "gapless.files.model_file",
    # the house
    "warmup": "gapless._warmup.compile_ahead",
    "show_versions": "gapless._runtime.versions",
    "config_context": "gapless._runtime.config",
    "get_config": "gapless._runtime.config",
    # errors and warnings
    "NotSeparable": "gapless.errors",
    "CertificateError": "gapless.errors",
    "ModelFileError": "gapless.errors",
    "DataError": "gapless.errors",
    "ConvergenceWarning": "gapless.errors",
    "SeparationWarning": "gapless.errors",
    "IllConditionedWarning": "gapless.errors",
    "BackendWarning": "gapless.errors",
}

# Rooms that can be reached as attributes, gapless.judge.check(...), without importing them first.
_ROOMS = (
    "certificates", "errors", "estimators", "files", "judge", "kernels", "lab", "losses", "pages", "plots",
    "problems", "rows", "solvers", "theory", "tuning",
)  # fmt: skip

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> object:
    if name in _HOME:
        from gapless._runtime.lazy import load

        value = load(_HOME[name], name)
        globals()[name] = value  # found without this function from now on
        return value
    if name in _ROOMS:
        return importlib.import_module(f"gapless.{name}")
    raise AttributeError(_unknown(name))


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_ROOMS})


def _unknown(name: str) -> str:
    from difflib import get_close_matches

    message = f"module 'gapless' has no attribute {name!r}"
    if name.startswith("_"):
        return message
    folded = {known.lower(): known for known in (*_HOME, *_ROOMS)}
    close = [folded[match] for match in get_close_matches(name.lower(), folded, n=1, cutoff=0.75)]
    if close:
        return f"{message}; did you mean {close[0]!r}?"
    return f"{message} (version {__version__}; dir(gapless) lists its names)"

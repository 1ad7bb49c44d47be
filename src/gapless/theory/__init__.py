"""What can be known, and what it costs to know it. The modules are loaded when they are first used."""

import importlib.util

from gapless._lazy import load as _load

#: What a newcomer should see of this room.
_MODULES = (
    "averaging",
    "bias_variance",
    "compression",
    "confusion",
    "convexity",
    "global_minimum",
    "growth",
    "hoeffding",
    "information",
    "learning_curve",
    "leave_one_out",
    "overfitting",
    "pac_bayes",
    "pseudo_inverse",
    "vc",
    "votes",
)

#: Functions of this room, by the module that defines them.
_FUNCTIONS = {"cross_entropy": "information", "entropy": "information", "kl": "information"}


def __getattr__(name: str) -> object:
    if name in _FUNCTIONS:
        return _load(f"gapless.theory.{_FUNCTIONS[name]}", name)
    if not name.startswith("_") and importlib.util.find_spec(f"gapless.theory.{name}") is not None:
        return _load(f"gapless.theory.{name}")
    raise AttributeError(
        f"module 'gapless.theory' has no attribute {name!r}; it has {', '.join((*_MODULES, *_FUNCTIONS))}"
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_FUNCTIONS})

"""What can be known, and what it costs to know it. The modules are loaded when they are first used."""

from gapless._runtime.lazy import add_names as _add_names
from gapless._runtime.lazy import load as _load

#: The modules of this room by the folder that they lie in; each is reached as gapless.theory.name, too.
_PLACES = {
    name: f"gapless.theory.{part}.{name}"
    for part, names in {
        "generalisation": "bound_methods bounds compression compression_bounds dichotomies ghost growth leave_one_out "
        "pac_bayes pick_to_learn shattering support_vectors vc voters votes",
        "optimisation": "convex_program convexity convexity_evidence convexity_exact curvature global_minimum "
        "global_minimum_rank networks pseudo_inverse",
        "samples": "averaging bayes_rule bias_variance confusion hoeffding information learning_curve order_statistics "
        "overfitting split urn",
    }.items()
    for name in names.split()
}
_add_names({f"gapless.theory.{name}": place for name, place in _PLACES.items()})

#: What a newcomer should see of this room.
_MODULES = (
    "averaging", "bias_variance", "compression", "confusion", "convexity", "global_minimum", "growth", "hoeffding",
    "information", "learning_curve", "leave_one_out", "overfitting", "pac_bayes", "pseudo_inverse", "vc", "votes",
)  # fmt: skip

#: Functions of this room, by the module that defines them.
_FUNCTIONS = {"cross_entropy": "information", "entropy": "information", "kl": "information"}


def __getattr__(name: str) -> object:
    if name in _FUNCTIONS:
        return _load(_PLACES[_FUNCTIONS[name]], name)
    if name in _PLACES or name in ("generalisation", "optimisation", "samples"):
        return _load(_PLACES.get(name, f"gapless.theory.{name}"))
    raise AttributeError(
        f"module 'gapless.theory' has no attribute {name!r}; it has {', '.join((*_MODULES, *_FUNCTIONS))}"
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_FUNCTIONS})

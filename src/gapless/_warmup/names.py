"""Whose kernels can be asked for: estimators, functions and commands; and for which rows."""

from __future__ import annotations

from collections.abc import Iterable

from gapless.registry import MODULES, with_kernels

#: The rows that kernels are compiled for. Two processes, one for each, share next to nothing.
KINDS = ("dense", "CSR")
#: The estimators whose kernels a function or a command needs besides its own.
CALLS: dict[str, tuple[str, ...]] = {
    "train": (
        *with_kernels("linear_svm"),
        *with_kernels("logistic"),
        "SVC",
        "SVR",
        *with_kernels("least_squares"),
        *with_kernels("trees"),
        *with_kernels("stumps"),
    ),
    "tune": (*with_kernels("linear_svm"), *with_kernels("logistic"), "SVC", "Ridge"),
    "path": (*with_kernels("linear_svm"), *with_kernels("logistic"), "SVC", "Ridge"),
    "descend": (*with_kernels("linear_svm"), *with_kernels("logistic")),
    "reduce": (*with_kernels("linear_svm"), "SVC"),
    "report": tuple(MODULES),
    "predict": (),
    "verify": (),
    "bounds": (),
    "margins": (),
    "calibrate": (),
    "separability": (),
    "demo": (
        *with_kernels("linear_svm"),
        *with_kernels("logistic"),
        "SVC",
        *with_kernels("trees"),
        *with_kernels("stumps"),
    ),
    "lab": (
        "Perceptron",
        *with_kernels("linear_svm"),
        *with_kernels("logistic"),
        *with_kernels("least_squares"),
        "SVC",
        *with_kernels("gaussian"),
        *with_kernels("trees"),
        *with_kernels("stumps"),
        "descend",
        "reduce",
        "separability",
    ),
}
#: All names that `warmup` knows.
NAMES = (*MODULES, *CALLS)


def users_of_loss(loss: str) -> tuple[str, ...]:
    """The names that need the solvers of a loss."""
    if loss == "squared":
        return ("descend",)
    return with_kernels("logistic" if loss == "logistic" else "linear_svm")


def parse_names(names: str | Iterable[str] | None) -> tuple[str, ...]:
    """The names as this package spells them, each once; None means all. An unknown name is a ValueError."""
    if names is None:
        return NAMES
    given = names.split(",") if isinstance(names, str) else list(names)
    spelled = {name.lower(): name for name in NAMES}
    found = []
    for name in filter(None, (str(text).strip() for text in given)):
        if name.lower() not in spelled:
            raise ValueError(f"warmup knows no {name!r}; it knows {', '.join(NAMES)}")
        found.append(spelled[name.lower()])
    if not found:
        raise ValueError(f"warmup was asked for nothing; it knows {', '.join(NAMES)}")
    return tuple(dict.fromkeys(found))


def parse_rows(text: str) -> tuple[str, ...]:
    """The forms of rows in a text such as "dense,CSR float64". An unknown form is a ValueError."""
    forms = (*KINDS, *(f"{kind} {dtype}" for kind in KINDS for dtype in ("float64", "float32")))
    spelled = {form.lower(): form for form in forms}
    found = [spelled.get(" ".join(part.lower().split())) for part in text.split(",")]
    if None in found:
        raise ValueError(f"warmup knows no rows {text!r}; it knows {', '.join(forms)}")
    return tuple(form for form in found if form is not None)

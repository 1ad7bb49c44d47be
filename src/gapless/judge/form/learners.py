"""Learners inside a document: bags and rounds whose models are documents themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .schema import Arrays


def members_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The documents of the learners; none where a document has none."""
    return document.get("learners") or []


def defect_of_learners(document: dict[str, Any], defect: Callable[[Any], str | None]) -> str | None:
    """What is wrong with the learners of a document, each by itself (``defect``) and all together."""
    learners, problem, most = document.get("learners"), document["problem"], 3
    if learners is None:
        return None
    members = problem.get("members", problem.get("rounds"))
    if len(learners) != members:
        return f"there are {len(learners)} learners for {members} members"
    if _depth(document, most) > most:
        return f"learners stand in learners more than {most} deep"
    for k, learner in enumerate(learners):
        found = defect(learner) or _misfit(document, learner)
        found = found or (None if _sort(learner) == _sort(learners[0]) else "it is of another sort than the first")
        if found:
            return f"learner {k}: {found}"
    return None


def shapes_of_learners(document: dict[str, Any], array_shapes: Callable[[Any], Arrays]) -> Arrays:
    """The arrays of the learners, each with the number of its learner before its name."""
    shapes: Arrays = {}
    for k, learner in enumerate(members_of(document)):
        shapes |= {f"{k}.{name}": shape for name, shape in array_shapes(learner).items()}
    return shapes


def arrays_of_learner(arrays: dict[str, Any], k: int) -> dict[str, Any]:
    """The arrays of learner k, by the names that they have in its own document."""
    start = f"{k}."
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def _sort(learner: dict[str, Any]) -> tuple[Any, ...]:
    """What decides which answers a learner has, and how wide they are; all learners are made from one."""
    inner = learner.get("learners")
    shape = learner["parameters"].get("decision_function_shape")
    return learner["estimator"], shape, _sort(inner[0]) if inner else inner


def _misfit(document: dict[str, Any], learner: dict[str, Any]) -> str | None:
    """Why a learner cannot answer for an ensemble: other columns, several outputs, or other classes."""
    bagged = document["estimator"] != "AdaBoostRegressor" and "features" in document["problem"]
    width = document["problem"]["features"] if bagged else document["n_features"]
    if learner["n_features"] != width:
        return f"it has {learner['n_features']} features, and is given {width}"
    outputs = learner["problem"].get("outputs", 1)
    if (outputs != 1 and (isinstance(outputs, int) or len(outputs) != 1)) or learner["problem"].get("columns_of_y"):
        return "it has several outputs"
    own, inner = document["classes"], learner["classes"]
    if own is None:
        return "its answers are no numbers" if inner is not None and inner["type"] == "str" else None
    if inner is None:
        return "it is no classifier" if bagged or own["type"] == "str" else None
    # A bag's learner answers with the number of a class, a round's with the class.
    kind, values = ("int", range(len(own["values"]))) if bagged else (own["type"], own["values"])
    good = inner["type"] == kind and {*inner["values"]} <= {*values}
    return None if good else "its classes are not those of the ensemble"


def _depth(document: Any, most: int, level: int = 0) -> int:
    learners = document.get("learners") if isinstance(document, dict) else None
    if not isinstance(learners, list) or level > most:
        return level
    return max((_depth(learner, most, level + 1) for learner in learners), default=level)

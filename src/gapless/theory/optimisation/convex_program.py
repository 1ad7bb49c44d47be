"""The standard form of a convex problem, and which part breaks it.

    minimise f_0(x)   subject to   f_i(x) <= 0,   g_j(x) = 0          f_i convex, g_j affine

Then the feasible set is convex, as an intersection of convex sets, and every local minimum is global.  A convex g_j would not do:
{x : x^2 = 1} has two points and nothing between them.

A problem stated in CVXPY is judged by that library's rules (disciplined convex programming), which are sufficient, not
necessary, and solved if they hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gapless._runtime.results import result
from gapless.theory.optimisation.convexity_evidence import Evidence, of_function
from gapless.theory.optimisation.convexity_exact import Exact
from gapless.theory.optimisation.curvature import Curve


@result
@dataclass(frozen=True, eq=False)
class Part:
    """One function of a problem: what is needed of it, and what was found (a Curve, an Exact, or Evidence).

    Attributes
    ----------
    name : name of the function
    needed : "convex" or "affine"
    holds : None: not known
    found : the `Curve`, `Exact` or `Evidence` that decides
    """

    name: str
    needed: str
    holds: bool | None
    found: Any

    def __str__(self) -> str:
        how = {True: "is", False: "is not", None: "may be"}[self.holds]
        return f"{self.name} {how} {self.needed}: {self.found}"


@result
@dataclass(frozen=True, eq=False)
class StandardForm:
    """``convex``: True where every part is proved to fit, False where one does not, None where that is not known.

    Attributes
    ----------
    parts : a `Part` for the objective and for each constraint
    """

    parts: tuple[Part, ...]

    @property
    def breaks(self) -> list[str]:
        """The names of the parts that break convexity."""
        return [part.name for part in self.parts if part.holds is False]

    @property
    def convex(self) -> bool | None:
        """True where every part is proved to fit, False where one does not, None where that is not known."""
        if self.breaks:
            return False
        return True if all(part.holds for part in self.parts) else None

    def __str__(self) -> str:
        head = {
            True: "a convex problem: every local minimum is global",
            False: f"not in convex standard form, because of {', '.join(self.breaks)}",
            None: "no part is known to break convexity, and not all are proved to keep it",
        }[self.convex]
        return "\n".join([head, *(f"  {part}" for part in self.parts)])


Described = Curve | Exact | Callable[..., Any]


def standard_form(
    objective: Described,
    inequalities: Mapping[str, Described] | list[Described] | tuple[Described, ...] = (),
    equalities: Mapping[str, Described] | list[Described] | tuple[Described, ...] = (),
    box: Any = None,
    **options: Any,
) -> StandardForm:
    """Judge a problem part by part.

    Each part is a `Curve` (rules), an exact verdict of `quadratic` or `polynomial`, or a function, which is then tried on ``box``
    (``options`` go to `of_function`).  Parts given as a mapping keep their names; others are f1, f2 ..., g1, g2 ...

    Parameters
    ----------
    objective : f_0: a function, a `Curve` or an `Exact`
    inequalities : name -> f_i of f_i <= 0, which must be convex
    equalities : name -> g_j of g_j = 0, which must be affine
    box : where functions are tried; not needed for curves
    options : further options of `of_function`
    """
    parts = [_part("objective", objective, "convex", box, options)]
    parts += [_part(name, f, "convex", box, options) for name, f in _named(inequalities, "f")]
    parts += [_part(name, g, "affine", box, options) for name, g in _named(equalities, "g")]
    return StandardForm(tuple(parts))


def _named(given: Any, letter: str) -> list[tuple[str, Any]]:
    if isinstance(given, Mapping):
        return list(given.items())
    return [(f"{letter}{i}", f) for i, f in enumerate(given, 1)]


def _part(name: str, f: Any, needed: str, box: Any, options: dict[str, Any]) -> Part:
    if isinstance(f, Curve):
        holds = f.convex if needed == "convex" else {"affine": True, "unknown": None}.get(f.kind, False)
        return Part(name, needed, holds, f)
    if isinstance(f, Exact):
        return Part(name, needed, f.convex if needed == "convex" else f.affine, f)
    if not callable(f):
        raise ValueError(f"{name} must be a function, a Curve, or what quadratic or polynomial found; got {f!r}")
    if box is None:
        raise ValueError(f"{name} is a function: give the box on which it is to be tried")
    found = of_function(f, box, **options)
    if found.witness is None and needed == "affine":
        # Affine is convex both ways.
        turned = of_function(lambda x: -f(x), box, **{k: v for k, v in options.items() if k != "gradient"})
        if turned.witness is not None:
            found = Evidence("function turned upside down", turned.trials, turned.witness)
    return Part(name, needed, None if found.witness is None else False, found)


@result
@dataclass(frozen=True, eq=False)
class Program:
    """A problem of CVXPY: whether its rules accept it, what breaks them, and its solution if they do.

    Attributes
    ----------
    accepted : whether the rules of CVXPY prove it convex
    breaks : parts that the rules do not accept
    status : status of the solver, None where it was not solved
    value : optimal value, None where it was not solved
    problem : the cvxpy.Problem
    """

    accepted: bool
    breaks: list[str]
    status: str | None
    value: float | None
    problem: Any

    def __str__(self) -> str:
        if not self.accepted:
            return f"CVXPY's rules do not accept {'; '.join(self.breaks)} (they are sufficient, not necessary)"
        return f"convex by CVXPY's rules, {self.status}, value {self.value:.10g}"


def program(problem: Any, **options: Any) -> Program:
    """Judge a ``cvxpy.Problem`` by its rules, name what breaks them, or solve it; ``options`` go to its ``solve``.

    Parameters
    ----------
    problem : a cvxpy.Problem
    options : further options of its ``solve``
    """
    try:
        import cvxpy
    except ImportError:
        raise ImportError('a problem stated in CVXPY needs that library: pip install "gapless[convex]"') from None
    if not isinstance(problem, cvxpy.Problem):
        raise ValueError(f"this needs a cvxpy.Problem; got {type(problem).__name__}")
    breaks = [] if problem.objective.is_dcp() else [f"the objective, {problem.objective}"]
    breaks += [f"constraint {i}, {c}" for i, c in enumerate(problem.constraints, 1) if not c.is_dcp()]
    if breaks or not problem.is_dcp():
        return Program(False, breaks or ["the problem as a whole"], None, None, problem)
    problem.solve(**options)
    value = None if problem.value is None else float(problem.value)
    return Program(True, [], str(problem.status), value, problem)

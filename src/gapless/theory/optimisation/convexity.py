"""Is it convex?  A witness that it is not, or how strong the evidence is that it may be.

    chord      f(lam a + (1 - lam) b) <= lam f(a) + (1 - lam) f(b)
    tangent    f(b) >= f(a) + <grad f(a), b - a>
    epigraph   {(x, t) : t >= f(x)} is a convex set: the same as chord, seen as a set
    Jensen     f(E[X]) <= E[f(X)]
    a set      the segment between any two of its points stays in it

One violation beyond rounding disproves convexity, and is returned.  Trials without one prove nothing: they bound the share of
segments (drawn as ours are) that can violate it.  Proofs come from elsewhere: `quadratic` and `polynomial` decide exactly,
`curvature` follows the rules of composition, and a problem stated in CVXPY is judged by that library's rules (`program`).
"""

from gapless.theory.optimisation.convex_program import Part, Program, StandardForm, program, standard_form
from gapless.theory.optimisation.convexity_evidence import Evidence, Witness, of_function, of_set
from gapless.theory.optimisation.convexity_exact import Exact, polynomial, quadratic
from gapless.theory.optimisation.curvature import Curve, affine, compose, concave, convex, maximum, weighted_sum

__all__ = [
    "Curve", "Evidence", "Exact", "Part", "Program", "StandardForm", "Witness", "affine", "compose", "concave", "convex",
    "maximum", "of_function", "of_set", "polynomial", "program", "quadratic", "standard_form", "weighted_sum",
]  # fmt: skip

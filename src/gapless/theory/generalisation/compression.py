"""What follows from a model that a few of its rows determine: sample compression.

    c(D)       the rows that a learner needs: on them alone it gives the same hypothesis; k of N rows
    classical  errors e on the other N - k rows, union bound over which k they are (Floyd, Warmuth 1995; Graepel et al. 2005):
               P(Bin(N - k, epsilon) <= e) = delta zeta(k) / C(N, k),   sum_k zeta(k) <= 1, here 1/N
    preferent  the compression does not change where rows are added that do not change it when added alone.  Then with
               probability 1 - delta a new row changes it with probability at most epsilon_k (Campi, Garatti 2023), which solves
               delta/N sum_(m = k)^(N - 1) C(m, k)/C(N, k) (1 - epsilon)^-(N - m) = 1
               which is delta P(Bin(N, t) > k) = t N P(Bin(N, t) = k) at t = epsilon: far below the classical bound
    two-sided  the same from both sides, where moreover no row has positive mass and none is redundant

A support vector machine is such a learner: a new row with y f < 1 would be a support vector, so epsilon_k bounds the
probability of a margin violation, and of an error (`margin_violation`).  `pick_to_learn` makes one of any learner.
"""

from gapless._runtime.lazy import load
from gapless.theory.generalisation.compression_bounds import Compression, classical, one_sided, scenario, two_sided

__all__ = ["Compression", "classical", "one_sided", "scenario", "two_sided"]  # margin_violation, pick_to_learn: below


def __getattr__(name: str) -> object:
    # margin_violation loads the certificates and scikit-learn, which takes 1 s; the bounds above need 0.05 s.
    if name in ("margin_violation", "pick_to_learn"):
        module = "support_vectors" if name == "margin_violation" else name
        return load(f"gapless.theory.generalisation.{module}", name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

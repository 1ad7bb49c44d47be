"""Omega: what a model costs, coordinate by coordinate.

    penalty.value(w)              Omega(w), infinity where a bound is not kept
    penalty.conjugate(v)          Omega*(v) = sup_w <v, w> - Omega(w), infinity outside its domain
    penalty.excess(v)             how far each v_j is outside the domain of the conjugate
    penalty.prox(v, step)         argmin_w 1/2 |w - v|^2 + step Omega(w)
    penalty.distance(w, g)        how far each -g_j is from the subdifferential of Omega at w_j: 0 where w is optimal

`separable` has the one formula behind them all; `l1`, `l2`, `elastic_net` and `box` are its cases.
"""

from gapless.penalties.separable import Separable, box, elastic_net, l1, l2

__all__ = ["Separable", "box", "elastic_net", "l1", "l2"]

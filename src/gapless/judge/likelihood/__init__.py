"""Certificates of kind "gradient": logistic regression without a penalty (C = inf).

    F(W, b) = sum_i c_i l_i,      g = its gradient, H = its Hessian,      lam^2 = g'H^-1 g

rho is the largest range that a step v with v'Hv = 1 can give to the scores of a row (two classes: rho^2 = max x'H^-1 x).  The
third derivative along a line is a third central moment over the classes, hence at most range times the second; so with
s = rho lam < 1 the minimum exists and F - F* <= lam^2 psi(s), psi(s) = sum_k s^k / ((k + 1)(k + 2)), which is at most 1 and at
most 1/2 + s / (6 (1 - s)).
`problems/likelihood` has the derivation, `tests/judge/test_gradient.py` tries to break it.
"""

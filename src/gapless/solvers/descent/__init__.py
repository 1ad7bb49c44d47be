"""Descent that can be watched: gradient, stochastic and mini-batch steps."""

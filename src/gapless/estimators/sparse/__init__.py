"""Estimators whose penalty leaves coefficients at 0."""

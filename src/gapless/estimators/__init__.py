"""Estimators with scikit-learn's surface: read, encode, solve, certify, decode."""

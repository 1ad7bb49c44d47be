"""Arithmetic without rounding: fractions, a simplex method, signs."""

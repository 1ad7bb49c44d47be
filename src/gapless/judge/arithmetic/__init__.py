"""Comparisons, rounding bounds and elementary functions of the judge."""

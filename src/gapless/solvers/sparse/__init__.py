"""Sparse penalties: working sets, coordinate descent, Newton steps on the support."""

"""Blocks of the Gram matrix K(x, z): how they are computed, kept and bounded."""

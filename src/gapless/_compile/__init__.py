"""Compiled kernels: the one decorator, their keys, and where they are kept."""

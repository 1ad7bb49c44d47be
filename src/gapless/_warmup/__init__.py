"""Compile kernels ahead: a table of steps, one file a family, and the function that takes them."""

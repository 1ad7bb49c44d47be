"""Benchmarks of the linear family: one objective, one judge, every peer's own tolerance swept. See README.md."""

"""Benchmarks of gapless: one objective, one judge, the tolerance of every peer swept. README.md has the rules."""

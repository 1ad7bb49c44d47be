"""Shapes of objectives: convexity, critical points, global minima."""

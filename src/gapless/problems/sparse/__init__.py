"""Linear models with a penalty that leaves coefficients at 0, or that keeps their signs."""

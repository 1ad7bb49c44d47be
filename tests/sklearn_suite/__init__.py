"""scikit-learn's own tests, run with our classes in place of its."""

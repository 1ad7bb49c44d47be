"""Linear classifiers with a penalty."""

"""What estimators of a family share."""

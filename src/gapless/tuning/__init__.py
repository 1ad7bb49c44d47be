"""Choosing what the data cannot say by itself: the path in C, search, thresholds, calibration."""

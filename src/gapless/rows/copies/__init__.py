"""Copies of the rows that some readers read faster than the rows themselves."""

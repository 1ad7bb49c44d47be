"""Choosing parameters: `tune`."""

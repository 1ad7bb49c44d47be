"""The hard margin: C = infinity."""

"""Blocks on disk, or made by a program, walked in order on this machine."""

"""Loops that Triton compiles for the card, and what calls them; imported where there is Triton."""

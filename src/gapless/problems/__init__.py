"""P and D: what is minimised, its dual, the gap between them, and the maps from one to the other."""

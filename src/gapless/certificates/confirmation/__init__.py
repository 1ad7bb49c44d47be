"""The judge, asked by a fit about its own certificate."""

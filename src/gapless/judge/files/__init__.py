"""The judge's own readers: model files, data files, and what their cells say."""

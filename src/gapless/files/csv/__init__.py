"""Tables of text: separators, quotes, columns."""

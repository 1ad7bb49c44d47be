"""Can the classes be separated? A margin, or a witness that they cannot."""

"""What can be known, and what it costs to know it."""

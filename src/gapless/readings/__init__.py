"""What can be read off a fitted model: margins, slacks, explanations, the rows that give it alone."""

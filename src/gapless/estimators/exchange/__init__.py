"""Models for tools that ask for other classes than ours."""

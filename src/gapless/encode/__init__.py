"""From the user's units to the problem's, each map with its inverse: labels, weights, offset."""

"""What a fit claims, and what can be read from it: gap, slackness, margins, contributions, units."""

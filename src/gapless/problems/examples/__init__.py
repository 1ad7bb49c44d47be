"""What solvers and certificates ask of all examples at once: the protocol, and the verbs over rows in memory."""

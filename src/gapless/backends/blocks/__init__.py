"""Problems whose rows lie in blocks and not in one array: the verbs of `problems/examples/protocol` over a walk of blocks."""

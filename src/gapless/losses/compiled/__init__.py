"""The verbs of each loss, compiled into kernels. A loss and its file here have one name."""

"""How: one algorithm a file, over a problem; `loop` owns iteration and stopping, `choose` picks and recovers."""

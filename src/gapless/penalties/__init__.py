"""Penalties beside 1/2 |w|^2: L1, elastic net, signs, boxes. Kept for them; nothing is here yet."""

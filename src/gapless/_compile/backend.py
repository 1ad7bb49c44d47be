"""What a certificate says of the machine that computed it. Apart from the store of kernels, which commands load at once."""

from __future__ import annotations

from gapless._compile import kernel_store
from gapless._runtime.backend import card_in_use, numpy_in_use, place_in_use


def backend() -> str:
    """The card where one computed, "cpu numpy" where numpy did and no kernel ran, else what the store says of its kernels, and
    where rows in blocks were."""
    card, place = card_in_use(), place_in_use()
    if card is not None:
        return card
    return "cpu numpy" if numpy_in_use() else f"{kernel_store.backend()}{f' {place}' if place else ''}"

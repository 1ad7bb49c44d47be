"""What a certificate says of the machine that computed it. Apart from the store of kernels, which commands load at once."""

from __future__ import annotations

from gapless._compile import kernel_store
from gapless._runtime.backend import numpy_in_use, place_in_use


def backend() -> str:
    """ "cpu numpy" where numpy computed and no kernel ran, else what the store says of its kernels; and where blocks were."""
    place = place_in_use()
    return "cpu numpy" if numpy_in_use() else f"{kernel_store.backend()}{f' {place}' if place else ''}"

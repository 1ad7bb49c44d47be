"""The card: whether there is one, and what it is called. torch is imported when a fit asks for a card, and not before."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

#: What takes the card's place in tests: "cpu" runs the same code on torch's tensors in memory.
_stand_in: ContextVar[str | None] = ContextVar("gapless_stand_in", default=None)


@contextmanager
def stand_in(device: str) -> Iterator[None]:
    """Let this torch device take the card's place inside the block: a test of the code where there is no card."""
    token = _stand_in.set(device)
    try:
        yield
    finally:
        _stand_in.reset(token)


def stands_in() -> bool:
    """Whether another device takes the card's place here."""
    return _stand_in.get() is not None


def device_name() -> str:
    """The torch device of the card."""
    return _stand_in.get() or "cuda"


def why_no_card() -> str | None:
    """What is missing for a fit on the card, in words; None where nothing is."""
    if _stand_in.get() is not None:
        return None if importlib.util.find_spec("torch") else "torch is not installed (pip install 'gapless[gpu]')"
    return _look_for_card()


@lru_cache(maxsize=1)
def _look_for_card() -> str | None:
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed (pip install 'gapless[gpu]')"
    try:
        torch = importlib.import_module("torch")
        found = bool(torch.cuda.is_available())
    except Exception as error:  # a broken torch is no card
        return f"torch cannot be imported ({' '.join(str(error).split())[:200]})"
    return None if found else f"torch {torch.__version__} sees no CUDA device"


def card_title() -> str:
    """What a certificate says of the card."""
    torch, name = importlib.import_module("torch"), device_name()
    return f"cuda {torch.cuda.get_device_name(0)}" if name == "cuda" else f"cuda (stand-in: torch on {name})"


@contextmanager
def memory_of_card() -> Iterator[None]:
    """Say in words that the card's memory is full; what was held there is free again when the error is handled."""
    try:
        yield
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        raise MemoryError("the card's memory is full: use device='cpu', or fewer rows") from error


def uses_triton(device: str) -> bool:
    """Whether Triton's kernels run on this device: on a card, or by Triton's interpreter."""
    if importlib.util.find_spec("triton") is None:
        return False
    return device.startswith("cuda") or _interpreted.get()


_interpreted: ContextVar[bool] = ContextVar("gapless_interpreted", default=False)


@contextmanager
def interpreted() -> Iterator[None]:
    """Run Triton's kernels by its interpreter inside the block (TRITON_INTERPRET=1 must be set before triton is imported)."""
    token = _interpreted.set(True)
    try:
        yield
    finally:
        _interpreted.reset(token)

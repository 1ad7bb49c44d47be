"""Public names are loaded when they are first used, by one thread at a time.

Modules of scikit-learn import each other in circles. Where two threads enter such a circle at different places, Python finds a
deadlock and raises it in one of them.
"""

import importlib
from threading import RLock

_one_thread = RLock()
#: Seconds after which a thread loads beside another one. A thread that imports our modules directly does not ask for the lock: it
#: could hold a module that the owner of the lock waits for, and wait for the lock itself. A forked child can find the lock taken.
LONGEST_WAIT = 60.0


def load(module: str, name: str = "") -> object:
    """A module, or what it has under a name."""
    alone = _one_thread.acquire(timeout=LONGEST_WAIT)
    try:
        found = importlib.import_module(module)
        return getattr(found, name) if name else found
    finally:
        if alone:
            _one_thread.release()

"""Public names are loaded when they are first used, by one thread at a time.

Modules of scikit-learn import each other in circles. Where two threads enter such a circle at different places, Python finds a
deadlock and raises it in one of them.
"""

import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from threading import RLock
from types import ModuleType

_one_thread = RLock()


def load(module: str, name: str = "") -> object:
    """A module, or what it has under a name."""
    # A thread that imports our modules directly does not ask for the lock: it could hold a module that the owner of the lock
    # waits for, and wait for the lock itself. A forked child can find the lock taken. So a thread loads beside another one
    # after 60 seconds.
    alone = _one_thread.acquire(timeout=60.0)
    try:
        found = importlib.import_module(module)
        return getattr(found, name) if name else found
    finally:
        if alone:
            _one_thread.release()


class SecondNames(MetaPathFinder, Loader):
    """Modules under a second name: ``import gapless.theory.growth`` gives the module that lies in a folder of the room."""

    def __init__(self) -> None:
        self.places: dict[str, str] = {}
        self._specs: dict[str, ModuleSpec | None] = {}

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in self.places else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.places[spec.name])
        self._specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module back its own spec: Python has replaced it by that of the second name."""
        assert module.__spec__ is not None
        module.__spec__ = self._specs.pop(module.__spec__.name)


_second_names = SecondNames()


def add_names(places: dict[str, str]) -> None:
    """Let modules be imported under second names: ``{second name: name}``."""
    _second_names.places.update(places)
    if _second_names not in sys.meta_path:
        sys.meta_path.append(_second_names)

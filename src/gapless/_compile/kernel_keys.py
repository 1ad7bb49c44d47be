"""Keys of compiled kernels: hashes of all sources, versions and settings that decide what a kernel does.

numba itself looks only at the file of the cached function, so that an edit of a loss would leave every solver that
inlined the loss returning the old result.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache, lru_cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
#: Rooms whose files are in a kernel where its module imports them, near or far.
FOLLOWED_ROOMS = ("kernels", "gram", "problems", "solvers", "certificates", "files")
#: The compiled files of losses and rows: functions found by the type of an argument can be in any kernel, whether its module
#: imports them or not. A loss's class and its numpy formulas are in no kernel: an edit of them leaves the kernels as they are.
VERB_FILES = ("losses/verbs.py", "losses/scalar.py", "losses/impurity.py", "losses/compiled", "rows")


@lru_cache(maxsize=1)
def verbs_key() -> str:
    """A hash of the compiler, its settings, and the sources that can be in any kernel."""
    # Settings of numba's that change the machine code and are not in numba's own key.
    settings = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LLVM_REFPRUNE_PASS")
    import llvmlite
    import numba
    from numba.core import config

    digest = hashlib.blake2b(f"{numba.__version__} {llvmlite.__version__}".encode(), digest_size=8)
    for name in settings:
        value = getattr(config, name, None)
        # OPT: "max" is an integer 3 of its own
        digest.update(f" {name}={getattr(value, '_raw_value', value)}".encode())
    for file in verb_files():
        digest.update(file.relative_to(PACKAGE).as_posix().encode())
        digest.update(_source(file))
    return digest.hexdigest()


def verb_files() -> list[Path]:
    """The sources that can be in any kernel."""
    # which flags a kernel asks for, the flags, what builders of instructions use, and how verbs are written into kernels
    files = [PACKAGE / "_compile" / name for name in ("jit.py", "dispatchers.py", "on_demand.py", "inline.py")]
    files.append(PACKAGE / "judge" / "fingerprint.py")  # constants of one kernel
    for name in VERB_FILES:
        place = PACKAGE / name
        files += [place] if place.suffix else sorted(place.rglob("*.py"))
    return files


@cache
def module_key(module: str) -> str:
    """A hash of the sources that can be in a kernel of this module: its own, and those it imports, near and far."""
    closure, open_ = {module}, [module]
    while open_:
        for name in imports(open_.pop()) - closure:
            closure.add(name)
            open_.append(name)
    digest = hashlib.blake2b(digest_size=8)
    for name in sorted(closure):
        digest.update(name.encode())
        digest.update(_source(file_of(name)))
    return digest.hexdigest()


@cache
def imports(module: str) -> frozenset[str]:
    """The modules of compiled rooms, but for the verbs, that a module imports."""
    file = file_of(module)
    here = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
    # Without comments, which may hold brackets, and line ends that a backslash takes back.
    text = re.sub(r"#[^\n]*|\\\r?\n", "", _source(file).decode())
    # Imports as they can be written: after a colon or semicolon, of several lines, several in one. The words of a docstring may
    # look like one; it then names no file, or puts a file too many into the key.
    whole = r"(?:^|[;:])[ \t]*import[ \t]+([^\n;]*\bgapless\b[^\n;]*)"
    parts = r"(?:^|[;:])[ \t]*from[ \t]+((?:gapless|\.)[\w.]*)[ \t]*import\b[ \t]*(\([^)]*\)|[^\n;]*)"
    found = {name for line in re.findall(whole, text, re.MULTILINE) for name in re.findall(r"\bgapless[\w.]*", line)}
    for origin, names in re.findall(parts, text, re.MULTILINE):
        if origin.startswith("."):  # of this room: one dot, as many more as rooms up
            rest = origin.lstrip(".")
            up = here[: len(here) + 1 - (len(origin) - len(rest))]
            origin = ".".join([*up, rest]) if rest else ".".join(up)
        found.add(origin)
        named = re.sub(r"\bas\s+\w+", "", names)  # what a name is called here names no file
        found.update(f"{origin}.{name}" for name in re.findall(r"\w+", named))
    return frozenset(
        name
        for name in found
        if name.split(".")[1:2] and name.split(".")[1] in FOLLOWED_ROOMS and file_of(name).is_file()
    )


def file_of(module: str) -> Path:
    """The source of a module: name.py, or name/__init__.py where there is such a room."""
    place = PACKAGE.joinpath(*module.split(".")[1:])
    room = place / "__init__.py"
    return room if room.is_file() else place.with_suffix(".py")


@cache
def _source(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # a zipped or frozen install: its sources cannot be edited
        from importlib.metadata import version

        return version("gapless").encode()

"""The keys of compiled kernels: an edit of any source that a kernel is made of changes the key, at any depth of folders."""

from __future__ import annotations

import ast
import builtins
import shutil
from pathlib import Path

import pytest

from gapless._compile import kernel_keys
from tests.package.imports import imported_names, module_of

#: Rooms whose compiled sources are found by what a module imports, not by the type of an argument.
FOLLOWED = sorted(kernel_keys.FOLLOWED_ROOMS)
COMPILED_ROOMS = {*FOLLOWED, *(name.split("/")[0] for name in kernel_keys.VERB_FILES)}
DECORATORS = {"compiled", "inlined", "overload", "instruction", "intrinsic", "bind"}


# -- an edit is seen -----------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A copy of the sources that keys are made of, in a place of its own."""
    root = tmp_path / "gapless"
    needed = {*COMPILED_ROOMS, "_compile", "judge"}

    def left_out(folder, names):
        here = Path(folder) == kernel_keys.PACKAGE
        return [name for name in names if name == "__pycache__" or (here and name not in needed)]

    shutil.copytree(kernel_keys.PACKAGE, root, ignore=left_out)
    monkeypatch.setattr(kernel_keys, "PACKAGE", root)
    caches = (kernel_keys.verbs_key, kernel_keys.module_key, kernel_keys.imports, kernel_keys._source)

    def forget():
        for cache in caches:
            cache.cache_clear()

    forget()
    yield root, forget
    forget()


def changed(root: Path, forget, place: str, key) -> bool:
    """Whether an edit of that file changes the key, and taking it back gives the key of before."""
    file = root / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("def step(): return 1\n")
    forget()
    before = key()
    file.write_text("def step(): return 2\n")
    forget()
    after = key()
    file.write_text("def step(): return 1\n")
    forget()
    assert key() == before
    return after != before


@pytest.mark.parametrize(
    "place",
    [
        "rows/x.py",
        "rows/copies/y.py",
        "rows/copies/deep/deeper/z.py",
        "losses/compiled/z.py",
        "losses/compiled/deep/deeper/z.py",
    ],
)
def test_an_edit_of_a_verb_changes_the_key_of_all_kernels(tree, place):
    root, forget = tree
    assert changed(root, forget, place, kernel_keys.verbs_key)


#: How solvers/linear/user.py can come by a function of solvers/linear/deep/x.py.
WAYS = (
    "from gapless.solvers.linear.deep.x import step",
    "from gapless.solvers.linear.deep.x import step as other, more",
    "from gapless.solvers.linear.deep import x",
    "from gapless.solvers.linear.deep import x as y",
    "import gapless.solvers.linear.deep.x",
    "import gapless.solvers.linear.deep.x as y",
    "import os, gapless.solvers.linear.deep.x as y",
    "import gapless.solvers.loop, gapless.solvers.linear.deep.x",
    "from .deep.x import step",
    "from .deep import x",
    "from ..linear.deep.x import step",
    "from ...solvers.linear.deep.x import step",
    "from gapless.solvers.linear.deep import (\n    other,  # is (not) there\n    x,\n)",
    "from .deep import (other,\n    x as y)",
    "from gapless.solvers.linear.deep import other, \\\n    x",
    "from gapless.solvers.linear.deep.x import *",
    "def solve():\n    from gapless.solvers.linear.deep.x import step\n    return step()",
    "def solve():\n    import gapless.solvers.linear.deep.x as y\n    return y",
    "def solve(): from .deep import x",
    "import os; from .deep.x import step",
    "try:\n    from .deep.x import step\nexcept ImportError:\n    pass",
    "from gapless.solvers.linear.middle import step",
    "from .middle import step",
)


@pytest.mark.parametrize("way", WAYS)
def test_an_edit_changes_the_key_of_who_imports_it(tree, way):
    """However the import is written, and through a module between the two."""
    root, forget = tree
    folder = root / "solvers" / "linear"
    (folder / "middle.py").write_text("from .deep.x import step\n")
    (folder / "user.py").write_text(f"{way}\n")
    assert changed(
        root, forget, "solvers/linear/deep/x.py", lambda: kernel_keys.module_key("gapless.solvers.linear.user")
    )


@pytest.mark.parametrize("room", FOLLOWED)
def test_every_compiled_room_is_followed_at_any_depth(tree, room):
    root, forget = tree
    (root / "solvers" / "user.py").write_text(f"from gapless.{room}.deep.deeper.x import step\n")
    key = lambda: kernel_keys.module_key("gapless.solvers.user")  # noqa: E731
    assert changed(root, forget, f"{room}/deep/deeper/x.py", key)


def test_an_edit_of_another_module_leaves_the_key(tree):
    root, forget = tree
    (root / "solvers" / "linear" / "user.py").write_text("from .deep.x import step\n")
    key = lambda: kernel_keys.module_key("gapless.solvers.linear.user")  # noqa: E731
    assert not changed(root, forget, "solvers/linear/deep/other.py", key)


def test_what_a_room_hands_on_is_followed(tree):
    """solvers/inner/__init__.py hands on a name of a file beside it: an edit there changes the key of who imports it."""
    root, forget = tree
    inner = root / "solvers" / "inner"
    inner.mkdir()
    (inner / "__init__.py").write_text("from .deep import step\n")
    (inner / "deep.py").write_text("def step(): return 1\n")
    (root / "solvers" / "user.py").write_text("from gapless.solvers.inner import step\n")
    forget()
    assert "gapless.solvers.inner.deep" in kernel_keys.imports("gapless.solvers.inner")
    before = kernel_keys.module_key("gapless.solvers.user")
    (inner / "deep.py").write_text("def step(): return 2\n")
    forget()
    assert kernel_keys.module_key("gapless.solvers.user") != before


def test_settings_of_the_compiler_are_in_the_key(monkeypatch):
    from numba.core import config

    before = kernel_keys.verbs_key.__wrapped__()
    for name, value in (("OPT", 0), ("LOOP_VECTORIZE", 1 - int(config.LOOP_VECTORIZE)), ("BOUNDSCHECK", 1)):
        with monkeypatch.context() as patch:
            patch.setattr(config, name, value)
            assert kernel_keys.verbs_key.__wrapped__() != before
    assert kernel_keys.verbs_key.__wrapped__() == before


# -- the sources of today ------------------------------------------------------------------------------------


def test_the_files_of_verbs_are_there():
    """A file that was renamed would be missing from the key without a word."""
    for name in kernel_keys.VERB_FILES:
        assert (kernel_keys.PACKAGE / name).exists(), name
    for file in kernel_keys.verb_files():
        assert file.is_file(), file
    for room in COMPILED_ROOMS:
        assert (kernel_keys.PACKAGE / room).is_dir(), room


def decorated(tree: ast.Module) -> list[ast.FunctionDef]:
    """Functions that numba compiles, or that choose what it compiles."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            heads = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
            if DECORATORS & {
                head.attr if isinstance(head, ast.Attribute) else getattr(head, "id", "") for head in heads
            }:
                found.append(node)
    return found


def test_the_key_covers_what_kernels_use():
    """Every name in a compiled function that comes from another module of gapless comes from one that is in the key."""
    verbs = set(kernel_keys.verb_files())
    seen = 0
    for file in sorted(kernel_keys.PACKAGE.rglob("*.py")):
        module, tree = module_of(file, kernel_keys.PACKAGE), ast.parse(file.read_text("utf-8"))
        kernels = decorated(tree)
        if not kernels:
            continue
        known = imported_names(tree, module)
        closure, open_ = {module}, [module]
        while open_:
            new = kernel_keys.imports(open_.pop()) - closure
            closure |= new
            open_ += new
        # a verb can be in a kernel whose module does not import what the verb imports
        inside = verbs if file in verbs else verbs | {kernel_keys.file_of(name) for name in closure}
        for kernel in kernels:
            body = [node for part in kernel.body for node in ast.walk(part)]
            names = {node.id for node in body if isinstance(node, ast.Name)} - set(dir(builtins))
            for name in names & known.keys():
                seen += 1
                assert kernel_keys.file_of(known[name]) in inside, (
                    f"{module}.{kernel.name} uses {name} of {known[name]}"
                )
    assert seen > 100


def test_rooms_inside_compiled_rooms_hand_nothing_on():
    """Their ``__init__.py`` holds a docstring at most: names are imported from the file that has them, which the key follows."""
    for room in COMPILED_ROOMS:
        for file in (kernel_keys.PACKAGE / room).rglob("__init__.py"):
            if (
                file.parent.name == room or file.parent.name == "compiled"
            ):  # importing losses/compiled binds the verbs to the losses
                continue
            body = ast.parse(file.read_text("utf-8")).body
            assert all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in body), file

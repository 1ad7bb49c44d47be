"""What modules of gapless import, by Python's own grammar."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path


def module_of(file: Path, package: Path) -> str:
    """The dotted name of a source file of the package."""
    parts = ["gapless", *file.relative_to(package).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_in(tree: ast.AST, module: str, is_room: bool = False) -> Iterator[tuple[ast.stmt, str, str, str]]:
    """Each import of gapless below that node: the statement, the module, the name that is taken ("" for the module), and the
    name it gets."""
    yield from imports_among(ast.walk(tree), module, is_room)


def imports_among(
    nodes: Iterable[ast.AST], module: str, is_room: bool = False
) -> Iterator[tuple[ast.stmt, str, str, str]]:
    """The same of nodes that were walked before."""
    here = module.split(".") if is_room else module.split(".")[:-1]
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            up = here[: len(here) + 1 - node.level] if node.level else []
            origin = ".".join([*up, *filter(None, [node.module])])
            if origin.split(".")[0] == "gapless":
                for alias in node.names:
                    yield node, origin, alias.name, alias.asname or alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "gapless":
                    yield node, alias.name, "", alias.asname or "gapless"


def imported_names(tree: ast.AST, module: str) -> dict[str, str]:
    """Name in the module -> the module of gapless that it comes from; a taken module is itself."""
    from gapless._compile.kernel_keys import file_of

    found = {}
    for _, origin, name, bound in imports_in(tree, module):
        whole = f"{origin}.{name}" if name else origin
        found[bound] = whole if file_of(whole).is_file() else origin
    return found

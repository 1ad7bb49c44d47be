"""The house in numbers: how long, how deep and how wide its functions are, who imports whom, how many constants it has.

    python -m tests.package.house_metrics                 a table, the limits beside what is found
    python -m tests.package.house_metrics --list KIND     the offenders, worst first
    python -m tests.package.house_metrics --shorten       take from house_debt.jsonl what is no longer over its limit

Everything is read with Python's grammar; nothing is imported. Complexity is counted as ruff's rule C901 counts it, a
function's lines from `def` to its end without its docstring, parameters without self.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.package.imports import imports_among, module_of

PACKAGE = Path(__file__).parents[2] / "src" / "gapless"

#: Decorators of functions that numba compiles.
COMPILED = {"compiled", "inlined", "overload", "instruction", "intrinsic", "register_jitable"}
#: Folders of compiled functions that wear no decorator: they are bound to a loss by its protocol.
BOUND = ("losses/compiled/",)
#: Public functions whose signature is their promise.
SIGNATURES = {
    "tuning/search/tune.py:tune", "tuning/search.py:tune", "solvers/descent/descend.py:descend", "files/read.py:read_data",
    "files/frames.py:from_frame", "pages/report.py:report",
}  # fmt: skip
_CONSTANT = re.compile(r"_*[A-Z][A-Z0-9_]*$")
_TYPES = {"TypeVar", "ParamSpec", "NewType"}

#: kind -> (what is counted, the most that is allowed, the unit of its entries)
LIMITS = {
    "complexity": ("complexity of a Python function", 15),
    "complexity compiled": ("complexity of a compiled function", 25),
    "lines": ("lines of a Python function", 60),
    "lines compiled": ("lines of a compiled function", 100),
    "parameters": ("parameters of a function", 10),
    "file": ("lines of a file", 400),
    "folder": (".py files of a folder", 16),
    "isinstance": ("isinstance on losses and rows outside their rooms, in a file", 0),
    "late import": ("imports of gapless inside functions, in a file", 0),
    "underscore": ("imports of another room's private names, in a file", 0),
    "cycle": ("modules that a module imports in a circle inside its room", 0),
    "constants": ("upper-case names that modules assign, in a room", 0),
    "annotated": ("the same with an annotation: tables, mostly", 0),
}

Found = dict[str, dict[str, int]]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Function:
    """A function, where it is, and whether numba compiles it."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    name: str
    compiled: bool
    exempt: bool  # its parameters are a constructor's of scikit-learn, a command's, or a public promise

    @property
    def lines(self) -> int:
        body = self.node.body
        last, first = self.node.end_lineno or 0, self.node.lineno
        told = body[0] if ast.get_docstring(self.node, clean=False) is not None else None
        return last - first + 1 - ((told.end_lineno or 0) - told.lineno + 1 if told else 0)

    @property
    def parameters(self) -> int:
        given = self.node.args
        names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        return len(names) - (bool(names) and names[0] in ("self", "cls"))

    @property
    def complexity(self) -> int:
        return 1 + branches(self.node.body)


def decisions(node: ast.AST) -> int:
    """The complexity as radon counts it, which the visit to the house used: operators and comprehensions count, too."""
    total = 1
    for part in ast.walk(node):
        if isinstance(part, ast.If | ast.IfExp | ast.ExceptHandler | ast.Assert | ast.Lambda | ast.match_case):
            total += 1
        elif isinstance(part, ast.For | ast.AsyncFor | ast.While):
            total += 1 + bool(part.orelse)
        elif isinstance(part, ast.Try):
            total += bool(part.orelse)
        elif isinstance(part, ast.BoolOp):
            total += len(part.values) - 1
        elif isinstance(part, ast.comprehension):
            total += 1 + len(part.ifs)
        elif isinstance(part, ast.FunctionDef) and part is not node:
            total += 1
    return total


def branches(body: list[ast.stmt]) -> int:
    """What ruff's C901 adds for a block."""
    total = 0
    for node in body:
        if isinstance(node, ast.If | ast.For | ast.AsyncFor | ast.While):
            total += 1 + branches(node.body)
            # an `else` counts where it is an `elif`, which is an `if` inside
            total += branches(node.orelse)
        elif isinstance(node, ast.Try | ast.TryStar):
            total += branches(node.body) + bool(node.orelse) + branches(node.orelse) + branches(node.finalbody)
            total += sum(1 + branches(each.body) for each in node.handlers)
        elif isinstance(node, ast.With | ast.AsyncWith):
            total += branches(node.body)
        elif isinstance(node, ast.Match):
            total += sum(1 + branches(each.body) for each in node.cases)
            last = node.cases[-1]
            total -= isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and last.guard is None
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            total += 1 + branches(node.body)
        elif isinstance(node, ast.ClassDef):
            total += branches(node.body)
    return total


def heads(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> set[str]:
    """The last words of a function's decorators."""
    called = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
    return {each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in called}


class House:
    """All source files of a package, parsed."""

    def __init__(self, package: Path = PACKAGE) -> None:
        self.package = package
        self.files = sorted(package.rglob("*.py"))
        self.texts = {file: file.read_text("utf-8") for file in self.files}
        self.trees = {file: ast.parse(text) for file, text in self.texts.items()}

    @cached_property
    def nodes(self) -> dict[Path, list[ast.AST]]:
        """Every node of a file, from a single walk."""
        return {file: list(ast.walk(tree)) for file, tree in self.trees.items()}

    @cached_property
    def imports(self) -> dict[Path, list[tuple[ast.stmt, str, str, str]]]:
        """What a file imports of the package, anywhere in it."""
        return {
            file: list(imports_among(nodes, module_of(file, self.package), is_room(file)))
            for file, nodes in self.nodes.items()
        }

    def place(self, file: Path) -> str:
        return file.relative_to(self.package).as_posix()

    def room(self, file: Path) -> str:
        """The folder of the first level; modules beside them are rooms of their own."""
        return file.relative_to(self.package).parts[0].removesuffix(".py")

    @cached_property
    def functions(self) -> list[Function]:
        found: list[Function] = []
        for file, tree in self.trees.items():
            self._walk(tree, file, "", self.place(file).startswith(BOUND), found)
        return found

    def _walk(self, parent: ast.AST, file: Path, prefix: str, compiled: bool, found: list[Function]) -> None:
        for node in ast.iter_child_nodes(parent):
            inside, name = compiled, prefix
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                inside, name = compiled or bool(heads(node) & COMPILED), f"{prefix}{node.name}."
                key = f"{self.place(file)}:{prefix}{node.name}"
                constructor = node.name == "__init__" and self.room(file) == "estimators"
                by_triton = "jit" in heads(node)  # its parameters are the arrays that it reads and writes
                exempt = constructor or by_triton or self._is_command(node, file) or key in SIGNATURES
                found.append(Function(node, key, inside, exempt))
            elif isinstance(node, ast.ClassDef):
                name = f"{prefix}{node.name}."
            self._walk(node, file, name, inside, found)

    def _is_command(self, node: ast.FunctionDef | ast.AsyncFunctionDef, file: Path) -> bool:
        """A command of the command line: `guarded` makes it one, and typer reads its options from the signature."""
        return self.room(file) == "cli" and any("guarded" in ast.dump(each) for each in node.decorator_list)

    def classes_of(self, room: str) -> set[str]:
        """Names of the classes that a room defines."""
        return {
            node.name
            for file, nodes in self.nodes.items()
            if self.room(file) == room
            for node in nodes
            if isinstance(node, ast.ClassDef)
        }


def measure(house: House | None = None) -> Found:
    """kind -> the entries over its limit -> by how much they are."""
    house = house or House()
    found: Found = {kind: {} for kind in LIMITS}
    values: Counter[str] = Counter()
    for function in house.functions:
        end = " compiled" if function.compiled else ""
        for kind, value in (("complexity" + end, function.complexity), ("lines" + end, function.lines)):
            keep(found, kind, function.name, value, values)
        if not function.exempt:
            keep(found, "parameters", function.name, function.parameters, values)
    for file, text in house.texts.items():
        keep(found, "file", house.place(file), len(text.splitlines()), values)
    for folder, number in Counter(file.parent for file in house.files).items():
        keep(found, "folder", house.place(folder) if folder != house.package else ".", number, values)
    for kind, counted in (
        ("isinstance", type_questions(house)),
        ("late import", late_imports(house)),
        ("underscore", private_imports(house)),
        ("cycle", circles(house)),
        ("constants", constants(house, ast.Assign)),
        ("annotated", constants(house, ast.AnnAssign)),
    ):
        for name, value in counted.items():
            keep(found, kind, name, value, values)
    return found


def keep(found: Found, kind: str, name: str, value: int, seen: Counter[str]) -> None:
    """Note an entry that is over its limit; functions of one name in one place (a property and its setter) are numbered."""
    seen[f"{kind} {name}"] += 1
    again = seen[f"{kind} {name}"]
    if value > LIMITS[kind][1]:
        found[kind][name if again == 1 else f"{name}#{again}"] = value


def type_questions(house: House) -> dict[str, int]:
    """How often a file asks whether something is a certain loss, or certain rows."""
    found: Counter[str] = Counter()
    classes = {room: house.classes_of(room) for room in ("losses", "rows")}
    for file, nodes in house.nodes.items():
        if house.room(file) == "judge":
            continue
        asked = set().union(*(names for room, names in classes.items() if room != house.room(file)))
        for node in nodes:
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", "") in ("isinstance", "issubclass")
                and len(node.args) == 2
            ):
                words = {
                    each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "")
                    for each in ast.walk(node.args[1])
                }
                found[house.place(file)] += bool(words & asked)
    return +found


def late_imports(house: House) -> dict[str, int]:
    found: Counter[str] = Counter()
    for file, nodes in house.nodes.items():
        statements = {id(node) for node, *_ in house.imports[file]}
        if statements:
            functions = (each for each in nodes if isinstance(each, FUNCTIONS))
            inner = {id(node) for function in functions for node in ast.walk(function)}
            found[house.place(file)] = len(inner & statements)
    return +found


def is_room(file: Path) -> bool:
    return file.name == "__init__.py"


def private_imports(house: House) -> dict[str, int]:
    """Imports of `_name`, or from a file `_name`, of another room. `_runtime`, `_compile` and their like are rooms."""
    found: Counter[str] = Counter()
    for file, imports in house.imports.items():
        for _, origin, name, _ in imports:
            parts = [*origin.split(".")[1:], *([name] if name else [])]
            other = parts[0] if parts else ""
            private = [part for part in parts[1:] if part.startswith("_") and not part.startswith("__")]
            found[house.place(file)] += bool(private and other != house.room(file))
    return +found


def typing_only(nodes: list[ast.AST]) -> set[int]:
    """Statements below `if TYPE_CHECKING:`."""
    return {
        id(inner)
        for node in nodes
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for part in node.body
        for inner in ast.walk(part)
    }


def arrows(house: House) -> dict[str, set[str]]:
    """module -> the modules of its room that it imports, anywhere in it."""
    modules = {module_of(file, house.package): file for file in house.files}
    found: dict[str, set[str]] = defaultdict(set)
    for module, file in modules.items():
        unread = typing_only(house.nodes[file])
        for node, origin, name, _ in house.imports[file]:
            whole = f"{origin}.{name}"
            target = whole if whole in modules else origin
            if (
                id(node) not in unread
                and target in modules
                and target != module
                and house.room(modules[target]) == house.room(file)
            ):
                found[module].add(target)
    return found


def circles(house: House) -> dict[str, int]:
    """Modules that come back to themselves by imports inside their room, with the size of the circle they are in."""
    graph = arrows(house)

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        open_ = [start]
        while open_:
            new = graph.get(open_.pop(), set()) - seen
            seen |= new
            open_ += new
        return seen

    far = {module: reached(module) for module in graph}
    return {
        module: sum(module in far.get(other, ()) for other in seen)
        for module, seen in sorted(far.items())
        if module in seen
    }


def constants(house: House, kind: type[ast.stmt]) -> dict[str, int]:
    """Upper-case names that modules assign, room by room; type variables are none."""
    found: Counter[str] = Counter()
    for file, tree in house.trees.items():
        found[house.room(file)] += len(set(constant_names(tree, kind)))
    return +found


def constant_names(tree: ast.Module, kind: type[ast.stmt]) -> Iterator[str]:
    open_: list[ast.stmt] = list(tree.body)
    while open_:
        node = open_.pop()
        if isinstance(node, ast.If | ast.Try | ast.With):
            open_ += [
                *node.body,
                *getattr(node, "orelse", []),
                *(s for h in getattr(node, "handlers", []) for s in h.body),
            ]
        if not isinstance(node, kind) or not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        if isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") in _TYPES:
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield from (each.id for each in ast.walk(target) if isinstance(each, ast.Name) and _CONSTANT.match(each.id))


def total(kind: str, entries: dict[str, int]) -> int:
    """How many entries there are, or what they come to where each counts something."""
    return sum(entries.values()) if LIMITS[kind][1] == 0 and kind != "cycle" else len(entries)


def main() -> int:
    from tests.package.house_debt import grown, read_debt, shorten, write_debt

    parser = argparse.ArgumentParser(prog="python -m tests.package.house_metrics")
    parser.add_argument("--list", choices=tuple(LIMITS), metavar="KIND", help=f"one of: {', '.join(LIMITS)}")
    parser.add_argument("--shorten", action="store_true", help="write the shorter list of exceptions")
    given = parser.parse_args()
    house = House()
    found = measure(house)
    if given.list:
        for name, value in sorted(found[given.list].items(), key=lambda pair: -pair[1]):
            print(f"{value:6d}  {name}")
        return 0
    if given.shorten:
        write_debt(shorten(found, read_debt()))
    debt = read_debt()
    print(f"{'':68}{'limit':>6}{'over':>6}{'debt':>6}{'worst':>7}")
    for kind, (what, limit) in LIMITS.items():
        worst = max(found[kind].values(), default=0)
        print(f"{kind:20} {what[:46]:47}{limit:6d}{total(kind, found[kind]):6d}{total(kind, debt[kind]):6d}{worst:7d}")
    print(f"{len(house.files)} files, {sum(len(text.splitlines()) for text in house.texts.values())} lines in src")
    as_radon = [decisions(each.node) > 15 for each in house.functions]
    print(
        f"{sum(as_radon)} of {len(as_radon)} functions are over complexity 15 as radon counts, for comparison with older figures"
    )
    for line in grown(found, debt):
        print(f"over, and not in the list of exceptions: {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

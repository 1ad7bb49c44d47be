"""Every entry of a document with its type, and what becomes of it: recomputed, derived, or unchecked with a reason.

    recomputed   the judge makes the figure anew from the data and compares
    derived      it follows from other entries, and has to agree with them
    unchecked    it is listed as not checked, with the reason that stands here

`Kind` is all that the judge knows of one family of documents. Keys that no table names are refused. ``python -m
gapless.judge.schema_page`` prints the tables as docs/checked.md has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

Test = Callable[[Any], bool]
Arrays = dict[str, tuple[str, list[int]]]
KINDS = ("recomputed", "derived", "unchecked")


class Entry(NamedTuple):
    """``how``: from what the entry is made anew or derived, or why it is not checked."""

    test: Test
    kind: str
    how: str
    optional: bool = False


Table = dict[str, Entry]


def recomputed(test: Test, how: str) -> Entry:
    return Entry(test, "recomputed", how)


def derived(test: Test, how: str) -> Entry:
    return Entry(test, "derived", how)


def unchecked(test: Test, why: str) -> Entry:
    return Entry(test, "unchecked", why)


def optional(entry: Entry) -> Entry:
    return entry._replace(optional=True)


class Choice(NamedTuple):
    """Tables of which a block has one; ``by`` names it, from the block around the block and the block itself."""

    by: Callable[[Any, Any], Any]
    tables: dict[str, Table]


Schema = Mapping[str, Table | Choice]


class Kind(NamedTuple):
    """One family of documents. ``schema`` has a table for each block, under the path of the block: "" is the document
    itself, "certificate." a block, "certificate.subproblems[]." each block of a list, "arrays." the arrays; "parameters."
    stands once for each estimator, as "NAME.parameters.". ``defect`` names the first thing wrong with the entries of a
    document taken together, ``defect_of_arrays`` the first place (column, class, node) in an array that is outside of what it
    points to. ``case`` is made of a document, its arrays and its data, and has ``judge(rigorous)``."""

    name: str
    estimators: tuple[str, ...]
    certificate_kinds: tuple[str, ...]
    schema: Schema
    case: Callable[..., Any]
    array_shapes: Callable[[Any], Arrays]
    defect: Callable[[Any], str | None]
    defect_of_arrays: Callable[[Any, Mapping[str, Any]], str | None]
    unchecked: tuple[str, ...]


class Form(Protocol):
    """A module ``document`` of a family: the parts of its `Kind` that speak of the form. It may have ``defect_of_arrays``."""

    @property
    def TABLES(self) -> Schema: ...

    def array_shapes(self, document: Any) -> Arrays:
        """Type and shape of the arrays that go with a document."""
        ...

    def defect(self, document: Any) -> str | None:
        """The first thing wrong with the entries of a document taken together, in words; None where there is nothing."""
        ...


def union(table: Table | Choice) -> Table:
    """A table; of a choice, the entries of all its tables."""
    if isinstance(table, Choice):
        return {key: entry for each in table.tables.values() for key, entry in each.items()}
    return table


def table_of(schema: Schema, path: str, estimator: str) -> Table:
    """The table of a block; parameters are those of an estimator."""
    return union(schema.get(f"{estimator}.{path}" if path == "parameters." else path, {}))


def entries(
    document: Mapping[str, Any], schema: Schema, path: str = "", block: Any = None
) -> Iterator[tuple[str, Entry | None]]:
    """(path, entry) of every key of a document, blocks inside it included; None where no table names the key.

    What stands under a key whose own entry is the last word of the schema (a parameter, a text, a list of numbers) is not
    entered: the entry speaks of all of it.
    """
    block = document if path == "" else block
    table = table_of(schema, path, str(document.get("estimator")))
    for key, value in block.items():
        yield path + key, table.get(key)
        inside = value if isinstance(value, list) else [value]
        name = f"{path}{key}[]." if isinstance(value, list) else f"{path}{key}."
        if name == "parameters." or name in schema:
            for part in inside:
                if isinstance(part, Mapping):
                    yield from entries(document, schema, name, part)


def not_checked(document: Mapping[str, Any], arrays: Mapping[str, Any], schema: Schema) -> list[str]:
    """Name and reason of everything in a document that nobody checks, each once; a block that nobody checks as a whole."""
    found: dict[str, None] = {}
    whole: list[str] = []
    for path, entry in entries(document, schema):
        if entry is not None and entry.kind == "unchecked" and not path.startswith(tuple(whole)):
            whole += [path + ".", path + "[]."]
            name = path.rpartition(".")[2]
            place = "parameter " if path.startswith("parameters.") else ""
            found[f"{place}{name}: {entry.how}"] = None
    for name in arrays:
        entry = union(schema.get("arrays.", {})).get(str(name))
        if entry is not None and entry.kind == "unchecked":
            found[f"array {name}: {entry.how}"] = None
    return list(found)

"""The tables of the schema for the docs: ``python -m gapless.judge.schema_page > docs/checked.md``."""

from __future__ import annotations

from .form.schema import Schema, union
from .kinds import KINDS


def rows_of(schema: Schema) -> list[str]:
    """A line for each entry."""
    return [
        f"| `{path}{key}` | {e.kind} | {e.how} |" for path, table in schema.items() for key, e in union(table).items()
    ]


def as_markdown() -> str:
    """The page: what all families have in common, then what each has of its own."""
    told = """# What the judge checks

Every entry of a model document is one of three: *recomputed* from the data, *derived* from other entries and compared with
them, or *unchecked*, and then named in the verdict's `unchecked` with the reason that stands here. Entries that no table
names are refused. `[]` stands for each block of a list. This page is made from the judge's own tables:
`python -m gapless.judge.schema_page > docs/checked.md`.
"""
    shared = [row for row in rows_of(KINDS[0].schema) if all(row in rows_of(kind.schema) for kind in KINDS)]
    head = ["| entry | what becomes of it | by what, or why not |", "|---|---|---|"]
    lines = [told, "## All documents", "", *head, *shared, ""]
    for kind in KINDS:
        lines += [
            f"## {kind.name}",
            "",
            f"Estimators: {', '.join(f'`{name}`' for name in kind.estimators)}.",
            "",
            *head,
        ]
        lines += [row for row in rows_of(kind.schema) if row not in shared]
        lines += ["", "Nobody checks: " + "; ".join(kind.unchecked) + "."] if kind.unchecked else []
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    print(as_markdown(), end="")

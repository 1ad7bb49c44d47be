"""The limits of the house: functions, files, folders, imports. What was over a limit when the limits came stands in
house_debt.jsonl, which can only get shorter: `python -m tests.package.house_metrics --shorten` takes out what is paid."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gapless.judge.kinds import KINDS
from tests.package import house_metrics, house_table
from tests.package.house_debt import SLACK, grown, paid, read_debt, shorten, write_debt
from tests.package.house_metrics import LIMITS, PACKAGE, House, measure

#: How many entries the list of exceptions had for each kind when the limits came.
AT_FIRST = {
    "complexity": 10,
    "complexity compiled": 1,
    "lines": 35,
    "lines compiled": 0,
    "parameters": 44,
    "file": 26,
    "folder": 0,
    "isinstance": 10,
    "late import": 85,
    "underscore": 11,
    "cycle": 28,
    "constants": 27,
    "annotated": 12,
}

#: Files that may be longer than the limit, and folders that may hold more, with the reason.
MAY_BE_LONGER: dict[str, str] = {}


ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def found():
    return measure()


def test_nothing_new_is_over_a_limit(found):
    over = [line for line in grown(found, read_debt()) if not any(f": {name} is" in line for name in MAY_BE_LONGER)]
    assert over == [], "see python -m tests.package.house_metrics --list KIND"


def test_the_list_of_exceptions_holds_what_is_over_and_no_more(found):
    assert paid(found, read_debt()) == [], "run python -m tests.package.house_metrics --shorten"


def test_the_list_of_exceptions_is_no_longer_than_it_was():
    debt = read_debt()
    for kind, entries in debt.items():
        assert len(entries) <= AT_FIRST[kind], kind
    assert AT_FIRST.keys() == LIMITS.keys()


def missing_on_the_page(page):
    """Files and names in the recipes of ARCHITECTURE.md that are not there: `path`, and `NAME` of, in `path`."""
    recipes = page.partition("## Where to add")[2]
    told = re.findall(r"`([\w./]+/[\w.]*|[\w]+\.py)`", recipes)
    new = ("name.py", "<family>")

    def place(path):
        found = [home / path for home in (ROOT, PACKAGE) if (home / path).exists()]
        return found[0] if found else None

    lost = [path for path in told if not any(each in path for each in new) and place(path) is None]
    for name, path in re.findall(r"`(\w+)`(?: \w+)? (?:of|in) `([\w./]+\.py)`", recipes):
        file = place(path)
        if file is not None and not re.search(rf"\b{name}\b", file.read_text()):
            lost.append(f"{name} of {path}")
    return lost


def test_what_the_recipes_name_is_there():
    page = (ROOT / "ARCHITECTURE.md").read_text()
    assert missing_on_the_page(page) == []
    assert "SOLVERS" in page
    planted = page + "`losses/lost.py`, `NOWHERE` of `losses/__init__.py`"
    assert missing_on_the_page(planted) == ["losses/lost.py", "NOWHERE of losses/__init__.py"]


def test_every_file_that_may_be_longer_has_a_reason(found):
    for name, reason in MAY_BE_LONGER.items():
        assert name in found["file"] or name in found["folder"], f"{name} is within the limit: take it from the list"
        assert len(reason.split()) > 3


# -- the table family x room -----------------------------------------------------------------------------------


def test_every_file_has_its_family_or_is_shared_by_all():
    assert house_table.faults() == [], "tests/package/house_table.py says which families and shared files a room has"


def test_the_table_stands_in_the_architecture():
    """`python -m tests.package.house_table` puts it there."""
    assert house_table.as_markdown() in (house_table.ROOT / "ARCHITECTURE.md").read_text("utf-8")


def test_the_table_replaces_itself_alone():
    page = (house_table.ROOT / "ARCHITECTURE.md").read_text("utf-8")
    table = house_table.as_markdown()
    head = table.splitlines()[0]
    short = f"{head}\n|---|\n"
    assert page.count("\n| family |") == 2  # the other one says what the kinds of certificates claim
    assert house_table.with_table(page, short) == page.replace(table, short)
    assert house_table.with_table(page.replace(table, short), table) == page
    assert house_table.with_table(f"a\n{table}", short) == f"a\n{short}"
    for wrong in (page.replace(head, "| family | fits |"), page + table):
        with pytest.raises(ValueError, match="and this writes one"):
            house_table.with_table(wrong, table)


def test_every_kind_of_certificate_stands_in_the_architecture():
    """Kinds without a gap: ARCHITECTURE.md says what they claim."""
    page = (house_table.ROOT / "ARCHITECTURE.md").read_text("utf-8")
    kinds = {kind for family in KINDS for kind in family.certificate_kinds} - {"gap"}
    assert {kind for kind in kinds if f"| `{kind}` |" not in page} == set()


@pytest.fixture
def skeleton(tmp_path):
    """The tree with empty files."""
    for top in ("src", "tests", "benchmarks", "docs"):
        for path in (house_table.ROOT / top).rglob("*"):
            if path.suffix in (".py", ".md") and "__pycache__" not in path.parts:
                copy = tmp_path / path.relative_to(house_table.ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.touch()
    return tmp_path


PLANTED = {
    "a file of no family": ("src/gapless/solvers/simplex.py", "is of no family"),
    "a folder of no family": ("src/gapless/judge/forests/case.py", "is of no family"),
    "a page of no family": ("docs/forests.md", "is of no family"),
    "a second name of a family": ("src/gapless/certificates/moments.py", "gaussian is the word"),
    "a second name in a sub-folder": ("src/gapless/plots/models/trees.py", "tree is the word"),
    "a second name among the tests": ("tests/linear/test_orthogonality.py", "least_squares is the word"),
    "a family where the table says that it has nothing": ("src/gapless/problems/bagging.py", "says that it has not"),
}


@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_file_is_found(skeleton, what):
    name, sentence = PLANTED[what]
    assert house_table.faults(skeleton) == []
    (skeleton / name).parent.mkdir(exist_ok=True)
    (skeleton / name).touch()
    assert any(sentence in fault for fault in house_table.faults(skeleton))


def test_a_family_that_left_a_room_is_found(skeleton):
    (skeleton / "src/gapless/certificates/perceptron.py").unlink()
    (skeleton / "src/gapless/solvers/loop.py").unlink()
    assert house_table.faults(skeleton) == [
        "src/gapless/solvers/loop is in the list of what solvers shares, and not there",
        "perceptron has nothing in certificates, and the table does not say why",
    ]


# -- planted violations ----------------------------------------------------------------------------------------


@pytest.fixture
def planted(tmp_path):
    """Measures a small package with that text in one of its files."""
    package = tmp_path / "gapless"

    def look(files: dict[str, str]) -> house_metrics.Found:
        for name, text in {
            "losses/hinge.py": "class Hinge: ...\n", "rows/csr.py": "class CsrRows: ...\n", "solvers/loop.py": "", **files
        }.items():  # fmt: skip
            (package / name).parent.mkdir(parents=True, exist_ok=True)
            (package / name).write_text(text, encoding="utf-8")
        return measure(House(package))

    return look


def steps(number: int, head: str = "def f(x):") -> str:
    return f"{head}\n" + "    if x:\n        pass\n" * number


LONG = "def f(x):\n" + "    x += 1\n" * 60
WIDE = f"def f({', '.join(f'p{i}' for i in range(11))}): ...\n"
CONSTRUCTOR = f"class A:\n    {WIDE.replace('f(', '__init__(self, ')}"
VIOLATIONS = {
    "complexity": ({"solvers/a.py": steps(15)}, {"solvers/a.py:f": 16}),
    "complexity of a method": (
        {"solvers/a.py": "class A:\n    def g(self, x):\n" + "        if x: pass\n" * 15},
        {"solvers/a.py:A.g": 16},
    ),
    "complexity compiled": (
        {"solvers/a.py": steps(25, "@compiled(inner=True)\ndef f(x):")},
        {"solvers/a.py:f": 26},
    ),
    "complexity compiled of a verb": ({"losses/compiled/a.py": steps(25)}, {"losses/compiled/a.py:f": 26}),
    "lines": ({"solvers/a.py": LONG}, {"solvers/a.py:f": 61}),
    "lines compiled": ({"solvers/a.py": "@compiled\n" + LONG + "    x += 1\n" * 40}, {"solvers/a.py:f": 101}),
    "parameters": ({"solvers/a.py": WIDE}, {"solvers/a.py:f": 11}),
    "parameters of a constructor elsewhere": ({"solvers/a.py": CONSTRUCTOR}, {"solvers/a.py:A.__init__": 11}),
    "file": ({"solvers/a.py": "\n" * 401}, {"solvers/a.py": 401}),
    "folder": ({f"solvers/linear/{k}.py": "" for k in "abcdefghijklmnopq"}, {"solvers/linear": 17}),
    "isinstance": (
        {"solvers/a.py": "isinstance(loss, (int, Hinge))\nif isinstance(rows, csr.CsrRows): pass\n"},
        {"solvers/a.py": 2},
    ),
    "late import": (
        {"solvers/a.py": "def f():\n    from gapless.losses.hinge import Hinge\n    import gapless.rows.csr\n"},
        {"solvers/a.py": 2},
    ),
    "underscore": (
        {"solvers/a.py": "from gapless.losses._inner import x\nfrom gapless.losses.hinge import _y\n"},
        {"solvers/a.py": 2},
    ),
    "underscore, of the package": ({"solvers/a.py": "from ..losses import _inner\n"}, {"solvers/a.py": 1}),
    "cycle": (
        {"solvers/a.py": "from .b import x\n", "solvers/b.py": "def f():\n    from gapless.solvers.a import y\n"},
        {"gapless.solvers.a": 2, "gapless.solvers.b": 2},
    ),
    "cycle of three": (
        {
            "solvers/a.py": "from .b import x\n",
            "solvers/b.py": "from .deep import c\n",
            "solvers/deep/c.py": "import gapless.solvers.a\n",
        },
        {"gapless.solvers.a": 3, "gapless.solvers.b": 3, "gapless.solvers.deep.c": 3},
    ),
    "constants": (
        {"solvers/a.py": "MOST, _FEW = 1, 2\nif True:\n    NEAR = 3\nT = TypeVar('T')\nname = 4\n"},
        {"solvers": 3},
    ),
    "annotated": ({"solvers/a.py": "MOST: int = 1\n"}, {"solvers": 1}),
}


@pytest.mark.parametrize("what", VIOLATIONS)
def test_a_planted_violation_is_found(planted, what):
    files, expected = VIOLATIONS[what]
    kind = next(kind for kind in sorted(LIMITS, key=len, reverse=True) if what.startswith(kind))
    found = planted(files)
    assert found[kind] == expected
    nothing = {each: {} for each in LIMITS}
    for name in expected:
        assert any(name in line for line in grown(found, nothing))
    assert grown(found, {**nothing, kind: expected}) == grown({**found, kind: {}}, nothing)
    less = {name: value - 1 - SLACK.get(kind, 0) for name, value in expected.items()}
    assert any("it was" in line for line in grown(found, {**nothing, kind: less}))


ALLOWED = {
    "a constructor of an estimator": {"estimators/a.py": CONSTRUCTOR},
    "a command": {"cli/commands/a.py": "@guarded\n" + WIDE},
    "a docstring": {"solvers/a.py": 'def f(x):\n    """One\n' + "\n" * 60 + '    """\n    return x\n'},
    "a private name of one's own room": {"solvers/a.py": "from gapless.solvers._inner import _x\n"},
    "a room with an underscore": {"solvers/a.py": "from gapless._runtime.threads import thread_team\n"},
    "an arrow for the type checker": {
        "solvers/a.py": "from .b import x\n",
        "solvers/b.py": "if TYPE_CHECKING:\n    from .a import y\n",
    },
    "a question in its own room": {"losses/a.py": "def f(loss): return isinstance(loss, Hinge)\n"},
    "an import inside a function, of others": {"solvers/a.py": "def f():\n    import numba\n"},
}


@pytest.mark.parametrize("what", ALLOWED)
def test_what_is_allowed_is_not_found(planted, what):
    assert not any(planted(ALLOWED[what]).values())


def test_the_list_can_only_get_shorter(tmp_path):
    nothing = {kind: {} for kind in LIMITS}
    debt = {**nothing, "complexity": {"a.py:f": 20, "a.py:g": 30, "a.py:h": 17}}
    now = {**nothing, "complexity": {"a.py:f": 18, "a.py:new": 29, "a.py:worse": 40}}
    assert paid(now, debt) == ["complexity: a.py:g", "complexity: a.py:h"]
    left = shorten(now, debt)
    assert left["complexity"] == {"a.py:f": 18, "a.py:new": 29}, "a renamed one takes a place; a worse one does not"
    assert grown(now, left) == ["complexity: a.py:worse is 40, the limit is 15"]
    file = tmp_path / "debt.jsonl"
    write_debt(left, file)
    with file.open("a", encoding="utf-8") as stream:  # as a merge of two branches leaves it
        stream.write('["complexity", "a.py:f", 17]\n')
    assert read_debt(file)["complexity"] == {"a.py:f": 17, "a.py:new": 29}


def test_complexity_is_counted_as_ruff_counts_it(tmp_path):
    """Each function of the house, where ruff is installed."""
    import json
    import re
    import shutil
    import subprocess
    import sys

    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")
    if ruff is None:
        pytest.skip("ruff is not installed")
    house = House()
    settings = ["--isolated", "--select", "C901", "--config", "lint.mccabe.max-complexity=0", "--output-format", "json"]
    run = subprocess.run([ruff, "check", *settings, str(house.package)], capture_output=True, text=True, check=False)
    told = {
        (Path(each["filename"]), each["location"]["row"]): int(re.search(r"\((\d+) >", each["message"])[1])
        for each in json.loads(run.stdout)
    }
    ours = {(house.package / each.name.split(":")[0], each.node.lineno): each.complexity for each in house.functions}
    assert ours == told

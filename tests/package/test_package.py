"""The package as a whole: what `import gapless` costs, its public names, and that the judge stands alone."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import gapless

PACKAGE = Path(gapless.__file__).parent
ROOT = PACKAGE.parents[1]


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_loads_nothing_heavy():
    heavy = {"numpy", "scipy", "sklearn", "numba", "narwhals", "threadpoolctl", "rich", "typer", "joblib"}
    code = f"import sys, gapless; gapless.__version__, dir(gapless); print({heavy!r} & set(sys.modules))"
    assert run(code).strip() == "set()"


def test_import_loads_none_of_its_own_rooms():
    out = run("import sys, gapless; print(*[m for m in sys.modules if m.startswith('gapless.')])")
    assert out.strip() == "gapless.registry"  # a table, which imports nothing


def test_the_judge_loads_only_numpy():
    code = (
        "import sys, numpy; before = set(sys.modules); import gapless.judge\n"
        "new = {m.partition('.')[0] for m in set(sys.modules) - before}\n"
        "print(*sorted(new - set(sys.stdlib_module_names) - {'numpy'}))\n"
        "ours = {m for m in sys.modules if m.startswith('gapless.')}\n"
        "print(*sorted(m for m in ours if not m.startswith('gapless.judge')))"
    )
    outside, other_rooms = run(code).split("\n")[:2]
    assert outside == "gapless"
    assert other_rooms == "gapless.registry"  # which gapless itself imports


def test_the_judge_names_only_numpy_and_the_standard_library():
    # Also what is imported inside functions, which loading the room does not show.
    allowed = set(sys.stdlib_module_names) | {"numpy"}
    room = PACKAGE / "judge"
    for file in sorted(room.rglob("*.py")):
        depth = len(file.relative_to(room).parts)  # a folder of the judge may reach the judge itself
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            elif isinstance(node, ast.ImportFrom):
                assert node.level <= depth, f"{file.name}:{node.lineno} leaves the room"
                continue
            else:
                continue
            for name in names:
                fine = name.partition(".")[0] in allowed or name.startswith("gapless.judge")
                assert fine, f"{file.name}:{node.lineno} imports {name}"


@pytest.mark.parametrize("name", gapless.__all__)
def test_every_public_name_is_there(name):
    value = getattr(gapless, name)
    assert name in dir(gapless)
    if name != "__version__":
        assert value.__name__ == name
        assert (value.__doc__ or "").strip(), f"{name} has no docstring"


def test_star_import():
    out = run("from gapless import *; print(LinearSVC.__name__, verify.__name__, __version__)")
    assert out.split() == ["LinearSVC", "verify", gapless.__version__]


def test_names_are_kept_once_loaded():
    out = run("import gapless; a = gapless.DataError; print('DataError' in vars(gapless), a is gapless.DataError)")
    assert out.split() == ["True", "True"]


def test_the_stub_has_the_same_names():
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    typed = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                assert alias.asname == alias.name, "only `x as x` is exported from a stub"
                typed[alias.name] = node.module
    rooms = dict.fromkeys(gapless._ROOMS, "gapless")
    assert typed == {**gapless._HOME, **rooms}


def test_rooms_are_attributes():
    assert run("import gapless; print(gapless.judge.__name__)").strip() == "gapless.judge"
    for room in gapless._ROOMS:
        assert getattr(gapless, room).__name__ == f"gapless.{room}"


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("linearSVC", "did you mean 'LinearSVC'"),
        ("verfy", "did you mean 'verify'"),
        ("qwertz", "dir(gapless)"),
    ],
)
def test_a_wrong_name_is_helped(wrong, hint):
    with pytest.raises(AttributeError, match=re.escape(hint)):
        getattr(gapless, wrong)
    with pytest.raises(ImportError):
        exec(f"from gapless import {wrong}")


def test_private_names_do_not_exist_by_accident():
    assert not hasattr(gapless, "__wrapped__")
    assert not hasattr(gapless, "_nothing")


def test_one_version_everywhere():
    project = ROOT / "pyproject.toml"
    if not project.is_file():
        pytest.skip("not run from a checkout")
    assert tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"] == gapless.__version__
    assert f"[{gapless.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_typed():
    assert (PACKAGE / "py.typed").is_file()


def test_show_versions(capsys):
    gapless.show_versions()
    out = capsys.readouterr().out
    for word in ("gapless", "python", "platform", "numpy", "scikit-learn", "numba", "threads", "cores"):
        assert word in out
    for path in (str(Path.home()), str(PACKAGE), sys.prefix):
        assert path == "/" or path not in out


def test_python_m_gapless_is_the_command():
    done = subprocess.run([sys.executable, "-m", "gapless", "--help"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert "verify" in done.stdout

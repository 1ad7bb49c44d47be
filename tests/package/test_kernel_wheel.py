"""A wheel that brings kernels: they are used where everything fits, and nothing is ever wrong where it does not."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import platform
import subprocess
import sys
import zipfile
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest

import gapless
from gapless._compile import kernel_store
from gapless._compile import processor as _processor
from tests.package import processes
from tests.package.processes import COUNT, answer, environment, start

LEVEL = "x86-64-v3"
ROOT = Path(__file__).resolve().parents[2]
HERE = sys.platform.startswith("linux") and platform.machine() == "x86_64" and not _processor.lacking(LEVEL)
only_here = pytest.mark.skipif(not HERE, reason=f"no Linux on a processor of {LEVEL}")


# -- when the wheel's kernels are used -----------------------------------------------------------------------


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A folder in the place of the wheel's kernels, with a note that fits; and a cache without kernels."""
    folder = tmp_path / "wheel"
    folder.mkdir()
    note = kernel_store.about(LEVEL)
    (folder / "about.json").write_text(json.dumps(note))
    monkeypatch.setattr(kernel_store, "wheel_folder", lambda: folder)
    monkeypatch.setattr(kernel_store, "places", lambda: kernel_store.Places(tmp_path, (), None))
    monkeypatch.delenv("GAPLESS_PROCESSOR", raising=False)
    caches = (kernel_store.wheel, kernel_store.level, kernel_store.note_level)
    for cache in caches:
        cache.cache_clear()
    yield folder
    monkeypatch.undo()
    for cache in caches:
        cache.cache_clear()


@only_here
def test_a_wheel_that_fits_gives_its_level(wheel, tmp_path):
    assert kernel_store.level() == LEVEL
    assert kernel_store.backend() == f"cpu {LEVEL}"
    assert not kernel_store.features().get("avx512f")
    assert kernel_store.features()["avx2"]
    from gapless.cli.commands.doctor import _kernels

    assert _kernels()["processor"].startswith(f"{LEVEL}, a level that others share")
    # Asked for by `warmup`: from then on, the host's own.
    kernel_store.keep_to_host()
    kernel_store.level.cache_clear()
    assert kernel_store.level() == "host"
    assert kernel_store.backend() == "cpu"


@only_here
@pytest.mark.parametrize("name", ["system", "python", "numba", "llvmlite", "sources"])
def test_a_wheel_for_something_else_is_not_used(wheel, name):
    note = json.loads((wheel / "about.json").read_text())
    (wheel / "about.json").write_text(json.dumps({**note, name: "of another kind"}))
    found = kernel_store.wheel()
    assert found.folder is None
    assert found.reason == f"they are for {name} of another kind, and here is {note[name]}"
    assert kernel_store.level() == "host"
    from gapless.cli.commands.doctor import _kernels

    assert found.reason in _kernels()["wheel"]


@only_here
@pytest.mark.parametrize("content", ["", "{}", '{"processor": "x86-64-v9"}', "[1]"])
def test_a_damaged_note_is_no_note(wheel, content):
    (wheel / "about.json").write_text(content)
    found = kernel_store.wheel()
    assert found is None or found.folder is None
    assert kernel_store.level() == "host"


@only_here
def test_a_processor_without_a_feature_of_the_level(wheel, monkeypatch):
    known = _processor.host_features()
    monkeypatch.setattr(_processor, "host_features", lambda: {**known, "fma": False})
    assert _processor.lacking(LEVEL) == ["fma"]
    assert kernel_store.wheel().reason == "this processor lacks fma"
    assert kernel_store.level() == "host"
    monkeypatch.setenv("GAPLESS_PROCESSOR", LEVEL)
    kernel_store.level.cache_clear()
    with pytest.raises(ValueError, match="this processor lacks fma"):
        kernel_store.level()


def test_a_level_that_nobody_knows(monkeypatch):
    monkeypatch.setenv("GAPLESS_PROCESSOR", "x86-64-v9")
    with pytest.raises(ValueError, match="known are host, x86-64-v3"):
        kernel_store.level.__wrapped__()


# -- the wheel itself ----------------------------------------------------------------------------------------


def plain_wheel(folder: Path) -> Path:
    """The plain wheel, written by hand: the test needs no build backend."""
    info = f"gapless-{gapless.__version__}.dist-info"
    made = folder / f"gapless-{gapless.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as wheel:
        for file in sorted(processes.SOURCE.glob("gapless/**/*")):
            if file.is_file() and "__pycache__" not in file.parts:
                wheel.write(file, file.relative_to(processes.SOURCE).as_posix())
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: gapless\nVersion: {gapless.__version__}\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return made


FIT = """
import time
import numpy as np
from sklearn.datasets import load_breast_cancer
import gapless

X, y = load_breast_cancer(return_X_y=True)
began = time.process_time()
model = gapless.LinearSVC().fit(X, y)
seconds = time.process_time() - began
verdict = bool(gapless.verify(model, X, y))
from gapless._compile import kernel_store as _kernel_store
print(json.dumps({
    "seconds": seconds, "primal": model.certificate_.primal, "dual": model.certificate_.dual, "verdict": verdict,
    "backend": model.certificate_.backend, "kernels": Count.kernels, "all": Count.all, "level": kernel_store.level(),
    "kept": kernel_store.kept(kernel_store.cache_folder()), "package": gapless.__file__,
}))
"""


@only_here
@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_the_wheel_on_a_machine_without_cache(tmp_path):
    plain = plain_wheel(tmp_path)
    known = environment(tmp_path / "nowhere")
    subprocess.run(
        [sys.executable, ROOT / "packaging" / "kernel_wheel.py", plain, "--for", "LinearSVC", "--rows", "dense float64"],
        env=known, check=True, timeout=900,
    )  # fmt: skip
    (wheel,) = tmp_path.glob(f"*-1.x86_64_v3.numba*-cp3{sys.version_info.minor}-*-linux_x86_64.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    check_record(site)
    for file in site.glob("gapless/_wheel_kernels/**/*.nb?"):
        assert os.fsencode(tmp_path) not in file.read_bytes()  # no path of the machine that built it

    env = environment(site, HOME=str(tmp_path / "home"), XDG_CACHE_HOME=str(tmp_path / "home" / "cache"))

    def fit(before: str = "", **changes: str):
        found = answer(start(before + COUNT + FIT, {**env, **changes}))
        assert Path(found["package"]).is_relative_to(site)
        assert found["verdict"]
        return found

    first = fit()
    assert first["all"] == 0
    assert first["level"] == LEVEL
    assert first["backend"] == f"cpu {LEVEL}"
    assert first["kept"] == {}
    assert first["seconds"] <= 1.5
    assert "compiling" not in first["said"]

    # Another numba, by the note of the wheel: compiled for the host, and right.
    note = site / "gapless" / "_wheel_kernels" / "about.json"
    text = note.read_text()
    note.write_text(text.replace('"numba": "', '"numba": "9.'))
    other = fit(GAPLESS_CACHE=str(tmp_path / "other"))
    note.write_text(text)
    assert other["kernels"]
    assert other["level"] == "host"
    assert other["backend"] == "cpu"
    assert list(other["kept"]) == [_processor.host_name()]
    # Both intervals [dual, primal] hold the optimum.
    assert max(first["dual"], other["dual"]) <= min(first["primal"], other["primal"]) * (1.0 + 1e-9)

    # Another processor, without avx2: not one kernel of the wheel is loaded.
    weak = "from gapless._compile import processor as _processor\nknown = _processor.host_features()\n"
    weak += "_processor.host_features = lambda: {**known, 'avx2': False}\n"
    assert answer(
        start(weak + COUNT + processes.FEW + processes.TELL, {**env, "GAPLESS_CACHE": str(tmp_path / "weak")})
    )["kernels"]

    # A kernel that the wheel lacks is compiled for the wheel's level.
    more = answer(
        start(
            COUNT
            + FIT.replace(
                "load_breast_cancer(return_X_y=True)", "load_breast_cancer(return_X_y=True)\nX = X.astype('float32')"
            ),
            env,
        )
    )
    assert more["kernels"]
    assert list(more["kept"]) == [LEVEL]

    # `warmup` is asked for, by a process that runs the wheel's kernels: the host's own from then on.
    code = "import gapless; gapless.warmup('verify', kinds=('dense float64',)); print('{}')"
    answer(start(code, env))
    asked = fit()
    assert asked["level"] == "host"
    assert asked["backend"] == "cpu"
    assert set(asked["kept"]) == {LEVEL, _processor.host_name()}


def check_record(site: Path) -> None:
    """Every file of the wheel is in its RECORD, with its hash and its size."""
    (record,) = site.glob("*.dist-info/RECORD")
    rows = {name: (digest, size) for name, digest, size in csv.reader(record.read_text().splitlines())}
    files = {path.relative_to(site).as_posix(): path for path in site.rglob("*") if path.is_file()}
    assert set(rows) == set(files)
    for name, path in files.items():
        if path == record:
            continue
        content = path.read_bytes()
        digest = urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        assert rows[name] == (f"sha256={digest}", str(len(content)))
    wheel = (record.parent / "WHEEL").read_text()
    assert "Root-Is-Purelib: false" in wheel
    assert f"Tag: cp3{sys.version_info.minor}-cp3{sys.version_info.minor}-linux_x86_64" in wheel

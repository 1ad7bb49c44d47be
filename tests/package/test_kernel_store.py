"""Where kernels are kept: GAPLESS_CACHE, places that cannot be written, other processes at the same time."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from gapless._compile import kernel_keys, kernel_store
from gapless._compile import processor as _processor
from tests.package import processes
from tests.package.processes import COUNT, FEW, TELL, answer, environment, few, start

ON_POSIX = pytest.mark.skipif(os.name != "posix", reason="permissions and locks of another kind")


def kept(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.nbc"))


def test_gapless_cache_names_the_folder(tmp_path):
    place = tmp_path / "not" / "there" / "yet"
    env = environment(GAPLESS_CACHE=str(place), XDG_CACHE_HOME=str(tmp_path / "cache"))
    first = few(env)
    assert Path(first["folder"]).parent == place
    assert first["primal"] == 1.0  # max(0, 1 - 0)^2
    assert first["kernels"]
    assert len(kept(place)) == len(first["kernels"])
    assert not (tmp_path / "cache").exists()
    assert "compiling kernels, once" in first["said"]
    size = sum(file.stat().st_size for file in kept(place))
    assert kernel_store.kept(Path(first["folder"])) == {_processor.host_name(): (len(first["kernels"]), size)}
    again = few(env)
    assert again["all"] == 0
    assert again["primal"] == first["primal"]
    assert again["said"] == ""
    # A kernel whose file is damaged is compiled anew, and replaced.
    kept(place)[0].write_bytes(b"not a kernel")
    mended = few(env)
    assert len(mended["kernels"]) == 1
    assert few(env)["all"] == 0


@ON_POSIX
def test_a_folder_that_cannot_be_written_is_read_and_told(tmp_path):
    """Kernels of an image, as a user who may not write there: they are used; one that is missing is kept elsewhere."""
    place, home = tmp_path / "image", tmp_path / "home"
    site = tmp_path / "site"
    shutil.copytree(processes.SOURCE / "gapless", site / "gapless")  # with its bytecode, which takes 1 s to make
    shutil.rmtree(site / "gapless" / "__pycache__", ignore_errors=True)
    (site / "gapless" / "__pycache__").write_text("")  # no kernel can be kept in the install
    env = environment(site, GAPLESS_CACHE=str(place), HOME=str(home))
    env.pop("XDG_CACHE_HOME", None)
    first = few(env)
    missing = kept(place)[0]
    for path in [place, *place.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        prefix = (sys.executable, "-c", BOUND) if os.geteuid() == 0 else ()
        env["PYTHONWARNINGS"] = "default"
        warm = few(env, prefix=prefix)
        assert warm["all"] == 0
        assert warm["said"] == ""
        missing.parent.chmod(0o755)
        missing.unlink()
        missing.parent.chmod(0o555)
        told = few(env, prefix=prefix)
        assert len(told["kernels"]) == 1
        assert f"BackendWarning: GAPLESS_CACHE={place} cannot be written (" in told["said"]
        assert str(home / ".cache" / "gapless") in told["said"]
        assert few(env, prefix=prefix)["all"] == 0  # from the two places together
        assert told["primal"] == first["primal"]
    finally:
        for path in [place, *place.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)


#: Root writes where it may not; without CAP_DAC_OVERRIDE (1), dropped by PR_CAPBSET_DROP (24), it is one of the users.
BOUND = (
    "import ctypes, os, sys\nassert ctypes.CDLL(None).prctl(24, 1, 0, 0, 0) == 0\nos.execv(sys.argv[1], sys.argv[1:])"
)


@ON_POSIX
@pytest.mark.parametrize(
    ("shared", "own", "trusted"), [(0o755, 0o755, True), (0o777, 0o700, True), (0o777, 0o777, False)]
)
def test_kernels_are_code_and_taken_from_nobody_else(tmp_path, monkeypatch, shared, own, trusted):
    place = tmp_path / "shared"
    folder = place / f"kernels-{kernel_keys.verbs_key()}"
    folder.mkdir(parents=True)
    folder.chmod(own)
    place.chmod(shared)
    monkeypatch.setenv("GAPLESS_CACHE", str(place))
    found = kernel_store.places.__wrapped__()
    if trusted:
        assert found == (folder, (), None)
    else:
        assert found.written != folder
        assert folder not in found.read
        assert "can be written by other users" in found.refused


def test_kernels_that_somebody_uses_are_not_forgotten(tmp_path, monkeypatch):
    old, used = tmp_path / "kernels-of-old", tmp_path / f"kernels-{kernel_keys.verbs_key()}"
    for folder in (old, used):
        folder.mkdir()
        os.utime(folder, (1e9, 1e9))
    monkeypatch.setenv("GAPLESS_CACHE", str(tmp_path))
    assert kernel_store.places.__wrapped__().written == used
    assert not old.exists()
    assert used.stat().st_mtime > 1e9 + 1.0


# -- several processes ---------------------------------------------------------------------------------------


@ON_POSIX
def test_of_two_cold_processes_one_compiles_each_kernel(tmp_path):
    env = environment(GAPLESS_CACHE=str(tmp_path))
    both = [start(COUNT + FEW + TELL, env) for _ in range(2)]
    first, second = (answer(process) for process in both)
    assert first["primal"] == second["primal"] == 1.0
    assert not set(first["kernels"]) & set(second["kernels"])
    assert len(first["kernels"]) + len(second["kernels"]) == len(kept(tmp_path))


@ON_POSIX
def test_a_killed_process_holds_up_nobody(tmp_path):
    """It takes the locks of all kernels, and is killed: the next process does not wait for PATIENCE."""
    code = "import fcntl\nfrom gapless._compile import kernel_store as s\n"
    code += "fcntl.lockf(s._lock_file(s.cache_folder()), fcntl.LOCK_EX)\n"
    env = environment(GAPLESS_CACHE=str(tmp_path))
    holder = start(code + "print('{}', flush=True)\nimport time\ntime.sleep(400)", env)
    assert holder.stdout.readline() == "{}\n"
    waiting = start(COUNT + FEW + TELL, env)
    with pytest.raises(processes.subprocess.TimeoutExpired):
        waiting.wait(timeout=6)
    holder.kill()
    holder.communicate()
    assert answer(waiting)["kernels"]


def test_a_process_ends_though_its_last_kernel_has_just_been_loaded(tmp_path):
    """The thread that loaded a kernel may be held up after it has given the kernel: the end of the process must not wait
    for a lock that the main thread itself has."""
    slow = """
import time
from gapless._compile import errands

class Slow(set):
    def discard(self, gate):
        time.sleep(0.5)
        super().discard(gate)

errands.under_way = Slow()
"""
    process = start(slow + FEW, environment(GAPLESS_CACHE=str(tmp_path), GAPLESS_QUIET="1"))
    assert process.communicate(timeout=100) == ("", "")


def test_doctor_counts_the_kernels_that_are_there(tmp_path, monkeypatch):
    from gapless.cli.commands.doctor import _kernels

    monkeypatch.setenv("GAPLESS_CACHE", str(tmp_path))
    folder = tmp_path / "kernels-of-now"
    folder.mkdir()
    monkeypatch.setattr(kernel_store, "places", lambda: kernel_store.Places(folder, (), None))
    facts = _kernels()
    assert facts["compiled"].startswith("none yet")
    assert facts["GAPLESS_CACHE"] == str(tmp_path)
    assert facts["place"] == "the folder that GAPLESS_CACHE names"
    counts = {"znver4": (143, 12_300_000), "x86-64-v3": (2, 100_000)}
    monkeypatch.setattr(kernel_store, "kept", lambda place: counts)
    facts = _kernels()
    assert facts["compiled"] == "2 kernels for x86-64-v3, 0.1 MB; 143 kernels for znver4, 12.3 MB"
    assert facts["processor"] == f"{_processor.host_name()}, this one"
    import numba

    assert f"numba {numba.__version__}," in facts["compiler"]
    assert sys.implementation.cache_tag in facts["compiler"]

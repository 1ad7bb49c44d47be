"""Mutated files of every kind: read, or refused by a DataError or a ModelFileError, and nothing else.

Of each kind 300 are tried by default. ``make test-fuzz``, or ``GAPLESS_FUZZ=20000`` and ``-m slow -s``, tries as many of each as
are asked for, and prints how they ended. Files that ended otherwise are kept in the folder that ``GAPLESS_FUZZ_KEEP`` names
(fuzz-found by default); a small one goes into tests/fuzz/found, where every run begins with it.
"""

from __future__ import annotations

import importlib.util
import os
from contextlib import suppress
from pathlib import Path

import fuzz_targets
import pytest
from fuzz_corpus import ENDINGS, FOUND, KINDS, needs, seeds
from fuzz_mutations import mutated
from fuzz_pool import Campaign
from fuzz_targets import Wrong, trial

from gapless._runtime.threads import available_cores

#: Libraries whose values are compared with; without them files are only read.
PEERS = {"csv": "pandas", "svmlight": "sklearn", "arrow": "pyarrow", "parquet": "pyarrow"}


def there(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def skip_without_reader(kind: str) -> None:
    name = needs(kind)
    if name is not None and not there(name):
        pytest.skip(f"{name} is not installed: files of the kind {kind} are not read")


@pytest.mark.parametrize("kind", KINDS)
def test_honest_files_those_that_were_found_and_a_sample_of_mutated_ones(kind, tmp_path):
    """Honest files are read, what once ended badly does not: every process of trials begins with these."""
    skip_without_reader(kind)
    done = Campaign(kind, 300, tmp_path, 1)
    assert done.wrong == []
    assert done.endings["refused"] > 30
    if kind not in PEERS or there(PEERS[kind]):
        assert done.endings["compared"] > 5
    assert done.of_seeds.keys() == seeds(kind).keys()
    for name, ending in done.of_seeds.items():
        honest = not (FOUND / (name + ENDINGS[kind])).exists()
        assert ending in ("accepted", "compared") or not honest or name == "twice", name


def test_a_planted_fault_is_found(tmp_path, monkeypatch):
    """A reader that reads another value does not get past the comparison, nor one that raises anything else."""
    place = tmp_path / "file.svm"
    place.write_bytes(seeds("svmlight")["plain"])
    with suppress(Wrong):
        trial("svmlight", str(place))  # imports and compiles, which takes memory
    assert trial("svmlight", str(place)) == "compared" or not there("sklearn")
    read = fuzz_targets._data

    def other(path):
        data, size = read(path)
        data.X.data[3] += 1e-9
        return data, size

    monkeypatch.setattr(fuzz_targets, "_data", other)
    with pytest.raises(Wrong, match="other values"):
        trial("svmlight", str(place))
    place = tmp_path / "file.csv"
    place.write_bytes(seeds("csv")["plain"])

    def shifted(path):
        data, size = read(path)
        data.X[2, 1] += 1e-9
        return data, size

    if there("pandas"):
        monkeypatch.setattr(fuzz_targets, "_data", shifted)
        with pytest.raises(Wrong, match="the peer reads"):
            trial("csv", str(place))


def test_mutations_are_the_same_in_every_process():
    for kind in KINDS:
        if seeds(kind):
            assert mutated(kind, 17) == mutated(kind, 17)
            assert len({mutated(kind, k) for k in range(20)}) > 15


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("kind", KINDS)
def test_as_many_as_are_asked_for(kind):
    skip_without_reader(kind)
    count = int(os.environ.get("GAPLESS_FUZZ", "20000"))
    keep = Path(os.environ.get("GAPLESS_FUZZ_KEEP", "fuzz-found")).resolve()
    done = Campaign(kind, count, keep, available_cores())
    peer = PEERS.get(kind)
    said = f" ({peer} is not installed: nothing was compared)" if peer and not there(peer) else ""
    memory = fuzz_targets.Memory()
    memory.start()
    said += "" if memory.measured else " (memory was not measured: /proc/self/clear_refs cannot be written)"
    print(f"\n{kind}: {count} files, {dict(sorted(done.endings.items()))}{said}")
    assert done.wrong == []
    assert sum(done.endings.values()) == count

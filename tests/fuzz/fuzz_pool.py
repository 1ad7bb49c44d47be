"""Trials in processes of their own: a file over which a process dies by a signal, or takes more than 5 processor seconds, is
named and kept, and the next process goes on behind it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fuzz_corpus import ENDINGS
from fuzz_mutations import mutated

#: Processor seconds over one file, and seconds on the clock where nobody counts the former or a process sleeps.
MOST_SECONDS, MOST_WALL_SECONDS = 5.0, 120.0
#: Files a process tries: more than that, and what it leaks, if anything, would be the next file's memory.
FILES_PER_PROCESS = 1000


class Campaign:
    """``count`` mutations of a kind from ``first`` on; ``endings`` counts how they ended, ``wrong`` says what must not be, of
    these and of the files that they are made of."""

    def __init__(self, kind: str, count: int, keep: Path, workers: int, first: int = 0) -> None:
        self.kind, self.keep = kind, keep
        self.endings: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.of_seeds: dict[str, str] = {}  #: how the files ended of which mutations are made
        self._lock = threading.Lock()
        step = max(1, min(FILES_PER_PROCESS, -(-count // workers)))
        last = first + count
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda k: self._part(k, min(k + step, last)), range(first, last, step)))

    def _part(self, first: int, last: int) -> None:
        while first < last:
            first = self._process(first, last)

    def _process(self, first: int, last: int) -> int:
        """Run one process; the number that the next one begins with."""
        with tempfile.TemporaryDirectory() as folder:
            state = Path(folder) / "state"
            state.write_bytes(bytes(8))
            worker = str(Path(__file__).parent / "fuzz_worker.py")
            command = [sys.executable, worker, self.kind, str(first), str(last), str(state)]
            out, err = Path(folder) / "out", Path(folder) / "err"
            with open(out, "wb") as stdout, open(err, "wb") as stderr:
                process = subprocess.Popen(command, stdout=stdout, stderr=stderr)
                hung = self._watch(process, state)
            done = self._count(out)
            if process.returncode == 0:
                return last
            k = int.from_bytes(state.read_bytes(), "little") - 1
            if k < 0:
                raise RuntimeError(
                    f"the trials of {self.kind} did not begin: {err.read_text(errors='replace')[-2000:]}"
                )
            how = f"more than {MOST_SECONDS:g} s" if hung else f"exit {process.returncode}"
            self._blame(k, f"{how}: {err.read_text(errors='replace')[-300:]}")
            return max(k, first + done) + 1

    def _watch(self, process: subprocess.Popen[bytes], state: Path) -> bool:
        """Wait for a process; whether it was ended because it took too long over a file."""
        now, since, spent = -1, time.monotonic(), 0.0
        while process.poll() is None:
            time.sleep(0.1)
            k = int.from_bytes(state.read_bytes(), "little")
            if k != now:
                now, since, spent = k, time.monotonic(), _processor_seconds(process.pid)
            elif k and (
                _processor_seconds(process.pid) - spent > MOST_SECONDS or time.monotonic() - since > MOST_WALL_SECONDS
            ):
                process.kill()
                process.wait()
                return True
        return False

    def _count(self, out: Path) -> int:
        done = 0
        for line in out.read_text(errors="replace").splitlines():
            number, _, ending = line.partition(" ")
            seed, done = number.startswith("="), done + (not number.startswith("="))
            with self._lock:
                if seed:
                    self.of_seeds[number[1:]] = ending
                    self.wrong += [f"{self.kind} {number[1:]}: {ending[2:]}"] if ending.startswith("!") else []
                elif not ending.startswith("!"):
                    self.endings[ending] += 1
            if not seed and ending.startswith("!"):
                self._blame(int(number), ending[2:])
        return done

    def _blame(self, k: int, words: str) -> None:
        place = self.keep / f"{self.kind}-{k}{ENDINGS[self.kind]}"
        with self._lock:
            self.endings["wrong"] += 1
            self.wrong.append(f"{self.kind} {k}: {words}, kept as {place}")
            if len(self.wrong) <= 100:
                self.keep.mkdir(parents=True, exist_ok=True)
                place.write_bytes(mutated(self.kind, k))


def _processor_seconds(pid: int) -> float:
    """What a process has used; 0 where nobody says."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0

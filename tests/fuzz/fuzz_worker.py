"""``python fuzz_worker.py KIND FIRST LAST STATE``: trials of the mutations FIRST to LAST of a kind in a process of its own.

STATE is a file of 8 bytes: the number of the mutation that is being tried, so that who watches knows which one it was when
this process dies or does not end. Each line of the output is ``number ending`` or ``number ! what went wrong``, and before
them ``=name ending`` of each file of which mutations are made.
"""

from __future__ import annotations

import gc
import mmap
import os
import sys
import tempfile
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from fuzz_corpus import ENDINGS, seeds
from fuzz_mutations import mutated
from fuzz_targets import trial


def main(kind: str, first: int, last: int, state: str) -> None:
    with tempfile.TemporaryDirectory() as folder, open(state, "r+b") as stream:
        now = mmap.mmap(stream.fileno(), 8)
        place = os.path.join(folder, "file" + ENDINGS[kind])
        for name, content in seeds(kind).items():  # compiles and imports what trials need, before the clock runs
            ending = told(kind, place, content)
            if ending.startswith("!"):  # the memory of what was imported meanwhile is not the file's
                ending = told(kind, place, content)
            print(f"={name} {ending}", flush=True)
        gc.freeze()  # the modules: collecting before each trial is then quick
        for k in range(first, last):
            content = mutated(kind, k)
            now[:] = (k + 1).to_bytes(8, "little")
            print(k, told(kind, place, content), flush=True)
    now[:] = (0).to_bytes(8, "little")


def told(kind: str, place: str, content: bytes) -> str:
    with open(place, "wb") as stream:
        stream.write(content)
    try:
        return trial(kind, place)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        words = " ".join(str(error).split())[:300]
        return f"! {type(error).__name__}: {words} ({os.path.basename(where.filename)}:{where.lineno})"


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])

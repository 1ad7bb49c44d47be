"""The generic forger against the judge: nothing false is accepted, and the judge does not fall.

A quarter of one round runs by default. ``GAPLESS_FORGERIES`` (a number of documents) and ``-m slow`` run as many as are asked
for: 1,000,000 take some twenty minutes; the counts by family are printed (``-s``).
"""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
import pytest
from judge_forger import forgeries, is_false
from judge_zoo import ZOO, fit_of

from gapless.judge import CertificateError, check
from gapless.judge.forms import kind_of


def judged(fit, forged) -> str:
    """accepted, refused, or how the judge fell."""
    try:
        return "accepted" if check(forged.document, forged.arrays, *fit.data) else "refused"
    except CertificateError as error:
        return f"fell: {error}" if "cannot be judged" in str(error) else "refused"
    except Exception as error:
        return f"fell: {error!r}"


def trial(name: str, seed: int, every: int = 1) -> tuple[Counter, list[str]]:
    """Counts, and what went wrong."""
    fit, counts, wrong = fit_of(name), Counter(), []
    for k, forged in enumerate(forgeries(fit, np.random.default_rng(seed))):
        if k % every != seed % every:
            continue
        ending = judged(fit, forged)
        counts[ending.partition(":")[0]] += 1
        what = f"{name}: {forged.place} {forged.old!r} -> {forged.new!r}"
        if ending.startswith("fell"):
            wrong.append(f"{ending} ({what})")
        elif ending == "accepted" and is_false(fit, forged):
            wrong.append(f"accepted ({what})")
            counts["false accepted"] += 1
    return counts, wrong


@pytest.mark.parametrize("name", ZOO)
def test_nothing_false_is_accepted(name):
    counts, wrong = trial(name, seed=len(name), every=4)
    assert wrong == []
    assert counts["refused"] > 20 * len(fit_of(name).arrays)


def test_a_planted_fault_is_found(monkeypatch):
    """A judge that accepts everything does not get past the forger."""
    monkeypatch.setattr("test_generic_forger.check", lambda *everything: True, raising=False)
    monkeypatch.setitem(globals(), "check", lambda *everything: True)
    assert len(trial("LinearSVC", seed=0)[1]) > 100


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_as_many_forgeries_as_are_asked_for():
    wanted = int(os.environ.get("GAPLESS_FORGERIES", "200000"))
    totals: dict[str, Counter] = {}
    wrong, seed = [], 0
    while sum(sum(c[key] for key in ("accepted", "refused", "fell")) for c in totals.values()) < wanted:
        for name in ZOO:
            counts, faults = trial(name, seed)
            totals.setdefault(kind_of(fit_of(name).document).name, Counter()).update(counts)
            wrong += faults
        seed += 1
    for family, counts in totals.items():
        print(f"{family}: {dict(counts)}")
    assert wrong == []

"""The generic forger against the judge: nothing false is accepted, and the judge does not fall.

One forgery in seven of one round runs by default, some 20,000. ``GAPLESS_FORGERIES`` (a number of documents) and ``-m slow`` run
as many as are asked for, in as many processes as there are processors; the counts by family are printed (``-s``).
"""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from multiprocessing import get_context

import numpy as np
import pytest
from judge_forger import arrays_like, leaves, others_of, put, trial
from judge_truth import lies_of
from judge_zoo import PROOFS, ZOO, fit_of

from gapless.judge import check

EVERY = 9
#: Forgeries of one round, about.
ROUND = 150_000
#: Rows that overlap for planes with an offset do so for those without.
ALSO_TRUE = {"separability overlap": ["certificate.offset"]}
#: A hard margin that is not kept says no more than that, and of other models it is as true.
ALSO_TRUE["LinearSVC hard margin stopped at once"] = ["arrays.coef", "arrays.intercept", "arrays.dual"]
#: Without an offset there is none to be penalised.
ALSO_TRUE["LogisticRegression elastic net"] = ["parameters.penalize_intercept"]
#: What a bound says of members that are not in the document.
OF_VOTERS = ("gibbs", "tandem", "disagreement", "n", "pairs", "voters", "divergence", "pool")


@pytest.mark.parametrize("name", [*ZOO, *PROOFS])
def test_nothing_false_is_accepted(name):
    _, counts, wrong = trial(name, seed=len(name), every=EVERY)
    assert wrong == []
    assert counts["refused"] > 50


@pytest.mark.parametrize("name", [*ZOO, *PROOFS])
def test_the_truth_knows_every_entry(name):
    """An honest document has no lies; every entry, and every array, has one when it is changed, or is listed as not checked."""
    fit, rng = fit_of(name), np.random.default_rng(1)
    assert lies_of(fit, fit.document, fit.arrays) == []
    new = () if fit.new is None else (False, fit.new.X, fit.new.y)
    verdict = check(fit.document, fit.arrays, *fit.data, *new)
    assert verdict
    listed = {line.partition(":")[0] for line in verdict.unchecked} | set(verdict.unchecked)
    listed |= {"feature_names"} if "names of features" in listed else set()
    unknown = []
    for path, value in leaves(fit.document):
        if not is_listed(path, listed):
            others = (put(fit.document, path, new) for new in others_of(value, 1.0, rng) if alike(value, new))
            if not any(lies_of(fit, document, fit.arrays) for document in others):
                unknown.append(".".join(map(str, path)))
    for array, values in fit.arrays.items():
        if values.size and f"array {array}" not in listed and "." not in array:
            others = (other for _, other in arrays_like(values, rng, 3) if alike(values, other))
            if not any(lies_of(fit, fit.document, {**fit.arrays, array: other}) for other in others):
                unknown.append(f"arrays.{array}")
    assert unknown == ALSO_TRUE.get(name, [])


def alike(old, new) -> bool:
    """Whether a change is none of form alone: of a number a finite one of its type, of an array one of its shape."""
    if isinstance(old, np.ndarray):
        finite = new.dtype.kind != "f" or np.isfinite(new).all()
        return finite and (new.shape, new.dtype) == (old.shape, old.dtype) and not np.array_equal(old, new)
    if isinstance(old, int | float):
        return type(new) is type(old) and new != old
    return old is None or (type(new) is type(old) and new != old)


def is_listed(path, listed) -> bool:
    """Whether a verdict names an entry, or a block that it stands in, as not checked."""
    keys = [key for key in path if isinstance(key, str)]
    if keys[0] == "bounds":
        known = OF_VOTERS if any("errors of the voters" in line for line in listed) else ()
        return any(key in known or key in listed - {"bounds"} for key in keys)
    names = {f"parameter {keys[1]}"} if keys[0] == "parameters" else set(keys)
    return bool(names & listed)


def test_a_planted_fault_is_found():
    """A judge that accepts everything does not get past the forger."""
    for name in ("LinearSVC", "LinearDiscriminantAnalysis", "DecisionTreeClassifier", "AdaBoostClassifier", "NuSVR"):
        assert len(trial(name, seed=0, every=5, judge=lambda *everything: True)[2]) > 100


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_as_many_forgeries_as_are_asked_for():
    wanted, workers = int(os.environ.get("GAPLESS_FORGERIES", "200000")), os.cpu_count() or 1
    every, totals, wrong = max(1, ROUND // wanted), dict[str, Counter](), list[str]()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=one_thread) as pool:
        for seed in count(1000):  # whole rounds, so that every family has its share
            for job in [pool.submit(trial, name, seed, every) for name in (*ZOO, *PROOFS)]:
                family, counts, faults = job.result()
                totals.setdefault(family, Counter()).update(counts)
                wrong += faults
            if sum(each[key] for each in totals.values() for key in ("accepted", "refused", "fell")) >= wanted:
                break
    print()
    for family, counts in [*sorted(totals.items()), ("all", sum(totals.values(), Counter()))]:
        made = sum(counts[key] for key in ("accepted", "refused", "fell"))
        print(
            f"{family:40s} {made:9,} forgeries: {counts['refused']:9,} refused, {counts['accepted']:8,} accepted as true, "
            f"{counts['false accepted']} of these false, {counts['fell']} crashes"
        )
    assert wrong == []


def one_thread() -> None:
    """Of a process beside others."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)

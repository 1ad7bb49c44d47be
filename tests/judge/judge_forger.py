"""A forger that knows nothing but the form of a document: every entry and every array set to something else.

``forgeries`` gives documents with one thing changed (`judge_joint` those with several); ``judged`` is what the judge says of
them, and `judge_truth` decides, with code of its own and from the data, whether what they say is still true.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from judge_truth import lies_of
from judge_zoo import Fit, fit_of

from gapless.judge import CertificateError, check
from gapless.judge.kinds import kind_of

WORDS = ("converged", "stalled", "max_iter", "gap", "bound", "free", "none", "penalised", "hinge", "logistic", "rbf",
         "linear", "shared", "float32", "float64", "int", "float", "bool", "str", "gini", "l2", "", "1", "1/1")  # fmt: skip
NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


class Forgery(NamedTuple):
    """What was changed, and the document and arrays that it makes."""

    what: str
    document: dict[str, Any]
    arrays: dict[str, np.ndarray]


def number(value: Any) -> float:
    return NON_FINITE[value] if isinstance(value, str) else float(value)


def is_number(value: Any) -> bool:
    return (isinstance(value, int | float) and not isinstance(value, bool)) or value in ("inf", "-inf", "nan")


def numbers_like(x: float, neighbour: float, rng: np.random.Generator) -> list[float]:
    return [0.0, -x, x * (1 + 1e-6), x * (1 - 1e-6), x * 1e3, x * 1e-3, math.inf, -math.inf, math.nan, 1e18, -1e18, 1e-18,
            neighbour, float(rng.normal()), x + 1.0, x - 1.0, -0.0, 5e-324, x * (1 + 1e-9), 2.0**53 + 2]  # fmt: skip


def written(x: float, like: Any) -> Any:
    """A float as a document has it; whole numbers stay whole where they can."""
    if not math.isfinite(x):
        return "nan" if math.isnan(x) else ("inf" if x > 0 else "-inf")
    return int(x) if isinstance(like, int) and not isinstance(like, bool) and abs(x) < 2**60 else x


def leaves(value: Any, path: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    """Every entry of a document that is no block, lists as a whole and entry by entry."""
    if isinstance(value, dict):
        for key, inside in value.items():
            yield from leaves(inside, (*path, key))
        return
    yield path, value
    if isinstance(value, list):
        for k, inside in enumerate(value[:3]):
            yield from leaves(inside, (*path, k))


def put(document: dict[str, Any], path: tuple, value: Any) -> dict[str, Any]:
    """The document with one entry changed; what is not on the way to it is shared."""
    out: Any = copy.copy(document)
    block = out
    for key in path[:-1]:
        block[key] = copy.copy(block[key])
        block = block[key]
    block[path[-1]] = value
    return out


def others_of(value: Any, neighbour: float, rng: np.random.Generator) -> list[Any]:
    """What an entry is set to."""
    if isinstance(value, bool):
        return [not value, None, int(value), "true"]
    if value is None:
        return [0, 1.0, "text", [], True]
    if is_number(value):
        whole = [int(number(value)), True, 2**53 + 1] if math.isfinite(number(value)) else []
        return [*(written(x, value) for x in numbers_like(number(value), neighbour, rng)), None, "text", [], *whole]
    if isinstance(value, str):
        return [*(word for word in WORDS if word != value), value + "x", value.upper(), None, 0]
    if isinstance(value, list):
        last = value[-1] if value else 0
        one_more = last + 1 if is_number(last) and not isinstance(last, str) else f"{last}x"
        return [[], value[:-1], value + value[:1], value[::-1], [*value, 0], [*value, one_more], None, 0, {}]
    return [None, 0, "text"]


def document_forgeries(fit: Fit, rng: np.random.Generator) -> Iterator[Forgery]:
    every = [number(value) for _, value in leaves(fit.document) if is_number(value)]
    for path, value in leaves(fit.document):
        neighbour = every[int(rng.integers(len(every)))]
        for new in others_of(value, neighbour, rng):
            if repr(new) != repr(value):
                what = f"{'.'.join(map(str, path))} {value!r:.60} -> {new!r:.60}"
                yield Forgery(what, put(fit.document, path, new), fit.arrays)


def array_forgeries(fit: Fit, rng: np.random.Generator, entries: int = 2) -> Iterator[Forgery]:
    for name, array in fit.arrays.items():
        for what, other in arrays_like(array, rng, entries):
            if other.shape != array.shape or other.dtype != array.dtype or other.tobytes() != array.tobytes():
                yield Forgery(f"arrays.{name} {what}", fit.document, {**fit.arrays, name: other})


def arrays_like(array: np.ndarray, rng: np.random.Generator, entries: int) -> Iterator[tuple[str, np.ndarray]]:
    """An array with an entry, or all of them, changed."""
    with np.errstate(all="ignore"):
        for _ in range(min(entries, array.size)):
            at = tuple(int(rng.integers(size)) for size in array.shape)
            neighbour = float(array.flat[int(rng.integers(array.size))])
            for x in numbers_like(float(array[at]), neighbour, rng):
                other = array.copy()
                try:
                    other[at] = x
                except (ValueError, OverflowError):
                    continue
                yield f"{list(at)} = {x!r}", other
        if array.size > 1:
            yield "permuted", array.reshape(-1)[rng.permutation(array.size)].reshape(array.shape)
            yield "turned", np.ascontiguousarray(array[::-1])
        if array.size:
            yield "truncated", array[:-1]
            yield "longer", np.concatenate([array, array[:1]])
            yield "shifted", (array + 1).astype(array.dtype)
            yield "far", (array.astype(np.float64) + 1e15).astype(array.dtype)
            yield "negative", (-array.astype(np.float64)).astype(array.dtype)
            yield "narrow", array.astype(np.float32 if array.dtype.kind == "f" else np.int16)


def forgeries(fit: Fit, rng: np.random.Generator) -> Iterator[Forgery]:
    from judge_joint import joint_forgeries

    yield from document_forgeries(fit, rng)
    yield from array_forgeries(fit, rng)
    yield from joint_forgeries(fit, rng)


# -- what becomes of them


def judged(fit: Fit, forged: Forgery, judge: Any = check) -> str:
    """accepted, refused, or how the judge fell."""
    try:
        new = {} if fit.new is None else {"X_test": fit.new.X, "y_test": fit.new.y}
        return "accepted" if judge(forged.document, forged.arrays, *fit.data, **new) else "refused"
    except CertificateError as error:
        return f"fell: {error}" if "cannot be judged" in str(error) else "refused"
    except Exception as error:
        return f"fell: {error!r}"


def trial(name: str, seed: int, every: int = 1, judge: Any = check) -> tuple[str, Counter, list[str]]:
    """The family, counts, and what went wrong: of ``every`` so many forgeries of a fit one is judged."""
    fit, counts, wrong = fit_of(name), Counter(), []
    for k, forged in enumerate(forgeries(fit, np.random.default_rng(seed))):
        if k % every != seed % every:
            continue
        ending = judged(fit, forged, judge)
        counts[ending.partition(":")[0]] += 1
        if ending.startswith("fell"):
            wrong.append(f"{ending} ({name}: {forged.what})")
        elif ending == "accepted":
            lies = lies_of(fit, forged.document, forged.arrays)
            if lies:
                wrong.append(f"accepted ({name}: {forged.what}), though false: {', '.join(lies)}")
                counts["false accepted"] += 1
    return family_of(fit), counts, wrong


def family_of(fit: Fit) -> str:
    return "Separation" if fit.document["format"] == "gapless separation" else kind_of(fit.document).name


__all__ = ["Forgery", "arrays_like", "forgeries", "judged", "leaves", "others_of", "put", "trial"]

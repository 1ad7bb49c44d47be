"""The form of a model document: every entry there, of its type, none beyond. What the entries claim is for
`check`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .errors import CertificateError
from .linear.losses import LOSSES
from .linear.recompute import OFFSETS
from .schema import Arrays, Entry, Table, Test, derived, optional, recomputed, unchecked

FORMAT = "gapless model"
SCHEMA = 1
STATUSES = ("converged", "max_iter", "time_limit", "stalled", "interrupted", "infeasible", "not_finite")
CLASS_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "str": (str,),
}
#: How a float that JSON cannot write stands in a document.
NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}

#: How the numbers of a document's dtype are stored.
REALS = {"float64": "<f8", "float32": "<f4"}

#: No count of rows, columns or steps is larger: numpy's int64 holds it, and a float holds it exactly.
MOST_COUNT = 2**53
#: Blocks and lists inside each other, in a document and in a parameter; and all of them.
MOST_NESTING, MOST_PARAMETER_NESTING = 64, 8
MOST_BLOCKS = 10_000_000


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_COUNT


def is_number(value: Any) -> bool:
    """A JSON number a float can hold, or the name of a non-finite one."""
    if isinstance(value, str):
        return value in NON_FINITE
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) < 2**1023


def number(value: Any) -> float:
    """The float of an entry that passed ``is_number``."""
    return NON_FINITE[value] if isinstance(value, str) else float(value)


def is_finite(value: Any) -> bool:
    """A number that is neither infinite nor NaN."""
    return is_number(value) and math.isfinite(number(value))


def is_size(value: Any) -> bool:
    """A finite number >= 0."""
    return is_finite(value) and number(value) >= 0.0


def is_positive(value: Any) -> bool:
    return is_finite(value) and number(value) > 0.0


def is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def or_none(test: Test) -> Test:
    return lambda value: value is None or test(value)


def list_of(test: Test, least: int = 0) -> Test:
    return lambda value: isinstance(value, list) and len(value) >= least and all(map(test, value))


def is_parameter(value: Any, depth: int = MOST_PARAMETER_NESTING) -> bool:
    """Plain JSON: a flag, a number, a text, nothing, or lists and blocks of them, not deep."""
    if value is None or isinstance(value, bool | str) or is_number(value):
        return True
    inside = value if isinstance(value, list) else list(value.values()) if is_dict(value) else None
    return inside is not None and depth > 0 and all(is_parameter(each, depth - 1) for each in inside)


def is_digest(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{32}", value) is not None


def one_of(*words: str) -> Test:
    return lambda value: isinstance(value, str) and value in words


def is_names(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(map(is_text, value)))


def is_dict(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


#: How long a fit took, and on what: nobody can measure it again.
CLOCK: Table = {
    "seconds": unchecked(is_size, "a time that has passed"),
    "compile_seconds": optional(unchecked(is_size, "a time that has passed; files of before have none")),
    "backend": unchecked(is_text, "no trace of the machine is in the model"),
}
FINGERPRINT: Table = {
    "n_rows": recomputed(is_count, "the rows of X"),
    "n_features": recomputed(is_count, "the columns of X"),
    "rows": recomputed(is_digest, "hashes of the rows of X"),
    "labels": recomputed(is_digest, "the labels or targets"),
    "weights": recomputed(is_digest, "the sample weights"),
}
TUNING: Table = {
    "method": unchecked(is_text, "how settings were searched leaves no trace in the model"),
    "candidates": unchecked(lambda value: is_count(value) and value >= 1, "bounds count at least as many as tried"),
    "visited": unchecked(is_count, "settings that were fitted leave no trace in the model"),
    "folds": unchecked(is_count, "the folds leave no trace in the model"),
    "held_out": unchecked(or_none(is_digest), "the held-out rows are not in the file"),
}
CLASSES: Table = {
    "type": derived(one_of(*CLASS_TYPES), "the values, and the labels; but whole numbers may be floats"),
    "values": recomputed(lambda value: isinstance(value, list), "the labels: sorted, each once"),
}
TOP: Table = {
    "format": derived(one_of(FORMAT), "the only one"),
    "schema": derived(is_count, "the one that this judge reads"),
    "version": unchecked(is_text, "which release wrote the file"),
    "estimator": derived(is_text, "the parameters, the problem and the kind of certificate"),
    "parameters": derived(is_dict, "entry by entry below"),
    "classes": derived(is_dict, "entry by entry below"),
    "n_features": recomputed(is_count, "the columns of X"),
    "feature_names": unchecked(is_names, "compared with the names of the columns, where the data have any"),
    "target": unchecked(or_none(is_text), "the judge compares numbers, not names"),
    "dtype": derived(one_of("float64", "float32"), "the arrays are of this type"),
    "problem": derived(is_dict, "entry by entry below"),
    "certificate": derived(is_dict, "entry by entry below"),
    "arrays": optional(derived(is_dict, "type and size of each array")),
    "training_rows": optional(derived(is_dict, "entry by entry below; in files of the command line")),
    "bounds": optional(recomputed(is_dict, "the data: see the page on bounds")),
    "input": optional(unchecked(is_dict, "the judge is given features; reading a file it makes them by this entry")),
    "origin": optional(unchecked(is_dict, "by which command a model was made, and why of these rows")),
    "tuning": optional(unchecked(is_dict, "nobody can see in a model how its settings were found")),
}
#: Blocks that any document may have.
SHARED: dict[str, Table] = {"classes.": CLASSES, "certificate.fingerprint.": FINGERPRINT, "tuning.": TUNING}

_GAP: Table = {
    "primal": recomputed(is_number, "model and data"),
    "dual": recomputed(is_number, "dual point and data"),
    "gap": recomputed(is_number, "model, dual point and data"),
    "relative_gap": derived(is_number, "gap, primal and dual"),
    "rounding": recomputed(is_number, "at most what float64 sums of this size can need"),
}
HOW: Table = {
    "n_iter": unchecked(is_count, "steps leave no trace in the model"),
    "solver": unchecked(is_text, "the way to a model leaves no trace in it"),
}
STATUS = derived(one_of(*STATUSES), "converged or not follows from the figures; which other ending is not checked")
PROBLEM: Table = {
    "loss": derived(one_of(*LOSSES, "softmax"), "estimator, parameter loss, number of classes"),
    "offset": derived(one_of(*OFFSETS), "parameters fit_intercept and penalize_intercept"),
    "offset_scale": derived(is_positive, "parameter intercept_scaling"),
    "C": derived(lambda value: is_number(value) and number(value) > 0.0, "parameter C"),
    "class_weight": recomputed(list_of(is_size), "parameter class_weight and the labels"),
}
_CERTIFICATE: Table = {
    "kind": derived(one_of("gap"), "estimator and C"),
    "tol": derived(is_size, "parameter tol"),
    "status": STATUS,
    **_GAP,
    **CLOCK,
    **HOW,
    "fingerprint": derived(is_dict, "entry by entry below"),
    "subproblems": derived(list_of(lambda value: is_dict(value), 1), "one for each class against the rest"),
}
_SUBPROBLEM: Table = {
    "positive": derived(or_none(is_count), "the classes, in order"),
    "status": STATUS,
    **_GAP,
    "seconds": CLOCK["seconds"],
    **HOW,
}
_ARRAYS: Table = {
    "coef": recomputed(is_dict, "the primal"),
    "intercept": recomputed(is_dict, "the primal"),
    "dual": recomputed(is_dict, "the dual: feasible without rounding"),
}
#: Parameters that a model reads when it answers.
_READ_BY_ANSWERS: dict[str, Test] = {
    "n_jobs": or_none(lambda value: isinstance(value, int) and abs(value) <= MOST_COUNT),
    "decision_function_shape": one_of("ovr", "ovo"),
    "break_ties": lambda value: is_flag(value) or is_count(value),
}
#: Parameters that decide nothing about what is optimal, nor about what is claimed.
_FREE = "it does not change what is optimal"


def free(*names: str, why: str = _FREE) -> Table:
    """Parameters that nobody checks."""
    return {name: optional(unchecked(_READ_BY_ANSWERS.get(name, is_parameter), why)) for name in names}


def agree(*names: str, how: str = "has to agree with the problem") -> Table:
    """Parameters that are compared with the problem."""
    return {name: optional(derived(is_parameter, how)) for name in names}


_LINEAR: Table = {
    **agree("C", "tol", "fit_intercept", "class_weight", "penalty", "l1_ratio", "multi_class"),
    "penalize_intercept": optional(derived(is_flag, "the offset, where there is one and a penalty")),
    "intercept_scaling": optional(derived(is_positive, "offset_scale, where the offset is penalised")),
}
_LINEAR_FREE = ("dual", "verbose", "random_state", "max_iter", "solver", "schedule", "time_limit", "warm_start", "init")
PARAMETERS: dict[str, Table] = {
    "LinearSVC": agree("loss") | _LINEAR | free(*_LINEAR_FREE, "n_jobs", "device"),
    "LogisticRegression": _LINEAR | free(*_LINEAR_FREE, "n_jobs", "device", "on_separation"),
}
TABLES: dict[str, Table] = {
    "": TOP,
    **{f"{name}.parameters.": table for name, table in PARAMETERS.items()},
    "problem.": PROBLEM,
    "certificate.": _CERTIFICATE,
    "certificate.subproblems[].": _SUBPROBLEM,
    "arrays.": _ARRAYS,
    **SHARED,
}


def flaw_of_tuning(document: Any) -> str | None:
    """What is wrong with the entry that says among how many settings the rows may have chosen."""
    if not isinstance(document, dict) or "tuning" not in document:
        return None
    block = document["tuning"]
    return flaw_of(block, TUNING, "tuning.") if is_dict(block) else "the entry tuning is no object"


def newer_schema(document: Any) -> str | None:
    """What to say of a document of a later schema; None for the others."""
    schema: Any = document.get("schema") if isinstance(document, Mapping) else None
    if is_count(schema) and schema > SCHEMA:
        return f"written by a newer gapless (schema {schema}; this one reads {SCHEMA}): upgrade gapless"
    return None


def flaw_of_head(document: Any) -> str | None:
    """What is wrong with the kind of document and its schema."""
    if not isinstance(document, dict):
        return "the document is no JSON object"
    if document.get("format") != FORMAT:
        return f"the entry format is {shown(document.get('format'))}, not {FORMAT!r}"
    if document.get("schema") != SCHEMA:
        return newer_schema(document) or f"the schema {shown(document.get('schema'))} is unknown"
    return None


def flaw(document: Any) -> str | None:
    """The first thing wrong with the entries of a document taken together, in words; None where there is nothing."""
    certificate, problem, K = document["certificate"], document["problem"], len(document["classes"]["values"])
    if found := flaw_of_each(certificate["subproblems"], _SUBPROBLEM, "certificate.subproblems"):
        return found
    for k, sub in enumerate(certificate["subproblems"]):
        if sub["positive"] is None and problem["loss"] != "softmax":
            return f"the entry certificate.subproblems[{k}].positive is None, which only the softmax loss has"
    if len(problem["class_weight"]) != K:
        return "problem.class_weight has not one number for each class"
    return None


def flaw_of_parts(document: Any, schema: Mapping[str, Table]) -> str | None:
    """What is wrong with the head, parameters, problem, certificate, fingerprint, names or classes."""
    found = flaw_of_head(document) or flaw_of(document, schema[""], "")
    if found:
        return found
    known = schema.get(f"{document['estimator']}.parameters.")
    if known is None:
        names = ", ".join(key.partition(".")[0] for key in schema if key.endswith(".parameters."))
        return f"the estimator is {shown(document['estimator'])}; with this certificate there are {names}"
    found = flaw_of(document["parameters"], known, "parameters.")
    found = found or flaw_of(document["problem"], schema["problem."], "problem.")
    found = found or flaw_of(document["certificate"], schema["certificate."], "certificate.") or flaw_of_names(document)
    found = found or flaw_of(document["certificate"]["fingerprint"], FINGERPRINT, "certificate.fingerprint.")
    if not found and document["certificate"]["fingerprint"]["n_features"] != document["n_features"]:
        return "certificate.fingerprint.n_features is not n_features"
    least = 1 if "DecisionTree" in document["estimator"] or "Bagging" in document["estimator"] else 2
    return found or (None if document["classes"] is None else flaw_of_classes(document["classes"], least))


def refuse_unreadable(document: Any, flaw: Callable[[Any], str | None]) -> None:
    """CertificateError for a document of a later schema, or with a flaw."""
    newer = newer_schema(document)
    found = f"was {newer}" if newer else flaw(document)
    if found:
        raise CertificateError(f"the certificate {found}" if newer else f"the certificate cannot be read: {found}")


def flaw_of_names(document: dict[str, Any]) -> str | None:
    names, d = document["feature_names"], document["n_features"]
    if names is not None and len(names) != d:
        return f"there are {len(names)} feature_names for {d} features"
    return None


def n_lines(document: dict[str, Any]) -> int:
    """The lines of coef, intercept and dual: one for each subproblem, for the one of the softmax loss one for each
    class."""
    softmax = document["problem"]["loss"] == "softmax"
    return len(document["classes"]["values"] if softmax else document["certificate"]["subproblems"])


def array_forms(document: dict[str, Any]) -> Arrays:
    """Type and shape of the arrays that go with a document."""
    S, d, n = n_lines(document), document["n_features"], document["certificate"]["fingerprint"]["n_rows"]
    real = REALS[document["dtype"]]
    return {"coef": (real, [S, d]), "intercept": (real, [S]), "dual": ("<f8", [S, n])}


def flaw_of(block: dict[str, Any], table: Mapping[str, Any], where: str) -> str | None:
    """The first entry of a block that is missing, not of its type, or unknown; the table has entries or bare tests."""
    for key, entry in table.items():
        known = isinstance(entry, Entry)
        if key not in block:
            if known and entry.optional:
                continue
            return f"the entry {where}{key} is missing"
        if not (entry.test if known else entry)(block[key]):
            return f"the entry {where}{key} is {shown(block[key])}"
    beyond = [key for key in block if key not in table]
    return f"the entry {where}{shown(beyond[0])} is unknown" if beyond else None


def flaw_of_each(blocks: list[dict[str, Any]], table: Mapping[str, Any], where: str) -> str | None:
    """The first flaw of the blocks of a list."""
    return next((found for k, each in enumerate(blocks) if (found := flaw_of(each, table, f"{where}[{k}]."))), None)


def flaw_of_classes(classes: dict[str, Any], least: int = 2) -> str | None:
    found = flaw_of(classes, CLASSES, "classes.")
    if found:
        return found
    kind, values = classes["type"], classes["values"]
    for value in values:
        if not isinstance(value, CLASS_TYPES[kind]) or (kind != "bool" and isinstance(value, bool)):
            return f"the class {shown(value)} is no {kind}"
        if kind in ("int", "float") and not is_finite(value):
            return f"the class {shown(value)} is not finite"
    return None if len(values) >= least else f"there are {len(values)} classes; there have to be {least}"


def nesting(value: Any, most: int = MOST_NESTING) -> bool:
    """Whether blocks and lists stand inside each other no deeper than ``most``, each key a text."""
    layer, seen = {id(value): (value, 1)}, 0
    for _ in range(most):
        inside: dict[int, tuple[Any, int]] = {}  # each block once, with the number of places where it stands
        for each, times in layer.values():
            if isinstance(each, Mapping) and not all(isinstance(key, str) for key in each):
                return False
            for part in each.values() if isinstance(each, Mapping) else each if isinstance(each, list | tuple) else ():
                if isinstance(part, Mapping | list | tuple):
                    inside[id(part)] = part, inside.get(id(part), (part, 0))[1] + times
                    seen += times
        if not inside:
            return True
        if seen > MOST_BLOCKS:
            return False
        layer = inside
    return False


def plain(value: Any) -> Any:
    """A document without numpy's scalars, which are floats and texts that do not behave like them."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def read_arrays(document: dict[str, Any], arrays: Any, forms: Arrays) -> dict[str, np.ndarray]:
    """The arrays of a document, of the type and shape that it implies, none beyond; CertificateError for others."""
    names = {str(name) for name in arrays} if isinstance(arrays, Mapping) else set()
    if names != set(forms):
        odd = sorted(names ^ set(forms))[0]
        what = f"there is no array {odd}" if odd in forms else f"the array {shown(odd)} is unknown"
        raise CertificateError(f"the certificate cannot be read: {what}")
    out = {}
    for name, (dtype, shape) in forms.items():
        try:
            array = np.asarray(arrays[name])
        except (TypeError, ValueError):
            raise CertificateError(f"the certificate cannot be read: {name} is no array") from None
        wanted = np.dtype(dtype).newbyteorder("=")
        if array.dtype != wanted or array.shape != tuple(shape):
            given = f"{name} is {array.dtype} {array.shape}, it should be {wanted} {tuple(shape)}"
            raise CertificateError(f"the certificate cannot be read: {given}")
        out[name] = array
    return out


def shown(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**40:
        return "a number too large"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

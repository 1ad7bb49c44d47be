"""Checks a certificate against the data: every claim is recomputed, none is believed.

This is the head that all documents pass: what is read is refused where it is no document, its family judges it, and what
nobody checks is listed by its name and its reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

import numpy as np

from . import bounds, separation, training_rows
from .case import Rigour
from .errors import CertificateError
from .files.inputs import learned
from .form.document import as_plain, is_shallow, read_arrays, refuse_unreadable
from .form.schema import not_checked, union
from .kinds import array_shapes, defect, kind_of
from .rows import StreamedRows, in_float32
from .verdict import Verdict
from .walked import Walked


def check(
    document: Mapping[str, Any],
    arrays: Mapping[str, Any],
    X: Any,
    y: Any,
    sample_weight: Any = None,
    rigorous: Rigour = False,
    X_test: Any = None,
    y_test: Any = None,
) -> Verdict:
    """Judge the certificate of a model document with its arrays on the data it speaks of.

    Data that are too large for memory are given as X alone, as `Walked`.

    The verdict is true where every claim holds and false where one does not.  Data, labels or weights other than those
    of the fit, and documents that cannot be read, raise CertificateError, and nothing else is raised. ``rigorous=True``
    adds bounds on primal, optimum and gap that hold in exact arithmetic, ``"exact"`` computes them without rounding (up
    to some ten thousand rows).  ``X_test`` and ``y_test`` are the rows of a held-out bound, where the document has one.
    """
    if not isinstance(rigorous, bool | np.bool_ | int | str) or rigorous not in (False, True, "exact"):
        raise CertificateError(f"rigorous is {rigorous!r}; it is False, True or 'exact'")
    try:
        if not isinstance(document, Mapping) or not is_shallow(document):
            raise CertificateError("the certificate cannot be read: the document is no JSON object, or a very deep one")
        if isinstance(X, Walked):
            X, y, sample_weight = X.rows, X.answers, X.weights
        with np.errstate(all="ignore"):  # what is not finite holds nowhere (`compare`)
            return _judge(as_plain(dict(document)), arrays, (X, y, sample_weight), rigorous, (X_test, y_test))
    except CertificateError:
        raise
    except MemoryError:
        raise CertificateError("the certificate cannot be judged: it does not fit in memory") from None
    except Exception as error:  # a fault of the judge is no verdict: nothing was checked
        raise CertificateError(f"the certificate cannot be judged ({type(error).__name__}: {error})") from error


def _refuse_other_names(document: Mapping[str, Any], X: Any) -> None:
    """Rows in a frame whose columns are not called as the model's features, in their order, are other data."""
    wanted, given = document.get("feature_names"), getattr(X, "columns", None)
    if given is None or not isinstance(wanted, list) or "input" in document:
        return
    if not all(isinstance(name, str) for name in given):
        return
    for k, (name, other) in enumerate(zip_longest(wanted, given)):
        if name != other:
            told = f"column {k + 1} of X is {other!r}, the model's feature is {name!r}"
            raise CertificateError(f"other data: {told} (give the judge the columns of the fit, in their order)")


def _judge(
    document: dict[str, Any],
    arrays: Mapping[str, Any],
    data: tuple[Any, Any, Any],
    rigorous: Rigour,
    new: tuple[Any, Any],
) -> Verdict:
    """The claims about the fit, and those about new rows."""
    if separation.handles(document):  # exact whatever is asked
        return separation.check(document, *data)
    _refuse_other_names(document, data[0])
    refuse_unreadable(document, defect)
    kind, made = kind_of(document), document.get("input")
    read = read_arrays(arrays, array_shapes(document))
    if isinstance(data[0], StreamedRows) and not (getattr(kind.case, "in_blocks", False) and "bounds" not in document):
        raise CertificateError("these claims are judged on rows in memory; give X and y, not blocks")
    case = kind.case(document, read, *data)
    case.judge(rigorous)
    if "training_rows" in document:
        training_rows.add_claim(case, read["training_rows"], data[0])
    if document["dtype"] == "float32" and union(kind.schema[""])["dtype"].kind != "unchecked":
        case.claim("dtype", "float32", None, in_float32(data[0]), "every value of X is one")
    if "arrays" in document:
        stated = {name: {"dtype": dtype, "shape": shape} for name, (dtype, shape) in array_shapes(document).items()}
        case.claim("arrays", "dtype, shape", None, document["arrays"] == stated, "as they are")
    listed = [*not_checked(document, arrays, kind.schema), *kind.unchecked, *case.unchecked]
    verdict = Verdict(case.claims, listed, case.bounds if rigorous else [], case.tiers[rigorous])
    if "bounds" not in document:
        return verdict
    by_rows = made is not None and learned(made["columns"])
    test = None if any(each is None for each in new) else new
    return bounds.judge_bounds(verdict, document, read, data, check, test, by_rows)

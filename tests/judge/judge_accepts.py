"""Whether the judge accepts a fit whose document and arrays were changed by hand."""

from __future__ import annotations

import copy

from judge_zoo import Data, Fit, fitted

from gapless.judge import CertificateError, check


def of(model, X, y, sample_weight=None) -> Fit:
    data = Data(X, y, sample_weight)
    certificate = fitted(lambda: model, data).certificate_
    return Fit(type(model).__name__, certificate.document(), dict(certificate.arrays), data)


def accepted(fit, change, rigorous=False) -> bool:
    """Whether the judge accepts the fit with its document and arrays changed."""
    document, arrays = copy.deepcopy(fit.document), {name: array.copy() for name, array in fit.arrays.items()}
    change(document, arrays)
    try:
        return bool(check(document, arrays, *fit.data, rigorous))
    except CertificateError as error:
        if "cannot be judged" in str(error):
            raise AssertionError("the judge fell") from error
        return False


def honest(fit) -> bool:
    return accepted(fit, lambda document, arrays: None)

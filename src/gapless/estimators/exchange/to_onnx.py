"""`to_onnx`: a fitted model as an ONNX graph, by skl2onnx."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from gapless.estimators.exchange.to_sklearn import original_class, to_sklearn


def to_onnx(model: Any, X: Any, **options: Any) -> Any:
    """The model as an ONNX graph, which onnxruntime and others answer with, without Python or gapless.

    It needs the extra ``onnx``. Labels and scores come out as arrays; classifiers with ``predict_proba`` give it. Kernel
    machines and trees compute in float32 there, whatever X is.

    Parameters
    ----------
    model : a fitted model of ours, or a pipeline of scikit-learn whose last step is one
    X : some rows like those to come, which say how many columns there are and of which type; one is enough
    options : more keywords of ``skl2onnx.to_onnx``
    """
    try:
        import skl2onnx
    except ImportError as error:
        raise ImportError("to_onnx needs skl2onnx: pip install 'gapless[onnx]'") from error
    twin = _with_twins(model)
    last = twin.steps[-1][1] if hasattr(twin, "steps") else twin
    named = {"zipmap": False} if is_classifier(last) and hasattr(last, "predict_proba") else {}
    told = {"options": {id(last): named}} if named else {}
    return skl2onnx.to_onnx(twin, np.asarray(X)[:1], **{**told, **options})


def _with_twins(model: Any) -> Any:
    """The model, or the pipeline, with scikit-learn's classes."""
    if not hasattr(model, "steps"):
        twin = to_sklearn(model)
        if type(twin).__name__ != "LinearDiscriminantAnalysis":
            return twin
        # The same scores and probabilities; skl2onnx takes a softmax of one score for the probabilities of two classes.
        logistic = original_class("linear_model", "LogisticRegression")()
        logistic.classes_, logistic.n_features_in_ = model.classes_, model.n_features_in_
        logistic.coef_, logistic.intercept_ = model.coef_, model.intercept_
        return logistic
    return type(model)([(name, step if isinstance(step, str) else _with_twins(step)) for name, step in model.steps])

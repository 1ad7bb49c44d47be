"""From a document that the reader has checked to an estimator: what all of them do the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gapless.certificates.model_document import decode_classes, decode_parameters


def blank_model(cls: type, document: Mapping[str, Any]) -> Any:
    """A model with its parameters (set through the constructor), classes and features, that knows no numbers yet."""
    model: Any = cls(**decode_parameters(document["parameters"]))
    if document["classes"] is not None:
        model.classes_ = decode_classes(document["classes"])
    model.n_features_in_ = int(document["n_features"])
    if document["feature_names"] is not None:
        model.feature_names_in_ = np.array(document["feature_names"], dtype=object)
    return model

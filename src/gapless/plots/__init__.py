"""Pictures of models, proofs and theory: Display objects that compute once and draw when asked to (matplotlib).

display = MarginDisplay.from_estimator(model, X, y)     # all numbers, no drawing
display.plot(ax=ax)                                     # the artists are kept on the display
"""

from gapless._lazy import load as _load

#: public name -> the module that defines it
_HOME = {
    "BiasVarianceDisplay": "bias_variance",
    "BoostingDisplay": "boosting",
    "BoundDisplay": "bound",
    "ConfusionDisplay": "confusion",
    "ConvexSetDisplay": "convex_set",
    "ConvexityDisplay": "convexity",
    "CrudeBoundDisplay": "crude_bound",
    "CrossEntropyDisplay": "cross_entropy",
    "FeatureMapDisplay": "feature_map",
    "GapDisplay": "gap",
    "GaussianDisplay": "gaussian",
    "HoeffdingDisplay": "hoeffding",
    "LearningCurveDisplay": "learning_curve",
    "LossDisplay": "loss",
    "MarginDisplay": "margin",
    "MistakesDisplay": "mistakes",
    "OffsetsDisplay": "offsets",
    "OverfittingDisplay": "overfitting",
    "PathDisplay": "path",
    "RegressionDisplay": "regression",
    "ReliabilityDisplay": "reliability",
    "ScheduleDisplay": "schedule",
    "SeparationDisplay": "separation",
    "SplitDisplay": "split",
    "StartsDisplay": "starts",
    "ThreeModelsDisplay": "three_models",
    "TraceDisplay": "trace",
    "TradeoffDisplay": "tradeoff",
    "TreeDisplay": "tree",
    "UrnDisplay": "urn",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name in _HOME:
        value = _load(f"gapless.plots.{_HOME[name]}", name)
        globals()[name] = value  # found without this function from now on
        return value
    raise AttributeError(f"module 'gapless.plots' has no attribute {name!r}; it has {', '.join(_HOME)}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})

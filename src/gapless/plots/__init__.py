"""Pictures of models, proofs and theory: Display objects that compute once and draw when asked to (matplotlib).

display = MarginDisplay.from_estimator(model, X, y)     # all numbers, no drawing
display.plot(ax=ax)                                     # the artists are kept on the display
"""

from gapless._runtime.lazy import load as _load

#: public name -> the module that defines it
_HOME = {
    "BiasVarianceDisplay": "theory.bias_variance",
    "BoostingDisplay": "models.boosting",
    "BoundDisplay": "theory.bound",
    "ConfusionDisplay": "theory.confusion",
    "ConvexSetDisplay": "optimisation.convex_set",
    "ConvexityDisplay": "optimisation.convexity",
    "CrudeBoundDisplay": "theory.crude_bound",
    "CrossEntropyDisplay": "optimisation.cross_entropy",
    "FeatureMapDisplay": "models.feature_map",
    "GapDisplay": "optimisation.gap",
    "GaussianDisplay": "models.gaussian",
    "HoeffdingDisplay": "theory.hoeffding",
    "LearningCurveDisplay": "theory.learning_curve",
    "LossDisplay": "optimisation.loss",
    "MarginDisplay": "models.margin",
    "MistakesDisplay": "models.mistakes",
    "OffsetsDisplay": "models.offsets",
    "OverfittingDisplay": "theory.overfitting",
    "PathDisplay": "models.path",
    "RegressionDisplay": "models.regression",
    "ReliabilityDisplay": "models.reliability",
    "ScheduleDisplay": "optimisation.schedule",
    "SeparationDisplay": "models.separation",
    "SplitDisplay": "models.split",
    "StartsDisplay": "optimisation.starts",
    "ThreeModelsDisplay": "models.three_models",
    "TraceDisplay": "optimisation.trace",
    "TradeoffDisplay": "theory.tradeoff",
    "TreeDisplay": "models.tree",
    "UrnDisplay": "theory.urn",
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

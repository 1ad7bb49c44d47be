"""Options of the commands that fit: `gapless train` and `gapless tune`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from gapless.cli import numbers
from gapless.cli.commands.models import ClassWeight, Kind, Loss, Offset

Model = Annotated[
    Kind,
    typer.Option(
        help="auto compares several; svm, logistic, rbf, adaboost, bagging, least_squares classify; linear, ridge, lasso, "
        "elastic_net regress."
    ),
]
LossName = Annotated[Loss | None, numbers.bare_option(help="Loss of the svm [default: squared_hinge].")]
LossWeight = Annotated[
    float | None,
    numbers.number_option(
        "-C",
        "--C",
        help="Weight of the loss against the penalty; inf: hard margin [default: 1].",
        parser=numbers.above_0_or_inf,
    ),
]
Alpha = Annotated[
    float | None,
    numbers.number_option(
        help="Penalty of ridge, lasso, elastic_net [default: 1] and least_squares [default: 0].", parser=numbers.from_0
    ),
]
Tol = Annotated[
    float | None,
    numbers.number_option(
        help="Relative gap at which the fit may stop [default: the estimator's].", parser=numbers.from_0
    ),
]
MaxIter = Annotated[int | None, numbers.bare_option(help="Most passes [default: the estimator's].", min=1)]
FitSeconds = Annotated[
    float | None,
    numbers.number_option(
        help="Most seconds of all fits, compiling apart [default of auto: 60].", parser=numbers.above_0
    ),
]
OffsetName = Annotated[Offset, typer.Option(help="The offset b: free, penalised, or none.")]
Balance = Annotated[ClassWeight | None, numbers.bare_option(help="balanced: classes weigh the same.")]
Solver = Annotated[str, typer.Option(help="Force an algorithm; auto chooses.")]
ModelOut = Annotated[Path, typer.Option("--out", "-o", help="Where the model goes.")]
OptionalModelOut = Annotated[Path | None, numbers.bare_option("--out", "-o", help="Where to write the model.")]
Page = Annotated[Path | None, numbers.bare_option(help="Where the page goes [default of auto: beside the model].")]
NoPage = Annotated[bool, typer.Option("--no-report", help="No page.")]
TestFile = Annotated[Path | None, numbers.bare_option(help="File with rows to test on.")]
_scoring = partial(
    typer.Option,
    help="What chooses: error, balanced_error, auc, log_loss; rmse, mae, r2; or a scorer of scikit-learn by name.",
)
Scoring = Annotated[str | None, _scoring(show_default="error, rmse")]
SearchScoring = Annotated[str | None, _scoring(show_default="error, r2")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit 1 if the fit did not converge.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]
Values = Annotated[
    list[str] | None,
    numbers.bare_option(
        "--grid", help="name=v1,v2,... or name=low:high:points (equal ratios); repeat it [default: C, gamma, alpha]."
    ),
]
Folds = Annotated[int, typer.Option(help="Folds of the cross-validation.", min=2)]
Visits = Annotated[
    int | None, numbers.bare_option(help="Candidates that bayes and random visit [default: a quarter].", min=1)
]
Scale = Annotated[
    bool | None,
    numbers.bare_option(
        "--scale/--no-scale", help="Standardise the columns [default: where there are texts or missing cells]."
    ),
]
Scores = Annotated[Path | None, numbers.bare_option(help="Keeps the scores; a killed search goes on from it.")]
Jobs = Annotated[int, typer.Option(help="Threads; -1: all cores.")]
SearchSeed = Annotated[int, typer.Option(help="Draws the folds, and the rows of --holdout.", min=0, max=2**32 - 1)]

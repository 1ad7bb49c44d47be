"""A loss that LinearSVC accepts is known wherever a loss has a name: a new one that was forgotten somewhere is told here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gapless
from gapless import losses
from gapless.cli.commands.models import Loss
from tests.linear.sets import LOSSES

DOCS = Path(__file__).parents[2] / "docs"
ACCEPTED = [name for name in losses.BY_NAME if gapless.LinearSVC._parameter_constraints["loss"][0].admits(name)]


def rows(apart):
    random = np.random.default_rng(4)
    y = np.where(np.arange(40) % 2 == 0, 1, -1)
    return random.normal(size=(40, 3)) * (0.1 if apart else 1.0) + y[:, None], y


def test_some_losses_are_accepted():
    assert {"hinge", "squared_hinge"} <= set(ACCEPTED)


@pytest.mark.parametrize("loss", ACCEPTED)
def test_its_fit_reads_and_is_judged(loss):
    X, y = rows(apart=False)
    model = gapless.LinearSVC(loss=loss).fit(X, y)
    assert model.certificate_.converged
    assert gapless.verify(model, X, y, rigorous="exact")
    assert "sum_i" in str(model.objective_)
    assert model.slackness_.consistent.mean() > 0.9
    assert model.slackness_.loss == loss


@pytest.mark.parametrize("loss", ACCEPTED)
def test_without_a_penalty_it_is_the_hard_margin(loss):
    X, y = rows(apart=True)
    model = gapless.LinearSVC(loss=loss, C=np.inf).fit(X, y)
    assert "subject to" in str(model.objective_)
    assert gapless.verify(model, X, y)


@pytest.mark.parametrize("loss", ACCEPTED)
def test_its_name_stands_where_names_of_losses_stand(loss):
    assert f'"{loss}"' in gapless.LinearSVC.__doc__
    assert loss in {each.value for each in Loss}
    assert loss in LOSSES
    assert type(losses.BY_NAME[loss]).__name__ in (DOCS / "losses.md").read_text()
    assert type(losses.BY_NAME[loss]).__name__ in (DOCS / "api.md").read_text()

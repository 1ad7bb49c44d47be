"""Certificates of ensembles that optimise nothing: the data are those of the fit, and the bags are as claimed.

A row of n is in a bag of m draws with probability 1 - (1 - 1/n)^m (m/n without replacement).  Where rows were drawn with
replacement and equal chances, the judge draws the bags again from their seeds and counts the share of rows that they hold.
The out-of-bag score is an estimate that needs the learners: it is not checked.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arithmetic.compare import at_most, between, equal
from ..case import Case, Rigour
from ..classes import floats_of, label_index
from ..errors import CertificateError
from ..form.entries import is_count, is_positive, is_share, number
from ..rows import as_rows
from ..same_data import same_rows, same_targets


class BaggingCase(Case):
    """Targets of the rows as the fit had them; of classes their indices."""

    answers = "targets"

    def read_data(self, X: Any, y: Any, sample_weight: Any) -> None:
        self.rows = as_rows(X)
        self.weights = same_rows(self.document, self.rows, sample_weight, gaps=True)
        if self.K:
            targets, kind = label_index(y, self.document["classes"], self.rows.shape[0]), "<i8"
        else:
            kind = "<i8" if self.problem["labels"] == "i" else "<f8"
            values, given = floats_of(y), np.asarray(y)
            targets = (given if given.dtype.kind in "iu" else values).astype(np.dtype(kind))
            if not (targets == values).all():
                raise CertificateError("other targets: y has values that are no whole numbers, those of the fit are")
            targets = targets[:, 0] if targets.ndim == 2 and targets.shape[1] == 1 else targets
        self.index = targets
        same_targets(self.document, targets, kind, "targets")

    def judge(self, rigorous: Rigour) -> None:
        problem, most = self.problem, self.parameters.get("n_estimators")
        bagged = self.document["estimator"] != "AdaBoostRegressor"
        there = math.isfinite(float(self.weights.sum())) and bool(self.weights.any())
        self.claim("row weights", "finite, not all 0", None, there)
        fewer = not bagged and (self.block["status"] != "converged" or bool(self.arrays["errors"][-1] == 0.0))
        known = is_count(most) and (problem["members"] == most or (fewer and at_most(problem["members"], most)))
        self.claim("members", problem["members"], most, known, "as many as asked for, or no more")
        if self.K:
            self.classes_claim()
        if there and bagged:
            self._problem_claims()
            self._bag_claims()
        elif there:
            self._round_claims(self.arrays["errors"], self.arrays["stage_weights"])
        if problem["features"] != self.d and not problem["features_replacement"]:
            self.unchecked.append("array feature_lists: how some features are drawn is another library's")
            if problem["replacement"]:
                self.unchecked.append("in_bag_share: bags of some features are not drawn again")

    def _round_claims(self, errors: np.ndarray, alphas: np.ndarray) -> None:
        rate, mark = self.parameters.get("learning_rate"), self.block["fingerprint"]
        plain = {**self.problem, "draws": mark["n_rows"], "features": mark["n_features"], "replacement": True}
        plain |= {"seeds": 0, "features_replacement": False, "weighted": False}
        self.claim("draws", "of all rows, by weight", None, self.problem == plain)
        none = all(self.block[key] is None for key in ("in_bag_probability", "in_bag_share", "estimate", "estimated"))
        self.claim("no bags", None, None, none, "rounds draw rows by weight")
        self.claim("mean losses", "in [0, 1]", None, between(errors, 0.0, 1.0))
        usual = (errors > 0.0) & (errors < 0.5)
        rated = is_positive(rate)
        size = number(rate) if rated else 1.0
        wanted = np.ones(errors.size)  # of a round without an error, or of the only one
        with np.errstate(all="ignore"):
            wanted[usual] = size * (np.log1p(-errors[usual]) - np.log(errors[usual]))
        last = bool(usual[:-1].all()) and (bool(errors[-1] < 0.5) or errors.size == 1)
        holds = rated and last and equal(alphas, wanted, 1e-9 * (np.abs(wanted) + size))
        self.claim("stage weights", "as the losses ask", float(wanted[-1]), holds)

    def _problem_claims(self) -> None:
        """Draws and features are what the parameters ask for."""
        p, problem, n, d = self.parameters, self.problem, self.weights.size, self.d
        for key, name in (("replacement", "bootstrap"), ("features_replacement", "bootstrap_features")):
            self.claim(name, problem[key], p.get(name), p.get(name) is problem[key])
        share, room, draws = p.get("max_samples"), 0.0, math.nan
        if share is None or is_count(share):
            draws = n if share is None else share
        elif is_positive(share) and problem["weighted"]:  # a share of the weights, whose sum may round to either side
            total = float(self.weights.sum())
            draws, room = max(1.0, number(share) * total - 0.5), 0.5 + 1e-9 * total
        elif is_positive(share):
            draws = max(1.0, float(np.trunc(number(share) * n)))
        self.claim("max_samples", problem["draws"], share, equal(problem["draws"], draws, room))
        share = p.get("max_features")
        part = is_positive(share) and is_share(share)
        features = share if is_count(share) else max(1, int(number(share) * d)) if part else math.nan
        fits = equal(problem["features"], features) and at_most(problem["features"], d)
        self.claim("max_features", problem["features"], share, fits)
        weighed = problem["weighted"] or bool((self.weights == 1.0).all())
        self.claim("weighted", problem["weighted"], None, weighed, "true where weights are not all 1")
        estimate, estimated = self.block["estimate"], self.block["estimated"]
        asked = {p.get("oob_score") is True, estimate is not None, estimated is not None} != {True, False}
        asked = asked and (estimated is None or at_most(estimated, n))
        self.claim("out-of-bag score", estimate, None, asked, "only where it was asked for")

    def _bag_claims(self) -> None:
        problem, seeds, lists = self.problem, self.arrays["seeds"], self.arrays["feature_lists"]
        n, d, m = self.weights.size, self.d, problem["draws"]
        claimed, found = self.block["in_bag_probability"], None
        if not problem["weighted"]:
            found = m / n if not problem["replacement"] else 1.0 if n == 1 else -math.expm1(m * math.log1p(-1.0 / n))
        good = claimed is None if found is None else claimed is not None and equal(number(claimed), found, 1e-12)
        self.claim("in-bag probability", claimed, found, good, "1 - (1 - 1/n)^m, or m/n without replacement")
        one, first = seeds.size == problem["members"], self.parameters.get("random_state")
        one = one and between(seeds, 0, 2**32 - 1)
        if is_count(first):  # then seeds are the first numbers of its stream
            drawn = np.random.RandomState(first).randint(2**31 - 1, size=seeds.size) if one and first < 2**32 else None
            one = drawn is not None and np.array_equal(drawn, seeds)
        self.claim("seeds", seeds.size, problem["members"], one, "one a bag")
        every, inside = problem["features"] == d, between(lists, 0, d - 1)
        if every and not problem["features_replacement"]:
            inside = inside and bool((lists == np.arange(d)).all())
        elif not problem["features_replacement"]:
            inside = inside and all(np.unique(line).size == line.size for line in lists)
        self.claim("features of bags", "columns of X", None, inside)
        claimed = self.block["in_bag_share"]
        if not (self.all_hold() and at_most(m, 1e9)) or claimed is None:  # no more draws are made again
            self.claim("in-bag share", claimed, None, False, "a share of the rows")
        elif not problem["replacement"] or not (every or problem["features_replacement"]):
            # How those are drawn is another library's; but a bag holds no more rows than draws.
            least, most = (1.0 / n, min(1.0, m / n)) if problem["replacement"] else (m / n, m / n)
            note, fits = "not drawn again: between these", between(number(claimed), least, most, 1e-12)
            self.claim("in-bag share", claimed, [least, most], fits, note)
        else:
            share, same = self._draw_again(seeds, lists)
            self.claim("features drawn", "as the seeds say", None, same)
            self.claim("in-bag share", claimed, share, equal(number(claimed), share, 1e-12))

    def _draw_again(self, seeds: np.ndarray, lists: np.ndarray) -> tuple[float, bool]:
        """The mean share of the rows in a bag, and whether the features are those that the seeds draw."""
        problem, n, m, same, seen = self.problem, self.weights.size, self.problem["draws"], True, []
        chances, counted, part = self.weights / np.sum(self.weights), 200, 1 << 20  # a fit counts as many bags
        for seed, line in zip(seeds[:counted].tolist(), lists, strict=False):
            random = np.random.RandomState(seed)
            if problem["features_replacement"]:  # all features, once each, need no draw
                same = same and bool((random.randint(0, self.d, problem["features"]) == line).all())
            there = np.zeros(n, dtype=bool)
            for start in range(0, m, part):  # the stream is the same in parts
                size = min(part, m - start)
                there[random.choice(n, size, p=chances) if problem["weighted"] else random.randint(0, n, size)] = True
            seen.append(np.count_nonzero(there))
        return float(np.mean(seen)) / n, same

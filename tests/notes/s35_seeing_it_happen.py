"""S35. Seeing it happen: displays, and one page of HTML."""

from pathlib import Path

import numpy as np

from gapless import LinearSVC, descend, linear_risk, report
from gapless.plots import ConfusionDisplay, GapDisplay, MarginDisplay, TraceDisplay

random = np.random.default_rng(0)
X = random.normal(size=(80, 2)) + np.repeat([[-1.0, 0.0], [1.0, 0.0]], 40, axis=0)
y = np.repeat(["left", "right"], 40)
order = random.permutation(80)
train, test = order[:50], order[50:]
model = LinearSVC(loss="hinge").fit(X[train], y[train])

# The margin with its support vectors, the gap as it closed, errors on new rows, the way of a descent.
margin = MarginDisplay.from_estimator(model, X[train], y[train]).plot()
f = X[train] @ model.coef_[0] + model.intercept_[0]
assert int(margin.wrong.sum()) == int(((f > 0.0) != (y[train] == "right")).sum())
gap = GapDisplay.from_estimator(model).plot()
assert np.isclose(gap.primal[-1] - gap.dual[-1], model.certificate_.gap, atol=1e-12)
confusion = ConfusionDisplay.from_estimator(model, X[test], y[test]).plot()
assert int(confusion.found.counts.sum()) == 30
way = descend(linear_risk(X[train], y[train], loss="logistic", lam=0.1), stop=20)
trace = TraceDisplay.from_descent(way, objective=linear_risk(X[train], y[train], loss="logistic", lam=0.1)).plot()
assert len(trace.axes_) == 2

# One self-contained page: it loads nothing from elsewhere, and has the certificate's figures.
page = report(model, X[train], y[train], X_test=X[test], y_test=y[test], file="page.html")
text = Path("page.html").read_text(encoding="utf-8")
assert page.html == text
assert "http://" not in text.replace("http://www.w3.org", "")
assert 'src="http' not in text
assert "LinearSVC" in text

"""Choosing C and gamma, and what the choice costs; a cut for costs; probabilities.

python examples/tuning.py
"""

from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gapless import SVC, LogisticRegression, calibrate, threshold_for, tune


def main() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    train, other, test = slice(0, 300), slice(300, 430), slice(430, None)
    grid = {"svc__C": [0.1, 1.0, 10.0, 100.0, 1000.0], "svc__gamma": [1e-4, 1e-3, 1e-2, 1e-1]}
    model = tune(make_pipeline(StandardScaler(), SVC()), X[train], y[train], grid, n_jobs=2)
    print(model.tuning_)
    print(f"on new rows: {model.score(X[test], y[test]):.4f}")

    print("\nOne parameter, by halving:")
    print(tune(make_pipeline(StandardScaler(), LogisticRegression()), X[train], y[train], method="bisection").tuning_)

    print("\nThe rows held out chose among 20 settings; paid for, and not:")
    held = tune(make_pipeline(StandardScaler(), SVC()), X, y, grid, cv=0.3, refit=False)
    print(held.tuning_.bound())
    print(held.tuning_.bound(paid=False))

    print("\nA missed tumour (class 0 called 1) costs ten times a false alarm:")
    sure = calibrate(model, X[other], y[other])
    print(threshold_for(sure, [[0.0, 10.0], [1.0, 0.0]], X[test], y[test]))

    print("\nProbabilities against frequencies:")
    print(sure.reliability(X[test], y[test], bins=5))


if __name__ == "__main__":
    main()

"""The theory of learning, drawn and computed: urns, dichotomies, sample sizes, bias and variance, convexity, wide networks.

python examples/theory.py
"""

from __future__ import annotations

import numpy as np

from gapless import LinearRegression
from gapless.theory import bias_variance, convexity, global_minimum, growth, hoeffding, learning_curve, vc


def urns() -> None:
    print("One urn, and the best of many")
    print(" ", hoeffding.urn(0.5, 100, 0.1))
    print(" ", hoeffding.verification(hypotheses=1000, n=10, draws=2000))
    print(" ", hoeffding.held_out(125, 4000))


def counting() -> None:
    print("\nDichotomies")
    corners = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    for name, X in (("a square", corners), ("four points on a line", [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])):
        print(f"  {name}: {growth.dichotomies(X)}")
    print(" ", vc.shatters(corners))
    print(" ", vc.shatters(corners[:3]))


def sizes() -> None:
    print("\nHow many rows?")
    for d in (3, 10):
        print(" ", vc.sample_size(0.1, 0.1, d, growth="power"))
    print(" ", vc.ghost_sample(100, 0.15, draws=500))


def sine() -> None:
    print("\nTwo points of sin(pi x)")
    nodes, weights = np.polynomial.legendre.leggauss(60)

    def draw(random: np.random.Generator):
        x = random.uniform(-1.0, 1.0, 2)
        return x[:, None], np.sin(np.pi * x)

    def constant(X, y):
        return lambda t: np.full(len(t), y.mean())

    def line(X, y):
        slope = (y[1] - y[0]) / (X[1, 0] - X[0, 0])
        return lambda t: y[0] + slope * (t[:, 0] - X[0, 0])

    for name, learner in (("constants", constant), ("lines", line)):
        found = bias_variance.decompose(
            learner, draw, nodes[:, None], np.sin(np.pi * nodes), draws=5000, weights=weights
        )
        print(f"  {name}: {found}")


def curve() -> None:
    print("\nA learning curve")

    def rows(n: int, random: np.random.Generator):
        X = random.normal(size=(n, 5))
        return X, X.sum(axis=1) + 0.5 * random.normal(size=n)

    found = learning_curve.learning_curve(
        LinearRegression(), rows, [10, 20, 40, 80], "squared", repeats=50, test=200, truth=lambda X: X.sum(axis=1)
    )
    print(found.table())
    print(" ", found)


def shapes() -> None:
    print("\nConvex or not")
    print(" ", convexity.of_function(np.sin, (-3.0, 3.0)))
    print(" ", convexity.of_set(lambda x: 1.0 <= x @ x <= 4.0, [(-2.0, 2.0)] * 2))
    print(" ", convexity.quadratic([[2, 1], [1, 2]]))
    print(" ", convexity.polynomial([0, 0, -2, 0, 1]))


def networks() -> None:
    print("\nMore directions than data")
    random = np.random.default_rng(0)
    X, y = random.normal(size=(20, 3)), random.normal(size=20)
    for net in (global_minimum.wide(X, 20), global_minimum.deep(X, 60), global_minimum.skip(X, 60)):
        found = global_minimum.at_point(net.model, net.jacobian, global_minimum.fit(net, y), y)
        print(f"  {net}: {found}")


def main() -> None:
    for part in (urns, counting, sizes, sine, curve, shapes, networks):
        part()


if __name__ == "__main__":
    main()

"""Feature maps that make classes separable: the verdict before and after, each with its proof.

python examples/feature_maps.py
"""

from __future__ import annotations

import numpy as np
from sklearn.preprocessing import PolynomialFeatures

from gapless import separability, verify


def xor():
    """Two corners of a square against the other two."""
    X = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    return (
        X,
        np.array(["equal", "different", "different", "equal"]),
        PolynomialFeatures(2, interaction_only=True, include_bias=False),
    )


def quadratic():
    """A disc and the ring around it: no line divides them, a circle does."""
    random = np.random.default_rng(0)
    angle, inside = random.uniform(0.0, 2.0 * np.pi, 200), np.arange(200) % 2 == 0
    radius = np.where(inside, random.uniform(0.0, 1.0, 200), random.uniform(1.5, 2.5, 200))
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return X, np.where(inside, "disc", "ring"), PolynomialFeatures(2, include_bias=False)


def alternating(changes: int = 4):
    """Points on a line whose labels change ``changes`` times: a polynomial needs as many roots, hence that degree."""
    X = np.arange(changes + 1.0)[:, None]
    return X, np.arange(changes + 1) % 2, PolynomialFeatures(changes, include_bias=False)


def main() -> None:
    for make in (xor, quadratic, alternating):
        X, y, features = make()
        print(f"{make.__name__}: {make.__doc__}")
        mapped = features.fit_transform(X)
        names = features.get_feature_names_out()
        for what, data in (("before", X), ("after", mapped)):
            found = separability(data, y)
            assert verify(found, data, y)
            print(f"  {what} ({data.shape[1]} columns): {found}")
        print("  of these columns: " + ", ".join(names[found.columns]))


if __name__ == "__main__":
    main()

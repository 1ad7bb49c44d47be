"""l: what one example costs.  One loss a file; `_protocol` says what a kernel may ask of it."""

from gapless.losses.hinge import Hinge
from gapless.losses.logistic import Logistic
from gapless.losses.perceptron import Perceptron
from gapless.losses.squared import Squared
from gapless.losses.squared_hinge import SquaredHinge

#: The names that parameters, documents and the judge use. The perceptron criterion is not among them: with a penalty its
#: minimum is 0 at the origin, on any data, and nothing is left to fit.
BY_NAME = {"hinge": Hinge(), "squared_hinge": SquaredHinge(), "logistic": Logistic(), "squared": Squared()}

__all__ = ["BY_NAME", "Hinge", "Logistic", "Perceptron", "Squared", "SquaredHinge"]

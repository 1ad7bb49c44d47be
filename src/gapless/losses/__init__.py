"""l: what one example costs.  One loss a file: value, slope and conjugate of numbers and arrays.

    loss.value(z, y)         l(y, z), z the score and y the target
    loss.slope(z, y)         a derivative in z; at a kink the one of smallest absolute value
    loss.conjugate(v, y)     l*(y, v) = sup_z vz - l(y, z), infinity outside its domain
    loss.largest_curvature   the largest second derivative, infinity where there is none

`verbs` lists the functions that a kernel may call, `compiled` has them, loss by loss; they need a compiler. `facts` says what
solvers may ask of a loss (is it smooth, where is its conjugate finite).
"""

from gapless.losses.epsilon_insensitive import EpsilonInsensitive
from gapless.losses.exponential import Exponential
from gapless.losses.hinge import Hinge
from gapless.losses.logistic import Logistic
from gapless.losses.perceptron import Perceptron
from gapless.losses.softmax import Softmax
from gapless.losses.squared import Squared
from gapless.losses.squared_hinge import SquaredHinge

#: The names that parameters, documents and the judge use. The perceptron criterion has none: with a penalty its minimum is 0
#: at the origin, on any data, and nothing is left to fit.
BY_NAME = {"hinge": Hinge(), "squared_hinge": SquaredHinge(), "logistic": Logistic(), "squared": Squared()}

__all__ = [
    "BY_NAME", "EpsilonInsensitive", "Exponential", "Hinge", "Logistic", "Perceptron", "Softmax", "Squared",
    "SquaredHinge",
]  # fmt: skip

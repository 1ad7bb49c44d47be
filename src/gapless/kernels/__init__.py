"""<phi(x), phi(z)>: kernels as small values, and the blocks of their Gram matrix."""

from gapless.kernels.callable import Function
from gapless.kernels.gram import Gram, gram
from gapless.kernels.linear import Linear
from gapless.kernels.polynomial import Polynomial
from gapless.kernels.precomputed import Precomputed
from gapless.kernels.rbf import RBF
from gapless.kernels.sigmoid import Sigmoid

Kernel = Linear | Polynomial | RBF | Sigmoid | Precomputed | Function

__all__ = ["RBF", "Function", "Gram", "Kernel", "Linear", "Polynomial", "Precomputed", "Sigmoid", "gram"]

"""<phi(x), phi(z)>: kernels as small values. The blocks of their Gram matrix are in `gram`."""

from gapless.kernels.callable import Function
from gapless.kernels.linear import Linear
from gapless.kernels.polynomial import Polynomial
from gapless.kernels.precomputed import Precomputed
from gapless.kernels.rbf import RBF
from gapless.kernels.sigmoid import Sigmoid

Kernel = Linear | Polynomial | RBF | Sigmoid | Precomputed | Function

__all__ = ["RBF", "Function", "Kernel", "Linear", "Polynomial", "Precomputed", "Sigmoid"]

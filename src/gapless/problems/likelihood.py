"""Logistic regression without a penalty: the likelihood alone, for two classes (one score) or K (one score each).

    minimise  F(W, b) = sum_i c_i l_i,     l_i = ln(1 + e^(-y_i z_i))     or     ln sum_k e^(z_ik) - z_iy_i

There is no duality gap: the dual asks for sum_i u_i x_i = 0 exactly.  What bounds F - F* is the gradient g, measured by the
Hessian H (Newton's decrement), because F cannot bend away quickly.  Along any line the second derivative of a row is the
variance of its direction over the classes, the third derivative its third central moment, so |f'''| <= range * f''.  Let

    lam^2 = g'H^-1 g         rho = the largest range that a unit step (v'Hv = 1) can give to the scores of a row

(two classes: rho^2 = max_i x_i'H^-1 x_i).  From theta along v, f''(t) >= e^(-rho t), hence

    f'(t) >= -lam + (1 - e^(-rho t)) / rho,     f(t) >= f(0) - lam t + (e^(-rho t) - 1 + rho t) / rho^2.

With s = rho lam < 1 (`reach`) every line rises beyond t = -ln(1 - s)/rho: the minimum exists, and integration gives

    F - F* <= lam^2 psi(s),      psi(s) = (s + (1 - s) ln(1 - s)) / s^2 = 1/2 + s/6 + s^2/12 + ...

and psi(s) <= min(1, 1/2 + s / (6 (1 - s))), which is what is used.

Where the classes can be separated no minimum exists, so that s >= 1 at every point: s < 1 proves the overlap as well.  In any
case F - inf F <= F.  All of this is blind to units and to linear changes of the columns: it is computed in coordinates in
which the columns (about their means, where there is an offset) are orthonormal under the weights c.  Bach, Self-concordant
analysis for logistic regression, 2010.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import expit, log_expit, logsumexp, softmax

from gapless import rows as R
from gapless.numbers import UNIT, gamma
from gapless.problems.least_squares import CONSTANT
from gapless.rows.second_moments import columns, dense_tiles, triangle
from gapless.rows.thresholds import ROW_THRESHOLDS

Tick = Callable[[], None] | None


class Basis(NamedTuple):
    """Coordinates in which the columns are orthonormal: t_i = ((x_i - mean) M, constant)."""

    mean: np.ndarray  #: (d,); 0 without an offset
    M: np.ndarray  #: (d, rank)
    #: (d, rank), orthonormal: of the models with equal scores those in it have the least norm. None: all do.
    span: np.ndarray | None
    constant: float  #: 1 / sqrt(sum c), or 0 without an offset
    condition: float  #: of the columns, centred and scaled to equal length, as far as their rank goes
    weak: np.ndarray  #: directions of the scaled columns that are dependent, or nearly (below 1 / trusted)

    @property
    def known(self) -> bool:
        """False for coordinates that stand in for those of the data, which span less."""
        return not np.isnan(self.condition)

    @property
    def rank(self) -> int:
        return self.M.shape[1]

    @property
    def width(self) -> int:
        return self.rank + (self.constant > 0.0)


def no_basis(d: int, c: np.ndarray, offset: bool) -> Basis:
    """Coordinates of the offset alone, for a model that is given up before there are others."""
    constant = 1.0 / np.sqrt(float(c.sum())) if offset else 0.0
    return Basis(np.zeros(d), np.zeros((d, 0)), None, constant, np.nan, np.zeros((0, d)))


def basis_of(rows: R.Rows, c: np.ndarray, offset: bool, trusted: float, tick: Tick = None) -> Basis:
    """From the singular values of the triangle of a QR; those at the level of rounding (of the data, too) count as 0."""
    n, d = R.n_rows(rows), R.n_features(rows)
    size = columns(rows, c, tick)
    scale = size.centred if offset else size.raw
    constant = scale <= (CONSTANT * size.raw if offset else 0.0)
    mean = size.mean if offset else np.zeros(d)
    scale = np.where(constant, 1.0, scale)
    sigma, Vt = _singular(rows, c, mean, scale, constant, tick)
    full = np.pad(sigma, (0, Vt.shape[0] - sigma.size))
    top = float(full.max(initial=0.0))
    # Values are known to their rounding, which counts where they are far from 0 and vary little; sigma to max(n, d) of float64's.
    far = np.where(constant, 0.0, size.raw / scale)
    noise = np.maximum(top, np.sqrt((Vt * Vt) @ (far * far)))
    kept = full > (max(n, d) * np.finfo(float).eps + np.finfo(rows.values.dtype).eps) * noise
    kept[max(n - offset, 0) :] = False  # centred rows add up to 0: one less can be independent
    weak = Vt[((full * trusted < top) | ~kept) & (np.abs(Vt[:, ~constant]).sum(axis=1) > 0.5)] if top > 0 else Vt[:0]
    sigma, Vt = full[kept], Vt[kept]
    M = (Vt.T / sigma) / scale[:, None]
    # In the user's units, what is orthogonal to the null space of X.
    span = np.linalg.qr((Vt * scale).T)[0] if 0 < sigma.size < d else None
    condition = float(sigma[0] / sigma[-1]) if sigma.size else 1.0
    return Basis(mean, M, span, 1.0 / np.sqrt(float(c.sum())) if offset else 0.0, condition, weak)


def _singular(
    rows: R.Rows, c: np.ndarray, mean: np.ndarray, scale: np.ndarray, constant: np.ndarray, tick: Tick
) -> tuple[np.ndarray, np.ndarray]:
    """Singular values and right singular vectors of the scaled columns: by their products where these keep the digits."""
    n, d = R.n_rows(rows), R.n_features(rows)
    if n > 4 * d and not constant.any():
        G = np.zeros((d, d))
        for i, t in dense_tiles(rows, max(64, ROW_THRESHOLDS.tile_bytes // (8 * d))):
            t -= mean
            t *= np.sqrt(c[i : i + t.shape[0], None])
            t /= scale
            G += t.T @ t
            if tick:
                tick()
        values, vectors = np.linalg.eigh(G) if np.isfinite(G).all() else (np.zeros(d), G)
        if values[0] > 1e-8 * values[-1]:
            return np.sqrt(values[::-1]), vectors.T[::-1]
    A = triangle(rows, c, np.zeros((n, 0)), mean, np.zeros(0), scale, tick)
    A[:, constant] = 0.0
    if not np.isfinite(A).all():
        raise ValueError("A column of X has squares beyond the range of floats. Scale the features (StandardScaler).")
    _, sigma, Vt = linalg.svd(A, full_matrices=n < d and n * d <= 1 << 22, check_finite=False)
    return sigma, Vt


class Look(NamedTuple):
    """F at a model, its derivatives in the coordinates of the basis, and the smallest margin of a row."""

    loss: float
    gradient: np.ndarray  #: (S m,)
    hessian: np.ndarray  #: (S m, S m)
    margin: float  #: true score less the best other one: above 0 all rows are right
    spread: float  #: what rounding can change in the decrement, but for the factor |H^-1/2|; see `measure`
    noise: np.ndarray  #: (S m,) bounds on the rounding in the gradient; empty unless asked for


class Figures(NamedTuple):
    """What is claimed of a model. ``excess`` >= F - inf F, rounding included."""

    loss: float
    decrement: float
    reach: float
    excess: float
    rounding: float
    margin: float


@dataclass(frozen=True, eq=False)
class Likelihood:
    """F for rows X, class indices y, weights c > 0 and K classes; models are lines W (1 or K, d) and b.

    Inside there are S = 1 or K - 1 score coordinates: K scores are Q times them, Q orthonormal and orthogonal to 1, for F
    does not change when all scores of a row do.
    """

    rows: R.Rows
    y: np.ndarray
    c: np.ndarray
    K: int
    basis: Basis

    @classmethod
    def build(
        cls, X: Any, y: np.ndarray, c: np.ndarray, K: int, offset: bool, trusted: float = 1e8, tick: Tick = None
    ) -> Likelihood:
        rows = R.as_rows(X, 1.0 if offset else 0.0)
        c = np.ascontiguousarray(c, float)
        return cls(rows, np.asarray(y, np.int64), c, K, basis_of(rows, c, offset, trusted, tick))

    def on(self, X: Any, y: np.ndarray, c: np.ndarray) -> Likelihood:
        """The same coordinates for other rows (the same ones, not merged)."""
        rows = R.as_rows(X, self.rows.constant)
        return Likelihood(rows, np.asarray(y, np.int64), np.ascontiguousarray(c, float), self.K, self.basis)

    @property
    def n(self) -> int:
        return self.y.size

    @property
    def d(self) -> int:
        return R.n_features(self.rows)

    @property
    def S(self) -> int:
        return max(1, self.K - 1)

    @property
    def contrasts(self) -> np.ndarray:
        """Q (K, K - 1); for two classes the one score is that of the second."""
        if self.K == 2:
            return np.ones((1, 1))
        Q = np.zeros((self.K, self.K - 1))
        for a in range(self.K - 1):
            Q[: a + 1, a] = 1.0
            Q[a + 1, a] = -(a + 1.0)
            Q[:, a] /= np.sqrt((a + 1.0) * (a + 2.0))
        return Q

    def split(self, theta: np.ndarray, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
        """theta (S, m) -> W (1 or K, d), b. What rounding W to float32 does at the means is put right by b."""
        Q, M, span = self.contrasts, self.basis.M, self.basis.span
        W = Q @ (theta[:, : M.shape[1]] @ M.T)
        W = (W if span is None else (W @ span) @ span.T).astype(dtype)
        b = -W.astype(np.float64) @ self.basis.mean
        if self.basis.constant:
            b = b + Q @ (self.basis.constant * theta[:, -1])
        return W, b.astype(dtype)

    def coordinates(self, W: np.ndarray, b: np.ndarray, tick: Tick = None) -> np.ndarray:
        """The theta of the scores of a model, as far as the basis goes: sum_i c_i t_i z_i', as t is orthonormal."""
        Z = R.scores_many(self.rows, np.column_stack([W, b]), tick) @ self.contrasts
        theta = np.zeros((self.S, self.basis.width))
        for part, T in self.tiles():
            theta += (Z[part] * self.c[part, None]).T @ T
        return theta

    def start(self) -> np.ndarray:
        """All coefficients 0, the offset at the log-odds of the classes."""
        theta = np.zeros((self.S, self.basis.width))
        mass = np.bincount(self.y, self.c, minlength=self.K)
        if self.basis.constant and (mass > 0.0).all():
            logs = np.log(mass)
            best = logs[1:] - logs[0] if self.K == 2 else logs @ self.contrasts
            theta[:, -1] = best / self.basis.constant
        return theta

    def tile_rows(self, values: int = ROW_THRESHOLDS.tile_bytes // 8) -> int:
        return max(16, values // max(self.d, self.K))

    def tiles(self, values: int = ROW_THRESHOLDS.tile_bytes // 8) -> Iterator[tuple[slice, np.ndarray]]:
        """Some rows in the coordinates of the basis, one piece after the other."""
        basis = self.basis
        for i, t in dense_tiles(self.rows, self.tile_rows(values)):
            T = np.full((t.shape[0], basis.width), basis.constant)
            t -= basis.mean
            T[:, : basis.rank] = t @ basis.M
            yield slice(i, i + t.shape[0]), T

    def losses(self, Z: np.ndarray, part: slice) -> tuple[np.ndarray, np.ndarray]:
        """The loss of each row, and its shares: those of the other classes, and minus their sum for its own (lines, rows).

        A share of the own class written as 1 - p would have no digits left where p is nearly 1.
        """
        y = self.y[part]
        if self.K == 2:
            sign = np.where(y == 1, 1.0, -1.0)
            m = sign * Z[:, 0]
            return -log_expit(m), (-sign * expit(-m))[:, None]
        full = Z @ self.contrasts.T
        rows = np.arange(y.size)
        full -= full[rows, y][:, None]
        slopes = softmax(full, axis=1)
        slopes[rows, y] = 0.0
        slopes[rows, y] = -slopes.sum(axis=1)
        others = full.copy()
        others[rows, y] = -np.inf
        return np.logaddexp(0.0, logsumexp(others, axis=1)), slopes

    def scores(self, theta: np.ndarray, tick: Tick = None) -> np.ndarray:
        """Z (n, S), the score coordinates of theta (S, m), from centred columns."""
        basis = self.basis
        lines = basis.M @ theta[:, : basis.rank].T
        Z = np.empty((self.n, self.S))
        for i, t in dense_tiles(self.rows, self.tile_rows()):
            t -= basis.mean
            Z[i : i + t.shape[0]] = t @ lines
            if tick:
                tick()
        if basis.constant:
            Z += basis.constant * theta[:, -1]
        return Z

    def slopes(self, Z: np.ndarray, part: slice) -> np.ndarray:
        """c l' in the score coordinates (rows, S)"""
        return (self.losses(Z, part)[1] @ self.contrasts) * self.c[part, None]

    def bends(self, Z: np.ndarray, part: slice) -> Iterator[tuple[int, int, np.ndarray]]:
        """(a, b, c l'' between the score coordinates a >= b): variances over the classes, about the likeliest one."""
        c = self.c[part]
        if self.K == 2:
            p = expit(Z[:, 0])
            yield 0, 0, c * p * expit(-Z[:, 0])
            return
        Q = self.contrasts
        full = Z @ Q.T
        P = softmax(full, axis=1)
        top = full.argmax(axis=1)
        away = [Q[None, :, a] - Q[top, a][:, None] for a in range(self.S)]
        mean = [np.sum(P * D, axis=1) for D in away]
        for a in range(self.S):
            weighted = P * away[a]
            for b in range(a + 1):
                yield a, b, c * (np.sum(weighted * away[b], axis=1) - mean[a] * mean[b])

    def margins(self, Z: np.ndarray, part: slice) -> np.ndarray:
        """The score of the true class less the best of the others."""
        y = self.y[part]
        if self.K == 2:
            return np.where(y == 1, Z[:, 0], -Z[:, 0])
        full = Z @ self.contrasts.T
        rows = np.arange(y.size)
        own = full[rows, y].copy()
        full[rows, y] = -np.inf
        return own - full.max(axis=1)

    def look(self, Z: np.ndarray, tick: Tick = None, sizes: np.ndarray | None = None) -> Look:
        """F and its derivatives at the scores Z (n, S). ``sizes`` bounds the rounding of each row's scores, if asked for."""
        S, m = self.S, self.basis.width
        gradient, noise, H = np.zeros((S, m)), np.zeros((S, m)), np.zeros((S * m, S * m))
        loss, margin, spread = [], np.inf, 0.0
        for part, T in self.tiles():
            z, c = Z[part], self.c[part]
            each, shares = self.losses(z, part)
            loss.append(float(c @ each))
            slopes = (shares @ self.contrasts) * c[:, None]
            gradient += slopes.T @ T
            for a, b, w in self.bends(z, part):
                block = T.T @ (T * w[:, None])
                H[a * m : (a + 1) * m, b * m : (b + 1) * m] += block
                if sizes is not None and a == b:
                    spread += float(w @ sizes[part] ** 2)
            margin = min(margin, float(self.margins(z, part).min(initial=np.inf)))
            if sizes is not None:
                noise += np.abs(slopes).T @ np.abs(T)
            if tick:
                tick()
        for a in range(S):
            for b in range(a):
                H[b * m : (b + 1) * m, a * m : (a + 1) * m] = H[a * m : (a + 1) * m, b * m : (b + 1) * m].T
        return Look(float(np.sum(loss)), gradient.ravel(), H, margin, float(np.sqrt(spread)), noise.ravel())

    def widest(self, inverse: np.ndarray, tick: Tick = None) -> float:
        """rho, for inverse = L^-1 with H = LL': the length of (e_k - e_l) x t_i in its norm, at most."""
        S, m, Q = self.S, self.basis.width, self.contrasts
        worst = 0.0
        for _, T in self.tiles(max(1 << 12, ROW_THRESHOLDS.tile_bytes // (8 * S * S))):
            V = np.stack([T @ inverse[:, a * m : (a + 1) * m].T for a in range(S)], axis=1)
            B = V @ V.transpose(0, 2, 1)
            if self.K > 2:
                B = Q @ B @ Q.T
                own = np.diagonal(B, axis1=1, axis2=2)
                B = own[:, :, None] + own[:, None, :] - 2.0 * B
            worst = max(worst, float(B.max(initial=0.0)))
            if tick:
                tick()
        return float(np.sqrt(worst))

    def sizes(self, W: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The largest |w| . |x_i| + |b| of each row."""
        out = np.empty(self.n)
        for i, t in dense_tiles(self.rows, self.tile_rows()):
            out[i : i + t.shape[0]] = (np.abs(t) @ np.abs(W).T + np.abs(b)).max(axis=1)
        return out

    def measure(self, W: np.ndarray, b: np.ndarray, proof: bool = True) -> Figures:
        """The figures of a model as it is returned, in float64; without ``proof`` only its loss, which is cheaper.

        The decrement is computed from a gradient that is off by at most e in each entry, hence by |L^-1| e in length; where
        scores z are off by dz the gradient moves by at most sum w dz^2 in the norm of H.  ``excess`` and ``reach`` take the
        decrement with both added, so that they are bounds; ``rounding`` is what that added to the excess.
        """
        W, b = np.asarray(W, float), np.asarray(b, float)
        Z = R.scores_many(self.rows, np.column_stack([W, b]))
        if self.K > 2:
            Z = Z @ self.contrasts
        if not (proof and self.basis.known):
            parts = [slice(i, i + ROW_THRESHOLDS.tile_bytes) for i in range(0, self.n, ROW_THRESHOLDS.tile_bytes)]
            loss = float(np.sum([self.c[part] @ self.losses(Z[part], part)[0] for part in parts]))
            margin = min((float(self.margins(Z[part], part).min()) for part in parts), default=np.inf)
            return Figures(loss, np.nan, np.inf, loss, 0.0, margin)
        look = self.look(Z, sizes=2.0 * gamma(self.d + self.K + 8) * self.sizes(W, b))
        if not (np.isfinite(look.loss) and np.isfinite(look.hessian).all()):
            return Figures(look.loss, np.nan, np.inf, look.loss, 0.0, look.margin)
        try:
            L = np.linalg.cholesky(look.hessian)
            inverse = linalg.solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            return Figures(look.loss, np.nan, np.inf, look.loss, 0.0, look.margin)
        lam = float(np.linalg.norm(inverse @ look.gradient))
        step = self.tile_rows()
        noise = gamma(min(self.n, step) + self.n / step + 64) * look.noise
        # t itself is off by gamma_d |x - mean| |M|: at most sqrt(d) times the condition, for columns of length 1; and the
        # squares of the shares add up to at most the loss.
        noise += gamma(self.d + 8) * np.sqrt(self.d) * self.basis.condition * np.sqrt(2.0 * look.loss)
        delta = float(np.linalg.norm(np.abs(inverse) @ noise)) + look.spread
        loose = 64.0 * UNIT * len(L) * float(np.linalg.norm(look.hessian)) * float(np.sum(inverse * inverse))
        if not loose < 0.1:
            return Figures(look.loss, np.nan, np.inf, look.loss, 0.0, look.margin)
        lam_up = (lam + delta) * (1.0 + loose)
        reach = self.widest(inverse) * lam_up * (1.0 + loose)
        excess = bound(lam_up, reach, look.loss)
        return Figures(look.loss, lam, reach, excess, excess - bound(lam, reach, look.loss), look.margin)


def bound(lam: float, reach: float, loss: float) -> float:
    """min(F, lam^2 psi(reach)); F alone where reach >= 1 proves nothing more."""
    if not reach < 1.0:
        return loss
    return min(loss, lam * lam * min(1.0, 0.5 + reach / (6.0 * (1.0 - reach))))

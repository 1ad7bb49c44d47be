"""A walk along the path of the hinge loss in C: from break point to break point, by steps that end where a row changes its place.

`hinge_path` has the problem and the letters.  A *basis* B of the elbow moves, all other rows stand still:

    [ 0  1'   ] [beta']   [   0     ]
    [ 1  K_BB ] [ nu' ] = [ sigma y ]        sigma = dlam = -1 (C grows) or +1

which has one solution where the phi_j of B are affinely independent.  A step ends where an a_j reaches an end of its box (it
leaves B) or an h_i outside B reaches 0 from its side (i enters B).  The cases of their own:

dependent    The row that enters is an affine combination of B, phi_k = sum p_j phi_j.  Moving a_k inwards and B by -p changes
             no score at all: that is done until a row of B, or k itself, is at an end.  alpha may jump there, w does not.
empty        No support vector is free: a stands still, and beta is anything between the largest h = 0 of the rows that bound
             it from below and the smallest of the rows that bound it from above.  The midpoint is taken, which is linear in lam
             but for kinks where another row becomes the bound; the step ends where the interval closes, and two rows enter.
             With equal weights the last two of a basis always leave together: y'a = 0 has whole numbers in it.
ties         Steps of length 0, one change at a time; should they go on for long, the row that goes is drawn at random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar

import numpy as np


class Place(IntEnum):
    """Where a row stands on the path."""

    LOW = 0  #: a = 0
    HIGH = 1  #: a = s
    BASIC = 2  #: in the basis
    HELD = 3  #: inside its box with h = 0, but dependent on the basis


@dataclass(frozen=True, eq=False)
class Segment:
    """What is linear between two break points: nu and beta at ``start``, and what they change by for each unit of lam."""

    start: float  #: lam
    end: float
    status: np.ndarray  #: of every row
    moving: np.ndarray  #: rows that are neither at 0 nor at s
    nu: np.ndarray  #: of those, at ``start``
    slope: np.ndarray  #: of those, d nu / d lam
    beta: float
    beta_slope: float

    def solution_at(self, lam: float, y: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, float]:
        """nu of every row, and beta."""
        out = np.where(self.status == Place.HIGH, y * s, 0.0)
        by = lam - self.start
        values = self.nu + by * self.slope
        room = y[self.moving] * s[self.moving]
        out[self.moving] = np.clip(values, np.minimum(0.0, room), np.maximum(0.0, room))
        return out, self.beta + by * self.beta_slope


class Stalled(Exception):
    """The path cannot be followed further in double precision."""


@dataclass(eq=False)
class Walk:
    """The state of a walk along the path, at lam; ``nu``, ``beta`` is a solution there."""

    dependent: ClassVar[float] = 1e-12  #: squared distance to the basis that is rounding, as a share of max |phi|^2
    end_share: ClassVar[float] = 1e-11  #: distance of a/s to 0 or 1 within which a row is at the end of its box
    still: ClassVar[float] = 1e-10  #: a rate that is rounding
    changes_per_inverse: ClassVar[int] = 50  #: changes of the basis after which its inverse is computed anew

    K: np.ndarray
    y: np.ndarray
    s: np.ndarray
    free: bool
    nu: np.ndarray
    lam: float
    sigma: float
    tick: Callable[[], None] = lambda: None
    segments: list[Segment] = field(default_factory=list)

    def __post_init__(self) -> None:
        n = self.y.size
        self.nu = self.nu.copy()
        self.random = np.random.default_rng(0)
        self.scale = float(self.K.diagonal().max(initial=0.0))
        a = self.y * self.nu
        self.status = np.full(n, Place.HELD, np.int8)
        self.status[a >= (1.0 - self.end_share) * self.s] = Place.HIGH
        self.status[a <= self.end_share * self.s] = Place.LOW
        self.nu[self.status == Place.LOW] = 0.0
        self.nu[self.status == Place.HIGH] = (self.y * self.s)[self.status == Place.HIGH]
        self.basis = np.empty(0, np.intp)
        self.rows = np.empty((16, n))
        self.inverse: np.ndarray = np.zeros((1, 1)) if self.free else np.zeros((0, 0))
        self.changes = self.steps = 0
        self.f = self.K @ self.nu
        self.beta = 0.0
        self._choose_first_basis(np.flatnonzero(self.status == Place.HELD))

    # -- the basis -----------------------------------------------------------------------------------------------

    @property
    def n_borders(self) -> int:
        """Rows of the system before those of the basis: one for sum nu = 0."""
        return 1 if self.free else 0

    def _choose_first_basis(self, inside: np.ndarray) -> None:
        """Take a largest independent set of the rows inside their boxes as the basis, and correct nu on it."""
        a = self.y[inside] * self.nu[inside] / self.s[inside]
        for k in inside[np.argsort(-np.minimum(a, 1.0 - a), kind="stable")].tolist():
            if self._express_in_basis(k)[2] > 100.0 * self.dependent * self.scale:
                self._add_to_basis(k)
        if self.basis.size:
            self._invert_basis()
            if self.free:
                self.beta = float(np.median(self.lam * self.y[self.basis] - self.f[self.basis]))
            for _ in range(3):
                self._correct_drift()

    def _express_in_basis(self, k: int) -> tuple[np.ndarray, np.ndarray, float]:
        """The column of k in the system, the combination p of the basis nearest to phi_k, and the squared distance."""
        column = np.concatenate([np.ones(self.n_borders), self.K[k, self.basis]])
        if self.free and self.basis.size == 0:
            return column, np.zeros(1), np.inf
        p = self.inverse @ column
        return column, p, float(self.K[k, k] - column @ p)

    def _add_to_basis(self, k: int) -> None:
        m = self.basis.size
        if m == self.rows.shape[0]:
            self.rows = np.concatenate([self.rows, np.empty_like(self.rows)])
        self.rows[m] = self.K[k]
        _, p, schur = self._express_in_basis(k)
        self.basis = np.append(self.basis, k)
        self.status[k] = Place.BASIC
        self.changes += 1
        if self.free and m == 0:
            self.inverse = np.array([[-self.K[k, k], 1.0], [1.0, 0.0]])
        elif self.changes >= self.changes_per_inverse:
            self._invert_basis()
        else:
            size = p.size
            new = np.empty((size + 1, size + 1))
            new[:size, :size] = self.inverse + np.outer(p, p / schur)
            new[:size, size] = new[size, :size] = -p / schur
            new[size, size] = 1.0 / schur
            self.inverse = new

    def _remove_from_basis(self, k: int, status: int) -> None:
        """Move k out of the basis, exactly to the end of its box that ``status`` names."""
        place = int(np.flatnonzero(self.basis == k)[0])
        m = self.basis.size
        at = self.n_borders + place
        keep = np.delete(np.arange(self.n_borders + m), at)
        row = self.inverse[at]
        pivot = row[at]
        self.inverse = self.inverse[np.ix_(keep, keep)] - np.outer(row[keep], row[keep] / pivot)
        self.basis = np.delete(self.basis, place)
        self.rows[place : m - 1] = self.rows[place + 1 : m]
        self._put_at_end(k, status)
        self.changes += 1
        if self.changes >= self.changes_per_inverse and self.basis.size:
            self._invert_basis()

    def _put_at_end(self, k: int, status: int) -> None:
        self.status[k] = status
        value = 0.0 if status == Place.LOW else float(self.y[k] * self.s[k])
        moved = value - self.nu[k]
        if moved != 0.0:
            self.f += moved * self.K[k]
            self.nu[k] = value

    def _invert_basis(self) -> None:
        m, e = self.basis.size, self.n_borders
        system = np.zeros((m + e, m + e))
        system[e:, e:] = self.K[np.ix_(self.basis, self.basis)]
        if e:
            system[0, 1:] = system[1:, 0] = 1.0
        try:
            self.inverse = np.linalg.inv(system)
        except np.linalg.LinAlgError as error:
            raise Stalled("a basis that should be independent is not") from error
        self.inverse = 0.5 * (self.inverse + self.inverse.T)
        self.changes = 0

    def _correct_drift(self) -> float:
        """Correct nu and beta so that h = 0 on the basis; returns how far it was off by rounding."""
        if self.basis.size == 0:
            return 0.0
        residual = self.lam * self.y[self.basis] - self.f[self.basis] - self.beta
        right = np.concatenate([[-float(self.nu.sum())], residual]) if self.free else residual
        step = self.inverse @ right
        if self.free:
            self.beta += float(step[0])
        change = step[self.n_borders :]
        self.nu[self.basis] += change
        self.f += change @ self.rows[: self.basis.size]
        return float(np.abs(residual).max())

    # -- steps ---------------------------------------------------------------------------------------------------

    def run(self, last: float) -> None:
        """Follow the path until lam = ``last``; with 0 or infinity until no event is left."""
        # steps of length 0 in a row after which ties are broken at random, and after which the path is given up
        patience, most_ties = 40, 4000
        zero = 0
        # Scores are sums of terms as large as s K: a lam below their rounding cannot be told from 0.
        floor = 1e-14 * self.scale * float(self.s.sum())
        while True:
            self.tick()
            if self.lam <= floor or not np.isfinite(self.f).all():
                raise Stalled("double precision does not tell more")
            before = self.lam
            more = self._take_step(last, zero > patience)
            if not more:
                return
            zero = zero + 1 if self.lam == before else 0
            if zero > most_ties:
                raise Stalled("ties that do not end")

    def _distance_to(self, last: float) -> float:
        return self.lam - last if self.sigma < 0 else last - self.lam

    def _find_direction(self) -> tuple[np.ndarray, float, np.ndarray]:
        """nu' on the basis, beta' and f' for a unit of the way."""
        m = self.basis.size
        right = np.concatenate([np.zeros(self.n_borders), self.sigma * self.y[self.basis]])
        step = self.inverse @ right
        moved = step[self.n_borders :] @ self.rows[:m]
        for _ in range(2):
            got = moved[self.basis] + (step[0] if self.free else 0.0)
            off = right.copy()
            off[self.n_borders :] -= got
            if self.free:
                off[0] -= float(step[1:].sum())
            if float(np.abs(off).max(initial=0.0)) <= 1e-12:
                break
            self._invert_basis()
            change = self.inverse @ off
            step = step + change
            moved = moved + change[self.n_borders :] @ self.rows[:m]
        return step[self.n_borders :], float(step[0]) if self.free else 0.0, moved

    def _take_step(self, last: float, draw: bool) -> bool:
        """Go to the next break point and change the basis there; False where the walk is over."""
        steps_per_rescore = 25  # after which f is computed anew, so that rounding does not add up
        if self.basis.size == 0 and self.free:
            return self._cross_interval(last)
        rate, beta_rate, f_rate = self._find_direction()
        y, s, basis = self.y, self.s, self.basis
        a, a_rate = y[basis] * self.nu[basis], y[basis] * rate
        near = np.minimum(a, s[basis] - a) <= self.end_share * s[basis]
        if self.free and near.all() and np.all(np.abs(a_rate) * self.lam <= self.still * s[basis]):
            for k in basis.tolist():  # no row is free, and none moves
                self._put_at_end(k, Place.LOW if y[k] * self.nu[k] < 0.5 * s[k] else Place.HIGH)
            self.basis, self.inverse = np.empty(0, np.intp), np.zeros((1, 1))
            return True
        h = self.lam - y * (self.f + self.beta)
        h_rate = self.sigma - y * (f_rate + beta_rate)
        length = np.full(y.size, np.inf)
        with np.errstate(all="ignore"):
            low = (self.status == Place.LOW) & (h_rate > self.still)
            length[low] = -h[low] / h_rate[low]
            high = (self.status == Place.HIGH) & (h_rate < -self.still)
            length[high] = h[high] / -h_rate[high]
            # A HELD row depends on the basis and so does not move. Once a basis row has left it may move: then it is the next
            # event, at step 0.
            length[(self.status == Place.HELD) & (np.abs(h_rate) > self.still)] = 0.0
            moves = np.abs(a_rate) * self.lam > self.still * s[basis]
            own = np.where(a_rate < 0.0, a / -a_rate, (s[basis] - a) / a_rate)
            length[basis] = np.where(moves, own, np.inf)
        np.maximum(length, 0.0, out=length)
        k = int(np.argmin(length))
        step = float(length[k])
        if draw and np.isfinite(step):
            k = int(self.random.choice(np.flatnonzero(length <= step + 1e-12 * self.lam)))
        room = self._distance_to(last)
        over = step >= room
        step = min(step, room)
        if step > 1e-13 * self.lam:
            self._record_segment(step, rate, beta_rate)
        if over:
            return False
        self.steps += 1
        self.nu[basis] += step * rate
        self.f += step * f_rate
        self.beta += step * beta_rate
        if step > 1e-13 * self.lam:
            self.lam += self.sigma * step
        if self.steps % steps_per_rescore == 0:
            self.f = self.K @ self.nu
        # Correct the rounding drift after removing a row from the basis, but before adding one: the row at its break point must
        # not move.
        if self.status[k] == Place.BASIC:
            self._remove_from_basis(k, Place.LOW if a_rate[int(np.flatnonzero(basis == k)[0])] < 0.0 else Place.HIGH)
            self._correct_drift()
        else:
            self._correct_drift()
            self._let_enter(k)
        return True

    def _record_segment(self, step: float, rate: np.ndarray, beta_rate: float) -> None:
        moving = np.flatnonzero(self.status >= Place.BASIC)
        slope = np.zeros(self.y.size)
        slope[self.basis] = rate
        end = self.lam + self.sigma * step
        self.segments.append(
            Segment(
                self.lam, end, self.status.copy(), moving, self.nu[moving].copy(), self.sigma * slope[moving],
                self.beta, self.sigma * beta_rate,
            )
        )  # fmt: skip

    def _let_enter(self, k: int) -> None:
        _, p, distance = self._express_in_basis(k)
        if distance > self.dependent * self.scale or self.status[k] == Place.HELD:
            self._add_to_basis(k)
            return
        # phi_k = sum p_j phi_j: k goes inwards, the basis makes room, and no score changes.
        y, s, basis = self.y, self.s, self.basis
        inwards = y[k] if self.status[k] == Place.LOW else -y[k]
        rate = -inwards * p[self.n_borders :]
        a, a_rate = y[basis] * self.nu[basis], y[basis] * rate
        with np.errstate(all="ignore"):
            own = np.where(a_rate < 0.0, a / -a_rate, (s[basis] - a) / a_rate)
        own = np.maximum(np.where(np.abs(a_rate) > 1e-9, own, np.inf), 0.0)
        j = int(np.argmin(own)) if own.size else -1
        step = min(float(own[j]) if own.size else np.inf, float(s[k]))
        self.nu[basis] += step * rate
        self.nu[k] += step * inwards
        self.f += step * (rate @ self.rows[: basis.size] + inwards * self.K[k])
        if step == float(s[k]):
            self._put_at_end(k, Place.HIGH if self.status[k] == Place.LOW else Place.LOW)
            return
        self.status[k] = Place.HELD
        self._remove_from_basis(int(basis[j]), Place.LOW if a_rate[j] < 0.0 else Place.HIGH)
        self._add_to_basis(k)

    def _cross_interval(self, last: float) -> bool:
        """Without a free support vector beta lies between two lines: go to where one of them bends, or to where they meet."""
        y, f, lam = self.y, self.f, self.lam
        high, low = self.status == Place.HIGH, self.status == Place.LOW
        # Kinks lam y - f: those of y = +1 go with lam, those of y = -1 against it.
        families = {
            ("below", 1.0): low & (y > 0),
            ("below", -1.0): high & (y < 0),
            ("above", 1.0): high & (y > 0),
            ("above", -1.0): low & (y < 0),
        }
        lines: dict[tuple[str, float], tuple[float, int]] = {}
        for (side, sign), members in families.items():
            index = np.flatnonzero(members)
            if index.size:
                place = index[int(np.argmin(f[index]) if side == "below" else np.argmax(f[index]))]
                lines[side, sign] = -float(f[place]), int(place)

        bends = []
        for side in ("below", "above"):
            if (side, 1.0) in lines and (side, -1.0) in lines:
                bends.append(0.5 * (lines[side, -1.0][0] - lines[side, 1.0][0]))
        closing = (("below", 1.0), ("above", -1.0)) if self.sigma > 0 else (("below", -1.0), ("above", 1.0))
        meets = self.sigma * np.inf
        if closing[0] in lines and closing[1] in lines:
            meets = 0.5 * self.sigma * (lines[closing[1]][0] - lines[closing[0]][0])
        ahead = [bend for bend in bends if self.sigma * (bend - lam) > 1e-13 * lam]
        target = min(ahead, default=np.inf) if self.sigma > 0 else max(ahead, default=-np.inf)
        closes = self.sigma * (meets - target) <= 0.0
        target = meets if closes else target
        target = lam if self.sigma * (target - lam) < 0.0 else target
        over = target == last or self.sigma * (target - last) > 0.0
        target = last if over else target
        step = abs(target - lam)
        self.steps += 1
        if step > 1e-13 * lam:
            # Which line bounds is asked in the middle of the way: at its ends two are equal.
            probe = 0.5 * (lam + target) if np.isfinite(target) else 2.0 * lam
            ends = []
            for side, choose in (("below", max), ("above", min)):
                signs = [sign for sign in (1.0, -1.0) if (side, sign) in lines]
                sign = choose(signs, key=lambda sign: sign * probe + lines[side, sign][0])
                ends.append((sign * lam + lines[side, sign][0], sign))
            self.beta = 0.5 * (ends[0][0] + ends[1][0])
            self._record_segment(step, np.empty(0), 0.5 * (ends[0][1] + ends[1][1]) * self.sigma)
            self.lam = target
        if over:
            return False
        if closes:
            (height, i), (_, j) = lines[closing[0]], lines[closing[1]]
            self.beta = closing[0][1] * self.lam + height
            self._add_to_basis(i)
            if self._express_in_basis(j)[2] <= self.dependent * self.scale:
                raise Stalled("two equal rows of two classes meet")
            self._add_to_basis(j)
        return True

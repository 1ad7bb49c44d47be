"""The whole path of the hinge loss in C, exactly: every break point, and what is linear between them.

    minimise over a   1/2 a'Qa - lam 1'a,    Q_ij = y_i y_j K_ij,   0 <= a <= s,   free offset: y'a = 0

is the dual of the SVM with c = C s in other units: lam = 1/C, a = alpha/C, w/C = sum a y phi, beta = lam b.  The feasible set
does not move and lam enters linearly, so that a solution a(lam) can be chosen piecewise linear in lam, hence alpha = a/lam
piecewise linear in C (Hastie, Rosset, Tibshirani and Zhu 2004).  With nu = ya, f = K nu and h_i = lam - y_i (f_i + beta):

    h < 0: a = 0        h > 0: a = s        h = 0: anything between (the elbow)

A *basis* B of the elbow moves, all others stand still:

    [ 0  1'   ] [beta']   [   0     ]
    [ 1  K_BB ] [ nu' ] = [ sigma y ]        sigma = dlam = -1 (C grows) or +1

which has one solution where the phi_j of B are affinely independent.  A step ends where an a_j reaches an end of its box (it
leaves B) or an h_i outside B reaches 0 from its side (i enters B).  The cases of their own:

dependent    The one that enters is an affine combination of B, phi_k = sum p_j phi_j.  Moving a_k inwards and B by -p changes
             no score at all: that is done until one of B, or k itself, is at an end.  alpha may jump there, w does not.
empty        No support vector is free: a stands still, and beta is anything between the largest h = 0 of those that bound it from
             below and the smallest of those that bound it from above.  The midpoint is taken, which is linear in lam but for
             kinks where another row becomes the bound; the step ends where the interval closes, and two rows enter.
             With equal weights the last two of a basis always leave together: y'a = 0 has whole numbers in it.
ties         Steps of length 0, one change at a time; should they go on for long, who goes is drawn at random.

The start is a solution at one C, to machine precision, from which the path is followed both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from gapless._runtime.cached import lazy

#: Where a row stands: at 0, at s, in the basis, or inside its box with h = 0 and a row that depends on the basis.
LOW, HIGH, BASIC, HELD = 0, 1, 2, 3
#: A row depends on the basis where its distance to it, squared, is below this share of the largest |phi|^2.
DEPENDENT = 1e-12
#: a/s at which a row counts as at the end of its box; rates that are rounding.
END, STILL = 1e-11, 1e-10
#: Changes of the basis after which its inverse is made anew, steps after which all scores are.
RENEW, RESCORE = 50, 25
#: Steps of length 0 in a row after which ties are broken at random, and after which the path is given up.
PATIENCE, MOST_TIES = 40, 4000


@dataclass(frozen=True, eq=False)
class Segment:
    """What is linear between two break points: nu and beta at ``start``, and what they change by for each unit of lam."""

    start: float  #: lam
    end: float
    status: np.ndarray  #: of every row
    moving: np.ndarray  #: rows that are neither LOW nor HIGH
    nu: np.ndarray  #: of those, at ``start``
    slope: np.ndarray  #: of those, d nu / d lam
    beta: float
    beta_slope: float

    def at(self, lam: float, y: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, float]:
        """nu of every row, and beta."""
        out = np.where(self.status == HIGH, y * s, 0.0)
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
        self.status = np.where(a <= END * self.s, LOW, np.where(a >= (1.0 - END) * self.s, HIGH, HELD)).astype(np.int8)
        self.nu[self.status == LOW] = 0.0
        self.nu[self.status == HIGH] = (self.y * self.s)[self.status == HIGH]
        self.basis = np.empty(0, np.intp)
        self.rows = np.empty((16, n))
        self.inverse: np.ndarray = np.zeros((1, 1)) if self.free else np.zeros((0, 0))
        self.changes = self.steps = 0
        self.f = self.K @ self.nu
        self.beta = 0.0
        self._first_basis(np.flatnonzero(self.status == HELD))

    # -- the basis -----------------------------------------------------------------------------------------------

    @property
    def edge(self) -> int:
        return 1 if self.free else 0

    def _first_basis(self, inside: np.ndarray) -> None:
        """As many of the rows inside their boxes as are independent; then nu is corrected on them."""
        a = self.y[inside] * self.nu[inside] / self.s[inside]
        for k in inside[np.argsort(-np.minimum(a, 1.0 - a), kind="stable")].tolist():
            if self._column(k)[2] > 100.0 * DEPENDENT * self.scale:
                self._add(k)
        if self.basis.size:
            self._renew()
            if self.free:
                self.beta = float(np.median(self.lam * self.y[self.basis] - self.f[self.basis]))
            for _ in range(3):
                self._correct()

    def _column(self, k: int) -> tuple[np.ndarray, np.ndarray, float]:
        """The column of k in the system, its combination of the basis, and |phi_k - that|^2."""
        column = np.concatenate([np.ones(self.edge), self.K[k, self.basis]])
        if self.free and self.basis.size == 0:
            return column, np.zeros(1), np.inf
        p = self.inverse @ column
        return column, p, float(self.K[k, k] - column @ p)

    def _add(self, k: int) -> None:
        m = self.basis.size
        if m == self.rows.shape[0]:
            self.rows = np.concatenate([self.rows, np.empty_like(self.rows)])
        self.rows[m] = self.K[k]
        _, p, schur = self._column(k)
        self.basis = np.append(self.basis, k)
        self.status[k] = BASIC
        self.changes += 1
        if self.free and m == 0:
            self.inverse = np.array([[-self.K[k, k], 1.0], [1.0, 0.0]])
        elif self.changes >= RENEW:
            self._renew()
        else:
            size = p.size
            new = np.empty((size + 1, size + 1))
            new[:size, :size] = self.inverse + np.outer(p, p / schur)
            new[:size, size] = new[size, :size] = -p / schur
            new[size, size] = 1.0 / schur
            self.inverse = new

    def _remove(self, k: int, status: int) -> None:
        """k leaves the basis for a bound, where it is put exactly."""
        place = int(np.flatnonzero(self.basis == k)[0])
        m = self.basis.size
        at = self.edge + place
        keep = np.delete(np.arange(self.edge + m), at)
        row = self.inverse[at]
        pivot = row[at]
        self.inverse = self.inverse[np.ix_(keep, keep)] - np.outer(row[keep], row[keep] / pivot)
        self.basis = np.delete(self.basis, place)
        self.rows[place : m - 1] = self.rows[place + 1 : m]
        self._put(k, status)
        self.changes += 1
        if self.changes >= RENEW and self.basis.size:
            self._renew()

    def _put(self, k: int, status: int) -> None:
        self.status[k] = status
        value = 0.0 if status == LOW else float(self.y[k] * self.s[k])
        moved = value - self.nu[k]
        if moved != 0.0:
            self.f += moved * self.K[k]
            self.nu[k] = value

    def _renew(self) -> None:
        m, e = self.basis.size, self.edge
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

    def _correct(self) -> float:
        """What rounding left of h = 0 on the basis, put right; how much it was."""
        if self.basis.size == 0:
            return 0.0
        residual = self.lam * self.y[self.basis] - self.f[self.basis] - self.beta
        right = np.concatenate([[-float(self.nu.sum())], residual]) if self.free else residual
        step = self.inverse @ right
        if self.free:
            self.beta += float(step[0])
        change = step[self.edge :]
        self.nu[self.basis] += change
        self.f += change @ self.rows[: self.basis.size]
        return float(np.abs(residual).max())

    # -- steps ---------------------------------------------------------------------------------------------------

    def run(self, last: float) -> None:
        """Follow the path until lam = ``last``, or for ever (0 or infinity: until nothing happens any more)."""
        zero = 0
        # Scores are sums of terms as large as s K: a lam below their rounding says nothing.
        floor = 1e-14 * self.scale * float(self.s.sum())
        while True:
            self.tick()
            if self.lam <= floor or not np.isfinite(self.f).all():
                raise Stalled("double precision does not tell more")
            before = self.lam
            more = self._step(last, zero > PATIENCE)
            if not more:
                return
            zero = zero + 1 if self.lam == before else 0
            if zero > MOST_TIES:
                raise Stalled("ties that do not end")

    def _room(self, last: float) -> float:
        return self.lam - last if self.sigma < 0 else last - self.lam

    def _direction(self) -> tuple[np.ndarray, float, np.ndarray]:
        """nu' on the basis, beta' and f' for a unit of the way."""
        m = self.basis.size
        right = np.concatenate([np.zeros(self.edge), self.sigma * self.y[self.basis]])
        step = self.inverse @ right
        moved = step[self.edge :] @ self.rows[:m]
        for _ in range(2):
            got = moved[self.basis] + (step[0] if self.free else 0.0)
            off = right.copy()
            off[self.edge :] -= got
            if self.free:
                off[0] -= float(step[1:].sum())
            if float(np.abs(off).max(initial=0.0)) <= 1e-12:
                break
            self._renew()
            change = self.inverse @ off
            step = step + change
            moved = moved + change[self.edge :] @ self.rows[:m]
        return step[self.edge :], float(step[0]) if self.free else 0.0, moved

    def _step(self, last: float, draw: bool) -> bool:
        """One step and the change at its end; False where the walk is over."""
        if self.basis.size == 0 and self.free:
            return self._interval(last)
        rate, beta_rate, f_rate = self._direction()
        y, s, basis = self.y, self.s, self.basis
        a, a_rate = y[basis] * self.nu[basis], y[basis] * rate
        near = np.minimum(a, s[basis] - a) <= END * s[basis]
        if self.free and near.all() and np.all(np.abs(a_rate) * self.lam <= STILL * s[basis]):
            for k in basis.tolist():  # nobody is free, and nobody moves
                self._put(k, LOW if y[k] * self.nu[k] < 0.5 * s[k] else HIGH)
            self.basis, self.inverse = np.empty(0, np.intp), np.zeros((1, 1))
            return True
        h = self.lam - y * (self.f + self.beta)
        h_rate = self.sigma - y * (f_rate + beta_rate)
        length = np.full(y.size, np.inf)
        with np.errstate(all="ignore"):
            low = (self.status == LOW) & (h_rate > STILL)
            length[low] = -h[low] / h_rate[low]
            high = (self.status == HIGH) & (h_rate < -STILL)
            length[high] = h[high] / -h_rate[high]
            # What stood still beside a basis that it depended on may no longer do so when one of that has left.
            length[(self.status == HELD) & (np.abs(h_rate) > STILL)] = 0.0
            moves = np.abs(a_rate) * self.lam > STILL * s[basis]
            own = np.where(a_rate < 0.0, a / -a_rate, (s[basis] - a) / a_rate)
            length[basis] = np.where(moves, own, np.inf)
        np.maximum(length, 0.0, out=length)
        k = int(np.argmin(length))
        step = float(length[k])
        if draw and np.isfinite(step):
            k = int(self.random.choice(np.flatnonzero(length <= step + 1e-12 * self.lam)))
        room = self._room(last)
        over = step >= room
        step = min(step, room)
        if step > 1e-13 * self.lam:
            self._record(step, rate, beta_rate)
        if over:
            return False
        self.steps += 1
        self.nu[basis] += step * rate
        self.f += step * f_rate
        self.beta += step * beta_rate
        if step > 1e-13 * self.lam:
            self.lam += self.sigma * step
        if self.steps % RESCORE == 0:
            self.f = self.K @ self.nu
        # What is corrected must not move the one that is at its end: not that which goes, nor that which comes.
        if self.status[k] == BASIC:
            self._remove(k, LOW if a_rate[int(np.flatnonzero(basis == k)[0])] < 0.0 else HIGH)
            self._correct()
        else:
            self._correct()
            self._enter(k)
        return True

    def _record(self, step: float, rate: np.ndarray, beta_rate: float) -> None:
        moving = np.flatnonzero(self.status >= BASIC)
        slope = np.zeros(self.y.size)
        slope[self.basis] = rate
        end = self.lam + self.sigma * step
        self.segments.append(
            Segment(
                self.lam, end, self.status.copy(), moving, self.nu[moving].copy(), self.sigma * slope[moving],
                self.beta, self.sigma * beta_rate,
            )
        )  # fmt: skip

    def _enter(self, k: int) -> None:
        _, p, distance = self._column(k)
        if distance > DEPENDENT * self.scale or self.status[k] == HELD:
            self._add(k)
            return
        # phi_k = sum p_j phi_j: k goes inwards, the basis makes room, and no score changes.
        y, s, basis = self.y, self.s, self.basis
        inwards = y[k] if self.status[k] == LOW else -y[k]
        rate = -inwards * p[self.edge :]
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
            self._put(k, HIGH if self.status[k] == LOW else LOW)
            return
        self.status[k] = HELD
        self._remove(int(basis[j]), LOW if a_rate[j] < 0.0 else HIGH)
        self._add(k)

    def _interval(self, last: float) -> bool:
        """No free support vector: beta between two lines, the step to where one of them bends, or to where they meet."""
        y, f, lam = self.y, self.f, self.lam
        high, low = self.status == HIGH, self.status == LOW
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
            self._record(step, np.empty(0), 0.5 * (ends[0][1] + ends[1][1]) * self.sigma)
            self.lam = target
        if over:
            return False
        if closes:
            (height, i), (_, j) = lines[closing[0]], lines[closing[1]]
            self.beta = closing[0][1] * self.lam + height
            self._add(i)
            if self._column(j)[2] <= DEPENDENT * self.scale:
                raise Stalled("two equal rows of two classes meet")
            self._add(j)
        return True


@dataclass(frozen=True, eq=False)
class HingePath:
    """Segments in the order of C, from the smallest to the largest.  ``breaks``: the C between two of them."""

    K: np.ndarray
    y: np.ndarray
    s: np.ndarray
    free: bool
    segments: list[Segment]
    breaks: np.ndarray
    stalled: str | None
    start: float  #: the C from which it was followed

    @property
    def reach(self) -> tuple[float, float]:
        """The smallest and the largest C that is on the path; 0 and infinity are no end."""
        first, last = self.segments[0], self.segments[-1]
        top, bottom = max(first.start, first.end), min(last.start, last.end)
        return 1.0 / top if top < np.inf else 0.0, 1.0 / bottom if bottom > 0.0 else np.inf

    def segment(self, C: float) -> Segment:
        """The one that C is in; at a break point that of larger C."""
        return self.segments[max(0, int(np.searchsorted(self._ends, C, side="right")) - 1)]

    @lazy
    def _ends(self) -> np.ndarray:
        """The smaller end of each segment."""
        return np.array([1.0 / max(segment.start, segment.end) for segment in self.segments])

    def at(self, C: float, segment: Segment | None = None) -> tuple[np.ndarray, float]:
        """u = alpha y and b at C."""
        nu, beta = (segment or self.segment(C)).at(1.0 / C, self.y, self.s)
        return C * nu, C * beta

    def limit_at_zero(self) -> tuple[np.ndarray, float]:
        """u and b as C falls to 0, on a path that reaches 0: u = C nu with nu bounded, b = C beta with beta linear in 1/C."""
        return np.zeros(self.y.size), self.segments[0].beta_slope

    def refined(self, C: float) -> tuple[np.ndarray, float]:
        """The same, with what rounding left of yz = 1 on the basis put right: for C far from its break points."""
        segment = self.segment(C)
        u, b = self.at(C, segment)
        basis = np.flatnonzero(segment.status == BASIC)
        if basis.size == 0:
            return u, b
        e = 1 if self.free else 0
        system = np.zeros((basis.size + e, basis.size + e))
        system[e:, e:] = self.K[np.ix_(basis, basis)]
        if e:
            system[0, 1:] = system[1:, 0] = 1.0
        c = C * self.s[basis]
        for _ in range(2):
            residual = self.y[basis] - self.K[basis] @ u - b
            right = np.concatenate([[-float(u.sum())], residual]) if e else residual
            try:
                step = np.linalg.solve(system, right)
            except np.linalg.LinAlgError:
                return self.at(C, segment)
            u[basis] += step[e:]
            b += float(step[0]) if e else 0.0
        alpha = self.y[basis] * u[basis]
        if np.any((alpha < -1e-9 * c) | (alpha > (1.0 + 1e-9) * c)) or not np.isfinite(alpha).all():
            return self.at(C, segment)  # not refined but spoiled: the basis is nearly dependent
        u[basis] = self.y[basis] * np.clip(alpha, 0.0, c)
        return u, b

    def certified(self, kept: float) -> tuple[HingePath, np.ndarray]:
        """The path as far as P = D to the relative gap ``kept`` at each break point, and P, D and the gap there.

        Both segments of a break point are looked at, and the worse one is told.
        """
        if len(self.segments) < 2:
            return self, np.empty((0, 3))
        pairs = list(zip(self.segments[:-1], self.segments[1:]))
        Cs = np.array([1.0 / min(first.start, first.end) for first, _ in pairs])
        sides = np.stack([self.certify(Cs, [pair[k] for pair in pairs]) for k in (0, 1)])
        worse = np.argmax(sides[:, :, 2], axis=0)
        figures = sides[worse, np.arange(Cs.size)]
        good = figures[:, 2] <= kept * np.maximum(np.abs(figures[:, 0]), np.abs(figures[:, 1]))
        first, last = 0, len(self.segments)
        if not good.all():
            # From the start, where both walks began, to the first that is not good on either side.
            begin = int(np.searchsorted(Cs, self.start))
            below, above = np.flatnonzero(~good[:begin]), np.flatnonzero(~good[begin:])
            first = int(below[-1]) + 1 if below.size else 0
            last = begin + int(above[0]) + 1 if above.size else last
        inner = np.isin(Cs, self.breaks)
        keep = np.zeros(Cs.size, bool)
        keep[first : last - 1] = True
        stalled = self.stalled if good.all() else "double precision does not tell more"
        path = replace(self, segments=self.segments[first:last], breaks=Cs[keep & inner], stalled=stalled)
        return path, figures[keep & inner]

    def certify(self, Cs: np.ndarray, segments: list[Segment], tick: Callable[[], None] = lambda: None) -> np.ndarray:
        """P, D and the gap at each C, from the points themselves: rows (P, D, gap).

        With w = sum u phi the gap is a sum over rows of (c - alpha)[1 - yz]+ + alpha [yz - 1]+, and b times what sum u misses.
        """
        out = np.empty((len(Cs), 3))
        for first in range(0, len(Cs), 256):
            part = range(first, min(len(Cs), first + 256))
            points = [self.at(float(Cs[k]), segments[k]) for k in part]
            U = np.stack([u for u, _ in points])
            tick()
            F = U @ self.K
            for k, (u, b), f in zip(part, points, F):
                c = Cs[k] * self.s
                h = 1.0 - self.y * (f + b)
                alpha = self.y * u
                gap = float((np.where(h > 0.0, (c - alpha) * h, -alpha * h)).sum())
                missed = abs(float(u.sum())) if self.free else 0.0
                square = float(u @ f)
                primal = 0.5 * square + float(c @ np.maximum(h, 0.0))
                price = (1.0 + np.sqrt(2.0 * max(primal, 0.0) * float(self.K.diagonal().max()))) * missed
                gap += price + abs(b) * missed
                out[k] = primal, float(alpha.sum()) - 0.5 * square - price, gap
        return out


def hinge_path(
    K: np.ndarray,
    y: np.ndarray,
    s: np.ndarray,
    free: bool,
    start: tuple[float, np.ndarray],
    low: float = 0.0,
    high: float = np.inf,
    tick: Callable[[], None] = lambda: None,
) -> HingePath:
    """The path for all C in [low, high] from ``start`` = (C, u), a solution at a C between them."""
    C, u = start
    walks = []
    stalled = None
    for sigma, last in ((1.0, 1.0 / low if low > 0.0 else np.inf), (-1.0, 1.0 / high if high < np.inf else 0.0)):
        walk = Walk(K, y, s, free, u / C, 1.0 / C, sigma, tick)
        try:
            walk.run(last)
        except Stalled as error:
            stalled = f"{error}, at C = {1.0 / walk.lam:.6g}"
        walks.append(walk.segments)
    segments = walks[0][::-1] + walks[1]
    # Where the two walks began is no break point, nor is where they end.
    breaks = [1.0 / segment.end for part in walks for segment in part[:-1]]
    return HingePath(K, y, s, free, segments, np.sort(breaks), stalled, C)

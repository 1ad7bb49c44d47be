"""Coordinate descent on a quadratic model of few columns.

    minimise over delta   1/2 delta' G delta + g' delta + Omega(w + delta)

One coordinate: with q = G_jj + l2 and t = G_jj w_j - (gradient of the quadratic part in j), w_j becomes soft(t, l1) / q.
`sweep_gram` has G as a matrix; `sweep_columns` has the columns, G = X' diag(h) X about the weighted means of the columns.
"""

from __future__ import annotations

from gapless._compile.jit import compiled


@compiled(allocates=False)
def sweep_gram(G, w, g, charge, sweeps, enough):
    """Sweeps over all coordinates; ``g`` is the gradient of the quadratic part at w and is kept so. Ends where no coordinate
    moved its gradient by more than ``enough``. Returns the sweeps made."""
    l1, l2, positive = charge
    m = w.size
    for sweep in range(sweeps):
        moved = 0.0
        for j in range(m):
            a = G[j, j]
            q = a + l2
            if q <= 0.0:
                continue
            old = w[j]
            t = a * old - g[j]
            if t > l1:
                new = (t - l1) / q
            elif t < -l1 and not positive:
                new = (t + l1) / q
            else:
                new = 0.0
            step = new - old
            if step != 0.0:
                w[j] = new
                row = G[j]
                for k in range(m):
                    g[k] += step * row[k]
                moved = max(moved, abs(step) * q)
        if moved <= enough:
            return sweep + 1
    return sweeps


@compiled(allocates=False)
def sweep_columns(columns, model, order, w, r, shift, g, charge):
    """One sweep over the coordinates ``order``, where column j is values[ends[j]:ends[j+1]] at rows index[...].

    The gradient in j is g_j + sum x_ij r_i - shift mass m_j, where r_i - shift h_i is h_i times the change of the score; r and
    ``shift[0]`` are kept up.
    """
    values, index, ends = columns
    h, means, diagonal, mass = model
    l1, l2, positive = charge
    for o in range(order.size):
        j = order[o]
        a = diagonal[j]
        q = a + l2
        if q <= 0.0:
            continue
        dot = g[j] - shift[0] * mass * means[j]
        for k in range(ends[j], ends[j + 1]):
            dot += values[k] * r[index[k]]
        old = w[j]
        t = a * old - dot
        if t > l1:
            new = (t - l1) / q
        elif t < -l1 and not positive:
            new = (t + l1) / q
        else:
            new = 0.0
        step = new - old
        if step != 0.0:
            w[j] = new
            for k in range(ends[j], ends[j + 1]):
                i = index[k]
                r[i] += step * values[k] * h[i]
            shift[0] += step * means[j]

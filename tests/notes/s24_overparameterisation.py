"""S24. More parameters than data: where rank(A) = n, every critical point is a global minimum."""

import numpy as np

from gapless.theory import global_minimum

random = np.random.default_rng(0)
X, y = random.normal(size=(6, 2)), random.normal(size=6)

# A wide network, one hidden unit for each row: rank n, and the minimum found is 0.
net = global_minimum.wide(X, width=6)
theta = global_minimum.fit(net, y)
found = global_minimum.at_point(net.model, net.jacobian, theta, y)
assert found.verdict == "global minimum"
assert found.rank == found.n == 6
assert np.allclose(net.model(theta), y, atol=1e-6)
assert found.value - 0.0 <= found.within + 1e-12

# Its Jacobian is the derivative: by central differences.
step = 1e-6
numeric = np.array(
    [(net.model(theta + step * e) - net.model(theta - step * e)) / (2.0 * step) for e in np.eye(theta.size)]
).T
assert np.allclose(net.jacobian(theta), numeric, atol=1e-5)

# Width 1, however deep: many parameters, rank below n, nothing follows. Skip connections give the rank back.
deep = global_minimum.deep(X, depth=8)
at = global_minimum.fit(deep, y)
verdict = global_minimum.at_point(deep.model, deep.jacobian, at, y)
assert deep.d >= 6
assert verdict.rank < 6
assert verdict.verdict != "global minimum"
skipped = global_minimum.skip(X, depth=8)
mended = global_minimum.at_point(skipped.model, skipped.jacobian, global_minimum.fit(skipped, y), y)
assert mended.rank > verdict.rank

"""Changes of the point: dual values, coefficients, offsets, and the arrays that hold them."""

from __future__ import annotations

import numpy as np

from .tools import class_index, close, heaviest_entry, is_softmax, row_weights, subproblems


def alpha_halved(case, rng):
    s, i = heaviest_entry(case, rng)
    case.arrays["dual"][s, i] *= 0.5
    close(case)


def alpha_scaled(case, rng):
    s, _ = heaviest_entry(case, rng)
    case.arrays["dual"][s] *= 1 - 10.0 ** rng.uniform(-2, -0.5)
    close(case)


def alpha_zero(case, rng):
    case.arrays["dual"][:] = 0.0


def alpha_beyond_its_box(case, rng):
    s, i = heaviest_entry(case, rng)
    u = case.arrays["dual"]
    if case.document["problem"]["loss"] == "squared_hinge":
        j = int(np.argmin(np.abs(u[s])))
        positive = np.where(class_index(case) == subproblems(case)[s]["positive"], 1.0, -1.0)
        u[s, j] = -positive[j] * 1e-300
        return None
    c = row_weights(case)
    if is_softmax(case):
        u[:, i] = 0.0
    u[s, i] = (-1.0 if is_softmax(case) else np.sign(u[s, i])) * np.nextafter(c[i], np.inf)
    close(case)


def alpha_of_the_wrong_sign(case, rng):
    s, i = heaviest_entry(case, rng)
    case.arrays["dual"][s, i] *= -1
    close(case)


def alpha_of_the_true_class(case, rng):
    if not is_softmax(case):
        return False
    _, i = heaviest_entry(case, rng)
    case.arrays["dual"][class_index(case)[i], i] *= 1 + float(rng.choice([-1.0, 1.0])) * 10.0 ** rng.uniform(-13, 0)


def alpha_shares_of_two_classes_exchanged(case, rng):
    if not is_softmax(case):
        return False
    s, i = heaviest_entry(case, rng)
    t = next(k for k in range(len(case.arrays["dual"])) if k not in (s, class_index(case)[i]))
    case.arrays["dual"][[s, t], i] = case.arrays["dual"][[t, s], i]


def alpha_not_finite(case, rng):
    s, i = heaviest_entry(case, rng)
    case.arrays["dual"][s, i] = rng.choice([np.nan, np.inf, -np.inf])


def alpha_permuted(case, rng):
    s, _ = heaviest_entry(case, rng)
    u = case.arrays["dual"][s]
    shuffled = u[rng.permutation(u.size)]
    if np.array_equal(u, shuffled):
        return False
    case.arrays["dual"][s] = shuffled
    close(case)


def alpha_on_a_row_without_weight(case, rng):
    if case.sample_weight is None or not (case.sample_weight == 0).any():
        return False
    case.arrays["dual"][0, int(np.argmin(case.sample_weight))] = 1e-12


def w_scaled(case, rng):
    case.arrays["coef"] *= np.asarray(1 + 10.0 ** rng.uniform(-2, 0), dtype=case.arrays["coef"].dtype)


def w_moved(case, rng):
    coef = case.arrays["coef"]
    coef[rng.integers(len(coef)), rng.integers(coef.shape[1])] += 0.1 + np.abs(coef).max()


def w_negated(case, rng):
    case.arrays["coef"] *= -1


def w_not_finite(case, rng):
    case.arrays["coef"][0, 0] = rng.choice([np.nan, np.inf])


def offset_moved(case, rng):
    case.arrays["intercept"][rng.integers(len(case.arrays["intercept"]))] += 3.0


def offset_not_finite(case, rng):
    case.arrays["intercept"][0] = np.nan


def subproblems_exchanged(case, rng):
    if len(case.arrays["coef"]) < 2:
        return False
    case.arrays["coef"][[0, 1]] = case.arrays["coef"][[1, 0]]


def array_missing(case, rng):
    del case.arrays[str(rng.choice(list(case.arrays)))]


def array_of_another_shape(case, rng):
    name = str(rng.choice(list(case.arrays)))
    case.arrays[name] = case.arrays[name][..., :-1]


def array_of_another_type(case, rng):
    name = str(rng.choice(list(case.arrays)))
    case.arrays[name] = case.arrays[name].astype(np.float16)

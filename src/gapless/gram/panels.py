"""Products of rows in vector registers: a block of them is mapped and summed while it is still in the first-level cache.

    tile = left[first : first + 6] panel,      a panel: 64 rows of the right side, column by column

BLAS would pack both sides anew for every tile, and its result would be a cache further away.  Here the right side is packed once,
and the left is read as it is: the 6 x 64 sums stay in registers, 4 vectors to a row where those have 512 bits.  That is as fast
as the arithmetic itself, for rows of 10 numbers and of 1,000.
"""

from __future__ import annotations

import llvmlite.ir as ir
import numpy as np
from numba import types
from numba.core import cgutils, config

from gapless._compile.inline import inlined
from gapless._compile.jit import compiled, instruction
from gapless._compile.kernel_store import features
from gapless.gram.float32_exp import exp_single
from gapless.losses.scalar import exp_below

#: Rows of the right side in a panel; the sums over them may be rounded in the precision of the tile.
WIDTH = 64
#: Rows of the left side in a tile.
GROUP = 6
#: Bytes of the left side that are read again for each panel: they stay in the second-level cache.
NEAR = 1 << 18


def _registers() -> tuple[int, int]:
    """Bytes of a vector register of the processor compiled for, and how many stand side by side in a tile."""
    has = features()
    if has.get("avx512f"):
        return 64, 4
    if has.get("avx2"):
        return 32, 2
    return (16, 4) if has.get("neon") else (16, 2)


def bytes_are_fast() -> bool:
    """Whether the processor compiled for multiplies and adds four bytes of each lane in one step."""
    has = features()
    return bool(not config.DISABLE_JIT and has.get("avx512f") and has.get("avx512vnni"))


def _tile_function(module, of, to):
    """A function of its own: inlined, its registers would be shared with the constants of the map.

    Floats of type ``to``, or words of four bytes (`bytes`), whose last ones make whole numbers that become floats.
    """
    name = f"gapless_tile_{of}_{to}"
    if name in module.globals:
        return module.globals[name]
    i32, i64, place = ir.IntType(32), ir.IntType(64), ir.IntType(8).as_pointer()
    result = ir.FloatType() if to == types.float32 else ir.DoubleType()
    whole = of == types.uint32
    word, size = (i32, 4) if whole else (result, to.bitwidth // 8)
    kind = ir.FunctionType(ir.VoidType(), [place, i64, i64, place, i64, place, result])
    function = ir.Function(module, kind, name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    left, stride, last, panel, depth, tile, scale = function.args
    width, across = _registers()
    lanes = width // size
    vector, results = ir.VectorType(word, lanes), ir.VectorType(result, lanes)
    builder = ir.IRBuilder(function.append_basic_block("entry"))

    def number(value):
        return ir.Constant(i64, value)

    def everywhere(x, kind):
        one = builder.insert_element(ir.Constant(kind, ir.Undefined), x, ir.Constant(i32, 0))
        same = ir.Constant(ir.VectorType(i32, lanes), [0] * lanes)
        return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), same)

    def read(base, offset):
        found = builder.load(builder.bitcast(builder.gep(base, [offset]), vector.as_pointer()))
        found.align = size
        return found

    def plus_product(total, x, factor):
        if whole:
            four = cgutils.get_or_insert_function(
                module, ir.FunctionType(vector, [vector] * 3), "llvm.x86.avx512.vpdpbusd.512"
            )
            return builder.call(four, [total, x, factor])
        fused = ("contract",)
        return builder.fadd(total, builder.fmul(x, factor, flags=fused), flags=fused)

    rows = []
    for r in range(GROUP):  # beyond the last row: that row again
        own = builder.select(builder.icmp_signed("<", number(r), last), number(r), last)
        rows.append(builder.bitcast(builder.gep(left, [builder.mul(own, stride)]), word.as_pointer()))
    right, into = builder.bitcast(panel, word.as_pointer()), builder.bitcast(tile, result.as_pointer())
    for start in range(0, WIDTH, lanes * across):
        before = builder.block
        loop, done = function.append_basic_block("depth"), function.append_basic_block("done")
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(i64)
        sums = [[builder.phi(vector) for _ in range(across)] for _ in range(GROUP)]
        line = builder.add(builder.mul(k, number(WIDTH)), number(start))
        factors = [read(right, builder.add(line, number(c * lanes))) for c in range(across)]
        new = []
        for own, row in zip(rows, sums):
            x = everywhere(builder.load(builder.gep(own, [k])), vector)
            new.append([plus_product(total, x, factor) for total, factor in zip(row, factors)])
        following = builder.add(k, number(1))
        k.add_incoming(number(0), before)
        k.add_incoming(following, loop)
        for row, now in zip(sums, new):
            for total, then in zip(row, now):
                total.add_incoming(ir.Constant(vector, [0 if whole else 0.0] * lanes), before)
                total.add_incoming(then, loop)
        builder.cbranch(builder.icmp_signed("<", following, depth), loop, done)
        builder.position_at_end(done)
        for r in range(GROUP):
            for c in range(across):
                found = new[r][c]
                if whole:
                    line = builder.add(builder.mul(depth, number(WIDTH)), number(start + c * lanes))
                    ends = builder.add(
                        everywhere(builder.load(builder.gep(rows[r], [depth])), vector), read(right, line)
                    )
                    found = builder.sub(ends, builder.add(found, found))
                    found = builder.fmul(builder.sitofp(found, results), everywhere(scale, results))
                at = builder.gep(into, [number(r * WIDTH + start + c * lanes)])
                builder.store(found, builder.bitcast(at, results.as_pointer())).align = to.bitwidth // 8
    builder.ret_void()
    return function


def _plain_product(left, first, panel, tile, scale):
    """`product` of floats, by numpy."""
    rows = np.minimum(np.arange(first, first + GROUP), left.shape[0] - 1)
    np.matmul(left[rows], panel, out=tile)


@instruction(_plain_product)
def product(typingctx, left, first, panel, tile, scale):
    """tile = left[first : first + GROUP] panel, as far as there are rows; bytes make squared distances, times ``scale``."""

    def build(context, builder, signature, arguments):
        i64, place = ir.IntType(64), ir.IntType(8).as_pointer()
        a, b, t = (context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (0, 2, 3))
        of, to = signature.args[0].dtype, signature.args[3].dtype
        height = cgutils.unpack_tuple(builder, a.shape, 2)[0]
        stride = cgutils.unpack_tuple(builder, a.strides, 2)[0]
        depth = cgutils.unpack_tuple(builder, b.shape, 2)[0]
        if of == types.uint32:
            depth = builder.sub(depth, ir.Constant(i64, 1))
        start = builder.gep(builder.bitcast(a.data, place), [builder.mul(arguments[1], stride)])
        last = builder.sub(builder.sub(height, arguments[1]), ir.Constant(i64, 1))
        by = builder.fptrunc(arguments[4], ir.FloatType()) if to == types.float32 else arguments[4]
        places = [builder.bitcast(array.data, place) for array in (b, t)]
        builder.call(_tile_function(builder.module, of, to), [start, stride, last, places[0], depth, places[1], by])
        return context.get_dummy_value()

    return types.void(left, types.int64, panel, tile, types.float64), build


def _exp(t: float) -> float:
    """e^t in the precision of t."""
    return float(np.exp(t))


@inlined(_exp)
def _exp_of(t):
    if t == types.float32:
        return lambda t: exp_single(t)
    return lambda t: exp_below(t)


@compiled
def pack(rows, index, scale, swap, panels):
    """Panels of rows[index], but for the last two columns times ``scale``; with ``swap`` these are 1 and the first of them."""
    k = rows.shape[1]
    by = rows.dtype.type(scale)
    inner = k - 2 if swap else k
    for p in range(panels.shape[0]):
        panel = panels[p]
        count = min(WIDTH, index.size - p * WIDTH)
        for j in range(count):
            row = rows[index[p * WIDTH + j]]
            for c in range(inner):
                panel[c, j] = by * row[c]
            if swap:
                panel[k - 2, j] = rows.dtype.type(1.0)
                panel[k - 1, j] = row[k - 2]
        for c in range(k):
            for j in range(count, WIDTH):
                panel[c, j] = rows.dtype.type(0.0)


@compiled(vectorise=True)
def _exp_all(tile):
    """The Gaussian's map of a tile of exponents, in place."""
    for i in range(tile.shape[0]):
        row = tile[i]
        for j in range(row.size):
            row[j] = _exp(row[j])


@compiled(vectorise=True)
def _map(tile, kind, degree, shift):
    """The map of another kernel (2: polynomial, 3: sigmoid) of a tile of products, in place."""
    for i in range(tile.shape[0]):
        row = tile[i]
        if kind == 2:
            for j in range(row.size):
                base = row[j] + row.dtype.type(shift)
                p = row.dtype.type(1.0)
                for _ in range(degree):
                    p *= base
                row[j] = p
        elif kind == 3:
            for j in range(row.size):
                row[j] = np.tanh(row[j] + row.dtype.type(shift))


@compiled(vectorise=True)
def add(left, panels, v, rates, mixed, kind, degree, shift, out, off):
    """out += K v; where there are ``rates``, one to a panel of one sign of v but for ``mixed``, off grows as `single` asks."""
    tile = np.empty((GROUP, WIDTH), v.dtype)
    n = left.shape[0]
    height = max(8, NEAR // (left.shape[1] * left.itemsize * GROUP)) * GROUP
    for above in range(0, n, height):
        below = min(n, above + height)
        for p in range(panels.shape[0]):
            w = v[p * WIDTH : (p + 1) * WIDTH]
            for start in range(above, below, GROUP):
                product(left, start, panels[p], tile, shift)
                if degree is not None:
                    _map(tile, kind, degree, shift)
                for i in range(min(GROUP, below - start)):
                    row = tile[i]
                    s = v.dtype.type(0.0)
                    if kind == 1:
                        for j in range(WIDTH):
                            s += _exp(row[j]) * w[j]
                    else:
                        for j in range(WIDTH):
                            s += row[j] * w[j]
                    out[start + i] += s
                    if rates is not None and rates.size:
                        if p == mixed:
                            s = v.dtype.type(0.0)
                            for j in range(WIDTH):
                                s += _exp(row[j]) * abs(w[j])
                        size = abs(float(s))
                        off[start + i, 0] += rates[p] * size
                        off[start + i, 1] += size


@compiled(vectorise=True)
def add_both(left, panels, w, v, kind, degree, shift, out, across):
    """out += K w and across += K'v."""
    tile, own = np.empty((GROUP, WIDTH), w.dtype), np.zeros(GROUP, w.dtype)
    n = left.shape[0]
    for p in range(panels.shape[0]):
        u, down = w[p * WIDTH : (p + 1) * WIDTH], across[p * WIDTH : (p + 1) * WIDTH]
        for start in range(0, n, GROUP):
            product(left, start, panels[p], tile, shift)
            if degree is not None:
                _map(tile, kind, degree, shift)
            for i in range(GROUP):
                row = tile[i]
                s = w.dtype.type(0.0)
                if kind == 1:
                    for j in range(WIDTH):
                        row[j] = _exp(row[j])
                        s += row[j] * u[j]
                else:
                    for j in range(WIDTH):
                        s += row[j] * u[j]
                own[i] = 0.0
                if start + i < n:
                    out[start + i] += s
                    own[i] = v[start + i]
            a, b, c, d, e, f = own[0], own[1], own[2], own[3], own[4], own[5]
            for j in range(WIDTH):
                s = a * tile[0, j] + b * tile[1, j] + c * tile[2, j]
                down[j] += s + (d * tile[3, j] + e * tile[4, j] + f * tile[5, j])


@compiled(vectorise=True)
def fill(left, panels, kind, degree, shift, out):
    """out = K, as far as it has columns."""
    tile = np.empty((GROUP, WIDTH), out.dtype)
    n = left.shape[0]
    height = max(8, NEAR // (left.shape[1] * left.itemsize * GROUP)) * GROUP
    for above in range(0, n, height):
        below = min(n, above + height)
        for p in range(panels.shape[0]):
            for start in range(above, below, GROUP):
                product(left, start, panels[p], tile, shift)
                if degree is not None:
                    _map(tile, kind, degree, shift)
                for i in range(min(GROUP, below - start)):
                    into, row = out[start + i, p * WIDTH : (p + 1) * WIDTH], tile[i]
                    if kind == 1:
                        for j in range(into.size):
                            into[j] = _exp(row[j])
                    else:
                        for j in range(into.size):
                            into[j] = row[j]


@compiled(vectorise=True)
def fill_across(left, panels, kind, degree, shift, out):
    """out = K', as far as it has rows."""
    height = 16 * GROUP
    tile, some = np.empty((GROUP, WIDTH), out.dtype), np.empty((height, WIDTH), out.dtype)
    n = left.shape[0]
    for above in range(0, n, height):
        below = min(n, above + height)
        for p in range(panels.shape[0]):
            for start in range(above, below, GROUP):
                product(left, start, panels[p], tile, shift)
                if degree is not None:
                    _map(tile, kind, degree, shift)
                elif kind == 1:
                    _exp_all(tile)
                for i in range(min(GROUP, below - start)):
                    into, row = some[start - above + i], tile[i]
                    for j in range(WIDTH):
                        into[j] = row[j]
            for j in range(min(WIDTH, out.shape[0] - p * WIDTH)):
                down = out[p * WIDTH + j, above:below]
                for i in range(down.size):
                    down[i] = some[i, j]

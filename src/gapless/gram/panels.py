"""Products of rows in vector registers: a block of them is mapped and summed while it is still in the first-level cache.

    tile = left[first : first + 6] panel,      a panel: 64 rows of the right side, column by column

BLAS would pack both sides anew for every tile, and write its result to the second-level cache.  Here the right side is packed
once, and the left is read in place: the 6 x 64 sums stay in registers, 4 vectors for each row where these have 512 bits.  That is
as fast as the arithmetic itself, for rows of 10 numbers and of 1,000.
"""

from __future__ import annotations

import numpy as np

from gapless._compile.jit import compiled, inlined, instruction
from gapless._compile.kernel_store import features
from gapless._compile.on_demand import cgutils, config, ir, types
from gapless.gram.float32_error import TERMS
from gapless.gram.float32_exp import exp_single
from gapless.losses.scalar import exp_below

#: Rows of the left side in a tile: 6 x 64 float32 sums fill 24 of the 32 registers of 512 bits.
GROUP = 6
#: Bytes of the left side that are read again for each panel: they stay in the second-level cache.
LEFT_CACHE_BYTES = 1 << 18


def _registers() -> tuple[int, int]:
    """The bytes of a vector register of the processor compiled for, and the number of registers side by side in a tile."""
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
    """The function that makes a tile, in an LLVM module: floats of type ``to``, or words of four bytes (`bytes`).

    It is a function of its own: inlined, its registers would be shared with the constants of the kernel's map. Its arguments
    are the first row of the left side, the bytes from row to row, the number of the last row, the panel, its depth, the tile,
    and the factor by which whole numbers become floats.
    """
    name = f"gapless_tile_{of}_{to}"
    if name in module.globals:
        return module.globals[name]
    i64, place = ir.IntType(64), ir.IntType(8).as_pointer()
    result = ir.FloatType() if to == types.float32 else ir.DoubleType()
    kind = ir.FunctionType(ir.VoidType(), [place, i64, i64, place, i64, place, result])
    function = ir.Function(module, kind, name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    _TileBuilder(function, of == types.uint32, result, to.bitwidth // 8).build()
    return function


class _TileBuilder:
    """Writes the instructions of a tile function: for each block of lanes a loop over the depth, its sums in registers.

    Where the words are bytes, they end in a line of whole numbers that complete the squared distances.
    """

    def __init__(self, function, words, result, size):
        self.function, self.words, self.result, self.size = function, words, result, size
        self.word = ir.IntType(32) if words else result
        width, self.across = _registers()
        self.lanes = width // (4 if words else size)
        self.vector = ir.VectorType(self.word, self.lanes)
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))

    def build(self):
        builder = self.builder
        left, stride, last, panel, depth, tile, scale = self.function.args
        rows = []
        for r in range(GROUP):  # beyond the last row: that row again
            own = builder.select(builder.icmp_signed("<", self.number(r), last), self.number(r), last)
            rows.append(builder.bitcast(builder.gep(left, [builder.mul(own, stride)]), self.word.as_pointer()))
        right = builder.bitcast(panel, self.word.as_pointer())
        into = builder.bitcast(tile, self.result.as_pointer())
        for start in range(0, TERMS, self.lanes * self.across):
            sums = self.sum_products(rows, right, depth, start)
            for r in range(GROUP):
                for c in range(self.across):
                    found = sums[r][c]
                    if self.words:
                        found = self.squared_distances(found, rows[r], right, depth, start + c * self.lanes, scale)
                    at = builder.gep(into, [self.number(r * TERMS + start + c * self.lanes)])
                    builder.store(found, builder.bitcast(at, found.type.as_pointer())).align = self.size
        builder.ret_void()

    def sum_products(self, rows, right, depth, start):
        """The loop over the depth: sums of products of each row with the lanes of the panel from ``start`` on."""
        builder, function = self.builder, self.function
        before = builder.block
        loop, done = function.append_basic_block("depth"), function.append_basic_block("done")
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(ir.IntType(64))
        sums = [[builder.phi(self.vector) for _ in range(self.across)] for _ in range(GROUP)]
        line = builder.add(builder.mul(k, self.number(TERMS)), self.number(start))
        factors = [self.read(right, builder.add(line, self.number(c * self.lanes))) for c in range(self.across)]
        new = []
        for own, row in zip(rows, sums):
            x = self.everywhere(builder.load(builder.gep(own, [k])), self.vector)
            new.append([self.plus_product(total, x, factor) for total, factor in zip(row, factors)])
        following = builder.add(k, self.number(1))
        k.add_incoming(self.number(0), before)
        k.add_incoming(following, loop)
        zeros = ir.Constant(self.vector, [0 if self.words else 0.0] * self.lanes)
        for row, now in zip(sums, new):
            for total, then in zip(row, now):
                total.add_incoming(zeros, before)
                total.add_incoming(then, loop)
        builder.cbranch(builder.icmp_signed("<", following, depth), loop, done)
        builder.position_at_end(done)
        return new

    def squared_distances(self, products, row, right, depth, column, scale):
        """|p|^2 + |q|^2 - 2 <p, q> as floats, times ``scale``; the squares stand in the last line of the words."""
        builder, results = self.builder, ir.VectorType(self.result, self.lanes)
        line = builder.add(builder.mul(depth, self.number(TERMS)), self.number(column))
        ends = builder.add(
            self.everywhere(builder.load(builder.gep(row, [depth])), self.vector), self.read(right, line)
        )
        found = builder.sub(ends, builder.add(products, products))
        return builder.fmul(builder.sitofp(found, results), self.everywhere(scale, results))

    @staticmethod
    def number(value):
        return ir.Constant(ir.IntType(64), value)

    def everywhere(self, x, kind):
        """A vector with x in each lane."""
        undefined = ir.Constant(kind, ir.Undefined)
        one = self.builder.insert_element(undefined, x, ir.Constant(ir.IntType(32), 0))
        same = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(one, undefined, same)

    def read(self, base, offset):
        builder = self.builder
        found = builder.load(builder.bitcast(builder.gep(base, [offset]), self.vector.as_pointer()))
        found.align = 4 if self.words else self.size
        return found

    def plus_product(self, total, x, factor):
        builder = self.builder
        if self.words:
            kind = ir.FunctionType(self.vector, [self.vector] * 3)
            four = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512.vpdpbusd.512")
            return builder.call(four, [total, x, factor])
        fused = ("contract",)
        return builder.fadd(total, builder.fmul(x, factor, flags=fused), flags=fused)


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
    """Panels of rows[index] times ``scale``; with ``swap`` the last two columns are 1 and the last but one, unscaled."""
    k = rows.shape[1]
    by = rows.dtype.type(scale)
    inner = k - 2 if swap else k
    for p in range(panels.shape[0]):
        panel = panels[p]
        count = min(TERMS, index.size - p * TERMS)
        for j in range(count):
            row = rows[index[p * TERMS + j]]
            for c in range(inner):
                panel[c, j] = by * row[c]
            if swap:
                panel[k - 2, j] = rows.dtype.type(1.0)
                panel[k - 1, j] = row[k - 2]
        for c in range(k):
            for j in range(count, TERMS):
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
    """out += K v; where there are ``rates``, one for each panel, off grows as `float32_error` says. v has one sign in each panel
    but the one called ``mixed``."""
    tile = np.empty((GROUP, TERMS), v.dtype)
    n = left.shape[0]
    height = max(8, LEFT_CACHE_BYTES // (left.shape[1] * left.itemsize * GROUP)) * GROUP
    for above in range(0, n, height):
        below = min(n, above + height)
        for p in range(panels.shape[0]):
            w = v[p * TERMS : (p + 1) * TERMS]
            for start in range(above, below, GROUP):
                product(left, start, panels[p], tile, shift)
                if degree is not None:
                    _map(tile, kind, degree, shift)
                for i in range(min(GROUP, below - start)):
                    row = tile[i]
                    s = v.dtype.type(0.0)
                    if kind == 1:
                        for j in range(TERMS):
                            s += _exp(row[j]) * w[j]
                    else:
                        for j in range(TERMS):
                            s += row[j] * w[j]
                    out[start + i] += s
                    if rates is not None and rates.size:
                        if p == mixed:
                            s = v.dtype.type(0.0)
                            for j in range(TERMS):
                                s += _exp(row[j]) * abs(w[j])
                        size = abs(float(s))
                        off[start + i, 0] += rates[p] * size
                        off[start + i, 1] += size


@compiled(vectorise=True)
def add_both(left, panels, w, v, kind, degree, shift, out, across):
    """out += K w and across += K'v."""
    tile, own = np.empty((GROUP, TERMS), w.dtype), np.zeros(GROUP, w.dtype)
    n = left.shape[0]
    for p in range(panels.shape[0]):
        u, down = w[p * TERMS : (p + 1) * TERMS], across[p * TERMS : (p + 1) * TERMS]
        for start in range(0, n, GROUP):
            product(left, start, panels[p], tile, shift)
            if degree is not None:
                _map(tile, kind, degree, shift)
            for i in range(GROUP):
                row = tile[i]
                s = w.dtype.type(0.0)
                if kind == 1:
                    for j in range(TERMS):
                        row[j] = _exp(row[j])
                        s += row[j] * u[j]
                else:
                    for j in range(TERMS):
                        s += row[j] * u[j]
                own[i] = 0.0
                if start + i < n:
                    out[start + i] += s
                    own[i] = v[start + i]
            a, b, c, d, e, f = own[0], own[1], own[2], own[3], own[4], own[5]
            for j in range(TERMS):
                s = a * tile[0, j] + b * tile[1, j] + c * tile[2, j]
                down[j] += s + (d * tile[3, j] + e * tile[4, j] + f * tile[5, j])


@compiled(vectorise=True)
def fill(left, panels, kind, degree, shift, out):
    """out = K, as far as it has columns."""
    tile = np.empty((GROUP, TERMS), out.dtype)
    n = left.shape[0]
    height = max(8, LEFT_CACHE_BYTES // (left.shape[1] * left.itemsize * GROUP)) * GROUP
    for above in range(0, n, height):
        below = min(n, above + height)
        for p in range(panels.shape[0]):
            for start in range(above, below, GROUP):
                product(left, start, panels[p], tile, shift)
                if degree is not None:
                    _map(tile, kind, degree, shift)
                for i in range(min(GROUP, below - start)):
                    into, row = out[start + i, p * TERMS : (p + 1) * TERMS], tile[i]
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
    tile, some = np.empty((GROUP, TERMS), out.dtype), np.empty((height, TERMS), out.dtype)
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
                    for j in range(TERMS):
                        into[j] = row[j]
            for j in range(min(TERMS, out.shape[0] - p * TERMS)):
                down = out[p * TERMS + j, above:below]
                for i in range(down.size):
                    down[i] = some[i, j]

"""sum_k t_k t_k' of a few narrow rows, held in vector registers.

A BLAS packs both factors before it multiplies, which costs as much as the product where the rows have some tens of
columns.  Here four columns times up to `MAX_VECTORS` vectors of columns stay in registers while the rows of a tile, which lies
in the first-level cache, pass by.  Only the lower triangle is computed.  Every entry is one sum, row after row: its
bits do not depend on the width of the registers.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gapless._compile.jit import compiled, instruction
from gapless._compile.kernel_store import features
from gapless._compile.on_demand import cgutils, ir, types, when_awake

#: Rows of a tile.
TILE_ROWS = 32
#: Columns of the left factor that stay in registers together.
COLUMNS_AT_ONCE = 4
#: Numbers in a vector, and vectors that stay in registers for each of four columns, where registers have 256 bits.
VECTOR_LANES, MAX_VECTORS = 4, 2


def _use_wide_registers() -> None:
    """The same for registers of 512 bits. Only numba's room knows the processor that kernels are for."""
    global VECTOR_LANES, MAX_VECTORS
    if features().get("avx512f"):
        VECTOR_LANES, MAX_VECTORS = 8, 4


when_awake(_use_wide_registers)


def tile_width(columns: int) -> int:
    """The width of a tile for ``columns`` columns: a multiple of 8."""
    return -(-columns // 8) * 8


def _block(most: int):
    """out[i : i + 4, j : j + vectors VECTOR_LANES] += sum over k < count of tile[k, i : i + 4] outer tile[k, j : ...], with
    as many vectors as asked for and as there are registers for."""

    def plain(tile, width, i, j, count, out):
        rows, more = tile.reshape(-1, width)[:count], slice(j, j + min(most, MAX_VECTORS) * VECTOR_LANES)
        sums = out.reshape(-1, width)[i : i + COLUMNS_AT_ONCE, more]
        sums += rows[:, i : i + COLUMNS_AT_ONCE].T @ rows[:, more]

    @instruction(plain)
    def block(typingctx, tile, width, i, j, count, out):
        def build(context, builder, signature, arguments):
            vectors, kind = min(most, MAX_VECTORS), ir.VectorType(ir.DoubleType(), VECTOR_LANES)
            lane, nothing = ir.VectorType(ir.IntType(32), VECTOR_LANES), ir.Constant(kind, ir.Undefined)
            source, across, row, column, rows, target = arguments
            source = context.make_array(signature.args[0])(context, builder, source).data
            target = context.make_array(signature.args[5])(context, builder, target).data

            def place(start, first, second, more):
                """The address of start[first * across + second + more], as that of a number."""
                at = builder.add(builder.mul(first, across), builder.add(second, ir.Constant(second.type, more)))
                return builder.gep(start, [at])

            def vector(pointer):
                return builder.bitcast(pointer, kind.as_pointer())

            def entry(a, v):
                return vector(place(target, builder.add(row, ir.Constant(row.type, a)), column, v * VECTOR_LANES))

            sums = {}
            for a in range(COLUMNS_AT_ONCE):
                for v in range(vectors):
                    sums[a, v] = cgutils.alloca_once(builder, kind)
                    builder.store(builder.load(entry(a, v), align=8), sums[a, v])
            multiply_add = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(kind, [kind] * 3), f"llvm.fma.v{VECTOR_LANES}f64"
            )
            with cgutils.for_range(builder, rows) as loop:
                right = [
                    builder.load(vector(place(source, loop.index, column, v * VECTOR_LANES)), align=8)
                    for v in range(vectors)
                ]
                for a in range(COLUMNS_AT_ONCE):
                    one = builder.load(place(source, loop.index, row, a))
                    one = builder.insert_element(nothing, one, ir.Constant(ir.IntType(32), 0))
                    same = builder.shuffle_vector(one, nothing, ir.Constant(lane, [0] * VECTOR_LANES))
                    for v in range(vectors):
                        more = builder.call(multiply_add, [same, right[v], builder.load(sums[a, v])])
                        builder.store(more, sums[a, v])
            for (a, v), total in sums.items():
                builder.store(builder.load(total), entry(a, v), align=8)
            return context.get_dummy_value()

        return types.void(tile, types.intp, types.intp, types.intp, types.intp, out), build

    return block


_add_one_vector, _add_two_vectors, _add_three_vectors, _add_four_vectors = (_block(vectors) for vectors in (1, 2, 3, 4))


@compiled
def add_outer(tile, columns, count, out):
    """Adds t_k t_k' of the first ``count`` rows of ``tile`` to the lower triangle of ``out``.

    Both are as wide as `tile_width` says, and what a tile has beyond ``columns`` is finite; ``out`` is square.
    """
    width = out.shape[1]
    flat, sums = tile.reshape(tile.size), out.reshape(out.size)
    for i in range(0, columns, COLUMNS_AT_ONCE):
        left = (i + COLUMNS_AT_ONCE + VECTOR_LANES - 1) // VECTOR_LANES
        j = 0
        while left > 0:
            turns = (left + MAX_VECTORS - 1) // MAX_VECTORS
            vectors = (left + turns - 1) // turns
            if vectors == 1:
                _add_one_vector(flat, width, i, j, count, sums)
            elif vectors == 2:
                _add_two_vectors(flat, width, i, j, count, sums)
            elif vectors == 3:
                _add_three_vectors(flat, width, i, j, count, sums)
            else:
                _add_four_vectors(flat, width, i, j, count, sums)
            j += vectors * VECTOR_LANES
            left -= vectors


def mirror_triangle(lower: np.ndarray, columns: int) -> np.ndarray:
    """The symmetric matrix of ``columns`` columns with this lower triangle."""
    part = lower[:columns, :columns]
    return np.where(_lower_triangle(columns), part, part.T)


@lru_cache(maxsize=8)
def _lower_triangle(columns: int) -> np.ndarray:
    return np.tri(columns, dtype=bool)

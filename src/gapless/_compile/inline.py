"""Verbs that numba writes into the kernel which asks for them.

numba's ``@overload(verb, inline="always")`` compiles the whole function before it inlines it, once for each set of compiler
options, and infers its types again at every look at the call. Neither result is used. ``inlined`` infers the types once.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from numba import njit
from numba.extending import overload

try:
    from numba.core import compiler, ir_utils, typed_passes
    from numba.core.inline_closurecall import InlineWorker
    from numba.core.types import Function
    from numba.core.typing.templates import (
        Signature,
        _EmptyImplementationEntry,
        _inline_info,
        _OverloadFunctionTemplate,
        infer,
        infer_global,
        make_overload_template,
    )

    INFERS_ONCE = True
except ImportError:  # a numba with other internals than those of 0.62 to 0.68: its own way, which compiles for longer
    _OverloadFunctionTemplate = object
    INFERS_ONCE = False


class _Use(dict):  # type: ignore[type-arg]
    """What the inliner asks of a verb: at each call, names of variables that no other call in the kernel has."""

    def __getitem__(self, key: str) -> Any:
        found = super().__getitem__(key)
        if key != "iinfo":
            return found
        ir = found.func_ir.copy()
        ir.func_id = copy(ir.func_id)
        ir.func_id.unique_name = f"{ir.func_id.func_qualname}${next(ir.func_id._unique_ids)}"
        return found._replace(func_ir=ir)


class _Inlined(_OverloadFunctionTemplate):  # type: ignore[misc]
    def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        """The signature of a call with these types; what the inliner needs is kept in ``_inline_overloads``."""
        call = args, tuple(kws.items())
        if call not in self._impl_cache:
            function = self._overload_func(*args, **kws)
            self._impl_cache[call] = None if function is None else self._typed(function, args, kws)
        return self._impl_cache[call]

    def _typed(self, function: Any, args: tuple[Any, ...], kws: dict[str, Any]) -> Signature:
        front = njit(function)._compiler
        _, args = front.fold_argument_types(args, kws)
        context, target, flags = self.context, front.targetdescr.target_context, compiler.Flags()
        pipeline = front.pipeline_class(context, target, None, None, None, flags, None)
        worker = InlineWorker(context, target, front.locals, pipeline, flags, None)
        ir = worker.run_untyped_passes(function, enable_ssa=True)
        types, returned, calls = typed_passes.type_inference_stage(context, target, ir, args, None)[:3]
        ir = typed_passes.PreLowerStripPhis()._strip_phi_nodes(ir)
        ir._definitions = ir_utils.build_definitions(ir.blocks)
        signature = Signature(returned, args, None)
        self._inline_overloads[args] = _Use(folded_args=args, iinfo=_inline_info(ir, types, calls, signature))
        self._compiled_overloads[args] = _EmptyImplementationEntry("always inlined")
        return signature


def inlined(verb: Any) -> Callable[[Any], Any]:
    """As numba's ``overload(verb, inline="always")``: the function below gives, for the types of a call, what is inlined."""
    if not INFERS_ONCE:
        return overload(verb, inline="always")

    def bind(choose: Any) -> Any:
        made = make_overload_template(verb, choose, {}, True, "always")
        template = type(made)(made.__name__, (_Inlined,), dict(made.__dict__))
        infer(template)
        infer_global(verb, Function(template))
        return choose

    return bind

"""gapless doctor: what this installation has, what is off and why, and one fit that is checked."""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

import gapless
from gapless._compile import kernel_store as store
from gapless._compile.kernel_keys import PACKAGE
from gapless._compile.processor import HOST
from gapless._runtime.versions import versions
from gapless._runtime.written import written
from gapless.cli import options
from gapless.cli.commands.doctor_plan import print_plan
from gapless.cli.guard import Code, guarded, one_line
from gapless.cli.output import certificate_figures, print_json, print_line, print_title

# extra -> the modules it brings
EXTRAS = {
    "plots": ("matplotlib",),
    "report": ("matplotlib", "jinja2"),
    "data": ("pyarrow",),
    "tune": ("bayes_opt",),
    "convex": ("cvxpy",),
    "lab": ("starlette", "uvicorn", "websockets", "anywidget"),
    "gpu": ("torch", "triton"),
    "dask": ("dask", "distributed"),
    "onnx": ("onnx", "onnxruntime", "skl2onnx"),
}


@guarded
def doctor(
    numbers: Annotated[
        list[str] | None, typer.Argument(metavar="NAME=NUMBER", help="with --plan: rows=1e9 columns=100 workers=100")
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="say what a fit of rows in blocks would take: rounds, bytes, seconds")
    ] = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Say what this installation has, what is off and why; fit a small model and have it checked. Or plan a large fit."""
    if plan:
        print_plan(numbers or (), json)
        return
    if numbers:
        raise typer.BadParameter(f"{written(numbers[0])}: numbers go with --plan")
    facts: dict[str, Any] = dict(versions())
    facts["cpu"] = _cpu()
    facts["kernels"] = _kernels()
    facts["extras"] = {name: _extra(name, modules) for name, modules in EXTRAS.items()}
    test = _self_test()
    code = 0 if test["ok"] else Code.false
    if json:
        print_json({"command": "doctor", **facts, "self_test": test, "exit": code})
        raise typer.Exit(code)
    for group, entries in facts.items():
        print_title(group)
        width = max(map(len, entries))
        for name, value in entries.items():
            print(f"  {name:<{width}}  {value}")
    print_title("self-test")
    for name, text in (("fit", test.get("sentence")), ("judge", test["judge"])):
        if text:
            print_line(f"  {name}", text)
    print_line("  result", "all is well" if test["ok"] else "FAILED")
    raise typer.Exit(code)


def _cpu() -> dict[str, str]:
    """The processor numba compiles for."""
    features = ("sse4.2", "avx", "avx2", "fma", "avx512f", "avx512bf16", "amx-bf16", "neon", "sve")
    try:
        import llvmlite.binding as llvm

        present = llvm.get_host_cpu_features()
        found = [name for name in features if present.get(name)]
        return {"target": llvm.get_host_cpu_name(), "vectors": ", ".join(found) or "none known"}
    except Exception as error:  # a report must come out of any installation
        return {"target": platform.machine(), "vectors": f"unknown ({one_line(error)})"}


def _kernels() -> dict[str, str]:
    """Where compiled kernels are kept, how many there are, and for which processor, Python and numba."""
    try:
        folder, others, refused = store.places()
        target, level, wheel, here = store.target(), store.level(), store.wheel(), store.about(store.level())
        facts = {"place": _place(folder), "folder": os.fspath(folder), "compiled": _counted(store.kept(folder))}
        if others:
            facts["also read"] = ", ".join(f"{place} ({_counted(store.kept(place))})" for place in others)
        if os.environ.get("GAPLESS_CACHE"):
            facts["GAPLESS_CACHE"] = refused or os.environ["GAPLESS_CACHE"]
        if wheel is not None and wheel.folder is not None:
            facts["wheel"] = _counted(store.kept(wheel.folder))
        else:
            facts["wheel"] = "brings none" if wheel is None else f"its kernels are not used: {wheel.reason}"
        if level == HOST:
            facts["processor"] = f"{target}, this one"
        else:
            facts["processor"] = (
                f"{target}, a level that others share; `gapless warmup` compiles for this one from then on"
            )
        return facts | {"compiler": f"numba {here['numba']}, llvmlite {here['llvmlite']}, {here['python']}"}
    except Exception as error:  # a report must come out of any installation
        return {"place": f"unknown ({one_line(error)})"}


def _place(folder: Path) -> str:
    if os.environ.get("GAPLESS_CACHE") and Path(os.environ["GAPLESS_CACHE"]).expanduser().absolute() == folder.parent:
        return "the folder that GAPLESS_CACHE names"
    if PACKAGE in folder.parents:
        return "in the install (writable)"
    if Path(tempfile.gettempdir()).resolve() in folder.resolve().parents:
        return "a temporary folder (the install and the user's cache cannot be written to)"
    return "the user's cache (the install cannot be written to)"


def _counted(kept: dict[str, tuple[int, int]]) -> str:
    """Kernels by processor, in words."""
    if not kept:
        return "none yet; `gapless warmup` compiles all"
    return "; ".join(f"{count} kernels for {name}, {size / 1e6:.1f} MB" for name, (count, size) in sorted(kept.items()))


def _extra(name: str, modules: tuple[str, ...]) -> str:
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        named = ", ".join([*missing[:-2], " and ".join(missing[-2:])])
        return f"off: {named} not installed (pip install 'gapless[{name}]')"
    if name != "gpu":
        return "present"
    try:
        torch = importlib.import_module("torch")
    except Exception as error:  # a broken torch must not break the report
        return f"off: torch cannot be imported ({one_line(error)})"
    if not torch.cuda.is_available():
        return f"off: torch {torch.__version__} sees no CUDA device"
    return f"present: {torch.cuda.get_device_name(0)}"


def _self_test() -> dict[str, Any]:
    """A small fit, judged on its own data."""
    import numpy as np

    try:
        t = np.linspace(0.0, 1.0, 200)
        X = np.column_stack([np.sin(7 * t), np.cos(11 * t), t])
        y = np.where(X[:, 0] + X[:, 1] + 0.3 * np.sin(50 * t) > 0.2, "yes", "no")
        model = gapless.LinearSVC(loss="hinge").fit(X, y)
        verdict = gapless.verify(model, X, y)
        proof = model.certificate_
        ok = bool(verdict) and proof.status == "converged"
        judged = f"{'true' if verdict else 'FALSE'}, {len(verdict.claims)} claims recomputed"
        return {"ok": ok, "sentence": str(proof), "judge": judged, "certificate": certificate_figures(proof)}
    except Exception as error:
        return {"ok": False, "judge": f"the fit failed: {type(error).__name__}: {one_line(error)}"}

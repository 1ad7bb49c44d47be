"""A wheel with compiled kernels inside: `python packaging/kernel_wheel.py dist/gapless-*-py3-none-any.whl`.

It is written beside the plain wheel, for this Python, this numba and one portable level of processors, and says so in its
name: gapless-VERSION-1.LEVEL.numbaVERSION-cp311-cp311-linux_x86_64.whl. `gapless._compile.kernel_store` uses its kernels
where all of that fits, and compiles where it does not.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import io
import json
import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

LEVEL = "x86-64-v3"
#: The first date that a zip file can hold: the same kernels give the same bytes on any day.
DATE = (1980, 1, 1, 0, 0, 0)

#: What the kernels are for, as the package itself states it; or why there can be none.
ASK = """
import json, sys
from gapless._compile import kernel_store as _kernel_store
from gapless._compile import processor as _processor
lacking = _processor.lacking(sys.argv[1])
print(json.dumps({"lacking": lacking, "about": _kernel_store.about(sys.argv[1]), "folder": str(_kernel_store.cache_folder())}))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path, help="the plain wheel")
    parser.add_argument("--for", dest="names", help="only the kernels of these estimators and commands")
    parser.add_argument("--rows", help="only the kernels of such rows")
    given = parser.parse_args()
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        print(
            f"no wheel with kernels: {LEVEL} is of Linux on x86_64, and this is {sys.platform} on {platform.machine()}"
        )
        return 0
    with tempfile.TemporaryDirectory(prefix="gapless-wheel-") as folder:
        site, cache = Path(folder) / "site", Path(folder) / "cache"
        with zipfile.ZipFile(given.wheel) as plain:
            plain.extractall(site)
        known = {name: value for name, value in os.environ.items() if not name.startswith(("GAPLESS", "NUMBA"))}
        env = {**known, "PYTHONPATH": str(site), "GAPLESS_CACHE": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
        found = json.loads(
            subprocess.run([sys.executable, "-c", ASK, LEVEL], env=env, check=True, stdout=subprocess.PIPE).stdout
        )
        if found["lacking"]:
            print(f"no wheel with kernels: this processor lacks {', '.join(found['lacking'])} of {LEVEL}")
            return 0
        wishes = {"--for": given.names, "--rows": given.rows}
        only = [word for option, value in wishes.items() if value is not None for word in (option, value)]
        env["GAPLESS_PROCESSOR"] = LEVEL
        subprocess.run([sys.executable, "-m", "gapless", "warmup", *only], env=env, check=True)
        kernels = Path(found["folder"])
        inside = site / "gapless" / "_wheel_kernels"
        count = 0
        for file in sorted(kernels.glob("*/*.nb[ic]")):
            target = inside / kernels.name / file.relative_to(kernels)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
            count += file.suffix == ".nbc"
        (inside / "about.json").write_text(json.dumps(found["about"], indent=1) + "\n", encoding="utf-8")
        made = write(site, given.wheel, found["about"]["numba"])
    print(f"{made} ({count} kernels, {made.stat().st_size / 1e6:.1f} MB)")
    return 0


def write(site: Path, plain: Path, numba: str) -> Path:
    """The wheel of an unpacked one, with its new tags and its record."""
    name, version = plain.name.split("-")[:2]
    info = site / f"{name}-{version}.dist-info"
    build = f"1.{LEVEL.replace('-', '_')}.numba{numba}"
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tag = f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    lines = [
        line
        for line in (info / "WHEEL").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith(("Tag:", "Build:", "Root-Is-Purelib:"))
    ]
    lines += ["Root-Is-Purelib: false", f"Build: {build}", f"Tag: {tag}"]
    (info / "WHEEL").write_text("\n".join(lines) + "\n", encoding="utf-8")
    record = info / "RECORD"
    files = sorted(path for path in site.rglob("*") if path.is_file() and path != record)
    rows = []
    for path in files:
        content = path.read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append((path.relative_to(site).as_posix(), f"sha256={digest}", str(len(content))))
    rows.append((record.relative_to(site).as_posix(), "", ""))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    record.write_text(text.getvalue(), encoding="utf-8")
    made = plain.with_name(f"{name}-{version}-{build}-{tag}.whl")
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path in [*files, record]:
            entry = zipfile.ZipInfo(path.relative_to(site).as_posix(), DATE)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            wheel.writestr(entry, path.read_bytes())
    return made


if __name__ == "__main__":
    sys.exit(main())

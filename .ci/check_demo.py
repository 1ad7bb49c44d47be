"""Check what `make demo` printed and wrote: a model that a reader can trust, chosen among all five kinds."""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path

LARGEST_ERROR = 6.0  # per cent of the held-out rows
LARGEST_GAP = 1e-4
KINDS = ("linear SVM", "logistic", "AdaBoost", "bagging", "RBF SVM")


def check(printed: str, home: Path) -> list[str]:
    """Every way in which the demo falls short, as a sentence; none where all is well."""
    faults = []
    rows = {kind: re.search(rf"^[* ] +{kind} .*$", printed, re.MULTILINE) for kind in KINDS}
    faults += [f"{kind} was not tried" for kind, row in rows.items() if row is None]
    if re.search(r"^not tried", printed, re.MULTILINE):
        faults.append("a kind is listed as not tried")
    chosen = [row[0] for row in rows.values() if row is not None and row[0].startswith("*")]
    if len(chosen) != 1:
        faults.append(f"{len(chosen)} kinds are marked as chosen")
    error = re.search(r"^test +error ([\d.]+) %", printed, re.MULTILINE)
    if error is None:
        faults.append("the error on the held-out rows was not printed")
    elif not float(error[1]) < LARGEST_ERROR:
        faults.append(f"the chosen model errs on {error[1]} % of the held-out rows, {LARGEST_ERROR:g} % is the most")
    with zipfile.ZipFile(home / "cancer.gapless") as archive:
        certificate = json.loads(archive.read("model.json"))["certificate"]
    if not certificate.get("relative_gap", float("inf")) <= LARGEST_GAP:
        faults.append(f"the relative gap is {certificate.get('relative_gap')}, {LARGEST_GAP:g} is the most")
    if "exit code 0: every claim holds" not in printed:
        faults.append("the judge did not confirm the model")
    if "exit code 1: the forgery is found" not in printed:
        faults.append("the forged model was not refused")
    page = home / "cancer.html"
    if not page.is_file() or "</html>" not in page.read_text(encoding="utf-8"):
        faults.append("there is no report")
    return faults


if __name__ == "__main__":
    found = check(Path(sys.argv[1]).read_text(encoding="utf-8"), Path("gapless-demo"))
    for fault in found:
        print(f"make demo: {fault}")
    print("make demo: as it should be" if not found else f"make demo: {len(found)} faults")
    sys.exit(bool(found))

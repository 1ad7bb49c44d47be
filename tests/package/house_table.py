"""The house as a table: family x room, the words that a family once had, and what a room holds beside its families.

A family has one word, in every room: a file ``word.py``, files ``word_*.py``, or a folder ``word/``. Where a family has
nothing in a room, the table says why. `tests/package/test_house.py` holds the tree to it.

    python -m tests.package.house_table        what departs from the table; rewrites the table in ARCHITECTURE.md
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "gapless"

FAMILIES = {
    "linear": "hinge, squared hinge, logistic and softmax with a penalty; the path in C",
    "kernel": "SVC, NuSVC, SVR, NuSVR, OneClassSVM: one dual form",
    "hard_margin": "C = infinity",
    "likelihood": "logistic regression without a penalty",
    "least_squares": "least squares, with and without a penalty",
    "sparse": "penalties that leave coefficients at 0, or keep their signs",
    "gaussian": "Gaussian classes and Bayes' rule",
    "perceptron": "the perceptron and its bound on mistakes",
    "separation": "can the classes be separated, and why not",
    "tree": "decision trees",
    "boosting": "AdaBoost",
    "bagging": "bags of rows",
    "descent": "steps that can be watched",
}

#: Room -> where it lies. Each family has its word there, or a reason in NOTHING.
ROOMS = {
    "problems": "src/gapless/problems",
    "solvers": "src/gapless/solvers",
    "certificates": "src/gapless/certificates",
    "judge": "src/gapless/judge",
    "fits": "src/gapless/fits",
    "tests": "tests",
    "docs": "docs",
}

GREEDY = "greedy: nothing is minimised"
CLOSED = "closed form: moments, nothing is minimised"
#: (family, room) -> why there is nothing.
NOTHING = {
    ("gaussian", "problems"): CLOSED,
    ("perceptron", "problems"): "it minimises nothing: a rule of updates",
    ("tree", "problems"): GREEDY,
    ("boosting", "problems"): GREEDY,
    ("bagging", "problems"): GREEDY,
    ("hard_margin", "certificates"): "a gap, as `linear` and `kernel` state it",
    ("hard_margin", "judge"): "judged by `linear` and `kernel`: the loss named hard",
    ("descent", "certificates"): "its runs are certified by the family of their objective",
    ("descent", "judge"): "judged by the family of its objective",
    ("descent", "fits"): "`fits/linear` calls `solvers/descent/as_solver`",
    ("separation", "fits"): "`separability` is a reading of data, not an estimator: `certificates/separation`",
    ("gaussian", "fits"): "closed form: the estimators call `solvers/gaussian`",
    ("bagging", "fits"): "`estimators/bagging` fits copies of its base learner",
}

#: What a room holds beside the families: name -> what it is.
SHARED = {
    "problems": {
        "multinomial": "linear: softmax, all classes in one problem",
        "constant": "the best constant, which a fit that was stopped at once returns",
        "units_of_C": "C in other units",
        "r_squared": "R², of least squares and of every regressor",
        "examples": "the verbs that solvers ask of all examples at once",
    },
    "solvers": {
        "loop": "iteration, stopping, history, interruption",
        "solution": "what a solver returns",
        "line_search": "step lengths of Newton's methods",
        "newton_system": "H v = g by factors",
        "newton_system_cg": "H v = g by conjugate gradients",
        "newton_system_softmax": "H v = g where examples are fewer than features",
        "exact": "fractions, for separation",
    },
    "certificates": {
        "base": "what certificates have in common",
        "model_document": "what a model file says of the model",
        "fingerprint": "which rows, labels and weights a claim is about",
        "subproblem": "the gap of one problem: of a fit, or of one class against the rest",
        "verify": "the judge, asked",
        "confirmation": "the judge, asked by the fit itself where scales are odd",
    },
    "judge": {
        "check": "one head for all kinds",
        "case": "a document with its data; the claims that families share",
        "kinds": "the registry of the families",
        "form": "the form of a document: its schema, its entries, documents inside it",
        "verdict": "claims and their verdict",
        "walked": "data that are read block by block",
        "errors": "what the judge raises",
        "schema_page": "the schema for the docs",
        "same_data": "whether the data are those of the fit",
        "classes": "labels to classes, weights",
        "rows": "the judge's own rows",
        "fingerprint": "hashes of the data",
        "training_rows": "hashes of single rows",
        "starting": "Ctrl-C while it loads",
        "arithmetic": "comparisons, rounding, elementary functions",
        "files": "its own readers",
        "bounds": "what is said of new rows",
        "__main__": "the command",
    },
    "fits": {
        "frame": "the clock, the threads and the warnings of a fit",
        "blocks": "linear, least_squares: the same where rows lie in blocks",
    },
    "tests": dict.fromkeys(
        [
            "certificates",
            "cli",
            "encode",
            "files",
            "ecosystem",
            "fuzz",
            "sklearn_suite",
            "gram",
            "judge",
            "lab",
            "losses",
            "package",
            "penalties",
            "pages",
            "plots",
            "problems",
            "readings",
            "rows",
            "theory",
            "tuning",
        ],
        "a room",
    )
    | {
        "cold": "first fits in processes without kernels",
        "docs": "the code and the completeness of the pages",
        "matrix": "every estimator x data x option",
        "notes": "a program for each row of the notes",
        "reference": "published optima",
        "shared_data": "data sets that are not in the repository",
        "stream": "rows in blocks, in files",
    },
    "docs": dict.fromkeys(
        [
            "api",
            "bounds",
            "certificates",
            "checked",
            "backends",
            "cold_start",
            "corrections",
            "files",
            "formulas",
            "gallery",
            "gpu",
            "index",
            "lab",
            "letters",
            "losses",
            "model_file",
            "path",
            "certificate_by_hand",
            "errors",
            "faq",
            "from_scikit_learn",
            "guides",
            "imbalance",
            "quickstart",
            "report",
            "scaling",
            "theory",
            "tuning",
            "which",
        ],
        "a topic",
    )
    | {
        "conf": "Sphinx",
        "extensions": "what runs the code of a page, writes a page for each public name, and makes notebooks",
    },
}

#: Words that families had before. No file or folder is called by them.
FORMER = {
    "linear_erm": "linear",
    "linear_risk": "descent",
    "kernel_machine": "kernel",
    "kernel_machines": "kernel",
    "kernel_dual": "kernel",
    "unpenalised": "likelihood",
    "newton_unpenalised": "likelihood",
    "orthogonality": "least_squares",
    "closed_form": "least_squares",
    "mistakes": "perceptron",
    "moments": "gaussian",
    "discriminant": "gaussian",
    "ensemble": "bagging",
    "ensembles": "boosting and bagging",
    "gradient": "likelihood (its certificate) or descent (its solvers)",
    "trees": "tree",
    "stated": "base",
    "normal_equations": "newton_system",
    "convert": "units_of_C",
    "gap": "linear",
}
#: (path below the repository, why its name may be a former word).
FORMER_KEPT = {
    "src/gapless/plots/models/mistakes.py": "the public MistakesDisplay",
    "src/gapless/plots/optimisation/gap.py": "the public GapDisplay",
    "src/gapless/estimators/shared/kernel_machine.py": "the base class KernelMachine of five estimators",
    "src/gapless/estimators/shared/ensemble.py": "what bagging and boosting share",
    "src/gapless/lab/scenes/ensembles.py": "bagging and boosting in one scene",
    "src/gapless/solvers/least_squares/normal_equations.py": "here they are meant: XᵀXw = Xᵀy",
    "benchmarks/studies/ensembles.py": "bagging and boosting in one study",
}


def names_in(folder: Path) -> set[str]:
    """The names of modules, pages and folders in a room."""
    kept = {".py", ".md"}
    return {
        entry.stem
        for entry in folder.iterdir()
        if entry.name not in ("__pycache__", "_build", "__init__.py") and (entry.suffix in kept or holds_files(entry))
    }


def holds_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.rglob("*.py"))


def belongs(name: str, family: str) -> bool:
    return name == family or name.startswith(f"{family}_")


def family_of(name: str) -> str | None:
    """The family whose word a name begins with; the longest, so that hard_margin_kernel is hard_margin's."""
    return max((family for family in FAMILIES if belongs(name, family)), key=len, default=None)


def faults(root: Path = ROOT) -> list[str]:
    """Every way in which the tree departs from the table, as a sentence."""
    found = []
    for room, place in ROOMS.items():
        names = names_in(root / place)
        families = {family_of(name) for name in names}
        for name in sorted(names):
            if family_of(name) is None and name not in SHARED[room]:
                found.append(f"{place}/{name} is of no family, and not in the list of what {room} shares")
        found += [
            f"{place}/{name} is in the list of what {room} shares, and not there"
            for name in sorted(set(SHARED[room]) - names)
        ]
        for family in FAMILIES:
            said = (family, room) in NOTHING
            if family not in families and not said:
                found.append(f"{family} has nothing in {room}, and the table does not say why")
            if family in families and said:
                found.append(f"{family} has something in {room}, and the table says that it has not")
    for path in sorted([*(root / "src").rglob("*"), *(root / "tests").rglob("*"), *(root / "benchmarks").rglob("*")]):
        word = path.stem.strip("_").removeprefix("test_")
        place = path.relative_to(root).as_posix()
        if (path.suffix == ".py" or holds_files(path)) and word in FORMER and place not in FORMER_KEPT:
            found.append(f"{place} has a former word of a family: {FORMER[word]} is the word")
    return found


def as_markdown() -> str:
    """The table family x room, for ARCHITECTURE.md."""
    rooms = [room for room in ROOMS if room not in ("tests", "docs")]
    lines = ["| family | " + " | ".join(rooms) + " |", "|---" * (len(rooms) + 1) + "|"]
    for family in FAMILIES:
        cells = []
        for room in rooms:
            names = sorted(name for name in names_in(ROOT / ROOMS[room]) if family_of(name) == family)
            folder = ROOT / ROOMS[room]
            shown = [f"`{name}/`" if (folder / name).is_dir() else f"`{name}`" for name in names]
            cells.append(", ".join(shown) if shown else "–")
        lines.append(f"| **{family}** | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def with_table(page: str, table: str) -> str:
    """The text of ARCHITECTURE.md with this table in the place of the one with the same first line; all else stays."""
    lines = page.splitlines(keepends=True)
    head = table.splitlines(keepends=True)[0]
    places = [number for number, line in enumerate(lines) if line == head]
    if len(places) != 1:
        raise ValueError(
            f"ARCHITECTURE.md has {len(places)} tables that begin with {head.strip()}, and this writes one"
        )
    end = start = places[0]
    while end < len(lines) and lines[end].startswith("|"):
        end += 1
    return "".join((*lines[:start], table, *lines[end:]))


def write() -> None:
    """Put the table into ARCHITECTURE.md, in the place of the one that stands there."""
    page = ROOT / "ARCHITECTURE.md"
    page.write_text(with_table(page.read_text("utf-8"), as_markdown()), encoding="utf-8")


if __name__ == "__main__":
    print("\n".join(faults()) or "every file has its place")
    write()

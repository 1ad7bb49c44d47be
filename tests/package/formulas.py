"""From each formula of the notes to the line that computes it: ``python -m tests.package.formulas > docs/formulas.md``.

An entry names a file of src/gapless and a function or class in it (``Class.method`` for a method). The page has the line
where that is defined, so it is made anew whenever a file changes; `test_formulas.py` fails when an entry leads nowhere, or
when the page is stale.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "gapless"


class Formula(NamedTuple):
    """A formula, the rows of the notes that it is in, and where it is computed."""

    rows: str
    says: str
    places: tuple[str, ...]


TOPICS: dict[str, list[Formula]] = {
    "Losses": [
        Formula("S07 S10", "hinge: max(0, 1 − yz)", ("losses/hinge.py Hinge", "losses/compiled/hinge.py value")),
        Formula(
            "S10",
            "squared hinge: max(0, 1 − yz)²",
            ("losses/squared_hinge.py SquaredHinge", "losses/compiled/squared_hinge.py value"),
        ),
        Formula(
            "S17", "logistic: ln(1 + exp(−yz))", ("losses/logistic.py Logistic", "losses/compiled/logistic.py value")
        ),
        Formula("S17", "softmax: ln Σₖ exp(zₖ) − z_y", ("losses/softmax.py Softmax",)),
        Formula("S14", "squared: ½(y − z)²", ("losses/squared.py Squared",)),
        Formula("S05", "perceptron criterion: max(0, −yz)", ("losses/perceptron.py Perceptron",)),
    ],
    "Linear models": [
        Formula("S07 S10", "P = ½‖w‖² + Σ cᵢ ℓ(yᵢ, ⟨w, xᵢ⟩ + b)", ("problems/linear.py LinearProblem.primal",)),
        Formula("S10", "D = −Σ cᵢ ℓ*(yᵢ, −uᵢ/cᵢ) − ½‖Σ uᵢxᵢ‖²", ("problems/linear.py LinearProblem.dual",)),
        Formula("S07", "C = 1/(nλ)", ("problems/units_of_C.py convert",)),
        Formula("S09", "½‖w‖² where all y f ≥ 1", ("problems/hard_margin.py HardMargin.primal",)),
        Formula(
            "S11",
            "α(1 − yf − ξ) = 0, (c − α)ξ = 0",
            ("readings/slackness.py slackness", "readings/slackness.py kernel_slackness"),
        ),
        Formula("S06", "γ = yf/‖w‖", ("readings/margins.py margins",)),
        Formula("S13", "the rows that give the model alone", ("readings/reduce.py reduce",)),
        Formula("S20", "θᵢ/‖θ‖ by name", ("readings/explain.py explain",)),
        Formula(
            "S34",
            "the break points of the path in C",
            ("solvers/linear/hinge_path.py hinge_path", "tuning/path/exact.py exact_path"),
        ),
        Formula("S17", "F − F* ≤ λ²ψ(s)", ("problems/likelihood.py bound",)),
    ],
    "Kernels": [
        Formula("S12", "exp(−γ‖x − x′‖²)", ("kernels/rbf.py RBF",)),
        Formula("S12", "(γ⟨x, x′⟩ + r)^p", ("kernels/polynomial.py Polynomial",)),
        Formula("S12", "tanh(γ⟨x, x′⟩ + r)", ("kernels/sigmoid.py Sigmoid",)),
        Formula("S12", "the kernel dual and its ν forms", ("problems/kernel.py KernelDual",)),
    ],
    "The perceptron": [
        Formula(
            "S01", "θ ← θ + ρyx at a mistake", ("solvers/perceptron_visits.py add_row", "solvers/perceptron.py Run")
        ),
        Formula(
            "S01",
            "at most (R/γ)² mistakes",
            ("certificates/perceptron.py mistake_bound", "certificates/perceptron.py most_mistakes"),
        ),
        Formula("S03", "a state that comes back: the cycle is a witness", ("solvers/perceptron.py drive",)),
        Formula(
            "S03",
            "multipliers that no hyperplane survives (Farkas)",
            ("solvers/separation/proofs.py Proof", "certificates/separation.py separability"),
        ),
    ],
    "Descent": [
        Formula(
            "S08 S15",
            "θ ← θ − η∇J, batch, one row at a time, mini-batch",
            ("solvers/descent/steps.py gradient_steps", "solvers/descent/steps.py sgd_steps"),
        ),
        Formula("S08", "ηₜ = 1/(λt), and other rates", ("solvers/descent/schedules.py Schedule",)),
        Formula(
            "S15", "Newton: H v = −g", ("solvers/linear/newton.py newton", "solvers/line_search.py find_step_length")
        ),
        Formula("S21", "J falls by η‖∇J‖²/2 where η ≤ 1/L", ("solvers/descent/trace.py Trace.step_condition",)),
    ],
    "Least squares": [
        Formula(
            "S14",
            "(XᵀX)⁻¹Xᵀy, and the pseudo-inverse",
            (
                "solvers/least_squares/normal_equations.py solve_by_cholesky",
                "solvers/least_squares/singular_values.py solve_by_singular_values",
            ),
        ),
        Formula("S14", "R² = 1 − rss/tss", ("problems/r_squared.py r_squared",)),
        Formula("S14", "Xᵀ(y − Xw) = 0", ("problems/least_squares.py LeastSquares.orthogonality",)),
    ],
    "Gaussian classes, and costs": [
        Formula(
            "S19",
            "P(k | x) = πₖpₖ(x)/Σ",
            ("theory/samples/bayes_rule.py bayes_rule", "solvers/gaussian.py log_posterior"),
        ),
        Formula("S19", "μₖ, Σ, Σₖ, πₖ", ("solvers/gaussian.py moments",)),
        Formula("S18", "call 1 where p ≥ c₀₁/(c₀₁ + c₁₀)", ("tuning/threshold.py threshold_for",)),
        Formula("S17", "H(p, q) = −Σ p ln q", ("theory/samples/information.py cross_entropy",)),
    ],
    "Trees and ensembles": [
        Formula(
            "S25",
            "Gini Σp(1 − p), entropy −Σp ln p",
            ("losses/impurity.py impurity_classes", "solvers/tree/score.py score_classes"),
        ),
        Formula("S26", "1 − (1 − 1/n)ᵐ", ("solvers/bagging.py in_bag_probability",)),
        Formula("S26", "ρσ² + (1 − ρ)σ²/m", ("theory/samples/averaging.py averaging",)),
        Formula(
            "S27",
            "aₜ = ln((1 − ε)/ε), Zₜ",
            ("solvers/boosting/rounds.py Rounds.stage_weight", "solvers/boosting/rounds.py Rounds.bound"),
        ),
        Formula("S27", "T ≥ ln(2n)/(2γ²)", ("certificates/boosting.py enough_rounds",)),
    ],
    "What can be known": [
        Formula("S29", "P(|E_in − E_out| > ε) ≤ 2M exp(−2ε²n)", ("theory/samples/hoeffding.py solve",)),
        Formula("S30", "m_H(n), break points", ("theory/generalisation/growth.py growth",)),
        Formula("S30", "B(n, k)", ("theory/generalisation/growth.py B",)),
        Formula(
            "S31",
            "the VC bound, N for (ε, δ)",
            ("theory/generalisation/vc.py bound", "theory/generalisation/vc.py sample_size"),
        ),
        Formula("S31", "the ghost sample", ("theory/generalisation/ghost.py ghost_sample",)),
        Formula("S32", "bias² + variance + noise", ("theory/samples/bias_variance.py decompose",)),
        Formula("S33", "E_in and E_out against n", ("theory/samples/learning_curve.py learning_curve",)),
        Formula(
            "S23",
            "chord, tangent, epigraph, Jensen",
            (
                "theory/optimisation/convexity_evidence.py of_function",
                "theory/optimisation/convexity_evidence.py of_set",
            ),
        ),
        Formula("S23", "a Hessian without negative values", ("theory/optimisation/convexity_exact.py quadratic",)),
        Formula(
            "S24",
            "rank(A) = n: every critical point is a global minimum",
            ("theory/optimisation/global_minimum_rank.py at_point",),
        ),
        Formula(
            "S22",
            "grid, bisection, Gaussian process",
            (
                "tuning/search/methods.py grid",
                "tuning/search/methods.py bisection",
                "tuning/search/gaussian_process.py search",
            ),
        ),
    ],
}


@cache
def _definitions(path: Path) -> dict[str, int]:
    """The lines of all functions, classes and methods of a file, by name."""
    found: dict[str, int] = {}

    def walk(node: ast.AST, before: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                found[before + child.name] = child.lineno
                if isinstance(child, ast.ClassDef):
                    walk(child, f"{before}{child.name}.")

    walk(ast.parse(path.read_text(encoding="utf-8")), "")
    return found


def line_of(place: str) -> int:
    """The line of an entry; KeyError or FileNotFoundError where it leads nowhere, or names a file alone."""
    file, _, name = place.partition(" ")
    return _definitions(PACKAGE / file)[name]


def as_markdown() -> str:
    lines = [
        "# From the formulas to the code",
        "",
        "Each formula of the notes, and the line that computes it. S01 to S35 are the rows of the notes: `tests/notes` has a",
        "short program for each, named by its row (`s27_adaboost.py`). Made by `python -m tests.package.formulas >",
        "docs/formulas.md`; [letters](letters.md).",
    ]
    for topic, formulas in TOPICS.items():
        lines += ["", f"## {topic}", "| formula | rows | computed by |", "|---|---|---|"]
        for formula in formulas:
            places = []
            for place in formula.places:
                file, _, name = place.partition(" ")
                places.append(f"`{name or Path(file).stem}`, src/gapless/{file}:{line_of(place)}")
            says = formula.says.replace("|", "\\|")
            lines.append(f"| {says} | {formula.rows} | {'; '.join(places)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(as_markdown(), end="")

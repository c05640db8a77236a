"""What enters an instance, a model, an answer or a certificate does not depend on the processor."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import tree_of

import dlsched

ROOT = Path(dlsched.__file__).parent
INEXACT = {
    *("arccos", "arcsin", "arctan", "arctan2", "cbrt", "cos", "cosh", "exp", "exp2", "expm1", "float_power", "gamma"),
    *("geomspace", "hypot", "lgamma", "log", "log10", "log1p", "log2", "logaddexp", "logspace", "pow", "power", "sin"),
    *("sinh", "tan", "tanh"),
}
"""Functions of NumPy and of ``math`` whose last bits depend on the processor; ``core.elementary`` has some."""
PRODUCTS = {"dot", "einsum", "inner", "matmul", "tensordot", "vdot", "linalg"}
"""Products of NumPy that call BLAS, or add up by instructions of the processor; ``core.arrays`` has ``dot``."""
DRAWN = {"lognormal", "gamma", "weibull", "pareto", "beta", "power"}
"""Draws of NumPy's generators that end in a call of the C library; ``core.elementary`` has ``lognormal``."""

SHOWN = ("plots", "study/reports", "study/figures", "statistics", "evaluation/page.py")
"""Rooms whose numbers are shown, and enter nothing."""
ALLOWED = {
    "core/elementary.py": "the module itself; approximate sizes choose steps, never a result",
    "cluster/arrivals.py": "a sine is compared with a random number: its last bit decides one draw in 10^15",
    "study/reproduce/streams.py": "the same",
    "cluster/curve_fits.py": "fits measured times and losses; a rank with a tolerance, squares of NumPy are products",
    "matching_placement/heuristics.py": "squares of NumPy are products; a root of a library",
    "algorithms/count_vectors.py": "a product of Python's integers",
    "columns/price_ascent.py": "a sparse matrix: SciPy adds in the order of the entries",
    "columns/packing_cuts.py": "the same",
    "proofs/prover/relaxation.py": "the same",
    "proofs/prover/cuts.py": "the same",
    "solvers/lp.py": "the same",
    "worst/competitive/game.py": "the same; the rationals that it leads to decide",
    "solvers/gurobi.py": "an expression of Gurobi's",
    "worst/proving/branch_and_bound.py": "says whether fractions may be tried: they decide",
    "testing/matching_placement.py": "an independent formula, compared with a tolerance",
    "cluster/topologies.py": "whole powers of integers",
    "worst/competitive/tree_verification.py": "the same",
    "cluster/published.py": "the same",
    "matching_placement/formulations/assignment.py": "the same",
    "queueing/simulation.py": "the same",
    "ring_embedding/rings/network.py": "the same",
    "testing/ring_embedding.py": "powers of a half",
    "traces/readers/kubernetes.py": "powers of 1000 and 1024 that are floats exactly",
    "allocation/knapsack_core.py": "a power of a Fraction",
    "certificates/slot_costs.py": "the same",
    "ring_embedding/formulations/circuit.py": "the same",
}
"""Modules that may use them, and why it does not matter there."""


def uses(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a module that call such a function, or raise something other than 2 or an integer to a power."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner, name = node.value.id, node.attr
            if (owner in ("np", "numpy", "math") and name in INEXACT | PRODUCTS) or (
                owner in ("generator", "rng", "random") and name in DRAWN
            ):
                yield node.lineno, f"{owner}.{name}"
        elif isinstance(node, ast.ImportFrom) and node.module in ("math", "numpy"):
            yield from ((node.lineno, each.name) for each in node.names if each.name in INEXACT | PRODUCTS)
        elif isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
            yield node.lineno, "@"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and not exact(node):
            yield node.lineno, "**"


def exact(power: ast.BinOp) -> bool:
    """Whether a power is one of 2, or of whole constants."""
    base, exponent = power.left, power.right
    exponent = exponent.operand if isinstance(exponent, ast.UnaryOp) else exponent
    if not isinstance(base, ast.Constant):
        return False
    return base.value == 2 or (isinstance(base.value, int) and isinstance(exponent, ast.Constant))


def modules() -> list[Path]:
    """Modules whose numbers enter something."""
    found = (path.relative_to(ROOT) for path in sorted(ROOT.rglob("*.py")))
    return [path for path in found if not path.as_posix().startswith(SHOWN)]


def test_what_depends_on_the_processor_is_used_in_no_other_module() -> None:
    """Neither a function, nor a product, nor a power: ``core.elementary`` and ``core.arrays`` have them."""
    refused = [
        f"{path}:{line}: {name}"
        for path in modules()
        if path.as_posix() not in ALLOWED
        for line, name in uses(ROOT / path)
    ]
    assert not refused


@pytest.mark.parametrize("name", ALLOWED)
def test_every_exception_is_needed(name: str) -> None:
    """A module that no longer needs its exception loses it."""
    assert list(uses(ROOT / name))

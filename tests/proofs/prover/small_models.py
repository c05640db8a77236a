"""Small linear models for tests, drawn or written down, proven without an instance, and their optima by enumeration."""

import contextlib
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np

from dlsched.core.status import Sense
from dlsched.proofs.prover.derivation import proof_lines, write_lines
from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.prover import Finding, finding_of, shortened
from dlsched.proofs.prover.search import TreeSearch
from dlsched.solvers.linear import LinearModel

INF = float("inf")
NEAR = Fraction(1, 10**9)
Row = tuple[float, dict[int, float], float]
"""Least value, coefficients by variable, most value."""
Variable = tuple[float, float, bool]
"""Lower bound, upper bound, whether it is whole."""


def model_of(costs: list[float], variables: list[Variable], rows: list[Row], *, maximum: bool = False) -> LinearModel:
    """Make a model from costs, variables and rows."""
    columns = [j for _, terms, _ in rows for j in terms]
    values = [a for _, terms, _ in rows for a in terms.values()]
    return LinearModel(
        sense=Sense.MAXIMIZE if maximum else Sense.MINIMIZE,
        names=[f"x{j}" for j in range(len(variables))],
        costs=np.array(costs, dtype=float),
        constant=0.0,
        lower=np.array([low for low, _, _ in variables], dtype=float),
        upper=np.array([high for _, high, _ in variables], dtype=float),
        integer=np.array([whole for _, _, whole in variables], dtype=bool),
        row_names=[f"row {i}" for i in range(len(rows))],
        row_starts=np.cumsum([0, *(len(terms) for _, terms, _ in rows)]).astype(np.int64),
        columns=np.array(columns, dtype=np.int64),
        coefficients=np.array(values, dtype=float),
        row_lower=np.array([low for low, _, _ in rows], dtype=float),
        row_upper=np.array([high for _, _, high in rows], dtype=float),
    )


def drawn(generator: np.random.Generator, *, real: bool = False) -> LinearModel:
    """Draw a model of three to six variables with every kind of row; ``real``: with real variables too."""
    count = int(generator.integers(3, 7))
    whole = np.ones(count, dtype=bool) if not real else generator.random(count) < 0.6
    lower = generator.integers(-2, 1, count)
    variables = [
        (float(low), float(low + width), bool(w))
        for low, width, w in zip(lower, generator.integers(0, 4, count), whole, strict=True)
    ]
    divisor = int(generator.choice([1, 1, 4, 10]))
    rows: list[Row] = []
    for kind in generator.choice(["least", "most", "equal", "range", "none"], int(generator.integers(1, 5))):
        terms = {
            int(j): float(a) / divisor
            for j, a in zip(
                generator.permutation(count)[: generator.integers(1, count + 1)],
                generator.integers(-5, 6, count),
                strict=False,
            )
        }
        side = float(generator.integers(-4, 8)) / divisor
        rows.append(
            {
                "least": (side, terms, INF),
                "most": (-INF, terms, side),
                "equal": (side, terms, side),
                "range": (side - 2, terms, side),
                "none": (-INF, terms, INF),
            }[str(kind)]
        )
    costs = (generator.integers(-9, 10, count) / divisor).tolist()
    return model_of(costs, variables, rows, maximum=bool(generator.random() < 0.5))


def enumerated(model: LinearModel) -> Fraction | None:
    """Return the optimum of a model of whole variables, as a minimum, by trying all points; None: there is none."""
    exact = ExactModel(model)
    spans = [range(int(low), int(high) + 1) for low, high in zip(model.lower, model.upper, strict=True)]
    points = (tuple(map(Fraction, point)) for point in product(*spans))
    return min((exact.objective(point) for point in points if exact.admits(point)), default=None)


def searched(model: LinearModel, nodes: int | None = None, *, cut: bool = False) -> tuple[TreeSearch, Finding]:
    """Search a model without a start; ``nodes``: stop after so many cases; ``cut``: search it again, with cuts."""
    exact = ExactModel(model)
    step = exact.step()

    def target(upper: Fraction) -> Fraction:
        near = upper - NEAR * abs(upper)
        return near if step is None else min(near, shortened(upper - step * Fraction(999, 1000), upper - step / 2))

    search = TreeSearch(exact, target)
    left = [nodes]

    def node() -> None:
        if left[0] is not None:
            if left[0] == 0:
                raise KeyboardInterrupt
            left[0] -= 1

    with contextlib.suppress(KeyboardInterrupt):
        search.run(node=node)
        if cut:
            search.cut()
            search.run(node=node)
    return search, finding_of(exact, search)


def written(search: TreeSearch, finding: Finding, path: Path) -> Fraction | None:
    """Write the proof, and return the bound of the minimum that it proves."""
    exact = search.exact
    derivation = finding.derivation(search)
    lines = proof_lines(exact, {"instance": "small"}, search.point, derivation, infeasible=finding.infeasible)
    write_lines((line.encode("ascii") + b"\n" for line in lines), path)
    return None if derivation is None else derivation.proven

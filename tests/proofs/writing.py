"""Small models and the text of their proofs, written without the help of the library's own writer."""

from collections.abc import Sequence
from fractions import Fraction
from math import inf

import numpy as np

from dlsched.core.status import Sense
from dlsched.solvers.linear import LinearModel

Side = tuple[float, float]


def model_of(
    costs: Sequence[float],
    rows: Sequence[tuple[float, dict[int, float], float]],
    *,
    bounds: Sequence[Side] | None = None,
    real: Sequence[int] = (),
    maximize: bool = False,
) -> LinearModel:
    """Build a model: rows are (lower, {variable: coefficient}, upper), variables binary save where said."""
    sides = np.array(bounds or [(0, 1)] * len(costs), dtype=np.float64).reshape(-1, 2)
    return LinearModel(
        sense=Sense.MAXIMIZE if maximize else Sense.MINIMIZE,
        names=[f"x{j}" for j in range(len(costs))],
        costs=np.array(costs, dtype=np.float64),
        constant=0.0,
        lower=sides[:, 0],
        upper=sides[:, 1],
        integer=np.array([j not in real for j in range(len(costs))], dtype=bool),
        row_names=[f"r{i}" for i in range(len(rows))],
        row_starts=np.cumsum([0, *(len(terms) for _, terms, _ in rows)]),
        columns=np.array([j for _, terms, _ in rows for j in terms], dtype=np.int64),
        coefficients=np.array([c for _, terms, _ in rows for c in terms.values()], dtype=np.float64),
        row_lower=np.array([lower for lower, _, _ in rows], dtype=np.float64),
        row_upper=np.array([upper for _, _, upper in rows], dtype=np.float64),
    )


def problem_lines(model: LinearModel) -> list[str]:
    """Lines of a proof up to its rows."""
    integers = [j for j, whole in enumerate(model.integer) if whole]
    costs = {j: cost for j, cost in enumerate(model.costs.tolist()) if cost}
    rows = rows_of(model)
    count = int(np.isfinite(model.lower).sum() + np.isfinite(model.upper).sum())
    return [
        "VER 1.0",
        f"VAR {len(model.names)}",
        " ".join(model.names),
        f"INT {len(integers)}",
        " ".join(map(str, integers)),
        f"OBJ {'max' if model.sense is Sense.MAXIMIZE else 'min'}",
        terms_text(costs),
        f"CON {len(rows)} {count}",
        *(f"{name} {sense} {Fraction(side)} {terms_text(terms)}" for name, sense, side, terms in rows),
    ]


def rows_of(model: LinearModel) -> list[tuple[str, str, float, dict[int, float]]]:
    """Rows of a proof: name, sense, side and terms."""
    rows: list[tuple[str, str, float, dict[int, float]]] = []
    for j, (lower, upper) in enumerate(zip(model.lower.tolist(), model.upper.tolist(), strict=True)):
        rows += [(f"l_{j}", "G", lower, {j: 1.0})] if lower > -inf else []
        rows += [(f"u_{j}", "L", upper, {j: 1.0})] if upper < inf else []
    for i, name in enumerate(model.row_names):
        lower, upper = float(model.row_lower[i]), float(model.row_upper[i])
        terms = {j: value for j, value in zip(*model.row(i), strict=True) if value}
        if lower == upper:
            rows.append((name, "E", lower, terms))
            continue
        both = lower > -inf and upper < inf
        rows += [(name, "G", lower, terms)] if lower > -inf else []
        rows += [(name + "_u" * both, "L", upper, terms)] if upper < inf else []
    return rows


def terms_text(terms: dict[int, float]) -> str:
    """Write a count and its pairs."""
    return " ".join([str(len(terms)), *(f"{j} {Fraction(value)}" for j, value in terms.items())])


def proof_text(model: LinearModel, range_: str, solutions: Sequence[str], derivation: Sequence[str]) -> str:
    """Write a whole proof: ``solutions`` and ``derivation`` line by line."""
    return "\n".join(
        [
            *problem_lines(model),
            f"RTP {range_}",
            f"SOL {len(solutions)}",
            *solutions,
            f"DER {len(derivation)}",
            *derivation,
            "",
        ]
    )

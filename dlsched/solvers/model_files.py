"""Writer of linear models as LP and MPS files whose numbers read back exactly (PuLP writes 12 or 13 digits).

The layout is PuLP's. No file holds the objective's constant, which a comment may say (``objective_words``).
"""

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from dlsched.core.status import Sense
from dlsched.solvers.linear import LinearModel

_WIDTH = 78  # characters of a line of an LP file


def lp_text(model: LinearModel, title: str, head: Sequence[str] = ()) -> str:
    """Return a model in the LP format, with its names; rows in alphabetical order."""
    nothing = [f" 0 {model.names[0] if model.names else 'none'}"]  # the format requires a term here
    costs = [(float(model.costs[column]), column) for column in _in_objective(model)]
    sense = "Minimize" if model.sense is Sense.MINIMIZE else "Maximize"
    lines = [
        f"\\* {title} *\\",
        *(f"\\* {comment} *\\" for comment in head),
        sense,
        *_wrapped("OBJ:", _terms(model, costs) or nothing),
        "Subject To",
    ]
    for label, terms, relation, right in sorted(_rows(model)):
        lines += _wrapped(f"{label}:", [*(_terms(model, terms) or nothing), f" {relation} {_number(right)}"])
    ranges, generals, binaries = [], [], []
    for name, low, high, integer in _variables(model):
        if integer and (low, high) == (0.0, 1.0):
            binaries.append(name)
            continue
        if integer:
            generals.append(name)
        if integer or (low, high) != (0.0, math.inf):
            ranges.append(_range(name, low, high, integer=integer))
    for head, entries in (("Bounds", ranges), ("Generals", generals), ("Binaries", binaries)):
        lines += [head, *entries] if entries else []
    return "\n".join([*lines, "End", ""])


def mps_text(model: LinearModel, title: str, head: Sequence[str] = ()) -> str:
    """Return a model in the MPS format as a minimisation, since not every reader knows the section for the sense."""
    rows = _rows(model)
    entries: list[list[tuple[str, float]]] = [[] for _ in model.names]
    for label, terms, _, _ in rows:
        for value, column in terms:
            entries[column].append((label, value))
    for column in _in_objective(model):
        entries[column].append(("OBJ", model.sign * float(model.costs[column])))
    letters = {"<=": "L", ">=": "G", "=": "E"}
    lines = ["*SENSE:Minimize", *(f"* {comment}" for comment in head), f"NAME          {title}", "ROWS", " N  OBJ"]
    lines += [f" {letters[relation]}  {label}" for label, _, relation, _ in rows]
    lines.append("COLUMNS")
    among_integers = False
    for (name, _, _, integer), of_column in zip(_variables(model), entries, strict=True):
        if integer is not among_integers:
            lines.append(f"    MARK      'MARKER'                 '{'INTORG' if integer else 'INTEND'}'")
            among_integers = integer
        lines += [f"    {name:8s}  {row:8s}  {_number(value)}" for row, value in of_column]
    lines += ["    MARK      'MARKER'                 'INTEND'"] if among_integers else []
    lines.append("RHS")
    lines += [f"    RHS       {label:8s}  {_number(right)}" for label, _, _, right in rows]
    lines.append("BOUNDS")
    for name, low, high, integer in _variables(model):
        lines += _mps_bounds(name, low, high, integer=integer)
    return "\n".join([*lines, "ENDATA", ""])


def objective_words(unit: str, constant: float, *, factor: float = 1.0, negated: bool = False) -> list[str]:
    """Say what the optimum of a file is short of, for comments at its head; a unit of the model is ``factor`` units.

    >>> objective_words("utility", 0.0, negated=True)[1:]
    ['the objective is negated: take the optimum with the other sign', 'constant that the objective lacks: 0']
    """
    sign = ["the objective is negated: take the optimum with the other sign"] if negated else []
    then = f"; {'then ' if negated else ''}add it to the optimum of this file" if constant else ""
    unit = unit if factor == 1 else f"{_number(factor)} {unit}"
    return [f"unit of the objective: {unit}", *sign, f"constant that the objective lacks: {_number(constant)}{then}"]


def _variables(model: LinearModel) -> Iterator[tuple[str, float, float, bool]]:
    """Name, lower and upper bound of every variable, and whether it is an integer."""
    return zip(model.names, model.lower.tolist(), model.upper.tolist(), model.integer.tolist(), strict=True)


def _in_objective(model: LinearModel) -> list[int]:
    """Columns of the objective: those with a cost, and those in no row, which would be lost otherwise."""
    used = np.zeros(len(model.names), dtype=bool)
    used[model.columns] = True
    return [int(column) for column in np.flatnonzero((model.costs != 0) | ~used)]


def _rows(model: LinearModel) -> list[tuple[str, list[tuple[float, int]], str, float]]:
    """Name, terms by column, relation and right-hand side of each row; a row with two ends becomes two."""
    rows = []
    for index, (label, low, high) in enumerate(
        zip(model.row_names, model.row_lower.tolist(), model.row_upper.tolist(), strict=True)
    ):
        columns, coefficients = model.row(index)
        terms = [(value, column) for column, value in sorted(zip(columns, coefficients, strict=True))]
        if low == high:
            rows.append((label, terms, "=", low))
            continue
        if np.isfinite(high):
            rows.append((label, terms, "<=", high))
        if np.isfinite(low):
            rows.append((f"{label}_low" if np.isfinite(high) else label, terms, ">=", low))
    return rows


def _number(value: float) -> str:
    """Write the fewest digits that read back as the same number; 3 for 3.0, and 0 for -0."""
    return repr(value + 0.0).removesuffix(".0")


def _terms(model: LinearModel, terms: Iterable[tuple[float, int]]) -> list[str]:
    written: list[str] = []
    for value, column in terms:
        sign = " -" if value < 0 else " +" if written else ""
        size = "" if abs(value) == 1 else f" {_number(abs(value))}"
        written.append(f"{sign}{size} {model.names[column]}")
    return written


def _wrapped(head: str, terms: Iterable[str]) -> list[str]:
    """Lines of at most ``_WIDTH`` characters, broken between terms."""
    lines, line, length = [], [head], len(head)
    for term in terms:
        if length + len(term) > _WIDTH:
            lines.append("".join(line))
            line, length = [], 0
        line.append(term)
        length += len(term)
    return [*lines, "".join(line)]


def _range(name: str, low: float, high: float, *, integer: bool) -> str:
    """Bounds of a variable in LP format; integers always get both, or some readers take them for binary."""
    if (low, high) == (-math.inf, math.inf):
        return f" {name} free"
    if low == high:
        return f" {name} = {_number(low)}"
    below = "-inf <= " if low == -math.inf else "" if low == 0 and not integer else f"{_number(low)} <= "
    return f" {below}{name}" + ("" if high == math.inf else f" <= {_number(high)}")


def _mps_bounds(name: str, low: float, high: float, *, integer: bool) -> list[str]:
    """Bounds of a variable in MPS format; an integer's 0 is written, or some readers take it for binary."""
    if low == high:
        return [f" FX BND       {name:8s}  {_number(low)}"]
    if integer and (low, high) == (0.0, 1.0):
        return [f" BV BND       {name:8s}"]
    if low == -math.inf:
        lines = [f" {'FR' if high == math.inf else 'MI'} BND       {name:8s}"]
    else:
        wanted = low != 0 or (integer and high == math.inf)
        lines = [f" LO BND       {name:8s}  {_number(low)}"] if wanted else []
    return lines if high == math.inf else [*lines, f" UP BND       {name:8s}  {_number(high)}"]

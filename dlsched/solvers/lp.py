"""Linear programs by the HiGHS inside SciPy: one call, which scales them and retries where HiGHS fails.

minimise ``costs`` x,  ``a_ub`` x <= ``b_ub``,  ``a_eq`` x = ``b_eq``,  lower <= x <= upper.

HiGHS' tolerances are absolute, 1e-7 for rows and reduced costs. So rows, columns and costs are scaled by
powers of two, which keeps all digits, until coefficients are around 1 and the largest cost is 2**20; the
answer is scaled back. HiGHS takes a bound of 1e20 for infinite, and would call a bounded program unbounded:
variables are scaled so that no bound gets that large.

*Relaxations.* Minimise c x within the rows' bounds and l <= x <= u. All multipliers y of the rows prove (weak duality)

    c x >= sum_i min over the row's activity a_i of y_i a_i + sum_j min over l_j <= x_j <= u_j of (c - A' y)_j x_j,

so HiGHS' tolerances do not matter; the bound is weakened by possible rounding (Neumaier & Shcherbina 2004).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from dlsched.core.errors import SolverError
from dlsched.core.limits import Budget, Limits, Stopped
from dlsched.core.status import TerminationStatus
from dlsched.solvers.linear import Floats, LinearModel
from dlsched.solvers.outcome import BoundCallback, Bounded

if TYPE_CHECKING:
    from scipy.sparse import csr_array, sparray


Integers = npt.NDArray[np.int64]
Matrix: TypeAlias = "Floats | sparray"

_LARGE = 100_000
"""Entries of a matrix from which a program is solved in the child process, where Ctrl-C works at once."""
_COSTS = 20  # the largest cost becomes 2**20: those of a millionth of it still have duals of seven digits
_PASSES = 3  # of the scaling, rows and columns in turn
_INFINITE = 66  # HiGHS takes what is 1e20 or more, about 2**66, for infinite
_BOUNDS = 40  # where a bound would come near that, the largest becomes 2**40
_TOLERANCES = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
_TIGHTER, _LOOSER = (dict.fromkeys(_TOLERANCES, tolerance) for tolerance in (1e-9, 1e-6))
_ATTEMPTS: tuple[Mapping[str, bool | float | str], ...] = (
    {},
    {"presolve": False},
    _TIGHTER,
    {"presolve": False, **_TIGHTER},
    {"method": "highs-ipm"},
    {"presolve": False, "simplex_dual_edge_weight_strategy": "dantzig", **_LOOSER},
)
"""Attempts. HiGHS 1.12 sometimes calls a feasible program infeasible or a bounded one unbounded, or ends
with a status unknown to SciPy. After any status but optimal the next attempt runs, the last ones by an
interior point method and with looser tolerances."""
_EXCESS = 1e-5
"""Relative excess of a row above which an answer is rejected and the next attempt runs, the last without our
own scaling."""


def version() -> str:
    """Name and version of the HiGHS inside SciPy, or SciPy's version if HiGHS does not say its own."""
    import scipy

    try:
        from scipy.optimize._highspy import _core

        number = f"{_core.HIGHS_VERSION_MAJOR}.{_core.HIGHS_VERSION_MINOR}.{_core.HIGHS_VERSION_PATCH}"
    except (ImportError, AttributeError):
        return f"HiGHS of SciPy {scipy.__version__}"
    return f"HiGHS {number} (SciPy {scipy.__version__})"


@dataclass(frozen=True, slots=True, eq=False)
class LpAnswer:
    """An optimum ``x``, and its marginals with respect to the right-hand sides."""

    x: Floats
    objective: float
    upper: Floats
    """Marginals of the rows of ``a_ub``, at most 0."""
    equal: Floats
    """Marginals of the rows of ``a_eq``."""


def linear_program(
    costs: npt.ArrayLike,
    *,
    a_ub: "Matrix | None" = None,
    b_ub: npt.ArrayLike | None = None,
    a_eq: "Matrix | None" = None,
    b_eq: npt.ArrayLike | None = None,
    bounds: npt.ArrayLike = (0.0, np.inf),
    tolerance: float | None = None,
    vertex: bool = False,
    time_s: float | None = None,
    isolated: bool | None = None,
) -> LpAnswer:
    """Solve a linear program that has an optimum; SolverError: no attempt finds it; Stopped: ``time_s`` seconds are over.

    Rows are sparse or dense, shape (R, V); ``bounds`` are lower and upper bound of every variable, shape (V, 2), or one pair for
    all. ``tolerance``: HiGHS' feasibility tolerances, 1e-10 to 1e-7. ``vertex`` asks for one, which is integral if the matrix
    is totally unimodular. ``isolated``: in the child process, where Ctrl-C works at once; None: if the program is large.
    """
    from scipy.sparse import csr_array

    costs = np.asarray(costs, dtype=np.float64)
    empty = csr_array((0, len(costs)))
    upper, equal = (csr_array(empty if matrix is None else matrix) for matrix in (a_ub, a_eq))
    data = (
        *(costs, upper, np.asarray([] if b_ub is None else b_ub, dtype=np.float64)),
        *(equal, np.asarray([] if b_eq is None else b_eq, dtype=np.float64)),
        np.broadcast_to(np.asarray(bounds, dtype=np.float64), (len(costs), 2)),
    )
    answer: LpAnswer | None
    if isolated if isolated is not None else upper.nnz + equal.nnz >= _LARGE:
        from dlsched.solvers import child

        try:
            answer = child.call("dlsched.solvers.lp:solve", *data, tolerance, vertex, time_s, time_s=time_s)
        except child.OutOfTime:
            answer = None
    else:
        answer = solve(*data, tolerance, vertex, time_s)
    if answer is None:
        raise Stopped(TerminationStatus.TIME_LIMIT)
    return answer


def solve(
    costs: Floats,
    upper: "csr_array",
    upper_right: Floats,
    equal: "csr_array",
    equal_right: Floats,
    bounds: Floats,
    tolerance: float | None,
    vertex: bool,
    time_s: float | None,
) -> LpAnswer | None:
    """Solve in this process; None: the time is up. Arguments and SolverError as in ``linear_program``."""
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    first, budget = upper.shape[0], Budget(Limits(time_s=time_s))
    tight = {} if tolerance is None else dict.fromkeys(_TOLERANCES, tolerance)
    fallback: LpAnswer | None = None
    for rows, columns, unit in _scalings(vstack([upper, equal], format="csr"), (upper_right, equal_right), bounds):
        scaled_costs = np.ldexp(costs, columns)
        power = _COSTS - _exponent(scaled_costs)
        # row i is multiplied by 2**rows[i], variable j divided by 2**(columns[j] + unit), costs multiplied by 2**power
        arguments = {
            "c": np.ldexp(scaled_costs, power),
            "A_ub": _scaled(upper, rows[:first], columns),
            "b_ub": np.ldexp(upper_right, rows[:first] - unit),
            "A_eq": _scaled(equal, rows[first:], columns),
            "b_eq": np.ldexp(equal_right, rows[first:] - unit),
            "bounds": np.ldexp(bounds, -columns[:, None] - unit),
        }
        for attempt in _ATTEMPTS:
            remaining_s = budget.left.time_s
            options = {**({} if remaining_s is None else {"time_limit": remaining_s}), **tight, **attempt}
            method = options.pop("method", "highs-ds" if vertex else "highs")
            answer = linprog(**arguments, method=method, options=options)
            if answer.status == 1 and time_s is not None:
                return fallback
            if answer.status != 0:
                continue
            candidate = LpAnswer(
                x=np.ldexp(answer.x, columns + unit),
                objective=float(np.ldexp(answer.fun, unit - power)),
                upper=np.minimum(np.ldexp(answer.ineqlin.marginals, rows[:first] - power), 0.0),
                equal=np.ldexp(answer.eqlin.marginals, rows[first:] - power),
            )
            if (
                _satisfies(upper, upper_right, candidate.x)
                and _satisfies(equal, equal_right, candidate.x, equal=True)
                and _within(bounds, candidate.x)
            ):
                return candidate
            fallback = fallback or candidate
            break  # smaller tolerances help only in this scaling's own measure
    if fallback is not None:
        return fallback  # no attempt keeps the rows better; callers verify what its multipliers prove
    raise SolverError(f"{version()} found no optimum of a linear program: {answer.message}")


def _scalings(
    matrix: "csr_array", rights: tuple[Floats, Floats], bounds: Floats
) -> Iterator[tuple[Integers, Integers, int]]:
    """Yield scalings to try in turn: powers of two of rows, columns and variables; the last is weak.

    The unit is that of the right-hand sides; if a bound would then count as infinite, a unit in which none does comes
    first. The last unit is that of the bounds, for right-hand sides that may be rounding errors of 0.
    """
    right, finite = np.concatenate(rights), np.where(np.isfinite(bounds), bounds, 0.0)
    last = []
    for rows, columns in (_powers(matrix), tuple(np.zeros(count, dtype=np.int64) for count in matrix.shape)):
        unit = _exponent(np.ldexp(right, rows))
        farthest = _exponent(np.ldexp(finite, -columns[:, None]))
        if farthest - unit >= _INFINITE:
            yield rows, columns, farthest - _BOUNDS
        yield rows, columns, unit
        last.append((rows, columns, farthest))
    yield from last


def _within(bounds: Floats, x: Floats) -> bool:
    """Whether a point keeps the bounds; HiGHS may have taken one of them for infinite."""
    slack = _EXCESS * np.abs(x).max(initial=0.0)
    return bool((bounds[:, 0] - x <= slack).all() and (x - bounds[:, 1] <= slack).all())


def _satisfies(matrix: "csr_array", right: Floats, x: Floats, *, equal: bool = False) -> bool:
    """Whether a point keeps the original rows; HiGHS' tolerances hold for the scaled program only."""
    excess = matrix @ x - right
    size = abs(matrix) @ np.abs(x) + np.abs(right)
    largest = abs(matrix).max(axis=1).toarray().ravel() if matrix.nnz else np.zeros(len(right))
    slack = _EXCESS * (size + largest * np.abs(x).max(initial=0.0))
    return bool(((np.abs(excess) if equal else excess) <= slack).all())


def _exponent(numbers: Floats) -> int:
    """Exponent of the largest number in size, 0 if all are 0."""
    largest = float(np.abs(numbers).max(initial=0.0))
    return int(np.frexp(largest)[1]) if largest > 0 else 0


def _powers(matrix: "csr_array") -> tuple[Integers, Integers]:
    """Powers of two for rows and columns, in turns, that bring geometric means of coefficients near 1."""
    rows, columns = np.zeros(matrix.shape[0], dtype=np.int64), np.zeros(matrix.shape[1], dtype=np.int64)
    filled = matrix.tocoo()
    used = filled.data != 0
    row, column, exponent = filled.row[used], filled.col[used], np.frexp(filled.data[used])[1].astype(np.int64)
    for _ in range(_PASSES):
        rows = -_middle(row, exponent + columns[column], len(rows))
        columns = -_middle(column, exponent + rows[row], len(columns))
    return rows, columns


def _middle(index: Integers, exponent: Integers, count: int) -> Integers:
    """Midpoint of the least and the largest exponent of every index; 0 for an index without any."""
    least, largest = np.full(count, 2**40), np.full(count, -(2**40))
    np.minimum.at(least, index, exponent)
    np.maximum.at(largest, index, exponent)
    return np.where(largest < least, 0, (least + largest) // 2).astype(np.int64)


def _scaled(matrix: "csr_array", rows: Integers, columns: Integers) -> "csr_array":
    from scipy.sparse import csr_array

    coo = matrix.tocoo()
    return csr_array((np.ldexp(coo.data, rows[coo.row] + columns[coo.col]), (coo.row, coo.col)), shape=matrix.shape)


_UNIT = 2.0**-52  # twice the rounding unit
_ROOM = 1e-10  # share by which multipliers shrink if an unbounded column's reduced cost is too small


def report_relaxation(model: LinearModel, budget: Budget, bounded: BoundCallback | None) -> None:
    """Report the bound of the linear relaxation of a model, in at most half of the remaining time."""
    if bounded is None or not model.costs.any():
        return
    remaining_s = budget.left.time_s
    bound = relaxed_bound(model, None if remaining_s is None else remaining_s / 2)
    if bound is not None:
        bounded(Bounded(bound, version()))


def relaxed_bound(model: LinearModel, time_s: float | None = None) -> float | None:
    """Return a proven bound from the linear relaxation, in the model's sense; None: none, or no time for it."""
    multipliers = _multipliers(model, time_s)
    return None if multipliers is None else proven_by(model, multipliers)


def _multipliers(model: LinearModel, time_s: float | None) -> Floats | None:
    """Multipliers of the rows at the relaxation's optimum, shape (R,), with the relaxation as a minimum."""
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    matrix = model.matrix()
    same = model.row_lower == model.row_upper
    equal = np.flatnonzero(same)
    up, down = (
        np.flatnonzero(np.isfinite(model.row_upper) & ~same),
        np.flatnonzero(np.isfinite(model.row_lower) & ~same),
    )
    # equalities, and rows with finite sides as upper and, negated, lower ones
    answer = linprog(
        model.sign * model.costs,
        A_ub=vstack([matrix[up], -matrix[down]]),
        b_ub=np.concatenate((model.row_upper[up], -model.row_lower[down])),
        A_eq=matrix[equal],
        b_eq=model.row_lower[equal],
        bounds=np.column_stack((model.lower, model.upper)),
        method="highs",
        options={} if time_s is None else {"time_limit": time_s},
    )
    if answer.status != 0:
        return None
    multipliers = np.zeros(len(model.row_names))
    multipliers[equal] = answer.eqlin.marginals
    multipliers[up] = answer.ineqlin.marginals[: len(up)]
    multipliers[down] -= answer.ineqlin.marginals[len(up) :]
    return multipliers


def proven_by(model: LinearModel, multipliers: Floats) -> float | None:
    """Return the bound that multipliers of the rows, shape (R,), prove, rounded safely; None: no bound.

    Those of a sign that proves nothing count as 0; all shrink a little if a column without bound needs it.
    """
    costs = model.sign * model.costs
    y = np.where(np.isfinite(np.where(multipliers > 0, model.row_lower, model.row_upper)), multipliers, 0.0)
    sums, error = _sums(model, costs, y)
    reduced = costs - sums
    free = (np.isinf(model.upper) & (reduced < error)) | (np.isinf(model.lower) & (reduced > -error))
    if free.any():
        # all multipliers shrink by one factor, so that the reduced costs of the unbounded columns get their sign
        with np.errstate(divide="ignore", invalid="ignore"):
            part = float(np.min(np.where(sums[free] != 0, costs[free] / sums[free], 0.0))) * (1 - _ROOM)
        if not 0 < part <= 1:
            return None
        y = y * part
        sums, error = _sums(model, costs, y)
        reduced = costs - sums
        if (np.isinf(model.upper) & (reduced < error)).any() or (np.isinf(model.lower) & (reduced > -error)).any():
            return None
    # the least value of y (A x) + reduced x over the rows' sides and the columns' bounds, term by term
    of_rows = np.where(y > 0, y * _finite(model.row_lower), y * _finite(model.row_upper))
    low, high = _finite(model.lower), _finite(model.upper)  # an infinite end is never the minimum
    # of a column without any end the reduced cost is 0, and so is its part
    at_low = np.where(np.isinf(model.lower) & np.isfinite(model.upper), np.inf, reduced * low)
    at_high = np.where(np.isinf(model.upper), np.inf, reduced * high)
    of_columns = np.minimum(at_low, at_high)
    off = math.fsum(error * np.maximum(np.abs(low), np.abs(high)))
    off += _UNIT * (math.fsum(np.abs(of_rows)) + math.fsum(np.abs(of_columns)))
    value = math.fsum([*of_rows.tolist(), *of_columns.tolist(), -off])
    if not math.isfinite(value):
        return None
    bound = model.sign * math.nextafter(value, -math.inf) + model.constant
    return math.nextafter(bound, -model.sign * math.inf)


def _sums(model: LinearModel, costs: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return A' y, and the largest rounding error of c - A' y, shape (V,) each."""
    matrix = model.matrix()
    sizes = abs(matrix).T @ np.abs(y)
    count = np.bincount(model.columns, minlength=len(costs)) + 2
    return matrix.T @ y, _UNIT * count * (np.abs(costs) + sizes)


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, 0.0)

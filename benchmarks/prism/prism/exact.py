"""The certified search of prism.

All sets of models of a pressure up to the incumbent's are enumerated; the optimum is the pressure of one of them. A linear
program over the sets up to a value asks whether fractions of G of them cover every model once. If not, its duals, as integers
and verified as such, are weights that prove it (``certificate``). Bisection finds the least value that the program allows; from
there on values are settled by branching on two models, together or apart (Ryan and Foster 1981). A node is a linear program.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

from dlsched.core.errors import SolverError
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from prism.certificate import certificate_of
from prism.heuristics import portfolio
from prism.instance import Instance
from prism.solution import Placement, placement_of

Models = tuple[int, ...]
Tick = Callable[[int], None]
SOURCE = "dlsched sets"
_WHOLE = 1e-6  # a fraction closer than this to 0 or 1 is tried as that integer
_LARGEST_WEIGHT = 60, 10**4, 10**8
"""Weights are tried in all denominators up to the first, then in the others."""


def sets_within(instance: Instance, most: Fraction | None, tick: Tick) -> list[tuple[Fraction, Models]]:
    """Return all sets of models of a pressure up to ``most`` (None: all that fit), by pressure, in units of integers."""
    loads, sizes, memory, _ = instance.whole
    found: list[tuple[Fraction, Models]] = []
    stack: list[tuple[int, int, int, Models]] = [(0, 0, memory, ())]
    while stack:
        tick(0)
        start, load, free, models = stack.pop()
        for index in range(start, len(loads)):
            more, room = load + loads[index], free - sizes[index]
            # larger sets have a larger pressure
            if room > 0 and (most is None or more * most.denominator <= most.numerator * room):
                found.append((Fraction(more, room), (*models, index)))
                stack.append((index + 1, more, room, (*models, index)))
    return sorted(found)


def _relaxed(sets: Sequence[Models], models: int) -> tuple[list[float] | None, list[float]]:
    """Fractions of the fewest sets that cover all models once (None: there are none), and duals."""
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import csc_array, eye_array, hstack

    rows = [index for each in sets for index in each]
    starts = np.cumsum([0, *(len(each) for each in sets)])
    covers = csc_array((np.ones(len(rows)), rows, starts), shape=(models, len(sets)))
    solved = linprog(np.ones(len(sets)), A_eq=covers, b_eq=np.ones(models), bounds=(0, None), method="highs")
    if solved.status == 0:
        return solved.x.tolist(), solved.eqlin.marginals.tolist()
    if solved.status != 2:
        raise SolverError(f"HiGHS ended with status {solved.status}: {solved.message}")
    # no cover: the least that cannot be covered has duals that prove it
    costs = np.concatenate([np.zeros(len(sets)), np.ones(2 * models)])
    slack = [eye_array(models), -eye_array(models)]
    solved = linprog(costs, A_eq=hstack([covers, *slack]), b_eq=np.ones(models), bounds=(0, None), method="highs")
    if solved.status != 0:
        raise SolverError(f"HiGHS ended with status {solved.status}: {solved.message}")
    return None, solved.eqlin.marginals.tolist()


def _proof(sets: Sequence[Models], duals: Sequence[float], gpus: int) -> list[int] | None:
    """Return duals as integers if these prove that no ``gpus`` of the sets are a partition, else None."""
    first, *others = _LARGEST_WEIGHT
    for denominator in (*range(1, first + 1), *others):
        weights = [round(dual * denominator) for dual in duals]
        most = max((sum(weights[index] for index in each) for each in sets), default=0)
        if sum(weights) > gpus * max(0, most):
            return weights
    return None


def partition(sets: Sequence[Models], models: int, gpus: int, tick: Tick) -> list[Models] | None:
    """Return at most ``gpus`` of the sets that are a partition of the models, or None: there is none."""
    stack = [sets]
    while stack:
        tick(1)
        sets = stack.pop()
        fractions, duals = _relaxed(sets, models)
        if _proof(sets, duals, gpus) is not None:
            continue
        if fractions is None:
            raise SolverError("HiGHS finds no cover, and its duals do not prove it")
        taken = [(each, share) for each, share in zip(sets, fractions, strict=True) if share > _WHOLE]
        if all(share > 1 - _WHOLE for _, share in taken) and len(taken) <= gpus:
            return [each for each, _ in taken]
        shares: dict[tuple[int, int], float] = {}
        for each, share in taken:
            for place, second in enumerate(each):
                for first in each[:place]:
                    shares[first, second] = shares.get((first, second), 0.0) + share
        pairs = [(abs(share - 0.5), pair) for pair, share in shares.items() if _WHOLE < share < 1 - _WHOLE]
        if not pairs:
            raise SolverError("the linear program over sets is neither refuted nor fractional")
        first, second = min(pairs)[1]
        stack.append([each for each in sets if not (first in each and second in each)])
        stack.append([each for each in sets if (first in each) == (second in each)])
    return None


def least_value(
    instance: Instance, most: Fraction | None, tick: Tick
) -> tuple[list[tuple[Fraction, Models]], list[Fraction], int, list[int]]:
    """Return the sets, their pressures, the place of the least pressure that sets allow as fractions, and weights.

    The place is that after the last if all are refuted: then there is no placement of at most that pressure.
    """
    sets = sets_within(instance, most, tick)
    values = sorted({value for value, _ in sets})
    low, high, weights = 0, len(values), [1] * len(instance.jobs)
    # ``weights`` refute every value before ``low``; the value at ``high`` is not refuted
    while low < high:
        tick(1)
        middle = (low + high) // 2
        allowed = [models for value, models in sets if value <= values[middle]]
        proof = _proof(allowed, _relaxed(allowed, len(instance.jobs))[1], instance.gpus)
        if proof is None:
            high = middle
        else:
            low, weights = middle + 1, [max(0, weight) for weight in proof]
    return sets, values, low, weights


def run(instance: Instance, search: Search[Placement], *, only_bound: bool = False) -> TerminationStatus:
    """Prove a bound by weights; then, unless only that is asked for, the optimum."""
    from prism.checker import largest_pressure

    unit = instance.whole.unit
    start = portfolio(instance)
    if not only_bound:
        search.offer(start, source="portfolio")
        start = search.solution
    most = None if start is None else largest_pressure(instance, start) / unit
    sets, values, place, weights = least_value(instance, most, search.tick)
    if place == len(values):
        return TerminationStatus.INFEASIBLE
    certificate = certificate_of(instance, weights, unit * values[place])
    search.prove(certificate.value, source="certificate", certificate=certificate)
    if only_bound:
        return TerminationStatus.FEASIBLE
    for value in values[place:]:
        search.prove(certificate_of(instance, weights, unit * value).value, source=SOURCE)
        allowed = [models for pressure, models in sets if pressure <= value]
        parts = partition(allowed, len(instance.jobs), instance.gpus, search.tick)
        if parts is not None:
            search.offer(placement_of(instance, [list(part) for part in parts]), source=SOURCE)
            return TerminationStatus.OPTIMAL
    return TerminationStatus.INFEASIBLE

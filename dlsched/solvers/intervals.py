"""Scheduling by CP-SAT: jobs with several modes on cumulative resources, all times whole; minimise the sum of the ends."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.solvers import availability, child
from dlsched.solvers.cpsat import run, status_of

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

Starts = tuple[tuple[int, int], ...]
"""Of every job its mode and its start."""


@dataclass(frozen=True, slots=True)
class IntervalModel:
    """What CP-SAT is given.

    Parameters
    ----------
    capacities
        Of every resource.
    releases
        Earliest start of every job.
    modes
        Of every job: pairs of a length, >= 0, and what it takes of every resource meanwhile.
    latest
        Latest end of every job.
    least
        A number below which the sum of the ends is not.
    """

    capacities: tuple[int, ...]
    releases: tuple[int, ...]
    modes: tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]
    latest: tuple[int, ...]
    least: int


@dataclass(frozen=True, slots=True)
class IntervalOutcome:
    """Why CP-SAT stopped, what it holds, what it has proven of the sum of the ends, and its conflicts."""

    status: TerminationStatus
    starts: Starts | None
    bound: int | None
    conflicts: int = 0


def solve_intervals(
    model: IntervalModel,
    *,
    limits: Limits | None = None,
    start: Starts | None = None,
    found: Callable[[Starts], None] | None = None,
) -> IntervalOutcome:
    """Solve in a child process, so that limits hold and Ctrl-C works; a node limit limits the conflicts.

    Parameters
    ----------
    model
        Whole times; their sum must stay below 2**53.
    limits
        Time, nodes and threads.
    start
        A solution to start from.
    found
        Called with every better solution on the way.

    Raises
    ------
    SolverMissingError
        OR-Tools is not installed.
    """
    limits = limits or Limits()
    availability.require("cpsat", "milp")
    limits = child.prepared("cpsat", limits)
    try:
        outcome = child.call(
            "dlsched.solvers.intervals:solve", model, limits, start, time_s=limits.time_s, heard=found or _ignore
        )
    except child.OutOfTime:
        return IntervalOutcome(TerminationStatus.TIME_LIMIT, None, None)
    assert isinstance(outcome, IntervalOutcome)
    return outcome


def _ignore(starts: Starts) -> None:
    del starts


def solve(
    model: IntervalModel, limits: Limits, start: Starts | None, found: Callable[[Starts], None]
) -> IntervalOutcome:
    """One optional interval a mode, a cumulative constraint a resource, and one for all resources together."""
    from ortools.sat.python import cp_model

    began = time.monotonic()
    cp = cp_model.CpModel()
    begins, ends, chosen = [], [], []
    used: list[list[tuple[cp_model.IntervalVar, int]]] = [[] for _ in model.capacities]
    together: list[tuple[cp_model.IntervalVar, int]] = []
    for job, (release, latest, modes) in enumerate(zip(model.releases, model.latest, model.modes, strict=True)):
        begin = cp.new_int_var(release, latest, f"start_{job}")
        end = cp.new_int_var(release, latest, f"end_{job}")
        picks = [cp.new_bool_var(f"mode_{job}_{mode}") for mode in range(len(modes))]
        cp.add_exactly_one(picks)
        for pick, (length, takes) in zip(picks, modes, strict=True):
            interval = cp.new_optional_fixed_size_interval_var(begin, length, pick, f"run_{job}")
            cp.add(end == begin + length).only_enforce_if(pick)
            for resource, count in enumerate(takes):
                if count:
                    used[resource].append((interval, count))
        shortest = min(length for length, _ in modes)
        cp.add(end >= begin + shortest)
        lengths = cp_model.LinearExpr.weighted_sum(picks, [length for length, _ in modes])
        length_var = cp.new_int_var(shortest, max(length for length, _ in modes), f"length_{job}")
        cp.add(length_var == lengths)
        whole = cp.new_interval_var(begin, length_var, end, f"whole_{job}")
        together.append((whole, sum(modes[0][1])))
        begins.append(begin)
        ends.append(end)
        chosen.append(picks)
    for capacity, held in zip(model.capacities, used, strict=True):
        cp.add_cumulative([interval for interval, _ in held], [count for _, count in held], capacity)
    if all(sum(takes) == sum(modes[0][1]) for modes in model.modes for _, takes in modes):
        total = sum(model.capacities)
        cp.add_cumulative([interval for interval, _ in together], [count for _, count in together], total)
    cp.add(sum(ends) >= model.least)
    cp.minimize(sum(ends))
    for job, (mode, at) in enumerate(start or ()):
        cp.add_hint(begins[job], at)
        for index, pick in enumerate(chosen[job]):
            cp.add_hint(pick, index == mode)

    def read(value: "Callable[[cp_model.IntVar], int]") -> Starts:
        return tuple(
            (next(mode for mode, pick in enumerate(picks) if value(pick)), value(begin))
            for picks, begin in zip(chosen, begins, strict=True)
        )

    class Watch(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]  # the package is untyped
        def on_solution_callback(self) -> None:
            found(read(self.value))

    if limits.time_s is not None:  # building counts
        limits = replace(limits, time_s=max(0.0, limits.time_s - (time.monotonic() - began)))
    # with linear=1 it can push times on by units
    code, solver = run(cp, limits, Watch(), linear=2, symmetry=False)
    solved = code in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    bound = int(solver.best_objective_bound) if solved or code == cp_model.UNKNOWN else None
    status = status_of(code, limits, solver)
    return IntervalOutcome(status, read(solver.value) if solved else None, bound, int(solver.num_conflicts))

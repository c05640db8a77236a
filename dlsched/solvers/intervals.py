"""Scheduling by CP-SAT: jobs with modes on cumulative resources, integer times; minimise the sum of ends."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.solvers import child
from dlsched.solvers.cpsat import Value, run, status_of, version
from dlsched.solvers.outcome import Bounded, Incumbent, IncumbentCallback, Outcome, require


@dataclass(frozen=True, slots=True)
class IntervalModel:
    """A scheduling model for CP-SAT."""

    capacities: tuple[int, ...]
    """Capacity of every resource."""
    releases: tuple[int, ...]
    """Earliest start of every job."""
    modes: tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]
    """For every job, pairs of a length, >= 0, and its use of every resource."""
    latest: tuple[int, ...]
    """Latest end of every job."""
    least: int
    """A lower bound on the sum of the ends."""


def values_of(modes: Sequence[int], starts: Sequence[int]) -> Incumbent:
    """Return a solution as values by name: ``mode_<job>``, counted from 0, and ``start_<job>``."""
    named = {f"mode_{job}": mode for job, mode in enumerate(modes)}
    return named | {f"start_{job}": start for job, start in enumerate(starts)}


def solve_intervals(
    model: IntervalModel,
    *,
    limits: Limits | None = None,
    start: Incumbent | None = None,
    found: IncumbentCallback | None = None,
) -> Outcome:
    """Solve in a child process, so that limits hold and Ctrl-C works; nodes are conflicts.

    The sum of all times must stay below 2**53. ``start`` is a solution as from ``values_of``.
    """
    limits = limits or Limits()
    require("cpsat", "milp")
    limits = child.prepared("cpsat", limits)
    known: float | None = None

    def hear(report: Incumbent | Bounded) -> None:
        nonlocal known
        if isinstance(report, Bounded):
            known = report.bound
        elif found is not None:
            found(report)

    function, time_s = "dlsched.solvers.intervals:solve", limits.time_s
    outcome = child.outcome_of("cpsat", function, model, limits, start, time_s=time_s, heard=hear)
    if outcome.status is TerminationStatus.TIME_LIMIT and outcome.bound is None:  # killed: it stated no bound
        return replace(outcome, bound=known)
    return outcome


def solve(
    model: IntervalModel, limits: Limits, start: Incumbent | None, say: Callable[[Incumbent | Bounded], None]
) -> Outcome:
    """Solve with an optional interval for each mode, a cumulative constraint for each resource and all."""
    from ortools.sat.python import cp_model

    began = time.monotonic()
    cp = cp_model.CpModel()
    begins, ends, chosen = [], [], []
    used: list[list[tuple[cp_model.IntervalVar, int]]] = [[] for _ in model.capacities]
    together: list[tuple[cp_model.IntervalVar, int]] = []
    # each mode of a job is an optional interval on the resources it uses; ``whole`` runs whichever mode is chosen
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
    for capacity, uses in zip(model.capacities, used, strict=True):
        cp.add_cumulative([interval for interval, _ in uses], [count for _, count in uses], capacity)
    # where all modes of a job use equally many units, all resources together are one more cumulative resource
    if all(sum(takes) == sum(modes[0][1]) for modes in model.modes for _, takes in modes):
        total = sum(model.capacities)
        cp.add_cumulative([interval for interval, _ in together], [count for _, count in together], total)
    cp.add(sum(ends) >= model.least)
    cp.minimize(sum(ends))
    if start is not None:
        for job, picks in enumerate(chosen):
            cp.add_hint(begins[job], start[f"start_{job}"])
            for mode, pick in enumerate(picks):
                cp.add_hint(pick, mode == start[f"mode_{job}"])

    def read(value: Value) -> Incumbent:
        modes = [next(mode for mode, pick in enumerate(picks) if value(pick)) for picks in chosen]
        return values_of(modes, [value(begin) for begin in begins])

    if limits.time_s is not None:  # building the model counts
        limits = replace(limits, time_s=max(0.0, limits.time_s - (time.monotonic() - began)))
    name = version()
    # linear=1 can shift times by whole units, and so does probing, for minutes where the unit is fine
    code, solver, bound = run(
        *(cp, limits, lambda value: say(read(value))),
        bounded=lambda bound: say(Bounded(int(bound), name)),
        linear=2,
        symmetry=False,
        probing=False,
    )
    solved = code in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    status = status_of(code, limits, solver)
    return Outcome(
        status=status,
        solver=name,
        values=read(solver.value) if solved else None,
        bound=None if bound is None else int(bound),
        nodes=int(solver.num_conflicts),
    )

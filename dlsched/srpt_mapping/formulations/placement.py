"""The best placement of one job on given free GPUs, by CP-SAT.

======================  =============================================================================================
name                    mathematics
======================  =============================================================================================
``x_s_m``               replicas of stage s on server m, 0 .. min(k_s, free GPUs of m)
``u_s_m``               x_sm >= 1
``o_s``                 stage s uses one server
``b_s``                 seconds of its ring all-reduce, in units: at least 2 (k_s - 1)/k_s h_s c, c = c_in if o_s, else
                        c_m of every server used
``a``                   seconds of an iteration, in units, minimised
``gang``, ``gpus``      sum_m x_sm = k_s;  sum_s x_sm <= free GPUs of m
``slowest``             u_sm implies a >= p_s + b_s + sum_v 2 O_sv / k_s (c_m - x_vm / k_v (c_m - c_in))
``order``               servers with as many free and as many GPUs in all: weighted replicas do not fall
======================  =============================================================================================

c_in = 1 / b_in, c_m = g^m / b_out. One unit is 2^-30 of the start's iteration (but no less than 2^-38 of the
slowest, nor without a start than 2^-30 of it): coefficients are rounded down, those that
are subtracted up, so the optimum is a bound, a few units below the seconds of the best placement. ``order`` is valid, as
such servers may change places.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dlsched.cluster.job_graph import JobGraph
from dlsched.core.certificate import rounded_down
from dlsched.core.errors import SolverError, UsageError
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.core.tolerance import MEETING
from dlsched.solvers import availability, child
from dlsched.solvers.cpsat import run, status_of
from dlsched.srpt_mapping.servers import Placed

_DIGITS = 30
_SPAN = 8  # bits by which coefficients may exceed those of the start


@dataclass(frozen=True, slots=True)
class BestPlacement:
    """Why CP-SAT stopped, the best placement held (server and replicas by stage), and what is proven; seconds.

    ``optimal``: the bound is within 1e-6 of the seconds; ``feasible``: CP-SAT ended, and rounding leaves more open.
    """

    status: TerminationStatus
    placed: Placed | None
    iteration_s: float | None
    bound_s: float | None


def best_placement(
    graph: JobGraph,
    free: Sequence[int],
    shares: Sequence[float],
    inside: float,
    *,
    start: Placed | None = None,
    limits: Limits | None = None,
) -> BestPlacement:
    """Minimise the seconds of an iteration of one job.

    Parameters
    ----------
    graph
        The job.
    free, shares
        Free GPUs and b_out / g^m of every server, B/s; shape (M,).
    inside
        b_in, B/s.
    start
        A placement to start from, such as ``heavy_edge``'s, and the answer until there is a better one.
    limits
        Time, nodes (conflicts) and threads.

    Raises
    ------
    UsageError
        Figures out of range, or the free GPUs do not hold the job.
    SolverMissingError
        OR-Tools is not installed.
    """
    if len(shares) != len(free) or min(free) < 0 or not min(inside, *shares) > 0:
        raise UsageError("free, shares: found other, allowed: counts >= 0 and bandwidths > 0, one of each a server")
    if sum(free) < graph.gpus:
        raise UsageError(f"free: found {sum(free)} GPUs, allowed: {graph.gpus} or more, what the job takes")
    limits = limits or Limits()
    availability.require("cpsat", "milp")
    slowest_s = graph.uniform_s(min(inside, *shares))
    start_s = None if start is None else _seconds(graph, start, shares, inside)
    near_s = slowest_s if start_s is None else max(start_s, slowest_s / 2**_SPAN)
    unit = Fraction(near_s) / int(2**_DIGITS)
    function = "dlsched.srpt_mapping.formulations.placement:solve"
    held = start, start_s
    try:
        status, placed, units = child.call(
            function, graph, tuple(free), tuple(shares), inside, start, unit, limits, time_s=limits.time_s
        )
    except child.OutOfTime:
        return BestPlacement(TerminationStatus.TIME_LIMIT, *held, None)
    if status in (TerminationStatus.SOLVER_ERROR, TerminationStatus.INFEASIBLE):
        raise SolverError(f"CP-SAT ended a placement that exists with {status}")
    if placed is not None:
        found_s = _seconds(graph, placed, shares, inside)
        held = (placed, found_s) if start_s is None or found_s < start_s else held
    bound_s = None if units is None else rounded_down(units * unit)
    if held[1] is not None and bound_s is not None:
        bound_s = min(held[1], bound_s)
        if status is TerminationStatus.OPTIMAL and held[1] - bound_s > MEETING * held[1]:
            if start is None:  # the unit was coarse: again, in that of the placement found
                return best_placement(graph, free, shares, inside, start=placed, limits=limits)
            status = TerminationStatus.FEASIBLE
    return BestPlacement(status, *held, bound_s)


def _seconds(graph: JobGraph, placed: Placed, shares: Sequence[float], inside: float) -> float:
    return graph.iteration_s([row for _, row in placed], [shares[m] for m, _ in placed], inside)


def solve(
    graph: JobGraph,
    free: tuple[int, ...],
    shares: tuple[float, ...],
    inside: float,
    start: Placed | None,
    unit: Fraction,
    limits: Limits,
) -> tuple[TerminationStatus, Placed | None, int | None]:
    """Build and solve the model; runs in the child process."""
    from ortools.sat.python import cp_model

    able = [place for place, room in enumerate(free) if room]
    stages = range(len(graph.replicas))
    near, far = 1 / Fraction(inside), {m: 1 / Fraction(shares[m]) for m in able}

    def down(seconds: Fraction) -> int:
        return math.floor(seconds / unit)

    cp = cp_model.CpModel()
    x = {(s, m): cp.new_int_var(0, min(graph.replicas[s], free[m]), f"x_{s}_{m}") for s in stages for m in able}
    u = {(s, m): cp.new_bool_var(f"u_{s}_{m}") for s, m in x}
    a = cp.new_int_var(0, 2 ** (_DIGITS + 1), "a")
    for key, replicas in x.items():
        cp.add(replicas >= 1).only_enforce_if(u[key])
        cp.add(replicas == 0).only_enforce_if(u[key].negated())
    for m in able:
        cp.add(sum(x[s, m] for s in stages) <= free[m])
    for s in stages:
        cp.add(sum(x[s, m] for m in able) == graph.replicas[s])
        _slowest(cp, graph, s, able, x, u, a, near, far, down)
    for first, second in pairwise(able):
        if free[first] == free[second] and shares[first] == shares[second]:
            cp.add(sum((s + 1) * (x[s, second] - x[s, first]) for s in stages) >= 0)
    cp.minimize(a)
    _hint(cp, start, free, shares, x)
    code, solver = run(cp, limits, symmetry=False)
    held = code in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    placed = [(m, tuple(solver.value(x[s, m]) for s in stages)) for m in able] if held else None
    bound = int(solver.best_objective_bound) if held or code == cp_model.UNKNOWN else None
    used = None if placed is None else [(m, row) for m, row in placed if any(row)]
    return status_of(code, limits, solver.wall_time), used, bound


def _slowest(
    cp: Any, graph: JobGraph, s: int, able: list[int], x: Any, u: Any, a: Any, near: Fraction, far: Any, down: Any
) -> None:
    """Bind ``a`` by the seconds of one stage on every server that it uses."""
    ring = Fraction(graph.ring_bytes(s))
    one = cp.new_bool_var(f"o_{s}")
    cp.add(sum(u[s, m] for m in able) == 1).only_enforce_if(one)
    cp.add(sum(u[s, m] for m in able) >= 2).only_enforce_if(one.negated())
    b = cp.new_int_var(0, down(ring * max(near, *far.values())), f"b_{s}")
    cp.add(b >= down(ring * near)).only_enforce_if(one)
    for m in able:
        cp.add(b >= down(ring * far[m])).only_enforce_if(u[s, m], one.negated())
        alone = Fraction(graph.compute_s[s])
        saved = []
        for v, sent in graph.neighbours(s):
            each = Fraction(2 * sent) / graph.replicas[s]
            alone += each * far[m]
            saved.append(-down(-each * (far[m] - near) / graph.replicas[v]) * x[v, m])
        cp.add(a >= down(alone) + b - sum(saved)).only_enforce_if(u[s, m])


def _hint(cp: Any, start: Placed | None, free: Sequence[int], shares: Sequence[float], x: Any) -> None:
    """Hint at a placement, with servers that may change places in the order that the model asks for."""
    if start is None:
        return
    rows = dict(start)
    groups: dict[tuple[int, float], list[int]] = {}
    for m in sorted({m for _, m in x}):
        groups.setdefault((free[m], shares[m]), []).append(m)
    stages = sorted({s for s, _ in x})
    for places in groups.values():
        held = sorted((rows.get(m, (0,) * len(stages)) for m in places), key=_weight)
        for m, row in zip(places, held, strict=True):
            for s in stages:
                cp.add_hint(x[s, m], row[s])


def _weight(row: Sequence[int]) -> int:
    return sum((stage + 1) * count for stage, count in enumerate(row))

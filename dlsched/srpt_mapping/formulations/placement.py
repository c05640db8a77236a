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
``slowest``             u_sm implies a >= p_s + b_s + sum_v t_svm, t_svm = 2 O_sv / k_s (c_m - x_vm / k_v (c_m - c_in))
``near``                u_sm implies low <= x_vm <= high: where t_svm is no more than the start's seconds
``order``               servers with as many free and as many GPUs in all: weighted replicas do not fall
======================  =============================================================================================

c_in = 1 / b_in, c_m = g^m / b_out. One unit is 2^-30 of the start's iteration: coefficients are rounded down, those that
are subtracted up, so the optimum is a bound, a few units below the seconds of the best placement. *Nothing is coarser than
that*: no placement worth looking at has a term larger than the start's seconds, as all terms are at least 0. So what is
larger is forbidden (``near``, and likewise rings on one server or on several), and between ``low`` and ``high`` t_svm
differs by no more than that. Solved again from a better placement, in its finer unit, until the bound meets it.
``order`` is valid, as such servers may change places.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dlsched.certificates import rounded_down
from dlsched.cluster.job_graph import JobGraph
from dlsched.core.errors import SolverError, UsageError
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.core.tolerance import MEETING
from dlsched.solvers import availability, child
from dlsched.solvers.cpsat import run, status_of
from dlsched.srpt_mapping.servers import Placed

_DIGITS = 30
LARGEST = 2**20
"""GPUs of a job beyond which it is refused: rounding may lose a unit for each of them."""


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
        Figures out of range, the free GPUs do not hold the job, or it has more than ``LARGEST``.
    SolverMissingError
        OR-Tools is not installed.
    """
    if len(shares) != len(free) or min(free) < 0 or not min(inside, *shares) > 0:
        raise UsageError("free, shares: found other, allowed: counts >= 0 and bandwidths > 0, one of each a server")
    if sum(free) < graph.gpus:
        raise UsageError(f"free: found {sum(free)} GPUs, allowed: {graph.gpus} or more, what the job takes")
    if graph.gpus > LARGEST:
        raise UsageError(f"placement: found a job of {graph.gpus:,} GPUs, allowed: {LARGEST:,}")
    limits = limits or Limits()
    availability.require("cpsat", "milp")
    began = time.monotonic()
    best_s = graph.uniform_s(min(inside, *shares)) if start is None else _seconds(graph, start, shares, inside)
    held, bound_s = start, None
    while True:
        unit = Fraction(best_s) / int(2**_DIGITS)
        function = "dlsched.srpt_mapping.formulations.placement:solve"
        arguments = graph, tuple(free), tuple(shares), inside, held, unit
        left = _left(limits, began)
        try:
            status, placed, units = child.call(function, *arguments, left, time_s=left.time_s)
        except child.OutOfTime:
            status, placed, units = TerminationStatus.TIME_LIMIT, None, None
        if status in (TerminationStatus.SOLVER_ERROR, TerminationStatus.INFEASIBLE):
            raise SolverError(f"CP-SAT ended a placement that exists with {status}")
        before_s = best_s
        if placed is not None:
            found_s = _seconds(graph, placed, shares, inside)
            if held is None or found_s < best_s:
                held, best_s = placed, found_s
        if units is not None:
            bound_s = max(bound_s or 0.0, rounded_down(units * unit))
        if held is not None and bound_s is not None:
            bound_s = min(best_s, bound_s)
        met = held is not None and bound_s is not None and best_s - bound_s <= MEETING * best_s
        if status is TerminationStatus.OPTIMAL and not met and best_s < before_s:
            continue
        if status is TerminationStatus.OPTIMAL and not met:
            status = TerminationStatus.FEASIBLE
        return BestPlacement(status, held, None if held is None else best_s, bound_s)


def _left(limits: Limits, began: float) -> Limits:
    if limits.time_s is None:
        return limits
    return replace(limits, time_s=max(0.0, limits.time_s - (time.monotonic() - began)))


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
    most = unit * 2**_DIGITS * (1 + Fraction(1, 2**40))  # seconds of the start

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
        _slowest(cp, graph, s, able, x, u, a, near, far, down, most)
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
    cp: Any,
    graph: JobGraph,
    s: int,
    able: list[int],
    x: Any,
    u: Any,
    a: Any,
    near: Fraction,
    far: Any,
    down: Any,
    most: Fraction,
) -> None:
    """Bind ``a`` by the seconds of one stage on every server that it uses."""
    ring = Fraction(graph.ring_bytes(s))
    one = cp.new_bool_var(f"o_{s}")
    cp.add(sum(u[s, m] for m in able) == 1).only_enforce_if(one)
    cp.add(sum(u[s, m] for m in able) >= 2).only_enforce_if(one.negated())
    b = cp.new_int_var(0, down(most), f"b_{s}")
    if ring * near > most:
        cp.add(one == 0)
    else:
        cp.add(b >= down(ring * near)).only_enforce_if(one)
    for m in able:
        if ring * far[m] > most:
            cp.add_bool_or([u[s, m].negated(), one])
        else:
            cp.add(b >= down(ring * far[m])).only_enforce_if(u[s, m], one.negated())
        alone, more = Fraction(graph.compute_s[s]), []
        for v, sent in graph.neighbours(s):
            each = Fraction(2 * sent) / graph.replicas[s]
            least_s, terms = _transfer(cp, each, near, far[m], graph.replicas[v], x[v, m], u[s, m], down, most)
            alone += least_s
            more += terms
        cp.add(a >= down(alone) + b + sum(more)).only_enforce_if(u[s, m])


def _transfer(
    cp: Any, each: Fraction, near: Fraction, far: Fraction, partners: int, x: Any, used: Any, down: Any, most: Fraction
) -> tuple[Fraction, list[Any]]:
    """Seconds of transfers to one stage with as many of its replicas here as is best, and what fewer or more of them add."""
    slope = each * (far - near) / partners  # what every replica here saves
    if slope == 0:
        return each * far, []
    least = each * (near if slope > 0 else far)  # all of them here are best, or none
    if least > most:
        cp.add(used == 0)
        return Fraction(0), []
    spare = min(partners, math.floor((most - least) / abs(slope)))
    away = partners - x if slope > 0 else x
    cp.add(away <= spare).only_enforce_if(used)
    return least, [down(abs(slope)) * away] if spare else []


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

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
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, pairwise
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from dlsched.certificates import rounded_down
from dlsched.cluster.job_graph import JobGraph, ring_bytes
from dlsched.core.display import Brief
from dlsched.core.errors import SolverError, UsageError
from dlsched.core.gap import MEETING
from dlsched.core.limits import Budget, Limits
from dlsched.core.status import TerminationStatus
from dlsched.solvers.cpsat import run, status_of
from dlsched.solvers.formulation import Formulation
from dlsched.solvers.outcome import Incumbent, require
from dlsched.srpt_mapping.placing import Placed

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

_DIGITS = 30  # of the start's seconds in units: CP-SAT's sums stay far below 2^63
LARGEST = 2**20
"""Most GPUs of a job; larger jobs are refused, as rounding may lose a unit for each GPU."""


class Room(NamedTuple):
    """Free GPUs and b_out / g^m of every server, and b_in, B/s."""

    free: tuple[int, ...]
    shares: tuple[float, ...]
    inside: float


@dataclass(frozen=True, slots=True, repr=False)
class BestPlacement(Brief):
    """Why CP-SAT stopped, the best placement (server and replicas by stage), its seconds, and the bound in seconds.

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
        A placement to start from, such as that of ``placing``, and the answer until there is a better one.
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
        raise UsageError(
            where=("free", "shares"), found="other", allowed="counts >= 0 and bandwidths > 0, one of each a server"
        )
    if sum(free) < graph.gpus:
        raise UsageError(where="free", found=f"{sum(free)} GPUs", allowed=f"{graph.gpus} or more, what the job takes")
    if graph.gpus > LARGEST:
        raise UsageError(where="placement", found=f"a job of {graph.gpus:,} GPUs", allowed=f"{LARGEST:,}")
    require("cpsat", "milp")

    def seconds(placed: Placed) -> float:
        return graph.iteration_s([row for _, row in placed], [shares[m] for m, _ in placed], inside)

    from dlsched.solvers import child

    budget = Budget(limits)
    best_s = graph.uniform_s(min(inside, *shares)) if start is None else seconds(start)
    best, bound_s = start, None
    # each solve is in the unit of the best placement so far; repeated while it finds a better one
    while True:
        unit, remaining = Fraction(best_s) / int(2**_DIGITS), budget.left
        function = "dlsched.srpt_mapping.formulations.placement:solve"
        room = Room(tuple(free), tuple(shares), inside)
        try:
            status, placed, units = child.call(function, graph, room, best, unit, remaining, time_s=remaining.time_s)
        except child.OutOfTime:
            status, placed, units = TerminationStatus.TIME_LIMIT, None, None
        if status in (TerminationStatus.SOLVER_ERROR, TerminationStatus.INFEASIBLE):
            raise SolverError(f"CP-SAT ended a placement that exists with {status}")
        before_s = best_s
        if placed is not None and (best is None or seconds(placed) < best_s):
            best, best_s = placed, seconds(placed)
        if units is not None:
            bound_s = max(bound_s or 0.0, rounded_down(units * unit))
        if best is None:
            return BestPlacement(status, None, None, bound_s)
        if bound_s is not None:
            bound_s = min(best_s, bound_s)
        met = bound_s is not None and best_s - bound_s <= MEETING * best_s
        if status is TerminationStatus.OPTIMAL and not met:
            if best_s < before_s:
                continue
            status = TerminationStatus.FEASIBLE
        return BestPlacement(status, best, best_s, bound_s)


def solve(
    graph: JobGraph, room: Room, start: Placed | None, unit: Fraction, limits: Limits
) -> tuple[TerminationStatus, Placed | None, int | None]:
    """Build and solve the model; runs in the child process."""
    from ortools.sat.python import cp_model

    formulation = build_placement(graph, room, start, unit)
    code, solver, bound = run(formulation.model, limits, symmetry=False)
    feasible = code in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    names = [variable.name for variable in formulation.model.proto.variables]
    placed = formulation.decode(dict(zip(names, solver.response_proto.solution, strict=True))) if feasible else None
    return status_of(code, limits, solver), placed, None if bound is None else int(bound)


def build_placement(
    graph: JobGraph, room: Room, start: Placed | None, unit: Fraction
) -> "Formulation[cp_model.CpModel, Placed]":
    """Build the model in units of ``unit`` seconds, 2^-30 of the start's iteration, with a hint at the start."""
    from ortools.sat.python import cp_model

    free, shares, inside = room
    able = [m for m, gpus in enumerate(free) if gpus]
    stages = range(len(graph.replicas))
    cp = cp_model.CpModel()
    x = {(s, m): cp.new_int_var(0, min(graph.replicas[s], free[m]), f"x_{s}_{m}") for s in stages for m in able}
    u = {(s, m): cp.new_bool_var(f"u_{s}_{m}") for s, m in x}
    a = cp.new_int_var(0, 2 ** (_DIGITS + 1), "a")
    for key, replicas in x.items():
        cp.add(replicas >= 1).only_enforce_if(u[key])
        cp.add(replicas == 0).only_enforce_if(u[key].negated())
    for m in able:
        cp.add(sum(x[s, m] for s in stages) <= free[m])
    # every stage binds the seconds of an iteration; equal servers are ordered
    seconds = _Seconds(cp, graph, unit, 1 / Fraction(inside), {m: 1 / Fraction(shares[m]) for m in able}, x, u)
    for s in stages:
        cp.add(sum(x[s, m] for m in able) == graph.replicas[s])
        seconds.bind(a, s)
    for first, second in pairwise(able):
        if free[first] == free[second] and shares[first] == shares[second]:
            cp.add(sum((s + 1) * (x[s, second] - x[s, first]) for s in stages) >= 0)
    cp.minimize(a)
    groups: dict[tuple[int, float], list[int]] = {}  # servers that may change places, hinted as ``order`` asks for
    for m in able if start is not None else ():
        groups.setdefault((free[m], shares[m]), []).append(m)
    rows = dict(start or [])
    for group in groups.values():
        ordered = sorted((rows.get(m, (0,) * len(stages)) for m in group), key=lambda row: sum(map(mul, row, count(1))))
        for m, row in zip(group, ordered, strict=True):
            for s in stages:
                cp.add_hint(x[s, m], row[s])

    def decode(values: Incumbent) -> Placed:
        placed = [(m, tuple(int(values[f"x_{s}_{m}"]) for s in stages)) for m in able]
        return [(m, row) for m, row in placed if any(row)]

    return Formulation(cp, decode, float(unit))


@dataclass(frozen=True, slots=True)
class _Seconds:
    """Rows that bind the seconds of an iteration; c_in and, by server, c_m."""

    cp: "cp_model.CpModel"
    graph: JobGraph
    unit: Fraction
    near: Fraction
    far: dict[int, Fraction]
    x: "dict[tuple[int, int], cp_model.IntVar]"
    u: "dict[tuple[int, int], cp_model.IntVar]"

    @property
    def most(self) -> Fraction:
        """Seconds of the start."""
        return self.unit * int(2**_DIGITS) * (1 + Fraction(1, 2**40))

    def down(self, seconds: Fraction) -> int:
        """In units."""
        return math.floor(seconds / self.unit)

    def bind(self, a: "cp_model.IntVar", s: int) -> None:
        """Bind ``a`` by the seconds of one stage on every server that it uses."""
        cp, graph, u = self.cp, self.graph, self.u
        ring = Fraction(ring_bytes(graph, s))
        one = cp.new_bool_var(f"o_{s}")
        cp.add(sum(u[s, m] for m in self.far) == 1).only_enforce_if(one)
        cp.add(sum(u[s, m] for m in self.far) >= 2).only_enforce_if(one.negated())
        b = cp.new_int_var(0, self.down(self.most), f"b_{s}")
        if ring * self.near > self.most:
            cp.add(one == 0)
        else:
            cp.add(b >= self.down(ring * self.near)).only_enforce_if(one)
        # ring and transfers on every server; what would exceed the start's seconds is forbidden
        for m, far in self.far.items():
            if ring * far > self.most:
                cp.add_bool_or([u[s, m].negated(), one])
            else:
                cp.add(b >= self.down(ring * far)).only_enforce_if(u[s, m], one.negated())
            alone, more = Fraction(graph.compute_s[s]), []
            for v, sent in graph.neighbours(s):
                least_s, terms = self._transfer(s, v, m, Fraction(2 * sent) / graph.replicas[s])
                alone += least_s
                more += terms
            cp.add(a >= self.down(alone) + b + sum(more)).only_enforce_if(u[s, m])

    def _transfer(self, s: int, v: int, m: int, each: Fraction) -> "tuple[Fraction, list[cp_model.LinearExprT]]":
        """Least seconds of transfers to one stage here, and the terms that other numbers of replicas add."""
        far, partners = self.far[m], self.graph.replicas[v]
        slope = each * (far - self.near) / partners  # seconds that each replica here saves
        if slope == 0:
            return each * far, []
        least = each * (self.near if slope > 0 else far)  # all of them here are best, or none
        if least > self.most:
            self.cp.add(self.u[s, m] == 0)
            return Fraction(0), []
        spare = min(partners, math.floor((self.most - least) / abs(slope)))
        away = partners - self.x[v, m] if slope > 0 else self.x[v, m]
        self.cp.add(away <= spare).only_enforce_if(self.u[s, m])
        return least, [self.down(abs(slope)) * away] if spare else []

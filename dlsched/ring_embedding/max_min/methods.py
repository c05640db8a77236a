"""Methods for the least utility (``max_min``), and the rounds of programs, which ask for quotas of worker-slots, that prove it.

Sort the utilities of an embedding ascending: u_1 <= u_2 <= ... <= u_I. Of two embeddings the one is better that is larger at
the first place where they differ. Worker-slots are whole numbers, so "job i has utility v" is the quota n_i(v), the least z
with mu_i(z) >= v in the floats of its table, and every question below is one of whole numbers, without a tolerance. Values
that differ by what floats round are one value.

Let the first m places of the best embedding be known, with the values v_1 < v_2 < ..., and v_l the first time at place p_l.
*Stairs*: for every l, I - p_l + 1 jobs at least have v_l. That is u_p >= v_l from place p_l on. So an embedding that climbs the
stairs is nowhere in the first m places below the best one; and as this is the best, it has the same ones. A round has two
questions to embeddings that climb the stairs:

1. Which is the largest v that I - m jobs can have? That is u_{m+1} >= v, so v is u_{m+1} of the best. By bisection over the
   values in the tables: an answer raises the lower end to its own u_{m+1}, a no lowers the upper one.
2. Of those in which I - m jobs have v: how many jobs, c, can have the next larger value at most? Place p is above v if and only
   if I - p + 1 jobs are. So in the best embedding the places m + 1 to I - c are v, no more, and the next round begins there.

The embedding held is the best of all answers. So its first m places are known to be the best, and at the
next place it is at least as good as any answer with the same first m places. At most I rounds prove all
places.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from dlsched.algorithms.utility_tables import Floats
from dlsched.core.errors import ContradictionError
from dlsched.core.gap import meets
from dlsched.core.limits import Stopped
from dlsched.core.search import CONTRADICTION, Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.checker import worker_slots
from dlsched.ring_embedding.exact import LINEAR, Program, arrays, circuits_or_rows, limits_of, small, solve_circuit
from dlsched.ring_embedding.formulations.circuit import build_circuit
from dlsched.ring_embedding.formulations.workers import Stairs
from dlsched.ring_embedding.heuristics.baselines import quick
from dlsched.ring_embedding.heuristics.plan import Plan
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.max_min.plan import Filling, Water, aggregated, ascending, horizon, place, raise_levels
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.solution import Embedding
from dlsched.solvers.milp import solve_milp

_EQUAL = 1e-13  # relative difference of values that differ by rounding only
_WHOLE = 1e-4  # larger than the error with which solvers count jobs


def run_rounds(
    instance: Instance,
    search: Search[Embedding],
    *,
    program: Program,
    upper: float | None = None,
    nodes: int | None = None,
) -> TerminationStatus:
    """Ask until the lexicographically best utilities are proven; a message says so, or how many are proven.

    ``upper``: bound of the least utility; ``nodes``: node limit of each question if the search has no limits at all.
    """
    rounds = _Rounds(instance, search, program, nodes)
    try:
        status = rounds.run(upper)
    except Stopped:
        search.say(rounds.message)
        raise
    search.say(rounds.message)
    return status


class _Open(Exception):  # noqa: N818  a signal, not an error
    """A question stayed open, with the status that says why."""

    def __init__(self, status: TerminationStatus) -> None:
        super().__init__(str(status))
        self.status = status


class _Rounds:
    """The questions, and the utilities ``levels`` of the incumbent; the first ``proven`` are proven."""

    def __init__(self, instance: Instance, search: Search[Embedding], program: Program, nodes: int | None) -> None:
        self.instance, self.search, self.program, self.nodes = instance, search, program, nodes
        tables = Network(instance, search.budget).tables
        self.tables = levelled([np.maximum.accumulate(table.values) for table in tables])
        self.values = np.unique(np.concatenate(self.tables))
        self.levels: list[float] = []
        self.proven = 0
        self.stairs: list[tuple[float, int]] = []
        """Values that are proven, and how many jobs have each at least."""
        self._hear(Embedding({}) if search.solution is None else search.solution, "running nothing")

    @property
    def message(self) -> str:
        """Describe what is proven."""
        if self.proven == 0:
            return "whether the least utility can be larger is open"
        if self.proven < len(self.levels):
            return f"the {self.proven} least utilities are as large as possible, one after the other; the next ones are open"
        return "the least utility is as large as possible, and so is each next one"

    def run(self, upper: float | None) -> TerminationStatus:
        """Ask both questions in turn until all places are proven or a question stays open."""
        most = sorted(float(table[-1]) for table in self.tables)
        top = most[0] if upper is None or meets(most[0], upper) else min(most[0], upper)
        try:
            while self.proven < len(most):
                value = self._raised(top, likely=self.proven == 0 and upper is not None)
                self.stairs.append((value, len(most) - self.proven))
                self.proven = len(most) - self._above(value, sum(each > value for each in most))
                top = most[min(self.proven, len(most) - 1)]
        except _Open as reason:
            return reason.status
        return TerminationStatus.OPTIMAL

    def _raised(self, top: float, *, likely: bool) -> float:
        """The largest utility at the first unproven place, by bisection up to ``top``, which is asked first if ``likely``."""
        # Bisection over the values in tables; ``low`` is what the incumbent has.
        place = self.proven
        high = int(np.searchsorted(self.values, top, side="right")) - 1
        self._prove(high)
        while (low := int(np.searchsorted(self.values, self.levels[place]))) < high:
            middle, likely = high if likely else (low + high + 1) // 2, False
            value = float(self.values[middle])
            status = self._ask((value, len(self.levels) - place))[0]
            if status is TerminationStatus.INFEASIBLE:
                high = middle - 1
                self._prove(high)
            elif self.levels[place] < value:
                raise _Open(status)
        self._prove(low)
        return self.levels[place]

    def _prove(self, index: int) -> None:
        """Record a table value as bound of the least utility, unless that is proven."""
        if self.proven == 0 and not self.search.proven:
            self.search.prove(float(self.values[index]), source=self.search.solver_version or "tables of utilities")

    def _above(self, value: float, most: int) -> int:
        """Number of jobs above ``value`` in the best embedding; at most ``most``."""
        count = sum(each > value for each in self.levels)
        if count == most:
            return count
        larger = float(self.values[np.searchsorted(self.values, value, side="right")])
        status, most = self._ask((larger, count), maximise=True)
        if status is TerminationStatus.INFEASIBLE:
            message = f"{self.search.solver_version} calls infeasible what is held"
            raise ContradictionError(message, where=CONTRADICTION)
        count = sum(each > value for each in self.levels)
        if count < most:
            raise _Open(status)
        return count

    def _ask(self, last: tuple[float, int], *, maximise: bool = False) -> tuple[TerminationStatus, int]:
        """Ask for the proven values and ``last``; return the solver's status and its bound on the count."""
        self.search.tick()
        asked = [*self.stairs, last]
        quotas = tuple(tuple(self._quotas(value)) for value, _ in asked)
        stairs = Stairs(quotas, tuple(count for _, count in asked), maximise)
        return self._by_circuits(stairs) if self.program == "circuit" else self._by_program(stairs)

    def _quotas(self, value: float) -> Iterator[int | None]:
        for table in self.tables:
            yield int(np.searchsorted(table, value)) if value <= table[-1] else None

    def _by_program(self, stairs: Stairs) -> tuple[TerminationStatus, int]:
        search = self.search
        model = arrays(search, LINEAR[self.program](self.instance, budget=search.budget, goal=stairs))
        outcome = solve_milp(
            model.model,
            solver=search.solver or "highs",
            limits=limits_of(search, self.nodes),
            found=lambda values: self._consider(model.decode(values)),
        )
        search.solver_version = outcome.solver
        search.budget.nodes += outcome.nodes or 0
        search.say(outcome.message)
        if outcome.values is not None:
            self._hear(model.decode(outcome.values), outcome.solver)
        return self._ended(outcome.status), self._counted(outcome.bound)

    def _by_circuits(self, stairs: Stairs) -> tuple[TerminationStatus, int]:
        circuit = build_circuit(self.instance, self.search.budget, stairs)
        limits = limits_of(self.search, self.nodes)
        status, solver, found, bound = solve_circuit(self.search, circuit, limits, self._consider)
        if status is TerminationStatus.SOLVER_ERROR:
            self.search.say(solver.response_stats())
        if found is not None:
            self._hear(found, self.search.solver_version or "")
        return self._ended(status), self._counted(bound)

    def _ended(self, status: TerminationStatus) -> TerminationStatus:
        """``feasible`` for ``optimal``: an answer off by a solver's tolerance proves nothing."""
        return TerminationStatus.FEASIBLE if status is TerminationStatus.OPTIMAL else status

    def _counted(self, bound: float | None) -> int:
        """Jobs that a bound allows; solvers state it to about 1e-6."""
        return len(self.levels) if bound is None else math.floor(bound + _WHOLE)

    def _consider(self, embedding: Embedding) -> None:
        """Consider an incumbent, which may break a rule by a solver's tolerance."""
        if not self.search.violations(embedding):
            self._hear(embedding, "incumbent")

    def _hear(self, embedding: Embedding, source: str) -> None:
        """Hold an embedding if it is better than the incumbent."""
        slots = worker_slots(self.instance, embedding)
        found = sorted(float(table[slots[job.id]]) for job, table in zip(self.instance.jobs, self.tables, strict=True))
        if found > self.levels:
            self.levels = found
            self.search.offer(embedding, source=source, or_equal=True)


def levelled(tables: Sequence[Floats]) -> list[Floats]:
    """The tables with every run of values that differ by rounding only set to its largest value."""
    values = np.unique(np.concatenate(tables))
    begins = np.flatnonzero(np.diff(values, prepend=-1.0) > _EQUAL * values)
    largest = np.maximum.reduceat(values, begins)
    return [largest[np.searchsorted(values[begins], table, side="right") - 1] for table in tables]


NODES = 500
"""Node limit of a linear program if ``exact`` runs without limits."""
CONFLICTS = 20_000
"""Conflicts of CP-SAT in ``exact`` without limits."""


def warm(instance: Instance, search: Search[Embedding]) -> None:
    """Offer the answer of ``quick`` and, if there is time, slots filled from nothing."""
    keep(instance, search, quick(instance), "quick")
    search.tick()
    placement = Plan(Network(instance, search.budget))
    try:
        Filling(placement).fill()
    finally:
        keep(instance, search, placement.embedding(), "filling")


def keep(instance: Instance, search: Search[Embedding], found: Embedding, source: str) -> None:
    """Offer an embedding, also one with the incumbent's objective if its ascending utilities are larger."""
    fairer = search.solution is None or ascending(instance, found) > ascending(instance, search.solution)
    search.offer(found, source=source, or_equal=fairer)


def run_bound(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
    """Certify the bound of all slots as one pool, then that of the relaxation."""
    search.certify(aggregated(instance, search.budget))
    search.certify(horizon(instance, search.budget))
    return TerminationStatus.FEASIBLE


def run_plan(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
    """Offer the answer of ``quick``, then plans that follow the relaxation."""
    keep(instance, search, quick(instance), "quick")
    search.certify(aggregated(instance, search.budget))
    water = Water(instance, search.budget)
    least = raise_levels(water, first=lambda: search.certify(water.certificate()))

    def enough(found: Embedding) -> bool:
        keep(instance, search, found, "plan")
        return search.proven

    place(Network(instance, search.budget), water, least, enough)
    return TerminationStatus.OPTIMAL if search.proven else TerminationStatus.FEASIBLE


def run_exact(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
    """Run the plan and, if the instance is small, the rounds; a message says what is not proven."""
    warm(instance, search)
    run_plan(instance, search)
    if small(instance):
        return _by_rounds(instance, search)
    if not search.proven:
        search.say("no proof: its programs have nothing left to try")
        return TerminationStatus.FEASIBLE
    search.say("the least utility is as large as possible; of the next ones there is no proof")
    return TerminationStatus.OPTIMAL


def _by_rounds(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
    """Run the rounds of exact programs, starting from what the plan proved."""
    upper = search.objective if search.proven else search.bound  # a certificate rounds up
    return circuits_or_rows(
        search,
        lambda: run_rounds(instance, search, program="circuit", upper=upper, nodes=CONFLICTS),
        lambda: run_rounds(instance, search, program="milp", upper=upper, nodes=NODES),
        solved="linear programs were",
    )

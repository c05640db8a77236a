"""The exact methods of srpt_mapping."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dlsched.algorithms.start_prices import Charged
from dlsched.algorithms.start_tree import CLOSE, Modes, Prices, Tree
from dlsched.catalogue.solvers import SOLVERS
from dlsched.certificates import PackingCertificate, PricesCertificate
from dlsched.core.errors import ContradictionError, SolverError, UsageError
from dlsched.core.gap import FEASIBLE, rounding
from dlsched.core.limits import Limits, Stopped
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.solvers.conclude import settled
from dlsched.solvers.outcome import Incumbent
from dlsched.srpt_mapping.blocks import Block, blocks_of, whole_bound_s, whole_schedule
from dlsched.srpt_mapping.bounds import combined, few_enough, packing, prices
from dlsched.srpt_mapping.heuristics import POLICIES, WARM, fifo, one_by_one
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.layouts import Layouts, Picked, layouts, mode_jobs, picked_of
from dlsched.srpt_mapping.placing import Servers, compact
from dlsched.srpt_mapping.planning import anneal, few_jobs, plan
from dlsched.srpt_mapping.slices import SLICE_RULES
from dlsched.srpt_mapping.solution import Schedule
from dlsched.version import VERSION


def prove_prices(instance: Instance, search: Search[Schedule]) -> PricesCertificate:
    """Record and return the bound of the best prices of a GPU; record that of the best ones found if a limit stops the search."""
    certificate = prices(instance, tick=search.tick, better=search.certify)
    search.certify(certificate)
    return certificate


def prove_packing(instance: Instance, search: Search[Schedule]) -> PackingCertificate:
    """As ``prove_prices``, for prices of single jobs; from the incumbent, if there is one."""
    starts_s = None
    if search.objective is not None:
        starts_s = [search.incumbent.jobs[job.id].start_s for job in instance.jobs]
    certificate = packing(
        instance,
        starts_s=starts_s,
        enough=math.inf if search.objective is None else search.objective,
        tick=search.tick,
        better=search.certify,
    )
    search.certify(certificate)
    return certificate


def prove_all_prices(instance: Instance, search: Search[Schedule]) -> None:
    """``prove_prices``, then ``prove_packing`` where jobs and GPUs are few enough and there is a gap."""
    prove_prices(instance, search)
    if few_enough(instance) and not search.proven:
        prove_packing(instance, search)


def warm(instance: Instance, search: Search[Schedule]) -> None:
    """Offer the answer of a policy or, if a limit stops even that, of a faster rule."""
    try:
        search.offer(POLICIES[WARM](instance, tick=search.tick), source=WARM)
    except (Stopped, KeyboardInterrupt):
        search.offer(one_by_one(instance), source="one by one")
        raise


_RESERVED = 200
"""Largest number of jobs, where some take slices, of which ``conservative`` is offered: it takes minutes of thousands."""


def offer_policies(instance: Instance, search: Search[Schedule], *, nodes: int = 1) -> list[Schedule]:
    """Offer the answers of all policies; return the incumbent after and before, and theirs. Each counts as ``nodes`` nodes."""
    schedules = [search.incumbent]
    for name, policy in POLICIES.items():
        if name != WARM and not (instance.sliced and name == "conservative" and len(instance.jobs) > _RESERVED):
            search.tick(nodes)
            schedule = policy(instance, tick=search.tick)
            assert schedule is not None  # there is an incumbent
            search.offer(schedule, source=name)
            schedules.append(schedule)
    for rule in SLICE_RULES if instance.sliced else ():
        search.tick(nodes)
        search.offer(fifo(instance, backfill=True, slices=rule, tick=search.tick), source=rule)
    return [search.incumbent, *schedules]


def anneal_incumbent(instance: Instance, search: Search[Schedule], start: Schedule) -> None:
    """Simulated annealing over orders, with random numbers of its own: the same steps from the same start, whoever calls."""

    def better(schedule: Schedule) -> None:
        search.offer(schedule, source="annealing")

    anneal(instance, start, np.random.default_rng(search.seed), tick=search.tick, better=better)


def plan_incumbent(instance: Instance, search: Search[Schedule], schedules: Sequence[Schedule]) -> None:
    """The plan from some schedules, and from prices; random as ``anneal_incumbent``."""

    def better(schedule: Schedule) -> None:
        search.offer(schedule, source="plan")

    plan(instance, schedules, np.random.default_rng(search.seed), tick=search.tick, better=better)


BRANCHING = f"dlsched branching {VERSION}"

_SLOWEST_S = 1e-3
"""Seconds that CP-SAT has for each conflict where time is limited, so that the other search has its turn."""
_FEWEST_S = 2.0
"""Seconds that CP-SAT has at least: its process has to start and import it first."""


class Closing:
    """The blocks of an instance, starting from the incumbent, and the steps that close them."""

    def __init__(self, instance: Instance, choices: Layouts, search: Search[Schedule]) -> None:
        self._instance, self._search = instance, search
        self.blocks = blocks_of(instance, choices, search.incumbent, search.tick)
        self._trees = [self._tree(block) for block in self.blocks]
        self._digits: list[int | None] = [None] * len(self.blocks)
        self._stuck = [False] * len(self.blocks)
        self.sources: set[str] = set()
        search.offer(whole_schedule(instance, self.blocks), source=BRANCHING)

    def open(self, *, exactly: bool = False) -> list[int]:
        """The blocks that are not closed (``exactly``: as our own search would close them), those of few jobs first."""
        open_ = [n for n, block in enumerate(self.blocks) if not (block.exact if exactly else block.closed)]
        return sorted(open_, key=lambda index: len(self.blocks[index].instance.jobs))

    def adopt(self, schedule: Schedule) -> None:
        """Take over the parts of a whole schedule that improve a block."""
        for block in self.blocks:
            self._take(block, picked_of(block.instance, block.choices, schedule), BRANCHING)

    def price(self, *certificates: PricesCertificate | PackingCertificate) -> None:
        """Let our own search begin again in open blocks, with bounds that follow from prices."""
        for index in self.open(exactly=True):
            block = self.blocks[index]
            jobs = [self._instance.jobs[self._instance.index[job.id]] for job in block.instance.jobs]
            first_s = min(job.release_s for job in jobs)
            priced = []
            for each in certificates:
                none, windows = (0.0,) * (len(each.breakpoints) - 1), []
                if isinstance(each, PricesCertificate):
                    rates = np.array([[self._instance.units_of(job) * price for price in each.prices] for job in jobs])
                else:
                    rates = np.array([each.rates.get(job.id, none) for job in jobs])
                    windows = _charged(each, [job.id for job in jobs], first_s)
                priced.append((np.array(each.breakpoints) - first_s, rates, windows))
            self._trees[index] = self._tree(block, priced)

    def by_tree(self, index: int, looks: float) -> None:
        """Let our own search look at ``looks`` more starts in layouts."""
        tree, block = self._trees[index], self.blocks[index]
        tree.best_s = min(tree.best_s, block.flow_s)
        try:
            tree.run(looks)
        finally:
            bound_s = min(tree.best_s, block.flow_s) if tree.done else tree.bound_s
            if bound_s * (1 - CLOSE) > block.bound_s:
                block.prove(bound_s * (1 - CLOSE), BRANCHING)
                self.sources.add(BRANCHING)

    def over(self, index: int, *, with_solver: bool) -> bool:
        """Whether neither search can go on with a block: ours without memory, CP-SAT stuck."""
        return self._trees[index].over and not (with_solver and not self._stuck[index])

    def by_intervals(self, index: int, conflicts: int | None = None) -> TerminationStatus:
        """Solve the model with intervals, in finer units until its bound meets the answer; ``feasible``: a gap by rounding."""
        from dlsched.solvers.cpsat import version
        from dlsched.solvers.intervals import solve_intervals
        from dlsched.srpt_mapping.formulations import intervals

        search, block = self._search, self.blocks[index]
        search.solver_version = version()
        digits = self._digits[index] or intervals.FEWEST_DIGITS
        # finer units from solve to solve; stuck: even the finest leaves a gap by rounding
        while not self._stuck[index]:
            search.tick(1)
            whole = intervals.build_intervals(block, intervals.unit_s(block, digits))

            def take(values: Incumbent, decode: Callable[[Incumbent], Picked] = whole.decode) -> None:
                self._take(block, decode(values), version())

            outcome = solve_intervals(
                whole.model, limits=_limits(search.left, conflicts), start=whole.start, found=take
            )
            search.budget.nodes += outcome.nodes or 0
            if outcome.status in (TerminationStatus.INFEASIBLE, TerminationStatus.SOLVER_ERROR):
                self._stuck[index] = True
                raise SolverError(f"{version()} ended a model that has a solution with {outcome.status}")
            if outcome.values is not None:
                take(outcome.values)
            if outcome.bound is not None:
                block.prove(intervals.proven_s(block, whole, outcome.bound), version())
                self.sources.add(version())
            if outcome.status is not TerminationStatus.OPTIMAL or block.closed:
                return outcome.status
            if intervals.unit_s(block, digits) == whole.unit:  # no better schedule, whose unit would be finer
                self._stuck[index] = digits == intervals.MOST_DIGITS
                digits = intervals.MOST_DIGITS
            self._digits[index] = digits
        return TerminationStatus.FEASIBLE

    def conclude(self) -> None:
        """Record the bound of all blocks together."""
        bound_s = whole_bound_s(self._instance, self.blocks)
        self._search.prove(bound_s, source=", ".join(sorted(self.sources)) or BRANCHING)

    def _take(self, block: Block, picked: Picked, source: str) -> None:
        """Offer the whole schedule if jobs in this order improve a block."""
        if block.improve(picked, self._search.tick):
            self._search.offer(whole_schedule(self._instance, self.blocks), source=source)

    def _tree(self, block: Block, priced: Sequence[Prices] = ()) -> Tree:
        """Our own search over the layouts of a block."""

        def better(modes: Modes) -> None:
            self._take(block, [(job, block.choices[job][mode]) for job, mode in modes], BRANCHING)

        capacities, kinds = list(block.instance.capacities), block.instance.kinds
        return Tree(
            capacities,
            mode_jobs(block.instance, block.choices),
            block.flow_s,
            kinds=kinds,
            priced=block.instance.columns[-1].stop,
            prices=priced,
            better=better,
            tick=self._search.tick,
        )


def _charged(certificate: PackingCertificate, names: Sequence[str], first_s: float) -> list[Charged]:
    """The windows for some jobs, on their clock; those that another job may touch are left out."""
    return [
        Charged(
            window["from_s"] - first_s,
            window["until_s"] - first_s,
            names.index(window["touching"]),
            np.array([window["charges"].get(name, 0.0) for name in names]),
        )
        for window in certificate.windows
        if window["touching"] in names
    ]


def _limits(remaining: Limits, conflicts: int | None) -> Limits:
    """Remaining limits, but no more than ``conflicts`` and the time for them."""
    if conflicts is None:
        return remaining
    return replace(
        remaining,
        nodes=conflicts if remaining.nodes is None else min(conflicts, remaining.nodes),
        time_s=None if remaining.time_s is None else min(remaining.time_s, max(_FEWEST_S, _SLOWEST_S * conflicts)),
    )


LOOKS, CONFLICTS = 200_000, 250
"""Starts that our own search looks at, and conflicts of CP-SAT, of a block in turn 0; in every further one twice as many."""
TURNS = 8
"""Turns after which ``exact`` without limits ends."""
GLANCE = LOOKS // 100
"""Starts that our own search looks at before there are prices: the smallest instances need none."""


def run_exact(instance: Instance, search: Search[Schedule]) -> TerminationStatus:
    """The bound and every policy; what these leave open is decided block by block (``blocks``) where layouts are not too many.

    Our own search and CP-SAT take turns and share what they find; in between prices prove what they can, and ``plan`` and
    ``annealing`` run once. With too many layouts there are prices, a plan and annealing.
    """
    warm(instance, search)
    search.certify(combined(instance, tick=search.tick))
    schedules = offer_policies(instance, search)
    if _tight(search):
        return TerminationStatus.OPTIMAL
    try:
        choices = layouts(instance, tick=search.tick)
    except UsageError as error:
        if search.proven:
            return TerminationStatus.OPTIMAL
        search.say(f"{error}; so the schedules were not searched")
        if len(instance.jobs) == 1 and instance.jobs[0].begun is None and not instance.consolidated:
            return _by_placement(instance, search)
        prove_all_prices(instance, search)
        _by_heuristics(instance, search, schedules)
        return TerminationStatus.OPTIMAL if search.proven else TerminationStatus.FEASIBLE
    closing = Closing(instance, choices, search)
    try:
        return _in_turns(instance, closing, search, schedules)
    finally:
        closing.conclude()


def _in_turns(
    instance: Instance, closing: Closing, search: Search[Schedule], schedules: Sequence[Schedule]
) -> TerminationStatus:
    """Close the blocks in turns; the status when all are closed, or when the turns are over."""
    with_solver = SOLVERS["cpsat"].available
    for index in closing.open(exactly=True):
        closing.by_tree(index, GLANCE)
    if not closing.open():
        return TerminationStatus.OPTIMAL
    by_gpu = prove_prices(instance, search)
    closing.price(by_gpu)
    turn = 0
    # a turn goes through the open blocks, those of few jobs first; limits double from turn to turn
    while closing.open() and not search.proven:
        if turn == TURNS and not search.budget.limited:
            search.say(f"the search ended after {TURNS} turns; with a limit on time or nodes it goes on to that limit")
            return TerminationStatus.FEASIBLE
        if all(closing.over(index, with_solver=with_solver) for index in closing.open()):
            search.say("our own search ended as its memory is limited")
            return TerminationStatus.FEASIBLE
        for index in closing.open(exactly=not turn):
            closing.by_tree(index, LOOKS * 2**turn)
            if turn and with_solver and not closing.blocks[index].closed:
                try:
                    closing.by_intervals(index, CONFLICTS * 2**turn)
                except ContradictionError:
                    raise
                except SolverError as error:
                    search.say(f"{error}; our own search went on")
        if not turn and closing.open():
            _by_heuristics(instance, search, schedules)
            closing.adopt(search.incumbent)
        if turn == 1 and closing.open() and few_enough(instance):
            closing.price(by_gpu, prove_packing(instance, search))
        turn += 1
    return TerminationStatus.OPTIMAL


def _by_heuristics(instance: Instance, search: Search[Schedule], schedules: Sequence[Schedule]) -> None:
    """``plan`` and ``annealing``, each as without the other: what the methods find, ``exact`` finds too."""
    if few_jobs(instance):
        plan_incumbent(instance, search, schedules)
    anneal_incumbent(instance, search, schedules[0])


def _tight(search: Search[Schedule]) -> bool:
    """Whether the certificate proves the answer as closely as our own search would."""
    assert search.objective is not None and search.bound is not None
    slack = FEASIBLE * (search.objective - search.constant) + rounding(search.objective, search.constant)
    return search.objective - search.bound <= slack


def _by_placement(instance: Instance, search: Search[Schedule]) -> TerminationStatus:
    """Solve an instance with a single job: CP-SAT finds its best placement."""
    from dlsched.solvers.cpsat import version
    from dlsched.srpt_mapping.formulations.placement import best_placement

    (job,) = instance.jobs
    servers = Servers(instance).within(job.pool)
    start = compact(job.graph, servers)
    try:
        best = best_placement(job.graph, servers.free, servers.shares, servers.inside, start=start, limits=search.left)
    except UsageError as error:
        search.say(str(error))
        return TerminationStatus.FEASIBLE
    search.solver_version = version()
    if best.placed is not None:
        placement = servers.named(best.placed)
        search.offer(Schedule({job.id: (job.release_s, placement)}), source=search.solver_version)
    if best.bound_s is not None:
        length_s = job.iterations * best.bound_s * (1 - CLOSE)
        search.prove(job.release_s + length_s, source=search.solver_version)
    return settled(search, best.status, search.solver_version)

"""The methods of srpt_mapping by name, as ``solve`` and the command line run them."""

from collections.abc import Callable
from functools import partial

from dlsched.core.errors import UsageError
from dlsched.core.family import Method, bound_by, heuristic
from dlsched.core.search import Search, Stopped
from dlsched.core.status import TerminationStatus
from dlsched.solvers.conclude import settled, solve_and_conclude
from dlsched.srpt_mapping import bounds, guarantees
from dlsched.srpt_mapping.annealing import anneal
from dlsched.srpt_mapping.branching import CLOSE, Picked, search_schedules
from dlsched.srpt_mapping.checker import infeasible
from dlsched.srpt_mapping.heavy_edge import compact
from dlsched.srpt_mapping.heuristics import PATIENT, a_srpt, fifo, least_work_first, shortest_first
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.layouts import Layout, layouts
from dlsched.srpt_mapping.servers import Servers
from dlsched.srpt_mapping.solution import Schedule
from dlsched.srpt_mapping.timing import timed
from dlsched.version import VERSION

BRANCHING = f"dlsched branching {VERSION}"
NODES = 50_000
"""Nodes after which ``exact`` without limits stops to search."""

POLICIES: dict[str, Callable[[Instance], Schedule | None]] = {
    "a-srpt": a_srpt,
    "a-srpt-strict": partial(a_srpt, waiting=None, speeds="low"),
    "a-srpt-backfill": partial(a_srpt, waiting=None, backfill=True),
    "a-srpt-compact": partial(a_srpt, waiting=None, backfill=True, place="compact"),
    "shortest-first": shortest_first,
    "shortest-backfill": partial(shortest_first, backfill=True),
    "least-work": least_work_first,
    "work-backfill": partial(least_work_first, backfill=True),
    "work-compact": partial(least_work_first, backfill=True, place="compact"),
    "work-patient": partial(least_work_first, place="compact", waiting=PATIENT),
    "fifo": fifo,
    "fifo-backfill": partial(fifo, backfill=True),
}
"""Policies by the name of their method. Backfilling is the work-conserving form: whatever fits starts."""

WARM = "work-compact"
"""The policy whose answer exact methods hold first."""


def run_exact(instance: Instance, search: Search) -> TerminationStatus:
    """The bound and every policy; what these leave open our own search decides, where the layouts are not too many.

    A single job is a matter of its best placement, which CP-SAT finds. Without limits the search ends after ``NODES`` nodes,
    and says so.
    """
    if not _begin(instance, search):
        return TerminationStatus.INFEASIBLE
    _warm(instance, search)
    certificate = bounds.bound(instance, tick=search.tick)
    search.prove(certificate.value, source="certificate", certificate=certificate)
    for name, policy in POLICIES.items():
        if name != WARM:
            search.tick(1)
            search.offer(policy(instance), source=name)
    if search.proven:
        return TerminationStatus.OPTIMAL
    if len(instance.jobs) == 1:
        return _by_placement(instance, search)
    try:
        found = layouts(instance, tick=search.tick)
    except UsageError as error:
        search.say(f"{error}; so the schedules were not searched")
        return TerminationStatus.FEASIBLE
    return _by_branching(instance, found, search)


def _by_placement(instance: Instance, search: Search) -> TerminationStatus:
    from dlsched.solvers.cpsat import version
    from dlsched.srpt_mapping.formulations.placement import best_placement

    (job,) = instance.jobs
    servers = Servers(instance)
    inside = instance.intra_bandwidth_bytes_per_s
    start = compact(job.graph, servers)
    best = best_placement(job.graph, servers.free, servers.shares, inside, start=start, limits=search.left)
    search.solver_version = version()
    if best.placed is not None:
        placement = servers.named(best.placed)
        search.offer(Schedule({job.id: (job.release_s, placement)}), source=search.solver_version)
    if best.bound_s is not None:
        search.prove((job.release_s + job.iterations * best.bound_s) * (1 - CLOSE), source=search.solver_version)
    return settled(search, best.status, search.solver_version)


def _by_branching(instance: Instance, found: list[list[Layout]], search: Search) -> TerminationStatus:
    assert search.objective is not None
    free = search.limits.time_s is None and search.limits.nodes is None

    def tick(nodes: int) -> None:
        if free and search.nodes >= NODES:
            search.say(
                f"the search ended after {NODES:,} nodes; with a limit on time or nodes it goes on to that limit"
            )
            raise Stopped(TerminationStatus.FEASIBLE)
        search.tick(nodes)

    def better(picked: Picked) -> None:
        chosen = dict(picked)
        schedule = timed(instance, [job for job, _ in picked], [chosen[job] for job in range(len(picked))])
        search.offer(schedule, source=BRANCHING)

    search_schedules(instance, found, search.objective, tick=tick, better=better)
    search.prove(search.objective * (1 - CLOSE), source=BRANCHING)
    return TerminationStatus.OPTIMAL


def run_intervals(instance: Instance, search: Search) -> TerminationStatus:
    """CP-SAT on the model with intervals, from the best policy on.

    Raises
    ------
    UsageError
        There are too many layouts.
    """
    if not _begin(instance, search):
        return TerminationStatus.INFEASIBLE
    _warm(instance, search)
    found = layouts(instance, tick=search.tick)
    least_s = bounds.bound(instance, tick=search.tick).value
    return _by_intervals(instance, found, least_s, search)


def _by_intervals(instance: Instance, found: list[list[Layout]], least_s: float, search: Search) -> TerminationStatus:
    from dlsched.solvers.cpsat import version
    from dlsched.solvers.intervals import Starts, solve_intervals
    from dlsched.srpt_mapping.formulations.intervals import build_intervals, decode, encode, proven_s

    assert search.objective is not None
    model, unit_s = build_intervals(instance, found, total_s=search.objective, least_s=least_s)

    def heard(starts: Starts) -> None:
        search.consider(decode(instance, found, starts), source="incumbent")

    outcome = solve_intervals(
        model, limits=search.left, start=encode(instance, found, search.solution, unit_s), found=heard
    )
    search.solver_version = version()
    if outcome.starts is not None:
        search.offer(decode(instance, found, outcome.starts), source=search.solver_version)
    if outcome.bound is not None:
        search.prove(proven_s(outcome.bound, unit_s), source=search.solver_version)
    return settled(search, outcome.status, search.solver_version)


def run_milp(instance: Instance, search: Search) -> TerminationStatus:
    """The mixed-integer linear program over layouts.

    Raises
    ------
    UsageError
        There are too many layouts.
    """
    if not _begin(instance, search):
        return TerminationStatus.INFEASIBLE
    from dlsched.srpt_mapping.formulations.milp import build_milp

    _warm(instance, search)
    return solve_and_conclude(search, *build_milp(instance, tick=search.tick))


def run_annealing(instance: Instance, search: Search) -> TerminationStatus:
    """Every policy, then simulated annealing over orders from the best one on; stops at a limit."""
    reason = infeasible(instance)
    if reason is not None:
        search.say(reason)
        return TerminationStatus.INFEASIBLE
    for name, policy in POLICIES.items():
        search.offer(policy(instance), source=name)
    anneal(
        instance,
        search.solution,
        search.generator,
        tick=search.tick,
        better=lambda schedule: search.consider(schedule, source="annealing"),
    )
    return TerminationStatus.FEASIBLE


def _begin(instance: Instance, search: Search) -> bool:
    return search.begin(infeasible(instance), lambda: _warm(instance, search))


def _warm(instance: Instance, search: Search) -> None:
    search.offer(POLICIES[WARM](instance), source=WARM)


METHODS = {
    method.name: method
    for method in (
        Method("exact", "exact", run_exact),
        Method("intervals", "exact", run_intervals, solvers=("cpsat",)),
        Method("milp", "exact", run_milp, solvers=("highs", "cbc", "scip")),
        *(
            Method(
                name,
                "heuristic",
                heuristic(name, policy, infeasible),
                guarantees.STRICT if name == "a-srpt-strict" else None,
            )
            for name, policy in POLICIES.items()
        ),
        Method("annealing", "heuristic", run_annealing, seeded=True),
        Method(
            "bound", "bound", bound_by(lambda instance, search: bounds.bound(instance, tick=search.tick), infeasible)
        ),
        Method(
            "machine",
            "bound",
            bound_by(lambda instance, search: bounds.machine(instance, tick=search.tick), infeasible),
        ),
        Method(
            "length", "bound", bound_by(lambda instance, search: bounds.length(instance, tick=search.tick), infeasible)
        ),
    )
}

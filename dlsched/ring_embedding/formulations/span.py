"""ring_embedding in a forest: a mixed-integer linear program in PuLP that knows which links a ring spans, not its order.

A ring in depth-first order crosses every link that separates its servers once in each direction, and no ring can do with
less. So only whether a link separates servers matters, and of both directions one row is enough.

==================================  ===================================================================================
name                                mathematics
==================================  ===================================================================================
``near_<job>_<link>_<slot>``        1 if the job has a worker on the side of the link's first end, binary
``far_<job>_<link>_<slot>``         1 if it has one on the side of the other end, binary
``span_<job>_<link>_<slot>``        1 if it has workers on both, 0 to 1
``part_<job>_<part>_<slot>``        1 if the job's ring is in this part of the forest, binary
``near_<job>_<link>_<slot>``        sum_{s near} y_is[t] <= min(N_i, what fits there) near
``far_<job>_<link>_<slot>``         sum_{s far} y_is[t] <= min(N_i, what fits there) far
``span_<job>_<link>_<slot>``        near + far - span <= 1
``bandwidth_<link>_<slot>``         sum_i b_i span <= B_e
``part_<job>_<part>_<slot>``        sum_{s in the part} y_is[t] <= min(N_i, what fits there) part
``ring_<job>_<slot>``               sum of the parts <= 1
==================================  ===================================================================================

Variables and rows of workers and of utilities: see ``workers`` and ``goals``. ``<link>`` is named by its ends; ``<part>``
counts the parts of the forest that have servers, from 0, in the order of these. A link that holds all rings that can cross
it at once has no rows, and a job that one part alone holds has no parts.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dlsched.algorithms.utility_tables import UtilityTable
from dlsched.algorithms.whole_rows import row
from dlsched.core.errors import UsageError
from dlsched.core.limits import Budget
from dlsched.ring_embedding.formulations.workers import Goal, Terms, WorkersModel, embedded, goal_of, require_few
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.rings.network import Network, Workers
from dlsched.ring_embedding.solution import Embedding
from dlsched.solvers.formulation import Formulation, extendable
from dlsched.solvers.outcome import Incumbent

if TYPE_CHECKING:
    import pulp

Sides = tuple[list[int], list[int]]


@extendable("span")
def build_span(
    instance: Instance,
    tables: Sequence[UtilityTable] | None = None,
    budget: Budget | None = None,
    goal: Goal | None = None,
    *,
    complete: bool = False,
) -> "Formulation[pulp.LpProblem, Embedding]":
    """Build the model.

    Its unit is 1 where the gains can add up to 1 to 2**14, else a power of two that brings them to 2**9 to 2**10: solvers have
    absolute tolerances. The model's name states it where it is not 1.

    ``tables``: as ``WorkersModel`` takes them. ``budget`` is asked in every loop, and may stop. ``goal``: quotas in place of
    the objective, or a worker at least (``goals``).

    ``complete``: whether all choices of workers remain that some embedding has, every ring in depth-first order, which crosses
    no link more often than another order does; the answer is then that of the values, ring by ring. Otherwise what is not
    worth its energy is left out.

    Raises
    ------
    UsageError
        Paths are listed, or there are too many variables.
    """
    if instance.paths is not None:
        raise UsageError("the span model is one of forests; found listed paths, allowed: an instance without")
    model = WorkersModel(instance, tables, budget, goal_of(instance, goal), complete=complete)
    sides = _sides(model.network)
    crossing = [_crossing(model.network, side) for side in sides]
    require_few(len(model.y) + sum(3 * len(jobs) * instance.slots for jobs in crossing))
    for link, side in enumerate(sides):
        _add_link(model, link, side, crossing[link])
    _add_parts(model)

    def ordered(workers: Workers) -> tuple[Workers, tuple[int, ...]]:
        return workers, next(iter(model.network.orders(workers)))

    def decode(values: Incumbent) -> Embedding:
        found = model.workers(values).items()
        rings = {t: {i: ordered(workers) for i, workers in rings.items()} for t, rings in found}
        return embedded(model.network, rings, complete=complete)

    return Formulation(model.problem, decode, model.unit, variables=model.variables, chosen=model.chosen)


def _add_link(model: WorkersModel, link: int, sides: Sides, jobs: list[int]) -> None:
    """Add the rows of one link, in the slots in which it may be too narrow for all rings."""
    import pulp

    record = model.instance.links[link]
    name = "_".join(model.nodes[end] for end in record.ends)
    loads, right = row([model.network.load[i] for i in jobs], record.bandwidth_bytes_per_s, [1] * len(jobs))
    for t in range(1, model.instance.slots + 1):
        model.network.tick()
        there = [(i, a) for i, a in zip(jobs, loads, strict=True) if model.instance.jobs[i].arrival_slot <= t]
        if sum(a for _, a in there) <= right:
            continue
        spans: Terms = []
        for i, load in there:
            label = f"{model.jobs[i]}_{name}_{t}"
            used = []
            for side, servers in zip(("near", "far"), sides, strict=True):
                used.append(pulp.LpVariable(f"{side}_{label}", 0, 1, pulp.LpInteger))
                _add_used(model, f"{side}_{label}", i, servers, t, used[-1])
            span = pulp.LpVariable(f"span_{label}", 0, 1)
            model.add(f"span_{label}", [(used[0], 1), (used[1], 1), (span, -1)], 1)
            spans.append((span, load))
        model.add(f"bandwidth_{name}_{t}", spans, right)


def _add_used(model: WorkersModel, name: str, job: int, servers: list[int], slot: int, used: "pulp.LpVariable") -> None:
    """Allow the job workers on these servers, up to what fits, only if ``used`` is 1."""
    hosts = [s for s in servers if model.network.fits[job, s]]
    most = min(model.instance.jobs[job].max_workers, int(model.network.fits[job, hosts].sum()))
    model.add(name, [*((model.y[job, s, slot], 1) for s in hosts), (used, -most)], 0)


def _add_parts(model: WorkersModel) -> None:
    """Keep every ring in one part of the forest."""
    import pulp

    part = model.network.part
    parts = [np.flatnonzero(part == number).tolist() for number in dict.fromkeys(part.tolist())]
    for i, t in model.rings():
        holding = {number: servers for number, servers in enumerate(parts) if model.network.fits[i, servers].any()}
        if len(holding) == 1:
            continue
        chosen = []
        for number, servers in holding.items():
            label = f"part_{model.jobs[i]}_{number}_{t}"
            chosen.append(pulp.LpVariable(label, 0, 1, pulp.LpInteger))
            _add_used(model, label, i, servers, t, chosen[-1])
        model.add(f"ring_{model.jobs[i]}_{t}", [(variable, 1) for variable in chosen], 1)


def _sides(network: Network) -> list[Sides]:
    """Servers on the sides of the two ends of every link."""
    # Nodes are numbered in preorder, so a subtree is a range: ``ends`` is one past its last node.
    ends = list(range(1, len(network.tree.above) + 1))
    tops = list(range(len(network.tree.above)))
    for node in range(len(ends) - 1, -1, -1):
        above = network.tree.above[node]
        if above >= 0:
            ends[above] = max(ends[above], ends[node])
    sides: list[Sides] = [([], [])] * (len(network.bandwidth) // 2)
    for node, upward in enumerate(network.tree.upward):
        if upward >= 0:
            tops[node] = top = tops[network.tree.above[node]]
            # Below an upward link lies its subtree, beyond it the rest of the same tree.
            inside = (network.position >= node) & (network.position < ends[node])
            beside = (network.position >= top) & (network.position < ends[top]) & ~inside
            below, beyond = np.flatnonzero(inside).tolist(), np.flatnonzero(beside).tolist()
            sides[upward // 2] = (beyond, below) if upward % 2 else (below, beyond)
    return sides


def _crossing(network: Network, sides: Sides) -> list[int]:
    """Jobs whose rings can cross a link and need bandwidth."""
    near, far = sides
    return [
        i
        for i, job in enumerate(network.instance.jobs)
        if network.load[i] > 0 and job.max_workers > 1 and network.fits[i, near].any() and network.fits[i, far].any()
    ]

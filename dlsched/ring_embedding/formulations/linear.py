"""ring_embedding as mixed-integer linear programs in PuLP: by arcs in any network with fixed routes, by spans in a forest.

Variables and rows of workers and of utilities stand in ``workers``.

*Arcs.* An arc is an ordered pair of servers with a route. A ring of several servers is one cycle of arcs; a ring on one server
has none. Numbers along the ring rule out a second cycle (Miller, Tucker, Zemlin 1960, J. ACM 7, 326-329); they begin at its
first server, which is the first in the order of the file.

==================================  ===================================================================================
name                                mathematics
==================================  ===================================================================================
``a_<job>_<from>_<to>_<slot>``      1 if the ring passes from a server to another one, binary
``alone_<job>_<server>_<slot>``     1 if all workers are on this server, binary
``first_<job>_<server>_<slot>``     1 if this is the first server of the ring, 0 to 1
``u_<job>_<server>_<slot>``         number of the server along the ring, 0 to S - 1
``hosts_<job>_<server>_<slot>``     y_is[t] <= (what fits there) h,  h = alone + sum of the arcs from the server
``worker_<job>_<server>_<slot>``    h <= y_is[t]
``in_<job>_<server>_<slot>``        sum of the arcs to the server = sum of the arcs from it
``once_<job>_<server>_<slot>``      h <= 1
``lead_<job>_<server>_<slot>``      h <= sum of first over this server and those before it
``leader_<job>_<server>_<slot>``    first <= h
``ring_<job>_<slot>``               sum of first <= 1
``only_<job>_<server>_<slot>``      alone <= first
``tour_<job>_<from>_<to>_<slot>``   u_from - u_to + S a - S first_to <= S - 1
``bandwidth_<from>_<to>_<slot>``    sum_i b_i (sum of the arcs whose route crosses the link in this direction) <= B_e
==================================  ===================================================================================

S is the number of servers that hold a worker of the job.

*Spans* say which links a ring crosses, not its order. A ring in depth-first order crosses every link that separates its
servers once in each direction, and no ring can do with less. So only whether a link separates servers matters, and of both
directions one row is enough.

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

``<link>`` is named by its ends; ``<part>``
counts the parts of the forest that have servers, from 0, in the order of these. A link that holds all rings that can cross
it at once has no rows, and a job that one part alone holds has no parts.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from dlsched.algorithms.utility_tables import UtilityTable
from dlsched.algorithms.whole_rows import row
from dlsched.core.errors import UsageError
from dlsched.core.limits import Budget
from dlsched.ring_embedding.formulations.workers import Found, Goal, Terms, WorkersModel, embedded, goal_of, require_few
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.rings.network import Network, Workers
from dlsched.ring_embedding.solution import Embedding
from dlsched.solvers.formulation import Formulation, extendable
from dlsched.solvers.outcome import Incumbent

if TYPE_CHECKING:
    import pulp


Arc = tuple[int, int]
Crossings = list[dict[int, list[Arc]]]
"""For every job, its arcs by the directed links that their routes cross."""


@extendable("arc")
def build_arc(
    instance: Instance,
    tables: Sequence[UtilityTable] | None = None,
    budget: Budget | None = None,
    goal: Goal | None = None,
    *,
    complete: bool = False,
) -> "Formulation[pulp.LpProblem, Embedding]":
    """Build the model; its unit, ``tables``, ``budget`` and ``goal``: as those of ``build_span``.

    ``complete``: whether all embeddings remain, with every order of their rings; the answer is then that of the values.

    Raises
    ------
    UsageError
        There are too many variables.
    """
    model = WorkersModel(instance, tables, budget, goal_of(instance, goal), complete=complete)
    pairs = arcs_of_all(model.network, len(model.y))
    chosen = {(i, t): _add_ring(model, i, t, pairs[i]) for i, t in model.rings()}
    _add_bandwidths(model, crossings_of_all(model.network, pairs), chosen)

    def decode(values: Incumbent) -> Embedding:
        found: Found = {}
        for t, rings in model.workers(values).items():
            for i, workers in rings.items():
                arcs = [arc for arc, a in chosen[i, t].items() if values.get(a.name, 0.0) > 0.5]
                found.setdefault(t, {})[i] = workers, cycle(arcs) if arcs else tuple(workers)
        return embedded(model.network, found, complete=complete)

    return Formulation(model.problem, decode, model.unit, variables=model.variables, chosen=model.chosen)


def arcs_of_all(network: Network, variables: int) -> list[list[Arc]]:
    """Ordered pairs of usable servers with a route, by job.

    UsageError: their variables and ``variables`` are too many together.
    """
    pairs: list[list[Arc]] = []
    for i, job in enumerate(network.instance.jobs):
        network.tick()
        hosts = np.flatnonzero(network.fits[i]).tolist()
        ways = permutations(hosts, 2) if job.max_workers > 1 else ()
        pairs.append([pair for pair in ways if network.path(*pair) is not None])
        variables += (len(pairs[i]) + 3 * len(hosts)) * (network.instance.slots - job.arrival_slot + 1)
        require_few(variables)
    return pairs


def crossings_of_all(network: Network, pairs: list[list[Arc]]) -> Crossings:
    """Arcs of every job by directed links; none where the job reserves no bandwidth."""
    found: Crossings = []
    for i, arcs in enumerate(pairs):
        found.append({})
        for pair in arcs if network.load[i] > 0 else ():
            for link in network.path(*pair) or ():
                found[i].setdefault(link, []).append(pair)
    return found


def shared_links(instance: Instance, crossing: Crossings) -> Iterator[tuple[int, tuple[str, str], list[int], float]]:
    """Directed links with their ends, the jobs whose arcs cross them, and their bandwidth."""
    for e, record in enumerate(instance.links):
        for link, ends in ((2 * e, record.ends), (2 * e + 1, record.ends[::-1])):
            yield link, ends, [i for i, links in enumerate(crossing) if link in links], record.bandwidth_bytes_per_s


def cycle(arcs: list[Arc]) -> tuple[int, ...]:
    """Servers along the arcs from the least one, until one comes back or an arc is missing."""
    after = dict(arcs)
    order = [min(after)]
    while (there := after.get(order[-1])) is not None and there not in order:
        order.append(there)
    return tuple(order)


def _add_ring(model: WorkersModel, job: int, slot: int, pairs: list[Arc]) -> "dict[Arc, pulp.LpVariable]":
    """Add variables and rows of one ring; return its arcs."""
    import pulp

    model.network.tick()
    hosts = model.hosts(job)
    label = {s: f"{model.jobs[job]}_{model.servers[s]}_{slot}" for s in hosts}
    alone = {s: pulp.LpVariable(f"alone_{label[s]}", 0, 1, pulp.LpInteger) for s in hosts}
    first = {s: pulp.LpVariable(f"first_{label[s]}", 0, 1) for s in hosts}
    number = {s: pulp.LpVariable(f"u_{label[s]}", 0, len(hosts) - 1) for s in hosts}
    names = {
        (here, there): f"{model.jobs[job]}_{model.servers[here]}_{model.servers[there]}_{slot}" for here, there in pairs
    }
    passed = {pair: pulp.LpVariable(f"a_{name}", 0, 1, pulp.LpInteger) for pair, name in names.items()}
    # Rows of one server: it has workers if and only if the ring passes through it or stands on it alone.
    for upto, s in enumerate(hosts, start=1):
        y = model.y[job, s, slot]
        out: Terms = [(a, 1) for (here, _), a in passed.items() if here == s]
        back: Terms = [(a, 1) for (_, there), a in passed.items() if there == s]
        h: Terms = [(alone[s], 1), *out]
        most = int(model.network.fits[job, s])
        model.add(f"hosts_{label[s]}", [(y, 1), *((a, -most) for a, _ in h)], 0)
        model.add(f"worker_{label[s]}", [*h, (y, -1)], 0)
        if out:
            model.add(f"in_{label[s]}", [*back, *((a, -1) for a, _ in out)], 0, sense=pulp.LpConstraintEQ)
            model.add(f"once_{label[s]}", h, 1)
        model.add(f"lead_{label[s]}", [*h, *((first[other], -1) for other in hosts[:upto])], 0)
        model.add(f"leader_{label[s]}", [(first[s], 1), *((a, -1) for a, _ in h)], 0)
        model.add(f"only_{label[s]}", [(alone[s], 1), (first[s], -1)], 0)
    model.add(f"ring_{model.jobs[job]}_{slot}", [(chosen, 1) for chosen in first.values()], 1)
    size = len(hosts)
    # Miller, Tucker, Zemlin: numbers grow along the ring, except on the arc back to its first server.
    for (here, there), a in passed.items():
        terms: Terms = [(number[here], 1), (number[there], -1), (a, size), (first[there], -size)]
        model.add(f"tour_{names[here, there]}", terms, size - 1)
    return passed


def _add_bandwidths(
    model: WorkersModel, crossing: Crossings, chosen: "Mapping[tuple[int, int], dict[Arc, pulp.LpVariable]]"
) -> None:
    """Add rows of the directed links that may be too narrow for all rings together."""
    for link, ends, users, bandwidth in shared_links(model.instance, crossing):
        name = "_".join(model.nodes[end] for end in ends)
        most = {i: _most(model, i, crossing[i][link]) for i in users}
        amounts, right = row([model.network.load[i] for i in users], bandwidth, list(most.values()))
        for t in range(1, model.instance.slots + 1):
            there = [(i, a) for i, a in zip(users, amounts, strict=True) if (i, t) in chosen]
            # A row that even all rings at once keep is left out.
            if sum(a * most[i] for i, a in there) > right:
                terms: Terms = [(chosen[i, t][arc], a) for i, a in there for arc in crossing[i][link]]
                model.add(f"bandwidth_{name}_{t}", terms, right)


def _most(model: WorkersModel, job: int, crossing: list[Arc]) -> int:
    """Largest number of a ring's arcs over a link: one out of and into each server, one per worker."""
    heres, theres = Counter(here for here, _ in crossing), Counter(there for _, there in crossing)
    return min(len(heres), len(theres), model.instance.jobs[job].max_workers)


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
    the objective, or a worker at least.

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

"""Rules that place one job on the free GPUs of the servers: the paper's Heavy-Edge, and a tighter one of ours.

Both choose servers first, then share out the replicas.
"""

from collections.abc import Callable, Sequence

from dlsched.cluster.job_graph import JobGraph
from dlsched.cluster.replica_placement import best_fit, chained, grouped, improved, remembering
from dlsched.core.limits import Tick, no_tick
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.placing.servers import Placed, Servers

Rule = Callable[[JobGraph, Servers], Placed]
"""From a job and servers whose free GPUs hold it to where it runs."""


def heavy_edge(graph: JobGraph, servers: Servers) -> Placed:
    """Place a job by Heavy-Edge (Luo et al. 2025; our reconstruction, see the module).

    Step 1: servers with the most free GPUs first (ties: the order given), until they hold the job.
    Step 2: server by server, the ends of heavy edges together, see ``dlsched.cluster.replica_placement.grouped``.

    Guarantee: none; more servers than needed are never used. Cost: O(M log M) for M servers, and step 2.
    """
    if graph.gpus == 1:
        return [(max(range(len(servers.free)), key=servers.free.__getitem__), graph.replicas)]
    chosen = _most_free(graph.gpus, servers.free)
    rooms = tuple(room for _, room in chosen)
    rows = remembering(grouped, graph, rooms)(graph, rooms)
    return [(server, row) for (server, _), row in zip(chosen, rows, strict=True)]


def compact(graph: JobGraph, servers: Servers) -> Placed:
    """Place a job more tightly than Heavy-Edge, and share its replicas out better; ours.

    Step 1: servers with the most free GPUs first, but the last one is that on which the rest fits most tightly (so a job
    that fits on one server leaves the larger holes to others).
    Step 2: Heavy-Edge's, or in the order of the chain, and swaps, see ``dlsched.cluster.replica_placement.improved``.
    Step 3: if it is faster, whole stages packed by best fit instead, heavy edges together, see
    ``dlsched.cluster.replica_placement``; that may use more servers.

    Guarantee: none. Cost: as ``heavy_edge``, and the swaps once for every different job and set of rooms.
    """
    free, chosen, left = servers.free, [], graph.gpus
    if max(free) < left:
        chosen = _most_free(left, free)[:-1]
        left -= sum(room for _, room in chosen)
    taken = {server for server, _ in chosen}
    tight = min((m for m, room in enumerate(free) if room >= left and m not in taken), key=free.__getitem__)
    if not chosen:
        return [(tight, graph.replicas)]
    chosen.append((tight, left))
    rooms = tuple(room for _, room in chosen)
    shares = tuple(servers.shares[server] for server, _ in chosen)
    rows = remembering(improved, graph, rooms)(graph, rooms, shares, servers.inside)
    placed = [(server, row) for (server, _), row in zip(chosen, rows, strict=True)]
    packed = best_fit(graph, free, servers.shares, servers.inside)
    return min(placed, packed, key=lambda each: servers.iteration_s(graph, each))


def in_order(graph: JobGraph, servers: Servers) -> Placed:
    """Place a job in the order of its chain, on the servers with the most free GPUs first. Fast; guarantee: none."""
    chosen = _most_free(graph.gpus, servers.free)
    rows = chained(graph, tuple(room for _, room in chosen))
    return [(server, row) for (server, _), row in zip(chosen, rows, strict=True)]


def placed_s(instance: Instance, rule: Rule, *, tick: Tick = no_tick) -> list[float]:
    """Seconds of an iteration of every job, which a rule reaches on the empty servers; they hold every job."""
    empty = Servers(instance)
    known: dict[JobGraph, float] = {}
    for job in instance.jobs:
        if job.graph not in known:
            tick()
            known[job.graph] = empty.iteration_s(job.graph, rule(job.graph, empty))
    return [known[job.graph] for job in instance.jobs]


def _most_free(gpus: int, free: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of a server and what it gives: the most free ones first, as few as hold the job."""
    chosen = []
    for server in sorted(range(len(free)), key=free.__getitem__, reverse=True):
        room = min(gpus, free[server])
        chosen.append((server, room))
        gpus -= room
        if not gpus:
            return chosen
    raise ValueError("the servers do not hold the job")

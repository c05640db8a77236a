"""Servers by classes of free GPUs: rules choose as from lists of all servers, whatever has been taken and given back."""

import random

import pytest

from dlsched.cluster.job_graph import JobGraph
from dlsched.cluster.spreading import chained
from dlsched.srpt_mapping import Instance
from dlsched.srpt_mapping.placing import Servers, compact, heavy_edge, in_order


def most_free(gpus, free):
    """By a sort of all servers, the first of equal ones first."""
    chosen = []
    for server in sorted(range(len(free)), key=lambda each: -free[each]):
        chosen.append((server, min(gpus, free[server])))
        gpus -= chosen[-1][1]
        if gpus == 0:
            return chosen
    raise AssertionError


def tightest(gpus, free):
    """The same, but the last one is the first of those with the least room for what remains."""
    chosen = [] if max(free) >= gpus else most_free(gpus, free)[:-1]
    remaining = gpus - sum(room for _, room in chosen)
    others = [each for each in range(len(free)) if each not in dict(chosen) and free[each] >= remaining]
    return [*chosen, (min(others, key=lambda each: (free[each], each)), remaining)]


def by_lists(graph, servers, free):
    """Where Heavy-Edge, compact and the order of the chain place a job, from what every server has free."""
    chosen = tightest(graph.gpus, free) if servers.consolidated else most_free(graph.gpus, free)
    given = tuple(room for _, room in chosen), tuple(servers.shares[m] for m, _ in chosen)
    edges = list(zip([m for m, _ in chosen], servers.spreads.grouped(graph, *given, servers.inside)[0], strict=True))
    chosen = tightest(graph.gpus, free)
    given = tuple(room for _, room in chosen), tuple(servers.shares[m] for m, _ in chosen)
    tight, _ = servers.spreads.improved(graph, *given, servers.inside)
    choices = [list(zip([m for m, _ in chosen], tight, strict=True))]
    if len(chosen) > 1:
        rooms = sorted((room, server) for server, room in enumerate(free) if room)
        choices.append(servers.spreads.best_fit(graph, rooms, servers.shares, servers.inside)[0])
    if servers.consolidated:
        choices = [each for each in choices if len(each) <= len(chosen)]
    chosen = most_free(graph.gpus, free)
    chain = list(zip([m for m, _ in chosen], chained(graph, tuple(room for _, room in chosen)), strict=True))
    return edges, min(choices, key=lambda each: servers.iteration_s(graph, each)), chain


@pytest.mark.parametrize("placement", ["any", "consolidated"])
@pytest.mark.parametrize("seed", range(20))
def test_rules_choose_as_from_lists(seed, placement):
    """On up to 60 servers of three sizes and two pools, as jobs of up to 48 GPUs in up to 4 stages come and go."""
    rng = random.Random(seed)
    sizes = rng.choice([(1, 2, 4), (2, 3, 8), (8, 8, 8), (1, 1, 2), (2, 2, 3)])
    servers = [
        {"id": f"s{m}", "gpus": rng.choice(sizes), "pools": rng.choice([["a"], ["b"], ["a", "b"]])}
        for m in range(rng.randint(6, 60))
    ]
    chain = [{"replicas": 1, "compute_s": 1.0, "output_bytes": 0, "parameter_bytes": 0}]
    instance = Instance(
        name="rooms",
        intra_bandwidth_bytes_per_s=16.0,
        nic_bandwidth_bytes_per_s=4.0,
        servers=servers,
        jobs=[{"id": "j", "release_s": 0, "iterations": 1, "stages": chain}],
        placement=placement,
    )
    pace = rng.choice([0.2, 0.5, 0.6])
    empty, running = Servers(instance), []
    pools = {None: [1] * len(servers), **{pool: empty.allowed(pool) for pool in "ab"}}
    for _ in range(150):
        stages = rng.randint(1, 4)
        graph = JobGraph(
            tuple(rng.randint(1, rng.choice([2, 6, 12])) for _ in range(stages)),
            tuple(rng.uniform(1, 2) for _ in range(stages)),
            (*(rng.choice([0.0, 1.0, 9.0]) for _ in range(stages - 1)), 0.0),
            tuple(rng.choice([0.0, 4.0]) for _ in range(stages)),
        )
        pool = rng.choice([None, "a", "b"])
        free = [room * each for room, each in zip(empty.free, pools[pool], strict=True)]
        held = [instance.servers[m].gpus for m, each in zip(empty.servers, pools[pool], strict=True) if each]
        most, sums = len(held), [sum(sorted(held)[::-1][:count]) for count in range(1, len(held) + 1)]
        if placement == "consolidated":
            most = next((count for count, each in enumerate(sums, 1) if each >= graph.gpus), 1)
        assert empty.fits(graph.gpus, pool) == (sum(sorted(free)[::-1][:most]) >= graph.gpus)
        assert empty.within(pool).free == free
        if empty.fits(graph.gpus, pool):
            here = empty.within(pool)
            placed = heavy_edge(graph, here), compact(graph, here), in_order(graph, here)
            assert placed == by_lists(graph, here, free)
            running.append(empty.take(rng.choice(placed)))
        while running and rng.random() < pace:
            empty.give(running.pop(rng.randrange(len(running))))
    for taken in running:
        empty.give(taken)
    assert empty.free == Servers(instance).free
    assert empty.rooms == Servers(instance).rooms

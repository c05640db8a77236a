"""Where one job is placed: Heavy-Edge and compact by hand, and the best placement against an enumeration of our own."""

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.cluster.job_graph import JobGraph, edge_weight
from dlsched.cluster.replica_placement import best_rows
from dlsched.cluster.spreading import spreads_for
from dlsched.core.errors import UsageError
from dlsched.core.limits import Limits, TooMany
from dlsched.core.status import TerminationStatus
from dlsched.srpt_mapping.checker import iteration_time
from dlsched.srpt_mapping.formulations.placement import best_placement
from dlsched.srpt_mapping.placing import Servers, compact, heavy_edge
from dlsched.srpt_mapping.solution import Share
from dlsched.testing.srpt_mapping import srpt_mapping_instances

from .builders import gang, made

SETTINGS = settings(max_examples=20, derandomize=True, deadline=None, database=None)
SPREADS = spreads_for(1)


def cluster(sizes, inside=16.0, nic=8.0, stages=((1, 1.0, 0.0, 0.0),)):
    """Servers s0, s1 .. of these sizes, and a job."""
    return made(sizes, gang(0, 1, stages=stages), inside=inside, nic=nic)


def named(servers, placed):
    """A placement by the servers' names."""
    return {servers.names[index]: row for index, row in placed}


def test_weights_by_hand():
    """2 O / (k_s k_v) between neighbours, 2 h / k within a stage, nothing between stages farther apart."""
    graph = JobGraph((2, 3, 1), (1.0, 1.0, 1.0), (12.0, 6.0, 0.0), (1.0, 9.0, 5.0))
    assert edge_weight(graph, 0, 1) == edge_weight(graph, 1, 0) == 4.0
    assert edge_weight(graph, 1, 2) == edge_weight(graph, 2, 1) == 4.0
    assert edge_weight(graph, 0, 2) == edge_weight(graph, 2, 0) == 0.0
    assert [edge_weight(graph, stage, stage) for stage in range(3)] == [1.0, 6.0, 10.0]


@pytest.mark.parametrize(
    ("replicas", "output", "ring", "rooms", "expected"),
    [
        # two stages of two, edges between them 2 * 12 / 4 = 6, within a stage h
        ((2, 2), (12.0, 0.0), (1.0, 8.0), (2, 2), ((0, 2), (2, 0))),  # 8 is the heaviest
        ((2, 2), (12.0, 0.0), (1.0, 2.0), (2, 2), ((1, 1), (1, 1))),  # 6 is
        ((2, 2), (12.0, 0.0), (9.0, 8.0), (2, 2), ((2, 0), (0, 2))),
        ((2, 2), (12.0, 0.0), (1.0, 2.0), (3, 1), ((1, 2), (1, 0))),  # then 6 + 2 beats 1 + 6
        ((2, 2), (12.0, 0.0), (3.0, 2.0), (3, 1), ((2, 1), (0, 1))),
        # no edges: the earliest stages first
        ((2, 2), (0.0, 0.0), (0.0, 0.0), (3, 1), ((2, 1), (0, 1))),
        # three stages: 2 * 4 / 1 = 8 between the first two, 2 * 5 / 1 = 10 between the last two
        ((1, 1, 1), (4.0, 5.0, 0.0), (0.0, 0.0, 0.0), (2, 1), ((0, 1, 1), (1, 0, 0))),
        ((1, 1, 1), (5.0, 4.0, 0.0), (0.0, 0.0, 0.0), (2, 1), ((1, 1, 0), (0, 0, 1))),
        # a room for one takes no edge, but the earliest replica
        ((1, 1, 1), (4.0, 5.0, 0.0), (0.0, 0.0, 0.0), (1, 2), ((1, 0, 0), (0, 1, 1))),
        # two pairs without an edge between them: 2 * 9 = 18 first, then 2 * 8 = 16
        ((1, 1, 1, 1), (8.0, 0.0, 9.0, 0.0), (0.0,) * 4, (2, 2), ((0, 0, 1, 1), (1, 1, 0, 0))),
        # four in one room: the heavy pair, then nobody pulls, so the next heaviest edge
        ((1, 1, 1, 1, 1), (0.0, 8.0, 0.0, 9.0, 0.0), (0.0,) * 5, (4, 1), ((0, 1, 1, 1, 1), (1, 0, 0, 0, 0))),
        ((3,), (0.0,), (6.0,), (2, 1), ((2,), (1,))),
    ],
)
def test_heavy_edge_step_by_step(replicas, output, ring, rooms, expected):
    """The heaviest edge first, then the largest weight to those already there."""
    graph = JobGraph(replicas, (1.0,) * len(replicas), output, ring)
    assert SPREADS.grouped(graph, rooms, (1.0,) * len(rooms), 1.0)[0] == expected


def test_the_servers_with_the_most_free_gpus_by_hand():
    """Heavy-Edge takes the emptiest ones; compact the tightest last one. Names are the instance's."""
    servers = Servers(cluster([1, 4, 2]))
    assert servers.names == ["s0", "s2", "s1"]
    assert servers.shares == [8.0, 4.0, 2.0]
    for gpus, first, second in (
        (1, {"s1": (1,)}, {"s0": (1,)}),
        (2, {"s1": (2,)}, {"s2": (2,)}),
        (3, {"s1": (3,)}, {"s1": (3,)}),
        (5, {"s1": (4,), "s2": (1,)}, {"s1": (4,), "s0": (1,)}),
        (6, {"s1": (4,), "s2": (2,)}, {"s1": (4,), "s2": (2,)}),
        (7, {"s1": (4,), "s2": (2,), "s0": (1,)}, {"s1": (4,), "s2": (2,), "s0": (1,)}),
    ):
        graph = JobGraph((gpus,), (1.0,), (0.0,), (1.0,))
        assert named(servers, heavy_edge(graph, servers)) == first
        assert named(servers, compact(graph, servers)) == second
    graph = JobGraph((2,), (1.0,), (0.0,), (1.0,))
    taken = servers.take(heavy_edge(graph, servers))  # two of s1
    assert (servers.total, sorted(servers.free)) == (5, [1, 2, 2])
    assert named(servers, heavy_edge(JobGraph((3,), (1.0,), (0.0,), (1.0,)), servers)) == {"s2": (2,), "s1": (1,)}
    servers.give(taken)
    assert (servers.total, servers.free) == (7, [1, 2, 4])


def test_the_seconds_that_servers_know():
    """Asked twice, the same: 1 + 2 * 2 / 3 * 3 / min(8, 4)."""
    servers = Servers(cluster([1, 4, 2]))
    graph = JobGraph((3,), (1.0,), (0.0,), (3.0,))
    placed = [(0, (1,)), (1, (2,))]
    assert servers.iteration_s(graph, placed) == servers.iteration_s(graph, placed) == 2.0
    assert servers.iteration_s(graph, [(2, (3,))]) == 1 + 4 / 16


@SETTINGS
@given(srpt_mapping_instances(max_jobs=4, max_servers=4, max_gpus=4, feasible=True), st.randoms(use_true_random=False))
def test_rules_keep_gangs_whole_and_servers_few(instance, rng):
    """On servers partly taken: every replica once, no more than is free, and Heavy-Edge the fewest servers."""
    servers = Servers(instance)
    servers.take([(index, (rng.randint(0, size),)) for index, size in enumerate(servers.free)])
    for job in instance.jobs:
        if job.gpus > servers.total:
            continue
        held = itertools.accumulate(sorted(servers.free, reverse=True))
        fewest = next(number for number, together in enumerate(held, 1) if together >= job.gpus)
        for rule in (heavy_edge, compact):
            placed = rule(job.graph, servers)
            assert len({index for index, _ in placed}) == len(placed) >= fewest
            assert rule is compact or len(placed) == fewest
            assert tuple(map(sum, zip(*(row for _, row in placed), strict=True))) == job.graph.replicas
            assert all(0 < sum(row) <= servers.free[index] and min(row) >= 0 for index, row in placed)


def test_whole_stages_by_hand():
    """Three stages of two on 3, 3 and 2 GPUs: two servers would cut a ring of 10 bytes, three cut none."""
    stages = [(2, 1.0, 0.0, 10.0)] * 3
    servers = Servers(cluster([3, 3, 2], stages=stages))
    graph = cluster([1], stages=stages).jobs[0].graph
    assert len(heavy_edge(graph, servers)) == 2
    assert servers.iteration_s(graph, heavy_edge(graph, servers)) == 1 + 10 / (8 / 3)
    assert named(servers, compact(graph, servers)) == {"s2": (2, 0, 0), "s0": (0, 2, 0), "s1": (0, 0, 2)}
    assert servers.iteration_s(graph, compact(graph, servers)) == 1 + 10 / 16
    # with much to send to the next stage the rings are cut all the same
    chatty = JobGraph((2, 2, 2), (1.0,) * 3, (1000.0, 1000.0, 0.0), (10.0,) * 3)
    assert len(compact(chatty, servers)) == 2


def test_a_larger_stage_after_a_small_one_by_hand():
    """Two replicas, then six, on 6 and 2 GPUs: in the order of the chain the ring of six is cut, 11 s, not 1 + 1 / 6."""
    stages = [(2, 1.0, 0.0, 1e10), (6, 1.0, 0.0, 1e10)]
    for sizes in ([6, 2], [2, 6]):
        instance = cluster(sizes, inside=1e11, nic=1e10, stages=stages)
        servers, graph = Servers(instance), instance.jobs[0].graph
        assert servers.iteration_s(graph, heavy_edge(graph, servers)) == pytest.approx(11)
        assert servers.iteration_s(graph, compact(graph, servers)) == pytest.approx(1 + 1 / 6)


@settings(SETTINGS, max_examples=200)
@given(
    st.lists(st.integers(1, 6), min_size=2, max_size=3),
    st.lists(st.tuples(st.integers(1, 6), st.sampled_from((0.0, 1.0, 50.0))), min_size=1, max_size=2),
    st.randoms(use_true_random=False),
)
def test_compact_is_the_best_where_one_or_two_rings_fit_whole(sizes, rings, rng):
    """Nothing else is sent, and some placement cuts no ring: of all placements none is faster. Servers are partly taken."""
    if sum(sizes) < sum(count for count, _ in rings):
        sizes = [*sizes, sum(count for count, _ in rings)]
    instance = cluster(sizes, stages=[(count, 1.0, 0.0, sent) for count, sent in rings])
    servers, job = Servers(instance), instance.jobs[0]
    taken = [(index, (rng.randint(0, size // 3),)) for index, size in enumerate(servers.free)]
    servers.take(taken if servers.total - sum(count for _, (count,) in taken) >= job.gpus else [])
    by_name = dict(zip(servers.names, servers.free, strict=True))
    best = min(alpha for alpha, _ in every_placement(instance, job, [by_name[each.id] for each in instance.servers]))
    if best == job.graph.uniform_s(16.0):
        assert iteration_time(instance, job, servers.placement(compact(job.graph, servers))) == best


@SETTINGS
@given(srpt_mapping_instances(max_servers=4, max_gpus=4, feasible=True))
def test_on_empty_servers_compact_is_never_slower(instance):
    """The same rooms, the last one on a server whose card fewer share, and only changes that help."""
    servers = Servers(instance)
    inside = instance.intra_bandwidth_bytes_per_s
    for job in instance.jobs:
        heavy, tight = heavy_edge(job.graph, servers), compact(job.graph, servers)
        assert servers.iteration_s(job.graph, tight) <= servers.iteration_s(job.graph, heavy) * (1 + 1e-12)
        rooms = tuple(sum(row) for _, row in heavy)
        shares = tuple(servers.shares[index] for index, _ in heavy)
        better, _ = SPREADS.improved(job.graph, rooms, shares, inside)
        first, _ = SPREADS.grouped(job.graph, rooms, shares, inside)
        assert tuple(map(sum, better)) == tuple(map(sum, first)) == rooms
        assert tuple(map(sum, zip(*better, strict=True))) == job.graph.replicas
        assert job.graph.iteration_s(better, shares, inside) <= job.graph.iteration_s(first, shares, inside)


def test_swaps_by_hand():
    """Heavy-Edge puts the pair of 2 * 9 together and cuts the chain twice; the chain in its order is cut once."""
    graph = JobGraph((1, 1, 1, 1), (1.0,) * 4, (8.0, 9.0, 8.0, 0.0), (0.0,) * 4)
    shares, inside = (2.0, 2.0), 1000.0
    rows, iteration_s = SPREADS.grouped(graph, (2, 2), shares, inside)
    assert rows == ((0, 1, 1, 0), (1, 0, 0, 1))
    assert iteration_s == graph.iteration_s(rows, shares, inside) == pytest.approx(1 + 16 / 2 + 18 / 1000)
    assert SPREADS.improved(graph, (2, 2), shares, inside)[0] in (
        ((1, 1, 0, 0), (0, 0, 1, 1)),
        ((0, 1, 1, 0), (1, 0, 0, 1)),
    )
    # in the chain's order the middle pays 18 / 2 > 16 / 2, so it is not taken; with 7 it is
    other = JobGraph((1, 1, 1, 1), (1.0,) * 4, (8.0, 7.0, 8.0, 0.0), (0.0, 0.0, 0.0, 0.0))
    assert SPREADS.improved(other, (2, 2), shares, inside)[0] == ((1, 1, 0, 0), (0, 0, 1, 1))


def splits(count, rooms):
    """Every way to put ``count`` replicas into rooms."""
    return [way for way in itertools.product(*(range(min(count, room) + 1) for room in rooms)) if sum(way) == count]


def every_placement(instance, job, free):
    """Seconds (the checker's) and GPUs by server of every placement on the free GPUs."""
    for split in itertools.product(*(splits(stage.replicas, free) for stage in job.stages)):
        usage = tuple(map(sum, zip(*split, strict=True)))
        if all(used <= room for used, room in zip(usage, free, strict=True)):
            placement = tuple(
                Share(number, instance.servers[index].id, count)
                for number, counts in enumerate(split)
                for index, count in enumerate(counts)
                if count
            )
            yield iteration_time(instance, job, placement), usage


def drawn(seed):
    """An instance with a job, and free GPUs that hold it; every third with a slow inside, every second uneven."""
    rng = random.Random(seed)
    sizes = (
        [rng.randint(1, 4) for _ in range(rng.randint(2, 4))] if seed % 2 else [rng.randint(1, 3)] * rng.randint(2, 4)
    )
    inside, nic = rng.choice([(16.0, 8.0), (64.0, 2.0), (rng.uniform(4, 20), rng.uniform(1, 8))])
    if seed % 3 == 0:
        inside, nic = 0.5, 8.0
    while True:
        free = [rng.randint(0, size) if rng.random() < 0.4 else size for size in sizes]
        replicas = [rng.randint(1, 3) for _ in range(rng.randint(1, 3))]
        if sum(replicas) <= sum(free):
            break
    stages = [
        (
            count,
            rng.uniform(0.1, 3),
            rng.choice([0.0, 4.0, rng.uniform(1, 30)]) if number < len(replicas) - 1 else 0.0,
            rng.choice([0.0, 8.0, rng.uniform(1, 30)]),
        )
        for number, count in enumerate(replicas)
    ]
    return cluster(sizes, inside, nic, stages), free


@pytest.mark.parametrize("seed", range(64))
def test_best_placement_is_the_best_of_all(seed):
    """CP-SAT against every placement; the bound is below it; the rules are no better; with and without a start."""
    instance, free = drawn(seed)
    job, inside = instance.jobs[0], instance.intra_bandwidth_bytes_per_s
    best = min(alpha for alpha, _ in every_placement(instance, job, free))
    servers = Servers(instance)
    by_name = dict(zip((server.id for server in instance.servers), free, strict=True))
    servers = servers.with_free([by_name[name] for name in servers.names])
    start = [(instance.server_index[servers.names[index]], row) for index, row in heavy_edge(job.graph, servers)]
    found = best_placement(job.graph, free, instance.shares, inside, start=start if seed % 2 else None)
    assert found.status is TerminationStatus.OPTIMAL
    error = 1e-8 * job.graph.uniform_s(min(inside, *instance.shares))
    assert found.iteration_s == pytest.approx(best, abs=error)
    assert found.bound_s <= best * (1 + 1e-12)
    assert found.bound_s == pytest.approx(best, abs=error)
    assert tuple(map(sum, zip(*(row for _, row in found.placed), strict=True))) == job.graph.replicas
    assert all(sum(row) <= free[index] for index, row in found.placed)
    placement = tuple(
        Share(number, instance.servers[index].id, count)
        for index, row in found.placed
        for number, count in enumerate(row)
        if count
    )
    assert iteration_time(instance, job, placement) == pytest.approx(found.iteration_s, rel=1e-12)
    for rule in (heavy_edge, compact):
        assert servers.iteration_s(job.graph, rule(job.graph, servers)) >= best * (1 - 1e-12)


@pytest.mark.parametrize("seed", range(0, 120, 4))
def test_best_rows_are_the_best_of_all_for_fixed_usage(seed):
    """For every number of GPUs by server."""
    instance, free = drawn(seed + 1)
    job = instance.jobs[0]
    best = {}
    for alpha, usage in every_placement(instance, job, free):
        best[usage] = min(alpha, best.get(usage, alpha))
    for usage, alpha in best.items():
        used = [index for index, count in enumerate(usage) if count]
        rooms, shares = tuple(usage[index] for index in used), tuple(instance.shares[index] for index in used)
        seconds, rows = best_rows(job.graph, rooms, shares, instance.intra_bandwidth_bytes_per_s)
        assert seconds == pytest.approx(alpha, rel=1e-12)
        assert tuple(map(sum, rows)) == rooms
        assert job.graph.iteration_s(rows, shares, instance.intra_bandwidth_bytes_per_s) == seconds


def test_too_many_rows_are_a_signal(monkeypatch):
    """Eight replicas of each of four stages on four servers, and a search that may try a hundred splits."""
    monkeypatch.setattr("dlsched.cluster.replica_placement.LARGEST", 100)
    graph = JobGraph((8,) * 4, (1.0,) * 4, (5.0, 6.0, 7.0, 0.0), (3.0,) * 4)
    with pytest.raises(TooMany):
        best_rows(graph, (8,) * 4, (1.0,) * 4, 64.0)


def test_more_gpus_can_hurt():
    """Servers of 1, 1, 1 against 2, 1, 1: the ring sends 2 * 2 / 3 * 10 bytes, at 10 / 1 or at 10 / 2 a second."""
    stages = [(3, 1e-30, 0.0, 10.0)]
    graph = cluster([1], stages=stages).jobs[0].graph
    for sizes, expected in (((1, 1, 1), 4 / 3), ((2, 1, 1), 8 / 3)):
        instance = cluster(sizes, inside=1000.0, nic=10.0, stages=stages)
        alphas = [alpha for alpha, _ in every_placement(instance, instance.jobs[0], sizes)]
        assert min(alphas) == pytest.approx(expected, rel=1e-15)
        found = best_placement(graph, sizes, instance.shares, 1000.0)
        assert found.iteration_s == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        (Limits(time_s=0), TerminationStatus.TIME_LIMIT),
        (Limits(nodes=0), TerminationStatus.NODE_LIMIT),
        (Limits(time_s=30), TerminationStatus.OPTIMAL),
    ],
)
def test_limits(limits, status):
    """Whatever is held is a placement, and whatever is proven is no more than the best."""
    instance = cluster([3, 3], stages=[(3, 1.0, 9.0, 5.0), (3, 1.0, 0.0, 5.0)])
    best = min(alpha for alpha, _ in every_placement(instance, instance.jobs[0], [3, 3]))
    graph = instance.jobs[0].graph
    found = best_placement(graph, [3, 3], instance.shares, 16.0, limits=limits)
    if found.status is not TerminationStatus.OPTIMAL:  # presolve may end it
        assert found.status is status
    if found.placed is not None:
        assert found.iteration_s >= best * (1 - 1e-12)
    if found.bound_s is not None:
        assert found.bound_s <= best * (1 + 1e-12)


def test_free_gpus_that_do_not_hold_the_job():
    """The numbers of both."""
    graph = JobGraph((3,), (1.0,), (0.0,), (1.0,))
    with pytest.raises(UsageError, match="free: found 2 GPUs, allowed: 3 or more"):
        best_placement(graph, [2, 0], [1.0, 1.0], 2.0)
    servers = Servers(cluster([2]))
    with pytest.raises(ValueError, match="do not hold the job"):
        heavy_edge(graph, servers)


def test_a_wide_range_of_seconds_is_no_obstacle():
    """All on one server takes some 1e-12 s, apart 1 s: what is worse than a placement held is left out, whatever its size."""
    graph = JobGraph((2, 1), (1e-12, 1e-12), (1e-10, 0.0), (1.0, 1e-12))
    found = best_placement(graph, [3, 3], [1.0, 1.0], 1e15)
    assert found.status is TerminationStatus.OPTIMAL
    assert found.iteration_s == pytest.approx(1e-12 + 1e-15, rel=1e-3)
    assert found.bound_s == pytest.approx(found.iteration_s, rel=1e-6)


@pytest.mark.parametrize("started", [True, False])
def test_a_chain_that_is_best_on_two_servers(started):
    """b_in is 1e-3 B/s: the heavy edge of 10 bytes must leave the server, the light one of 1e-6 may stay: 1 + 2e-3 + 20/4."""
    graph = JobGraph((1, 1, 1), (1.0, 1.0, 1.0), (1e-6, 10.0, 0.0), (0.0, 0.0, 0.0))
    start = [(0, (1, 1, 1))] if started else None  # 20 000 s
    found = best_placement(graph, [3, 2], [4.0, 4.0], 1e-3, start=start)
    assert found.status is TerminationStatus.OPTIMAL
    assert found.iteration_s == pytest.approx(1 + 20 / 4 + 2e-6 / 4, rel=1e-6)


def test_vast_jobs_are_refused():
    """A unit for each replica would be coarser than anything that is to be told apart."""
    with pytest.raises(UsageError, match=r"placement: found a job of 2,097,152 GPUs, allowed: 1,048,576"):
        best_placement(JobGraph((2**21,), (1.0,), (0.0,), (8.0,)), [2**21], [1.0], 8.0)


def test_a_start_is_the_answer_until_there_is_a_better_one():
    """Without time the start is held, and nothing is proven."""
    graph = JobGraph((2,), (1.0,), (0.0,), (8.0,))
    start = [(0, (1,)), (1, (1,))]
    found = best_placement(graph, [1, 2], [1.0, 1.0], 8.0, start=start, limits=Limits(time_s=0.0))
    assert (found.placed, found.iteration_s) in [(start, 9.0), ([(1, (2,))], 2.0)]
    assert best_placement(graph, [1, 2], [1.0, 1.0], 8.0, start=start).iteration_s == 2.0


@pytest.mark.parametrize(("free", "shares"), [([1, 2], [1.0]), ([3, -1], [1.0, 1.0]), ([2, 2], [1.0, 0.0])])
def test_best_placement_refuses_other_figures(free, shares):
    """Lists of unequal length, negative counts and bandwidths of 0."""
    with pytest.raises(UsageError, match="free, shares: found other"):
        best_placement(JobGraph((2,), (1.0,), (0.0,), (8.0,)), free, shares, 8.0)

"""Spreads of a job's replicas over servers: best fit by hand, and compiled loops beside interpreted ones."""

import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.cluster import spreading
from dlsched.cluster.job_graph import JobGraph, stage_s
from dlsched.cluster.replica_placement import best_rows, splits_of
from dlsched.cluster.spreading import Spreads, spreads_for

SETTINGS = settings(max_examples=120, derandomize=True, deadline=None, database=None)
INSIDE, SHARE = 64.0, 1.0


def rooms_of(free):
    """Ascending pairs of free GPUs and server, where there are any."""
    return sorted((room, server) for server, room in enumerate(free) if room)


def chain(replicas, outputs=None, rings=None):
    """Stages of one second each."""
    count = len(replicas)
    outputs, rings = outputs or (0.0,) * count, rings or (1.0,) * count
    return JobGraph(tuple(replicas), (1.0,) * count, tuple(outputs), tuple(rings))


def packed(graph, free):
    """Rows by server."""
    return dict(spreads_for(1).best_fit(graph, rooms_of(free), [SHARE] * len(free), INSIDE)[0])


def can_be_whole(replicas, free):
    """Whether some way to put every stage on one server fits: all ways are tried."""
    ways = itertools.product(range(len(free)), repeat=len(replicas))
    return any(
        all(
            sum(count for count, at in zip(replicas, way, strict=True) if at == m) <= room
            for m, room in enumerate(free)
        )
        for way in ways
    )


@pytest.mark.parametrize("free", [[6, 2], [2, 6], [0, 6, 7, 2]])
def test_the_largest_stage_first(free):
    """Two replicas and six: the order of the chain would put the two on the server of six, and cut the six."""
    assert packed(chain((2, 6)), free) == {free.index(2): (2, 0), free.index(6): (0, 6)}


def test_heavy_edges_stay_inside():
    """Six stages on 3, 2 and 2 GPUs: of the bytes 9, 1, 9, 9, 1 the two ones are cut."""
    graph = chain((1,) * 6, outputs=(9.0, 1.0, 9.0, 9.0, 1.0, 0.0))
    assert packed(graph, [3, 2, 2]) == {0: (0, 0, 1, 1, 1, 0), 1: (1, 1, 0, 0, 0, 0), 2: (0, 0, 0, 0, 0, 1)}


def test_an_edge_weighs_what_its_slower_end_pays():
    """Eight bytes are 16 seconds of one replica, but 4 of each of four; 5 bytes to one replica are 10 seconds."""
    graph = chain((1, 4, 4, 1), outputs=(5.0, 8.0, 5.0, 0.0))
    assert packed(graph, [5, 5]) == {0: (1, 4, 0, 0), 1: (0, 0, 4, 1)}


def test_a_stage_that_no_server_holds():
    """Seven replicas on 4, 3, 3: four, and the rest where it fits best; the two beside it keep together."""
    graph = chain((1, 1, 7), outputs=(9.0, 9.0, 0.0))
    assert packed(graph, [3, 4, 3]) == {1: (0, 0, 4), 0: (0, 0, 3), 2: (1, 1, 0)}


def test_smaller_servers_come_first_among_equals():
    """Of two servers with as many free GPUs the first is taken, which has the larger share of its card."""
    assert packed(chain((2, 3)), [3, 3, 3]) == {0: (0, 3), 1: (2, 0)}


@SETTINGS
@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=5),
    st.lists(st.integers(0, 8), min_size=1, max_size=5),
    st.data(),
)
def test_every_replica_once_and_no_more_than_is_free(replicas, free, data):
    """Whatever is sent."""
    if sum(free) < sum(replicas):
        free = [*free, sum(replicas)]
    outputs = [data.draw(st.sampled_from((0.0, 1.0, 30.0))) for _ in replicas[1:]] + [0.0]
    rings = [data.draw(st.sampled_from((0.0, 1.0, 30.0))) for _ in replicas]
    placed, _ = spreads_for(1).best_fit(chain(replicas, outputs, rings), rooms_of(free), [SHARE] * len(free), INSIDE)
    assert len({server for server, _ in placed}) == len(placed)
    assert tuple(map(sum, zip(*(row for _, row in placed), strict=True))) == tuple(replicas)
    assert all(0 < sum(row) <= free[server] and min(row) >= 0 for server, row in placed)


@SETTINGS
@given(
    st.one_of(
        st.lists(st.integers(1, 8), min_size=1, max_size=2),
        st.lists(st.sampled_from((1, 2, 4, 8)), min_size=1, max_size=5),
        st.lists(st.sampled_from((1, 3, 6)), min_size=1, max_size=5),
    ),
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
)
def test_no_ring_is_cut_without_need(replicas, free):
    """Two stages, or numbers of replicas that divide one another: whole wherever that is possible, hence the fastest."""
    if not can_be_whole(replicas, free):
        return
    graph = chain(replicas)
    placed, _ = spreads_for(1).best_fit(graph, rooms_of(free), [SHARE] * len(free), INSIDE)
    assert all(sum(row[stage] > 0 for _, row in placed) == 1 for stage, count in enumerate(replicas) if count > 1)
    seconds = graph.iteration_s([row for _, row in placed], [SHARE] * len(placed), INSIDE)
    assert seconds == max(1 + 2 * (count - 1) / count / INSIDE for count in replicas)


def test_numbers_that_do_not_divide_may_be_cut():
    """Best fit puts 3 with 3, and then one 2 finds a GPU on either server; 3, 2, 2 twice would have been whole."""
    replicas, free = (3, 3, 2, 2, 2, 2), [7, 7]
    assert can_be_whole(replicas, free)
    placed = packed(chain(replicas), free)
    assert sum(sum(row[stage] > 0 for row in placed.values()) > 1 for stage in range(6)) == 1


_BYTES = st.floats(0, 1e10)


@SETTINGS
@given(
    st.lists(st.tuples(st.integers(1, 9), st.floats(1e-3, 10), _BYTES, _BYTES), min_size=1, max_size=4),
    st.floats(1e6, 1e12),
)
def test_one_server_needs_no_card(stages, inside):
    """All replicas on one server take, to the bit, what the general formula says, whatever the server's card."""
    graph = JobGraph(*zip(*stages, strict=True))
    splits = [(count,) for count in graph.replicas]
    for share in (1.0, 1e9):
        slowest_s = max(stage_s(graph, stage, splits, [share], inside) for stage in range(len(stages)))
        assert graph.iteration_s([graph.replicas], [share], inside) == slowest_s


@SETTINGS
@given(st.data())
def test_no_placement_is_faster_than_the_least_seconds(data):
    """Any split of the replicas over servers, cards slower or faster than inside; bounds know one or two rooms, and a share."""
    number = st.floats(0.0, 9.0)
    replicas = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    outputs, rings = ([data.draw(number) for _ in replicas] for _ in range(2))
    graph = chain(replicas, (*outputs[:-1], 0.0), rings)
    servers = data.draw(st.integers(1, 4))
    rows = [[0] * len(replicas) for _ in range(servers)]
    for stage, count in enumerate(replicas):
        for _ in range(count):
            rows[data.draw(st.integers(0, servers - 1))][stage] += 1
    rows = [tuple(row) for row in rows if any(row)]
    shares = [data.draw(st.floats(0.5, 8.0)) for _ in rows]
    inside = data.draw(st.floats(0.5, 8.0))
    reached_s = graph.iteration_s(rows, shares, inside)
    assert graph.least_s(max(map(sum, rows)), max(shares), inside) <= reached_s * (1 + 1e-12)
    first, second = sorted([0, *map(sum, rows)], reverse=True)[:2]
    assert spreading._least_rooms(graph, max(shares), inside, reached_s * (1 + 1e-9))[second] <= first


@pytest.mark.parametrize("seed", range(60))
def test_the_least_seconds_beside_the_best_placement(seed):
    """All ways to give a small job GPUs of up to four servers, each spread in the best way; one bandwidth for all cards."""
    graph = drawn(seed, 3, 4)[0]
    rng = random.Random(seed)
    room, inside = rng.randint(1, 4), rng.choice([0.5, 4.0, 64.0])
    rooms = (room, *(rng.randint(1, room) for _ in range(3)))
    ways = list(splits_of(graph.gpus, rooms)) if graph.gpus <= sum(rooms) else []
    used = [tuple(count for count in way if count) for way in ways]
    best_s = min([best_rows(graph, way, (SHARE,) * len(way), inside)[0] for way in used], default=math.inf)
    assert graph.least_s(room, SHARE, inside) <= best_s * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(6, 66))
def test_the_rooms_that_the_best_placement_needs(seed):
    """Where all cards are alike: of every two largest rooms, all ways to share a small job out to them and others."""
    graph, inside = drawn(seed, 3, 3)[0], random.Random(seed).choice([1.0, 4.0, 64.0])
    best_s = {}
    for second, first in itertools.combinations_with_replacement(range(graph.gpus + 1), 2):
        rooms = first, *[second] * (graph.gpus - 1)
        ways = splits_of(graph.gpus, rooms) if graph.gpus <= sum(rooms) else ()
        used = {tuple(sorted(count for count in way if count)) for way in ways}
        best_s[first, second] = min(
            [best_rows(graph, way, (SHARE,) * len(way), inside)[0] for way in used], default=math.inf
        )
    for allowed_s in sorted(set(best_s.values()) - {math.inf}):
        rooms = spreading._least_rooms(graph, SHARE, inside, allowed_s * (1 + 1e-9))
        for (first, second), reached_s in best_s.items():
            assert (rooms[second] <= first) == (reached_s <= allowed_s * (1 + 1e-9))


def test_rooms_by_the_largest_alone():
    """Interpreted, of the three and two replicas below: in 1.5 seconds only side by side."""
    graph = chain((3, 2), outputs=(12.0, 0.0), rings=(3.0, 0.0))
    assert spreads_for(1).least_rooms(graph, SHARE, INSIDE, 1.5) == (5,) * 6


def test_the_least_seconds_by_hand():
    """Three replicas beside two, 12 bytes between them, 6 for each ring of three; rooms of 5, 4, 3 and 2 GPUs."""
    graph = chain((3, 2), outputs=(12.0, 0.0), rings=(3.0, 0.0))
    # a replica of the two exchanges 12, one of the three 8 and 4 for the ring; on one server all is inside
    assert graph.least_s(5, SHARE, INSIDE) == pytest.approx(1 + 12 / 64)
    # the two, together, have two of the three beside them, or one each; the three have one of the two: 4 outside, 4 + 4 inside
    assert graph.least_s(4, SHARE, INSIDE) == pytest.approx(1 + max(12 / 3 + 12 * 2 / 3 / 64, 4 + 8 / 64))
    # the two have one beside them, together or apart
    assert graph.least_s(3, SHARE, INSIDE) == pytest.approx(1 + 12 * 2 / 3 + 12 / 3 / 64)
    # the three cannot be on one server, and the two cannot be beside all of the three
    assert graph.least_s(2, SHARE, INSIDE) == pytest.approx(1 + max(8 + 4, 12 * 2 / 3 + 12 / 3 / 64))


def drawn(seed, most_stages=6, most_replicas=12):
    """A job of up to six stages; its rooms and their shares; free GPUs of all servers, with shares."""
    rng = random.Random(seed)
    stages = rng.randint(1, most_stages)
    graph = JobGraph(
        tuple(rng.randint(1, min(most_replicas, rng.choice([2, 6, 12]))) for _ in range(stages)),
        tuple(rng.uniform(0.1, 0.3) for _ in range(stages)),
        (*(rng.choice([0.0, 1.0, rng.uniform(0, 3)]) for _ in range(stages - 1)), 0.0),
        tuple(rng.choice([0.0, rng.uniform(0, 3)]) for _ in range(stages)),
    )
    free = [rng.randint(1, rng.choice([2, 4, 8])) for _ in range(graph.gpus)]
    shares = [8 / rng.choice([2, 4, 8]) for _ in free]
    rooms, rest = [], graph.gpus
    for room in free:
        rooms += [min(room, rest)] * (rest > 0)
        rest -= min(room, rest)
    return graph, tuple(rooms), tuple(shares[: len(rooms)]), rooms_of(free), shares


@pytest.mark.long
def test_compiled_loops_give_the_same_spreads():
    """To the bit, and the same seconds; half a minute of compiling."""
    pytest.importorskip("numba")
    plain, fast = Spreads(fast=False), Spreads(fast=True)
    for seed in range(2000):
        graph, rooms, own, free, shares = drawn(seed)
        rows, iteration_s = grouped = plain.grouped(graph, rooms, own, INSIDE)
        assert iteration_s == graph.iteration_s(rows, own, INSIDE)
        assert fast.grouped(graph, rooms, own, INSIDE) == grouped
        assert fast.improved(graph, rooms, own, INSIDE) == plain.improved(graph, rooms, own, INSIDE)
        assert fast.best_fit(graph, free, shares, INSIDE) == plain.best_fit(graph, free, shares, INSIDE)
    for seed in range(500):
        graph = drawn(seed, 4, 4)[0]
        for allowed_s in (0.5, 1.0, 2.0, 4.0):
            rooms = spreading._least_rooms(graph, SHARE, INSIDE, allowed_s * (1 + 1e-9))
            assert fast.least_rooms(graph, SHARE, INSIDE, allowed_s) == tuple(rooms)


def test_many_jobs_are_placed_by_compiled_loops(monkeypatch):
    """Numba is asked for from a size on, once; where there is none, loops are interpreted."""
    asked = []
    monkeypatch.setattr(spreading, "compiled", lambda loop, *parts: asked.append(loop.__name__))
    monkeypatch.setattr(spreading, "COMPILED_FROM", 7)
    spreading._spreads.cache_clear()
    assert not (spreads_for(6), asked)[1]
    assert spreads_for(7) is spreads_for(8)
    assert asked == ["_grouped_s", "_improved", "_best_fit", "_least_rooms"]
    assert spreads_for(7).grouped(chain((1, 1)), (1, 1), (SHARE, SHARE), INSIDE) == (((1, 0), (0, 1)), 1.0)
    spreading._spreads.cache_clear()

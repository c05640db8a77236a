"""One slot: filling and closing, by search and by CP-SAT, against enumeration, whatever the gains."""

import numpy as np
import pytest
from conftest import profile
from hypothesis import given

from dlsched import ring_embedding
from dlsched.core.limits import Budget, Limits, TooMany
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.bounds import slot_gains
from dlsched.ring_embedding.checker import worth
from dlsched.ring_embedding.rings.network import ForestPrices, Network
from dlsched.ring_embedding.rings.placing import Slot
from dlsched.ring_embedding.slot import exact_slot, slot_program
from dlsched.ring_embedding.slot.exact_slot import best_slot, close_by_spans
from dlsched.ring_embedding.slot.mapping_program import MappingProgram, Relaxation
from dlsched.ring_embedding.slot.slot_program import Filled, close_slot, fill_slot, rings_within
from dlsched.solvers.milp import solve_milp
from dlsched.testing.ring_embedding import brute_force_ring, ring_embedding_instances

from .small_networks import best_slot as enumerated
from .small_networks import draw, racks, rings_of, slots_of, switches
from .test_brute_force import TRIANGLE, job, made

pytestmark = pytest.mark.usefixtures("in_process")

CLOSE = 1e-9
SOLVED = 1e-6


def gains_of(network, rng, kind):
    """Gains by number of workers that do not fall: concave, steps, or any."""
    found = {}
    for index in range(len(network.instance.jobs)):
        most = int(min(network.most[index], 4))
        steps = rng.random(most) * rng.choice([1.0, 10.0])
        if kind == "concave":
            steps = -np.sort(-steps)
        elif kind == "step":
            steps = np.where(np.arange(most) == rng.integers(most), steps, 0.0) if most else steps
        elif kind == "convex":
            steps = np.sort(steps) ** 3
        found[index] = np.concatenate(([0.0], np.cumsum(steps)))
    return found


def fits(network, slot):
    """What is free was counted rightly, and nothing is overused; rings are rings."""
    free, spare = network.capacity.copy(), network.bandwidth.copy()
    for index, (workers, order, links) in slot.rings.items():
        assert sorted(workers) == sorted(order)
        assert min(workers.values()) >= 1
        assert links == network.crossed(order)
        for server, count in workers.items():
            free[server] -= count * network.demand[index]
        for link in links:
            spare[link] -= network.load[index]
    assert (free >= 0).all() and (spare >= 0).all()
    assert free == pytest.approx(slot.free, rel=1e-12, abs=1e-12)
    assert spare == pytest.approx(slot.spare, rel=1e-12, abs=1e-12)


def instances():
    """Forests and graphs of three and four servers, some at the tolerances."""
    for seed in range(2):
        yield racks(5000 + seed, servers=4, count=4, slots=1, most=4)
        yield switches(5000 + seed, servers=4, count=3, slots=1, most=4)
        yield draw(500 + seed)
        yield draw(520 + seed)


CASES = [
    (instance, kind)
    for n, instance in enumerate(instances())
    for kind in (("concave", "step", "convex", "any")[n % 4],)
]


def test_best_slot_is_the_best_of_all():
    """Proven, with a bound that meets; filling alone is between nothing and that, its bound above."""
    proven = by_closing = 0
    for number, (instance, kind) in enumerate(CASES[4:]):
        network, rng = Network(instance), np.random.default_rng(number)
        gains = gains_of(network, rng, kind)
        best = enumerated(network, None, gains).worth(gains)
        filled = fill_slot(network, gains, MappingProgram(network))
        fits(network, filled.slot)
        assert filled.gain == pytest.approx(filled.slot.worth(gains), rel=1e-12)
        assert filled.gain <= best * (1 + CLOSE) <= filled.bound * (1 + 2 * CLOSE) + CLOSE
        found = best_slot(network, gains, np.random.default_rng(0))
        fits(network, found.slot)
        assert found.gain == pytest.approx(best, rel=SOLVED, abs=SOLVED), (number, kind)
        assert found.bound >= best - SOLVED * max(1.0, best)
        assert found.proven, (number, kind)
        proven += filled.proven
        by_closing += not filled.proven
    assert min(proven, by_closing) >= 1, (proven, by_closing)


def test_closing_begins_where_filling_ended():
    """It hears of better slots, and never returns a worse one; a start that is the optimum stays."""
    heard = []
    for number, (instance, kind) in enumerate(CASES):
        if instance.paths is not None:
            continue
        network, rng = Network(instance), np.random.default_rng(100 + number)
        gains = gains_of(network, rng, kind)
        best = enumerated(network, None, gains)
        filled = fill_slot(network, gains, MappingProgram(network), start=best.rings)
        assert filled.gain == pytest.approx(best.worth(gains), rel=1e-12)
        limited = Network(instance, Budget(Limits(nodes=0)))
        worse = fill_slot(limited, gains, MappingProgram(limited))
        closed = close_slot(network, gains, worse, better=heard.append)
        fits(network, closed.slot)
        assert closed.gain >= worse.gain
        assert closed.gain == pytest.approx(best.worth(gains), rel=SOLVED, abs=SOLVED)
    assert heard


def test_a_start_is_the_least_that_filling_returns():
    """Any feasible rings."""
    for number, (instance, kind) in enumerate(CASES[:16]):
        network, rng = Network(instance), np.random.default_rng(200 + number)
        gains = gains_of(network, rng, kind)
        choices = slots_of(network, {index: len(gain) - 1 for index, gain in gains.items()})
        rings = choices[rng.integers(len(choices))]
        worth = sum(gains[index][sum(workers.values())] for index, (workers, _, _) in rings.items())
        assert fill_slot(network, gains, MappingProgram(network), start=rings).gain >= worth * (1 - CLOSE)


def test_steps_by_hand():
    """Three GPUs: a gains 5 with exactly three, b 3 with two, c 1 with each: a alone, though one by one c is first."""
    instance = made([3], [], job("a"), job("b"), job("c"))
    network = Network(instance)
    gains = {0: np.array([0, 0, 0, 5.0]), 1: np.array([0, 0, 3.0, 3.0]), 2: np.array([0, 1.0, 2.0, 3.0])}
    found = best_slot(network, gains, np.random.default_rng(0))
    assert (found.gain, found.bound, {index: found.slot.count(index) for index in found.slot.rings}) == (
        5.0,
        pytest.approx(5.0, rel=SOLVED),
        {0: 3},
    )
    gains[1][2:] = 4.5
    assert best_slot(network, gains, np.random.default_rng(0)).gain == pytest.approx(5.5)


def test_bandwidth_by_hand():
    """Two rings across one link, one at a time: the better across, the other on one server."""
    instance = made([2, 2], [("s0", "s1", 1.0)], job("a", workers=3), job("b", workers=3))
    gains = {0: np.array([0, 1.0, 2.0, 3.0]), 1: np.array([0, 1.0, 2.0, 4.0])}
    assert best_slot(Network(instance), gains, np.random.default_rng(0)).gain == 4 + 1
    wide = made([2, 2], [("s0", "s1", 1.0)], job("a", workers=3), job("b", workers=3, load=0.0))
    assert best_slot(Network(wide), gains, np.random.default_rng(0)).gain == 4 + 1


@pytest.mark.parametrize("gains", [{}, {0: np.zeros(1)}, {0: np.zeros(3)}, {0: np.array([0.0, 0.0, 0.0, 1e-9])}])
@pytest.mark.parametrize("paths", [None, ["s0 s1"]])
def test_nothing_to_gain(gains, paths):
    """No jobs, no workers, no gain, hardly any."""
    network = Network(made([2, 2], [("s0", "s1", 1.0)], job(), paths=paths))
    found = best_slot(network, gains, np.random.default_rng(0))
    assert found.proven
    assert found.gain == pytest.approx(sum(gain[-1] for gain in gains.values()), abs=1e-6)


def within(network, gains, relaxation, delta):
    """The same rings by enumeration, as (job, workers), with how far each is from the limit."""
    found = {}
    for index, gain in gains.items():
        surplus = {}
        for workers, _, _ in rings_of(network, index, len(gain) - 1):
            (order,) = network.orders(workers)
            price = sum(
                count * float(network.demand[index] @ relaxation.server[server]) for server, count in workers.items()
            )
            price += network.load[index] * sum(float(relaxation.link[link]) for link in network.crossed(order))
            if all(network.bandwidth[link] >= network.load[index] for link in network.crossed(order)):
                surplus[tuple(sorted(workers.items()))] = float(gain[sum(workers.values())]) - price
        best = max([0.0, *surplus.values()])
        found |= {(index, workers): delta - (best - value) for workers, value in surplus.items()}
    return found


@pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 1.0, 5.0])
def test_all_rings_within_a_slack(part):
    """At random prices, of everything or of nothing: those of the enumeration, no more and no less."""
    counted = dropped = 0
    for seed in range(8):
        instance = racks(6000 + seed, servers=5, count=2, slots=1, most=4)
        network, rng = Network(instance), np.random.default_rng(seed)
        gains = gains_of(network, rng, "any")
        server = rng.random(network.capacity.shape) * rng.integers(0, 2, size=network.capacity.shape) * 2
        link = rng.random(len(network.bandwidth)) * rng.integers(0, 2, size=len(network.bandwidth))
        relaxation = Relaxation(0.0, 0.0, (), server, link)
        delta = part * max(float(gain[-1]) for gain in gains.values()) + CLOSE
        rings = rings_within(network, gains, relaxation, delta)
        found = [(index, tuple(sorted(workers.items()))) for index, (workers, _, _) in rings]
        assert len(set(found)) == len(found)
        for index, (workers, order, links) in rings:
            assert links == network.crossed(order) and sorted(order) == sorted(workers)
            assert sum(workers.values()) < len(gains[index])
        for ring, room in within(network, gains, relaxation, delta).items():
            if abs(room) > CLOSE / 2:
                assert (ring in found) == (room > 0), (seed, ring, room)
                counted += room > 0
                dropped += room < 0
    assert counted and (dropped or part == 5.0)


def test_too_many_rings():
    """More than the limit ends the search."""
    instance = made([4] * 6, [(f"s{n}", "hub", 9.0) for n in range(6)], job(workers=6), switches=["hub"])
    network = Network(instance)
    prices = ForestPrices(network, [0], [6], np.zeros((1, 6)), np.zeros(len(network.bandwidth)))
    with pytest.raises(TooMany):
        prices.near(0, [0.0] * 7, 100)
    assert len(prices.near(0, [0.0] * 7, 10_000)) == len(rings_of(network, 0, 6))


def test_closing_with_too_many_rings_is_honest(monkeypatch):
    """It returns what filling found, unproven, with its bound."""
    monkeypatch.setattr(slot_program, "RINGS", 1)
    instance = made([3], [], job("a"), job("b"), job("c"))
    found = best_slot(Network(instance), STEPS, np.random.default_rng(0))
    assert found.gain <= 5 <= found.bound


STEPS = {0: np.array([0, 0, 0, 5.0]), 1: np.array([0, 0, 4.5, 4.5]), 2: np.array([0, 0, 4.0, 4.0])}


@pytest.mark.parametrize(("small", "rings"), [(10, [8]), (0, [1, 1, 2, 7])])
def test_closing_takes_as_much_of_the_gap_as_costs_little(small, rings, monkeypatch):
    """Three GPUs at 2.25, filled by 4 below 6.75: eight of nine rings within 2.75 at once, or few after few; 5 by hand.

    Below their job's best are a by 2.25, 4.5, 1.75; b by 2.25, 0, 2.25; c by 2.25, 0.5, 2.75. With b the gap is 2.25.
    """
    monkeypatch.setattr(slot_program, "SMALL", small)
    monkeypatch.setattr(slot_program, "GROWTH", 1.0)
    solved = []

    def solve(problem, **options):
        solved.append(len(problem.names))
        return solve_milp(problem, **(options | {"isolated": False}))

    monkeypatch.setattr(slot_program, "solve_milp", solve)
    network = Network(made([3], [], job("a"), job("b"), job("c")))
    prices = Relaxation(6.75, 6.75, (), np.full((1, 1), 2.25), np.zeros(0))
    slot = Slot(network)
    slot.put(2, ({0: 2}, (0,), []))
    found = close_slot(network, STEPS, Filled(slot, 4.0, 6.75, prices))
    assert (found.gain, found.proven) == (5.0, True)
    assert solved == rings


def test_a_limit_on_nodes_holds_for_every_program(monkeypatch):
    """A user's 3 nodes are those of each program; without, each has its own."""
    asked = []

    def solve(problem, *, limits, **options):
        asked.append(limits.nodes)
        return solve_milp(problem, limits=limits, **(options | {"isolated": False}))

    monkeypatch.setattr(slot_program, "solve_milp", solve)
    instance = ring_embedding.generate(preset="slot", jobs=12, servers=12, slots=1, seed=4)
    for limits, allowed in ((Limits(nodes=3), {3}), (Limits(), {slot_program.NODES, 70})):
        asked.clear()
        network = Network(instance, Budget(limits))
        best_slot(network, slot_gains(network), np.random.default_rng(0), nodes=70)
        assert asked and set(asked) <= allowed


def test_the_generator_is_the_one_handed_in():
    """More rings than are taken out at a time: what is drawn comes from it, and it alone."""
    network = Network(ring_embedding.generate(preset="slot", jobs=16, servers=16, slots=1, seed=2))
    gains = slot_gains(network)
    rngs = [np.random.default_rng(seed) for seed in (3, 3)]
    first, second = (best_slot(network, gains, rng) for rng in rngs)
    assert (first.slot.rings, first.gain, first.bound) == (second.slot.rings, second.gain, second.bound)
    assert rngs[0].bit_generator.state == rngs[1].bit_generator.state != np.random.default_rng(3).bit_generator.state


def test_earlier_slots_do_not_matter():
    """The program of a slot of a longer instance is that of the same servers and jobs in one slot."""
    for seed in range(4):
        instance = switches(7000 + seed, servers=3, count=3, slots=3)
        jobs = [record.model_copy(update={"arrival_slot": 1}) for record in instance.jobs]
        alone = instance.model_copy(update={"slots": 1, "jobs": jobs})
        gains = gains_of(Network(alone), np.random.default_rng(seed), "any")
        longer, shorter = (best_slot(Network(each), gains, np.random.default_rng(0)) for each in (instance, alone))
        assert longer.gain == pytest.approx(shorter.gain, rel=SOLVED)


def test_a_forest_and_its_paths_are_one_problem():
    """The same network with its paths listed: mappings in a tree, and walks with the arc model."""
    for seed in range(4):
        forest = racks(8000 + seed, servers=3, count=3, slots=1)
        network = Network(forest)
        ids = [node.id for node in forest.nodes]
        neighbours = {name: [] for name in ids}
        for link in forest.links:
            neighbours[link.ends[0]].append(link.ends[1])
            neighbours[link.ends[1]].append(link.ends[0])

        def route(here, there, seen, neighbours=neighbours):
            if here == there:
                return [here]
            for after in neighbours[here]:
                if after not in seen:
                    rest = route(after, there, seen | {after})
                    if rest:
                        return [here, *rest]
            return None

        servers = [server.id for server in forest.servers]
        routes = [route(a, b, {a}) for n, a in enumerate(servers) for b in servers[n + 1 :]]
        paths = [{"ends": (nodes[0], nodes[-1]), "nodes": nodes} for nodes in routes if nodes]
        listed = Network(forest.model_copy(update={"paths": paths}))
        gains = gains_of(network, np.random.default_rng(seed), "any")
        most = {index: len(gain) for index, gain in gains.items()}
        shared = {index: gain[: min(most[index], int(listed.most[index]) + 1)] for index, gain in gains.items()}
        walks, tree = (best_slot(each, shared, np.random.default_rng(0)) for each in (listed, network))
        assert walks.gain == pytest.approx(tree.gain, rel=SOLVED)


def test_a_cycle_by_hand():
    """Around the triangle once each way: two rings of three."""
    instance = made([2, 2, 2], TRIANGLE, job("a"), job("b"), paths=["s0 s1", "s1 s2", "s2 s0"])
    gains = dict.fromkeys((0, 1), np.array([0.0, 1.0, 2.0, 5.0]))
    found = best_slot(Network(instance), gains, np.random.default_rng(0))
    assert (found.gain, found.proven) == (10.0, True)
    assert {order for _, order, _ in found.slot.rings.values()} != {found.slot.rings[0][1]}


KINDS = "concave", "step", "convex", "any"


def closed(network, gains, *, limits=None, better=lambda slot: None):
    """From an empty slot and the bound that all jobs have what they gain most from."""
    relaxation = MappingProgram(network).solve(gains, {})
    most = sum(float(gain.max()) for gain in gains.values())
    begin = Filled(Slot(network), 0.0, most, relaxation)
    return close_by_spans(network, gains, begin, limits or Limits(), better)


def forests():
    yield from (racks(7000 + seed, servers=4, count=4, slots=1, most=4) for seed in range(6))
    yield from (instance for instance in map(draw, range(600, 608)) if instance.paths is None)


def test_it_is_the_best_of_all():
    """Proven, and a slot that fits; it hears of every better one."""
    heard, waste = [], 0
    for number, instance in enumerate(forests()):
        network, rng = Network(instance), np.random.default_rng(number)
        gains = gains_of(network, rng, KINDS[number % 4])
        best = enumerated(network, None, gains).worth(gains)
        found = closed(network, gains, better=heard.append)
        fits(network, found.slot)
        size = SOLVED * max(1.0, best)
        assert found.gain == pytest.approx(best, abs=size), number
        assert best - size <= found.bound <= best + size, number
        waste += found.gain < sum(float(gain.max()) for gain in gains.values()) - size
    assert heard and waste >= 2


@profile(15)
@given(ring_embedding_instances(objectives="sum", max_slots=1).filter(lambda instance: instance.paths is None))
def test_gains_that_fall_and_servers_that_cost(instance):
    """Against brute force of the whole instance, energy or not."""
    best = brute_force_ring(instance)[0] - sum(worth(each, 0) for each in instance.jobs)
    network = Network(instance)
    gains = slot_gains(network)
    if not any(gain.max() > 0 for gain in gains.values()):
        return
    found = closed(network, gains)
    size = SOLVED * max(1.0, sum(float(np.abs(gain).max()) for gain in gains.values()))
    assert found.gain == pytest.approx(best, abs=size)
    assert best - size <= found.bound <= best + size


def test_rings_by_hand():
    """Of servers of one GPU: a link of 3 holds one ring of 2, so one of two jobs has two workers; an isle is no help."""
    two = [job("a", load=2.0, workers=2), job("b", load=2.0, workers=2)]
    gains = {0: np.array([0.0, 1.0, 3.0]), 1: np.array([0.0, 1.0, 3.0])}
    ends = [("s0", "s1", 3.0), ("s1", "s2", 3.0)]
    for capacity, expected in (([1, 1, 1], 4.0), ([2, 1, 1], 6.0), ([1, 2, 1], 6.0), ([1, 1, 1, 1], 4.0)):
        network = Network(made(capacity, ends, *two))
        found = closed(network, gains)
        assert (found.gain, found.bound) == (pytest.approx(expected), pytest.approx(expected, abs=SOLVED)), capacity
    apart = Network(made([1, 1], [], *two))
    assert closed(apart, gains).gain == pytest.approx(2.0)
    narrow = Network(made([1, 1], [("s0", "s1", 1.0)], *two))
    assert closed(narrow, gains).gain == pytest.approx(2.0)


def test_what_is_too_large_or_has_no_unit_is_left_as_it_was(monkeypatch):
    loads = [job(name, load=load, workers=2) for name, load in zip("abc", (1.0, np.pi, np.e), strict=True)]
    network = Network(made([1, 1, 1], [("s0", "s1", 3.5), ("s1", "s2", 3.5)], *loads))
    gains = {index: np.array([0.0, 1.0, 3.0]) for index in range(3)}
    monkeypatch.setattr(exact_slot, "units", lambda *row: None)
    found = fill_slot(network, gains, MappingProgram(network))
    assert close_by_spans(network, gains, found, Limits(), pytest.fail) is found
    monkeypatch.undo()
    monkeypatch.setattr(exact_slot, "LARGEST", 0)
    assert close_by_spans(network, gains, found, Limits(), pytest.fail) is found


def test_a_limit_leaves_a_bound():
    """Without conflicts and time: what was held, and no bound that is too low."""
    instance = ring_embedding.generate(preset="slot", jobs=8, servers=8, seed=3)
    network = Network(instance)
    gains = slot_gains(network)
    best = ring_embedding.solve(instance)
    assert best.status is TerminationStatus.OPTIMAL
    nothing = sum(worth(each, 0) for each in instance.jobs)
    for limits in (Limits(nodes=1), Limits(time_s=0)):
        found = closed(network, gains, limits=limits)
        assert nothing + found.gain <= best.objective + SOLVED <= nothing + found.bound + 2 * SOLVED
        fits(network, found.slot)


def test_a_slot_that_gave_up_is_proven():
    """32 jobs on 32 servers with the optimum at the bound without rings, which no sampling of rings had found."""
    result = ring_embedding.solve(ring_embedding.generate(preset="slot", jobs=32, servers=32, seed=0))
    assert result.status is TerminationStatus.OPTIMAL
    assert result.objective == pytest.approx(1141.9625245, rel=1e-9)


def test_an_optimum_that_presolve_of_cp_sat_lost():
    """Three workers for ``a``; CP-SAT 9.15 proved two, and one for ``c``, until it no longer looked for rows in rows."""

    def sigmoid(name, workers, height, midpoint):
        return job(
            name, workers, 0.0, utility={"kind": "sigmoid", "height": height, "steepness": 4.0, "midpoint": midpoint}
        )

    jobs = sigmoid("a", 4, 7.525, 1.12), sigmoid("b", 1, 1.213, 5.5), sigmoid("c", 4, 1.213, 1.5)
    links = [(f"s{n}", "switch", 1.0) for n in range(3)]
    found = ring_embedding.solve(made([1.0] * 3, links, *jobs, switches=["switch"]))
    worth_of = [7.525 / (1 + np.exp(-4 * (3 - 1.12))), 1.213 / (1 + np.exp(4 * 5.5)), 1.213 / (1 + np.exp(4 * 1.5))]
    assert (found.status, found.objective) == (TerminationStatus.OPTIMAL, pytest.approx(sum(worth_of), rel=1e-9))

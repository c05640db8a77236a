"""G-VNE: its linear program against one over arcs and against enumeration, its decomposition, rounding and repair."""

from collections import defaultdict

import numpy as np
import pytest
from scipy.optimize import linprog

from dlsched.cluster.network import Node
from dlsched.cluster.utility import Capped
from dlsched.core.errors import UsageError
from dlsched.ring_embedding.checker import check, worth
from dlsched.ring_embedding.heuristics.slot_greedy import g_vne, likeliest
from dlsched.ring_embedding.instance import Instance, Job
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.rings.placing import Slot, embedding
from dlsched.ring_embedding.slot.mapping_program import MappingProgram
from dlsched.ring_embedding.slot.slot_program import fill

from .small_networks import best_slot, racks, switches

NETWORKS = [(made, seed) for made in (racks, switches) for seed in range(6)]


def first_gains(network):
    """Gains of the first worker-slots, of all jobs."""
    gains = {}
    for index, job in enumerate(network.instance.jobs):
        most = min(int(network.most[index]), int(network.total[index]))
        gains[index] = np.array([worth(job, count) - worth(job, 0) for count in range(most + 1)])
    return gains


def flow_program(network, gains):
    """The relaxation over arcs, one copy for every job, size and server at which the ring is cut."""
    choice, capacity, bandwidth, balance = (defaultdict(dict) for _ in range(4))
    objective = []

    def arc(job, tail, head, server, stay, hop, gain=0.0):
        column = len(objective)
        objective.append(gain)
        for node, sign in ((tail, 1.0), (head, -1.0)):
            if node is not None:
                balance[node][column] = sign
        if gain:
            choice[job][column] = 1.0
        for resource, amount in enumerate(network.demand[job]):
            if stay and amount:
                capacity[server, resource][column] = amount * stay
        for link in hop:
            bandwidth[link][column] = network.load[job]

    def passable(job, here, there):
        path = network.path(here, there) if here != there else None
        if path is None or network.load[job] > network.bandwidth[list(path)].min():
            return None
        return path

    servers = range(len(network.capacity))
    for job, gain in gains.items():
        for size in range(1, len(gain)):
            for root in servers:
                if gain[size] <= 0:
                    continue
                for stay in range(1, min(size, network.fits[job, root]) + 1):
                    end = (job, size, root, stay, root) if stay < size else None
                    arc(job, None, end, root, stay, (), gain[size])
                for here in servers:
                    back = passable(job, here, root)
                    if back is not None:
                        arc(job, (job, size, root, size, here), None, here, 0, back)
                    for there in servers:
                        if network.forest and network.position[there] <= network.position[here]:
                            continue
                        hop = passable(job, here, there)
                        if hop is None:
                            continue
                        for count in range(1, size):
                            for stay in range(1, min(size - count, network.fits[job, there]) + 1):
                                tail, head = (job, size, root, count, here), (job, size, root, count + stay, there)
                                arc(job, tail, head, there, stay, hop)

    def matrix(rows):
        full = np.zeros((len(rows), len(objective)))
        for index, entries in enumerate(rows.values()):
            full[index, list(entries)] = list(entries.values())
        return full

    limits = np.array(
        [1.0] * len(choice)
        + [network.capacity[cell] for cell in capacity]
        + [network.bandwidth[link] for link in bandwidth]
    )
    answer = linprog(
        -np.array(objective),
        A_ub=np.vstack([matrix(choice), matrix(capacity), matrix(bandwidth)]),
        b_ub=limits,
        A_eq=matrix(balance) if balance else None,
        b_eq=np.zeros(len(balance)) if balance else None,
    )
    assert answer.status == 0
    return -answer.fun


def relaxed(network, gains, **options):
    return MappingProgram(network, **options).solve(gains, {})


@pytest.mark.parametrize(("made", "seed"), NETWORKS)
def test_the_program_over_mappings_is_the_one_over_arcs_with_a_copy_for_every_root(made, seed):
    network = Network(made(seed))
    gains = first_gains(network)
    relaxation = relaxed(network, gains)
    expected = flow_program(network, gains)
    assert relaxation.value == pytest.approx(expected, rel=1e-7)
    assert relaxation.bound == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(("made", "seed"), NETWORKS)
def test_no_slot_gains_more_than_the_bound(made, seed):
    network = Network(made(100 + seed))
    gains = first_gains(network)
    best = best_slot(network, [], gains)
    optimum = sum(gains[job][best.count(job)] for job in gains)
    assert relaxed(network, gains).bound >= optimum * (1 - 1e-9)
    repaired = g_vne(network, gains, np.random.default_rng(seed))
    assert repaired.gain <= optimum * (1 + 1e-9)


@pytest.mark.parametrize(("made", "seed"), NETWORKS)
def test_weights_of_the_mappings_make_up_the_solution(made, seed):
    network = Network(made(200 + seed))
    gains = first_gains(network)
    relaxation = relaxed(network, gains)
    chi, used, load = defaultdict(float), np.zeros_like(network.capacity), np.zeros_like(network.bandwidth)
    for each in relaxation.mappings:
        workers, order, links = each.placed
        assert each.size == sum(workers.values()) and set(order) == set(workers)
        assert links == network.crossed(order)
        chi[each.job, each.size] += each.weight
        for server, count in workers.items():
            used[server] += each.weight * count * network.demand[each.job]
        for link in links:
            load[link] += each.weight * network.load[each.job]
    assert sum(gains[job][size] * part for (job, size), part in chi.items()) == pytest.approx(relaxation.value)
    assert (used <= network.capacity * (1 + 1e-7)).all() and (load <= network.bandwidth * (1 + 1e-7)).all()
    for job in gains:
        assert sum(part for (other, _), part in chi.items() if other == job) <= 1 + 1e-7
    for job, mappings in likeliest(relaxation, gains).items():
        (size,) = {each.size for each in mappings}
        parts = {k: gains[job][k] * part for (other, k), part in chi.items() if other == job}
        assert parts[size] == max(parts.values())
        assert sum(each.weight for each in mappings) == pytest.approx(chi[job, size])


@pytest.mark.parametrize(("made", "seed"), NETWORKS)
def test_overuse_is_reported_as_it_is_and_repaired(made, seed):
    instance = made(300 + seed, count=6)
    network = Network(instance)
    gains = first_gains(network)
    drawn = g_vne(network, gains, np.random.default_rng(seed), repair=False)
    broken = {violation.rule for violation in check(everyone_arrived(instance), embedding(network, {1: drawn.slot}))}
    used, load = np.zeros_like(network.capacity), np.zeros_like(network.bandwidth)
    for job, (workers, _, links) in drawn.slot.rings.items():
        for server, count in workers.items():
            used[server] += count * network.demand[job]
        for link in links:
            load[link] += network.load[job]
    assert drawn.capacity == pytest.approx((used / network.capacity).max(), abs=1e-12)
    assert drawn.bandwidth == pytest.approx((load / network.bandwidth).max(initial=0), abs=1e-12)
    assert ("capacity" in broken) == (drawn.capacity > 1)
    assert drawn.revisits > 0 or ("bandwidth" in broken) == (drawn.bandwidth > 1)
    assert ("ring" in broken) == (drawn.revisits > 0)
    assert drawn.gain == drawn.drawn
    repaired = g_vne(network, gains, np.random.default_rng(seed))
    assert check(everyone_arrived(instance), embedding(network, {1: repaired.slot})) == []
    assert (repaired.drawn, repaired.capacity, repaired.tries) == (drawn.drawn, drawn.capacity, drawn.tries)


def everyone_arrived(instance):
    jobs = [job.model_copy(update={"arrival_slot": 1}) for job in instance.jobs]
    return instance.model_copy(update={"jobs": tuple(jobs)})


def one_server(gpus, *demands, most=1):
    """Jobs whose first worker is worth 1, on one server."""
    jobs = [
        Job(
            id=f"j{index}",
            max_workers=most,
            demand={"gpu": demand},
            bandwidth_bytes_per_s=0,
            rate=1,
            utility=Capped(slope=1, cap=1),
        )
        for index, demand in enumerate(demands)
    ]
    return Network(Instance(name="one", slots=1, nodes=[Node(id="s", capacity={"gpu": gpus})], links=[], jobs=jobs))


class Always:
    """Draws the same number."""

    def __init__(self, number):
        self.number = number

    def random(self, size):
        return np.full(size, self.number)


def test_weights_are_probabilities():
    """Two jobs of two GPUs on three: one has the weight 1, the other 1/2, so it runs when 0.4 is drawn, not with 0.6."""
    network = one_server(3, 2, 2)
    gains = first_gains(network)
    both = g_vne(network, gains, Always(0.4), repair=False)
    assert both.bound == pytest.approx(1.5)
    assert (both.gain, both.tries) == (2.0, 1)
    assert both.capacity == pytest.approx(4 / 3)
    one = g_vne(network, gains, Always(0.6), repair=False)
    assert (one.gain, one.tries) == (1.0, 1)
    assert one.capacity == pytest.approx(2 / 3)
    assert g_vne(network, gains, Always(0.4)).gain == 1.0


def test_tries_end_when_none_reaches_a_third():
    """Two jobs of two GPUs on three, of which none is drawn with 1: all the tries are made, and repair fills the server."""
    network = one_server(3, 2, 2)
    gains = first_gains(network)
    none = g_vne(network, gains, Always(1.0), tries=7, repair=False)
    assert (none.gain, none.tries, none.slot.rings) == (0.0, 7, {})
    assert g_vne(network, gains, Always(1.0), tries=7).gain == 1.0
    with pytest.raises(UsageError, match="tries: found 0"):
        g_vne(network, gains, Always(1.0), tries=0)


@pytest.mark.parametrize("made", [racks, switches])
def test_mappings_of_earlier_slots_change_no_bound(made):
    network = Network(made(7, servers=6, count=8))
    gains = first_gains(network)
    later = {job: gain[:2] for job, gain in gains.items() if job % 2}
    for most in (10, 4000):
        program = MappingProgram(network, most_columns=most)
        for held in (gains, later, gains):
            assert program.solve(held, {}).bound == pytest.approx(relaxed(network, held).bound, rel=1e-8)


@pytest.mark.parametrize(("made", "seed"), NETWORKS)
def test_filling_is_feasible_and_leaves_no_room_for_a_worker_that_gains(made, seed):
    instance = made(400 + seed, count=6)
    network = Network(instance)
    slot = Slot(network)
    gains = first_gains(network)
    fill(slot, gains)
    assert check(everyone_arrived(instance), embedding(network, {1: slot})) == []
    for job, gain in gains.items():
        if job not in slot.rings and len(gain) > 1 and gain[1] > 0:
            assert slot.find(job, 1) is None


def test_filling_takes_the_most_gain_for_the_least_of_the_scarcest_resource():
    """4 GPUs: 3 for two GPUs is 1.5 each, 2 for one is 2 each; S-shaped 0, 0, 9 is 3 each, all three at once."""
    network = one_server(4, 2, 1, 1, most=3)
    gains = {0: np.array([0.0, 3.0]), 1: np.array([0.0, 2.0]), 2: np.array([0.0, 0.0, 0.0, 9.0])}
    slot = Slot(network)
    fill(slot, gains)
    assert {job: slot.count(job) for job in slot.rings} == {2: 3, 1: 1}


def test_a_closed_walk_may_fill_a_server_by_passing_it_twice():
    """One that leaves a server of one GPU and comes back takes two: the row of that server counts, though no worker more fits."""
    network = Network(switches(1012, servers=5, count=5, most=5))
    gains = first_gains(network)
    relaxation, expected = relaxed(network, gains), flow_program(network, gains)
    assert relaxation.value == pytest.approx(expected, rel=1e-7)
    assert relaxation.bound == pytest.approx(expected, rel=1e-7)

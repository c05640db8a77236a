"""Certificates: duals of every formulation by hand, prices of any kind against brute force, and what is refused."""

import random
from fractions import Fraction

import numpy as np
import pytest
from conftest import profile
from hypothesis import given
from hypothesis import strategies as st

from dlsched.certificates import DualsCertificate, PriceCertificate
from dlsched.ring_embedding import solve
from dlsched.ring_embedding.bounds import slot_certificate
from dlsched.ring_embedding.certificate import verify
from dlsched.ring_embedding.checker import worth
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.rings.rows import Tree, classes, epochs, rows
from dlsched.ring_embedding.slot.mapping_program import MappingProgram
from dlsched.testing.ring_embedding import brute_force_ring, ring_embedding_instances

from .small_networks import draw, rings_of
from .test_brute_force import TRIANGLE, job, made

LOOSE = 1e-8  # relative: capacities count with a little more than the checker's tolerance
PAIR = made([2, 2], [("s0", "s1", 1.0)], job(workers=3), slots=2)
"""Worker-slots are worth 1 each; up to 3 workers a slot, on one server 2: 6 in all."""
ONE = made([2, 2], [("s0", "s1", 1.0)], job(workers=3))


def proven(instance, formulation, prices):
    """What prices prove; the value that a certificate claims does not matter."""
    return float(verify(instance, DualsCertificate(formulation, prices, 0.0)))


@pytest.mark.parametrize(
    ("prices", "expected"),
    [
        ({}, 6),
        ({"pool_r_gpu": 0.0}, 6),
        ({"pool_r_gpu": 0.5}, 6 * 0.5 + 0.5 * 8),
        ({"pool_r_gpu": 1.0}, 8),
        ({"pool_r_gpu": 2.0}, 16),
    ],
)
def test_aggregated_by_hand(prices, expected):
    """All six worker-slots at what they are worth above the price, and the price of eight GPU-slots."""
    prices = {name.replace("r_gpu", rows(PAIR)[0].name): price for name, price in prices.items()}
    assert proven(PAIR, "aggregated", prices) == pytest.approx(expected, rel=LOOSE)


@pytest.mark.parametrize("formulation", ["horizon", "columns"])
@pytest.mark.parametrize(
    ("prices", "expected"),
    [
        ({}, 6),  # worth 1 each, six at the most
        ({"total_a": 1.0}, 2 * 3),  # three in each of two slots
        ({"total_a": 0.5}, 6 * 0.5 + 2 * 3 * 0.5),
        ({"total_a": 1.0, "pool_1_gpu_c0": 0.25}, 2 * (3 * 0.75 + 0.25 * 4)),
        ({"total_a": 0.5, "pool_1_gpu_c0": 0.5}, 6 * 0.5 + 2 * 0.5 * 4),
        ({"total_a": 1.0, "capacity_1_gpu_s0": 0.5}, 2 * (3 - 0.5 + 0.5 * 2)),  # two of three go to the other server
        ({"total_a": 1.0, "pool_1_gpu_c0": 0.25, "capacity_1_gpu_s0": 0.25}, 2 * (3 - 2 * 0.25 - 0.5 + 1 + 0.5)),
        ({"total_a": 1.0, "bandwidth_1_l0": 0.5}, 2 * (3 - 0.5 + 0.5)),
        ({"total_a": 1.0, "bandwidth_1_l0": 2.0}, 2 * (2 + 2)),  # two on one server cross no link
        ({"total_a": 1.0, "pool_1_gpu_c0": 3.0}, 2 * 12),
    ],
)
def test_horizon_and_columns_by_hand(formulation, prices, expected):
    """Worker-slots above their price, and twice the best ring of a slot with the prices of what there is."""
    assert proven(PAIR, formulation, prices) == pytest.approx(expected, rel=LOOSE)


@pytest.mark.parametrize(
    ("prices", "expected"),
    [
        ({}, 3),
        ({"bandwidth_1_l0": 0.5}, 3 - 0.5 + 0.5),
        ({"bandwidth_1_l0": 1.5}, 2 + 1.5),
        ({"capacity_1_gpu_s0": 0.75, "bandwidth_1_l0": 0.5}, 2 + 2 * 0.75 + 0.5),  # both on s1, or 3 - 0.75 - 0.5
        ({"pool_1_gpu_c0": 0.5}, 3 * 0.5 + 4 * 0.5),
    ],
)
def test_slot_by_hand(prices, expected):
    """Utilities stay in the slot."""
    assert proven(ONE, "slot", prices) == pytest.approx(expected, rel=LOOSE)


def test_slot_of_an_s_shaped_utility_by_hand():
    """Nothing for one worker, 1 for two: 1 - 2/4 and the price of three GPUs; none at 3/4, but mu(0) stays."""
    steep = {"kind": "sigmoid", "height": 1.0, "steepness": 1000.0, "midpoint": 1.5}
    instance = made([3], [], job(workers=2, utility=steep))
    assert proven(instance, "slot", {"pool_1_gpu_c0": 0.25}) == pytest.approx(0.5 + 0.75, rel=LOOSE)
    assert proven(instance, "slot", {"pool_1_gpu_c0": 0.75}) == pytest.approx(2.25, rel=LOOSE)
    flat = made([3], [], job(workers=2, utility=steep | {"steepness": 1.0, "midpoint": 0.0}))
    assert proven(flat, "slot", {"pool_1_gpu_c0": 1.0}) == pytest.approx(0.5 + 3, rel=LOOSE)


def test_epochs_by_hand():
    """Slot 1 with a alone, slots 2 and 3 with both: four GPUs that the second epoch prices at 1/2."""
    jobs = [job("a", workers=3), job("b", workers=4, arrival_slot=2)]
    instance = made([4], [], *jobs, slots=3)
    prices = {"total_a": 1.0, "total_b": 1.0, "pool_2_gpu_c0": 0.5}
    assert proven(instance, "horizon", prices) == pytest.approx(3 + 2 * (1.5 + 2 + 2), rel=LOOSE)
    assert proven(instance, "horizon", prices | {"pool_2_gpu_c0": 1.0}) == pytest.approx(3 + 2 * 4, rel=LOOSE)


def test_budgets_limit_worker_slots():
    """Five GPU-slots by budget, of two a worker: two worker-slots, whatever the prices of none."""
    instance = made([9], [], job(workers=3, demand={"gpu": 2.0}, budget={"gpu": 5.0}), slots=3)
    for formulation in ("aggregated", "horizon"):
        assert proven(instance, formulation, {}) == pytest.approx(2, rel=LOOSE)


def test_parts_and_narrow_servers_limit_rings():
    """Two of three GPUs are in one part; with listed paths the certificate does not know, and no link has a price."""
    instance = made([1, 1, 1], [("s0", "s1", 9.0)], job(), slots=2)
    assert proven(instance, "horizon", {}) == pytest.approx(4, rel=LOOSE)
    listed = made([1, 1, 1], [("s0", "s1", 9.0)], job(), slots=2, paths=["s0 s1"])
    assert proven(listed, "horizon", {}) == pytest.approx(6, rel=LOOSE)


def test_rounding_rows_by_hand():
    """Three GPUs hold one worker of two: a row of its own for what is left."""
    instance = made([3], [], job("a", workers=2, demand={"gpu": 2.0}), job("b", workers=1, demand={"gpu": 3.0}))
    assert next(row.name for row in rows(instance)) == "gpu"
    divided = next(row for row in rows(instance) if row.name == "gpu_by_2.0")
    assert (divided.demand, divided.capacity) == ((1, 1), (1,))
    assert proven(instance, "slot", {"pool_1_gpu_by_2.0_c0": 1.0}) == pytest.approx(1, rel=LOOSE)
    assert proven(instance, "aggregated", {"pool_gpu_by_2.0": 1.0}) == pytest.approx(1, rel=LOOSE)


def names_of(instance):
    """Rows that have prices, by formulation."""
    found = rows(instance)
    pools = [
        f"pool_{span.first}_{row.name}_c{c}"
        for span in epochs(instance)
        for row in found
        for c in range(len(classes(instance)[0]))
    ]
    servers = [
        f"capacity_{span.first}_{row.name}_{server.id}"
        for span in epochs(instance)
        for row in found
        for server in instance.servers
    ]
    links = [
        f"bandwidth_{span.first}_l{n}"
        for span in epochs(instance)
        for n in range(len(instance.links) * (instance.paths is None))
    ]
    return {
        "pool": [f"pool_{row.name}" for row in found],
        "total": [f"total_{each.id}" for each in instance.jobs],
        "slot": pools + servers + links,
    }


def prices_of(rng, names, scale):
    """Prices >= 0 of some rows, from next to nothing to more than anything is worth."""
    return {
        name: scale * rng.choice([0.0, 1e-300, rng.random(), 3 * rng.random(), 1e3])
        for name in names
        if rng.random() < 0.6
    }


def holds(instance, rng):
    """Any prices prove an upper bound; those of the program less something too."""
    best = Fraction(brute_force_ring(instance)[0]) * (1 - Fraction(1, 10**12))
    names, scale = names_of(instance), rng.choice([0.1, 1.0, 10.0])
    assert verify(instance, DualsCertificate("aggregated", prices_of(rng, names["pool"], scale), 0.0)) >= best
    whole = names["total"] + names["slot"]
    for formulation in ("horizon", "columns"):
        assert verify(instance, DualsCertificate(formulation, prices_of(rng, whole, scale), 0.0)) >= best
    tight = solve(instance, method="columns").certificate
    assert verify(instance, tight) >= best
    near = {name: price * rng.choice([0.0, 0.9, 1.0, 1.1]) for name, price in tight.rows.items()}
    assert verify(instance, DualsCertificate(tight.formulation, near, 0.0)) >= best
    if all(each.arrival_slot == instance.slots for each in instance.jobs):
        assert verify(instance, DualsCertificate("slot", prices_of(rng, names["slot"], scale), 0.0)) >= best
        return 1
    return 0


@pytest.mark.parametrize("objectives", ["plain", "sum"])
def test_any_prices_prove_a_bound(objectives):
    """Of every formulation, against brute force."""

    @profile(12)
    @given(ring_embedding_instances(objectives=objectives), st.randoms(use_true_random=False))
    def each(instance, rng):
        holds(instance, rng)

    each()


def test_any_prices_prove_a_bound_at_the_tolerances():
    """Capacities and bandwidths that the checker's tolerance makes suffice, by less than it."""
    rng = random.Random(1)
    assert sum(holds(draw(seed), rng) for seed in range(12)) > 1


@pytest.mark.parametrize("part", [0.5, 0.95, 1.0])
def test_what_the_tolerance_lets_pass_is_in_every_bound(part):
    """Capacity, budget and bandwidth short by a part of a billionth: two workers in each of two slots, as brute force has."""
    short = 1 - part * 1e-9
    instance = made(
        [short, short], [("s0", "s1", short)], job(workers=2, budget={"gpu": 4 * (1 - part * 1e-9)}), slots=2
    )
    assert brute_force_ring(instance)[0] == 4
    prices = {"total_a": 1.0, "pool_1_gpu_c0": 0.5, "bandwidth_1_l0": 1.0}
    assert proven(instance, "horizon", prices) >= 4
    assert proven(instance, "horizon", {}) >= 4
    assert proven(instance, "aggregated", {"pool_gpu": 1.0}) >= 4
    for method in ("bound", "columns", "horizon", "aggregated"):
        assert solve(instance, method=method).bound >= 4


@pytest.mark.parametrize(
    ("formulation", "prices", "words"),
    [
        ("aggregated", {"pool_gpu": -1e-9}, "price -1e-09 of row 'pool_gpu' is negative or not finite"),
        ("horizon", {"total_a": float("nan")}, "price nan of row 'total_a' is negative or not finite"),
        ("columns", {"total_a": float("inf")}, "price inf of row 'total_a' is negative or not finite"),
        ("slot", {"pool_1_gpu_c0": -1.0}, "negative"),
        ("aggregated", {"total_a": 1.0}, "there is no row 'total_a'"),
        ("aggregated", {"pool_cpu": 1.0}, "there is no row 'pool_cpu'"),
        ("horizon", {"total_b": 1.0}, "there is no row 'total_b'"),
        ("horizon", {"pool_gpu": 1.0}, "there is no row 'pool_gpu'"),
        ("horizon", {"pool_2_gpu_c0": 1.0}, "there is no row 'pool_2_gpu_c0'"),
        ("horizon", {"pool_1_gpu_c1": 1.0}, "there is no row 'pool_1_gpu_c1'"),
        ("columns", {"capacity_1_gpu_s2": 1.0}, "there is no row 'capacity_1_gpu_s2'"),
        ("columns", {"bandwidth_1_l1": 1.0}, "there is no row 'bandwidth_1_l1'"),
        ("slot", {"total_a": 1.0}, "there is no row 'total_a'"),
        ("span", {}, "there are no duals of a formulation 'span'"),
    ],
)
def test_refusals(formulation, prices, words):
    """Prices that are negative or no numbers, rows and formulations that do not exist."""
    with pytest.raises(ValueError, match=words):
        proven(ONE, formulation, prices)


def test_other_refusals():
    """Duals of one slot where there are two; prices of links where paths are listed; another family's kind."""
    with pytest.raises(ValueError, match="for jobs with one slot"):
        proven(PAIR, "slot", {})
    cycle = made([1, 1, 1], TRIANGLE, job(), paths=["s0 s1"])
    with pytest.raises(ValueError, match="there is no row 'bandwidth_1_l0'"):
        proven(cycle, "horizon", {"bandwidth_1_l0": 1.0})
    with pytest.raises(ValueError, match="no certificates of kind 'price'"):
        verify(PAIR, PriceCertificate(1.0, 1.0))


def test_jobs_in_the_last_slot_have_one():
    """Of four: the duals of a slot are theirs."""
    instance = made([2], [], job(workers=3, arrival_slot=4), slots=4)
    assert proven(instance, "slot", {"pool_4_gpu_c0": 1.0}) == pytest.approx(2, rel=LOOSE)
    assert solve(instance).certificate.formulation in ("aggregated", "slot", "horizon")


@profile(15)
@given(ring_embedding_instances(forest=True, max_slots=1))
def test_the_certificate_of_a_slot_is_hardly_more_than_its_relaxation(instance):
    """In exact arithmetic it proves what the program found; less where whole workers leave a part of a server free."""
    network = Network(instance)
    tables = [[worth(each, n) for n in range(int(network.total[i]) + 1)] for i, each in enumerate(instance.jobs)]
    gains = {i: np.array(values) - values[0] for i, values in enumerate(tables) if len(values) > 1}
    relaxation = MappingProgram(network).solve(gains, {})
    value = slot_certificate(network, relaxation).value
    assert value >= brute_force_ring(instance)[0] * (1 - 1e-12)
    nothing = sum(values[0] for values in tables)
    assert value <= nothing + relaxation.bound + 1e-6 * max(1.0, relaxation.bound)


@profile(15)
@given(ring_embedding_instances(forest=True, max_servers=4, max_workers=4), st.randoms(use_true_random=False))
def test_the_cheapest_ring_of_a_tree_is_that_of_all_rings(instance, rng):
    """At random prices of workers and links; a link counts once, for either direction."""
    network = Network(instance)
    paid = [Fraction(rng.randint(0, 9), 4) for _ in instance.servers]
    prices = {link: Fraction(rng.randint(0, 9), 4) for link in range(len(instance.links)) if rng.random() < 0.7}
    for index, record in enumerate(instance.jobs):
        room = [int(each) for each in network.fits[index]]
        cheapest = {}
        for workers, _, links in rings_of(network, index, record.max_workers):
            price = sum(count * paid[server] for server, count in workers.items())
            price += sum(prices.get(link, Fraction(0)) for link in {link // 2 for link in links})
            size = sum(workers.values())
            cheapest[size] = min(price, cheapest.get(size, price))
        expected = [0, *(cheapest.get(size) for size in range(1, record.max_workers + 1))]
        assert Tree(instance).cheapest(paid, room, record.max_workers, prices) == expected


def test_a_huge_network_of_huge_and_tiny_numbers():
    """Rationals neither overflow nor lose what matters: a worker-slot is worth 1e90 each, at 1e-90 of a unit."""
    utility = {"kind": "capped", "slope": 1e90, "cap": 1e100}
    instance = Instance(
        name="huge",
        slots=2,
        nodes=[{"id": f"s{n}", "capacity": {"gpu": 2e-90}} for n in range(3)],
        links=[{"ends": ("s0", "s1"), "bandwidth_bytes_per_s": 1e99}],
        jobs=[job(workers=3, load=1e98, demand={"gpu": 1e-90}, utility=utility)],
    )
    assert proven(instance, "horizon", {}) == pytest.approx(6e90, rel=LOOSE)
    assert brute_force_ring(instance)[0] == pytest.approx(6e90, rel=1e-12)

"""Mean value analysis: by hand, against convolution in exact arithmetic, its laws, and the shape of X(n)."""

from fractions import Fraction
from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.async_sgd import Bounds, asymptotic, balanced_job
from dlsched.async_sgd.checker import batches_per_s
from dlsched.async_sgd.instance import Job
from dlsched.core.errors import UsageError
from dlsched.queueing.network import Network, Station
from dlsched.queueing.throughput import Recursion, iterate, mean_values, throughputs
from dlsched.testing.async_sgd import async_sgd_instances, convolution, exact_throughput, networks

SETTINGS = settings(max_examples=40, derandomize=True, deadline=None, database=None)
DESIGN = Network(0.25, ((0.08, 2), (0.01, 1)))
ONE = {"id": "a", "epochs": 1, "dataset_examples": 1, "batch_examples": 1}
ROUNDING = 24  # units in the last place of X; 13 is the most that was met, with 1024 customers


def first(network, most):
    """X(1) .. X(most), one network alone."""
    return list(islice(iterate(network), most))


def exact(network, most):
    """The same by convolution, without rounding, the copies of a station one by one."""
    stations = [Fraction(demand) for demand, copies in network.stations for _ in range(copies)]
    return convolution(Fraction(network.delay_s), stations, most)


@pytest.mark.parametrize(
    ("customers", "value"), [(1, 2.381), (2, 4.437), (4, 7.511), (8, 10.335), (16, 11.59), (32, 12.08)]
)
def test_figures_of_the_statement(customers, value):
    """Z = .25 s and demands of .08, .08 and .01 s: cycles a second by the problem's statement; the limit is 1 / .08 = 12.5."""
    assert round(first(DESIGN, customers)[-1], 3 if customers < 16 else 2) == value < 12.5


def test_two_kinds_by_hand():
    """Z = 1, one station of 2 and one of 1: X(1) = 1/4; R = 2 (1 + 1/2) = 3 and 1 + 1/4, so X(2) = 2 / 5.25 = 8/21."""
    one, two = (mean_values(Network(1.0, ((2.0, 1), (1.0, 1))), customers) for customers in (1, 2))
    assert (one.throughput, one.queue, one.utilisation) == (0.25, (0.5, 0.25), (0.5, 0.25))
    assert (two.residence_s, two.throughput) == ((3.0, 1.25), pytest.approx(8 / 21))
    assert two.queue == pytest.approx((24 / 21, 10 / 21))
    assert two.utilisation == pytest.approx((16 / 21, 8 / 21))


def test_nobody_waits_without_stations():
    """X(n) = n / Z, with no station and with stations of no demand."""
    for stations in ((), ((0.0, 3),)):
        assert first(Network(0.25, stations), 5) == [4.0, 8.0, 12.0, 16.0, 20.0]


@SETTINGS
@given(networks(), st.integers(1, 24))
def test_it_is_the_convolution(network, most):
    """X(1) .. X(n) agree with another algorithm in exact arithmetic to 1e-12, relative."""
    for value, expected in zip(first(network, most), exact(network, most), strict=True):
        assert abs(Fraction(value) / expected - 1) <= 1e-12


@SETTINGS
@given(async_sgd_instances(), st.integers(1, 12))
def test_throughput_of_a_job_is_the_convolutions(instance, nodes):
    """From a job's fields on, layout of the stations included: exact demands and another algorithm, to 1e-12."""
    for job in instance.jobs:
        assert abs(Fraction(batches_per_s(job, nodes)) / exact_throughput(job, nodes) - 1) <= 1e-12


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # 8 bytes at 4 bytes/s are 2 s one way, updates take 1 s, Z = 1; alone 1 + 2 + 2 + 1 = 6 s
        # two workers wait at 2, 2 and 1 s: each adds its demand squared over the cycle, so X(2) = 2 / (6 + 9/6)
        ({}, 2 / 7.5),
        ({"duplex": "half"}, 2 / (6 + 17 / 6)),
        ({"shards": 2}, 2 / (6 + 4.5 / 6)),
        ({"shards": 2, "duplex": "half"}, 2 / (6 + 8.5 / 6)),
    ],
)
def test_two_workers_of_a_job_by_hand(changes, expected):
    """Two workers wait for each other least with full duplex and several shards."""
    job = Job(**ONE, parameter_bytes=8.0, bandwidth_bytes_per_s=4.0, compute_s=1.0, update_s=1.0, **changes)
    assert batches_per_s(job, 1) == pytest.approx(1 / 6, rel=1e-14)
    assert batches_per_s(job, 2) == pytest.approx(expected, rel=1e-14)


@SETTINGS
@given(st.lists(networks(), min_size=1, max_size=6), st.integers(1, 20))
def test_many_at_a_time_are_one_at_a_time(several, most):
    """The same floats to the last bit, whatever other networks stand beside."""
    values = throughputs(several, most)
    assert values.shape == (most, len(several))
    for index, network in enumerate(several):
        assert values[:, index].tolist() == first(network, most)


@SETTINGS
@given(st.lists(networks(), min_size=2, max_size=6), st.integers(1, 10), st.data())
def test_networks_can_be_left_out_on_the_way(several, steps, data):
    """The others go on as if nothing had happened."""
    kept = np.array(data.draw(st.lists(st.integers(0, len(several) - 1), min_size=1, unique=True)))
    recursion = Recursion(several)
    for _ in range(steps):
        recursion.step()
    recursion.keep(kept)
    assert recursion.step().tolist() == [first(several[index], steps + 1)[-1] for index in kept]
    assert recursion.customers == steps + 1


@SETTINGS
@given(networks(), st.integers(1, 40))
def test_laws_of_little_and_of_utilisation(network, customers):
    """All customers are somewhere: n = X Z + sum of Q; Q = X R >= U = X D, and no station works more than all the time."""
    found = mean_values(network, customers)
    copies = [station.copies for station in network.stations]
    waiting = sum(number * queue for number, queue in zip(copies, found.queue, strict=True))
    assert found.throughput * network.delay_s + waiting == pytest.approx(customers, rel=1e-13)
    for station, residence, queue, utilisation in zip(
        network.stations, found.residence_s, found.queue, found.utilisation, strict=True
    ):
        assert queue == pytest.approx(found.throughput * residence, rel=1e-15)
        assert utilisation == found.throughput * station.demand_s
        assert utilisation <= min(1.0, queue) * (1 + 1e-14)
    assert found.throughput == first(network, customers)[-1]


def sweep():
    """10,000 networks: demands over nine orders of magnitude, up to 100 equal stations, equal bottlenecks, no delay."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(1, 5, size=10_000)
    made = []
    for number in kinds.tolist():
        demands = 10.0 ** rng.uniform(-6, 3, size=number)
        if rng.random() < 0.3:
            demands[:] = demands[0]
        if rng.random() < 0.2:
            demands[0] = 0.0
        delay_s = 10.0 ** rng.uniform(-6, 3) if not demands.any() or rng.random() < 0.9 else 0.0
        copies = rng.choice([1, 1, 2, 3, 8, 100], size=number)
        stations = tuple(zip(demands.tolist(), copies.tolist(), strict=True))
        made.append(Network(delay_s, stations))
    return made


@pytest.mark.parametrize("customers", [128, pytest.param(1024, marks=pytest.mark.long)])
def test_throughput_is_increasing_and_concave(customers):
    """On 10,000 networks X does not fall and its rises do not grow, by more than ``ROUNDING`` units in the last place."""
    values = throughputs(sweep(), customers)
    unit = np.spacing(values)
    rises = np.diff(values, axis=0)
    assert np.all(rises >= -ROUNDING * unit[1:])
    assert np.all(np.diff(rises, axis=0) <= ROUNDING * unit[2:])


@SETTINGS
@given(networks())
def test_without_rounding_it_is_increasing_and_concave(network):
    """X(n) rises, by no more than before; 1 / X falls by less and less. Exactly, unless one station is all there is."""
    values = [Fraction(0), *exact(network, 10)]
    rises = [later - earlier for earlier, later in pairwise(values)]
    assert all(0 <= later <= earlier for earlier, later in pairwise(rises))
    times = [1 / value for value in values[1:]]
    savings = [earlier - later for earlier, later in pairwise(times)]
    alone = network.delay_s == 0 and sum(copies for demand, copies in network.stations if demand) == 1
    if alone:
        assert not any(savings)
    else:
        assert all(0 < later < earlier for earlier, later in pairwise(savings))


def test_one_station_and_no_delay():
    """X(n) = 1 / D for every n; two equal stations have X(n) = n / (n + 1) / D."""
    assert first(Network(0.0, ((4.0, 1),)), 5) == [0.25] * 5
    assert first(Network(0.0, ((4.0, 2),)), 4) == pytest.approx([1 / 8, 1 / 6, 3 / 16, 1 / 5], rel=1e-15)


@SETTINGS
@given(networks(), st.integers(1, 20), st.randoms(use_true_random=False))
def test_the_order_of_stations_does_not_matter(network, customers, random):
    """Nor whether equal stations are given as copies; only the rounding differs."""
    spread = [Station(demand) for demand, copies in network.stations for _ in range(copies)]
    random.shuffle(spread)
    expected = first(network, customers)
    assert first(Network(network.delay_s, tuple(spread)), customers) == pytest.approx(expected, rel=1e-13)
    assert first(Network(network.delay_s, network.stations[::-1]), customers) == pytest.approx(expected, rel=1e-13)


@SETTINGS
@given(networks(), st.integers(1, 20), st.integers(-60, 60))
def test_another_unit_of_time(network, customers, power):
    """With all times 2^k times as long, X is 2^-k times as much, to the last bit."""
    unit = 2.0**power
    scaled = Network(network.delay_s * unit, tuple((demand * unit, copies) for demand, copies in network.stations))
    assert [value * unit for value in first(scaled, customers)] == first(network, customers)


@pytest.mark.parametrize("scale", [1e-100, 1e99])
def test_the_shortest_and_the_longest_cycles_keep_their_precision(scale):
    """At the ends of what a job may have, as far as convolution tells."""
    job = Job(
        **ONE, parameter_bytes=1.0, bandwidth_bytes_per_s=1 / scale, compute_s=scale, update_s=scale / 7, shards=3
    )
    for nodes in (1, 2, 9):
        assert abs(Fraction(batches_per_s(job, nodes)) / exact_throughput(job, nodes) - 1) <= 1e-12


def test_no_customers_or_networks_are_refused():
    """By each of the functions, in the same words."""
    job = Job(**ONE, parameter_bytes=1, bandwidth_bytes_per_s=1, compute_s=1)
    calls = (
        lambda: mean_values(DESIGN, 0),
        lambda: batches_per_s(job, 0),
        lambda: throughputs([DESIGN], 0),
        lambda: asymptotic(DESIGN, 0),
        lambda: balanced_job(DESIGN, 0),
    )
    for call in calls:
        with pytest.raises(UsageError, match=r"^customers: found 0, allowed: an integer >= 1$"):
            call()
    with pytest.raises(UsageError, match=r"^networks: found none, allowed: at least one$"):
        throughputs([], 1)


def test_asymptotic_bounds_by_hand():
    """Z = .25, D = .17, D_max = .08: four customers do at most 4 / .42 and at least 4 / .93; 32 at most 12.5."""
    assert asymptotic(DESIGN, 4) == pytest.approx(Bounds(4 / 0.93, 4 / 0.42))
    assert asymptotic(DESIGN, 32).upper == pytest.approx(12.5)
    assert asymptotic(Network(0.5, []), 3) == Bounds(6.0, 6.0)


def test_balanced_job_bounds_by_hand():
    """One more customer of the balanced networks: D_max / (1 + Z / (2 D)) and D / 3 / (1 + Z / D) are added to the cycle."""
    total = 0.17
    lower = 2 / (0.42 + 0.08 / (1 + 0.25 / (2 * total)))
    upper = 2 / (0.42 + total / 3 / (1 + 0.25 / total))
    assert balanced_job(DESIGN, 2) == pytest.approx(Bounds(lower, upper))
    assert lower < 4.437 < upper


def test_balanced_networks_without_delay_are_met():
    """K equal stations and no delay: X(n) = n / ((n + K - 1) D_k), and both bounds say so."""
    network = Network(0.0, [(0.5, 4)])
    for customers in (1, 2, 7):
        exact = customers / ((customers + 3) * 0.5)
        assert balanced_job(network, customers) == pytest.approx(Bounds(exact, exact))


@SETTINGS
@given(networks(), st.integers(1, 40))
def test_throughput_lies_between_its_bounds(network, customers):
    """Asymptotic and balanced-job bounds hold, and the latter are never further away."""
    exact = mean_values(network, customers).throughput
    wide, close = asymptotic(network, customers), balanced_job(network, customers)
    assert wide.lower <= close.lower <= exact * (1 + 1e-9)
    assert exact * (1 - 1e-9) <= close.upper <= wide.upper


@SETTINGS
@given(networks())
def test_one_customer_meets_its_bounds(network):
    """Alone, nobody waits."""
    assert balanced_job(network, 1) == pytest.approx(Bounds(1 / network.cycle_s, 1 / network.cycle_s))

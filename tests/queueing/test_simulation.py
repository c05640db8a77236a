"""The simulation: traces and throughputs by hand, and the product form where it is exact."""

import math

import numpy as np
import pytest

from dlsched.async_sgd.instance import Job
from dlsched.core.errors import UsageError
from dlsched.queueing import simulation
from dlsched.queueing.cycle import Stage, cycle_of
from dlsched.queueing.network import network_of
from dlsched.queueing.simulation import MOST_CELLS, Draws, LockStep, simulate
from dlsched.queueing.throughput import mean_values

FIXED = {"compute": "deterministic", "transfer": "deterministic", "update": "deterministic"}
EXPONENTIAL = dict.fromkeys(FIXED, "exponential")


@pytest.fixture(autouse=True)
def without_numba(monkeypatch):
    """Compiling takes longer than all simulations here; the compiled loop gives the same bits (``test_one_by_one``)."""
    monkeypatch.setattr(simulation, "_COMPILED_FROM", math.inf)


def job(**fields):
    """A job of 8 MB over 100 MB/s, 0.25 s and 0.01 s, but for the given fields."""
    data = {"id": "a", "epochs": 1, "dataset_examples": 100, "batch_examples": 10, "parameter_bytes": 8e6}
    return Job(**(data | {"bandwidth_bytes_per_s": 1e8, "compute_s": 0.25, "update_s": 0.01} | fields))


def run(some, workers, seed=0, **options):
    """``simulate`` with a generator of that seed."""
    return simulate(some, workers, generator=np.random.default_rng(seed), **options)


def trace(stages, seconds, events, **options):
    """(time, customer) of the first events with fixed times, one replication."""
    draws = Draws(stages, FIXED, 1, np.random.default_rng(0))
    replications = LockStep(stages, draws, workers=len(seconds), start=seconds, **options)
    found = []
    for _ in range(events):
        before = replications.stage.copy()
        replications.run(1)
        (changed,) = np.flatnonzero((replications.stage != before)[0])
        found.append((float(replications.now()[0]), int(changed)))
    return found


def same_trace(found, expected):
    """Whether customers are equal and times nearly."""
    assert [customer for _, customer in found] == [customer for _, customer in expected]
    assert [time for time, _ in found] == pytest.approx([time for time, _ in expected], abs=1e-12)


def holds(simulated, expected, within):
    """Whether the interval holds the value, and is narrow enough to mean something."""
    assert simulated.half_width_per_s <= within * expected
    assert abs(simulated.mean_per_s - expected) <= simulated.half_width_per_s


# Traces by hand, both ways


@pytest.fixture(params=["one by one", "together"])
def way(request, monkeypatch):
    """Which of the two ways all events go."""
    monkeypatch.setattr(simulation, "_FEW", {"one by one": math.inf, "together": 0}[request.param])


@pytest.mark.usefixtures("way")
def test_processor_sharing_of_unequal_sizes():
    """Two customers with 3 s and 1 s at one shared station leave it when a calculation by hand says.

    0 comes at 0 with 3 s, 1 at 1.5: both have half the speed, 0 is done at 4.5, with 1 having 1.5 s left. 0 goes on with
    1 s: done at 6.5. 1 is alone, .5 s left: 7. It goes on with 1 s, alone until 0 has computed, at 7.5: the .5 s left take
    until 8.5, when 0 has 2.5 s left, of which 1.5 s remain when 1 has computed, at 9.5: shared, until 12.5.
    """
    stages = [
        Stage(0, "delay", 1.0, "compute"),
        Stage(1, "sharing", 3.0, "transfer"),
        Stage(1, "sharing", 1.0, "update"),
    ]
    expected = [(0, 0), (1.5, 1), (4.5, 0), (6.5, 0), (7, 1), (7.5, 0), (8.5, 1), (9.5, 1), (12.5, 0)]
    same_trace(trace(stages, [0.0, 1.5], len(expected)), expected)


@pytest.mark.usefixtures("way")
def test_first_come_first_served():
    """Of two that come at .25 and .3, one is updated at .35 and one at .45; then they do not meet again."""
    stages = cycle_of(job(parameter_bytes=0, update_s=0.1))
    expected = [(0.25, 0), (0.3, 1), (0.35, 0), (0.45, 1), (0.6, 0), (0.7, 0), (0.7, 1), (0.8, 1)]
    found = trace(stages, [0.25, 0.3], len(expected))
    same_trace(sorted((round(time, 9), customer) for time, customer in found), expected)


@pytest.mark.usefixtures("way")
def test_two_on_the_way_compute_in_turn():
    """A worker with two mini-batches computes one at a time, in the order of their arrival.

    Computing takes 1 s, a shared station 3 s. 0 comes there at .5, 1 at 1.5 and shares: 0 is done at 5.5, having had 1 + 4 / 2 s;
    1 has 1 s left, done at 6.5 alone, just when 0 has computed, which is done 3 s later; 1 has computed at 7.5.
    """
    stages = [Stage(0, "delay", 1.0, "compute"), Stage(1, "sharing", 3.0, "transfer")]
    draws = Draws(stages, FIXED, 1, np.random.default_rng(0))
    replications = LockStep(stages, draws, workers=1, in_flight=2, start=[0.5])
    times = []
    for _ in range(7):
        replications.run(1)
        times.append(float(replications.now()[0]))
    assert times == pytest.approx([0.5, 1.5, 5.5, 6.5, 6.5, 7.5, 11.5])


@pytest.mark.usefixtures("way")
def test_workers_compute_only_their_own():
    """Each worker has a queue of its own, in which a mini-batch that comes back waits for the other.

    Computing takes 1 s, an update .25 s; worker 1 is away until 10. Of worker 0, mini-batch 0 is back at .75, but 2 is being
    computed until 1.5: 0 follows until 2.5, then 2 again.
    """
    stages = [Stage(0, "delay", 1.0, "compute"), Stage(1, "queue", 0.25, "update")]
    expected = [(0.5, 0), (0.75, 0), (1.5, 2), (1.75, 2), (2.5, 0), (2.75, 0), (3.5, 2)]
    same_trace(trace(stages, [0.5, 10.0], len(expected), in_flight=2), expected)


@pytest.mark.usefixtures("way")
def test_customers_are_conserved():
    """Nobody stays when the clock of a station shows its tag, clocks do not run back, and visits go round in order."""
    some = job(shards=2, duplex="half")
    stages = cycle_of(some, discipline="sharing")
    draws = Draws(stages, EXPONENTIAL, 2, np.random.default_rng(1))
    replications = LockStep(stages, draws, workers=3, in_flight=2, replications=5)
    for _ in range(300):
        stage, now = replications.stage.copy(), replications.now()
        replications.run(1)
        station = np.array([stage.station for stage in stages])[replications.stage]
        shown = np.take_along_axis(replications.clock, station, axis=1)
        assert (replications.tag >= shown * (1 - 1e-12)).all()
        assert (replications.now() >= now).all()
        assert (((replications.stage - stage) % len(stages)).sum(axis=1) == 1).all()


def test_events_are_counted():
    """Every replication ends as many services as cycles have stages, warm-up included."""
    assert run(job(), 3, replications=4, cycles=10, warm_up=5).events == 4 * (10 + 5) * 4
    assert run(job(shards=2, update_s=0.0), 3, replications=4, cycles=10, warm_up=5).events == 4 * (10 + 5) * 5


# Fixed times, by hand


@pytest.mark.parametrize(
    "fields", [{}, {"duplex": "half"}, {"shards": 3}, {"shards": 3, "duplex": "half"}, {"update_s": 0.0}]
)
@pytest.mark.parametrize("start", ["spread", "together"])
def test_one_worker(fields, start):
    """A worker that is alone has one cycle after the other."""
    some = job(**fields)
    simulated = run(some, 1, **FIXED, start=start, replications=3, cycles=20)
    assert simulated.values == pytest.approx([1 / some.cycle_s] * 3, rel=1e-12)
    assert simulated.mean_per_s == pytest.approx(1 / some.cycle_s, rel=1e-12)
    assert simulated.half_width_per_s == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize(
    ("start", "expected"), [("together", 2 / 3), ([1.0, 1.0], 2 / 3), ([0.0, 1.0], 1.0), ([0.0, 0.5], 0.8)]
)
def test_the_start_can_decide(start, expected):
    """C = u = 1, updates share: who comes d seconds after the other, d <= 1, makes cycles of 3 - d seconds, for ever."""
    some = job(parameter_bytes=0, compute_s=1, update_s=1)
    simulated = run(some, 2, **FIXED, discipline="sharing", start=start, replications=2, cycles=40)
    assert simulated.values == pytest.approx([expected] * 2, rel=1e-9)


def test_spread_is_uniform():
    """In the same system d is the difference of two uniform numbers, 1 / 3 in the mean: 2 mini-batches in 8 / 3 s."""
    some = job(parameter_bytes=0, compute_s=1, update_s=1)
    simulated = run(some, 2, **FIXED, discipline="sharing", replications=4000, cycles=10, warm_up=4, confidence=0.999)
    assert all(2 / 3 - 1e-9 <= value <= 1 + 1e-9 for value in simulated.values)
    holds(simulated, 0.75, within=0.01)


@pytest.mark.parametrize("start", ["spread", "together"])
def test_fixed_times_that_fit_into_each_other(start):
    """C = .25, u = .1, 2 workers, all fixed: once one has waited for the other they never meet, 2 / .35 = 5.714."""
    simulated = run(job(parameter_bytes=0, update_s=0.1), 2, **FIXED, start=start, replications=8, cycles=40)
    assert simulated.mean_per_s == pytest.approx(2 / 0.35, rel=1e-9)


@pytest.mark.parametrize(("transfer_s", "expected"), [(0.5, 1.0), (2.0, 0.5)])
def test_overlap_hides_the_shorter(transfer_s, expected):
    """With two on the way one worker computes all the time, or keeps the link busy all the time."""
    some = job(compute_s=1, parameter_bytes=transfer_s * 5e7, update_s=0.0, duplex="half")
    assert run(some, 1, **FIXED, in_flight=2, replications=2, cycles=40).mean_per_s == pytest.approx(expected, rel=1e-9)


# Random times, by hand


@pytest.mark.parametrize(
    ("update", "expected"),
    [("deterministic", 1 / (0.1 + math.exp(-0.4) * 0.125)), ("exponential", 1 / (0.1 + (0.25 / 0.35) * 0.125))],
)
def test_two_workers_at_one_server(update, expected):
    """C = .25 exponential, u = .1: the other is still computing after an update with probability e^-.4, or c / (c + u)."""
    options = {"update": update, "replications": 200, "cycles": 1000, "confidence": 0.999}
    holds(run(job(parameter_bytes=0, update_s=0.1), 2, **options), expected, within=0.01)


def test_overlap_of_exponential_times():
    """One worker with two on the way is a closed chain of queues: X = G(1) / G(2), G(n) summed over all ways to be there."""
    demands = (0.25, 0.08, 0.08, 0.01)
    g1 = sum(demands)
    g2 = sum(a * b for index, a in enumerate(demands) for b in demands[index:])
    holds(run(job(), 1, in_flight=2, **EXPONENTIAL, cycles=900, confidence=0.999), g1 / g2, within=0.01)


@pytest.mark.parametrize("in_flight", [1, 2])
def test_many_on_the_way_stay_within_the_bounds(in_flight):
    """No more than all workers computing all the time, and than the bottleneck serving all the time."""
    for workers in (1, 3, 12):
        found = run(job(), workers, in_flight=in_flight, replications=32, cycles=500)
        assert found.mean_per_s <= min(workers / 0.25, 1 / 0.08) + found.half_width_per_s


# The product form where it is exact

PRODUCT_FORMS = [
    ({}, 4, {}),
    ({}, 4, EXPONENTIAL),
    ({"duplex": "half"}, 6, {}),
    ({"shards": 3}, 6, {"compute": "deterministic"}),
    ({"shards": 2, "duplex": "half", "update_s": 0.1}, 5, EXPONENTIAL),
    ({"update_s": 0.2}, 3, {"compute": [0.1, 0.15, 0.5], "transfer": [0.02, 0.14]}),
    ({"update_s": 0.2}, 3, {"update": "deterministic", "discipline": "sharing"}),
    ({"update_s": 0.2, "shards": 2}, 4, {"update": [0.1, 0.3], "discipline": "sharing"}),
    ({"parameter_bytes": 0, "update_s": 0.1}, 8, {}),
]


@pytest.mark.parametrize(("fields", "workers", "options"), PRODUCT_FORMS)
def test_mean_value_analysis_within_the_interval(fields, workers, options):
    """Where the network has a product form the analysis lies within the interval of 99.9%, less than 1.5% wide each way."""
    some = job(**fields)
    simulated = run(some, workers, seed=workers, **options, cycles=800, confidence=0.999)
    holds(simulated, mean_values(network_of(some), workers).throughput, within=0.015)


@pytest.mark.long
def test_intervals_hold_as_often_as_they_say():
    """Of 200 intervals of 95% between 90% and 99.5% hold the analysis (3 standard deviations below, as many above)."""
    expected = mean_values(network_of(job()), 4).throughput
    found = [run(job(), 4, seed=seed, replications=16, cycles=200) for seed in range(200)]
    held = sum(abs(one.mean_per_s - expected) <= one.half_width_per_s for one in found)
    assert 180 <= held <= 199


def test_fixed_updates_make_the_analysis_err():
    """Where it has no product form the interval of 99.9% can leave the analysis out: fixed updates wait less."""
    some = job(parameter_bytes=0, update_s=0.1)
    simulated = run(some, 2, update="deterministic", confidence=0.999)
    assert simulated.mean_per_s - simulated.half_width_per_s > mean_values(network_of(some), 2).throughput


# Measured times


def test_measured_times_replace_those_of_the_job():
    """One worker: the cycle is the sum of what was measured, whatever the job says, on one shard or three."""
    for shards in (1, 3):
        some = job(shards=shards)
        options = {"compute": [2.0], "transfer": [0.5], "update": np.array([0.25]), "cycles": 10}
        assert run(some, 1, **options, replications=2).mean_per_s == pytest.approx(1 / 3.25, rel=1e-12)


def test_measured_times_are_drawn_with_replacement():
    """One worker that computes for 1 or 4 s as often, and nothing else, makes a mini-batch in 2.5 s in the mean."""
    some = job(parameter_bytes=0, update_s=0.0)
    simulated = run(some, 1, compute=[1.0, 4.0], cycles=200, confidence=0.999)
    holds(simulated, 0.4, within=0.02)
    assert len({round(200 / value) for value in simulated.values}) > 1


# The record


def test_same_seed_same_answer():
    """Equal generators give equal records; another seed another."""
    assert run(job(), 5, cycles=50) == run(job(), 5, cycles=50)
    assert run(job(), 5, cycles=50) != run(job(), 5, cycles=50, seed=1)


def test_mean_and_interval():
    """The mean is the harmonic mean of the replications; widths go as the quantiles of t, 31 degrees: 2.0395 and 2.7440."""
    narrow, wide = (run(job(), 3, replications=32, cycles=50, confidence=level) for level in (0.95, 0.99))
    assert narrow.mean_per_s == pytest.approx(32 / sum(1 / value for value in narrow.values))
    assert wide.values == narrow.values
    assert wide.half_width_per_s / narrow.half_width_per_s == pytest.approx(2.7440 / 2.0395, rel=1e-4)
    seconds = np.array([1 / value for value in narrow.values])
    expected = 2.0395 * seconds.std(ddof=1) / math.sqrt(32) / seconds.mean() ** 2
    assert narrow.half_width_per_s == pytest.approx(expected, rel=1e-4)


def test_one_replication_has_no_interval():
    """Unknown is None."""
    simulated = run(job(), 3, replications=1, cycles=50)
    assert simulated.half_width_per_s is None
    assert simulated.values == (pytest.approx(simulated.mean_per_s),)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers: found 0"),
        ({"in_flight": 0}, "in_flight: found 0"),
        ({"replications": 0}, "replications: found 0"),
        ({"cycles": 0}, "cycles: found 0"),
        ({"warm_up": -1}, "warm_up: found -1"),
        ({"confidence": 1.0}, "confidence: found 1.0"),
        ({"discipline": "random"}, "discipline: found 'random'"),
        ({"compute": "normal"}, "compute: found 'normal'"),
        ({"start": "late"}, "start: found 'late'"),
        ({"start": [0.1]}, "start: found 1 seconds, allowed: one for each of 2 workers"),
        ({"start": [0.1, -1.0]}, "start: allowed: one or more finite seconds >= 0"),
        ({"compute": []}, "compute: allowed: one or more finite seconds"),
        ({"update": [math.nan]}, "update: allowed: one or more finite seconds"),
        ({"transfer": [[1.0]]}, "transfer: allowed: one or more finite seconds"),
        ({"compute": [1.0, 0.0]}, "compute: found 0 s"),
        ({"workers": MOST_CELLS}, "allowed: at most"),
        ({"some": job(parameter_bytes=0), "transfer": [0.1]}, "transfer: found measured seconds, but the job has none"),
        (
            {"some": job(parameter_bytes=0, update_s=0.0), **FIXED, "start": "together", "warm_up": 1, "cycles": 1},
            "cycles: found 1, in which no time passes",  # both first computations end at once: there is no rate of one
        ),
    ],
)
def test_refusals(options, message):
    """What cannot be simulated is an error that says what was found and what is allowed."""
    with pytest.raises(UsageError, match=message):
        run(**({"some": job(), "workers": 2} | options))

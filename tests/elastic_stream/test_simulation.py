"""The jobs present as arrays, and the loop for queues: the same bits as the simulator that asks the policy."""

import importlib.util

import numpy as np
import pytest

from dlsched.core.errors import PolicyError, UsageError
from dlsched.elastic_stream import View, generate, run, simulate
from dlsched.elastic_stream.policies import (
    ORDERS,
    Doubling,
    EqualShare,
    Fastest,
    Fixed,
    Knee,
    Marginal,
    Myopic,
    Queue,
    gains,
    orders,
)
from dlsched.elastic_stream.policies.orders import fitting_rows
from dlsched.elastic_stream.simulation import queue_loop, queue_stream, simulator, turns_loop

from .streams import VAST, drawn, stream

LAW = {"theta": [1e-2, 0.0, 0.1, 1.0], "samples": 500.0, "model_bytes": 1.0}


class Compares:
    """Follows another policy, and holds arrays to the view; asked for first when ``since`` jobs are present."""

    clairvoyant = False

    def __init__(self, policy, since):
        self.policy, self.since, self.compared = policy, since, 0

    def decide(self, view):
        if len(view) >= self.since or view.cached is not None:
            self.compare(view)
        return self.policy.decide(view)

    def compare(self, view):
        arrays, jobs = view.arrays, list(view)
        self.compared += len(jobs)
        assert arrays.jobs.tolist() == jobs and len(arrays) == len(jobs)
        for name in ("held", "left", "attained", "arrival_s", "weight", "restart_s"):
            assert getattr(arrays, name).tolist() == [getattr(view, name)(job) for job in jobs], name
        assert arrays.pause_s.tolist() == [view.pause_s(job, view.held(job)) for job in jobs]
        allowed = [view.allowed(job) for job in jobs]
        assert arrays.least.tolist() == [counts[0] for counts in allowed]
        assert arrays.most.tolist() == [counts[-1] for counts in allowed]
        assert arrays.choices.tolist() == [len(counts) for counts in allowed]
        rows = np.arange(0, len(jobs), 2)
        for chosen in (rows, None) if jobs else ():
            starts, counts, times_s = arrays.pairs(chosen)
            for index, job in enumerate(jobs[::2] if chosen is rows else jobs):
                useful, here = view.useful(job), slice(starts[index], starts[index + 1])
                assert counts[here].tolist() == list(useful)
                assert times_s[here].tolist() == [view.epoch_time_s(job, count) for count in useful]


@pytest.mark.parametrize("since", [0, 6])
@pytest.mark.parametrize("tick_s", [None, 2.5])
def test_arrays_are_what_the_view_says(since, tick_s, monkeypatch):
    """From the first event, or from one in the middle of the stream on; pairs of those that went are cleared away."""
    monkeypatch.setattr("dlsched.elastic_stream.simulation.view._FEW", 8)
    for seed in range(4):
        instance = drawn(seed, jobs=90).model_copy(update={"tick_s": tick_s})
        policy = Compares(Marginal("srpt"), since)
        simulate(instance, policy)
        assert policy.compared > 100


@pytest.mark.parametrize("make", [Doubling, Marginal, Myopic, EqualShare])
def test_policies_answer_the_same_with_arrays(make, monkeypatch):
    """Always, or never: the same streams."""
    streams = [drawn(seed) for seed in range(6)]
    streams.append(streams[1].model_copy(update={"tick_s": 5.0}))
    laws = stream(*[(float(n), 2.0, LAW, {"restart_s": 1.0, "id": f"law{n}"}) for n in range(9)], units=40)
    streams.append(laws.model_copy(update={"jobs": (*laws.jobs, *drawn(3, jobs=9).jobs)}))
    made = []
    for many in (1, 10**9):
        for module in (gains, orders):
            monkeypatch.setattr(module, "MANY", many)
        made.append([simulate(instance, make()).periods for instance in streams])
    assert made[0] == made[1]


def test_rows_that_fit_are_those_of_one_pass():
    """One by one: who fits is taken; sizes up to 2^53, of which a thousand and more overflow a sum."""
    generator = np.random.default_rng(0)
    for most in (1, 2, 9, 2**53):
        for _ in range(30):
            sizes = generator.integers(1, most + 1, size=int(generator.integers(0, 2000)))
            units = left = int(generator.integers(1, 3 * most + 400))
            expected = []
            for row, size in enumerate(sizes.tolist()):
                if size <= left:
                    expected.append(row)
                    left -= size
            assert fitting_rows(sizes, units).tolist() == expected


def test_vast_laws_are_refused_by_who_weighs_them_and_shared_by_who_does_not(monkeypatch):
    """2^53 counts each: marginal gain would weigh them all, equal shares take one."""
    for module in (gains, orders):
        monkeypatch.setattr(module, "MANY", 1)
    instance = stream(*[(0.0, 10.0, VAST)] * 2, units=2**53)
    with pytest.raises(UsageError, match=r"pairs of job and count at 0.0 s, allowed: 262144"):
        simulate(instance, Marginal())
    assert simulate(instance, EqualShare()).periods["j0"][0].units == 2**52


class ShortestFirst:
    """The example of the documentation: least left first, each on its smallest count."""

    clairvoyant = False

    def decide(self, view):
        arrays = view.arrays
        first = np.lexsort((arrays.jobs, arrays.left))
        first = first[np.cumsum(arrays.least[first]) <= view.units]
        units = np.zeros_like(arrays.held)
        units[first] = arrays.least[first]
        return arrays.changes(units)


class OneByOne:
    """The same without arrays."""

    clairvoyant = False

    def decide(self, view):
        free, answer = view.units, dict.fromkeys(view, 0)
        for job in sorted(view, key=lambda job: (view.left(job), job)):
            free -= view.allowed(job)[0]
            if free >= 0:
                answer[job] = view.allowed(job)[0]
        return answer


def test_a_policy_of_the_users_own_may_use_either_way():
    """The same stream."""
    for seed in range(10):
        assert simulate(drawn(seed), ShortestFirst()) == simulate(drawn(seed), OneByOne())


def test_other_counts_may_be_asked_for():
    """Allowed ones instead of useful ones, of a law that gets worse: the pairs are looked up again."""

    class Looks:
        clairvoyant = False

        def decide(self, view):
            if len(view):
                for counts in (View.useful, View.allowed):
                    _, found, _ = view.arrays.pairs(counts=counts)
                    assert found.tolist() == list(counts(view, 0))
            return dict.fromkeys(view, 1)

    simulate(stream((0.0, 1.0, LAW), units=400), Looks())


SIZES = {"fixed": Fixed(2), "fastest": Fastest(), "knee": Knee()}
STREAMS = [
    *(drawn(seed) for seed in range(12)),
    generate(preset="bursts", jobs=60, gpus=16, load=1.2, seed=1),
    generate(jobs=150, gpus=200, load=3, weights="1,1,2,3", seed=2),
]


class Asked(Queue):
    """A queue that the simulator asks at every event."""


def made(instance, policy):
    """Arrivals and ends, and all periods in the order in which they end; those that end together by job."""
    periods = []
    events = run(instance, policy, lambda *period: periods.append(period))
    return events, sorted(periods, key=lambda period: (period[2], period[0]))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("fast", [False, pytest.param(True, marks=pytest.mark.long)], ids=["interpreted", "compiled"])
def test_the_loop_gives_the_stream_of_the_simulator(order, size, fast, monkeypatch):
    """Ties, pauses, weights, early ends, jobs without work: the same floats."""
    if fast and importlib.util.find_spec("numba") is None:
        pytest.skip("Numba is not installed")
    monkeypatch.setattr(queue_stream, "COMPILED_FROM", 1 if fast else 10**9)
    if not fast:
        for name in ("_NEAR", "_BLOCK"):
            monkeypatch.setattr(turns_loop, name, 2)
    for instance in STREAMS:
        assert Queue(order, SIZES[size]).rule is not None and Asked(order, SIZES[size]).rule is None
        assert made(instance, Queue(order, SIZES[size])) == made(instance, Asked(order, SIZES[size]))


@pytest.mark.parametrize("order", ["fifo", "las"])
def test_periods_come_in_blocks_too(order):
    """Columns of many periods are the periods that ``keep`` gets one by one."""
    for instance in STREAMS:
        blocks = []
        events = run(instance, Queue(order, Fixed()), None, keep_many=lambda *block, found=blocks: found.append(block))
        periods = [period for block in blocks for period in zip(*(column.tolist() for column in block), strict=True)]
        expected = made(instance, Asked(order, Fixed()))
        assert (events, sorted(periods, key=lambda period: (period[2], period[0]))) == expected


def test_restarts_for_ever_are_named_alike(monkeypatch):
    """At the first period that ends in its pause, instead of the ten thousandth, if no other job comes on."""
    for module in (queue_stream, queue_loop, simulator):
        monkeypatch.setattr(module, "BARREN", 0)
    monkeypatch.setattr(queue_stream, "COMPILED_FROM", 10**9)
    refused = 0
    for seed in range(60):
        instance = drawn(seed, restart_s=30.0)
        found = []
        for policy in (Queue("srpt", Fixed(2)), Asked("srpt", Fixed(2))):
            try:
                found.append(made(instance, policy))
            except PolicyError as error:
                found.append(str(error).replace("Asked", "Queue"))
        assert found[0] == found[1]
        refused += "in a row that ended in their pause" in str(found[0])
    assert refused


def test_a_queue_that_was_asked_is_asked_on():
    """What it remembers is not in the loop: it has no rule any more; neither has one with a size of the user's own."""
    policy = Asked("srpt", Fixed())
    run(STREAMS[0], policy, lambda *period: None)
    assert policy._line is not None and policy.rule is None
    assert Queue("srpt", lambda view, job: view.allowed(job)[0]).rule is None


def test_a_long_stream_may_be_stopped_and_says_how_far_it_came():
    """The tick is called before the first job and every 256 moments, the step with words."""
    ticks, steps = [], []
    instance = generate(preset="poisson", jobs=600, gpus=16, seed=1)
    run(instance, Queue("fifo", Fixed()), lambda *period: None, step=steps.append, tick=lambda: ticks.append(1))
    assert len(ticks) >= 3 and "of 600 jobs ended" in steps[0]

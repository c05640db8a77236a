"""The loop for queues: bit for bit what the simulator gives that asks the policy, interpreted and compiled."""

import importlib.util

import pytest

from dlsched.core.errors import PolicyError
from dlsched.elastic_stream import generate, run
from dlsched.elastic_stream.policies import ORDERS, Fastest, Fixed, Knee, Queue
from dlsched.elastic_stream.simulation import queue_loop, queue_stream, simulator

from .drawn import drawn

SIZES = {"fixed": Fixed(2), "fastest": Fastest(), "knee": Knee()}
STREAMS = [drawn(seed) for seed in range(12)] + [generate(preset="bursts", jobs=60, gpus=16, load=1.2, seed=1)]


class Asked(Queue):
    """A queue that the simulator asks at every event."""


def made(instance, policy):
    """All periods in the order in which they end, and arrivals and ends."""
    periods = []
    return run(instance, policy, lambda *period: periods.append(period)), periods


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("fast", [False, pytest.param(True, marks=pytest.mark.long)], ids=["interpreted", "compiled"])
def test_the_loop_gives_the_stream_of_the_simulator(order, size, fast, monkeypatch):
    """Ties, pauses, weights, early ends, jobs without work: the same floats, in the same order."""
    if fast and importlib.util.find_spec("numba") is None:
        pytest.skip("Numba is not installed")
    monkeypatch.setattr(queue_stream, "COMPILED_FROM", 1 if fast else 10**9)
    for instance in STREAMS:
        assert Queue(order, SIZES[size]).rule is not None and Asked(order, SIZES[size]).rule is None
        assert made(instance, Queue(order, SIZES[size])) == made(instance, Asked(order, SIZES[size]))


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

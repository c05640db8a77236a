"""Policies whose events touch only what changes make the streams of a pass over all jobs at every event, bit for bit."""

import importlib.util
import itertools

import numpy as np
import pytest

from dlsched.core.errors import PolicyError
from dlsched.elastic_stream import fast_simulation, generate, run, simulate
from dlsched.elastic_stream.checker import check, infeasible
from dlsched.elastic_stream.fast_simulation import FRESH, STOPPED, Speeds, Weighed, share, worth_it
from dlsched.elastic_stream.policies import (
    ORDERS,
    Doubling,
    EqualShare,
    Exploratory,
    Marginal,
    Myopic,
    Weighted,
    gains,
    orders,
)
from dlsched.elastic_stream.simulation import gain_loop, knapsack_loop, queue_stream, simulator, weighing_loop

from .nasty import nasty
from .streams import VAST, drawn, stream


class EqualPass:
    """Equal shares by the rule: at every event all jobs present are sorted, and served while they fit."""

    clairvoyant = False

    def __init__(self, order):
        self.order, self.timeless = ORDERS[order], order != "las"

    def decide(self, view):
        share, free, answer = max(1, view.units // max(1, len(view))), view.units, dict.fromkeys(view, 0)
        sizes = {}
        for job in view:
            allowed = view.allowed(job)
            sizes[job] = max((count for count in allowed if count <= share), default=allowed[0])
        for job in sorted(view, key=lambda job: (self.order(view, job, sizes[job]), job)):
            if sizes[job] <= free:
                answer[job] = sizes[job]
                free -= sizes[job]
        return answer


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("many", [1, 32])
def test_equal_shares_are_those_of_a_pass(order, many, monkeypatch):
    """With ties, weights, restarts, ticks and times of its own; where all fit, and where most wait."""
    for module in (gains, orders):
        monkeypatch.setattr(module, "MANY", many)
    streams = [(drawn(seed), {}) for seed in range(8)]
    streams += [(drawn(seed, jobs=120, arrival_s=0.0), {}) for seed in range(2)]
    streams += [(drawn(seed).model_copy(update={"tick_s": 5.0}), {}) for seed in range(3)]
    streams += [(drawn(seed), {"every_s": 4.0}) for seed in range(3)]
    streams += [(generate(preset=each, jobs=150, gpus=48, seed=1, load=1.5), {}) for each in ("poisson", "search")]
    for instance, further in streams:
        expected = simulate(instance, EqualPass(order), **further)
        assert simulate(instance, EqualShare(order), **further).periods == expected.periods


class WeighedPass:
    """Units by weight x gain by the rule: at every event all steps of all jobs present are sorted and gone through."""

    clairvoyant, timeless = True, True

    def __init__(self, speeds, weights):
        self.speeds, self.weights, self.states = speeds, weights, {}

    def decide(self, view):
        for job in view.ended:
            del self.states[job]
        for job in view.arrived:
            self.states[job] = FRESH
        offers = sorted(
            o for job, state in self.states.items() for o in self.speeds.offers(job, self.weights[job], state)
        )
        shares, answer = share(offers, view.units, self.speeds.speed), {}
        for job, before in self.states.items():
            units = shares.get(job, 0)
            if units > before > 0 and view.restart_s(job):
                new, old = 1 / view.epoch_time_s(job, units), 1 / view.epoch_time_s(job, before)
                if not worth_it(view.restart_s(job), view.true_left(job), new, old, view.pause_s(job, before)):
                    continue
            if units != max(before, 0):
                answer[job] = units
        self.states |= {job: units or STOPPED for job, units in answer.items()}
        return answer


@pytest.mark.parametrize("block", [1, 3, 128])
def test_units_by_weight_and_gain_are_those_of_a_pass(block, monkeypatch):
    """With ties, restarts and ticks; offers in blocks of one, a few and many; where most wait, and where units are idle."""
    monkeypatch.setattr(fast_simulation, "_BLOCK", block)
    streams = [drawn(seed) for seed in range(12)]
    streams += [drawn(seed, jobs=90, arrival_s=0.0) for seed in range(4)]
    streams += [drawn(seed).model_copy(update={"tick_s": 5.0}) for seed in range(4)]
    streams += [
        generate(preset=each, jobs=150, gpus=units, seed=1, load=load)
        for each in ("poisson", "search")
        for units, load in ((24, 1.5), (48, 0.9), (64, 0.3))
    ]
    for number, instance in enumerate(streams):
        generator = np.random.default_rng(number)
        equal = [job.weight for job in instance.jobs]
        for weights in (
            equal,
            generator.choice([1.0, 2.0, 5.0], len(equal)).tolist(),
            generator.lognormal(size=len(equal)),
        ):
            made = [simulate(instance, way(Speeds(instance, 3.0), weights)) for way in (Weighed, WeighedPass)]
            assert made[0].periods == made[1].periods


@pytest.mark.parametrize("seed", range(8))
def test_units_that_may_stay_idle_spare_restarts(seed):
    """A stream all the same, also where a job needs all units; fewer changes in all than without."""
    whole = stream((0.0, 1.0, {4: 10.0}), (1.0, 5.0, {1: 10.0, 2: 6.0}), (2.0, 1.0, {4: 5.0}))
    changes = [0, 0]
    for instance in (whole, drawn(seed, jobs=60), generate(jobs=150, gpus=64, load=1.5, seed=seed)):
        weights = np.random.default_rng(seed).lognormal(size=len(instance.jobs)).tolist()
        for number, spare in enumerate((0, max(1, instance.units // 10))):
            made = simulate(instance, Weighed(Speeds(instance), weights, spare))
            assert check(instance, made) == []
            changes[number] += sum(map(len, made.periods.values()))
    assert changes[1] < changes[0]


class AskedDoubling(Doubling):
    """Doubling that the simulator asks at every event."""


class AskedMarginal(Marginal):
    """Marginal gain that the simulator asks at every event."""


class AskedExploratory(Exploratory):
    """Exploration that the simulator asks at every event."""


# Counts that all jobs, some or none may hold, with and without the smallest; steps that end in their pause, and at once.
EXPLORED = {150.0: (1, 2, 4, 8), 20.0: (1, 2, 3, 4, 6, 16), 7.0: (1, 2, 4), 3.0: (2, 4), 1.0: (3,), 1e-300: (1, 2)}
GAINS = [
    (Doubling, AskedDoubling),
    *(
        (
            lambda step_s=step_s: Exploratory(EXPLORED[step_s], step_s),
            lambda step_s=step_s: AskedExploratory(EXPLORED[step_s], step_s),
        )
        for step_s in EXPLORED
    ),
    *((lambda order=order: Marginal(order), lambda order=order: AskedMarginal(order)) for order in ORDERS),
]


def periods_of(instance, policy):
    """All periods in the order in which they end, and arrivals and ends."""
    periods = []
    return run(instance, policy, lambda *period: periods.append(period)), periods


NAMES = ["doubling", *(f"exploratory-{step_s:g}" for step_s in EXPLORED), *ORDERS]


@pytest.mark.parametrize(("make", "asked"), GAINS, ids=NAMES)
@pytest.mark.parametrize("fast", [False, pytest.param(True, marks=pytest.mark.long)], ids=["interpreted", "compiled"])
def test_steps_near_the_last_gain_decide_as_all_do(make, asked, fast, monkeypatch):
    """Streams with pauses, weights, early ends and ties; steps of one unit and others; where most wait, where units are idle."""
    if fast and importlib.util.find_spec("numba") is None:
        pytest.skip("Numba is not installed")
    monkeypatch.setattr(queue_stream, "COMPILED_FROM", 1 if fast else 10**9)
    assert make().rule is not None and asked().rule is None
    streams = [drawn(seed, jobs=60) for seed in range(9)]
    streams += [
        generate(preset=each, jobs=120, gpus=units, seed=1, load=load, weights=weights)
        for each, weights in (("poisson", None), ("search", "1,2"), ("resnet110", None))
        for units, load in ((24, 1.5), (64, 0.9), (160, 3.0))
    ]
    expected = [periods_of(instance, asked()) for instance in streams]
    # what Numba has compiled stays, so constants stay then
    own = gain_loop._SETTLED_FROM, gain_loop._SPAN
    for settled_from, span in (own,) if fast else ((1, 1), (4, 8)):
        monkeypatch.setattr(gain_loop, "_SETTLED_FROM", settled_from)
        monkeypatch.setattr(gain_loop, "_SPAN", span)
        assert [periods_of(instance, make()) for instance in streams] == expected


class AskedWeighted(Weighted):
    """Weighing that the simulator asks at every event."""


def laws(seed):
    """Jobs of laws, with more counts than are weighed and without; some pause."""
    generator = np.random.default_rng(seed)
    theta = [[1e-3, 0.0, 0.0, 1.0], [1e-2, 1e-3, 0.3, 1.0]]
    kinds = [VAST | {"theta": each, "model_bytes": size} for each in theta for size in (0.0, 1e8)]
    jobs = zip(
        generator.integers(0, 400, 80), generator.integers(1, 20, 80), generator.integers(0, 12, 80), strict=True
    )
    return stream(
        *((float(a), float(n), kinds[kind % 4], {"restart_s": 15.0 * (kind // 4)}) for a, n, kind in jobs),
        units=(40, 100, 300)[seed % 3],
    )


@pytest.mark.parametrize("fast", [False, pytest.param(True, marks=pytest.mark.long)], ids=["interpreted", "compiled"])
def test_jobs_near_the_last_gain_decide_as_all_do(fast, monkeypatch):
    """Streams with pauses and without, weights, tables and laws, early ends and ties; numbers of any magnitude."""
    if fast and importlib.util.find_spec("numba") is None:
        pytest.skip("Numba is not installed")
    monkeypatch.setattr(queue_stream, "COMPILED_FROM", 1 if fast else 10**9)
    assert Weighted().rule is not None and AskedWeighted().rule is None
    streams = [drawn(seed, jobs=60) for seed in range(9)] + [laws(seed) for seed in range(3)]
    streams += [nasty(np.random.default_rng(seed), False, 12, True) for seed in range(20)]
    streams += [
        generate(preset=each, jobs=120, gpus=units, seed=1, load=load, weights=weights)
        for each, weights in (("poisson", None), ("search", "1,2"), ("resnet110", None))
        for units, load in ((24, 1.5), (64, 0.9), (160, 3.0))
    ]
    streams = [instance for instance in streams if infeasible(instance) is None]
    expected = [periods_of(instance, AskedWeighted()) for instance in streams]
    own = weighing_loop._NEAR, weighing_loop._EVENTS, weighing_loop._PASS
    for near, events, passing in (own,) if fast else ((1, 1, 3), (2, 40, 120)):
        monkeypatch.setattr(weighing_loop, "_NEAR", near)
        monkeypatch.setattr(weighing_loop, "_EVENTS", events)
        monkeypatch.setattr(weighing_loop, "_PASS", passing)
        assert [periods_of(instance, Weighted()) for instance in streams] == expected


class AskedMyopic(Myopic):
    """The knapsack of all jobs, solved whenever the simulator asks."""


@pytest.mark.parametrize("fast", [False, pytest.param(True, marks=pytest.mark.long)], ids=["interpreted", "compiled"])
def test_jobs_near_the_price_have_the_optimum_of_all(fast, monkeypatch):
    """Streams with pauses and without, weights, tables and laws, early ends and equal jobs; numbers of any magnitude."""
    if fast and importlib.util.find_spec("numba") is None:
        pytest.skip("Numba is not installed")
    monkeypatch.setattr(queue_stream, "COMPILED_FROM", 1 if fast else 10**9)
    assert Myopic().rule is not None and AskedMyopic().rule is None
    streams = [drawn(seed, jobs=60) for seed in range(9)] + [laws(seed) for seed in range(3)]
    streams += [nasty(np.random.default_rng(seed), False, 12, True) for seed in range(20)]
    streams += [
        generate(preset=each, jobs=120, gpus=units, seed=1, load=load, weights=weights)
        for each, weights in (("poisson", None), ("search", "1,2"), ("resnet110", None))
        for units, load in ((24, 1.5), (64, 0.9), (160, 3.0))
    ]
    streams = [instance for instance in streams if infeasible(instance) is None]
    expected = [periods_of(instance, AskedMyopic()) for instance in streams]
    names = "_SETTLED_FROM", "_SPAN", "_OPTIONS", "_SUMS"
    own = tuple(getattr(knapsack_loop, name) for name in names)
    # near jobs for a few events or many; all sums, or few before the policy is asked
    for values in (own,) if fast else ((1, 1, 512, 2**20), (4, 8, 512, 2**20), (4, 8, 3, 24)):
        for name, value in zip(names, values, strict=True):
            monkeypatch.setattr(knapsack_loop, name, value)
        assert [periods_of(instance, Myopic()) for instance in streams] == expected


@pytest.mark.parametrize("seed", range(40))
def test_sums_of_options_are_those_of_all_choices(seed):
    """The least excess of few jobs' options, by trying all choices, and whether another comes close to it."""
    generator = np.random.default_rng(seed)
    options = [
        (row, 10 * row + number, int(shift), float(generator.integers(1, 9)) / 8)
        for row in range(5)
        for number, shift in enumerate(generator.choice([-3, -2, -1, 1, 2, 4], 2, replace=False))
    ]
    slack, price = int(generator.integers(0, 6)), 0.5
    ways = itertools.product(*([None, *(option for option in options if option[0] == row)] for row in range(5)))
    excesses = []
    for way in ways:
        taken = [option for option in way if option]
        idle = slack - sum(shift for _, _, shift, _ in taken)
        if idle >= 0:
            excesses.append(sum(regret for _, _, _, regret in taken) + price * idle)
    excesses.sort()
    least, close, taken = knapsack_loop._combine(options, price, slack, excesses[0] + 0.01, 0.01)
    assert least == excesses[0] and close == (excesses[1] - excesses[0] <= 0.01)
    idle = slack - sum(options[index][2] for index in taken)
    assert idle >= 0 and sum(options[index][3] for index in taken) + price * idle == least


@pytest.mark.parametrize("make", [Doubling, Marginal])
def test_arrays_decide_as_one_by_one(make, monkeypatch):
    """With ticks, where no loop serves."""
    streams = [drawn(seed, jobs=40).model_copy(update={"tick_s": 5.0}) for seed in range(4)]
    made = []
    for many in (1, 10**9):
        monkeypatch.setattr(gains, "MANY", many)
        made.append([simulate(instance, make()).periods for instance in streams])
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("make", "asked"),
    [
        (Marginal, AskedMarginal),
        (lambda: Exploratory((1, 2), 5.0), lambda: AskedExploratory((1, 2), 5.0)),
        (Weighted, AskedWeighted),
        (Myopic, AskedMyopic),
    ],
    ids=["marginal", "exploratory", "weighted", "myopic"],
)
def test_restarts_for_ever_are_named_alike(make, asked, monkeypatch):
    """At the first period that ends in its pause, if no other job comes on, by the loop and by the simulator."""
    for module in (queue_stream, gain_loop, weighing_loop, knapsack_loop, simulator):
        monkeypatch.setattr(module, "BARREN", 0)
    refused = 0
    for seed in range(40):
        instance, found = drawn(seed, restart_s=30.0), []
        for policy in (make(), asked()):
            try:
                found.append(periods_of(instance, policy))
            except PolicyError as error:
                found.append(str(error).replace("Asked", ""))
        assert found[0] == found[1]
        refused += "in a row that ended in their pause" in str(found[0])
    assert refused

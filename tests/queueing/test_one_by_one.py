"""Ways to the same events: the interpreted loop, the compiled one and lock-step give the same bits."""

import math
from itertools import product

import numpy as np
import pytest

from dlsched.queueing import simulation
from dlsched.queueing.cycle import cycle_of
from dlsched.queueing.network import PlainJob
from dlsched.queueing.simulation import Draws, simulate

JOBS = {
    "network": PlainJob(0.25, 0.08, 0.01),
    "update": PlainJob(0.25, 0.01, 0.08),
    "shards": PlainJob(0.25, 0.08, 0.01, 3),
    "half": PlainJob(0.25, 0.25, 0.25, 2, "half"),
    "no transfers": PlainJob(1.0, 0.0, 0.5),
    "alone": PlainJob(1.0),
}
FIXED = {"compute": "deterministic", "transfer": "deterministic", "update": "deterministic"}
TIMES = {
    "random": {},
    "fixed, together": FIXED | {"start": "together"},  # full of ties
    "fixed, spread": FIXED,
    "exponential, sharing": {"transfer": "exponential", "discipline": "sharing"},
    "measured": {"compute": [0.1, 0.15, 0.5]},
    "overlap": {"in_flight": 2},
    "overlap of fixed": FIXED | {"start": "together", "in_flight": 3},
}
SIZES = ((1, 1), (3, 5), (17, 2))  # workers and replications


def simulated(name, times, size, seed=0):
    """A record and the generator's next number."""
    workers, replications = size
    generator = np.random.default_rng([seed, workers])
    how = {"replications": replications, "cycles": 30, "warm_up": 10} | TIMES[times]
    return simulate(JOBS[name], workers, generator=generator, **how), generator.random()


@pytest.fixture(scope="module")
def together():
    """What lock-step finds, in every case."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulation, "_FEW", 0)
        return {case: simulated(*case) for case in product(JOBS, TIMES, SIZES)}


def test_interpreted_loop(together, monkeypatch):
    """The loop with heaps ends the same services at the same times, and draws the same numbers."""
    monkeypatch.setattr(simulation, "_FEW", math.inf)
    monkeypatch.setattr(simulation.LockStep, "_together", None)
    assert {case: simulated(*case) for case in together} == together


def test_compiled_loop(together, monkeypatch):
    """So does Numba's."""
    pytest.importorskip("numba")
    monkeypatch.setattr(simulation, "_COMPILED_FROM", 0)
    monkeypatch.setattr(simulation, "interpreted", None)
    assert {case: simulated(*case) for case in together} == together


@pytest.mark.parametrize(("steps", "asked"), [(499_999, False), (500_000, True)])
def test_numba_is_asked_for_from_a_size_on(monkeypatch, steps, asked):
    """Half a million events; where there is no Numba the interpreted loop goes on."""
    seen, taken = [], []
    monkeypatch.setattr(simulation, "compiled", seen.append)
    monkeypatch.setattr(simulation, "interpreted", lambda units, *_: taken.append(len(units) // 3))
    stages = cycle_of(JOBS["alone"])
    draws = Draws(stages, FIXED, 1, np.random.default_rng(0))
    simulation.LockStep(stages, draws, workers=1).run(steps)
    assert seen == [simulation.advance] * asked
    assert sum(taken) == steps

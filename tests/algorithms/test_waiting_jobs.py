"""Jobs that wait in classes: the first of those that may start is that of a walk through all."""

import math
import random

import pytest

from dlsched.algorithms import waiting_jobs
from dlsched.algorithms.waiting_jobs import WaitingJobs


@pytest.mark.parametrize("seed", range(30))
def test_first_as_of_a_walk(seed, monkeypatch):
    """Jobs come, mostly in the order of their places, and leave, mostly from the front, in small blocks and in large ones."""
    rng = random.Random(seed)
    monkeypatch.setattr(waiting_jobs, "_FEW", rng.choice([0, 64]))
    monkeypatch.setattr(waiting_jobs, "_BLOCK", rng.choice([1, 3, 16, 4096]))
    kinds = [(rng.choice([1, 2, 4]), rng.choice([0, 1])) for _ in range(300)]
    lengths_s = [float(rng.choice([1, 2, 5, 9, 30, 100])) for _ in kinds]
    slots = [1, 1]
    jobs, here = WaitingJobs(kinds, lengths_s, slots), []
    coming = sorted(range(300), key=lambda place: place + rng.choice([0, 0, 0, 20]))
    while coming or here:
        if coming and (not here or rng.random() < 0.6):
            here.append(coming.pop(0))
            jobs.add(here[-1])
        else:
            here.sort()
            leaving = here.pop(0 if rng.random() < 0.6 else rng.randrange(len(here)))
            jobs.remove(leaving)
        slots[1] = rng.choice([0, 1])
        after, now_s = rng.choice([-1, *here, 150]), rng.uniform(0, 9)
        rest = [place for place in sorted(here) if place > after and slots[kinds[place][1]]]
        assert jobs.rest(after) == rest
        assert jobs.first(after, now_s, None) == next(iter(rest), None)
        total, beside, until_s = rng.choice([0, 1, 4]), rng.choice([-1, 0, 1, 4]), rng.choice([now_s + 3, 40, math.inf])
        may = [
            place
            for place in rest
            if kinds[place][0] <= total and (kinds[place][0] <= beside or now_s + lengths_s[place] <= until_s)
        ]
        assert jobs.first(after, now_s, (total, beside, until_s)) == next(iter(may), None)
    assert not jobs.classes

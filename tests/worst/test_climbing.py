"""The search finds what is known by hand, keeps to its evaluations, and does better than as many random draws."""

import math
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from dlsched.worst.climbing import climb, sample, turns
from dlsched.worst.judging import Judge
from dlsched.worst.space import Data, DrawGenerated, Space

from .conftest import FAMILY, NONE, ONE, ring


def judge(method: object = ONE) -> Judge:
    """A judge of ring_allocation."""
    return Judge(FAMILY, method, FAMILY.method("exact"))  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(2))
def test_the_worst_ratio_is_found(seed: int, space: Space) -> None:
    """A hundred: 100 s on one GPU, 1 s on two; draws come near it once in ten thousand times."""
    ours, random = judge(), judge()
    climb(ours, space, 400, np.random.default_rng(seed))
    drawn = sample(random, space, 400, np.random.default_rng(seed))
    assert ours.evaluations == random.evaluations == 400
    assert ours.worst is not None
    assert ours.worst.ratio == pytest.approx(100, rel=0.01)
    assert drawn[0].ratio < 90
    assert drawn[0] == random.worst
    assert [each.ratio for each in drawn] == sorted((each.ratio for each in drawn), reverse=True)


def test_the_same_seed_finds_the_same(space: Space) -> None:
    """Another one something else on the way."""
    found = []
    for seed in (5, 5, 6):
        ours = judge()
        climb(ours, space, 60, np.random.default_rng(seed))
        assert ours.worst is not None
        found.append(ours.worst.data)
    assert found[0] == found[1] != found[2]


def test_what_is_without_bound_ends_it(space: Space) -> None:
    """Nothing is worse."""
    ours = judge(NONE)
    climb(ours, space, 400, np.random.default_rng(0))
    assert (ours.evaluations, ours.worst is not None and ours.worst.ratio) == (1, math.inf)


def test_plateaus_are_crossed(space: Space) -> None:
    """From one table in 50 steps of the whole number of GPUs, all with the same ratio, up to where it jumps."""

    def up(data: Data, generator: np.random.Generator) -> Data:
        return data | {"gpus": data["gpus"] + int(generator.choice([-1, 1]))}

    def repair(data: Data) -> Data | None:
        return data if 2 <= data["gpus"] <= 12 else None

    table = {"1": 8.0, "2": 4.0, "12": 1.0}
    walk = replace(space, draw=lambda generator: ring(table, gpus=2), numbers=[], members=[], moves=[up], repair=repair)
    ours = judge()
    climb(ours, walk, 300, np.random.default_rng(0))
    assert ours.worst is not None and ours.worst.ratio == 8.0


BAD, GOOD = {"1": 100.0, "2": 1.0}, {"1": 1.0, "2": 1.0}


def test_presets_are_drawn_too(space: Space) -> None:
    """What the space itself never draws, and no move leads to, is met where a preset draws it."""
    still = replace(space, draw=lambda generator: ring(GOOD, gpus=4), numbers=[], members=[])
    alone, ours = judge(), judge()
    climb(alone, still, 60, np.random.default_rng(0))
    climb(ours, replace(still, presets={"bad": lambda generator: ring(BAD, gpus=4)}), 60, np.random.default_rng(0))
    assert alone.worst is not None and alone.worst.ratio == 1.0
    assert ours.worst is not None and ours.worst.ratio == 100.0


def test_turns(space: Space) -> None:
    """The space every other time; a preset whose draw has no counterpart in it costs no evaluation."""
    presets: dict[str, DrawGenerated] = {"none": lambda generator: None, "bad": lambda generator: ring(BAD, gpus=4)}
    both = replace(space, presets=presets)
    none, bad = presets.values()
    assert list(islice(turns(both), 5)) == [space.draw, none, space.draw, bad, space.draw]
    assert list(islice(turns(space), 2)) == [space.draw, space.draw]
    ours = judge()
    met = sample(ours, both, 9, np.random.default_rng(0))
    assert ours.evaluations == 9 and met[0].data == ring(BAD, gpus=4)
    assert len(met) == 7  # the preset always draws the same, a third of the time


def test_what_drew_the_worst_draws_on(space: Space) -> None:
    """By turns each of three presets has a sixth of the draws; by what they find the bad one has most of the second half."""
    drawn = {"good": 0, "better": 0, "bad": 0}

    def preset(name: str) -> DrawGenerated:
        def draw(generator: np.random.Generator) -> Data:
            drawn[name] += 1
            return ring({"1": float(generator.uniform(50, 100)) if name == "bad" else 1.0, "2": 1.0}, gpus=4)

        return draw

    many = replace(space, draw=lambda generator: ring(GOOD, gpus=4), presets={name: preset(name) for name in drawn})
    sample(judge(), many, 120, np.random.default_rng(0), by_turns=0.5)
    assert drawn["bad"] > 10 + 40
    assert drawn["good"] >= 10 and drawn["better"] >= 10


def test_where_draws_are_no_instances_it_ends(space: Space) -> None:
    """After some hundred of them, and nothing is counted."""
    nowhere = replace(space, draw=lambda generator: {"format": "none"})
    ours = judge()
    climb(ours, nowhere, 400, np.random.default_rng(0))
    assert (ours.evaluations, ours.worst) == (0, None)
    still = replace(space, numbers=[], members=[])  # and where nothing can be moved
    climb(ours, still, 400, np.random.default_rng(0))
    assert 0 < ours.evaluations < 400 and ours.worst is not None

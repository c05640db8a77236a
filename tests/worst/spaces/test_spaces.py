"""Every space: draws, draws of presets, moves and simpler instances are of the family and in the space; misuse is refused."""

import copy
from typing import Any

import numpy as np
import pytest

from dlsched import FAMILIES
from dlsched.core.errors import UsageError
from dlsched.worst.moves import changes, moved
from dlsched.worst.spaces import Data, lists_at, numbers_at, space_of
from tests.worst.conftest import draws, instance_of

OPTIONS: dict[str, list[Data]] = {
    "async_sgd": [{}, {"jobs": 1, "gpus": 3}, {"preset": "mixed"}],
    "elastic_stream": [
        *({}, {"tables": "any", "counts": "all", "restart": 20.0}, {"jobs": 2, "gpus": 3}, {"preset": "bursts"})
    ],
    "ring_allocation": [{}, {"tables": "any", "counts": "all"}, {"jobs": 1, "gpus": 3}, {"preset": "table"}],
    "matching_placement": [
        *({}, {"jobs": 1, "gpus": 4}, {"jobs": 4, "gpus": 8}, {"limited": True}, {"objective": "max_rho"}),
        *({"objective": "alpha_fair", "alpha": 0.5, "gpus": 5}, {"preset": "few-types"}),
        {"preset": "published-rates", "jobs": 2, "gpus": 5},
    ],
    "srpt_mapping": [
        *({}, {"jobs": 1, "gpus": 16}, {"jobs": 4, "gpus": 1}, {"gpus": 40}, {"prediction_error": 3.0}),
        *({"sends": False, "gpus": 20}, {"preset": "communication-heavy"}),
        *({"preset": "published", "jobs": 2, "gpus": 12}, {"preset": "recurring", "prediction_error": 2.0}),
        *({"slicing": "A100-40GB"}, {"slicing": "shares", "sends": False, "gpus": 3}),
        {"slicing": "A100-40GB", "prediction_error": 2.0, "jobs": 2},
    ],
    "ring_embedding": [
        *({}, {"utility": "capped"}, {"utility": "sqrt", "jobs": 1}, {"utility": "log", "gpus": 3}),
        *({"servers": 2, "slots": 2}, {"preset": "small", "jobs": 3, "gpus": 4, "slots": 3}),
        {"preset": "general", "servers": 3},
    ],
}
EVERY = [(family, options) for family, listed in OPTIONS.items() for options in listed]
ALL_PRESETS = ("async_sgd", "elastic_stream", "ring_allocation")
"""Families whose spaces hold draws of every preset of the generator."""
WRONG: dict[str, list[tuple[Data, str]]] = {
    "async_sgd": [({"jobs": 0}, "jobs"), ({"gpus": -1}, "gpus"), ({"preset": "none"}, "preset")],
    "elastic_stream": [
        *(({"jobs": 0}, "jobs"), ({"gpus": 0}, "gpus"), ({"preset": "none"}, "preset"), ({"tables": "x"}, "tables")),
        *(({"counts": "x"}, "counts"), ({"restart": 100.0}, "restart"), ({"restart": -1.0}, "restart")),
    ],
    "ring_allocation": [
        *(({"jobs": 0}, "jobs"), ({"jobs": 27}, "jobs"), ({"gpus": 0}, "gpus"), ({"preset": "none"}, "preset")),
        *(({"tables": "concave"}, "tables"), ({"counts": "odd"}, "counts")),
    ],
    "matching_placement": [
        *(({"jobs": 0}, "jobs"), ({"jobs": 3, "gpus": 2}, "gpus"), ({"preset": "none"}, "preset")),
        *(({"objective": "median"}, "objective"), ({"alpha": 1.0}, "alpha")),
    ],
    "srpt_mapping": [
        *(({"jobs": 0}, "jobs"), ({"gpus": 0}, "gpus"), ({"preset": "none"}, "preset")),
        *(({"prediction_error": 0.5}, "prediction_error"), ({"preset": "mixed", "sends": False}, "sends")),
        *(({"slicing": "thirds"}, "slicing: found 'thirds'"), ({"preset": "mixed", "slicing": "shares"}, "slicing")),
    ],
    "ring_embedding": [
        *(
            ({"jobs": 0}, "jobs: found 0"),
            ({"slots": 0}, "slots: found 0"),
            ({"preset": "none"}, "preset: found 'none'"),
        ),
        ({"utility": "cubic"}, "utility: found 'cubic', allowed: sigmoid, capped, sqrt, log"),
        ({"utility": "sqrt", "preset": "paper"}, "utility: found 'sqrt' with the preset paper"),
        ({"gpus": 4, "servers": 2, "preset": "small"}, "servers: found 2 and 4 gpus"),
    ],
}
every_space = pytest.mark.parametrize(("family", "options"), EVERY, ids=str)


def test_every_family_is_here() -> None:
    """A new family is tested, too."""
    assert OPTIONS.keys() == WRONG.keys() == set(FAMILIES)


@every_space
def test_draws_are_in_the_space(family: str, options: Data) -> None:
    """Draws are feasible instances that repair leaves as they are, and the same seed draws the same."""
    space = space_of(family, **options)
    for seed, data in enumerate(draws(space, 25)):
        assert space.draw(np.random.default_rng(seed)) == data
        assert space.family.infeasible(instance_of(data)) is None
        before = copy.deepcopy(data)
        assert space.repair(data) == before == data


@every_space
def test_draws_of_presets_are_in_the_space(family: str, options: Data) -> None:
    """In its figures, sizes and ranges, and the same seed draws the same; with a preset of one's own there are no others."""
    space = space_of(family, **options)
    assert bool(space.presets) == ("preset" not in options)
    assert family not in ALL_PRESETS or space.presets.keys() == (
        set() if "preset" in options else {*space.family.presets}
    )
    for name, draw in space.presets.items():
        met = [(seed, data) for seed in range(10) if (data := draw(np.random.default_rng(seed))) is not None]
        assert met, f"{name} never draws what lies in the space"
        for seed, data in met:
            assert draw(np.random.default_rng(seed)) == data
            assert space.family.infeasible(instance_of(data)) is None
            assert space.repair(data) == data
            for number in space.numbers:
                assert all(value == 0 or number.low <= value <= number.high for _, value in numbers_at(data, number))
            for path, fewest, most in space.members:
                assert all(fewest <= len(entries) <= most for entries in lists_at(data, path))
        assert len({repr(data) for _, data in met}) > 1, f"{name} always draws the same"


@every_space
def test_changes_stay_in_the_space(family: str, options: Data) -> None:
    """Moves and steps of shrinking leave the data as they are, change some, and after repair are in the space."""
    space = space_of(family, **options)
    moves = changed = 0
    for seed, data in enumerate(draws(space, 30)):
        before = copy.deepcopy(data)
        step = moved(space, data, np.random.default_rng(seed))
        moves += step is not None
        ways = changes(space, data)
        stride = max(1, len(ways) // 10)  # about ten of each draw, others from draw to draw
        simpler = [result for way in ways[seed % stride :: stride] if (result := way(data)) is not None]
        changed += any(each != before for each in simpler)
        assert data == before
        for each in [*simpler, *([] if step is None else [step])]:
            repaired = space.repair(each)
            if repaired is not None:
                assert space.repair(repaired) == repaired
                instance_of(repaired)
    assert moves and changed


@pytest.mark.parametrize(
    ("family", "options", "words"),
    [(family, options, words) for family, listed in WRONG.items() for options, words in listed],
)
def test_options_out_of_range_are_refused(family: str, options: dict[str, Any], words: str) -> None:
    """The option is named."""
    with pytest.raises(UsageError, match=words):
        space_of(family, **options)

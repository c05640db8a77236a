"""``generate`` of every family: reproducible from seed and command, by name, and what it refuses."""

import math
import shlex
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Ended

import dlsched
from dlsched.families import FAMILIES

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "ring_allocation": [{"jobs": 7, "max_gpus": 5}],
    "elastic_stream": [{"jobs": 7, "gpus": 9, "load": 0.5}],
    "matching_placement": [{"jobs": 7, "gpus": 9}],
    "srpt_mapping": [{"jobs": 7, "gpus": 9, "load": 1.5}],
    "ring_embedding": [{"jobs": 5, "servers": 6, "slots": 3}, {"jobs": 5, "gpus": 7, "slots": 3}],
    "async_sgd": [{"jobs": 3, "nodes": 7, "max_nodes": 2}],
}
"""Sizes other than by default, so that the source has to name them."""
PRESETS = [(family, preset) for family, record in FAMILIES.items() for preset in record.presets]
INTEGER = "allowed: an integer >="
NUMBER = "allowed: a number >"
WRONG: dict[str, list[tuple[dict[str, Any], str]]] = {
    "ring_allocation": [
        ({"gpus": 0}, f"gpus: found 0, {INTEGER} 1"),
        ({"max_gpus": 0}, f"max_gpus: found 0, {INTEGER} 1"),
    ],
    "elastic_stream": [
        *(({"gpus": 0}, f"gpus: found 0, {INTEGER} 1"), ({"max_gpus": 0}, f"max_gpus: found 0, {INTEGER} 1")),
        *(({"load": 0.0}, f"load: found 0.0, {NUMBER} 0"), ({"tick": math.inf}, f"tick: found inf, {NUMBER} 0")),
    ],
    "matching_placement": [
        *(({"gpus": 0}, f"gpus: found 0, {INTEGER} 1"), ({"jobs": 4, "gpus": 3}, f"gpus: found 3, {INTEGER} jobs = 4")),
    ],
    "srpt_mapping": [
        ({"gpus": 0}, f"gpus: found 0, {INTEGER} 1"),
        *(({"load": 0.0}, f"load: found 0.0, {NUMBER} 0"), ({"load": math.inf}, f"load: found inf, {NUMBER} 0")),
        ({"load": 1e-300}, "load: found 1e-300, allowed: one at which arrivals span up to 1e15 s"),
    ],
    "ring_embedding": [
        *(({"gpus": 0}, f"gpus: found 0, {INTEGER} 1"), ({"servers": 0}, f"servers: found 0, {INTEGER} 1")),
        *(
            ({"slots": 0}, f"slots: found 0, {INTEGER} 1"),
            ({"servers": 2, "gpus": 3}, "servers: found 2 and 3 gpus, allowed:"),
        ),
        *(({"preset": "fair", "alpha": each}, f"alpha: found {each}, {NUMBER}= 0") for each in (-1.0, math.nan)),
        ({"alpha": 1}, "alpha: found 1.0 for the preset paper, allowed: for energy, paper-energy, paper-al"),
        (
            {"preset": "fair", "energy_price": 1.0},
            "energy_price: found 1.0 for the preset fair, allowed: for energy, paper-energy",
        ),
    ],
    "async_sgd": [
        ({"nodes": 0}, f"nodes: found 0, {INTEGER} 1"),
        *(({"max_nodes": each}, f"max_nodes: found {each}, allowed: an integer") for each in (0, 1.5)),
    ],
}


def test_every_family_is_here() -> None:
    """A new family is tested, too."""
    assert OPTIONS.keys() == WRONG.keys() == set(FAMILIES)


@pytest.mark.parametrize(("family", "preset"), PRESETS)
def test_the_source_is_the_command(family: str, preset: str, cli: Callable[..., Ended]) -> None:
    """The first line of the source writes the same instance again; the name holds preset, number of jobs and seed."""
    for sizes in ({}, *OPTIONS[family]):
        instance = FAMILIES[family].generate(preset=preset, seed=5, **sizes)
        program, *arguments = shlex.split(instance.source.splitlines()[0])
        assert program == "dlsched"
        assert cli(*arguments).json == instance.as_data()
        assert instance.name.startswith(f"{preset}-{len(instance.jobs)}x") and instance.name.endswith("-seed5")
        assert len(instance.jobs) == sizes.get("jobs", len(instance.jobs))


@pytest.mark.parametrize("family", FAMILIES)
def test_it_is_the_generator_of_the_family(family: str) -> None:
    """``dlsched.generate`` draws the first preset by default; the same arguments, the same instance."""
    record = FAMILIES[family]
    preset = next(iter(record.presets))
    assert dlsched.generate(family, seed=5).sha256 == record.generate(preset=preset, seed=5).sha256
    assert dlsched.generate(family, preset=preset, seed=5).sha256 == dlsched.generate(family, seed=5).sha256


@pytest.mark.parametrize("family", FAMILIES)
def test_arguments_out_of_range_are_misuse(family: str) -> None:
    """UsageError says what was found and what is allowed."""
    record = FAMILIES[family]
    listed = ", ".join(record.presets)[:20]
    shared = [
        ({"preset": "none"}, f"preset: found 'none', allowed: {listed}"),
        ({"seed": -1}, f"seed: found -1, {INTEGER} 0"),
    ]
    shared += [({"jobs": each}, f"jobs: found {each}, {INTEGER} 1") for each in (0, -3)]
    for arguments, message in (*shared, *WRONG[family]):
        with pytest.raises(dlsched.UsageError) as caught:
            record.generate(**arguments)
        assert message in str(caught.value)

"""Between what the numbers of instances are drawn: a record of each, once a family, from which every drawer takes its ends."""

import math
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from dlsched import FAMILIES
from dlsched.catalogue.families import space
from dlsched.cli.instances import instance_schema
from dlsched.core.ranges import NOTHING, Range, Ranges
from dlsched.worst.spaces import space_of

NAMES = [family for family in FAMILIES if space(family) is not None]
"""Families with a space of worst instances: several draw their numbers."""
FROM_SIZES: dict[str, set[str]] = {
    "async_sgd": {"nodes"},
    "elastic_stream": {"units", "jobs[].max_gpus"},
    "ring_allocation": {"gpus", "jobs[].current_gpus"},
    "ring_embedding": {"slots", "jobs[].arrival_slot"},
    "srpt_mapping": {
        *("jobs[].stages[].replicas", "jobs[].begun[].stage", "jobs[].begun[].replicas"),
        *("jobs[].begun[].gpu", "jobs[].begun[].gpus[]", "jobs[].begun[].slot"),
        *("servers[].slicing.slots", "servers[].slicing.profiles[].size", "servers[].slicing.profiles[].starts[]"),
    },
}
"""Counts that follow from how large an instance is to be, which is an argument of whoever draws it, or from a GPU's slots."""
FROM_OPTIONS = {
    "elastic_stream": {"jobs[].restart_s"},
    "matching_placement": {"jobs[].min_workers", "jobs[].max_workers"},
    "srpt_mapping": {"jobs[].stages[].replicas", "jobs[].predicted_iterations"},
    "ring_embedding": {"jobs[].max_workers", "slots"},
}
"""Numbers whose ends a search takes from its options."""


def ranges_of(family: str) -> Ranges:
    """The record of a family."""
    ranges: Ranges = import_module(f"dlsched.{family}.instance").RANGES
    return ranges


def numbers_of(schema: dict[str, Any], within: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every number of a JSON schema: its path, and what the schema says of it."""
    if "$ref" in within:
        within = schema["$defs"][within["$ref"].rpartition("/")[2]]
    if within.get("type") in ("number", "integer"):
        yield path, within
    parts = [("", each) for kind in ("anyOf", "oneOf") for each in within.get(kind, ())]
    parts += [(f".{name}" if path else name, each) for name, each in within.get("properties", {}).items()]
    parts += [("[]", each) for each in (within.get("items"), *within.get("prefixItems", ())) if isinstance(each, dict)]
    parts += [("{}", each) for each in [within.get("additionalProperties")] if isinstance(each, dict)]
    for step, part in parts:
        yield from numbers_of(schema, part, path + step)


def fields_of(family: str) -> dict[str, dict[str, Any]]:
    """The numbers of a family's files, by path; not what is known of the optimum."""
    schema = instance_schema(FAMILIES[family])
    return {path: said for path, said in numbers_of(schema, schema) if not path.startswith("known.")}


@pytest.mark.parametrize("family", NAMES)
def test_every_number_of_a_family_has_a_range(family: str) -> None:
    """A new field is forgotten by no drawer, and no range outlives its field."""
    fields, sizes = {*fields_of(family)}, FROM_SIZES.get(family, set())
    assert {*ranges_of(family)} == fields - sizes and sizes <= fields


@pytest.mark.parametrize("family", NAMES)
def test_what_is_drawn_is_allowed(family: str) -> None:
    """By the instance and by the type of the field: the ends of every range, and every value; the least comes first."""
    fields = fields_of(family)
    for path, drawn in ranges_of(family).items():
        ends = [each for each in (drawn.usual, drawn.searched, drawn.of_presets, drawn.tested) if each != NOTHING]
        assert all(least <= most for least, most in (drawn.allowed, *ends)), path
        assert drawn != Range(), f"{path}: nobody draws it"
        for value in (*(end for pair in ends for end in pair), *drawn.choices, *drawn.ties, *drawn.edges):
            assert drawn.allows(value), (path, value)
            assert fields[path].get("minimum", 0) <= value <= fields[path].get("maximum", math.inf), (path, value)
            assert fields[path]["type"] == "number" or value == int(value), (path, value)


@pytest.mark.parametrize("family", NAMES)
@pytest.mark.parametrize("preset", [False, True])
def test_searches_take_their_ends_from_the_record(family: str, preset: bool) -> None:
    """Without a preset and with one; a range is searched of whatever the space changes."""
    ranges, named = ranges_of(family), next(iter(FAMILIES[family].presets)) if preset else None
    made, known = space_of(family, preset=named), FROM_SIZES.get(family, set()) | FROM_OPTIONS.get(family, set())
    own = [number for number in made.numbers if number.path not in known]
    assert own
    for number in own:
        drawn = ranges[number.path]
        expected = drawn.of_presets if preset and drawn.of_presets != NOTHING else drawn.searched
        assert (number.low, number.high) == expected, number.path

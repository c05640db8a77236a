"""Records of objectives: what they name is there, they refuse what they say, and serve all else."""

from collections.abc import Mapping
from dataclasses import fields

import pytest

import dlsched
from dlsched.core.errors import UsageError
from dlsched.core.objective import Late, Objective, served_by
from dlsched.core.status import Sense
from dlsched.families import FAMILIES, objective_name
from dlsched.matching_placement import objectives as placement
from dlsched.ring_embedding import objectives as rings

RECORDS = [
    *(("ring_embedding", record) for record in (*rings.OBJECTIVES.values(), rings.NET)),
    *(("matching_placement", record) for record in placement.OBJECTIVES.values()),
]
of_instances = pytest.mark.parametrize(
    ("family", "record"),
    [(family, record) for family, record in RECORDS if record is not rings.NET],
    ids=lambda each: each if isinstance(each, str) else each.name,
)


def instance_of(family, record):
    """The family's example with that objective."""
    alpha = {"alpha": 2.0} if record.name == "alpha_fair" else {}
    example = FAMILIES[family].example()
    return type(example)(**example.model_dump(exclude={"known"}) | {"objective": record.name} | alpha)


@pytest.mark.parametrize(("family", "record"), RECORDS)
def test_all_that_a_record_names_is_there(family, record):
    """Functions of the family, found by their names."""
    named = [getattr(record, field.name) for field in fields(record)]
    named += [each for held in named if isinstance(held, Mapping) for each in held.values()]
    late = [each for each in named if isinstance(each, Late)]
    assert len(late) >= 6
    for each in late:
        assert each.target.startswith(f"{family}.") and callable(each.load()), each.target


@of_instances
def test_an_instance_has_its_objective(family, record):
    """Name, sense and unit are those of its record, whose value is the checker's."""
    instance, held = instance_of(family, record), FAMILIES[family]
    assert objective_name(instance).split()[0] == record.name
    assert (held.sense_for(instance), held.unit_for(instance)) == (record.sense, record.unit)
    found = dlsched.solve(instance)
    assert record.value(instance, found.solution) == found.objective == held.objective(instance, found.solution)


@of_instances
def test_methods_refuse_what_the_record_says(family, record):
    """Those named, by a usage error with the objective and those that can be served; no other."""
    instance, methods = instance_of(family, record), FAMILIES[family].methods
    assert set(record.refused) <= set(methods)
    for name in methods:
        if name not in record.refused:
            dlsched.solve(instance, method=name, limits=dlsched.Limits(nodes=0))
            continue
        allowed = served_by(name, (each for of, each in RECORDS if of == family and each is not rings.NET))
        with pytest.raises(
            UsageError, match=f"{name}: found .*{record.name}.*, allowed: {allowed}; .*{record.instead}"
        ):
            dlsched.solve(instance, method=name)


def test_late_functions_and_names_by_hand():
    """A function is called with what it is given; objectives are listed in their order."""
    assert Late("core.gap:gap").load() is dlsched.gap
    one, two = (
        Objective(name=name, sense=Sense.MINIMIZE, unit="s", value=lambda instance, solution: 0.0, refused=refused)
        for name, refused in (("one", ("quick",)), ("two", ()))
    )
    assert served_by("quick", [one, two]) == "two" and served_by("slow", [one, two]) == "one, two"

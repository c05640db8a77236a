"""The shipped instances of each family: enough of every kind, and their optima proven by code bases of others."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Ended
from shipped import assert_proven_again, each_of, files, known

import dlsched
from dlsched import Limits
from dlsched.async_sgd.costs import cost_table as nodes_table
from dlsched.elastic_stream import area, length
from dlsched.elastic_stream.certificate import verify
from dlsched.matching_placement.arrays import arrays
from dlsched.matching_placement.formulations.milp import count_configurations
from dlsched.ring_allocation.costs import cost_table as gpus_table
from dlsched.testing import brute_force_async

LARGE = 120
"""Jobs of a stream from which on eight linear programs take seconds."""
PAIRS = 10_000
"""Pairs of job and count, of the largest that CBC and SCIP are asked for."""
CONFIGURATIONS = {"highs": 200_000, "cbc": 10_000, "scip": 10_000}
"""Of the largest placement that each solver is asked for."""
GANG_SERVERS = 8
"""On more there are too many layouts of gangs."""


def ring_size(instance: Any) -> int:
    """Jobs, servers and slots, multiplied."""
    return len(instance.jobs) * len(instance.servers) * instance.slots


def configurations(instance: Any) -> int:
    """How many columns the model by configurations has."""
    data = arrays(instance)
    return sum(count_configurations(data, job) for job in range(data.jobs))


SMALL: dict[str, dict[tuple[str, str | None], Callable[[Any], bool]]] = {
    "ring_embedding": {
        ("milp", "highs"): lambda instance: ring_size(instance) <= 100,
        ("circuit", None): lambda instance: ring_size(instance) <= 240,
    },
    "srpt_mapping": {
        ("milp", "highs"): lambda instance: len(instance.jobs) <= 5 and len(instance.servers) <= GANG_SERVERS,
        ("intervals", None): lambda instance: len(instance.servers) <= GANG_SERVERS,
    },
    "matching_placement": {
        ("milp", solver): lambda instance, most=most: configurations(instance) <= most
        for solver, most in CONFIGURATIONS.items()
    },
    "elastic_stream": {("milp", "highs"): lambda instance: instance.tick_s is not None},
    **{
        family: {
            ("milp", "highs"): lambda instance: True,
            ("milp", "cbc"): lambda instance, table=table: table(instance).pairs <= PAIRS,
            ("milp", "scip"): lambda instance, table=table: table(instance).pairs <= PAIRS,
        }
        for family, table in (("ring_allocation", gpus_table), ("async_sgd", nodes_table))
    },
}
"""By family and method with solver: the instances that it proves within minutes."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "method", "solver"),
    [
        pytest.param(path, method, solver, id=f"{path.stem}-{method}-{solver}")
        for family, routes in SMALL.items()
        for method, solver in routes
        for path in files(family)
    ],
)
def test_known_optimum_by_another_code_base(path: Path, method: str, solver: str | None) -> None:
    """HiGHS, CBC, SCIP and CP-SAT prove the stated optima of small instances, on models of their own."""
    instance = known(path)
    if not SMALL[instance.family][method, solver](instance):
        pytest.skip("too large, or without a model for this solver")
    assert_proven_again(instance, method, solver)


@pytest.mark.parametrize(
    ("family", "optima"), [("ring_embedding", 12), ("matching_placement", 15), ("async_sgd", len(files("async_sgd")))]
)
def test_there_are_enough_optima(family: str, optima: int) -> None:
    """Optima are known of at least so many; of async_sgd of all."""
    assert sum(dlsched.read(path).known.optimum is not None for path in files(family)) >= optima


def test_there_are_small_and_large_allocations() -> None:
    """At least twenty, from two jobs on six GPUs to ten thousand on 65,536."""
    instances = [dlsched.read(path) for path in files("ring_allocation")]
    sizes = [(len(instance.jobs), instance.gpus) for instance in instances]
    assert len(sizes) >= 20
    assert (2, 6) in sizes and (10_000, 65_536) in sizes


def test_there_are_placements_with_measured_rates() -> None:
    """At least four with A100s."""
    instances = [dlsched.read(path) for path in files("matching_placement")]
    assert sum(any(worker.type == "A100" for worker in instance.workers) for instance in instances) >= 4


@each_of("elastic_stream")
def test_known_bounds_after_some_rounds(path: Path) -> None:
    """Eight linear programs prove more than area and length; stream and bound do not contradict what is known.

    ``tests/test_instances.py`` proves the bounds again in full.
    """
    instance = dlsched.read(path)
    if instance.known.optimum is not None:
        pytest.skip("its optimum is known")
    if len(instance.jobs) > LARGE:
        pytest.skip("a large one: its bounds are proven again in full only")
    result = dlsched.solve(instance, limits=Limits(nodes=8))
    assert result.status == "node_limit"
    assert max(area(instance).value, length(instance).value) < result.bound <= instance.known.upper
    assert result.objective >= instance.known.lower
    assert result.bound == result.certificate.value <= verify(instance, result.certificate)


@each_of("async_sgd", "*seed*")
def test_generated_ones_are_what_the_command_writes(path: Path, cli: Callable[..., Ended]) -> None:
    """The command in ``source`` prints the file, ``known`` left out."""
    data = json.loads(path.read_text(encoding="utf-8"))
    del data["known"]
    program, *arguments = data["source"].splitlines()[0].split()
    assert program == "dlsched"
    assert cli(*arguments).json == data


@pytest.mark.parametrize(
    "path", [path for path in files("async_sgd") if "seed" not in path.stem], ids=lambda path: path.stem
)
def test_known_optimum_by_brute_force(path: Path) -> None:
    """Every allocation tried, with throughputs by convolution in fractions."""
    instance = dlsched.read(path)
    optimum, _ = brute_force_async(instance)
    assert optimum == pytest.approx(instance.known.optimum, rel=1e-12)

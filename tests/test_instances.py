"""The shipped instances: valid, sourced, and their stated optima proven again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Ended

import dlsched
from dlsched import FAMILIES
from dlsched.async_sgd.costs import cost_table as node_table
from dlsched.core.tolerance import MEETING
from dlsched.matching_placement.arrays import arrays
from dlsched.matching_placement.configurations.listing import count_configurations
from dlsched.ring_allocation.costs import cost_table
from dlsched.testing import brute_force_async

ROOT = Path(__file__).parent.parent / "instances"
FILES = sorted(ROOT.glob("*/*.json"))
MET = ("paper-sqrt-100x50x200-seed1",)
"""Where ``exact`` ends as its bound meets the answer held, and a better answer is known within that tolerance."""


def test_there_are_enough() -> None:
    """At least twenty of ring_allocation, from two jobs to ten thousand on 65,536 GPUs; streams, placements."""
    data = [json.loads(path.read_text(encoding="utf-8")) for path in FILES]
    sizes = [(len(file["jobs"]), file["gpus"]) for file in data if file["format"] == "dlsched/ring_allocation/1"]
    assert len(sizes) >= 20
    assert (2, 6) in sizes and (10_000, 65_536) in sizes
    streams = [file for file in data if file["format"] == "dlsched/elastic_stream/1"]
    assert len(streams) >= 12 and sum("optimum" in file["known"] for file in streams) >= 4
    placements = [file for file in data if file["format"] == "dlsched/matching_placement/1"]
    assert len(placements) >= 15 and sum("optimum" in file["known"] for file in placements) >= 15
    gangs = [file for file in data if file["format"] == "dlsched/srpt_mapping/1"]
    assert len(gangs) >= 12 and sum("optimum" in file["known"] for file in gangs) >= 8
    rings = [file for file in data if file["format"] == "dlsched/ring_embedding/1"]
    assert len(rings) >= 12 and sum("optimum" in file["known"] for file in rings) >= 12
    servers = [file for file in data if file["format"] == "dlsched/async_sgd/1"]
    assert len(servers) >= 12 and all("optimum" in file["known"] for file in servers)
    assert sum(any(worker["type"] == "A100" for worker in file["workers"]) for file in placements) >= 4


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_the_example_is_shipped(family: Any) -> None:
    """The example of each family lies among its instances, solved."""
    example = family.example()
    assert dlsched.read(ROOT / family.name / f"{example.name}.json").sha256 == example.sha256


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_known_is_proven_again(path: Path) -> None:
    """The exact method finds the stated optimum, or the stated bounds; its certificate holds; the README lists the file."""
    instance = dlsched.read(path)
    result = dlsched.solve(instance)
    if instance.known.optimum is not None:
        assert result.status == "optimal"
        near = MEETING if path.stem in MET else 1e-12
        assert result.objective == pytest.approx(instance.known.optimum, rel=near)
    else:
        assert result.status == "feasible"
        lower, upper = sorted((result.objective, result.bound))
        assert upper == pytest.approx(instance.known.upper, rel=1e-12)
        assert lower == pytest.approx(instance.known.lower, rel=1e-12)
    assert instance.known.proof and (instance.source or path.stem == FAMILIES[instance.family].example().name)
    verified = FAMILIES[instance.family].verify(instance, result.certificate)
    maximising = FAMILIES[instance.family].sense is dlsched.Sense.MAXIMIZE
    assert verified <= result.certificate.value if maximising else verified >= result.certificate.value
    assert f"`{path.name}`" in (path.parent / "README.md").read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("solver", ["highs", "cbc", "scip"])
def test_known_optimum_by_another_code_base(path: Path, solver: str) -> None:
    """HiGHS proves stated optima, of placements those of few configurations; CBC and SCIP those of at most 10,000 pairs."""
    instance = dlsched.read(path)
    if instance.known.optimum is None:
        pytest.skip("its optimum is not known")
    if instance.family == "elastic_stream":
        if solver != "highs" or instance.tick_s is None:
            pytest.skip("streams with ticks are proven by HiGHS")
    elif instance.family == "matching_placement":
        data = arrays(instance)
        if sum(count_configurations(data, job) for job in range(data.jobs)) > (
            200_000 if solver == "highs" else 10_000
        ):
            pytest.skip("too many configurations for this solver")
    elif instance.family == "srpt_mapping":
        if solver != "highs" or len(instance.jobs) > 5 or len(instance.servers) > 8:
            pytest.skip("HiGHS proves few gangs on few servers; CP-SAT proves more in a test of its own")
    elif instance.family == "ring_embedding":
        if solver != "highs" or len(instance.jobs) * len(instance.servers) * instance.slots > 100:
            pytest.skip("HiGHS proves small ones; CP-SAT proves more in a test of its own")
    elif solver != "highs":
        table = node_table(instance) if instance.family == "async_sgd" else cost_table(instance)
        if table.pairs > 10_000:
            pytest.skip("too large for this solver")
    result = dlsched.solve(instance, method="milp", solver=solver)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(instance.known.optimum, rel=1e-9)


@pytest.mark.long
@pytest.mark.parametrize(
    "path", [path for path in FILES if path.parent.name == "srpt_mapping"], ids=lambda path: path.stem
)
def test_known_optimum_of_gangs_by_intervals(path: Path) -> None:
    """CP-SAT proves the stated optima on its own model, and never more than the stated upper bounds."""
    instance = dlsched.read(path)
    if instance.known.optimum is None or len(instance.servers) > 8:
        pytest.skip("its optimum is not known, or it has too many layouts")
    result = dlsched.solve(instance, method="intervals")
    assert result.status == "optimal"
    assert result.objective == pytest.approx(instance.known.optimum, rel=1e-9)


@pytest.mark.long
@pytest.mark.parametrize(
    "path", [path for path in FILES if path.parent.name == "ring_embedding"], ids=lambda path: path.stem
)
def test_known_optimum_of_rings_by_circuits(path: Path) -> None:
    """CP-SAT proves the stated optima of small ones on its own model."""
    instance = dlsched.read(path)
    if instance.known.optimum is None or len(instance.jobs) * len(instance.servers) * instance.slots > 240:
        pytest.skip("its optimum is not known, or it is too large")
    result = dlsched.solve(instance, method="circuit")
    assert result.status == "optimal"
    assert result.objective == pytest.approx(instance.known.optimum, rel=1e-9)


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if path.parent.name == "async_sgd" and "seed" in path.stem],
    ids=lambda path: path.stem,
)
def test_generated_nodes_are_what_the_command_writes(path: Path, cli: Callable[..., Ended]) -> None:
    """The command in ``source`` prints the file, ``known`` left out."""
    data = json.loads(path.read_text(encoding="utf-8"))
    del data["known"]
    program, *arguments = data["source"].splitlines()[0].split()
    assert program == "dlsched"
    assert cli(*arguments).json == data


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if path.parent.name == "async_sgd" and "seed" not in path.stem],
    ids=lambda path: path.stem,
)
def test_known_optimum_of_nodes_by_brute_force(path: Path) -> None:
    """Every allocation tried, with throughputs by convolution in fractions."""
    instance = dlsched.read(path)
    optimum, _ = brute_force_async(instance)
    assert optimum == pytest.approx(instance.known.optimum, rel=1e-12)

"""Random instances of rings: reproducible, valid, of the sizes asked for, within the ranges that their presets state."""

import json
from collections import Counter

import networkx
import numpy as np
import pytest

from dlsched.core.errors import UsageError
from dlsched.ring_embedding.checker import check, objective, worth
from dlsched.ring_embedding.generator import PRESETS, example, generate
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.solution import Embedding

every_preset = pytest.mark.parametrize("preset", PRESETS)
papers = pytest.mark.parametrize("preset", ["paper", "paper-sqrt", "paper-log"])
others = pytest.mark.parametrize("preset", [preset for preset in PRESETS if not preset.startswith("paper")])
SEEDS = range(12)
GBIT = 1.25e8
SIZES = {
    **dict.fromkeys(["paper", "paper-sqrt", "paper-log"], (100, 50, 200)),
    **{"slot": (20, 20, 1), "small": (4, 4, 4), "mixed": (10, 8, 6), "general": (8, 8, 4), "fat-tree": (12, 16, 10)},
}


def figures(instance):
    """Every figure that was drawn and rounded."""
    for job in instance.jobs:
        utility = job.utility.model_dump()
        yield from (value for name, value in utility.items() if name != "kind")
        yield from (job.rate, job.bandwidth_bytes_per_s)
    for link in instance.links:
        yield link.bandwidth_bytes_per_s


def gpus(instance):
    """GPUs of each server."""
    return [server.capacity["gpu"] for server in instance.servers]


def within(values, low, high):
    """Whether all values lie between, which rounding to four digits does not change."""
    return all(low <= value <= high for value in values)


def beside(instance):
    """How many servers each switch has."""
    servers = {server.id for server in instance.servers}
    return Counter(link.ends[1] for link in instance.links if link.ends[0] in servers)


@every_preset
def test_same_arguments_same_bytes(preset):
    """The same seed gives the same JSON, another seed another; the name says the sizes, the source the command."""
    sizes = {"jobs": 5, "servers": 6, "slots": 3}
    texts = [json.dumps(generate(preset=preset, seed=seed, **sizes).as_data()) for seed in (5, 5, 6)]
    assert texts[0] == texts[1] != texts[2]
    instance = generate(preset=preset, seed=5, **sizes)
    assert instance.name == f"{preset}-5x6x3-seed5"
    command = f"dlsched generate ring_embedding --preset {preset} --jobs 5"
    assert instance.source == f"{command} --servers 6 --slots 3 --seed 5"
    counted = generate(preset=preset, jobs=5, gpus=7, slots=3, seed=5)
    assert counted.source == f"{command} --gpus 7 --slots 3 --seed 5"


@every_preset
def test_default_sizes(preset):
    """Jobs, servers and slots that the preset states; the source's command gives the same."""
    instance = generate(preset=preset, seed=2)
    jobs, servers, slots = SIZES[preset]
    assert (len(instance.jobs), len(instance.servers), instance.slots) == (jobs, servers, slots)
    again = generate(preset=preset, jobs=jobs, servers=servers, slots=slots, seed=2)
    assert again.as_data() == instance.as_data()


@every_preset
@pytest.mark.parametrize(("jobs", "servers", "slots"), [(1, 1, 1), (3, 2, 4), (17, 23, 40)])
def test_every_preset_is_valid(preset, jobs, servers, slots):
    """As many as asked for; written and read again it is the same; running nothing is feasible."""
    for seed in SEEDS:
        instance = generate(preset=preset, jobs=jobs, servers=servers, slots=slots, seed=seed)
        data = json.loads(json.dumps(instance.as_data()))
        del data["format"]
        assert Instance(**data).sha256 == instance.sha256
        assert [job.id for job in instance.jobs] == [f"j{index}" for index in range(jobs)]
        assert [server.id for server in instance.servers] == [f"s{index}" for index in range(servers)]
        assert instance.slots == slots
        arrivals = [job.arrival_slot for job in instance.jobs]
        assert arrivals == sorted(arrivals) and within(arrivals, 1, slots)
        assert check(instance, Embedding({})) == []


@every_preset
@pytest.mark.parametrize("total", [1, 61])
def test_as_many_gpus_as_asked_for(preset, total):
    """On as many servers as hold them."""
    for seed in SEEDS:
        assert sum(gpus(generate(preset=preset, jobs=3, gpus=total, slots=5, seed=seed))) == total


@every_preset
def test_figures_are_plain(preset):
    """Four digits, but for the bundles of a fat tree, which are multiples of its links."""
    for seed in SEEDS:
        instance = generate(preset=preset, jobs=10, servers=10, seed=seed)
        unit = min(link.bandwidth_bytes_per_s for link in instance.links) if preset == "fat-tree" else None
        for value in figures(instance):
            assert value == float(f"{value:.4g}") or (unit is not None and value % unit == 0)


@papers
def test_ranges_of_the_paper(preset):
    """GPUs, racks, N_i, F_i, zeta_i, b_i and bandwidths as in its section on experiments; nearly all of each range occurs."""
    jobs, links, racks, servers = [], [], set(), set()
    for seed in range(4):
        instance = generate(preset=preset, seed=seed)
        jobs += instance.jobs
        links += instance.links
        racks |= set(beside(instance).values())
        servers |= set(gpus(instance))
    assert servers == {1.0, 2.0, 4.0, 8.0} and racks == {2, 3, 4, 5}
    assert {job.max_workers for job in jobs} == {1, 2, 3, 4, 5} and {job.demand["gpu"] for job in jobs} == {1.0}
    core = [link.bandwidth_bytes_per_s / GBIT for link in links if link.ends[1] == "core"]
    rest = [link.bandwidth_bytes_per_s / GBIT for link in links if link.ends[1] != "core"]
    for values, low, high in (
        ([job.budget["gpu"] for job in jobs], 1000, 6000),
        ([job.rate for job in jobs], 50, 500),
        ([job.bandwidth_bytes_per_s / GBIT for job in jobs], 0.1, 5),
        (core, 200, 3200),
        (rest, 10, 100),
    ):
        assert within(values, low, high)
        assert min(values) < low + 0.2 * (high - low) and max(values) > high - 0.2 * (high - low)


def test_sigmoids_of_the_paper():
    """Heights of 1 to 100, steepness in (0, 1], midpoints of 300 to 3000."""
    for seed in range(4):
        for job in generate(preset="paper", seed=seed).jobs:
            utility = job.utility
            assert utility.kind == "sigmoid" and 1 <= utility.height <= 100
            assert 0 < utility.steepness <= 1 and 300 <= utility.midpoint <= 3000


@pytest.mark.parametrize(("preset", "kind"), [("paper-sqrt", "sqrt"), ("paper-log", "log")])
def test_concave_utilities_of_the_size_of_the_paper(preset, kind):
    """Worth 1 to 100 with all workers in all 200 slots, up to rounding."""
    for job in generate(preset=preset, seed=1).jobs:
        assert job.utility.kind == kind
        assert 0.999 <= worth(job, 200 * job.max_workers) <= 100.1


@papers
def test_jobs_come_in_bursts(preset):
    """From slot 1 on, some in the last quarter of the first three; more often in one slot than if they came evenly."""
    arrivals = [job.arrival_slot for job in generate(preset=preset, seed=3).jobs]
    assert arrivals[0] <= 5 and arrivals[-1] > 75
    assert sum(count > 1 for count in Counter(arrivals).values()) >= 15
    assert len(set(arrivals)) < 60


@others
def test_ranges_of_the_others(preset):
    """Rings and links of 3 to 8 Gbit/s, small servers, utilities of 1 to 100 at their height."""
    for seed in SEEDS:
        instance = generate(preset=preset, seed=seed)
        assert set(gpus(instance)) <= ({2.0, 4.0, 8.0} if preset == "mixed" else {1.0, 2.0})
        assert within([job.bandwidth_bytes_per_s / GBIT for job in instance.jobs], 3, 8)
        links = [link for link in instance.links if preset != "fat-tree" or link.ends[0].startswith("s")]
        assert within([link.bandwidth_bytes_per_s / GBIT for link in links], 3, 8)
        for job in instance.jobs:
            assert worth(job, instance.slots * job.max_workers) <= 100.1
            if job.utility.kind == "sigmoid":
                assert 0.0999 <= job.utility.midpoint / (job.rate * instance.slots * job.max_workers) <= 0.6001


def test_kinds_of_utilities():
    """One slot has concave ones only, the others four kinds; budgets are never above all that a job could use."""
    seen = {preset: set() for preset in SIZES}
    for preset in seen:
        for seed in SEEDS:
            instance = generate(preset=preset, seed=seed)
            seen[preset] |= {job.utility.kind for job in instance.jobs}
            if preset.startswith("paper"):
                continue
            for job in instance.jobs:
                for name, budget in job.budget.items():
                    most = job.demand[name] * job.max_workers * instance.slots
                    assert preset != "slot" and most / 3 <= budget <= most
    assert seen["slot"] == {"sqrt", "log", "capped"}
    for preset in ("small", "mixed", "general", "fat-tree"):
        assert seen[preset] == {"sqrt", "log", "capped", "sigmoid"}


def test_two_resources():
    """One or two GPUs and up to eight CPUs a worker; three to eight CPUs beside each GPU of a server."""
    demands = set()
    for seed in SEEDS:
        instance = generate(preset="mixed", seed=seed)
        assert set(instance.resources) == {"gpu", "cpu"}
        demands |= {(job.demand["gpu"], job.demand["cpu"]) for job in instance.jobs}
        assert within([server.capacity["cpu"] / server.capacity["gpu"] for server in instance.servers], 3, 8)
    assert demands <= {(gpu, cpu) for gpu in (1.0, 2.0) for cpu in np.arange(1.0, 9.0)} and len(demands) > 12


@every_preset
def test_shapes(preset):
    """Trees without paths; else no tree, and a path for each pair of servers, on leaves and spines or around a ring."""
    shapes = set()
    for seed in SEEDS:
        instance = generate(preset=preset, servers=7, jobs=3, slots=2, seed=seed)
        graph = networkx.Graph([link.ends for link in instance.links])
        assert networkx.is_tree(graph) == (preset != "general") and networkx.is_connected(graph)
        assert (instance.paths is None) == (preset != "general")
        assert preset != "general" or len(instance.paths) == 7 * 6 // 2
        shapes.add(next(node.id for node in instance.nodes if node.capacity is None).rstrip("0123456789"))
    assert shapes == {"general": {"leaf", "switch"}, "fat-tree": {"edge"}}.get(preset, {"rack"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"preset": "none"}, "preset: found 'none', allowed: paper, paper-sqrt"),
        ({"jobs": 0}, "jobs: found 0, allowed: an integer >= 1"),
        ({"servers": 0}, "servers: found 0, allowed: an integer >= 1"),
        ({"gpus": 0}, "gpus: found 0, allowed: an integer >= 1"),
        ({"slots": 0}, "slots: found 0, allowed: an integer >= 1"),
        ({"seed": -1}, "seed: found -1, allowed: an integer >= 0"),
        ({"servers": 2, "gpus": 3}, "servers: found 2 and 3 gpus, allowed: one of the two"),
    ],
)
def test_arguments_out_of_range_are_misuse(arguments, message):
    """UsageError says what was found and what is allowed."""
    with pytest.raises(UsageError, match=message):
        generate(**arguments)


def split(**jobs):
    """Rings of a slot, the servers in the order in which they are named."""
    return {job: (workers, list(workers)) for job, workers in jobs.items()}


def test_the_example_by_hand():
    """Its best embedding is feasible and worth what its docstring says; eight workers do not fit into a slot."""
    instance = example()
    assert (instance.name, len(instance.servers), len(instance.jobs), instance.slots) == ("two-racks", 4, 3, 3)
    a, b = {"s0": 2, "s1": 1}, {"s2": 2, "s3": 1}
    best = Embedding(
        {
            1: split(a=a, b=b),
            2: split(a=a, b={"s2": 2}, c={"s3": 2}),
            3: split(a=a, b=b, c={"s3": 1}),
        }
    )
    assert check(instance, best) == []
    assert objective(instance, best) == pytest.approx(36 + 10 * np.log(9) + 10 / (1 + np.exp(-2)), rel=1e-12)
    full = Embedding({2: split(a=a, b=b, c={"s1": 1, "s3": 1})})
    assert [violation.rule for violation in check(instance, full)] == ["bandwidth"] * 4
    across = Embedding({2: split(a={"s0": 2, "s2": 1})})
    assert [violation.rule for violation in check(instance, across)] == ["bandwidth"] * 4

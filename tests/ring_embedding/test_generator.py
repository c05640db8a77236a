"""Random instances of rings: reproducible, valid, of the sizes asked for, within the ranges that their presets state."""

import json
from collections import Counter

import networkx
import numpy as np
import pytest

from dlsched.cluster.utility import KINDS
from dlsched.ring_embedding.checker import check, objective, worth
from dlsched.ring_embedding.generator import PRESETS, example, generate
from dlsched.ring_embedding.heuristics.baselines import density
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.solution import Embedding

every_preset = pytest.mark.parametrize("preset", PRESETS)
PAPERS = tuple(preset for preset in PRESETS if preset.startswith("paper"))
OF_KINDS = [(f"paper-{kind}", kind) for kind in KINDS if f"paper-{kind}" in PRESETS and kind != "loss"]
papers = pytest.mark.parametrize("preset", PAPERS)
others = pytest.mark.parametrize("preset", [preset for preset in PRESETS if preset not in PAPERS])
SEEDS = range(12)
GBIT = 1.25e8
SIZES = {
    **dict.fromkeys(PAPERS, (100, 50, 200)),
    **{
        "energy": (20, 12, 24),
        "fair": (6, 4, 5),
        "slot": (20, 20, 1),
        "small": (4, 4, 4),
        "mixed": (10, 8, 6),
        "general": (8, 8, 4),
        "fat-tree": (12, 16, 10),
    },
}


def figures(instance):
    """Every figure that was drawn and rounded."""
    for job in instance.jobs:
        utility = job.utility.model_dump()
        utility |= utility.pop("curve", {})
        yield from (value for name, value in utility.items() if name != "kind")
        yield from (job.rate, job.bandwidth_bytes_per_s, job.worker_power_w)
    for link in instance.links:
        yield link.bandwidth_bytes_per_s
    for server in instance.servers:
        yield server.power_on_w


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


@pytest.mark.parametrize(("preset", "kind"), OF_KINDS)
def test_concave_utilities_of_the_size_of_the_paper(preset, kind):
    """Worth 1 to 100 with all workers in all 200 slots, up to rounding."""
    for job in generate(preset=preset, seed=1).jobs:
        assert job.utility.kind == kind
        assert 0.999 <= worth(job, 200 * job.max_workers) <= 100.1


def test_alpha_fair_utilities_of_the_size_of_the_paper():
    """With energy each job has a height of 1 to 100 with all workers in all slots; else all jobs have one utility."""
    for job in generate(preset="paper-energy", seed=1).jobs:
        assert (job.utility.kind, job.utility.alpha, job.utility.shift) == ("alpha_fair", 0.5, 275 * 4)
        assert 0.999 <= worth(job, 200 * job.max_workers) <= 100.1
    for preset, alpha in (("paper-alpha1", 1.0), ("paper-alpha2", 2.0)):
        (utility,) = {job.utility for job in generate(preset=preset, seed=1).jobs}
        assert (utility.alpha, utility.shift) == (alpha, 1100)
        assert utility.at(275 * 3 * 200) == pytest.approx(50, rel=1e-3)


def test_losses_of_the_size_of_the_paper():
    """They begin 1.5 to 8 above a floor of .05 to 2, and are worth half a height of 1 to 100 early on."""
    for job in generate(preset="paper-loss", seed=1).jobs:
        curve, most = job.utility.curve, job.rate * job.max_workers * 200
        assert 1.499 <= 1 / curve.b1 <= 8.01 and 0.0499 <= curve.b2 <= 2.001
        assert 0.0199 <= curve.b1 / curve.b0 / most <= 0.3001
        height = job.utility.scale / curve.b1
        assert 0.999 <= height <= 100.1
        assert job.utility.at(curve.b1 / curve.b0) == pytest.approx(height / 2)


@pytest.mark.parametrize(("preset", "slot_s", "price"), [("energy", 3600.0, 0.5), ("paper-energy", 300.0, 1.0)])
def test_energy(preset, slot_s, price):
    """Idle power by size, 200 to 400 W a worker; all GPUs busy in all slots are 20 to 45 % of what ``density`` earns for free."""
    workers = []
    for seed in range(2):
        sizes = {"preset": preset, "jobs": 20, "servers": 10, "seed": seed}
        instance = generate(**sizes)
        assert (instance.slot_s, instance.energy_price_per_kwh) == (slot_s, price)
        idle = {server.capacity["gpu"]: server.power_on_w for server in instance.servers}
        assert idle.items() <= {1.0: 300.0, 2.0: 371.4, 4.0: 514.3, 8.0: 800.0}.items()
        workers += [job.worker_power_w for job in instance.jobs]
        watts = sum(server.power_on_w for server in instance.servers) + 300.0 * sum(gpus(instance))
        most = watts / 1000 * slot_s / 3600 * instance.slots * price
        free = generate(**sizes, energy_price=0.0)
        assert 0.2 < most / objective(free, density(free)) < 0.45
    assert within(workers, 200, 400) and min(workers) < 220 and max(workers) > 380


def test_only_some_presets_have_energy_or_max_min():
    """The others keep to the sum without a price."""
    for preset in PRESETS:
        instance = generate(preset=preset, seed=0)
        assert instance.charges == ("energy" in preset)
        assert instance.objective == ("max_min" if preset == "fair" else "sum")


def test_alpha_and_the_price_of_energy_are_given():
    """They replace the preset's, all else is drawn alike; the source names them."""
    plain, other = (generate(preset="paper-alpha1", seed=3, alpha=alpha, slots=20) for alpha in (None, 8.0))
    assert {job.utility.alpha for job in other.jobs} == {8.0}
    assert other.source == plain.source + " --alpha 8.0"
    assert [job.rate for job in other.jobs] == [job.rate for job in plain.jobs] and other.links == plain.links
    linear = generate(preset="fair", seed=3, alpha=0)
    assert {job.utility.alpha for job in linear.jobs} == {0.0}
    dear = generate(preset="energy", seed=3, energy_price=2.5)
    assert dear.energy_price_per_kwh == 2.5 and dear.source.endswith("--seed 3 --energy-price 2.5")
    assert dear.jobs == generate(preset="energy", seed=3).jobs


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
        assert set(gpus(instance)) <= {"mixed": {2.0, 4.0, 8.0}, "energy": {1.0, 2.0, 4.0, 8.0}}.get(preset, {1.0, 2.0})
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

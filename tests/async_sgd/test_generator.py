"""Random instances: reproducible, valid, and what their presets say."""

import json
from itertools import combinations

import numpy as np
import pytest

from dlsched.async_sgd import generator
from dlsched.async_sgd.checker import batches_per_s, check, infeasible, job_time_s, objective
from dlsched.async_sgd.generator import PRESETS, _numbers, example, generate
from dlsched.async_sgd.instance import Instance
from dlsched.async_sgd.solution import Allocation
from dlsched.cluster.published import published_steps
from dlsched.core.elementary import below
from dlsched.queueing.network import network_of

every_preset = pytest.mark.parametrize("preset", PRESETS)


def knees(preset):
    """Workers that would fill the busiest station if none waited, (Z + D) / max D, of a hundred jobs."""
    networks = [network_of(job) for seed in range(5) for job in generate(preset=preset, jobs=20, seed=seed).jobs]
    return [network.cycle_s / network.largest_s for network in networks]


@every_preset
@pytest.mark.parametrize("jobs", [1, 4])
@pytest.mark.parametrize("max_nodes", [None, 1, 5])
def test_every_preset_is_valid(preset, jobs, max_nodes):
    """Written and read again; one node a job is feasible; no job may have more than ``max_nodes``."""
    for seed in range(5):
        instance = generate(preset=preset, jobs=jobs, seed=seed, max_nodes=max_nodes)
        data = json.loads(json.dumps(instance.as_data()))
        assert data.pop("format") == "dlsched/async_sgd/1"
        assert Instance(**data).sha256 == instance.sha256
        assert len(instance.jobs) == jobs
        assert [instance.counts(index)[-1] for index in range(jobs)] == [max_nodes or 6 * jobs] * jobs
        assert all(("max_nodes" in job) == (max_nodes is not None) for job in data["jobs"])
        allocation = Allocation({job.id: 1 for job in instance.jobs})
        assert infeasible(instance) is None
        assert check(instance, allocation) == []
        assert objective(instance, allocation) > 0


def test_a_largest_count_is_all_that_it_changes():
    """The jobs are those of the same seed without ``max_nodes``."""
    plain, capped = (generate(jobs=3, nodes=7, seed=4, max_nodes=most) for most in (None, 2))
    assert [job.model_copy(update={"max_nodes": None}) for job in capped.jobs] == list(plain.jobs)


def test_the_default_is_published():
    """Ten jobs of published models on sixty nodes."""
    assert next(iter(PRESETS)) == "published"
    assert generate().name == "published-10x60-seed0"
    assert generate(jobs=3, nodes=2).nodes == 2


def test_published_jobs_are_published_models():
    """Each job is a step of a model, the update 3 S / 2e10 s, the data ImageNet; all sources stand in the instance."""
    steps = {
        (4.0 * model.parameters, float(step.batch_samples), float(f"{step.step_s:.4g}")): (model, step)
        for model in published_steps()
        for step in model.steps
    }
    seen = set()
    for seed in range(10):
        instance = generate(jobs=10, seed=seed)
        for job in instance.jobs:
            model, step = steps[job.parameter_bytes, job.batch_examples, job.compute_s]
            seen.add((model.model, step.gpu))
            assert {model.parameter_source in line for line in instance.source.splitlines()} == {True, False}
            (line,) = [line for line in instance.source.splitlines() if step.source in line]
            assert job.id in line.split("(")[1].split(")")[0].split(", ")
            assert job.update_s == pytest.approx(12 * model.parameters / 2e10, rel=5e-4)
            assert job.dataset_examples == 1281167
            assert job.bandwidth_bytes_per_s in (1.25e8, 1.25e9, 3.125e9)
            assert 1 <= job.shards <= 4
        assert "Chosen by dlsched, not measured" in instance.source
        assert "update_s is assumed" in instance.source
    assert len(seen) == 18  # a hundred jobs meet every step


def test_network_is_full_with_few_workers():
    """The link is the bottleneck, and (Z + 2 t + u) / t lies between 2 + 2 and 8 + 2 + 1/10."""
    assert all(3.99 < knee < 10.11 for knee in knees("network"))
    for job in generate(preset="network").jobs:
        assert network_of(job).largest_s == job.parameter_bytes / job.bandwidth_bytes_per_s > job.update_s


def test_update_is_busy_with_few_workers():
    """The updates are the bottleneck, and (Z + 2 t + u) / u lies between 2 + 1 and 8 + 1 + 2/10."""
    assert all(2.99 < knee < 9.21 for knee in knees("update"))
    assert all(network_of(job).largest_s == job.update_s for job in generate(preset="update").jobs)


def test_compute_is_nearly_linear():
    """Sixty workers do more than 59 times the work of one."""
    for job in generate(preset="compute", jobs=10, seed=1).jobs:
        assert 59 < batches_per_s(job, 60) / batches_per_s(job, 1) <= 60


def test_mixed_has_every_kind():
    """Among a hundred jobs: knees below 3 and above 30, both kinds of duplex, 1 to 4 shards, updates that take no time."""
    jobs = [job for seed in range(5) for job in generate(preset="mixed", jobs=20, seed=seed).jobs]
    assert min(knees("mixed")) < 3
    assert max(knees("mixed")) > 30
    assert {job.duplex for job in jobs} == {"full", "half"}
    assert {job.shards for job in jobs} == {1, 2, 3, 4}
    assert {job.update_s == 0 for job in jobs} == {True, False}


@pytest.mark.parametrize("seed", range(3))
def test_equal_shares_are_optimal_for_equal_jobs(seed):
    """Three copies on nine nodes: none of the 28 ways to cut them is shorter than three each."""
    instance = generate(preset="equal", jobs=3, nodes=9, seed=seed)
    assert len({job.model_copy(update={"id": "x"}).model_dump_json() for job in instance.jobs}) == 1
    times = [
        objective(instance, Allocation({"j0": first, "j1": second - first, "j2": 9 - second}))
        for first, second in combinations(range(1, 9), 2)
    ]
    equal = objective(instance, Allocation({"j0": 3, "j1": 3, "j2": 3}))
    assert equal == pytest.approx(min(times), rel=1e-12)


def test_the_example_worked_by_hand():
    """``a``: Z .25, D .08, .08, .01; ``b``: Z .1, D .02, .02, .01, .01, so .16 s alone and .1 + 2 (.0225 + .010625) in two."""
    instance = example()
    a, b = instance.jobs
    assert (instance.name, instance.nodes, a.batches, b.batches) == ("two-servers", 6, 3906.25, 4000.0)
    assert (b.shards, b.duplex, b.max_nodes, a.max_nodes) == (2, "half", 4, None)
    for nodes, expected in {1: 2.381, 2: 4.437, 4: 7.511}.items():
        assert batches_per_s(a, nodes) == pytest.approx(expected, abs=5e-4)
    assert batches_per_s(b, 1) == pytest.approx(1 / 0.16, rel=1e-12)
    assert batches_per_s(b, 2) == pytest.approx(2 / 0.16625, rel=1e-12)


def test_the_best_allocation_of_the_example():
    """Four and two nodes take 3906.25 / 7.511 + 4000 x .16625 / 2 = 852.6 s, and the other splits of six more."""
    instance = example()
    times = {n: objective(instance, Allocation({"a": n, "b": 6 - n})) for n in (2, 3, 4, 5)}
    assert times[4] == pytest.approx(3906.25 / 7.511 + 332.5, abs=0.05)
    assert min(times, key=times.get) == 4
    assert job_time_s(instance.jobs[1], 2) == pytest.approx(332.5, rel=1e-12)


def refusing(draw):
    """A generator whose word at that place is 7 x 2^32: ``integers(5)`` refuses its lower half. PCG64 (O'Neill 2014)."""
    generator = np.random.default_rng(3)
    state = generator.bit_generator.state
    # A word is the exclusive or of the halves of the state after a step; the step is undone. A small state is not rotated.
    after, multiplier = (12345 << 64) + (12345 ^ 7 << 32), 0x2360ED051FC65DA44385DF649FCCF645
    state["state"]["state"] = (after - state["state"]["inc"]) * pow(multiplier, -1, 2**128) % 2**128
    generator.bit_generator.state = state
    return np.random.Generator(generator.bit_generator.advance(-draw))


@pytest.mark.parametrize(("make", "refused"), [(lambda: np.random.default_rng(1), 0), (lambda: refusing(7), 1)])
def test_numbers_drawn_at_once_are_those_drawn_one_by_one(make, refused):
    """By calls of NumPy's generator in the order of seeds, in two blocks; also where a word is refused."""
    ours, numpys = make(), make()
    found = np.concatenate([_numbers(ours, 150), _numbers(ours, 33)], axis=1)
    for column in found.T:
        expected = [numpys.random(), numpys.random(), numpys.random() if numpys.random() < 0.75 else np.nan]
        expected += [numpys.random(), numpys.random(), numpys.random(), numpys.integers(5), numpys.random() < 1 / 3]
        np.testing.assert_array_equal(column, [*expected, numpys.integers(4)])
    assert ours.random() == numpys.random()
    assert ours.bit_generator.state["has_uint32"] == numpys.bit_generator.state["has_uint32"] == refused


@pytest.mark.parametrize("preset", ["network", "update", "compute", "mixed"])
def test_exponentials_of_any_machine_give_the_same_figures(preset, monkeypatch):
    """NumPy's, some units in the last place off, and correctly rounded ones alone."""
    expected = generate(preset=preset, jobs=400, seed=3)
    for share in (1 + 4 * 2.0**-52, 1 - 4 * 2.0**-52):
        monkeypatch.setattr(generator, "near_exp", lambda x, share=share: np.exp(x) * share)
        assert generate(preset=preset, jobs=400, seed=3) == expected
    monkeypatch.setattr(generator, "surely_four_digits", lambda column: (column, np.zeros(len(column), dtype=bool)))
    assert generate(preset=preset, jobs=400, seed=3) == expected


def test_a_crafted_word_is_refused():
    """The generator of the test above has it there."""
    generator = refusing(6)
    words = generator.bit_generator.random_raw(7)
    assert words[6] == 7 * 2**32
    assert below(words, 5) is None
    assert below(words[:6], 5).tolist() == [(int(word) % 2**32 * 5) >> 32 for word in words[:6]]

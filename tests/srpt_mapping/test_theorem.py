"""What A-SRPT promises: the theorem of section 4 against brute force, and against the bound on larger instances."""

import random
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.srpt_mapping.bounds import bound
from dlsched.srpt_mapping.checker import check, objective
from dlsched.srpt_mapping.dispatching import dispatch
from dlsched.srpt_mapping.heuristics import STRICT, a_srpt, factor
from dlsched.srpt_mapping.methods import METHODS
from dlsched.testing.srpt_mapping import brute_force_srpt, srpt_mapping_instances

from . import builders
from .builders import ends_of_bandwidth, low_s, uniform_s, virtual_ends

SETTINGS = settings(max_examples=12, derandomize=True, deadline=None, database=None)
ROUNDING = 1 + 1e-9
made = partial(builders.made, nic=4.0)


def terms(instance):
    """rho, eta1, eta2, G and g_max, by their definitions."""
    slowest, fastest = ends_of_bandwidth(instance)
    rho = float(max(uniform_s(job, slowest) / uniform_s(job, fastest) for job in instance.jobs))
    eta1 = max([1.0] + [job.iterations / job.predicted for job in instance.jobs])
    eta2 = max([1.0] + [job.predicted / job.iterations for job in instance.jobs])
    return rho, eta1, eta2, sum(s.gpus for s in instance.servers), max(job.gpus for job in instance.jobs)


def worst(instance):
    """The theorem's factor, written again."""
    rho, eta1, eta2, total, largest = terms(instance)
    smallest = min(job.gpus for job in instance.jobs)
    return eta2 * (1 + eta1 * rho * total / (total - largest + 1)) + rho * max(0, 1 - smallest / (total - largest + 1))


def truthful(instance):
    """The instance with true predictions."""
    jobs = [job.model_copy(update={"predicted_iterations": None}) for job in instance.jobs]
    return instance.model_copy(update={"jobs": jobs})


def scattered(graph, servers):
    """A bad rule: replica by replica on the server with the most free GPUs left."""
    rows = {}
    free = list(servers.free)
    for stage, count in enumerate(graph.replicas):
        for _ in range(count):
            index = max(range(len(free)), key=free.__getitem__)
            free[index] -= 1
            rows.setdefault(index, [0] * len(graph.replicas))[stage] += 1
    return [(index, tuple(row)) for index, row in rows.items()]


def first_fit(graph, servers):
    """Another: the last stages first, on the first servers that have room."""
    left, rows = list(graph.replicas), []
    for index, room in enumerate(servers.free):
        row = [0] * len(left)
        for stage in reversed(range(len(left))):
            row[stage] = min(left[stage], room)
            room -= row[stage]
            left[stage] -= row[stage]
        if any(row):
            rows.append((index, tuple(row)))
    return rows


def strict_schedules(instance):
    """A-SRPT as the theorem has it, with four rules that place jobs."""
    for place in ("heavy-edge", "compact"):
        yield a_srpt(instance, waiting=None, speeds="low", place=place)
    virtual = virtual_ends(instance, low_s(instance))
    ends = [virtual[job.id] for job in instance.jobs]
    for rule in (scattered, first_fit):
        yield dispatch(instance, joins_s=ends, keys=ends, place=rule)


def test_the_factor_by_hand():
    """Alpha is 3 and 9 s, so rho = 3; n = 2 n~ and 4 n = n~; G = 4, g = 1 or 2: 4 (1 + 2 * 3 * 4 / 3) + 3 (1 - 1 / 3)."""
    instance = made([2, 2], (0, 6, 2, 16.0, 3), (0, 2, 1, 0.0, 8))
    # the ring sends 16 bytes: 1 + 16 / 8 inside, 1 + 16 / 2 across
    assert factor(instance) == pytest.approx(38.0, rel=1e-14)
    assert worst(instance) == pytest.approx(38.0, rel=1e-14)
    assert STRICT.worst(instance, 10.0) == pytest.approx(380.0, rel=1e-8)


def test_the_factor_without_exchange():
    """Here rho = 1, true predictions, one GPU each on four: 1 + 4 / 4 + 3 / 4; and a job of all GPUs: 1 + 4."""
    assert factor(made([4], (0, 5, 1, 0.0, 5))) == 2.75
    assert factor(made([4], (0, 5, 4, 0.0, 5))) == 5.0
    assert factor(made([4], (0, 5, 4, 0.0, 5), (0, 5, 1, 0.0, 5))) == 5.0


def test_who_promises():
    """A-SRPT strict alone, for what is feasible."""
    assert {name for name, method in METHODS.items() if method.guarantee is STRICT} == {"a-srpt-strict"}
    assert STRICT.holds_for(made([2, 2], (0, 1, 4, 0.0, 1)))
    assert not STRICT.holds_for(made([2, 2], (0, 1, 5, 0.0, 1)))
    assert a_srpt(made([2, 2], (0, 1, 5, 0.0, 1)), waiting=None, speeds="low") is None


@SETTINGS
@given(srpt_mapping_instances(feasible=True))
def test_the_theorem_against_brute_force(instance):
    """Any rule that places, any predictions; the factor is the package's, and the theorem's."""
    optimum = brute_force_srpt(instance)[0]
    assert factor(instance) == pytest.approx(worst(instance), rel=1e-12)
    for schedule in strict_schedules(instance):
        assert check(instance, schedule) == []
        assert objective(instance, schedule) <= worst(instance) * optimum * ROUNDING
        assert objective(instance, schedule) <= STRICT.worst(instance, optimum)


@SETTINGS
@given(srpt_mapping_instances(feasible=True))
def test_the_theorem_with_true_predictions(instance):
    """1 + rho (1 + G / (G - g_max + 1)), and 1 + 3 rho with jobs of at most half the GPUs."""
    instance = truthful(instance)
    optimum = brute_force_srpt(instance)[0]
    rho, eta1, eta2, total, largest = terms(instance)
    assert eta1 == eta2 == 1.0
    most = 1 + rho * (1 + total / (total - largest + 1))
    if 2 * largest <= total:
        most = min(most, 1 + 3 * rho)
        assert factor(instance) <= (1 + 3 * rho) * ROUNDING
    for schedule in strict_schedules(instance):
        assert objective(instance, schedule) <= most * optimum * ROUNDING


@settings(SETTINGS, max_examples=12)
@given(
    srpt_mapping_instances(max_jobs=12, max_servers=3, feasible=True),
    st.sampled_from([0.0, 0.1, 1.0]),
)
def test_the_theorem_against_the_bound(instance, late):
    """More jobs, releases nearer or not; the proof is against SRPT and the lengths, so the bound takes the optimum's place."""
    jobs = [job.model_copy(update={"release_s": job.release_s * late}) for job in instance.jobs]
    instance = instance.model_copy(update={"jobs": jobs})
    least = bound(instance).value
    for each in (instance, truthful(instance)):
        for schedule in strict_schedules(each):
            assert check(each, schedule) == []
            assert objective(each, schedule) <= worst(each) * least * ROUNDING


@pytest.mark.parametrize("seed", range(2))
def test_the_theorem_on_larger_clusters(seed):
    """120 jobs of up to half of some forty GPUs, predictions off by up to a factor: the eta form; true: 1 + 3 rho."""
    rng = random.Random(seed)
    sizes = [rng.randint(2, 8) for _ in range(8)]
    half = sum(sizes) // 2
    wrong = rng.choice([1.0, 1.5, 4.0])
    jobs = []
    for _ in range(120):
        iterations = rng.choice([rng.uniform(1, 5), rng.uniform(1, 200)])
        gpus = rng.choice([1, 1, 2, 4, rng.randint(1, half)])
        predicted = iterations * wrong ** rng.uniform(-1, 1)
        jobs.append((rng.uniform(0, 400), iterations, gpus, rng.choice([0.0, 2.0, 20.0]), predicted))
    instance = made(sizes, *jobs, inside=64.0, nic=32.0)
    least = bound(instance).value
    for each in (instance, truthful(instance)):
        rho, eta1, eta2, *_ = terms(each)
        for schedule in strict_schedules(each):
            assert check(each, schedule) == []
            value = objective(each, schedule)
            assert value <= worst(each) * least * ROUNDING
            assert value <= (eta2 * (1 + eta1 * 2 * rho) + rho) * least * ROUNDING
            if each is not instance:
                assert value <= (1 + 3 * rho) * least * ROUNDING

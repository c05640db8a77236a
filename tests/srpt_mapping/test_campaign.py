"""The agreement campaign: every exact route finds the same optimum, above every bound and below every policy.

Our own search, CP-SAT on intervals, the program over layouts by HiGHS and brute force. The normal run takes a sample;
``make verify`` takes two hundred instances.
"""

import math
import random
from collections import Counter
from fractions import Fraction

import pytest
from nasty import campaign

from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.solvers.milp import solve_milp
from dlsched.srpt_mapping import solve
from dlsched.srpt_mapping.bounds import bound, length, machine
from dlsched.srpt_mapping.certificate import verify
from dlsched.srpt_mapping.checker import check, objective
from dlsched.srpt_mapping.formulations.milp import build_milp
from dlsched.srpt_mapping.heuristics import POLICIES, STRICT
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.placing import layouts
from dlsched.testing.srpt_mapping import brute_force_srpt

from .nasty import nasty

CLOSE = 1e-9  # relative, of the checker's objectives
SOLVERS = 1e-6  # relative, of what a solver with tolerances, or a bound that meets, calls optimal
BRUTE = 300_000  # orders times layouts
PROGRAM_JOBS = 4
PATIENCE = Limits(time_s=60)  # nearly all take some tenths of a second


def draw(seed):
    """One to six jobs on one to three servers of one to four GPUs; ties on even seeds, floats on odd ones."""
    rng = random.Random(seed)
    whole = seed % 2 == 0
    number = rng.randint(1, 3)
    sizes = [rng.randint(1, 4)] * number if rng.random() < 0.5 else [rng.randint(1, 4) for _ in range(number)]
    count = rng.randint(1, 6)
    larger = seed % 20 == 9
    jobs = [job(rng, sum(sizes), whole) for _ in range(count)]
    if seed % 7 == 0:
        jobs = [jobs[0]] * count
    if larger:
        jobs[0] = jobs[0] | {"stages": [stage(rng, sum(sizes) + 1, whole, last=True)]}
    inside, nic = rng.choice(
        [(16.0, 4.0), (8.0, 8.0), (64.0, 1.0), (1.0, 8.0), (rng.uniform(5, 30), rng.uniform(1, 5))]
    )
    return Instance(
        name=f"drawn-{seed}",
        intra_bandwidth_bytes_per_s=inside,
        nic_bandwidth_bytes_per_s=nic,
        servers=[{"id": f"s{index}", "gpus": size} for index, size in enumerate(sizes)],
        jobs=[{"id": f"j{index}", **each} for index, each in enumerate(jobs)],
    )


def stage(rng, replicas, whole, *, last):
    """Seconds and bytes of a stage; a third sends nothing."""
    sends = rng.random() < 0.67
    return {
        "replicas": replicas,
        "compute_s": rng.choice([0.5, 1.0, 2.0]) if whole else rng.uniform(0.2, 3),
        "output_bytes": 0.0 if last or not sends else rng.choice([1.0, 8.0]) if whole else rng.uniform(0, 12),
        "parameter_bytes": 0.0 if not sends else rng.choice([2.0, 8.0]) if whole else rng.uniform(0, 12),
    }


def job(rng, total, whole):
    """One to three stages of at most six GPUs; some predictions are wrong."""
    gpus = rng.randint(1, min(total, 6))
    replicas = []
    while gpus and len(replicas) < 3:
        replicas.append(rng.randint(1, gpus))
        gpus -= replicas[-1]
    stages = [stage(rng, each, whole, last=index + 1 == len(replicas)) for index, each in enumerate(replicas)]
    iterations = float(rng.randint(1, 6)) if whole else rng.uniform(1, 9)
    drawn = {"release_s": float(rng.randint(0, 8)) if whole else rng.uniform(0, 12), "iterations": iterations}
    if rng.random() < 0.3:
        drawn["release_s"] = 0.0
    if rng.random() < 0.5:
        drawn["predicted_iterations"] = iterations * rng.uniform(0.3, 3)
    return drawn | {"stages": stages}


def agree(seed, seen):
    """Assert that all routes agree on one instance, and count what was compared."""
    instance = draw(seed)
    seen["instances"] += 1
    exact, intervals = (solve(instance, method=name, limits=PATIENCE) for name in ("exact", "intervals"))
    if any(job.gpus > instance.total_gpus for job in instance.jobs):
        assert exact.status is intervals.status is TerminationStatus.INFEASIBLE
        assert brute_force_srpt(instance) is None
        seen["infeasible"] += 1
        return
    assert exact.status is intervals.status is TerminationStatus.OPTIMAL
    for result in (exact, intervals):
        assert check(instance, result.solution) == []
        assert result.objective == objective(instance, result.solution)
        assert result.bound <= min(exact.objective, intervals.objective) * (1 + CLOSE)
    assert exact.objective == pytest.approx(intervals.objective, rel=SOLVERS)
    seen["intervals"] += 1
    seen["searched"] += exact.bound_source != "certificate"
    optimum = min(exact.objective, intervals.objective)
    ways = math.factorial(len(instance.jobs)) * math.prod(map(len, layouts(instance)))
    if ways <= BRUTE:
        best, _ = brute_force_srpt(instance)
        assert optimum == pytest.approx(best, rel=SOLVERS)
        optimum = best
        seen["brute force"] += 1
    if len(instance.jobs) <= PROGRAM_JOBS:
        formulation = build_milp(instance)
        problem, decode, unit_s = formulation.model, formulation.decode, formulation.unit
        outcome = solve_milp(problem, solver="highs", isolated=False)
        assert outcome.status is TerminationStatus.OPTIMAL
        assert check(instance, decode(outcome.values)) == []
        assert objective(instance, decode(outcome.values)) == pytest.approx(optimum, rel=SOLVERS)
        assert outcome.bound * unit_s <= optimum * (1 + SOLVERS)
        seen["programs"] += 1
    for certificate in (machine(instance), length(instance), bound(instance), exact.certificate):
        proven = verify(instance, certificate)
        assert Fraction(certificate.value) <= proven
        assert float(proven) <= optimum * (1 + CLOSE)
        seen["certificates"] += 1
    for name, policy in POLICIES.items():
        schedule = policy(instance)
        assert check(instance, schedule) == []
        value = objective(instance, schedule)
        assert value >= optimum * (1 - CLOSE)
        if name == "a-srpt-strict":
            assert value <= STRICT.worst(instance, optimum)
        seen["policies"] += 1


def test_a_sample_of_the_campaign():
    """Twelve instances."""
    seen = Counter()
    for seed in range(12):
        agree(seed, seen)
    assert seen["instances"] == 12
    assert min(seen["brute force"], seen["programs"], seen["searched"], seen["infeasible"]) >= 1


@pytest.mark.long
def test_the_campaign():
    """Two hundred instances; prints what was compared."""
    seen = Counter()
    for seed in range(200):
        agree(seed, seen)
    print(f"\nsrpt_mapping: {dict(seen)}, 0 mismatches")


def test_a_sample_of_nasty_instances():
    """Six; nothing fails, no method proves what is not so, and the exact one proves them all."""
    seen = campaign(nasty, brute_force_srpt, range(6))
    assert seen["exact optimal"] + seen["exact infeasible"] == 6


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_the_nasty_campaign(part):
    """Three thousand more."""
    seen = campaign(nasty, brute_force_srpt, range(1000 + 300 * part, 1300 + 300 * part))
    print(f"\nsrpt_mapping, nasty: {dict(seen)}, 0 mismatches")

"""The agreement campaign: every exact route finds the same optimum, and every certificate proves no more than it.

Brute force, the dynamic program, column generation with its search, the MILP over configurations and the assignment
model by HiGHS, and the non-linear program by SCIP. The normal run takes a sample; ``make verify`` takes 2,000 instances.
"""

import multiprocessing
import random
from collections import Counter
from fractions import Fraction

import pytest

import dlsched
from dlsched.core.status import TerminationStatus
from dlsched.matching_placement import Instance, check, configuration_lp, objective, relaxation
from dlsched.matching_placement.certificate import verify
from dlsched.matching_placement.formulations.assignment import build_assignment, build_minlp
from dlsched.matching_placement.formulations.milp import build_milp
from dlsched.solvers.milp import solve_milp
from dlsched.solvers.minlp import solve_minlp
from dlsched.testing import brute_force_placement

CLOSE = 1e-9  # relative, of the checker's objectives
SOLVERS = 1e-6  # relative, of what a solver with tolerances calls optimal
MINLP_WORKERS = 4
PATIENCE_S = 30  # the others take some tenths of a second


def draw(seed):
    """One to three jobs on one to six workers of one to four types; the kind goes round with the seed."""
    rng = random.Random(seed)
    types = [f"g{kind}" for kind in range(rng.randint(1, 4))]
    bandwidth = {kind: rng.choice([1.0, 4.0, rng.uniform(1, 8)]) for kind in types}
    held = [rng.choice(types) for _ in range(rng.randint(1, 6))]
    number = rng.randint(1, min(3, len(held)))
    jobs = [job(rng, types, seed) for _ in range(number)]
    if seed % 7 == 0:
        jobs = [jobs[0]] * number
    return Instance(
        name=f"drawn-{seed}",
        workers=[
            {"id": f"w{index}", "type": kind, "bandwidth_bytes_per_s": bandwidth[kind]}
            for index, kind in enumerate(held)
        ],
        jobs=[{"id": f"j{index}", **each} for index, each in enumerate(jobs)],
    )


def job(rng, types, seed):
    """Whole numbers and ties on even seeds, floats on odd ones."""
    whole = seed % 2 == 0
    served = types if rng.random() < 0.7 else rng.sample(types, rng.randint(1, len(types)))
    drawn = {
        "iterations": float(rng.randint(1, 10)) if whole else rng.uniform(1, 50),
        "batch_samples": rng.choice([8.0, 64.0]) if whole else rng.uniform(5, 60),
        "gradient_bytes": rng.choice([0.0, 4.0, 32.0]) if whole else rng.uniform(0, 30),
        "samples_per_s": {kind: rng.choice([1.0, 2.0, 4.0]) if whole else rng.uniform(0.5, 9) for kind in served},
    }
    if rng.random() < 0.2:
        drawn["min_workers"] = rng.randint(1, 3)
    if rng.random() < 0.3:
        drawn["max_workers"] = rng.randint(drawn.get("min_workers", 1), 4)
    return drawn


def agree(seed, seen):
    """Assert that all routes agree on one instance, and count what was compared."""
    instance = draw(seed)
    best = brute_force_placement(instance)
    seen["instances"] += 1
    routes = {name: dlsched.solve(instance, method=name) for name in ("exact", "dp", "columns")}
    if best is None:
        assert all(result.status is TerminationStatus.INFEASIBLE for result in routes.values())
        seen["infeasible"] += 1
        return
    for result in routes.values():
        assert result.status is TerminationStatus.OPTIMAL
        assert not check(instance, result.solution)
        assert result.objective == pytest.approx(best[0], rel=CLOSE)
    for certificate in (routes["columns"].certificate, configuration_lp(instance), relaxation(instance)):
        proven = verify(instance, certificate)
        assert Fraction(certificate.value) <= proven
        assert float(proven) <= best[0] * (1 + CLOSE)
        seen["certificates"] += 1
    for build in (build_milp, build_assignment):
        built = build(instance)
        agreed(instance, solve_milp(built.model, solver="highs", isolated=False), built.decode, best[0], built.unit)
    seen["programs"] += 1
    if len(instance.workers) <= MINLP_WORKERS:
        built = build_minlp(instance)
        outcome = forked(solve_minlp, built.model, isolated=False)
        if outcome is None:
            seen["minlp without an end"] += 1
        else:
            agreed(instance, outcome, built.decode, best[0], built.unit)
            seen["minlp"] += 1


def forked(function, *args, **kwargs):
    """Call a function in a forked process; None after ``PATIENCE_S``: SCIP's linear programs can cycle for ever."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=lambda: there.send(function(*args, **kwargs)))
    child.start()
    answer = here.recv() if here.poll(PATIENCE_S) else None
    child.kill()
    child.join()
    return answer


def agreed(instance, outcome, decode, optimum, unit):
    """A solver's answer, priced by the checker, and its bound."""
    assert outcome.status is TerminationStatus.OPTIMAL
    placement = decode(outcome.values)
    assert not check(instance, placement)
    assert objective(instance, placement) == pytest.approx(optimum, rel=SOLVERS)
    assert outcome.bound * unit == pytest.approx(optimum, rel=SOLVERS)


def test_a_sample_of_the_campaign():
    """Six instances."""
    seen = Counter()
    for seed in range(6):
        agree(seed, seen)
    assert seen["programs"] >= 3
    assert seen["minlp"] >= 1
    assert 1 <= seen["infeasible"] <= 3


@pytest.mark.long
@pytest.mark.parametrize("part", range(4))
def test_the_campaign(part):
    """Two thousand instances; prints what was compared."""
    seen = Counter()
    for seed in range(500 * part, 500 * part + 500):
        agree(seed, seen)
    assert seen["minlp without an end"] <= seen["minlp"] // 100
    print(f"\nmatching_placement: {dict(seen)}, 0 mismatches")

"""The agreement campaign: every exact route finds the same optimum, and every certificate proves no more than it.

Brute force, the dynamic program, column generation with its search, the MILP over configurations and the assignment
model by HiGHS, and the non-linear program by SCIP. The normal run takes a sample; ``make verify`` takes 2,000 instances.
"""

import multiprocessing
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import dlsched
from dlsched.certificates import DualsCertificate
from dlsched.core.status import Sense, TerminationStatus
from dlsched.matching_placement import FAMILY, Instance, check, configuration_lp, objective, relaxation
from dlsched.matching_placement.certificate import verify
from dlsched.matching_placement.formulations.assignment import build_assignment, build_minlp
from dlsched.matching_placement.formulations.milp import build_milp
from dlsched.solvers.milp import solve_milp
from dlsched.solvers.minlp import solve_minlp
from dlsched.testing import brute_force_placement
from dlsched.testing.matching_placement import FAIR

from .nasty import nasty

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


HEURISTICS = [name for name, method in FAMILY.methods.items() if method.kind == "heuristic"]
EXACT = [("exact", None), ("dp", None), ("columns", None), ("milp", "highs")]
IN_TURN = [("milp", "cpsat"), ("milp", "cbc"), ("milp", "scip")]


def agree_on(seed, aim, seen):
    """Assert that all routes agree on one instance, that bounds hold and are proven, and that forged ones are refused."""
    instance = draw(seed).model_copy(update=aim)
    best = brute_force_placement(instance)
    seen["instances"] += 1
    routes = [*EXACT, IN_TURN[seed % 3]] + [("assignment", "highs")] * (aim["objective"] == "max_rho" and seed % 5 == 1)
    if best is None:
        assert dlsched.solve(instance).status is TerminationStatus.INFEASIBLE
        seen["infeasible"] += 1
        return
    sense, constant = FAMILY.sense_for(instance), FAMILY.constant(instance)
    room = abs(best[0] - constant)
    for name, solver in routes:
        result = dlsched.solve(instance, method=name, solver=solver)
        assert (result.status, result.sense) == (TerminationStatus.OPTIMAL, sense), (seed, aim, name, solver)
        close = CLOSE if solver is None else SOLVERS
        assert abs(result.objective - best[0]) <= close * room, (seed, aim, name, solver)
        seen[name] += 1
    for name in HEURISTICS:
        result = dlsched.solve(instance, method=name)
        if result.solution is not None:
            assert not check(instance, result.solution)
            assert not sense.better(result.objective, best[0]) or abs(result.objective - best[0]) <= CLOSE * room
            seen["answers of heuristics"] += 1
    certificate = dlsched.solve(instance, method="configuration-lp").certificate
    proven, sign = verify(instance, certificate), 1 if sense is Sense.MINIMIZE else -1
    assert sign * (proven - Fraction(certificate.value)) >= 0, (seed, aim)
    assert sign * (best[0] - float(proven)) >= -CLOSE * room, (seed, aim)
    assert not claims(instance, certificate, best[0] + sign * 1e-6 * room, sign), (seed, aim)
    seen["certificates"] += 1


def claims(instance, certificate, value, sign):
    """Whether the prices prove ``value``, which no prices can."""
    forged = DualsCertificate(certificate.formulation, certificate.rows, value)
    try:
        return sign * (verify(instance, forged) - Fraction(value)) >= 0
    except ValueError:
        return False


def test_a_sample_of_other_objectives():
    """Of each objective two instances."""
    seen = Counter()
    for seed in range(2 * len(FAIR)):
        agree_on(seed, FAIR[seed % len(FAIR)], seen)
    assert seen["certificates"] >= 6


@pytest.mark.long
@pytest.mark.parametrize("aim", ["max_rho", "alpha_fair"])
def test_the_campaign_of_other_objectives(aim):
    """Five hundred instances of each; alpha goes round."""
    aims = [each for each in FAIR if each["objective"] == aim]
    seen = Counter()
    for seed in range(500):
        agree_on(seed, aims[seed % len(aims)], seen)
    print(f"\nmatching_placement, {aim}: {dict(seen)}, 0 mismatches")


@pytest.mark.parametrize("seed", [0, 4, 9, 23, 38, 59])
@pytest.mark.parametrize("aim", ["max_rho", "alpha_fair"])
def test_numbers_far_apart(aim, seed):
    """Magnitudes from 1e-12 to 1e12: the optimum of brute force all the same, and bounds that hold."""
    aims = [each for each in FAIR if each["objective"] == aim]
    instance = nasty(np.random.default_rng(seed)).model_copy(update=aims[seed % len(aims)])
    best, constant = brute_force_placement(instance), FAMILY.constant(instance)
    for method in ("dp", "columns", "milp"):
        result = dlsched.solve(instance, method=method)
        assert result.status is TerminationStatus.OPTIMAL
        assert abs(result.objective - best[0]) <= SOLVERS * abs(best[0] - constant)
    certificate = dlsched.solve(instance, method="configuration-lp").certificate
    proven, sense = float(verify(instance, certificate)), FAMILY.sense_for(instance)
    assert not sense.better(best[0], proven) or abs(proven - best[0]) <= CLOSE * abs(best[0] - constant)

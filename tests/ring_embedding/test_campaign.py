"""The agreement campaign: every exact route finds the same optimum, below every bound and above every heuristic.

Our own ``exact``, CP-SAT on circuits, the span model (forests) and the arc model (listed paths) by HiGHS, and brute force,
over whole horizons. The normal run takes a sample; ``make verify`` takes three hundred instances.
"""

import random
from collections import Counter
from fractions import Fraction

import pytest

from dlsched.core.errors import UsageError
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding import solve
from dlsched.ring_embedding.certificate import verify
from dlsched.ring_embedding.checker import check, objective
from dlsched.ring_embedding.formulations.linear import build_arc, build_span
from dlsched.ring_embedding.heuristics.slot_greedy import HALF, applies
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.methods import METHODS
from dlsched.solvers.milp import solve_milp
from dlsched.testing.ring_embedding import brute_force_ring

from .small_networks import any_forest, any_graph, any_paths

CLOSE = 1e-9  # relative, of floats
SOLVERS = 1e-6  # relative, of what a solver with tolerances, or a bound that meets, calls optimal
BOUNDS = [method.name for method in METHODS.values() if method.kind == "bound"]
HEURISTICS = [method.name for method in METHODS.values() if method.kind == "heuristic"]
PARTS = "gpu", "disk"


def draw(seed):
    """Two or three jobs on two to four servers in one to three slots; a forest, or listed paths when the seed is 2 mod 3."""
    rng = random.Random(seed)
    forest = seed % 3 < 2
    servers = [f"s{index}" for index in range(rng.choice([2, 3, 3, 4] if forest else [3, 3, 4]))]
    others, pairs = any_forest(rng, servers) if forest else any_graph(rng, servers)
    resources = PARTS[: rng.choice([1, 1, 2])]
    slots = rng.choice([1, 2, 2, 3, 4])
    concave, single = rng.random() < 0.5, rng.random() < 0.6
    jobs = [_job(rng, resources, slots, concave, single) for _ in range(rng.choice([2, 2, 3]))]
    if seed % 9 == 4:
        jobs = [jobs[0]] * len(jobs)
    return Instance(
        name=f"drawn-{seed}",
        slots=slots,
        nodes=[{"id": name, "capacity": _capacity(rng, resources, single)} for name in servers]
        + [{"id": name} for name in others],
        links=[{"ends": pair, "bandwidth_bytes_per_s": _edge(rng, rng.choice([1, 1, 2, 3]))} for pair in pairs],
        paths=None if forest else any_paths(rng, servers, pairs),
        jobs=[{"id": f"j{index}", **job} for index, job in enumerate(jobs)],
    )


def _edge(rng, amount):
    """At times a little less than that: within the checker's tolerance, or beyond that of any solver."""
    return amount * rng.choice([1, 1, 1, 1 - 0.5e-9, 1 - 1e-5])


def _capacity(rng, resources, single):
    """Single: a server holds little more than a worker, so that larger rings need several."""
    held = {name: _edge(rng, rng.choice([1, 1, 1, 1, 2] if single else [1, 1, 2, 3])) for name in resources}
    if len(held) > 1 and rng.random() < 0.2:
        del held[resources[1]]
    return held


def _job(rng, resources, slots, concave, single):
    rate, workers = rng.choice([1, 1, 0.5, 37.5]), rng.choice([2, 3, 3, 4] if single else [1, 2, 3, 3])
    most = rate * workers * slots
    kinds = [
        {"kind": "sqrt", "scale": rng.choice([1, 3, 10])},
        {"kind": "log", "scale": rng.choice([1, 3, 10])},
        {"kind": "capped", "slope": rng.choice([1, 2.5]) / rate, "cap": rng.choice([1, 2.5, 6, 20])},
        {"kind": "sigmoid", "height": rng.choice([2, 9]), "steepness": 1 / rate, "midpoint": 0},
    ]
    if not concave and rng.random() < 0.7:
        steepness = rng.choice([1, 4, 1000]) / rate
        kinds = [{"kind": "sigmoid", "height": rng.choice([3, 9]), "steepness": steepness, "midpoint": most / 2}]
        kinds.append(kinds[0] | {"midpoint": rng.uniform(0, 1.2) * most})
    demand = {name: rng.choice([1, 1, 1, 0.7] if single else [1, 1, 0.5, 0.3, 2]) for name in resources}
    job = {"max_workers": workers, "demand": demand, "rate": rate, "utility": rng.choice(kinds)}
    job["bandwidth_bytes_per_s"] = rng.choice([0, 0.5, 1, 1, 1.5])
    job["arrival_slot"] = rng.choice([1, 1, rng.randint(1, slots)])
    if rng.random() < 0.3:
        job["budget"] = {resources[0]: demand[resources[0]] * rng.choice([1, 2.5, 4 - 1e-10])}
    return job


def agree(seed, seen):
    """Assert that all routes agree on one instance, and count what was compared."""
    instance = draw(seed)
    best, embedding = brute_force_ring(instance)
    above, below = best + SOLVERS * max(1.0, best), best - SOLVERS * max(1.0, best)
    seen["instances"] += 1
    seen["forests" if instance.paths is None else "graphs"] += 1
    free = instance.model_copy(
        update={"jobs": [job.model_copy(update={"bandwidth_bytes_per_s": 0.0}) for job in instance.jobs]}
    )
    seen["bandwidth matters"] += brute_force_ring(free)[0] > above
    seen["rings of 3 or more"] += any(
        len(ring.order) > 2 for rings in embedding.slots.values() for ring in rings.values()
    )

    exact = solve(instance)
    assert exact.status is TerminationStatus.OPTIMAL, exact.message
    results = {"exact": exact}
    try:
        results["circuit"] = solve(instance, method="circuit")
    except UsageError as refused:
        assert "whole" in str(refused)
        seen["circuits refused"] += 1
    for name, result in results.items():
        assert result.status is TerminationStatus.OPTIMAL, (name, result.message)
        assert check(instance, result.solution) == []
        assert result.objective == objective(instance, result.solution)
        assert below <= result.objective <= best * (1 + CLOSE), name
        assert below <= result.bound <= above, name
        seen[name] += 1
    built = (build_span if instance.paths is None else build_arc)(instance)
    outcome = solve_milp(built.model, solver="highs", isolated=False)
    assert outcome.status is TerminationStatus.OPTIMAL
    assert check(instance, built.decode(outcome.values)) == []
    assert objective(instance, built.decode(outcome.values)) >= below
    assert below <= outcome.bound * built.unit <= above
    seen["programs"] += 1

    bounds = {name: solve(instance, method=name) for name in BOUNDS}
    for name, result in (bounds | results).items():
        assert result.bound >= best * (1 - CLOSE) or (name in results and result.bound >= below), name
        if result.certificate is not None:
            proven = verify(instance, result.certificate)
            assert float(proven) == pytest.approx(result.certificate.value, rel=1e-15)
            assert Fraction(result.certificate.value) >= proven >= Fraction(best) * (1 - Fraction(CLOSE))
            seen["certificates"] += 1
        seen["bounds"] += name in bounds
    assert bounds["columns"].bound <= bounds["horizon"].bound * (1 + CLOSE)
    assert bounds["horizon"].bound <= bounds["aggregated"].bound * (1 + SOLVERS)
    seen["columns met"] += bounds["columns"].bound <= above

    for name in HEURISTICS:
        result = solve(instance, method=name, seed=seed)
        assert check(instance, result.solution) == [], name
        assert result.objective == objective(instance, result.solution)
        assert result.objective <= best * (1 + CLOSE), name
        seen["heuristics"] += 1
        seen[f"{name} met"] += result.objective >= below
        if name == "slot-greedy" and applies(instance):
            assert "not proven" not in result.message
            assert result.objective >= HALF.worst(instance, best) >= best / 2 * (1 - 2 * CLOSE)
            seen["halves"] += 1


def test_a_sample_of_the_campaign():
    """Three instances."""
    seen = Counter()
    for seed in (2, 21, 52):
        agree(seed, seen)
    assert seen["instances"] == 3
    assert min(seen["forests"], seen["graphs"], seen["circuit"], seen["halves"], seen["rings of 3 or more"]) >= 1


@pytest.mark.long
@pytest.mark.parametrize("part", range(3))
def test_the_campaign(part):
    """Three hundred instances; prints what was compared."""
    seen = Counter()
    for seed in range(100 * part, 100 * part + 100):
        agree(seed, seen)
    print(f"\nring_embedding: {dict(seen)}, 0 mismatches")

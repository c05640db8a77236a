"""Every objective and every kind of utility by every method: exact is brute force, bounds above it, heuristics below."""

import random
from collections import Counter
from itertools import accumulate

import pytest

import dlsched
from dlsched.cluster.utility import KINDS, AlphaFair
from dlsched.core.errors import UsageError
from dlsched.ring_embedding.checker import objective, utilities
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.methods import METHODS
from dlsched.ring_embedding.solution import Embedding
from dlsched.testing.ring_embedding import CASE, brute_force_max_min, brute_force_ring

from .small_networks import draw
from .test_brute_force import job as one_job
from .test_brute_force import made

OBJECTIVES = "alpha_fair", "loss", "table", "energy", "max_min"
NEW = "alpha_fair", "loss", "table"
CLOSE = 1e-9  # relative, of floats
SOLVERS = 1e-6  # relative, of what a solver with tolerances, or a bound that meets, calls optimal
REFUSED = "whole"  # what circuits say of amounts that are no multiples of a unit

every_objective = pytest.mark.parametrize("goal", OBJECTIVES)


def drawn(goal, seed):
    """An instance of the campaign with that objective, or with jobs of that utility."""
    rng = random.Random(f"{goal} {seed}")
    data = draw(seed).model_dump()
    if goal == "max_min":
        data["objective"] = goal
        if seed % 5:  # jobs that meet, and servers that hold few of them, so that shares differ
            data["jobs"] = [job | {"arrival_slot": 1, "budget": {}} for job in data["jobs"]]
            for node in data["nodes"][1:]:
                node["capacity"] = node["capacity"] and {name: amount / 2 for name, amount in node["capacity"].items()}
    for job in data["jobs"]:
        most = job["rate"] * job["max_workers"] * data["slots"]
        if goal in NEW or rng.random() < 0.5:
            kind = goal if goal in NEW and rng.random() < 0.8 else rng.choice(NEW)
            job["utility"] = utility(rng, kind, job["rate"], most)
    if goal == "energy":
        data |= powered(rng, data)
    if seed % 9 == 4:
        data["jobs"] = [{**data["jobs"][0], "id": job["id"]} for job in data["jobs"]]
    return Instance(**data)


def utility(rng, kind, rate, most):
    """Worth 1 to 10 at the most progress that there can be."""
    height = rng.choice([1.0, 3.0, 10.0])
    if kind == "alpha_fair":
        alpha = rng.choice([0.0, 0.5, 1.0, 2.0, 5.0, round(rng.uniform(0, 3), 3)])
        shift = rate * rng.choice([0.25, 1.0, 3.0, 0.0 if alpha < 1 else 1.0])
        plain = AlphaFair(alpha=alpha, scale=1.0, shift=shift)
        return plain.model_dump() | {"scale": height / plain.at(most)}
    if kind == "loss":
        start = rng.choice([0.2, 1.0])
        curve = {"b0": start * rng.choice([0.1, 1.0, 5.0, 0.0]) / rate, "b1": start, "b2": rng.choice([0.0, 0.3])}
        return {"kind": kind, "scale": height * start, "curve": curve}
    widths = [rng.choice([1, 1, 2, 3, 0.5]) * rate for _ in range(rng.choice([0, 1, 2, 3, 4]))]
    worth = accumulate((rng.choice([0, 0.5, 1, 1, 4]) for _ in widths), initial=rng.choice([0, 0, 1]))
    return {"kind": kind, "progress": list(accumulate(widths, initial=0)), "worth": [height * each for each in worth]}


def powered(rng, data):
    """Prices at which servers are worth being on when full, or at all, or never; of a kWh for slots of half an hour, 2."""
    same = rng.choice([0.3, 1.0, 2.5])
    for node in data["nodes"]:
        if node["capacity"] is not None:
            node["power_on_w"] = 1000.0 * rng.choice([same, same, 0.0, 0.2, round(rng.uniform(0, 3), 3)])
    for job in data["jobs"]:
        job["worker_power_w"] = 1000.0 * rng.choice([0.0, 0.0, 0.1, 0.5, round(rng.uniform(0, 1), 3)])
    return {"slot_s": 1800.0, "energy_price_per_kwh": 2.0}


def routes(seed):
    """Our own, a linear program by HiGHS or SCIP, and circuits by CP-SAT."""
    return [("exact", None), ("milp", "highs" if seed % 2 else "scip"), ("circuit", None)]


def agree(goal, seed, seen):
    """Assert that all methods agree on one instance, and count what was compared."""
    instance = drawn(goal, seed)
    best, embedding = brute_force_ring(instance)
    near, nothing = SOLVERS * max(1.0, abs(best)), objective(instance, Embedding({}))
    seen["instances"] += 1
    seen["something runs"] += bool(embedding.slots)
    seen["not concave"] += not all(job.utility.concave for job in instance.jobs)
    if goal == "energy":
        free = Instance(**instance.model_dump() | {"energy_price_per_kwh": 0.0})
        seen["energy matters"] += utilities(free, brute_force_ring(free)[1]) != utilities(instance, embedding)
    if goal == "max_min":
        total = Instance(**instance.model_dump() | {"objective": "sum"})
        seen["the least matters"] += min(utilities(total, brute_force_ring(total)[1]).values()) < best - near
    for method, solver in routes(seed):
        try:
            result = solved(instance, method, solver=solver)
        except UsageError as refused:
            assert method == "circuit" and REFUSED in str(refused)
            seen["circuits refused"] += 1
            continue
        nothing_gained = best - nothing <= near  # no bound but 0 is then near enough, relatively
        assert result.status == "optimal" or nothing_gained, (method, result.status, result.message)
        seen["open where nothing is gained"] += result.status != "optimal"
        assert best - near <= result.objective <= best + CLOSE * max(1.0, abs(best)), (method, result.objective, best)
        assert best - near <= result.bound <= best + near, (method, result.bound, best)
        seen[method] += 1
        if goal == "max_min":
            held = sorted(utilities(instance, result.solution).values())
            assert held == pytest.approx(brute_force_max_min(instance)[0], rel=SOLVERS, abs=SOLVERS), method
    for method in METHODS.values():
        if method.kind == "exact":
            continue
        if CASE.refuses(method.name, instance):
            with pytest.raises(UsageError, match="exact"):
                solved(instance, method.name)
            seen["refused"] += 1
        else:
            assert_on_its_side(method, instance, best, solved(instance, method.name, seed=seed), seen)


def assert_on_its_side(method, instance, best, result, seen):
    """A bound is above the optimum and has a certificate; a heuristic is below it."""
    slack = CLOSE * max(1.0, abs(best))
    seen[method.kind] += 1
    seen["certificates"] += result.certificate is not None
    if method.kind == "bound":
        assert result.certificate is not None, method.name
    else:
        assert result.objective <= best + slack, (method.name, result.objective, best)
        seen[f"{method.name} met"] += result.objective >= best - slack
        if method.guarantee is not None and method.guarantee.holds_for(instance):
            assert result.objective >= method.guarantee.worst(instance, best) - slack, method.name
            seen["promises"] += 1
    if result.bound is not None:
        assert result.bound >= best - slack, (method.name, result.bound, best)


def solved(instance, method, **options):
    """The result, after ``dlsched.verify`` has found nothing false in it."""
    result = dlsched.solve(instance, method=method, **options)
    failures = dlsched.verify(instance, result).failures
    assert not failures, (method, failures)
    return result


@every_objective
def test_a_sample_of_every_objective(goal):
    """Five instances; forests and listed paths, with one slot and several."""
    seen = Counter()
    for seed in (1, *range(4, 8)):
        agree(goal, seed, seen)
    assert seen["instances"] == seen["exact"] == seen["milp"] == 5
    assert seen["circuit"] >= 2 and seen["something runs"] >= 3
    assert goal != "energy" or seen["energy matters"] >= 2
    assert goal != "max_min" or seen["the least matters"] >= 1


@pytest.mark.long
@pytest.mark.parametrize("block", range(5))
@every_objective
def test_the_campaign_of_every_objective(goal, block):
    """Five hundred of each; prints what was compared."""
    seen = Counter()
    for seed in range(100 * block, 100 * block + 100):
        agree(goal, seed, seen)
    print(f"\n{goal} {block}: {dict(seen)}, 0 mismatches")


@pytest.mark.parametrize("kind", KINDS)
def test_files_name_the_kind(kind):
    """An instance is written and read with it; the schema has it, and what is refused is told of it."""
    instance = made([2], [], one_job(utility=KINDS[kind].sized(3.0, 7.0)))
    data = instance.as_data()
    assert data["jobs"][0]["utility"]["kind"] == kind
    del data["format"]
    assert Instance(**data).sha256 == instance.sha256
    with pytest.raises(dlsched.InstanceError, match=rf"jobs\[0\].utility.kind: found \"none\", allowed: .*'{kind}'"):
        Instance(**data | {"jobs": [data["jobs"][0] | {"utility": {"kind": "none"}}]})

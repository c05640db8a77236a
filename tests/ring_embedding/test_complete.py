"""Models with all embeddings: side constraints and other objectives, held against all embeddings that the checker passes."""

import random
from itertools import permutations, product

import pulp
import pytest
from modelling.sides import assert_agrees, drawn, seeds, weighted

from dlsched.core.status import Sense
from dlsched.ring_embedding import Embedding, Instance, check, objective
from dlsched.ring_embedding.formulations.linear import build_arc, build_span
from dlsched.solvers.milp import solve_milp

PAIRS = [("s0", "s1"), ("s0", "s2"), ("s1", "s2")]


def made(servers: list[dict], links: list[tuple], jobs: list[dict], **fields) -> Instance:
    """An instance; servers take 1 GPU a worker, and hang on a switch where there are no paths."""
    nodes = [{"id": f"s{number}", **server} for number, server in enumerate(servers)]
    if "paths" not in fields:
        nodes.append({"id": "top"})
    return Instance(
        name="made",
        nodes=nodes,
        links=[{"ends": ends, "bandwidth_bytes_per_s": bandwidth} for *ends, bandwidth in links],
        jobs=[{"id": f"j{number}", "demand": {"gpu": 1}, "rate": 1.0, **job} for number, job in enumerate(jobs)],
        **fields,
    )


def draw(numbers: random.Random, forest: bool) -> Instance:
    """Two jobs on two or three servers; energy may cost more than they earn."""
    count, slots = (numbers.choice([2, 3]), numbers.choice([1, 2])) if forest else (3, 1)
    count = 2 if slots == 2 else count
    servers = [
        {"capacity": {"gpu": numbers.randint(1, 2)}, "power_on_w": float(numbers.choice([0, 0, 1, 50]))}
        for _ in range(count)
    ]
    jobs = [
        {
            "arrival_slot": numbers.choice([1, 1, slots]),
            "max_workers": numbers.randint(1, 3),
            "bandwidth_bytes_per_s": float(numbers.choice([0, 1, 2])),
            "budget": numbers.choice([{}, {}, {"gpu": 2.0}]),
            "worker_power_w": float(numbers.choice([0, 0, 1, 20])),
            "utility": numbers.choice(
                [
                    {"kind": "capped", "slope": 2.0, "cap": 5.0},
                    {"kind": "sqrt", "scale": 4.0},
                    {"kind": "sigmoid", "height": 6.0, "steepness": 2.0, "midpoint": 2.0},
                ]
            ),
        }
        for _ in range(2)
    ]
    price = {"energy_price_per_kwh": numbers.choice([0.0, 1.0]), "slot_s": 3.6e6}
    if numbers.random() < 0.2:
        price = {"objective": "max_min"}
    width = [float(numbers.choice([1, 2, 3])) for _ in range(3)]
    if forest:
        return made(servers, [(f"s{m}", "top", width[m]) for m in range(count)], jobs, slots=slots, **price)
    ways = [(pair, *(set("012") - {pair[0][1], pair[1][1]})) for pair in PAIRS if numbers.random() < 0.8]
    around = [(first, f"s{other}", last) if numbers.random() < 0.3 else (first, last) for (first, last), other in ways]
    links = [(*pair, wide) for pair, wide in zip(PAIRS, width, strict=True)]
    return made(
        servers, links, jobs, slots=slots, paths=[{"ends": (way[0], way[-1]), "nodes": way} for way in around], **price
    )


def workers_of(instance: Instance, index: int) -> list[dict[str, int]]:
    """All choices of workers of a job by server, none among them."""
    servers = instance.servers
    ways = product(*(range(int(server.capacity["gpu"]) + 1) for server in servers))
    named = [{server.id: n for server, n in zip(servers, way, strict=True) if n} for way in ways]
    return [way for way in named if sum(way.values()) <= instance.jobs[index].max_workers]


def embeddings(instance: Instance) -> list[Embedding]:
    """All choices of workers in all slots that some rings have which the checker passes, with such rings."""
    by_slot = []
    for slot in range(1, instance.slots + 1):
        found = []
        for chosen in product(*(workers_of(instance, index) for index in range(len(instance.jobs)))):
            held = [(job.id, way) for job, way in zip(instance.jobs, chosen, strict=True) if way]
            for orders in product(*(permutations(way) for _, way in held)):
                rings = {name: (way, order) for (name, way), order in zip(held, orders, strict=True)}
                if not [each for each in check(instance, Embedding({slot: rings})) if each.rule != "budget"]:
                    found.append((slot, rings))
                    break
        by_slot.append(found)
    whole = [Embedding(dict(slots)) for slots in product(*by_slot)]
    return [each for each in whole if not check(instance, each)]


def decided(embedding: Embedding) -> dict[tuple[str, str, int], float]:
    """Workers by job, server and slot."""
    placed = ((slot, job, ring) for slot, rings in embedding.slots.items() for job, ring in rings.items())
    return {(job, server, slot): float(n) for slot, job, ring in placed for server, n in ring.workers.items()}


@pytest.mark.parametrize("seed", seeds(pytest.mark.long))
def test_side_constraints_are_brute_force(seed):
    """Two solvers, the model with rows of a user, and all embeddings that keep them."""
    numbers, forest = random.Random(seed), seed % 2 == 0
    instance = draw(numbers, forest)
    formulation = (build_span if forest and seed % 4 == 0 else build_arc)(instance, complete=True)
    solutions = [(decided(each), objective(instance, each)) for each in embeddings(instance)]
    slots = range(1, instance.slots + 1)
    keys = [(job.id, server.id, slot) for job in instance.jobs for server in instance.servers for slot in slots]
    quotas = [{key: 1.0 for key in keys if key[0] == job.id} for job in instance.jobs]
    sides, weights = drawn(numbers, keys, quotas, solutions), weighted(numbers, list(formulation.variables.workers))
    assert_agrees(formulation, "workers", sides, solutions, decided, Sense.MAXIMIZE, weights=weights)


def costly(*jobs: dict, **fields) -> Instance:
    """Two servers of two GPUs at a switch, which cost 50 a slot each while they are on."""
    servers = [{"capacity": {"gpu": 2}, "power_on_w": 50.0}] * 2
    links = [("s0", "top", 2.0), ("s1", "top", 2.0)]
    return made(servers, links, list(jobs), slots=1, energy_price_per_kwh=1.0, slot_s=3.6e6, **fields)


CAPPED = {"max_workers": 2, "bandwidth_bytes_per_s": 1.0, "utility": {"kind": "capped", "slope": 2.0, "cap": 3.0}}


@pytest.mark.parametrize("build", [build_span, build_arc])
def test_what_is_not_worth_its_energy_can_be_asked_for(build):
    """A worker earns 2 and its server costs 50: none pays, but one is asked for: best are two on one server, 3 - 50."""
    instance = costly(CAPPED)
    assert not build(instance).variables.workers
    built = build(instance, complete=True)
    model, workers = built.model, built.variables.workers
    assert set(workers) == {("j0", "s0", 1), ("j0", "s1", 1)}
    model += pulp.lpSum(workers.values()) >= 1
    outcome = solve_milp(model, isolated=False)
    assert outcome.objective * built.unit == pytest.approx(-47.0)
    assert objective(instance, built.decode(outcome.values)) == -47.0


@pytest.mark.parametrize("build", [build_span, build_arc])
def test_rings_that_do_not_fit_are_not_dropped(build):
    """Two jobs of two workers on one server of two GPUs: the checker has to see both."""
    instance = costly(CAPPED, CAPPED)
    values = dict.fromkeys(("y_j0_s0_1", "y_j1_s0_1"), 2.0)
    whole, best = (build(instance, complete=complete).decode(values) for complete in (True, False))
    assert set(whole.slots[1]) == {"j0", "j1"}
    assert [each.rule for each in check(instance, whole)] == ["capacity"]
    assert not best.slots

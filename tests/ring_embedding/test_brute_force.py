"""Brute force by hand and against all embeddings one by one, and what is drawn."""

import itertools
import math

import pytest
from conftest import profile
from hypothesis import given

from dlsched.ring_embedding.checker import check, objective, slots_on, utilities
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.solution import Embedding
from dlsched.testing.ring_embedding import brute_force_max_min, brute_force_ring, ring_embedding_instances

KINDS = "sqrt", "log", "capped", "sigmoid", "alpha_fair", "loss", "table"


def job(name="a", workers=3, load=1.0, **more):
    """A job of one GPU a worker whose utility is its worker-slots."""
    utility = {"kind": "capped", "slope": 1.0, "cap": 100.0}
    given = {"id": name, "max_workers": workers, "demand": {"gpu": 1.0}, "bandwidth_bytes_per_s": load, "rate": 1.0}
    return given | {"utility": utility} | more


def made(gpus, links, *jobs, slots=1, paths=None, switches=()):
    """Servers s0, s1, ... with ``gpus`` GPUs; links as (end, end, bandwidth); paths as words of nodes."""
    listed = None if paths is None else [path.split() for path in paths]
    return Instance(
        name="made",
        slots=slots,
        nodes=[{"id": f"s{n}", "capacity": {"gpu": count}} for n, count in enumerate(gpus)]
        + [{"id": name} for name in switches],
        links=[{"ends": (here, there), "bandwidth_bytes_per_s": width} for here, there, width in links],
        paths=None if listed is None else [{"ends": (nodes[0], nodes[-1]), "nodes": nodes} for nodes in listed],
        jobs=jobs,
    )


def value(*arguments, **more):
    """The optimum alone."""
    return brute_force_ring(made(*arguments, **more))[0]


def test_one_server():
    """Two of three GPUs in each of two slots: 4; from the second slot on: 2; three workers, but two GPUs: 2 a slot."""
    assert value([3], [], job(workers=2), slots=2) == 4.0
    assert value([3], [], job(workers=2, arrival_slot=2), slots=2) == 2.0
    assert value([2], [], job(workers=3), slots=2) == 4.0


def test_what_does_not_fit_counts_with_the_utility_of_nothing():
    """No server has three GPUs; a sigmoid is positive at 0."""
    sigmoid = {"kind": "sigmoid", "height": 2.0, "steepness": 1.0, "midpoint": 1.0}
    found, embedding = brute_force_ring(made([2], [], job(demand={"gpu": 3.0}, utility=sigmoid)))
    assert found == pytest.approx(2 / (1 + math.e), rel=1e-15)
    assert embedding == Embedding({})


def test_a_link_holds_a_ring_or_not():
    """Two servers of a GPU: a ring of two crosses each direction once, so it needs its bandwidth once; none with 1e-6 less."""
    assert value([1, 1], [("s0", "s1", 1.0)], job()) == 2.0
    assert value([1, 1], [("s0", "s1", 1 - 1e-6)], job()) == 1.0
    assert value([1, 1], [("s0", "s1", 1 - 1e-6)], job(load=0.0)) == 2.0
    assert value([1, 1], [("s0", "s1", 1 - 0.9e-9)], job()) == 2.0  # the checker's tolerance


def test_two_rings_on_one_link():
    """Each job has a GPU's room on both servers: both rings at 2 B/s, one at 1.9, where the other keeps to one server."""
    jobs = [job(name, workers=2) for name in "ab"]
    assert value([2, 2], [("s0", "s1", 2.0)], *jobs) == 4.0
    assert value([1, 3], [("s0", "s1", 1.0)], *jobs) == 4.0  # one inside s1, one across
    jobs = [job(name, workers=3) for name in "ab"]
    assert value([2, 4], [("s0", "s1", 1.0)], *jobs) == 6.0
    assert value([3, 3], [("s0", "s1", 0.5)], *jobs) == 6.0
    assert value([2, 2, 2], [("s0", "n", 1.0), ("s1", "n", 2.0), ("s2", "n", 1.0)], *jobs, switches=["n"]) == 6.0
    assert value([2, 2, 2], [("s0", "n", 1.0), ("s1", "n", 1.9), ("s2", "n", 1.0)], *jobs, switches=["n"]) == 5.0


def test_parts_of_a_forest():
    """A ring stays in its part: three GPUs, but two in the larger part."""
    assert value([1, 1, 1], [("s0", "s1", 9.0)], job(load=0.0)) == 2.0
    assert value([1, 1, 1], [], job(load=0.0)) == 1.0


def test_a_server_on_the_way():
    """s0 - s1 - s2: a ring over the ends passes the full server between them, on both links."""
    line = [("s0", "s1", 1.0), ("s1", "s2", 1.0)]
    elsewhere = [job("a", workers=2, load=1.0), job("b", workers=2, load=0.0, demand={"gpu": 2.0})]
    assert value([1, 2, 1], line, *elsewhere) == 3.0  # b of two GPUs fits on s1 only, a takes the ends
    assert value([1, 2, 1], [line[0], ("s1", "s2", 0.5)], *elsewhere) == 2.0


TRIANGLE = [("s0", "s1", 1.0), ("s1", "s2", 1.0), ("s2", "s0", 1.0)]


def test_two_rings_pass_a_cycle_in_opposite_directions():
    """Links of 1 B/s, and on every server a GPU's room for each job: one ring clockwise, one back, a worker for the third."""
    jobs = [job(name, workers=3, demand={f"gpu_{name}": 1.0}) for name in "abc"]
    data = made([1, 1, 1], TRIANGLE, *jobs, paths=["s0 s1", "s1 s2", "s2 s0"]).model_dump()
    for node in data["nodes"]:
        node["capacity"] = {f"gpu_{name}": 1.0 for name in "abc"}
    found, embedding = brute_force_ring(Instance.model_validate(data))
    assert found == 3 + 3 + 1
    orders = {ring.order for ring in embedding.slots[1].values() if len(ring.order) == 3}
    assert orders == {("s0", "s1", "s2"), ("s0", "s2", "s1")}


def test_pairs_without_a_path():
    """Without a route from s0 to s2 there is no ring of three; with one over s1 there is."""
    line = [("s0", "s1", 1.0), ("s1", "s2", 1.0)]
    assert value([1, 1, 1], line, job(), paths=["s0 s1", "s1 s2"]) == 2.0
    assert value([1, 1, 1], line, job(), paths=["s0 s1", "s1 s2", "s0 s1 s2"]) == 3.0
    assert value([1, 1, 1], line, job(), paths=[]) == 1.0


def test_a_thin_chord_and_fewer_workers():
    """Four servers on a thick cycle: four workers close a ring, but two on opposite servers, over the thin chord, do not."""
    cycle = [("s0", "s1", 1.0), ("s1", "s2", 1.0), ("s2", "s3", 1.0), ("s3", "s0", 1.0)]
    chords = [("s0", "s2", 0.1), ("s1", "s3", 0.1)]
    paths = ["s0 s1", "s1 s2", "s2 s3", "s3 s0", "s0 s2", "s1 s3"]
    assert value([1, 1, 1, 1], cycle + chords, job(workers=4), paths=paths) == 4.0
    assert value([1, 1, 1, 1], cycle + chords, job(workers=3), paths=paths) == 2.0
    assert value([1, 0.5, 1, 0.5], cycle + chords, job(workers=4), paths=paths) == 1.0


def test_a_detour_crosses_a_link_twice():
    """s0 to s1 by way of s2, s1 to s2 directly: a ring of three crosses s2-s1 and s1-s2 twice where its order needs both."""
    paths = ["s0 s2 s1", "s1 s2", "s2 s0"]
    thin, thick = [("s0", "s2", 1.0), ("s1", "s2", 1.0)], [("s0", "s2", 1.0), ("s1", "s2", 2.0)]
    # s0 -> s1 takes s0-s2-s1, s1 -> s2 takes s1-s2, s2 -> s0: every link once a direction
    assert value([1, 1, 1], thin, job(), paths=paths) == 3.0
    assert value([1, 1, 1], thick, job(load=1.1), paths=paths) == 2.0
    away = ["s0 s2 s1", "s1 s0 s2", "s2 s0"]  # s0 s2, s2 s1, s1 s0, s0 s2, s2 s0: the first link twice
    links = [("s0", "s2", 2.0), ("s1", "s2", 1.0), ("s1", "s0", 1.0)]
    assert value([1, 1, 1], links, job(), paths=away) == 3.0
    assert value([1, 1, 1], [("s0", "s2", 1.9), *links[1:]], job(), paths=away) == 2.0


def test_budgets():
    """0.3 GPUs a worker of 0.9 in all: three worker-slots, whatever the slots; of a resource that it does not use: no limit."""
    tenths = job(demand={"gpu": 0.3}, budget={"gpu": 0.9, "disk": 0.0})
    assert value([3], [], tenths, slots=3) == 3.0
    assert value([3], [], tenths | {"budget": {"gpu": 0.89}}, slots=3) == 2.0
    assert value([3], [], tenths | {"budget": {"gpu": 0.0}}, slots=3) == 0.0


def test_s_shaped_jobs_do_not_share():
    """Two slots of one GPU: either job is worth 1 at two worker-slots, next to nothing at one."""
    steep = {"kind": "sigmoid", "height": 1.0, "steepness": 100.0, "midpoint": 1.5}
    jobs = [job(name, utility=steep) for name in "ab"]
    found, embedding = brute_force_ring(made([1], [], *jobs, slots=2))
    assert found == pytest.approx(1.0, rel=1e-12)
    assert len({name for rings in embedding.slots.values() for name in rings}) == 1


def test_what_is_too_large():
    """Rings of one job, and numbers of workers of many."""
    with pytest.raises(ValueError, match="rings of job 'a'"):
        value([1] * 9, [], job(workers=9))
    with pytest.raises(ValueError, match="combinations"):
        value([3], [], *(job(f"j{n}") for n in range(9)))


def all_rings(servers, workers):
    """No ring, and every ring of up to ``workers`` workers on these servers in every order."""
    yield None
    for counts in itertools.product(range(workers + 1), repeat=len(servers)):
        if 1 <= sum(counts) <= workers:
            held = {server: count for server, count in zip(servers, counts, strict=True) if count}
            first, *rest = held
            for others in itertools.permutations(rest):
                yield held, (first, *others)


@pytest.mark.parametrize("objectives", ["plain", "any"])
@pytest.mark.parametrize(
    ("most", "examples"),
    [
        ({"max_jobs": 2, "max_servers": 3, "max_slots": 1}, 20),
        ({"max_jobs": 1, "max_servers": 3, "max_slots": 2, "max_workers": 2}, 15),
        ({"max_jobs": 2, "max_servers": 2, "max_slots": 2, "max_workers": 2}, 10),
    ],
)
def test_no_embedding_is_better(most, examples, objectives):
    """All embeddings one by one, feasible or not by the checker: none has a better objective, or better sorted utilities."""

    @profile(examples)
    @given(ring_embedding_instances(objectives=objectives, **most))
    def agrees(instance):
        servers = [server.id for server in instance.servers]
        ways = [
            [(slot, job.id, ring) for ring in all_rings(servers, job.max_workers)]
            for slot in range(1, instance.slots + 1)
            for job in instance.jobs
        ]
        best, fairest = -math.inf, []
        for chosen in itertools.product(*ways):
            slots = {}
            for slot, name, ring in chosen:
                if ring is not None:
                    slots.setdefault(slot, {})[name] = ring
            embedding = Embedding(slots)
            least_first = sorted(utilities(instance, embedding).values())
            better = objective(instance, embedding) > best
            if (better or least_first > fairest) and not check(instance, embedding):
                best, fairest = max(best, objective(instance, embedding)), max(fairest, least_first)
        assert brute_force_ring(instance)[0] == best
        assert brute_force_max_min(instance)[0] == fairest

    agrees()


def powered(watts, *jobs, slots=1, **more):
    """Two servers of two GPUs side by side; a kWh costs 1, so 1000 W for a slot of an hour do."""
    data = made([2, 2], [("s0", "s1", 1.0)], *jobs, slots=slots).model_dump()
    for node, power in zip(data["nodes"], watts, strict=True):
        node["power_on_w"] = power
    return Instance(**data | {"energy_price_per_kwh": 1.0} | more)


def test_energy_by_hand():
    """Each worker is worth 1: servers of 1.5 and 1.75 are both worth it, of 2.5 none, of 1.5 and 2.5 the cheaper."""
    assert brute_force_ring(powered([1500.0, 1750.0], job(workers=4)))[0] == 4 - 3.25
    assert brute_force_ring(powered([2500.0, 2500.0], job(workers=4))) == (0.0, Embedding({}))
    found, embedding = brute_force_ring(powered([2500.0, 1500.0], job(workers=4), slots=2))
    assert found == 2 * (2 - 1.5)
    assert embedding.slots[2]["a"].workers == {"s1": 2}
    assert brute_force_ring(powered([1500.0, 1750.0], job(workers=4), slot_s=1800.0))[0] == 4 - 1.625


def test_the_energy_of_workers_by_hand():
    """Workers of 0.625 and 1.125; two jobs that gain 0.75 each share a server of 1, for which one alone is not worth it."""
    assert brute_force_ring(powered([0.0, 0.0], job(workers=4, worker_power_w=625.0)))[0] == 4 * 0.375
    assert brute_force_ring(powered([0.0, 0.0], job(workers=4, worker_power_w=1125.0)))[0] == 0.0
    pair = [job(name, workers=1, worker_power_w=250.0) for name in "ab"]
    assert brute_force_ring(powered([1000.0, 1000.0], *pair))[0] == 1.5 - 1.0
    assert brute_force_ring(powered([1000.0, 1000.0], pair[0]))[0] == 0.0


def test_rings_of_one_size_may_differ_in_their_servers():
    """`b` needs s1, which holds both; `a` is there too, though s0 comes first and alone is cheaper."""
    jobs = [job("a", workers=1), job("b", workers=1, demand={"gpu": 1.0, "disk": 1.0})]
    data = powered([250.0, 500.0], *jobs).model_dump()
    data["nodes"][1]["capacity"] = {"gpu": 2.0, "disk": 1.0}
    found, embedding = brute_force_ring(Instance(**data))
    assert found == 2 - 0.5
    assert {name: dict(ring.workers) for name, ring in embedding.slots[1].items()} == {"a": {"s1": 1}, "b": {"s1": 1}}


def test_the_least_first_by_hand():
    """Three slots of one GPU: two for `a`, each worth 0.5, one for `b`; `c` is content with one more, and `b` gets the last."""
    half = {"kind": "capped", "slope": 0.5, "cap": 9.0}
    instance = made([1], [], job("a", utility=half), job("b"), slots=3)
    assert brute_force_ring(instance)[0] == 3.0
    assert brute_force_max_min(instance)[0] == [1.0, 1.0]
    assert brute_force_ring(Instance(**instance.model_dump() | {"objective": "max_min"}))[0] == 1.0
    poor = job("c", workers=1, arrival_slot=4, utility={"kind": "capped", "slope": 0.25, "cap": 0.25})
    instance = made([1], [], job("a", utility=half), job("b"), poor, slots=5)
    assert brute_force_max_min(instance)[0] == [0.25, 1.0, 2.0]


@pytest.mark.parametrize("objectives", ["plain", "sum"])
def test_strategies_keep_their_promises(objectives):
    """No listed paths, and utilities that gain no more from any worker-slot than from the one before."""

    @profile(36)
    @given(ring_embedding_instances(forest=True, concave=True, objectives=objectives))
    def keeps(instance):
        assert_forest_and_concave(instance)
        assert instance.objective == "sum" and (objectives == "sum" or not instance.charges)

    keeps()


def assert_forest_and_concave(instance):
    """By what worker-slots are worth one after the other, and by what the utility says."""
    assert instance.paths is None
    assert all(record.utility.concave for record in instance.jobs)
    for record in instance.jobs:
        held = [objective_of(record, count) for count in range(7)]
        gains = [after - before for before, after in itertools.pairwise(held)]
        assert all(after <= before + 1e-12 * max(held) for before, after in itertools.pairwise(gains))


def objective_of(record, count):
    """Utility of ``count`` worker-slots of a job."""
    shape = {"demand": {"gpu": 1.0}, "max_workers": 10, "arrival_slot": 1, "budget": {}}
    instance = made([10], [], record.model_dump() | shape, slots=1)
    embedding = Embedding({1: {record.id: ({"s0": count}, ["s0"])}}) if count else Embedding({})
    return objective(instance, embedding)


@profile(18)
@given(ring_embedding_instances(forest=False, concave=False))
def test_strategies_keep_their_other_promises(instance):
    """Listed paths, and an S-shaped utility."""
    assert instance.paths is not None
    assert any(record.utility.kind == "sigmoid" and record.utility.midpoint > 0 for record in instance.jobs)


def test_strategies_draw_the_awkward_cases():
    """Among 400 instances each of them is there."""
    seen = set()

    @profile(400)
    @given(ring_embedding_instances())
    def look(instance):
        jobs, servers, links = instance.jobs, instance.servers, instance.links
        names = {server.id for server in servers}
        ends = [end for link in links for end in link.ends]
        kinds = [record.utility for record in jobs]
        capacity = [dict(server.capacity) for server in servers]
        pairs = len(servers) * (len(servers) - 1) // 2
        pieces = len(instance.nodes) - len(links)
        most = [max(held.get(name, 0.0) for held in capacity) for name in instance.resources]
        cases = {
            "several parts": instance.paths is None and pieces > 1 and bool(links),
            "one part": instance.paths is None and pieces == 1 and len(servers) == 3,
            "servers on the way": any(ends.count(name) > 1 for name in names),
            "a core": any(node.id == "core" for node in instance.nodes),
            "alone": len(instance.nodes) == 1,
            "cycle": instance.paths is not None and len(links) >= len(instance.nodes),
            "missing pairs": instance.paths is not None and 0 < len(instance.paths) < pairs,
            "no paths": instance.paths == (),
            "detour": any(len(path.nodes) > 3 for path in instance.paths or ()),
            "too thin": any(
                record.bandwidth_bytes_per_s > link.bandwidth_bytes_per_s for record in jobs for link in links
            ),
            "no bandwidth": any(record.bandwidth_bytes_per_s == 0 for record in jobs),
            "two resources": len(instance.resources) == 2,
            "fractions": any(amount % 1 for record in jobs for amount in record.demand.values()),
            "too large": any(
                record.demand.get(name, 0.0) > held
                for record in jobs
                for name, held in zip(instance.resources, most, strict=True)
            ),
            "nothing of a resource": any(set(instance.resources) - set(held) for held in capacity),
            "budget": any(record.budget for record in jobs),
            "no budget at all": any(0.0 in record.budget.values() for record in jobs),
            "late": any(record.arrival_slot > 1 for record in jobs),
            "identical": len(jobs) > 1
            and len({record.model_copy(update={"id": "any"}).model_dump_json() for record in jobs}) == 1,
            "sqrt": any(utility.kind == "sqrt" for utility in kinds),
            "log": any(utility.kind == "log" for utility in kinds),
            "cap that binds": any(
                utility.kind == "capped"
                and utility.cap < utility.slope * record.rate * record.max_workers * instance.slots
                for record, utility in zip(jobs, kinds, strict=True)
            ),
            "steep": any(
                utility.kind == "sigmoid" and utility.steepness * record.rate > 1000
                for record, utility in zip(jobs, kinds, strict=True)
            ),
            "midpoint 0": any(utility.kind == "sigmoid" and utility.midpoint == 0 for utility in kinds),
            "midpoint beyond": any(
                utility.kind == "sigmoid" and utility.midpoint > record.rate * record.max_workers * instance.slots
                for record, utility in zip(jobs, kinds, strict=True)
            ),
            "rates": any(record.rate not in (0.5, 1.0, 2.0, 100.0) for record in jobs),
        }
        seen.update(name for name, holds in cases.items() if holds)
        everything.update(cases)

    everything = set()
    look()
    assert seen == everything, sorted(everything - seen)


def test_strategies_draw_all_objectives():
    """Among 600 instances each of them is there."""
    seen = set()
    energy = {"energy that is worth it", "energy that is not", "some servers stay off"}  # told by brute force

    @profile(600)
    @given(ring_embedding_instances(objectives="any"))
    def look(instance):
        utilities = [record.utility for record in instance.jobs]
        tables = [utility for utility in utilities if utility.kind == "table"]
        steps = [list(itertools.pairwise(table.worth)) for table in tables]
        on = slots_on(instance, brute_force_ring(instance)[1]) if instance.charges and not seen >= energy else {}
        alphas = [utility.alpha for utility in utilities if utility.kind == "alpha_fair"]
        cases = {
            **{kind: any(utility.kind == kind for utility in utilities) for kind in KINDS},
            **{f"alpha {alpha}": alpha in alphas for alpha in (0.0, 0.5, 1.0, 2.0, 5.0)},
            "another alpha": any(alpha % 0.5 for alpha in alphas),
            "no shift": any(utility.kind == "alpha_fair" and utility.shift == 0 for utility in utilities),
            "a loss that stays": any(utility.kind == "loss" and utility.curve.b0 == 0 for utility in utilities),
            "plateau": any(before == after for pairs in steps for before, after in pairs),
            "ever steeper": any(not table.concave for table in tables),
            "one point": any(len(table.progress) == 1 for table in tables),
            "worth something at once": any(table.worth[0] > 0 for table in tables),
            "max_min": instance.objective == "max_min",
            "energy that is worth it": instance.charges and all(instance.on_prices) and any(on.values()),
            "energy that is not": instance.charges and not any(on.values()),
            "some servers stay off": instance.charges and 0 in on.values() and any(on.values()),
            "servers only": any(instance.on_prices) and not any(instance.worker_prices),
            "workers only": any(instance.worker_prices) and not any(instance.on_prices),
            "no price": not instance.charges and any(node.power_on_w for node in instance.nodes),
            "short slots": instance.charges and instance.slot_s == 60.0,
        }
        seen.update(name for name, holds in cases.items() if holds)
        everything.update(cases)

    everything = set()
    look()
    assert seen == everything, sorted(everything - seen)


def test_strategies_refuse_nothing_to_draw():
    """At least one of each."""

    @profile(1)
    @given(ring_embedding_instances(max_jobs=0))
    def look(instance):
        raise AssertionError

    with pytest.raises(ValueError, match="must be at least 1"):
        look()

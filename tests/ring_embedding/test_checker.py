"""The checker by hand: utilities, every rule by name, place and amount, tolerances, routes, and what files may hold."""

import math
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.core.errors import InputError
from dlsched.ring_embedding.checker import check, figures, infeasible, objective, worker_slots, worth
from dlsched.ring_embedding.heuristics.baselines import fifo
from dlsched.ring_embedding.instance import Instance, Job
from dlsched.ring_embedding.solution import Embedding, read_solution
from dlsched.testing.ring_embedding import ring_embedding_instances

from .test_brute_force import job, made

SETTINGS = settings(max_examples=60, derandomize=True, deadline=None, database=None)

# s0 (2 GPUs) - 4 B/s - rack - 3 B/s - s1 (3 GPUs, 1 disk);  s2 (4 GPUs) in a part of its own
INSTANCE = Instance(
    name="rack",
    slots=3,
    nodes=[
        {"id": "s0", "capacity": {"gpu": 2.0}},
        {"id": "s1", "capacity": {"gpu": 3.0, "disk": 1.0}},
        {"id": "s2", "capacity": {"gpu": 4.0}},
        {"id": "rack"},
    ],
    links=[
        {"ends": ("s0", "rack"), "bandwidth_bytes_per_s": 4.0},
        {"ends": ("s1", "rack"), "bandwidth_bytes_per_s": 3.0},
    ],
    jobs=[
        job("a", workers=3, load=2.0, budget={"gpu": 5.0, "none": 0.0}),
        job("b", workers=2, load=2.0, arrival_slot=2),
        job("c", workers=4, load=0.0, demand={"gpu": 0.5, "disk": 1.0}),
    ],
)
PAIR = ({"s0": 1, "s1": 1}, ("s0", "s1"))


def rules(slots, instance=INSTANCE):
    """Broken rules as (rule, where, amount)."""
    return [(found.rule, found.where, found.amount) for found in check(instance, Embedding(slots))]


def alone(server, count=1):
    """A ring on one server."""
    return {server: count}, (server,)


FEASIBLE = {
    1: {"a": ({"s0": 2, "s1": 1}, ("s1", "s0")), "c": alone("s1")},
    3: {"a": PAIR, "b": alone("s2", 2)},
}


def test_a_feasible_embedding_by_hand():
    """A: 3 + 2 worker-slots, b: 2, c: 1; the utility of each is its worker-slots."""
    embedding = Embedding(FEASIBLE)
    assert check(INSTANCE, embedding) == []
    assert worker_slots(INSTANCE, embedding) == {"a": 5, "b": 2, "c": 1}
    assert objective(INSTANCE, embedding) == 8.0
    expected = {"jobs_run": 3.0, "worker_slots": 8.0, "rings": 4.0, "rings_across_servers": 2.0}
    assert figures(INSTANCE, embedding) == expected | {"progress": 8.0, "least_progress": 1.0, "least_utility": 1.0}
    assert check(INSTANCE, Embedding({})) == []
    assert infeasible(INSTANCE) is None


@pytest.mark.parametrize(
    ("slots", "expected"),
    [
        ({0: {"c": alone("s1")}}, [("slots", "slot 0", None)]),
        ({4: {"c": alone("s1")}}, [("slots", "slot 4", None)]),
        ({-1: {"c": alone("s1")}}, [("slots", "slot -1", None)]),
        ({1: {"d": alone("s1")}}, [("workers", "d in slot 1", None)]),
        ({1: {"a": alone("s9")}}, [("workers", "a in slot 1", None)]),
        ({1: {"a": alone("rack")}}, [("workers", "a in slot 1", None)]),
        ({1: {"a": ({}, ())}}, [("workers", "a in slot 1", None)]),
        ({1: {"a": alone("s0", 0)}}, [("workers", "a in slot 1", None)]),
        ({1: {"a": ({"s0": 1, "s1": 0}, ("s0", "s1"))}}, [("workers", "a in slot 1", None)]),
        ({1: {"a": alone("s2", 4)}}, [("workers", "a in slot 1", 1.0)]),
        ({1: {"a": ({"s0": 2, "s1": 3}, ("s0", "s1"))}}, [("workers", "a in slot 1", 2.0)]),
        ({1: {"b": alone("s2")}}, [("arrival", "b in slot 1", 1.0)]),
        ({1: {"a": alone("s0", 3)}}, [("capacity", "s0 gpu in slot 1", 1.0)]),
        ({2: {"a": alone("s0", 2), "b": alone("s0", 2)}}, [("capacity", "s0 gpu in slot 2", 2.0)]),
        ({1: {"c": alone("s0", 2)}}, [("capacity", "s0 disk in slot 1", 2.0)]),
        ({1: {"c": alone("s1", 3)}}, [("capacity", "s1 disk in slot 1", 2.0)]),
        ({1: {"a": alone("s2", 3)}, 2: {"a": alone("s2", 3)}}, [("budget", "a gpu", 1.0)]),
        (
            {2: {"a": PAIR, "b": PAIR}},
            [("bandwidth", "s1->rack in slot 2", 1.0), ("bandwidth", "rack->s1 in slot 2", 1.0)],
        ),
        ({1: {"a": ({"s0": 1, "s2": 1}, ("s0", "s2"))}}, [("ring", "a in slot 1", None)]),
        (
            {1: {"c": ({"s1": 1, "s2": 1}, ("s2", "s1"))}},
            [("capacity", "s2 disk in slot 1", 1.0), ("ring", "c in slot 1", None)],
        ),
    ],
)
def test_every_rule_by_name_place_and_amount(slots, expected):
    """One rule is broken, but for the last: no disk, and no route even without a bandwidth."""
    assert sorted(rules(slots)) == sorted(expected)


@pytest.mark.parametrize(
    "order",
    [("s0",), ("s0", "s1", "s0"), ("s0", "s0"), (), ("s0", "s2"), ("s0", "rack", "s1"), ("s0", "s1", "s2"), "s0"],
)
def test_the_order_names_each_server_once(order):
    """None left out, none twice, none else; a string is its letters."""
    assert rules({1: {"a": (PAIR[0], order)}}) == [("ring", "a in slot 1", None)]


@pytest.mark.parametrize("count", [1.0, 0.5, True, -1, math.nan, math.inf, None, "2", [1], 2**53 + 1])
def test_only_whole_numbers_are_workers(count):
    """Halves, booleans and words are none, though some compare equal to one; the rest is checked all the same."""
    slots = {2: {"a": alone("s0", count), "b": alone("s0", 3)}}
    assert rules(slots) == [("workers", "a in slot 2", None), ("workers", "b in slot 2", 1.0)]


@pytest.mark.parametrize("slot", ["1", 1.0, 1.5, True, None, math.nan, (1,)])
def test_only_whole_numbers_are_slots(slot):
    """What stands in no slot breaks that rule alone."""
    assert rules({slot: {"b": alone("s0", 9)}, 2: {"b": alone("s2", 2)}}) == [("slots", f"slot {slot}", None)]


@pytest.mark.parametrize(
    ("workers", "order", "rule"),
    [
        ({1: 1}, (1,), "workers"),
        ({None: 1}, (None,), "workers"),
        ({"s0": 1}, (1,), "ring"),
        ({"s0": 1, "s1": 1}, ("s0", 1), "ring"),
        ({"s0": 1, "s1": 1}, ("s0", ["s1"]), "ring"),
        ({"s0": 1, "s1": 1}, ("s0", None), "ring"),
    ],
)
def test_only_names_place_workers(workers, order, rule):
    """Numbers and lists are named, and do not end the check."""
    assert rules({1: {"a": (workers, order)}}) == [(rule, "a in slot 1", None)]


def test_all_faults_are_named():
    """In several slots, of several jobs."""
    slots = {
        1: {"a": alone("s0", 3), "b": alone("s2"), "x": alone("s2")},
        2: {"a": ({"s2": 1, "s0": 1}, ("s2", "s0")), "c": alone("s1", 2)},
        7: {},
        9: {"a": alone("s2")},
    }
    assert sorted(rules(slots)) == sorted(
        [
            ("capacity", "s0 gpu in slot 1", 1.0),
            ("arrival", "b in slot 1", 1.0),
            ("workers", "x in slot 1", None),
            ("ring", "a in slot 2", None),
            ("capacity", "s1 disk in slot 2", 1.0),
            ("slots", "slot 9", None),
        ]
    )


def test_the_numbers_stand_in_the_messages():
    """What was used, and of how much."""
    found = {
        each.rule: each.message for each in check(INSTANCE, Embedding({2: {"a": PAIR, "b": PAIR, "c": alone("s1", 2)}}))
    }
    assert found["capacity"] == "2 of 1 disk are used"
    assert found["bandwidth"] == "4 of 3 B/s are reserved"
    (broken,) = check(INSTANCE, Embedding({1: {"a": ({"s0": 1, "s2": 1}, ("s0", "s2"))}}))
    assert broken.message == "there is no route from 's0' to 's2'"


def test_a_ring_of_two_uses_both_directions():
    """Of each link; alone on a server none."""
    line = made([2, 2], [("s0", "s1", 1.0)], job(load=1.5))
    both = [("bandwidth", "s0->s1 in slot 1", 0.5), ("bandwidth", "s1->s0 in slot 1", 0.5)]
    assert sorted(rules({1: {"a": PAIR}}, line)) == both
    assert rules({1: {"a": alone("s0", 2)}}, line) == []


def test_directions_are_apart():
    """On a cycle a ring of three uses one direction; a second one the other way round, but not the same way."""
    ends = [("s0", "s1", 1.0), ("s1", "s2", 1.0), ("s2", "s0", 1.0)]
    cycle = made([2, 2, 2], ends, job("a"), job("b"), paths=["s0 s1", "s2 s1", "s2 s0"])
    workers = dict.fromkeys(("s0", "s1", "s2"), 1)
    forward, back = (workers, ("s0", "s1", "s2")), (workers, ("s2", "s1", "s0"))
    assert rules({1: {"a": forward, "b": back}}, cycle) == []
    same = {
        ("bandwidth", f"{here}->{there} in slot 1", 1.0) for here, there in (("s0", "s1"), ("s1", "s2"), ("s2", "s0"))
    }
    assert set(rules({1: {"a": forward, "b": forward}}, cycle)) == same
    assert set(rules({1: {"a": forward, "b": (workers, ("s1", "s2", "s0"))}}, cycle)) == same
    assert len(rules({1: {"a": ({"s0": 1, "s1": 1}, ("s0", "s1")), "b": back}}, cycle)) == 1  # one way twice


def test_a_bad_order_crosses_a_link_twice():
    """Two racks of two: around one rack first, once in each direction of the core; to and fro, twice."""
    ends = [(f"s{n}", f"r{n // 2}", 1.0) for n in range(4)] + [("r0", "r1", 1.0)]
    racks = made([1, 1, 1, 1], ends, job(workers=4), switches=["r0", "r1"])
    workers = {f"s{n}": 1 for n in range(4)}
    assert rules({1: {"a": (workers, ("s0", "s1", "s2", "s3"))}}, racks) == []
    assert rules({1: {"a": (workers, ("s2", "s3", "s1", "s0"))}}, racks) == []
    crossed = [("bandwidth", "r0->r1 in slot 1", 1.0), ("bandwidth", "r1->r0 in slot 1", 1.0)]
    assert sorted(rules({1: {"a": (workers, ("s0", "s2", "s1", "s3"))}}, racks)) == crossed
    thick = made([1, 1, 1, 1], [*ends[:-1], ("r0", "r1", 2.0)], job(workers=4), switches=["r0", "r1"])
    assert rules({1: {"a": (workers, ("s0", "s2", "s1", "s3"))}}, thick) == []


def test_routes_are_those_listed():
    """The detour, though there is a link; back on the same way; and no route where none is listed."""
    ends = [("s0", "s1", 9.0), ("s1", "s2", 1.0), ("s2", "s0", 9.0)]
    detour = made([1, 1, 1], ends, job(load=2.0), paths=["s0 s2 s1", "s0 s2"])
    assert {where for _, where, _ in rules({1: {"a": PAIR}}, detour)} == {"s1->s2 in slot 1", "s2->s1 in slot 1"}
    assert rules({1: {"a": ({"s0": 1, "s2": 1}, ("s2", "s0"))}}, detour) == []
    assert rules({1: {"a": ({"s1": 1, "s2": 1}, ("s2", "s1"))}}, detour) == [("ring", "a in slot 1", None)]
    assert rules({1: {"a": (dict.fromkeys(("s0", "s1", "s2"), 1), ("s0", "s1", "s2"))}}, detour)[0][0] == "ring"


def test_a_route_passes_servers():
    """In a line of servers, those between the ends."""
    line = made([1, 1, 1], [("s0", "s1", 1.0), ("s1", "s2", 0.5)], job(load=1.0))
    broken = rules({1: {"a": ({"s0": 1, "s2": 1}, ("s0", "s2"))}}, line)
    assert {where for _, where, _ in broken} == {"s1->s2 in slot 1", "s2->s1 in slot 1"}


@pytest.mark.parametrize("size", [1e-6, 0.3, 1.0, 2e9])
@pytest.mark.parametrize(("factor", "passes"), [(0.0, True), (0.99, True), (1.01, False), (-5.0, True)])
def test_the_tolerance_is_a_billionth_of_what_there_is(size, factor, passes):
    """Of capacities, budgets and bandwidths, however small."""
    amount = size + factor * 1e-9 * size
    capacity = made([size], [], job(demand={"gpu": amount}))
    assert (rules({1: {"a": alone("s0")}}, capacity) == []) == passes
    budget = made([9 * size], [], job(demand={"gpu": amount}, budget={"gpu": size}))
    assert (rules({1: {"a": alone("s0")}}, budget) == []) == passes
    link = made([1, 1], [("s0", "s1", size)], job(load=amount))
    assert (rules({1: {"a": PAIR}}, link) == []) == passes


def test_sums_are_exact():
    """Three times 0.1 and ten jobs of a tenth do not exceed what they add up to."""
    tenths = [job(f"j{n}", demand={"gpu": 0.1}, load=0.1) for n in range(10)]
    full = made([1, 1], [("s0", "s1", 1.0)], *tenths)
    assert rules({1: {f"j{n}": PAIR for n in range(10)}}, full) == []
    assert [
        rule
        for rule, _, _ in rules({1: {f"j{n}": PAIR for n in range(10)}}, made([1, 1], [("s0", "s1", 0.9)], *tenths))
    ] == [
        "bandwidth",
        "bandwidth",
    ]


def test_jobs_that_do_not_run_count():
    """With the utility of nothing."""
    sigmoid = {"kind": "sigmoid", "height": 8.0, "steepness": 2.0, "midpoint": 1.0}
    instance = made([1], [], job("a"), job("b", utility=sigmoid), job("c", utility=sigmoid | {"midpoint": 0.0}))
    assert objective(instance, Embedding({})) == pytest.approx(8 / (1 + math.exp(2)) + 4, rel=1e-15)
    assert objective(instance, Embedding({1: {"a": alone("s0")}})) == pytest.approx(
        8 / (1 + math.exp(2)) + 5, rel=1e-15
    )
    assert objective(instance, Embedding({1: {"unknown": alone("s0")}})) == objective(instance, Embedding({}))
    assert worth(Job(**job(rate=0.5)), 6) == 3.0


def as_file(**changes):
    """The solution of a file with one slot, one ring."""
    ring = {"workers": {"s0": 1, "s1": 1}, "order": ["s0", "s1"]}
    entry = {"slot": 1, "rings": {"a": ring | changes}}
    return {"slots": [{key: value for key, value in entry.items() if value is not None}]}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (None, "solution.slots: found no list, allowed: [{slot, rings}]"),
        ({}, "solution.slots: found no list, allowed: [{slot, rings}]"),
        ({"slots": {}}, "solution.slots: found no list, allowed: [{slot, rings}]"),
        ({"slots": [], "more": 1}, "solution.more: found an unknown field, allowed: only slots"),
        ({"slots": [3]}, "solution.slots[0]: found 3, allowed: an object"),
        ({"slots": [{"rings": {}}]}, "solution.slots[0].slot: found null, allowed: an integer"),
        ({"slots": [{"slot": 1.0, "rings": {}}]}, "solution.slots[0].slot: found 1.0, allowed: an integer"),
        ({"slots": [{"slot": True, "rings": {}}]}, "solution.slots[0].slot: found true, allowed: an integer"),
        ({"slots": [{"slot": 1}]}, "solution.slots[0].rings: found null, allowed: an object"),
        ({"slots": [{"slot": 1, "rings": []}]}, "solution.slots[0].rings: found an empty list, allowed: an object"),
        (
            {"slots": [{"slot": 2, "rings": {}}, {"slot": 2, "rings": {}}]},
            "solution.slots[1].slot: found 2 for the second time, allowed: every slot once",
        ),
        (
            {"slots": [{"slot": 1, "rings": {}, "end": 2}]},
            "solution.slots[0].end: found an unknown field, allowed: only rings, slot",
        ),
        ({"slots": [{"slot": 1, "rings": {"a": 2}}]}, "solution.slots[0].rings.a: found 2, allowed: an object"),
        (as_file(workers=None), "solution.slots[0].rings.a.workers: found null, allowed: an object"),
        (as_file(workers={"s0": 1.5}), "solution.slots[0].rings.a.workers.s0: found 1.5, allowed: an integer"),
        (as_file(workers={"s0": "1"}), 'solution.slots[0].rings.a.workers.s0: found "1", allowed: an integer'),
        (as_file(workers={"s0": True}), "solution.slots[0].rings.a.workers.s0: found true, allowed: an integer"),
        (as_file(order="s0"), 'solution.slots[0].rings.a.order: found "s0", allowed: a list'),
        (as_file(order=None), "solution.slots[0].rings.a.order: found null, allowed: a list"),
        (as_file(order=["s0", 1]), "solution.slots[0].rings.a.order[1]: found 1, allowed: a string"),
        (as_file(links=[]), "solution.slots[0].rings.a.links: found an unknown field, allowed: only order, workers"),
    ],
)
def test_what_is_no_solution(data, expected):
    """The path of the field, what was found and what is allowed."""
    with pytest.raises(InputError) as refused:
        read_solution(data, INSTANCE)
    assert str(refused.value) == expected


def test_an_order_is_missing():
    """Of several servers; of one it may be left out."""
    ring = {"workers": {"s0": 1, "s1": 1}}
    with pytest.raises(InputError, match=r"rings\.a\.order: found null, allowed: a list"):
        read_solution({"slots": [{"slot": 1, "rings": {"a": ring}}]}, INSTANCE)
    ring = {"workers": {"s0": 1}}
    assert read_solution({"slots": [{"slot": 1, "rings": {"a": ring}}]}, INSTANCE) == Embedding({1: {"a": alone("s0")}})


def test_what_is_infeasible_is_read():
    """Feasibility is the checker's question."""
    data = {"slots": [{"slot": 99, "rings": {"x": {"workers": {"moon": -1}, "order": []}}}]}
    assert check(INSTANCE, read_solution(data, INSTANCE))


def test_embeddings_are_values():
    """Equal whatever the order of slots, jobs and workers, not of the ring; immutable; empty slots are left out."""
    embedding = Embedding(FEASIBLE)
    again = Embedding({slot: dict(reversed(rings.items())) for slot, rings in reversed(FEASIBLE.items())} | {2: {}})
    assert (again, hash(again)) == (embedding, hash(embedding))
    assert read_solution(embedding.as_data(), INSTANCE) == embedding
    assert pickle.loads(pickle.dumps(embedding)) == embedding
    turned = Embedding({1: {"a": ({"s1": 1, "s0": 1}, ("s0", "s1"))}})
    assert turned == Embedding({1: {"a": PAIR}})
    assert turned != Embedding({1: {"a": (PAIR[0], ("s1", "s0"))}})
    assert embedding != FEASIBLE
    with pytest.raises(AttributeError, match="cannot assign"):
        embedding.slots = {}
    with pytest.raises(TypeError):
        embedding.slots[1]["a"] = None
    assert eval(repr(Embedding({})), {"Embedding": Embedding}) == Embedding({})


def broken_by(draw, instance, slots):
    """Break one thing; return the rules that may be named for it."""
    slot = draw(st.sampled_from(sorted(slots)))
    name = draw(st.sampled_from(sorted(slots[slot])))
    workers, order = slots[slot][name]
    kind = draw(st.sampled_from(["slot", "job", "server", "count", "more", "order", "twice", "early"]))
    if kind == "slot":
        slots[instance.slots + 1] = slots.pop(slot)
        return {"slots"}
    if kind == "job":
        slots[slot]["nobody"] = slots[slot].pop(name)
        return {"workers"}
    if kind == "server":
        slots[slot][name] = (workers | {"nowhere": 1}, (*order, "nowhere"))
        return {"workers"}
    if kind == "count":
        slots[slot][name] = (workers | {order[0]: draw(st.sampled_from([0, -1, 1.0, True, None]))}, order)
        return {"workers"}
    if kind == "more":
        most = instance.jobs[instance.index[name]].max_workers
        slots[slot][name] = (workers | {order[0]: most + 1}, order)
        return {"workers"}
    if kind == "early":
        late = instance.jobs[instance.index[name]].arrival_slot - 1
        slots.setdefault(late, {})[name] = slots[slot].pop(name)
        return {"arrival"} if late else {"slots"}
    slots[slot][name] = (workers, (*order, order[0]) if kind == "twice" else order[:-1])
    return {"ring"}


@SETTINGS
@given(ring_embedding_instances(max_slots=3), st.data())
def test_what_is_broken_is_named(instance, data):
    """A feasible embedding of drawn instances, and one thing changed in it."""
    embedding = fifo(instance)
    assert check(instance, embedding) == []
    slots = {
        slot: {name: (dict(ring.workers), ring.order) for name, ring in rings.items()}
        for slot, rings in embedding.slots.items()
    }
    if slots:
        wanted = broken_by(data.draw, instance, slots)
        assert wanted <= {rule for rule, _, _ in rules(slots, instance)}

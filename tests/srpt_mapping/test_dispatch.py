"""The queue: strict and backfilling, the orders of the policies, waiting for better placements, and what policies see."""

import heapq
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.cluster import spreading
from dlsched.core.errors import UsageError
from dlsched.srpt_mapping import Waiting, dispatch
from dlsched.srpt_mapping.checker import check, completion_times, iteration_time, objective
from dlsched.srpt_mapping.generator import generate
from dlsched.srpt_mapping.heuristics import POLICIES, a_srpt, fifo, least_work_first, shortest_first
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.placing import Servers, compact, heavy_edge
from dlsched.testing.srpt_mapping import srpt_mapping_instances

from . import builders
from .builders import fields_of, gang, low_s, virtual_ends

SETTINGS = settings(max_examples=12, derandomize=True, deadline=None, database=None)
CLOSE = 1e-9
made = partial(builders.made, nic=4.0)


def starts(instance, schedule):
    """Starts by job, of a schedule that breaks no rule."""
    assert check(instance, schedule) == []
    return {job: start.start_s for job, start in schedule.jobs.items()}


def test_strict_against_backfilling():
    """Two GPUs: b needs both and waits for a; c fits beside a, and passes b only with backfilling."""
    instance = made([2], (0, 4, 1), (1, 2, 2), (2, 1, 1))
    assert starts(instance, fifo(instance)) == {"a": 0.0, "b": 4.0, "c": 6.0}
    assert starts(instance, fifo(instance, backfill=True)) == {"a": 0.0, "b": 4.0, "c": 2.0}


def test_backfilling_may_delay_the_head():
    """Nothing is kept free for it: b waits for a and for c, which passed it."""
    instance = made([2], (0, 4, 1), (1, 2, 2), (2, 9, 1))
    assert starts(instance, fifo(instance, backfill=True)) == {"a": 0.0, "b": 11.0, "c": 2.0}


# lengths 4.5, 2 and 3 s, work 4.5, 4 and 3 GPU-seconds
ORDERED = made([2], (0, 4.5, 1), (0, 2, 2), (0, 3, 1))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (fifo, {"a": 0.0, "b": 4.5, "c": 6.5}),
        (shortest_first, {"b": 0.0, "c": 2.0, "a": 2.0}),
        (least_work_first, {"c": 0.0, "b": 3.0, "a": 5.0}),
        # virtual sizes 2.25, 2 and 1.5 s, so they join at 1.5 (c), 3.5 (b) and 5.75 (a); c runs to 4.5, b to 6.5
        (lambda instance: a_srpt(instance, waiting=None), {"c": 1.5, "b": 4.5, "a": 6.5}),
        (lambda instance: a_srpt(instance, waiting=None, speeds="low"), {"c": 1.5, "b": 4.5, "a": 6.5}),
        # with backfilling a joins at 5.75 and there is no room until 6.5
        (lambda instance: a_srpt(instance, waiting=None, backfill=True), {"c": 1.5, "b": 4.5, "a": 6.5}),
    ],
)
def test_orders_by_hand(policy, expected):
    """Release, predicted length, predicted work, virtual completion; ties as the instance has them."""
    assert starts(ORDERED, policy(ORDERED)) == expected


def test_orders_are_of_predictions():
    """The same jobs; predictions turn the order of length and work round."""
    instance = made([2], (0, 4.5, 1, 0.0, 1), (0, 2, 2, 0.0, 2), (0, 3, 1, 0.0, 9))
    assert starts(instance, shortest_first(instance)) == {"a": 0.0, "b": 4.5, "c": 6.5}
    assert starts(instance, least_work_first(instance)) == {"a": 0.0, "b": 4.5, "c": 6.5}
    # virtual sizes 0.5, 2 and 4.5: they join at 0.5, 2.5 and 7; a runs to 5, b to 7
    assert starts(instance, a_srpt(instance, waiting=None)) == {"a": 0.5, "b": 5.0, "c": 7.0}


def test_virtual_completions_with_preemption():
    """Virtual sizes 4, 1 and 2 s: b of 1 s interrupts a at 1 s, c waits at 3 s behind what is left of a, 2 s."""
    instance = made([2], (0, 8, 1), (1, 2, 1), (3, 4, 1))
    # a 0..1, b 1..2, a 2..5 (at 3 s it has 2 s left, as much as c, and came first), c 5..7
    assert starts(instance, a_srpt(instance, waiting=None)) == {"a": 5.0, "b": 2.0, "c": 7.0}


def placed(instance):
    """Seconds, by the checker, of where Heavy-Edge or compact, whichever is better, puts every job on empty servers."""
    servers = Servers(instance)
    return [
        min(
            iteration_time(instance, job, tuple(servers.named(rule(job.graph, servers))))
            for rule in (heavy_edge, compact)
        )
        for job in instance.jobs
    ]


@SETTINGS
@given(srpt_mapping_instances(max_jobs=6, feasible=True))
def test_no_job_starts_before_its_virtual_completion(instance):
    """With both speeds, with and without waiting and backfilling; there is a schedule for every job."""
    for speeds, seconds in (("low", low_s(instance)), ("placed", placed(instance))):
        joins = virtual_ends(instance, seconds)
        for options in ({"waiting": None}, {}, {"backfill": True}, {"waiting": None, "place": "compact"}):
            schedule = a_srpt(instance, speeds=speeds, **options)
            begun = starts(instance, schedule)
            assert all(begun[job] >= joins[job] * (1 - CLOSE) for job in joins)


# Two servers of two GPUs. w sends a ring of 16 bytes: 1 + 16 / 8 = 3 s an iteration inside, 1 + 16 / 2 = 9 s across.
# a and b take a GPU of each server, so w, which joins at 1 s, finds one GPU on each.
def queued(*more, a=20.0, b=4.0, waiting=None, predicted=10.0):
    """Starts and servers of w and of what joins later: pairs of join and iterations, one GPU each; fifo, strict."""
    jobs = [(0, a, 1), (0, b, 1), (1, 10, 2, 16.0, predicted), *((join, length, 1) for join, length in more)]
    instance = made([2, 2], *jobs)
    joins = [job.release_s for job in instance.jobs]
    schedule = dispatch(
        instance, joins_s=joins, keys=joins, place=heavy_edge, waiting=waiting, least_s=placed(instance)
    )
    begun = starts(instance, schedule)
    assert {begun["a"], begun["b"]} == {0.0}
    return (
        begun["c"],
        sorted(share.server for share in schedule.jobs["c"].placement),
        [begun[x] for x in "defgh" if x in begun],
    )


def test_without_waiting_it_starts_across():
    """At once, on whatever is free; d waits for b."""
    assert queued((2, 1.0)) == (1.0, ["s0", "s1"], [4.0])


def test_it_steps_aside_and_others_pass():
    """Patience for half of 30 s: d passes at 2 s, and at 4 s both GPUs of s1 are free, which is a good placement."""
    assert queued((2, 1.0), waiting=Waiting()) == (4.0, ["s1"], [2.0])


def test_what_is_good_depends_on_the_quality():
    """Nine seconds are three times three: good for quality 3, so it does not wait; nor does it without patience."""
    assert queued((2, 1.0), waiting=Waiting(patience=0.0)) == (1.0, ["s0", "s1"], [4.0])
    assert queued((2, 1.0), waiting=Waiting(quality=3.0)) == (1.0, ["s0", "s1"], [4.0])
    assert queued((2, 1.0), waiting=Waiting(quality=2.9)) == (4.0, ["s1"], [2.0])
    assert queued((2, 1.0), waiting=Waiting(quality=1e9)) == (1.0, ["s0", "s1"], [4.0])


def test_who_may_wait_depends_on_the_threshold():
    """alpha^max / alpha^min is 3: above 2.9, not above 3."""
    assert queued((2, 1.0), waiting=Waiting(threshold=2.9)) == (4.0, ["s1"], [2.0])
    assert queued((2, 1.0), waiting=Waiting(threshold=3.0)) == (1.0, ["s0", "s1"], [4.0])
    assert queued((2, 1.0), waiting=Waiting(threshold=1e9)) == (1.0, ["s0", "s1"], [4.0])


def test_the_deadline_expires():
    """A tenth of 30 s: at 1 + 3 s it takes what is free, though b runs to 9 s."""
    # d joins at 2 s, passes, and ends at 3.5 s; that frees no good placement
    assert queued((2, 1.5), b=9.0, waiting=Waiting(patience=0.1)) == (4.0, ["s0", "s1"], [2.0])


def test_the_deadline_is_of_the_prediction():
    """A tenth of 3 n~ s: 1 + 6 s for n~ = 20, 1 + 1.5 s for n~ = 5."""
    assert queued(b=9.0, waiting=Waiting(patience=0.1), predicted=20.0)[:2] == (7.0, ["s0", "s1"])
    assert queued(b=9.0, waiting=Waiting(patience=0.1), predicted=5.0)[:2] == (2.5, ["s0", "s1"])


def test_after_the_deadline_it_is_the_head_again():
    """At 4 s d has one of the two free GPUs; e, which joins at 5 s, stays behind w in spite of the other one."""
    # d from 2 s to 22 s on s0; at 9 s b ends, and s1 is free; then e waits for a to end at 20 s
    held = queued((2, 20.0), (5, 1.0), b=9.0, waiting=Waiting(patience=0.1))
    assert held == (9.0, ["s1"], [2.0, 20.0])


def test_two_that_wait_go_in_order():
    """Both step aside until 16 s; s1 is free at 4 s for the first of them, s0 at 20 s for the other one."""
    instance = made([2, 2], (0, 20, 1), (0, 4, 1), (1, 10, 2, 16.0), (1, 10, 2, 16.0))
    joins = [job.release_s for job in instance.jobs]
    for keys, expected in (([0, 0, 2, 3], (4.0, 20.0)), ([0, 0, 3, 2], (20.0, 4.0))):
        schedule = dispatch(
            instance, joins_s=joins, keys=keys, place=heavy_edge, waiting=Waiting(), least_s=placed(instance)
        )
        begun = starts(instance, schedule)
        assert (begun["c"], begun["d"]) == expected


@SETTINGS
@given(srpt_mapping_instances(max_jobs=6, feasible=True))
def test_rules_that_never_apply_change_nothing(instance):
    """Endless threshold, endless quality, no patience: the schedule without waiting."""
    for backfill in (False, True):
        plain = a_srpt(instance, waiting=None, backfill=backfill)
        for waiting in (Waiting(threshold=1e300), Waiting(quality=1e300), Waiting(patience=0.0)):
            assert a_srpt(instance, waiting=waiting, backfill=backfill) == plain


@pytest.mark.parametrize("seed", range(4))
def test_jobs_that_are_not_tried_find_no_good_placement(seed, monkeypatch):
    """The same schedules whether rooms say no, by the two largest or one, or whether every job is tried at every end."""
    instance = generate(jobs=150, gpus=24, seed=seed, load=2.0)
    schedules = []
    for rooms in (spreading._least_rooms, lambda graph, *_: [0] * (graph.gpus + 1)):
        monkeypatch.setattr(spreading.Spreads, "least_rooms", lambda self, *job, rooms=rooms: tuple(rooms(*job)))
        schedules.append([POLICIES[name](instance) for name in ("a-srpt", "work-patient")])
    monkeypatch.undo()
    assert schedules[0] == schedules[1] == [POLICIES[name](instance) for name in ("a-srpt", "work-patient")]


def keys_of(instance, name):
    """When each job joins and its key, by the policy's name, computed here."""
    work = name.startswith(("least-work", "work"))
    if name.startswith("a-srpt"):
        joins = virtual_ends(instance, low_s(instance) if name == "a-srpt-strict" else placed(instance))
        return joins, joins
    joins = {job.id: job.release_s for job in instance.jobs}
    if name.startswith("fifo") or name in ("easy", "conservative"):
        return joins, joins
    if not (work or name.startswith("shortest")):
        raise ValueError(f"no key is computed here for {name!r}: its order has to be added to keys_of")
    seconds = zip(instance.jobs, placed(instance), strict=True)
    return joins, {job.id: job.predicted * alpha * (job.gpus if work else 1) for job, alpha in seconds}


STRICT = ["a-srpt-strict", "shortest-first", "least-work", "fifo"]
WAITING = ["a-srpt", "work-patient"]


def test_every_policy_is_of_one_kind():
    """Those not named strict, waiting or reserving backfill."""
    assert set(STRICT + WAITING) <= set(POLICIES)
    others = set(POLICIES) - set(STRICT + WAITING) - {"easy", "conservative"}
    assert others == {name for name in POLICIES if name.endswith(("-backfill", "-compact"))}


@SETTINGS
@given(srpt_mapping_instances(max_jobs=7, feasible=True))
def test_policies_are_replayed(instance):
    """Nothing is broken; strict: nobody passes; backfilling: nobody waits who fits; from free GPUs counted here."""
    gpus = {job.id: job.gpus for job in instance.jobs}
    for name, policy in POLICIES.items():
        schedule = policy(instance)
        begun = starts(instance, schedule)
        ends = completion_times(instance, schedule)
        if name in WAITING:
            continue
        joins, keys = keys_of(instance, name)
        assert all(begun[job] >= joins[job] * (1 - CLOSE) for job in begun)
        times = sorted({*begun.values(), *ends.values(), *joins.values()})
        for before, after in pairwise(times):
            if after - before <= CLOSE * after:
                continue
            middle = (before + after) / 2
            free = instance.total_gpus - sum(gpus[job] for job in begun if begun[job] < middle < ends[job])
            waiting = [job for job in begun if joins[job] < middle < begun[job]]
            if name in ("easy", "conservative"):
                continue  # what is free may be reserved: ``test_reservations``
            if name not in STRICT:
                assert all(gpus[job] > free for job in waiting), name
            elif waiting:
                least = min(keys[job] for job in waiting)
                heads = [job for job in waiting if keys[job] <= least * (1 + CLOSE)]
                assert any(gpus[job] > free for job in heads), name
        if name in STRICT:
            for ahead in begun:
                for behind in begun:
                    if keys[ahead] < keys[behind] * (1 - CLOSE) and joins[ahead] < begun[behind] * (1 - CLOSE):
                        assert begun[ahead] <= begun[behind], name


def with_iterations(instance, changes):
    """The instance with predictions written down, and true iterations of some jobs changed."""
    data = fields_of(instance)
    for index, job in enumerate(instance.jobs):
        data["jobs"][index]["predicted_iterations"] = job.predicted
        data["jobs"][index]["iterations"] = changes.get(job.id, job.iterations)
    return Instance(**data)


@SETTINGS
@given(srpt_mapping_instances(max_jobs=6, feasible=True), st.data())
def test_the_future_is_not_seen(instance, data):
    """True iterations of a job, changed: until the earlier of its two ends all decisions are the same."""
    before = with_iterations(instance, {})
    name = data.draw(st.sampled_from([job.id for job in instance.jobs]))
    after = with_iterations(instance, {name: data.draw(st.sampled_from([1.0, 1.5, 7.0, 100.0]))})
    for policy in POLICIES.values():
        first, second = policy(before), policy(after)
        until = min(completion_times(before, first)[name], completion_times(after, second)[name]) * (1 - CLOSE)
        decided = [{job: held for job, held in each.jobs.items() if held.start_s < until} for each in (first, second)]
        assert decided[0] == decided[1]


@SETTINGS
@given(srpt_mapping_instances(max_jobs=5, feasible=True), st.data())
def test_the_order_of_the_servers_does_not_matter(instance, data):
    """Those of one size may swap roles: every policy has the same objective, to the bit."""
    held = fields_of(instance)
    held["servers"] = data.draw(st.permutations(held["servers"]))
    again = Instance(**held)
    for policy in POLICIES.values():
        assert objective(again, policy(again)) == objective(instance, policy(instance))


def test_unknown_words():
    """With what was found and what is allowed."""
    with pytest.raises(UsageError, match=r"^speeds: found 'high', allowed: placed, low$"):
        a_srpt(ORDERED, speeds="high")
    for policy in (a_srpt, shortest_first, least_work_first, fifo):
        with pytest.raises(UsageError, match=r"^place: found 'best', allowed: heavy-edge, compact$"):
            policy(ORDERED, place="best")


def test_what_does_not_fit_has_no_schedule():
    """Three GPUs on two: None, of every policy."""
    instance = made([1, 1], (0, 1, 3), (0, 1, 1))
    assert [policy(instance) for policy in POLICIES.values()] == [None] * len(POLICIES)


def test_many_jobs_one_after_another():
    """Five hundred of one GPU on two: fifo is the list schedule of a heap of two machines."""
    lengths = [1 + (7 * index) % 11 for index in range(500)]
    instance = made([1, 1], *(gang(n, length) for n, length in enumerate(lengths)))
    machines, expected = [0.0, 0.0], {}
    for number, length in enumerate(lengths):
        expected[f"j{number}"] = max(float(number), heapq.heappop(machines))
        heapq.heappush(machines, expected[f"j{number}"] + length)
    for backfill in (False, True):
        assert starts(instance, fifo(instance, backfill=backfill)) == expected

"""The checker by hand: seconds of an iteration, every rule by name and amount, and what must not change anything."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched import srpt_mapping
from dlsched.core.errors import InputError, UsageError
from dlsched.srpt_mapping.checker import _fit, check, completion_times, figures, iteration_time, objective
from dlsched.srpt_mapping.heuristics import fifo
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.solution import Schedule, Share, compact, read_solution
from dlsched.study.cells.runner import text_of_solution
from dlsched.testing.srpt_mapping import srpt_mapping_instances

from .builders import ends_of_bandwidth, fields_of, gang, made, stage, uniform_s

SETTINGS = settings(max_examples=20, derandomize=True, deadline=None, database=None)


INSTANCE = Instance(
    name="two",
    intra_bandwidth_bytes_per_s=16,
    nic_bandwidth_bytes_per_s=8,
    servers=[{"id": "big", "gpus": 4}, {"id": "one", "gpus": 2}, {"id": "two", "gpus": 2}],
    jobs=[
        {"id": "pair", "release_s": 1, "iterations": 2, "stages": [stage(2, 1.0, 8.0, 4.0), stage(2, 2.0)]},
        {
            "id": "chain",
            "release_s": 0,
            "iterations": 3,
            "stages": [stage(1, 1.0, 4.0), stage(1, 1.0, 2.0), stage(1, 1.0)],
        },
        {"id": "ring", "release_s": 8, "iterations": 1, "stages": [stage(3, 0.5, 0.0, 3.0)]},
    ],
)
PAIR, CHAIN, RING = INSTANCE.jobs


@pytest.mark.parametrize(
    ("job", "placement", "expected"),
    [
        # shares of the card: big 2 B/s, one and two 4 B/s; every replica of pair exchanges 2 * 8 / 2 = 8 bytes, ring 4
        (PAIR, [(0, "big", 2), (1, "big", 2)], 2 + 8 / 16),
        (PAIR, [(0, "big", 2), (1, "one", 2)], 1 + 8 / 2 + 4 / 16),
        (PAIR, [(0, "one", 2), (1, "two", 2)], 2 + 8 / 4),
        (PAIR, [(0, "one", 1), (1, "one", 1), (0, "two", 1), (1, "two", 1)], 1 + 8 * (0.5 / 16 + 0.5 / 4) + 4 / 4),
        (PAIR, [(0, "big", 1), (1, "big", 1), (0, "two", 1), (1, "two", 1)], 1 + 8 * (0.5 / 16 + 0.5 / 2) + 4 / 2),
        (PAIR, [(0, "big", 1), (0, "one", 1), (1, "big", 2)], 1 + 8 / 4 + 4 / 2),
        # chain: the middle exchanges 2 * 4 with the first and 2 * 2 with the last
        (CHAIN, [(0, "big", 1), (1, "big", 1), (2, "big", 1)], 1 + (8 + 4) / 16),
        (CHAIN, [(0, "one", 1), (1, "big", 1), (2, "big", 1)], 1 + 8 / 2 + 4 / 16),
        (CHAIN, [(0, "one", 1), (1, "one", 1), (2, "two", 1)], 1 + 8 / 16 + 4 / 4),
        (CHAIN, [(0, "big", 1), (1, "one", 1), (2, "two", 1)], 1 + 8 / 2),
        # ring: 2 * 2 / 3 * 3 = 4 bytes a replica
        (RING, [(0, "big", 3)], 0.5 + 4 / 16),
        (RING, [(0, "one", 2), (0, "two", 1)], 0.5 + 4 / 4),
        (RING, [(0, "one", 2), (0, "big", 1)], 0.5 + 4 / 2),
    ],
)
def test_seconds_of_an_iteration_by_hand(job, placement, expected):
    """One server, stages spread and apart, some partners near, servers of different sizes, both neighbours."""
    assert iteration_time(INSTANCE, job, tuple(Share(*share) for share in placement)) == pytest.approx(
        expected, rel=1e-15
    )


def spread(draw, instance, job):
    """Any placement of a job on empty servers, as shares, and as counts by server and stage."""
    slots = draw(st.permutations([place for place, server in enumerate(instance.servers) for _ in range(server.gpus)]))
    counts = [[0] * len(job.stages) for _ in instance.servers]
    for number, held in enumerate(job.stages):
        for _ in range(held.replicas):
            counts[slots.pop()][number] += 1
    shares = [
        Share(number, instance.servers[place].id, count)
        for place, row in enumerate(counts)
        for number, count in enumerate(row)
        if count
    ]
    return tuple(draw(st.permutations(shares))), counts


@SETTINGS
@given(srpt_mapping_instances(max_servers=4, max_gpus=4, feasible=True), st.data())
def test_two_codes_agree_and_closed_forms_enclose(instance, data):
    """The job graph's seconds are the checker's; alpha^low <= alpha <= alpha^max for every placement."""
    slowest, fastest = ends_of_bandwidth(instance)
    for job in instance.jobs:
        placement, counts = spread(data.draw, instance, job)
        alpha = iteration_time(instance, job, placement)
        used = [place for place, row in enumerate(counts) if any(row)]
        shares = [instance.shares[place] for place in used]
        inside = instance.intra_bandwidth_bytes_per_s
        assert job.graph.iteration_s([counts[place] for place in used], shares, inside) == pytest.approx(
            alpha, rel=1e-12
        )
        low, high = (float(uniform_s(job, bandwidth)) for bandwidth in (fastest, slowest))
        assert low * (1 - 1e-12) <= alpha <= high * (1 + 1e-12)
        assert (job.graph.uniform_s(fastest), job.graph.uniform_s(slowest)) == pytest.approx((low, high), rel=1e-12)


HELD = {
    "pair": (1.0, [(0, "big", 2), (1, "big", 2)]),
    "chain": (0.0, [(0, "one", 1), (1, "one", 1), (2, "two", 1)]),
    "ring": (9.0, [(0, "big", 3)]),
}
"""Ends: 1 + 2 * 2.5 = 6, 0 + 3 * 2.5 = 7.5, 9 + 0.75 = 9.75."""


def test_objective_and_figures_by_hand():
    """Sum of the ends; flow 5, 7.5 and 1.75; waits 0, 0 and 1."""
    schedule = Schedule(HELD)
    assert check(INSTANCE, schedule) == []
    assert completion_times(INSTANCE, schedule) == {"pair": 6.0, "chain": 7.5, "ring": 9.75}
    assert objective(INSTANCE, schedule) == 23.25
    expected = {"mean_flow_s": 14.25 / 3, "mean_wait_s": 1 / 3, "makespan_s": 9.75}
    assert figures(INSTANCE, schedule) == pytest.approx(expected, rel=1e-15)


def rules(jobs):
    """Broken rules as (rule, where, amount)."""
    return [(found.rule, found.where, found.amount) for found in check(INSTANCE, Schedule(jobs))]


@pytest.mark.parametrize(
    ("job", "held", "expected", "words"),
    [
        ("pair", None, ("served", "pair", 1.0), "it never starts"),
        ("other", (0.0, [(0, "one", 1)]), ("served", "other", None), "there is no such job"),
        ("ring", (9.0, [(1, "big", 3)]), ("gang", "ring", None), "there is no stage 1"),
        ("ring", (9.0, [(-1, "big", 3)]), ("gang", "ring", None), "there is no stage -1"),
        ("ring", (9.0, [(0, "bog", 3)]), ("gang", "ring", None), "there is no server 'bog'"),
        ("ring", (9.0, [(0, "big", 2)]), ("gang", "ring", 1.0), "stage 0 has 2 replicas, it needs 3"),
        ("ring", (9.0, [(0, "big", 4)]), ("gang", "ring", 1.0), "stage 0 has 4 replicas, it needs 3"),
        ("ring", (9.0, []), ("gang", "ring", 3.0), "stage 0 has 0 replicas, it needs 3"),
        ("ring", (9.0, [(0, "big", 2), (0, "big", 1)]), ("gang", "ring", None), "stage 0 is placed on 'big' twice"),
        ("ring", (9.0, [(0, "big", 3), (0, "one", 0)]), ("gang", "ring", None), "stage 0 has 0 replicas on 'one'"),
        ("ring", (9.0, [(0, "big", 4), (0, "one", -1)]), ("gang", "ring", None), "stage 0 has -1 replicas on 'one'"),
    ],
)
def test_rules_without_which_there_is_no_objective(job, held, expected, words):
    """Missing, invented, wrong stage, server or count, twice, none and less than none; the objective names them."""
    jobs = {**HELD, job: held} if held else {name: each for name, each in HELD.items() if name != job}
    assert rules(jobs) == [expected]
    assert check(INSTANCE, Schedule(jobs))[0].message == words
    for function in (objective, completion_times):
        with pytest.raises(UsageError, match=rf"^no objective: {expected[0]}"):
            function(INSTANCE, Schedule(jobs))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"ring": (6.0, [(0, "big", 3)])}, [("release", "ring", 2.0)]),
        ({"pair": (0.0, HELD["pair"][1])}, [("release", "pair", 1.0)]),
        ({"ring": (8.0, [(0, "one", 2), (0, "two", 1)]), "chain": (0.6, HELD["chain"][1])}, [("gpus", "one", 2.0)]),
        ({"ring": (8.0, [(0, "one", 1), (0, "two", 2)]), "chain": (0.6, HELD["chain"][1])}, None),
        ({"pair": (1.0, [(0, "one", 2), (1, "two", 2)])}, [("gpus", "one", 2.0), ("gpus", "two", 1.0)]),
        ({"ring": (9.0, [(0, "one", 3)])}, [("gpus", "one", 1.0)]),
    ],
)
def test_times_and_servers_by_hand(changed, expected):
    """Too early; too many GPUs from the start of a job on, on each server; more than a server ever has."""
    # chain from 0.6 s runs to 8.1 s
    expected = [("gpus", "one", 1.0), ("gpus", "two", 1.0)] if expected is None else expected
    assert sorted(rules(HELD | changed)) == sorted(expected)
    assert objective(INSTANCE, Schedule(HELD | changed)) > 0


def test_the_first_moment_is_named():
    """Of several overfull moments of a server, the first, and how many GPUs are used from then on."""
    # pair from 2 s runs to 2 + 2 * (2 + 8 / 2) = 14 s; chain from 3 s to 10.5 s
    jobs = HELD | {"pair": (2.0, [(0, "one", 2), (1, "big", 2)]), "chain": (3.0, HELD["chain"][1])}
    assert [(found.rule, found.where, found.message) for found in check(INSTANCE, Schedule(jobs))] == [
        ("gpus", "one", "4 of 2 GPUs are used from 3.0 s on"),
        ("gpus", "big", "5 of 4 GPUs are used from 9.0 s on"),
    ]


ONE = made([1], (0, 4), (0, 1), (8, 1))


@pytest.mark.parametrize(
    ("b", "c", "expected"),
    [
        (4.0, 8.0, []),  # touching
        (4.0 - 3e-9, 8.0, []),  # 1e-9 of the length, 4 s
        (4.0 - 5e-9, 8.0, [("gpus", "s0")]),
        (4.0, 8.0 - 0.9e-9, []),  # 1e-9 of its own length, 1 s
        (4.0, 8.0 - 2e-9, [("release", "c")]),
        (3.0, 8.0, [("gpus", "s0")]),
        (8.5, 8.0, [("gpus", "s0")]),
        (9.0, 8.0, []),
    ],
)
def test_tolerances(b, c, expected):
    """One GPU, a runs to 4 s: intervals may touch, and overlap by 1e-9 of the length of the first."""
    schedule = Schedule({name: (start_s, [(0, "s0", 1)]) for name, start_s in (("a", 0.0), ("b", b), ("c", c))})
    assert [(found.rule, found.where) for found in check(ONE, schedule)] == expected


@pytest.mark.parametrize("seed", range(40))
def test_a_schedule_fits_if_no_event_takes_too_much(seed):
    """Running sums of all servers in one array say the same as events one by one, at few times, so that many coincide."""
    random = np.random.default_rng(seed)
    most = {name: int(random.integers(2, 6)) for name in "abc"}
    taken = []
    for name in random.choice(list("abc"), size=random.integers(1, 12)).tolist():
        start_s = float(random.integers(0, 9))
        taken.append((start_s, start_s + float(random.integers(1, 4)), name, int(random.integers(1, 3))))
    times = sorted({start_s for start_s, *_ in taken})
    used = [
        (name, sum(count for start_s, freed_s, own, count in taken if own == name and start_s <= at_s < freed_s))
        for at_s in times
        for name in most
    ]
    assert _fit(most, taken) == all(count <= most[name] for name, count in used)


def late(*jobs):
    """One GPU; of each job the release, after a Unix time, and the seconds."""
    return made([1], *(gang(1.7e9 + release, 1, stages=[(1, seconds)]) for release, seconds in jobs))


def rules_at(instance, *starts):
    """Rules broken by starts after the Unix time."""
    schedule = Schedule({name: (1.7e9 + start, [(0, "s0", 1)]) for name, start in zip("abc", starts, strict=False)})
    return [(found.rule, found.where) for found in check(instance, schedule)]


def test_a_late_clock_forgives_its_rounding_only():
    """At a Unix time floats are 2.4e-7 s apart: half a microsecond of overlap passes, half a second does not."""
    instance = late((0, 8.0), (0, 1.0))
    assert rules_at(instance, 0.0, 8.0 - 5e-7) == []
    assert rules_at(instance, 0.0, 7.5) == [("gpus", "s0")]
    assert rules_at(late((1.0, 1.0)), 0.5) == [("release", "a")]


def test_a_job_without_length_on_the_clock_still_needs_its_gpu():
    """A nanosecond is no time at a Unix time; yet it cannot pass inside another job, only before and after."""
    instance = late((0, 8.0), (0, 1e-9), (0, 1e-9))
    assert rules_at(instance, 0.0, 4.0, 8.0) == [("gpus", "s0")]
    assert rules_at(instance, 0.0, 0.0, 8.0) == rules_at(instance, 0.0, 8.0, 8.0) == []


def test_figures_of_a_late_clock_keep_their_digits():
    """Flow times of 8 and 9 s: their mean is no difference of sums of Unix times."""
    instance = late((0, 8.0), (0, 1.0))
    schedule = Schedule({"a": (1.7e9, [(0, "s0", 1)]), "b": (1.7e9 + 8, [(0, "s0", 1)])})
    assert figures(instance, schedule)["mean_flow_s"] == 8.5
    assert objective(instance, schedule) - srpt_mapping.FAMILY.constant(instance) == 17.0


def data_of(**changed):
    """A solution as a file holds it, with fields of job a replaced; None takes one away."""
    entry = {"start_s": 1, "placement": [{"stage": 0, "server": "s", "replicas": 2}]} | changed
    return {"jobs": {"a": {key: value for key, value in entry.items() if value is not None}}}


SHARE = {"stage": 0, "server": "s", "replicas": 2}
AT = "solution.jobs.a"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "solution.jobs: found no object, allowed: {job: {start_s, placement}}"),
        ({"jobs": []}, "solution.jobs: found no object, allowed: {job: {start_s, placement}}"),
        (data_of() | {"x": 1}, "solution.x: found an unknown field, allowed: only jobs"),
        ({"jobs": {"a": 3}}, f"{AT}: found 3, allowed: an object"),
        (data_of(end_s=2), f"{AT}.end_s: found an unknown field, allowed: only placement, start_s"),
        (data_of(start_s=None), f"{AT}.start_s: found null, allowed: a finite number"),
        (data_of(start_s=float("nan")), f"{AT}.start_s: found nan, allowed: a finite number"),
        (data_of(placement=None), f"{AT}.placement: found null, allowed: a list"),
        (data_of(placement={}), f"{AT}.placement: found an object, allowed: a list"),
        (data_of(placement=[SHARE, 1]), f"{AT}.placement[1]: found 1, allowed: an object"),
        (
            data_of(placement=[SHARE | {"gpu_number": 0}]),
            f"{AT}.placement[0].gpu_number: found an unknown field, allowed: only gpu, gpus, replicas, server, slot, stage",
        ),
        (data_of(placement=[SHARE | {"stage": 0.0}]), f"{AT}.placement[0].stage: found 0.0, allowed: an integer"),
        (
            data_of(placement=[SHARE | {"replicas": True}]),
            f"{AT}.placement[0].replicas: found true, allowed: an integer",
        ),
        (
            data_of(placement=[SHARE | {"replicas": 2**53 + 1}]),
            f"{AT}.placement[0].replicas: found 9007199254740993, allowed: an integer up to 2**53",
        ),
        (data_of(placement=[SHARE | {"server": 1}]), f"{AT}.placement[0].server: found 1, allowed: a string"),
    ],
)
def test_what_is_no_solution(data, message):
    """The path, what was found, and what is allowed."""
    with pytest.raises(InputError) as refused:
        read_solution(data, ONE)
    assert str(refused.value) == message


def test_reading_and_writing_solutions():
    """There and back; what breaks rules is read, and is the checker's question; schedules do not change."""
    schedule = Schedule(HELD)
    assert read_solution(schedule.as_data(), INSTANCE) == schedule
    assert hash(read_solution(schedule.as_data(), INSTANCE)) == hash(schedule)
    assert schedule.as_data()["jobs"]["ring"] == {
        "start_s": 9.0,
        "placement": [{"stage": 0, "server": "big", "replicas": 3}],
    }
    assert read_solution(data_of(start_s=-1), ONE).jobs["a"].start_s == -1.0
    read = read_solution(json.loads(text_of_solution(schedule), object_hook=compact()), INSTANCE)
    assert read == schedule and hash(read) == hash(schedule)
    with pytest.raises(AttributeError, match="cannot assign"):
        schedule.jobs = {}


def scaled(instance, *, times=1, sent=1, bandwidth=1):
    """The instance with seconds, bytes and bandwidths multiplied."""
    data = fields_of(instance)
    for name in ("intra_bandwidth_bytes_per_s", "nic_bandwidth_bytes_per_s"):
        data[name] *= bandwidth
    for job in data["jobs"]:
        job["release_s"] *= times
        for held in job["stages"]:
            held["compute_s"] *= times
            held["output_bytes"] *= sent
            held["parameter_bytes"] *= sent
    return Instance(**data)


@SETTINGS
@given(srpt_mapping_instances(feasible=True))
def test_powers_of_two(instance):
    """Twice the seconds and bytes: twice the objective, exactly. Four times bytes and bandwidths: the same, exactly."""
    schedule = fifo(instance)
    assert check(instance, schedule) == []
    before = objective(instance, schedule)
    twice = Schedule({job: (2 * start.start_s, start.placement) for job, start in schedule.jobs.items()})
    assert objective(scaled(instance, times=2, sent=2), twice) == 2 * before
    assert objective(scaled(instance, sent=4, bandwidth=4), schedule) == before


@SETTINGS
@given(srpt_mapping_instances(feasible=True), st.data())
def test_names_and_orders_do_not_matter(instance, data):
    """Jobs, servers, shares in another order and by other names: the same rules broken, the same objective."""
    starts = {
        job.id: (job.release_s, spread(data.draw, instance, job)[0]) for job in instance.jobs
    }  # all at once: GPUs may be overfull
    before = Schedule(starts)
    held = fields_of(instance)
    names = {server.id: f"x{place}" for place, server in enumerate(data.draw(st.permutations(instance.servers)))}
    jobs = {job.id: f"y{place}" for place, job in enumerate(data.draw(st.permutations(instance.jobs)))}
    held["servers"] = data.draw(st.permutations([each | {"id": names[each["id"]]} for each in held["servers"]]))
    held["jobs"] = data.draw(st.permutations([each | {"id": jobs[each["id"]]} for each in held["jobs"]]))
    after = Schedule(
        {
            jobs[job]: (start_s, [(s, names[m], k) for s, m, k in data.draw(st.permutations(placement))])
            for job, (start_s, placement) in data.draw(st.permutations(list(starts.items())))
        }
    )
    again = Instance(**held)
    assert objective(again, after) == objective(instance, before)
    found = sorted((each.rule, names[each.where], each.amount) for each in check(instance, before))
    assert sorted((each.rule, each.where, each.amount) for each in check(again, after)) == found


@pytest.mark.parametrize(
    ("share", "words"),
    [
        ((0, "s0", 1.0), "1.0 replicas"),
        ((0, "s0", True), "True replicas"),
        ((0.0, "s0", 1), "no stage 0.0"),
        ((False, "s0", 1), "no stage False"),
        ((0, ["s0"], 1), "no server"),
    ],
)
def test_only_whole_numbers_and_names_place_a_job(share, words):
    """Parts of replicas, booleans and lists are no placement, though they compare equal to one."""
    instance = srpt_mapping.example()
    schedule = srpt_mapping.fifo(instance)
    broken = Schedule(dict(schedule.jobs) | {"long": (0.0, [share])})
    violation = next(each for each in check(instance, broken) if each.where == "long")
    assert violation.rule == "gang" and words in violation.message


@pytest.mark.parametrize("start_s", [float("nan"), float("inf"), 1.7e308, "0", None, True])
def test_a_start_that_is_no_time_is_refused(start_s):
    """By the rule of the release; and there is no objective."""
    instance = srpt_mapping.example()
    schedule = srpt_mapping.fifo(instance)
    broken = Schedule(dict(schedule.jobs) | {"long": (start_s, schedule.jobs["long"].placement)})
    assert [(each.rule, each.where) for each in check(instance, broken)] == [("release", "long")]
    with pytest.raises(UsageError, match="no objective"):
        srpt_mapping.objective(instance, broken)


def test_the_text_of_many_jobs():
    """Block by block it is what ``json`` writes at once; equal placements are one object when it is read."""
    schedule = Schedule({f"job {number}": (float(number), [(0, "s0", 1)]) for number in range(4_001)})
    text = text_of_solution(schedule)
    assert text == json.dumps(schedule.as_data(), separators=(",", ":")).encode()
    read = read_solution(json.loads(text, object_hook=compact()), INSTANCE)
    assert read == schedule and len({id(start.placement) for start in read.jobs.values()}) == 1

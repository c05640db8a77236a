"""Consolidated placement: by hand, the checker's rule, and policies against others that are the same thing.

Exact methods are held against brute force in ``test_walls``, whose instances are consolidated now and then.
"""

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched import srpt_mapping
from dlsched.cluster.replica_placement import few_rooms, splits_of
from dlsched.core.errors import InstanceError, UsageError
from dlsched.srpt_mapping.checker import check, infeasible
from dlsched.srpt_mapping.heuristics import POLICIES
from dlsched.srpt_mapping.layouts import layouts
from dlsched.srpt_mapping.reservations import backfill_reserving
from dlsched.srpt_mapping.solution import Schedule
from dlsched.testing.srpt_mapping import srpt_mapping_instances

SETTINGS = settings(max_examples=60, derandomize=True, deadline=None, database=None)
QUEUES = ("fifo", "fifo-backfill", "easy", "conservative")


def made(sizes, *jobs, placement="consolidated"):
    """Jobs a, b ... as (release, iterations, GPUs, other fields); an iteration takes a second, nothing is sent."""
    return srpt_mapping.Instance(
        name="made",
        intra_bandwidth_bytes_per_s=8.0,
        nic_bandwidth_bytes_per_s=4.0,
        servers=[{"id": f"s{number}", "gpus": gpus} for number, gpus in enumerate(sizes)],
        placement=placement,
        jobs=[
            {
                "id": name,
                "release_s": release,
                "iterations": iterations,
                "stages": [{"replicas": gpus, "compute_s": 1.0, "output_bytes": 0, "parameter_bytes": 0}],
                **(others[0] if others else {}),
            }
            for name, (release, iterations, gpus, *others) in zip("abcdefgh", jobs, strict=False)
        ],
    )


def starts(schedule):
    """Starts in the order of the names."""
    return [start.start_s for _, start in sorted(schedule.jobs.items())]


def servers(schedule, job):
    """The servers of a job."""
    return {share.server for share in schedule.jobs[job].placement}


@pytest.mark.parametrize("policy", QUEUES)
def test_a_small_job_waits_for_one_server(policy):
    """Servers of 4, of which a and b take 3 each: c, of 2, has 2 GPUs on two servers, and waits for a's end at 3 s."""
    jobs = (0, 3, 3), (0, 5, 3), (0, 2, 2)
    assert starts(POLICIES[policy](made([4, 4], *jobs))) == [0, 0, 3]
    assert starts(POLICIES[policy](made([4, 4], *jobs, placement="any"))) == [0, 0, 0]


@pytest.mark.parametrize("policy", QUEUES)
def test_small_jobs_leave_whole_servers(policy):
    """Two jobs on 1 GPU share a server of 4, so that c has the other as a whole."""
    schedule = POLICIES[policy](made([4, 4], (0, 9, 1), (0, 9, 1), (0, 2, 4)))
    assert starts(schedule) == [0, 0, 0] and servers(schedule, "a") == servers(schedule, "b")


@pytest.mark.parametrize("policy", QUEUES)
def test_a_job_of_two_servers_uses_two(policy):
    """Of servers of 4, 4 and 2, b needs two for its 6 GPUs, though a leaves 3 + 1 + 2 of them free on three."""
    schedule = POLICIES[policy](made([4, 4, 2], (0, 3, 3), (0, 1, 6), placement="consolidated"))
    assert starts(schedule) == [0, 0] and servers(schedule, "b") == {"s1", "s2"}
    schedule = POLICIES[policy](made([4, 4, 2], (0, 3, 3), (0, 1, 7)))
    assert starts(schedule) == [0, 3] and len(servers(schedule, "b")) == 2


def test_a_reservation_is_of_a_server():
    """b, of 4, is to have s1 at 4 s. c, on 1 GPU for 9 s, fits beside a on s0 at once and delays nobody; e waits behind it."""
    jobs = (0, 9, 3), (0, 4, 2), (1, 2, 4), (2, 9, 1), (2, 9, 1)
    instance = made([4, 4], *jobs)
    for policy in ("easy", "conservative"):
        schedule = POLICIES[policy](instance)
        assert starts(schedule) == [0, 0, 4, 2, 6]
        assert servers(schedule, "c") == {"s1"} and servers(schedule, "d") == {"s0"}
    # without reservations both start at 2 s, and keep c from every server until 9 s
    assert starts(POLICIES["fifo-backfill"](instance)) == [0, 0, 11, 2, 2]


def test_the_checker_names_the_rule():
    """Two GPUs on two servers where one holds both; of a job that has begun there it is allowed."""
    spread = [(0, "s0", 1), (0, "s1", 1)]
    instance = made([2, 2], (0, 4, 2))
    broken = check(instance, Schedule({"a": (0.0, spread)}))
    assert [(each.rule, each.where, each.amount) for each in broken] == [("consolidated", "a", 1.0)]
    begun = {"begun": [{"stage": 0, "server": name, "replicas": 1} for name in ("s0", "s1")]}
    assert check(made([2, 2], (0, 4, 2, begun)), Schedule({"a": (0.0, spread)})) == []
    for policy in POLICIES.values():
        assert starts(policy(made([2, 2], (0, 4, 2, begun), (0, 4, 2)))) == [0, 4]


def test_fewest_servers_are_of_the_jobs_pool():
    """Two servers of p hold a; a larger one of q is of no use to it."""
    data = made([2, 2, 4], (0, 4, 4)).canonical_data()
    for server, pool in zip(data["servers"], ("p", "p", "q"), strict=True):
        server["pools"] = [pool]
    data["jobs"][0]["pool"] = "p"
    instance = srpt_mapping.Instance(**{name: value for name, value in data.items() if name != "format"})
    assert [layout.usage for layout in layouts(instance)[0]] == [(2, 2, 0)]
    for policy in POLICIES.values():
        assert check(instance, policy(instance)) == []


def test_wrong_words_are_refused():
    """In a file and in ``generate``."""
    with pytest.raises(InstanceError, match="placement"):
        made([2], (0, 1, 1), placement="packed")
    with pytest.raises(UsageError, match="placement"):
        srpt_mapping.generate(placement="packed")


def test_generated():
    """The same jobs, with the rule."""
    instance = srpt_mapping.generate(jobs=8, seed=3, placement="consolidated")
    assert instance.jobs == srpt_mapping.generate(jobs=8, seed=3).jobs and instance.consolidated
    assert "--placement consolidated" in str(instance.source)


def test_too_many_layouts_are_refused_in_words():
    """A job of 20 on 40 servers of 4 has C(40, 5) layouts; a single job is not spread by CP-SAT then."""
    instance = made([4] * 40, (0, 1, 20))
    with pytest.raises(UsageError, match="20,001 or more of all jobs"):
        layouts(instance)
    result = srpt_mapping.solve(instance)
    assert result.status == "optimal" and len(servers(result.solution, "a")) == 5


@SETTINGS
@given(
    count=st.integers(1, 8),
    room=st.lists(st.integers(0, 4), min_size=1, max_size=5).map(tuple),
    most=st.integers(1, 5),
)
def test_few_rooms(count, room, most):
    """The splits over at most so many rooms, in the same order."""
    expected = [split for split in splits_of(count, room) if sum(map(bool, split)) <= most]
    assert list(islice(few_rooms(count, room, most), 10_000)) == expected


def room_for(gpus, free, sizes):
    """GPUs by server, on as few as hold the job when empty: the freest, and for the rest the tightest; None: no room."""
    fewest = next(k for k in range(1, len(sizes) + 1) if sum(sorted(sizes)[-k:]) >= gpus)
    order = sorted(range(len(free)), key=lambda m: -free[m])
    if sum(free[m] for m in order[:fewest]) < gpus:
        return None
    taken = {}
    while gpus > max(free[m] for m in order if m not in taken):
        most = next(m for m in order if m not in taken)
        taken[most] = free[most]
        gpus -= free[most]
    holding = [m for m in range(len(free)) if m not in taken and free[m] >= gpus]
    return taken | {min(holding, key=lambda m: free[m]): gpus}


def plain(jobs, sizes, reserving):
    """Starts by a simulation second by second: free GPUs of every server in every future second, the queue in order."""
    start, where = {}, {}
    for now in range(120):
        free = [list(sizes) for _ in range(240)]
        # what runs holds its GPUs up to its predicted end, and gives them back when it ends
        for j, began in start.items():
            if began + jobs[j][1] > now:
                for second in range(began + jobs[j][1] + jobs[j][2]):
                    for m, count in where[j].items():
                        free[second][m] -= count
        left = reserving
        for j in sorted(range(len(jobs)), key=lambda j: (jobs[j][0], j)):
            if j in start or jobs[j][0] > now:
                continue
            for at in range(now, 120):
                if at > now and not left:
                    break
                end = at + jobs[j][1] + jobs[j][2]
                least = [min(each[m] for each in free[at:end]) for m in range(len(sizes))]
                taken = room_for(jobs[j][3], least, sizes)
                if taken is not None:
                    if at == now:
                        start[j], where[j] = now, taken
                    else:
                        left -= 1
                    for second in range(at, end):
                        for m, count in taken.items():
                            free[second][m] -= count
                    break
    return [start[j] for j in range(len(jobs))]


@pytest.mark.parametrize("reserving", [0, 1, 2, 8])
@SETTINGS
@given(
    jobs=st.lists(
        st.tuples(st.integers(0, 9), st.integers(1, 6), st.integers(0, 3), st.integers(1, 5)), min_size=1, max_size=7
    ),
    sizes=st.sampled_from([[3, 3], [1, 2, 4], [2, 2, 2]]),
)
def test_reservations_against_a_plain_simulation(reserving, jobs, sizes):
    """Starts equal those of a simulation that looks at every second; some jobs end before they are predicted to."""
    told = [(release, runs, gpus, {"predicted_iterations": runs + more}) for release, runs, more, gpus in jobs]
    assert starts(backfill_reserving(made(sizes, *told), reservations=reserving)) == plain(jobs, sizes, reserving)


@pytest.mark.parametrize("policy", sorted({*POLICIES} - {"easy", "conservative"}))
@SETTINGS
@given(
    jobs=st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9), st.integers(1, 4)), min_size=1, max_size=8),
    per=st.sampled_from([2, 3]),
)
def test_jobs_of_whole_servers(policy, jobs, per):
    """Jobs of k servers of 2 or 3 GPUs, consolidated, start when jobs of k GPUs do on servers of one, placed anywhere.

    Not with reservations, which are of single servers only where placement is consolidated.
    """
    whole = made([per] * 4, *((release, runs, per * gpus) for release, runs, gpus in jobs))
    single = made([1] * 4, *jobs, placement="any")
    assert starts(POLICIES[policy](whole)) == starts(POLICIES[policy](single))


@SETTINGS
@given(instance=srpt_mapping_instances(walls=True, begun=True))
def test_policies_keep_the_rule(instance):
    """With pools, groups, jobs that have begun, odd numbers and communication."""
    instance = instance.model_copy(update={"placement": "consolidated"})
    for policy in POLICIES.values():
        schedule = policy(instance)
        assert (schedule is None) == (infeasible(instance) is not None)
        assert schedule is None or check(instance, schedule) == []

"""The cost table and the flat arrays of an instance, against the checker and the jobs one at a time."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.heuristics import climb_hulls, double_greedily, increase_greedily
from dlsched.allocation.methods import solve_by_states
from dlsched.core.errors import UsageError
from dlsched.ring_allocation import Allocation, doubling, hull, marginal
from dlsched.ring_allocation.checker import job_cost, seconds_left
from dlsched.ring_allocation.costs import cost_table
from dlsched.testing import brute_force, ring_allocation_instances

from .jobs import build

SETTINGS = settings(max_examples=30, derandomize=True, deadline=None, database=None)


def law(theta, **job):
    """A job with a law of 100 samples and 10 bytes."""
    return {"speed_law": {"theta": theta, "samples": 100, "model_bytes": 10}} | job


@SETTINGS
@given(ring_allocation_instances(), st.booleans())
def test_costs_are_the_checkers(instance, fitting):
    """Every pair costs exactly what the checker says, in the same floats; every job keeps its smallest count."""
    table = cost_table(instance, fitting=fitting)
    for index, job in enumerate(instance.jobs):
        pairs = range(int(table.starts[index]), int(table.starts[index + 1]))
        assert table.counts[pairs.start] == instance.counts(index)[0]
        for pair in pairs:
            assert int(table.counts[pair]) in instance.counts(index)
            assert table.costs[pair] == job_cost(job, int(table.counts[pair]))


@SETTINGS
@given(ring_allocation_instances())
def test_truncation_never_changes_the_optimum(instance):
    """The optimum over the table is the optimum over all allowed counts, by brute force."""
    found = brute_force(instance)
    for fitting in (True, False):
        table = cost_table(instance, fitting=fitting)
        chosen = solve_by_states(table, instance.gpus)
        if found is None:
            assert chosen is None
        else:
            assert table.total_cost(chosen) == pytest.approx(found[0], rel=1e-12, abs=1e-12)


@SETTINGS
@given(ring_allocation_instances(feasible=True))
def test_only_counts_that_cannot_fit_are_left_out(instance):
    """Without laws, the fitting table holds exactly the counts with room for the others' smallest."""
    table = cost_table(instance)
    spare = instance.gpus - instance.minimum_gpus
    for index, job in enumerate(instance.jobs):
        if job.epoch_time_s is not None:
            allowed = instance.counts(index)
            kept = table.counts[int(table.starts[index]) : int(table.starts[index + 1])].tolist()
            assert kept == [count for count in allowed if count <= allowed[0] + spare]


def counts(job, gpus):
    """Counts that the table of one job holds."""
    return cost_table(build(gpus, job)).counts.tolist()


def test_a_law_is_tabulated_to_its_fastest_count():
    """100 / w + w is least at 10: of a million counts 1 .. 10 are held, and hardly more."""
    held = counts(law([1.0, 1.0, 0.0, 0.0]), 10**6)
    assert held == list(range(1, len(held) + 1))
    assert 10 <= len(held) <= 20


def test_the_current_count_is_kept_however_far():
    """Staying on 5,000 GPUs may be cheaper than a restart: that count stands alone beyond the others, if allowed."""
    job = law([1.0, 1.0, 0.0, 0.0], current_gpus=5000, restart_s=1e6)
    without = counts(law([1.0, 1.0, 0.0, 0.0]), 10**6)
    assert counts(job, 10**6) == [*without, 5000]
    assert counts(job, 4999) == without
    assert counts(job | {"max_gpus": 4000}, 10**6) == without


def test_a_law_that_only_gets_slower_has_few_counts():
    """Transfer outweighs compute: one GPU is fastest."""
    held = counts(law([0.01, 0.0, 5.0, 1.0]), 10**6)
    assert held[0] == 1
    assert len(held) <= 4


def test_many_laws_share_about_as_many_pairs_as_there_are_gpus():
    """500 laws without an overhead on 2,000 GPUs: not 500 x 1,501 pairs, and the optimum is dynamic programming's."""
    jobs = [law([1.0 + n / 7, 0.0, 0.0, 0.0], weight=1.0 + n % 3) for n in range(500)]
    table = cost_table(build(2000, *jobs))
    assert table.pairs <= 4 * 2000 + 4 * 500


def everything(instance):
    """Table of every allowed count that fits, law or not, by the checker's costs."""
    spare = instance.gpus - instance.minimum_gpus
    return CostTable.from_rows(
        {w: job_cost(job, w) for w in instance.counts(index) if w <= instance.counts(index)[0] + spare}
        for index, job in enumerate(instance.jobs)
    )


@pytest.mark.parametrize("seed", range(30))
def test_cut_laws_change_neither_the_optimum_nor_a_heuristic(seed):
    """Laws of all shapes, with and without restarts: same optimum, and same steps of every greedy, as on all counts."""
    rng = random.Random(seed)
    jobs = []
    for _ in range(rng.randint(1, 9)):
        theta = [
            rng.choice([0, 1]),
            rng.choice([0, 0, rng.random()]),
            rng.choice([0, rng.random() / 10]),
            0.5 + rng.random(),
        ]
        speed = {"theta": theta, "samples": rng.randint(1, 10000), "model_bytes": rng.randint(0, 60)}
        job = {"epochs": rng.choice([0, 1, 50]), "speed_law": speed, "weight": rng.choice([0.5, 1.0, 3.0])}
        if rng.random() < 0.5:
            job |= {"current_gpus": rng.randint(1, 200), "restart_s": float(rng.choice([0, 1, 100, 10000]))}
        jobs.append(job | ({"max_gpus": rng.randint(1, 300)} if rng.random() < 0.5 else {}))
    instance = build(rng.randint(len(jobs), 150), *jobs)
    full, cut = everything(instance), cost_table(instance)
    optimum = full.total_cost(solve_by_states(full, instance.gpus))
    assert cut.total_cost(solve_by_states(cut, instance.gpus)) == pytest.approx(optimum, rel=1e-12)
    for heuristic, greedy in ((doubling, double_greedily), (marginal, increase_greedily), (hull, climb_hulls)):
        expected = full.counts[greedy(full, instance.gpus)].tolist()
        assert list(heuristic(instance).gpus.values()) == expected, heuristic.__name__


def test_doubling_sees_the_double_of_the_fastest_count():
    """100 / w + 6.3 w: fastest at 4 (50.2); doubling goes 1, 2, 4 and stops, since 8 is slower (62.9)."""
    assert doubling(build(64, law([1.0, 6.3, 0.0, 10.0]))).gpus["a"] == 4


def test_a_law_without_an_end_is_refused_when_too_long():
    """Without an overhead every further GPU helps: 2**53 counts are no table, and the message says what to limit."""
    with pytest.raises(UsageError, match="max_gpus"):
        cost_table(build(2**53, law([1.0, 0.0, 0.0, 0.0])))


def test_huge_counts_are_exact_or_refused():
    """Counts of 2**53 are integers in the table; 600 of them add up to more than 2**62 and are refused."""
    assert counts({1: 2.0, 2**53: 1.0}, 2**53) == [1, 2**53]
    with pytest.raises(UsageError, match="2\\*\\*62"):
        cost_table(build(2**53, *[{1: 2.0, 2**53 - 1000: 1.0}] * 600))


LAW = {"theta": [1.0, 0.5, 0.0, 2.0], "samples": 12.0, "model_bytes": 0.0}
MIXED = build(
    9,
    {"id": "gaps", "epochs": 2.0, "epoch_time_s": {2: 9.0, 5: 4.0, 8: 5.0}, "current_gpus": 5, "restart_s": 7.0},
    {"id": "law", "epochs": 3.0, "speed_law": LAW, "max_gpus": 4},
    {"id": "row", "epoch_time_s": {1: 3.0, 2: 1.5}, "weight": 2.0},
)


@SETTINGS
@given(ring_allocation_instances(), st.data())
def test_seconds_left_are_those_of_the_checker(instance, data):
    """For counts of which some are not allowed: None then, else every job's seconds in the same floats."""
    given_counts = {}
    for index, job in enumerate(instance.jobs):
        allowed = instance.counts(index)
        given_counts[job.id] = data.draw(st.one_of(st.sampled_from([allowed[0], allowed[-1]]), st.integers(-1, 40)))
    found = instance.arrays.seconds_left(given_counts)
    if any(given_counts[job.id] not in instance.counts(index) for index, job in enumerate(instance.jobs)):
        assert found is None
    else:
        assert found[0].tolist() == list(given_counts.values())
        assert found[1].tolist() == [seconds_left(job, given_counts[job.id]) for job in instance.jobs]


def test_by_hand():
    """2 x 4 s on the current 5; 3 (12 / 2 + 0.5 + 2) on 2; 1.5 on 2. A restart of 7 s elsewhere."""
    counts, seconds = MIXED.arrays.seconds_left({"gaps": 5, "law": 2, "row": 2})
    assert counts.tolist() == [5, 2, 2]
    assert seconds.tolist() == [8.0, 25.5, 1.5]
    assert MIXED.arrays.seconds_left({"gaps": 8, "law": 2, "row": 2})[1].tolist() == [17.0, 25.5, 1.5]
    assert MIXED.arrays.least.tolist() == [2, 1, 1]
    assert MIXED.arrays.largest.tolist() == [8, 4, 2]
    assert MIXED.minimum_gpus == 4


def test_the_fastest_within_a_share():
    """Of counts up to a number, or the smallest: 9, 4 (not the 5 s on 8) and 3, 1.5 seconds."""
    assert MIXED.arrays.fastest_s(1).tolist() == [9.0, 3.0]
    assert MIXED.arrays.fastest_s(5).tolist() == [4.0, 1.5]
    assert MIXED.arrays.fastest_s(100).tolist() == [4.0, 1.5]


@pytest.mark.parametrize(
    "given_counts",
    [
        {"gaps": 5, "law": 2},
        {"gaps": 5, "law": 2, "row": 2, "more": 1},
        {"gaps": 5, "law": 2, "row": None},
        {"gaps": 5, "law": 2, "row": 2.0},
        {"gaps": 5, "law": 2, "row": True},
        {"gaps": 5, "law": 2, "row": 2**70},
        {"gaps": 4, "law": 2, "row": 2},
        {"gaps": 5, "law": 5, "row": 2},
    ],
)
def test_no_allocation(given_counts):
    """A job without a count or too many jobs, what is no integer, counts that are not allowed."""
    assert MIXED.arrays.seconds_left(given_counts) is None


def test_only_laws():
    """No table, no pair."""
    instance = build(4, LAW)
    assert len(instance.arrays.costs) == len(instance.arrays.fastest_s(2)) == 0
    assert instance.arrays.seconds_left({"a": 1})[1].tolist() == [14.0]
    assert instance.arrays is instance.arrays


def test_times_are_not_touched():
    """What is computed from the arrays leaves them as they were."""
    before = MIXED.arrays.times_s.copy()
    MIXED.arrays.fastest_s(3), MIXED.arrays.costs, MIXED.arrays.seconds_left({"gaps": 5, "law": 2, "row": 2})
    assert np.array_equal(before, MIXED.arrays.times_s)


def test_the_latest_allocation_is_kept_and_no_other():
    """The same immutable counts give the same answer again; others, and mappings that can change, are looked at."""
    first, second = Allocation({"gaps": 5, "law": 2, "row": 2}).gpus, Allocation({"gaps": 8, "law": 2, "row": 2}).gpus
    assert MIXED.arrays.seconds_left(first) is MIXED.arrays.seconds_left(first)
    assert MIXED.arrays.seconds_left(second)[1].tolist() == [17.0, 25.5, 1.5]
    assert MIXED.arrays.seconds_left(first)[1].tolist() == [8.0, 25.5, 1.5]
    changing = {"gaps": 5, "law": 2, "row": 2}
    MIXED.arrays.seconds_left(changing)
    changing["gaps"] = 8
    assert MIXED.arrays.seconds_left(changing)[1].tolist() == [17.0, 25.5, 1.5]

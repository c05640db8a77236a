"""The cost table of an instance: every pair that can matter, at the checker's own cost."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.algorithms.dynamic_program import solve_by_states
from dlsched.core.errors import UsageError
from dlsched.ring_allocation import Instance, doubling
from dlsched.ring_allocation.checker import job_cost
from dlsched.ring_allocation.costs import cost_table
from dlsched.testing import brute_force, ring_allocation_instances

SETTINGS = settings(max_examples=150, derandomize=True, deadline=None, database=None)


def law(theta, **job):
    """A job with a law of 100 samples and 10 bytes."""
    return {"id": "a", "epochs": 1.0, "speed_law": {"theta": theta, "samples": 100, "model_bytes": 10}} | job


@SETTINGS
@given(ring_allocation_instances(), st.booleans())
def test_costs_are_the_checkers(instance, fitting):
    """Every pair costs exactly what the checker says, in the same floats; every job keeps its smallest count."""
    table = cost_table(instance, fitting=fitting)
    for place, job in enumerate(instance.jobs):
        pairs = range(int(table.starts[place]), int(table.starts[place + 1]))
        assert table.counts[pairs.start] == instance.counts(place)[0]
        for pair in pairs:
            assert int(table.counts[pair]) in instance.counts(place)
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
    for place, job in enumerate(instance.jobs):
        if job.epoch_time_s is not None:
            allowed = instance.counts(place)
            kept = table.counts[int(table.starts[place]) : int(table.starts[place + 1])].tolist()
            assert kept == [count for count in allowed if count <= allowed[0] + spare]


def counts(job, gpus):
    """Counts that the table of one job holds."""
    return cost_table(Instance(name="x", gpus=gpus, jobs=[job])).counts.tolist()


def test_a_law_is_tabulated_to_twice_its_fastest_count():
    """100 / w + w is least at 10: counts 1 .. 20 of a million, so that doubling sees 10 -> 20 cost more."""
    assert counts(law([1.0, 1.0, 0.0, 0.0]), 10**6) == list(range(1, 21))


def test_the_current_count_is_kept_however_far():
    """Staying on 5,000 GPUs may be cheaper than a restart: that count stands alone beyond the others."""
    job = law([1.0, 1.0, 0.0, 0.0], current_gpus=5000, restart_s=1e6)
    assert counts(job, 10**6) == [*range(1, 21), 5000]
    assert counts(job, 4999) == list(range(1, 21))
    assert counts(job | {"max_gpus": 4000}, 10**6) == list(range(1, 21))


def test_a_law_that_only_gets_slower_has_two_counts():
    """Transfer outweighs compute: one GPU is fastest, and its double is there for doubling to refuse."""
    assert counts(law([0.01, 0.0, 5.0, 1.0]), 10**6) == [1, 2]


def test_doubling_sees_the_double_of_the_fastest_count():
    """100 / w + 6.3 w: fastest at 4 (50.2); doubling goes 1, 2, 4 and stops, since 8 is slower (62.9)."""
    instance = Instance(name="x", gpus=64, jobs=[law([1.0, 6.3, 0.0, 10.0])])
    assert doubling(instance).gpus["a"] == 4


def test_a_law_without_an_end_is_refused_when_too_long():
    """Without an overhead every further GPU helps: 2**53 counts are no table, and the message says what to limit."""
    instance = Instance(name="x", gpus=2**53, jobs=[law([1.0, 0.0, 0.0, 0.0])])
    with pytest.raises(UsageError, match="max_gpus"):
        cost_table(instance)


def test_huge_counts_are_exact_or_refused():
    """Counts of 2**53 are integers in the table; 600 of them add up to more than 2**62 and are refused."""
    big = {"id": "a", "epochs": 1.0, "epoch_time_s": {"1": 2.0, str(2**53): 1.0}}
    assert counts(big, 2**53) == [1, 2**53]
    many = [big | {"id": f"j{place}"} for place in range(600)]
    with pytest.raises(UsageError, match="2\\*\\*62"):
        cost_table(Instance(name="x", gpus=2**53, jobs=many), fitting=False)

"""Cost table of an instance: each job's seconds on the counts of nodes that an optimal allocation may need."""

from itertools import pairwise
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings

from dlsched.async_sgd import Instance, Job, batches_per_s, costs, generate
from dlsched.async_sgd.costs import Levels, cost_table, levels
from dlsched.core.errors import UsageError
from dlsched.testing.async_sgd import async_sgd_instances, exact_throughput


def walked(most, spare):
    """The steps of one job of 12 cycles of a second in which nobody waits, by the seconds that they save."""
    instance = Instance(name="one", nodes=1 + spare, jobs=[job("a", max_nodes=most)])
    parts = levels(instance, lambda step: step.batches / step.before - step.batches / step.after, least=0)
    return Levels(*map(np.concatenate, zip(*parts, strict=True)))


def test_gains_fall_and_begin_with_none():
    """Linear speed-up by hand: 12 batches of a second on 1, 2, 3, 4 nodes take 12, 6, 4, 3 s."""
    found = walked(4, 3)
    assert found.counts.tolist() == [1, 2, 3, 4]
    assert found.throughputs.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert np.isnan(found.gains[0])
    assert found.gains[1:] == pytest.approx([6.0, 2.0, 1.0])


def test_no_job_goes_beyond_its_most():
    """One node is one step, which gains nothing."""
    assert walked(1, 3).counts.tolist() == [1]


SETTINGS = settings(max_examples=50, derandomize=True, deadline=None, database=None)


def job(name, **fields):
    """A job that computes for a second and does nothing else, unless told otherwise."""
    usual = {"epochs": 1, "dataset_examples": 12, "batch_examples": 1, "parameter_bytes": 0, "bandwidth_bytes_per_s": 1}
    return Job(id=name, **(usual | {"compute_s": 1.0} | fields))


def full_table(instance):
    """Seconds on every count that fits, by job, in rational arithmetic."""
    return [
        [record.batches / float(exact_throughput(record, n)) for n in range(1, instance.most(index) + 1)]
        for index, record in enumerate(instance.jobs)
    ]


@SETTINGS
@given(async_sgd_instances())
def test_times_are_those_of_the_network(instance):
    """Every pair costs batches / X(n), by another method, and counts of a job run from 1 without a gap."""
    table = cost_table(instance)
    for index, times in enumerate(full_table(instance)):
        begin, end = table.starts[index], table.starts[index + 1]
        assert table.counts[begin:end].tolist() == list(range(1, end - begin + 1))
        assert table.costs[begin:end] == pytest.approx(times[: end - begin], rel=1e-12)


@pytest.mark.parametrize("together", [3, 2**16])
@pytest.mark.parametrize("block", [1, costs._BLOCK])
def test_counts_left_out_save_less_than_all_that_is_needed(monkeypatch, block, together):
    """A step beyond the table saves no more than the least of the N - J largest savings, or nothing."""
    monkeypatch.setattr(costs, "_BLOCK", block)
    monkeypatch.setattr(costs, "_TOGETHER", together)

    @SETTINGS
    @given(async_sgd_instances())
    def needed(instance):
        nothing_needed_is_left_out(instance, cost_table(instance))

    needed()


def nothing_needed_is_left_out(instance, table):
    """Compare what is beyond the table with all savings."""
    spare = instance.nodes - len(instance.jobs)
    every = sorted((a - b for times in full_table(instance) for a, b in pairwise(times)), reverse=True)
    for index, times in enumerate(full_table(instance)):
        known = int(table.lengths[index])
        if known < len(times):
            beyond = times[known - 1] - times[known]
            assert beyond <= 1e-12 * times[0] or (spare <= len(every) and beyond <= every[spare - 1] * (1 + 1e-9))


def test_arrays_and_plain_loops_give_the_same_table(monkeypatch):
    """Many jobs go by arrays, few one by one, in blocks and groups of any size: bit for bit the same pairs."""
    instance = generate(preset="mixed", jobs=12, nodes=200, seed=3)
    tables = []
    for few, block, together in ((0, 1, 12), (0, 1, 5), (100, 1, 12), (8, 4096, 12), (8, 50, 12), (8, 50, 5)):
        monkeypatch.setattr(costs, "_FEW", few)
        monkeypatch.setattr(costs, "_BLOCK", block)
        monkeypatch.setattr(costs, "_TOGETHER", together)
        tables.append(cost_table(instance))
    for table in tables[1:]:
        for index in range(12):
            known = min(int(table.lengths[index]), int(tables[0].lengths[index]))
            first, other = tables[0].starts[index], table.starts[index]
            assert known > 1
            assert (tables[0].costs[first : first + known] == table.costs[other : other + known]).all()


def test_table_stays_near_the_nodes_there_are():
    """1,000 jobs that may each have 9,001 of 10,000 nodes: some pairs a node, not nine million."""
    assert cost_table(generate(preset="compute", jobs=1000, nodes=10_000, seed=1)).pairs < 40_000


def test_jobs_without_work_end_after_a_step():
    """They save nothing; the table keeps the first step that does not pay."""
    table = cost_table(Instance(name="idle", nodes=50, jobs=[job("a", epochs=0), job("b")]))
    assert table.lengths.tolist() == [2, 49]
    assert table.costs[:2].tolist() == [0.0, 0.0]


def test_too_many_pairs_are_refused(monkeypatch):
    """A readable error before memory runs out; the callback may raise before, as limits and Ctrl-C do."""
    instance = Instance(name="one", nodes=1000, jobs=[job("a")])
    with pytest.raises(KeyboardInterrupt):
        cost_table(instance, tick=Mock(side_effect=KeyboardInterrupt))
    monkeypatch.setattr(costs, "LARGEST_TABLE", 100)
    with pytest.raises(UsageError, match=r"more than 100 pairs.*limit max_nodes"):
        cost_table(instance)


def test_tables_agree_with_single_figures():
    """``batches_per_s`` and the table are the same recursion, up to where a station is busy but for rounding."""
    instance = generate(preset="mixed", jobs=30, nodes=90, seed=5)
    table = cost_table(instance)
    for index, record in enumerate(instance.jobs):
        last = table.last[index]
        single = record.batches / batches_per_s(record, int(table.counts[last]))
        assert table.costs[last] == pytest.approx(single, rel=1e-14)

"""The cost table of an instance: every pair that can matter, at the checker's own cost."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.heuristics import climb_hulls, double_greedily, increase_greedily
from dlsched.allocation.methods import solve_by_states
from dlsched.core.errors import UsageError
from dlsched.ring_allocation import Instance, doubling, hull, marginal
from dlsched.ring_allocation.checker import job_cost
from dlsched.ring_allocation.costs import cost_table
from dlsched.testing import brute_force, ring_allocation_instances

SETTINGS = settings(max_examples=20, derandomize=True, deadline=None, database=None)


def law(theta, **job):
    """A job with a law of 100 samples and 10 bytes."""
    return {"id": "a", "epochs": 1.0, "speed_law": {"theta": theta, "samples": 100, "model_bytes": 10}} | job


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
    return cost_table(Instance(name="x", gpus=gpus, jobs=[job])).counts.tolist()


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
    jobs = [law([1.0 + n / 7, 0.0, 0.0, 0.0], weight=1.0 + n % 3) | {"id": f"j{n}"} for n in range(500)]
    table = cost_table(Instance(name="x", gpus=2000, jobs=jobs))
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
    for n in range(rng.randint(1, 9)):
        theta = [
            rng.choice([0, 1]),
            rng.choice([0, 0, rng.random()]),
            rng.choice([0, rng.random() / 10]),
            0.5 + rng.random(),
        ]
        speed = {"theta": theta, "samples": rng.randint(1, 10000), "model_bytes": rng.randint(0, 60)}
        job = {
            "id": f"j{n}",
            "epochs": rng.choice([0, 1, 50]),
            "speed_law": speed,
            "weight": rng.choice([0.5, 1.0, 3.0]),
        }
        if rng.random() < 0.5:
            job |= {"current_gpus": rng.randint(1, 200), "restart_s": float(rng.choice([0, 1, 100, 10000]))}
        jobs.append(job | ({"max_gpus": rng.randint(1, 300)} if rng.random() < 0.5 else {}))
    instance = Instance(name="laws", gpus=rng.randint(len(jobs), 150), jobs=jobs)
    full, cut = everything(instance), cost_table(instance)
    optimum = full.total_cost(solve_by_states(full, instance.gpus))
    assert cut.total_cost(solve_by_states(cut, instance.gpus)) == pytest.approx(optimum, rel=1e-12)
    for heuristic, greedy in ((doubling, double_greedily), (marginal, increase_greedily), (hull, climb_hulls)):
        expected = full.counts[greedy(full, instance.gpus)].tolist()
        assert list(heuristic(instance).gpus.values()) == expected, heuristic.__name__


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
    large = {"1": 2.0, str(2**53 - 1000): 1.0}
    many = [big | {"id": f"j{index}", "epoch_time_s": large} for index in range(600)]
    with pytest.raises(UsageError, match="2\\*\\*62"):
        cost_table(Instance(name="x", gpus=2**53, jobs=many))

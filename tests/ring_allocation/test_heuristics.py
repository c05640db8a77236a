"""Runs of every heuristic, calculated by hand."""

import pytest

from dlsched import ring_allocation
from dlsched.core.errors import UsageError
from dlsched.ring_allocation import doubling, equal, example, fixed, hull, marginal, objective
from dlsched.testing import brute_force

from .jobs import build


def counts(heuristic, instance, **arguments):
    """Counts in the order of the jobs, or None."""
    found = heuristic(instance, **arguments)
    return None if found is None else list(found.gpus.values())


STEPS = {w: 80.0 / w for w in range(1, 9)} | dict.fromkeys(range(9, 16), 12.0) | {16: 5.0}


def test_marginal_stalls_where_nine_is_worse_and_sixteen_better():
    """T5, the paper's point: 10 s on 8 GPUs, 12 s on 9, 5 s on 16: marginal stays at 8, doubling and the optimum reach 16."""
    instance = build(16, STEPS)
    assert counts(marginal, instance) == [8]
    assert counts(doubling, instance) == [16]
    assert brute_force(instance)[0] == 5.0


def test_a_restart_breaks_convexity():
    """Fox's counterexample: times 30, 25, 22, current 1, restart 5: costs 30, 30, 27; marginal 30, optimum 27."""
    instance = build(3, [30.0, 25.0, 22.0], current_gpus=1, restart_s=5.0)
    found = marginal(instance)
    assert objective(instance, found) == 30.0
    assert brute_force(instance)[0] == 27.0


def test_marginal_by_hand():
    """Savings a: 6, 2, 1; b: 5, 3, 0. Three spare GPUs go to a (6), b (5), b (3)."""
    instance = build(5, [20.0, 14.0, 12.0, 11.0], [10.0, 5.0, 2.0, 2.0])
    assert counts(marginal, instance) == [2, 3]
    assert counts(marginal, build(99, [20.0, 14.0, 12.0, 11.0], [10.0, 5.0, 2.0, 2.0])) == [4, 3]


def test_marginal_skips_a_job_whose_next_count_does_not_fit():
    """Job a saves 9 a GPU but needs 3 more, two are left: b gets one instead."""
    assert counts(marginal, build(4, {1: 30.0, 4: 3.0}, [5.0, 4.0, 4.5])) == [1, 2]


def test_doubling_by_hand():
    """Savings per added GPU a: 8, then 2; b: 5, then 1. On 6: a doubles, b doubles, a doubles to 4."""
    tables = {1: 20.0, 2: 12.0, 4: 8.0}, {1: 15.0, 2: 10.0, 4: 8.0}
    assert [counts(doubling, build(gpus, *tables)) for gpus in (2, 3, 4, 5, 6, 7, 8)] == [
        [1, 1],
        [2, 1],
        [2, 2],
        [2, 2],
        [4, 2],
        [4, 2],
        [4, 4],
    ]


def test_weights_and_epochs_count():
    """Equal times; 2 epochs of weight 3 save more than 5 of weight 1: the spare GPU goes there."""
    times = {1: 4.0, 2: 3.0}
    instance = build(3, {"epochs": 5, "epoch_time_s": times}, {"epochs": 2, "weight": 3, "epoch_time_s": times})
    for heuristic in (doubling, marginal, hull):
        assert counts(heuristic, instance) == [1, 2]


def test_hull_by_hand():
    """Costs 10, 9, 2 on 1, 2, 3: the hull steps over 2 (saving 4 a GPU twice); b saves 3. Two spare GPUs: a gets both."""
    instance = build(4, [10.0, 9.0, 2.0], [5.0, 2.0])
    assert counts(hull, instance) == [3, 1]
    assert counts(marginal, instance) == [2, 2]


def test_hull_closes_a_job_whose_step_does_not_fit():
    """One spare GPU: a's step of two does not fit, b's of one does."""
    assert counts(hull, build(3, [10.0, 9.0, 2.0], [5.0, 2.0])) == [1, 2]


def test_hull_takes_a_line_in_the_steps_that_there_are():
    """3, 1 and 9, 7, 5, 3 save 2 a GPU: the first job is served first, and of three more for the other two are left."""
    assert counts(hull, build(5, [3.0, 1.0], [9.0, 7.0, 5.0, 3.0])) == [2, 3]


def test_fixed_by_hand():
    """The largest allowed count <= k, else the smallest; None when they do not fit together."""
    instance = build(20, {1: 9.0, 4: 5.0, 16: 1.0}, {8: 2.0, 9: 1.0}, {12: 1.0})
    assert counts(fixed, instance) is None  # 4 + 8 + 12
    assert counts(fixed, build(24, {1: 9.0, 4: 5.0, 16: 1.0}, {8: 2.0, 9: 1.0}, {12: 1.0})) == [4, 8, 12]
    assert counts(fixed, build(20, {1: 9.0, 4: 5.0}), gpus_per_job=3) == [1]
    with pytest.raises(UsageError, match="gpus_per_job"):
        fixed(instance, gpus_per_job=0)


def test_equal_by_hand():
    """floor(7 / 2) = 3 GPUs each: 2 of {1, 2, 4}, 3 of {1, 3}."""
    assert counts(equal, build(7, {1: 9.0, 2: 5.0, 4: 3.0}, {1: 9.0, 3: 5.0})) == [2, 3]
    assert counts(equal, build(1, [1.0], [1.0], [1.0])) is None


def test_ties_go_to_the_job_that_stands_first():
    """Three equal jobs and one spare GPU."""
    for heuristic in (doubling, marginal, hull):
        assert counts(heuristic, build(4, [4.0, 2.0], [4.0, 2.0], [4.0, 2.0])) == [2, 1, 1]


def test_nothing_left_to_train():
    """Zero epochs cost nothing on any count: every job keeps its smallest."""
    instance = build(9, {1: 4.0, 2: 3.0}, epochs=0)
    for heuristic in (doubling, marginal, hull):
        assert counts(heuristic, instance) == [1]


@pytest.mark.parametrize("name", ["doubling", "marginal", "fixed", "equal", "hull"])
def test_infeasible_has_no_answer(name):
    """Two jobs that need two GPUs each, on three."""
    assert getattr(ring_allocation, name)(build(3, {2: 1.0}, {2: 1.0})) is None


def test_the_example_by_hand():
    """On six GPUs b's first doubling saves most by far (about 2.3e3 s a GPU of 90.5 epochs), then a's."""
    instance = example()
    savings = [160 * (138.0 - 81.9), 90.5 * (50.2 - (25.01 + 0.05 + 0.2))]
    assert savings[0] > savings[1] > 0
    assert counts(doubling, instance) == [4, 2]
    assert objective(instance, doubling(instance)) == brute_force(instance)[0]

"""Exact methods: by hand, against brute force and each other; prices in the search over slots; what is refused."""

import math

import numpy as np
import pytest
from conftest import profile
from hypothesis import given

from dlsched import Limits
from dlsched.columns.slot_costs import SlotPrices
from dlsched.core.errors import UsageError
from dlsched.core.limits import Budget, no_tick
from dlsched.core.ticks import end_slot
from dlsched.elastic_stream import (
    Stream,
    check,
    exact,
    example,
    generate,
    objective,
    simulate,
    solve,
)
from dlsched.elastic_stream import slots as room
from dlsched.elastic_stream.bounds.ticks import slot_prices, ticked_prices
from dlsched.elastic_stream.exact import SLOTS
from dlsched.elastic_stream.formulations.milp import build_milp, windows
from dlsched.elastic_stream.heuristics import POLICIES as NAMED
from dlsched.elastic_stream.heuristics import in_turn
from dlsched.elastic_stream.slots import lone_costs, search_slots, stream_of
from dlsched.testing import brute_force_stream, elastic_stream_instances

from .streams import POLICIES, stream


def refuses(instance, *, step, tick):
    """Stand in for a policy that has too many counts to weigh."""
    raise UsageError("found too many counts")


def test_the_example_by_hand():
    """Job a takes 2 units while it is alone, gives one to b at 10 s, and takes it back at 20 s.

    To 10 s it does 10 / 12 epochs; on one unit after a pause of 2 s it does 8 / 20; .7667 are left, 9.2 s on two after
    another pause of 2 s: it ends at 31.2. b ends at 18, 8 s after its arrival. (31.2 + 8) / 2 = 19.6. Keeping two units a
    would end at 24 and b at 38: 26; one unit from the start: a ends at 40, 24 in the mean.
    """
    result = solve(example())
    assert (str(result.status), round(result.objective, 9), result.bound_source) == ("optimal", 19.6, SLOTS)
    held = {job: [period.units for period in periods] for job, periods in result.solution.periods.items()}
    assert held == {"a": [2, 1, 2], "b": [1]}


def test_idling_can_be_best():
    """j1 waits a slot for three units, though one is free: (9 + 22) / 2; first on three units it makes j0 wait: 20.5."""
    jobs = (0.0, 1.0, {2: 9.0}), (0.0, 1.0, {1: 400.0, 3: 12.0}, {"restart_s": 9.0})
    instance = stream(*jobs, units=3, tick_s=10.0)
    result = solve(instance)
    assert result.solution.periods == {"j0": ((0.0, 9.0, 2),), "j1": ((10.0, 22.0, 3),)}
    assert result.objective == brute_force_stream(instance)[0] == 15.5


def test_a_stopped_job_does_not_dominate_one_that_never_ran():
    """A job that was started and stopped has to pause when it goes on; one that waited has not.

    Running j on one unit in the first slot leaves it 90 s' worth of a tenth, 9 s at ten units, and a pause of 9 s. Best:
    j waits for m1 and m2 (10 s), then for k1 and k2 (10 s), and takes ten units from 20 s: 30 + 10 + 10 + 9 + 9 = 68.
    """
    instance = stream(
        (0.0, 1.0, {1: 100.0, 10: 10.0}, {"restart_s": 9.0}),
        (0.0, 1.0, {4: 10.0}),
        (0.0, 1.0, {5: 10.0}),
        (10.0, 1.0, {5: 9.0}),
        (10.0, 1.0, {5: 9.0}),
        units=10,
        tick_s=10.0,
    )
    assert solve(instance).objective == pytest.approx(68 / 5)


def test_larger_streams_by_two_code_bases():
    """Three jobs, three units: our search and HiGHS prove the same optimum, below every policy."""
    instance = generate(preset="slots", jobs=3, gpus=3, seed=3)
    ours, theirs = solve(instance), solve(instance, method="milp")
    assert str(ours.status) == str(theirs.status) == "optimal"
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-9)
    assert ours.objective < min(objective(instance, simulate(instance, policy())) for policy in POLICIES.values())


@profile(12)
@given(elastic_stream_instances(feasible=True))
def test_another_unit_never_hurts(instance):
    """With more units the optimum does not rise."""
    more = instance.model_copy(update={"units": instance.units + 1})
    assert solve(more).objective <= solve(instance).objective * (1 + 1e-12)


def test_empty_slots_are_passed_over():
    """Two pairs of jobs 20,000 slots apart, and late on the clock: the optimum of one pair, twice."""
    pair = (0.0, 1.0, {1: 25.0, 2: 20.0}, {"restart_s": 0.5}), (0.0, 1.0, {1: 15.0, 2: 11.0})
    later = [(2**20, *fields[1:]) for fields in pair]
    alone, both = stream(*pair, units=2, tick_s=1.0), stream(*pair, *later, units=2, tick_s=1.0)
    found = solve(both)
    assert str(found.status) == "optimal"
    assert found.objective == pytest.approx(solve(alone).objective, rel=1e-9)


def test_limits_keep_the_best_and_the_bound():
    """Stopped by nodes: the best policy's stream is held, with the bound proven so far."""
    instance = generate(preset="slots", jobs=6, gpus=4, seed=1)
    result = solve(instance, limits=Limits(nodes=20))
    assert str(result.status) == "node_limit" and result.bound_source == SLOTS
    full = solve(instance)
    assert result.certificate.value < result.bound <= full.objective <= result.objective
    assert str(solve(instance, limits=Limits(nodes=0)).status) == "node_limit"


def test_without_ticks_the_best_policy_and_the_bound():
    """Feasible, not optimal; optimal where the two meet."""
    instance = generate(jobs=8, gpus=16, seed=1)
    result = solve(instance)
    assert str(result.status) == "feasible" and result.bound_source == "certificate"
    assert "no proven optimum" in result.message
    alone = stream((0.0, 1.0, {1: 10.0, 4: 5.0}))
    assert str(solve(alone).status) == "optimal" and solve(alone).objective == 5.0
    with pytest.raises(UsageError, match="method milp: tick_s: found null"):
        solve(instance, method="milp")


def test_restarts_as_long_as_a_tick_are_refused():
    """The program says so; exact returns the best of the policies, and says so."""
    instance = stream(*[(0.0, 1.0, {1: 30.0, 2: 20.0}, {"restart_s": 10.0})] * 3, units=2, tick_s=10.0)
    with pytest.raises(UsageError, match=r"jobs\[0\].restart_s: found 10.0, allowed: less than tick_s, 10.0"):
        solve(instance, method="milp")
    result = solve(instance)
    assert str(result.status) == "feasible"
    assert "the best of the policies and a plan, no proven optimum: jobs[0].restart_s" in result.message


def test_a_restart_of_a_job_without_work_refuses_nothing():
    """It never pauses; the others are searched, and the program is built."""
    instance = stream((0.0, 0.0, {1: 9.0}, {"restart_s": 99.0}), (0.0, 1.0, {1: 15.0, 2: 10.0}), units=2, tick_s=10.0)
    assert solve(instance).objective == solve(instance, method="milp").objective == 5.0


def test_counts_may_be_vast():
    """The example, with 2**53 units for its 2: their number takes no memory; idle units change nothing."""
    most = 2**53
    jobs = (0.0, 2.0, {1: 20.0, most: 12.0}, {"restart_s": 2.0}), (10.0, 1.0, {1: 8.0})
    result = solve(stream(*jobs, units=most, tick_s=10.0))
    assert (str(result.status), result.bound_source, result.objective) == ("optimal", SLOTS, pytest.approx(19.6))
    assert [period.units for period in result.solution.periods["j0"]] == [most, 1, most]


def test_a_tick_that_dwarfs_a_job_is_refused_by_the_program_alone():
    """Of its fastest count in between: 1e-7 s on two units, a tick of 10 s; exact ends the job in its first slot."""
    jobs = (0.0, 1.0, {1: 20.0, 2: 1e-7, 3: 30.0}), (0.0, 1.0, {2: 15.0})
    instance = stream(*jobs, units=3, tick_s=10.0)
    assert solve(instance).objective == pytest.approx((1e-7 + 25.0) / 2)
    with pytest.raises(UsageError, match=r"jobs\[0\]: found 1e-07 s of work, allowed: at least 1e-06 of tick_s"):
        solve(instance, method="milp")


def test_policies_without_a_stream_are_counted(monkeypatch):
    """Those that restart for ever, and one with too many counts: the message says how many, the best other is held."""
    job = (0.0, 1.0, {1: 30.0, 2: 20.0}, {"restart_s": 10.0})
    instance = stream(job, job, job, units=2, tick_s=10.0)
    forever = [name for name in NAMED if solve(instance, method=name).solution is None]
    monkeypatch.setitem(NAMED, "doubling", refuses)
    result = solve(instance)
    assert forever and "doubling" not in forever and result.solution is not None
    assert f"have too many counts to weigh: {len(forever) + 1};" in result.message


def test_an_interrupt_keeps_what_was_said(monkeypatch):
    """Ctrl-C in the search, which has no words of its own: the best policy's stream is held, the skipped one named."""

    def interrupted(*arguments, **named):
        raise KeyboardInterrupt

    monkeypatch.setitem(NAMED, "doubling", refuses)
    monkeypatch.setattr(exact, "search_slots", interrupted)
    result = solve(generate(preset="slots", jobs=5, gpus=3, seed=1))
    assert (str(result.status), result.solution is not None) == ("interrupted", True)
    assert result.message.endswith("have too many counts to weigh: 1")


def test_what_is_too_large_is_said(monkeypatch):
    """More states than are allowed: the best of the policies with the bound; more columns: refused."""
    instance = generate(preset="slots", jobs=5, gpus=3, seed=0)
    monkeypatch.setattr(room, "LARGEST_LAYER", 2)
    result = solve(instance)
    assert str(result.status) == "feasible" and result.bound is not None
    assert "more than 2 states at a tick" in result.message
    crowd = generate(preset="slots", jobs=60, gpus=32, max_gpus=32, tick=21.0, seed=0)
    with pytest.raises(UsageError, match="binary variables, allowed: 200000"):
        build_milp(crowd)


@pytest.mark.parametrize(("name", "most"), [("_LARGEST_CELLS", 10), ("_LARGEST_TRAIL", 100)])
def test_memory_is_bounded(name, most, monkeypatch):
    """States before dominance, and what is kept of earlier ticks: beyond either, the best of the policies."""
    monkeypatch.setattr(room, name, most)
    result = solve(generate(preset="slots", jobs=5, gpus=3, seed=0))
    assert str(result.status) == "feasible" and result.bound is not None
    assert "the best of the policies and a plan, no proven optimum" in result.message


@pytest.mark.parametrize("method", ["doubling", "equal", "myopic", "exploratory", "las-knee", "exact", "milp"])
def test_who_is_stopped_holds_the_quick_answer(method):
    """No time at all: jobs in turn, each on its fixed size: 20 s, 10 s after the tick at 20 s, and 10 s."""
    jobs = (0.0, 1.0, {2: 20.0}), (3.0, 1.0, {1: 10.0}), (25.0, 1.0, {1: 5.0})
    result = solve(stream(*jobs, units=2, tick_s=10.0), method=method, limits=Limits(time_s=0.0))
    assert str(result.status) == "time_limit" and result.objective == (20.0 + 27.0 + 10.0) / 3
    assert result.solution.periods["j1"] == ((20.0, 30.0, 1),) and result.solution.periods["j2"] == ((30.0, 35.0, 1),)


def test_in_turn_without_ticks():
    """Three jobs of two units each on three: one after another, though the last would fit beside the first."""
    made = in_turn(stream((0.0, 1.0, {2: 10.0}), (1.0, 1.0, {3: 5.0}), (2.0, 1.0, {1: 4.0}), units=3))
    assert made.periods == {"j0": ((0.0, 10.0, 2),), "j1": ((10.0, 15.0, 3),), "j2": ((15.0, 19.0, 1),)}
    assert in_turn(stream((0.0, 1.0, {5: 1.0}))) is None


def test_what_rounding_leaves_undone_is_done_later():
    """Slots of a solver that stopped a hair too early are completed alone, after all others."""
    instance = stream((0.0, 1.0, {1: 25.0}), (0.0, 1.0, {1: 10.0}), units=1, tick_s=10.0)
    made = stream_of(instance, [{0: 1, 1: 1}, {2: 1}])
    assert made == Stream({"j0": [(0.0, 20.0, 1), (40.0, 45.0, 1)], "j1": [(20.0, 30.0, 1)]})
    assert check(instance, made) == []


def test_brute_force_takes_an_arrival_for_the_tick_that_it_is_but_for_rounding():
    """3 us after a tick on a Unix clock, 8.15 units in the last place, of which floats make 8: done a second later."""
    instance = stream((1699999458.9312222, 1.0, {1: 1.0}), units=1, tick_s=3051.510334627328)
    assert brute_force_stream(instance)[0] == solve(instance).objective == pytest.approx(1.0, rel=1e-12)


def test_the_horizon_is_as_long_as_a_better_stream_allows():
    """With the optimum known no job may end later than it would if all others were as early as can be."""
    instance = generate(preset="slots", jobs=4, gpus=3, seed=1)
    wide, tight = windows(instance), windows(instance, solve(instance).objective * 4)
    assert all(near.last <= far.last and near.first == far.first for near, far in zip(tight, wide, strict=True))
    assert sum(near.last for near in tight) < sum(far.last for far in wide)


def searched(instance, prices):
    """Least total that the search proves, and states that it follows."""
    budget, totals = Budget(), []
    search_slots(instance, math.inf, found=lambda plan: True, proven=totals.append, budget=budget, prices=prices)
    return totals[-1], budget.nodes


@pytest.mark.parametrize(("jobs", "seed", "units"), [(5, 0, 3), (5, 1, 4)])
def test_the_same_optimum_with_fewer_states(jobs, seed, units):
    """With the best prices and with poor ones, whatever is proven of states is true."""
    instance = generate(preset="slots", jobs=jobs, gpus=units, seed=seed)
    plain, followed = searched(instance, None)
    best = slot_prices(ticked_prices(instance))
    poor = SlotPrices(best.slots, best.sizes, best.prices[:, ::-1] * 1.5)
    for prices in (best, poor):
        total, fewer = searched(instance, lone_costs(instance, prices, no_tick))
        assert total == pytest.approx(plain, rel=1e-9)
        if prices is best:
            assert fewer < followed
    assert solve(instance).objective * jobs == pytest.approx(plain, rel=1e-9)


def test_costs_of_a_state_by_hand():
    """At 1 s a unit and second in slot 1; a ran on one unit in slot 0, b has not begun, c comes at 20 s.

    a has 5 s left on one unit: 5 and 10 to pay, or it waits for 10 s and pauses for 2 s: 15, 17. b has 4 s: 4 and 10, or 14.
    c takes 6 s from its arrival. Both units bring 20. Held on none, a pauses in slot 1 already: 2 and 15.
    """
    times = {1: 15.0}, {1: 4.0}, {1: 6.0}
    arrivals = 0.0, 0.0, 20.0
    jobs = [(at, 1.0, time, {"restart_s": 2.0}) for at, time in zip(arrivals, times, strict=True)]
    instance = stream(*jobs, units=2, tick_s=10.0)
    bound = lone_costs(instance, SlotPrices(np.array([1, 2]), (1,), np.array([[1.0]])), no_tick)
    left, held, started = np.array([1 / 3, 1 / 3, 0.0]), np.array([1, 0, 0]), np.ones(3, dtype=bool)
    come, fresh = np.array([True, True, False]), np.array([False])
    for slot, ran, whole, rest in ((1, [15, 17, 0], 14, 6 - 20), (2, [5, 7, 0], 4, 6)):
        assert bound.present_s(0, slot, left, held, started) == pytest.approx(ran, abs=0.02)
        assert bound.present_s(1, slot, np.ones(1), np.zeros(1, dtype=np.int64), fresh) == pytest.approx(
            [whole], abs=0.02
        )
        assert bound.later_s(come, slot) == pytest.approx(rest, abs=0.02)


def test_too_many_costs_are_not_kept():
    """Prices far into the future would take too much memory: nothing is pruned then."""
    instance = stream((0.0, 1.0, {1: 15.0}, {"restart_s": 2.0}), tick_s=10.0)
    assert lone_costs(instance, SlotPrices(np.array([0, 10**6]), (1,), np.array([[1.0]])), no_tick) is None


@pytest.mark.parametrize(("slot", "tick_s"), [(0, 10.0), (7, 0.1), (2**53, 10.0), (2**60 + 1, 1e-9), (10**30, 7.3)])
def test_an_end_is_later_than_its_beginning(slot: int, tick_s: float) -> None:
    """One slot later where the clock can tell, else at the next beginning that it can."""
    end = end_slot(slot, 0.5 * tick_s, 0.0, tick_s)
    assert end * tick_s > slot * tick_s
    assert end == slot + 1 or math.nextafter(slot * tick_s, math.inf) >= (slot + 1) * tick_s


@pytest.mark.parametrize("method", ["exact", "fixed", "fifo-knee", "doubling", "plan"])
def test_a_short_job_after_one_of_10_to_the_31_seconds(method: str) -> None:
    """Both want the two units: by hand, the second waits 2.4e31 s in order of arrival, and 24 s in all is the mean at best."""
    jobs = (0.0, 2.0, {1: 20.0, 2: 1.2000000000000001e31}, {"restart_s": 2.0}), (10.0, 1.0, {1: 8.0})
    instance = stream(*jobs, units=2, tick_s=10.0)
    result = solve(instance, method=method)
    assert result.solution is not None, result.message
    assert check(instance, result.solution) == []
    assert result.objective == pytest.approx(24.0) or result.objective == pytest.approx(2.4e31)
    if method in ("exact", "plan"):
        assert result.objective == pytest.approx(24.0)

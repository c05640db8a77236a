"""Policies by hand, step by step, and those that weigh jobs against closed forms."""

import pytest

from dlsched.algorithms.utility_tables import upper_hull
from dlsched.core.errors import UsageError
from dlsched.elastic_stream import (
    Instance,
    check,
    doubling,
    equal,
    exploratory,
    figures,
    fixed,
    flow_times,
    generate,
    marginal,
    myopic,
    ordered,
    policies,
    priced,
    simulate,
    solve,
    weighted,
)
from dlsched.elastic_stream.heuristics import SIZINGS
from dlsched.elastic_stream.policies import ORDERS, Exploratory, Fixed, Knee, Priced, Queue, Weighted
from dlsched.elastic_stream.policies.prices import MOST_COUNTS, drain, useful_points
from dlsched.study.reproduce.streams import pattern

from .streams import VAST, stream

RESNET = {1: 138.0, 2: 81.9, 4: 47.25, 8: 29.6}


def units_at(made, time_s):
    """Units that each job holds at a time."""
    return {job: p.units for job, held in made.periods.items() for p in held if p.start_s <= time_s < p.end_s}


def test_doubling_shares_and_takes_back():
    """Two ResNet jobs on 8: alone 8; together 4 and 4 (next doubling does not fit); alone again 8."""
    instance = stream((0.0, 10.0, RESNET), (100.0, 2.0, RESNET), units=8)
    made = doubling(instance)
    assert units_at(made, 50.0) == {"j0": 8}
    assert units_at(made, 150.0) == {"j0": 4, "j1": 4}
    end = 100 + 2 * 47.25
    assert units_at(made, end + 1) == {"j0": 8}
    assert made.periods["j1"][-1].end_s == pytest.approx(end)


def test_doubling_passes_nine_and_marginal_stalls():
    """9 is slower than 8 and 16 faster: doubling goes on to 16, marginal stays at 8, myopic takes 16."""
    times = {8: 10.0, 9: 11.0, 16: 6.0}
    instance = stream((0.0, 1.0, times), units=16)
    assert [units_at(policy(instance), 1.0)["j0"] for policy in (doubling, marginal, myopic)] == [16, 8, 16]


def test_a_restart_that_costs_more_than_it_saves_is_not_made():
    """Ten seconds are left when the other job ends; going from 4 to 8 would save 3.7 s and cost 5."""
    instance = stream((0.0, 1.0, RESNET, {"restart_s": 5.0}), (0.0, 37.25 / 47.25, RESNET), units=8)
    for policy in (doubling, marginal, myopic):
        assert [period.units for period in policy(instance).periods["j0"]] == [4]


def test_who_waits_by_order_of_arrival():
    """Three jobs of at least 2 units on 5: the third waits until one ends."""
    instance = stream(*[(float(n), 1.0, {2: 10.0, 4: 6.0}) for n in range(3)], units=5)
    for policy in (doubling, marginal, myopic, equal, exploratory):
        made = policy(instance)
        first_end = min(periods[-1].end_s for periods in made.periods.values())
        assert made.periods["j2"][0].start_s == pytest.approx(first_end), policy


def test_equal_share_by_hand():
    """One job: 8 of 8; two: 4 each; three: 2 each, the two idle units stay idle."""
    instance = stream(*[(10.0 * n, 1.0, RESNET) for n in range(3)], units=8)
    made = equal(instance)
    assert [units_at(made, t) for t in (5.0, 15.0, 25.0)] == [
        {"j0": 8},
        {"j0": 4, "j1": 4},
        {"j0": 2, "j1": 2, "j2": 2},
    ]


def test_fixed_is_the_largest_count_up_to_k():
    """K = 8 by default; 3 gives 2; where nothing is small enough, the smallest."""
    instance = stream((0.0, 1.0, RESNET), units=64)
    assert units_at(fixed(instance), 1.0) == {"j0": 8}
    assert units_at(fixed(instance, units_per_job=3), 1.0) == {"j0": 2}
    assert units_at(fixed(stream((0.0, 1.0, {4: 9.0}), units=8), units_per_job=3), 1.0) == {"j0": 4}
    with pytest.raises(UsageError, match="units: found 0, allowed: an integer >= 1"):
        fixed(instance, units_per_job=0)


def test_exploration_step_by_step():
    """1, 2, 4 and 8 units for 150 s each, restarts included, then doubling on what was measured."""
    instance = stream((0.0, 100.0, RESNET, {"restart_s": 10.0}), units=8)
    made = exploratory(instance)
    periods = made.periods["j0"]
    assert [(p.start_s, p.units) for p in periods] == [(0.0, 1), (150.0, 2), (300.0, 4), (450.0, 8)]
    explored = 150 / 138 + 140 / 81.9 + 140 / 47.25
    assert periods[-1].end_s == pytest.approx(460 + (100 - explored) * 29.6)


def test_exploration_waits_for_units():
    """A second job explores 1 unit beside the first's 8 of 9, and goes on to 2 when those are free."""
    instance = stream((0.0, 30.0, RESNET), (460.0, 30.0, RESNET), units=9)
    made = exploratory(instance)
    assert units_at(made, 500.0) == {"j0": 8, "j1": 1}
    assert units_at(made, 611.0)["j1"] == 2, "the first gives way: it is learnt, and its smallest count is 1"


def test_jobs_that_allow_none_of_the_counts_explore_their_smallest():
    """Counts 3 and 5: explored at 3, and used at 3 only."""
    made = simulate(stream((0.0, 10.0, {3: 20.0, 5: 1.0}), units=8), Exploratory())
    assert {period.units for period in made.periods["j0"]} == {3}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Exploratory(()), "counts: found"),
        (lambda: Exploratory((2, 1)), "counts: found"),
        (lambda: Exploratory((1,), 0.0), "step_s: found 0.0"),
        (lambda: Knee(0.0), "theta: found 0.0, allowed: a number in"),
        (lambda: Fixed(0), "units: found 0"),
        (
            lambda: ordered(stream((0.0, 1.0, {1: 1.0})), "lifo", "fixed"),
            "order: found 'lifo', allowed: fifo, srpt, sjf, las, efficiency",
        ),
        (
            lambda: ordered(stream((0.0, 1.0, {1: 1.0})), "fifo", "huge"),
            "sizing: found 'huge', allowed: fixed, fastest, knee, equal, marginal",
        ),
        (lambda: marginal(stream((0.0, 1.0, {1: 1.0})), order="x"), "order: found 'x'"),
    ],
)
def test_parameters_out_of_range_are_refused(make, message):
    """What was found, what is allowed."""
    with pytest.raises(UsageError, match=message):
        make()


def test_the_knee():
    """Efficiencies of ResNet-110: 1, .84, .73, .58: at .5 eight units, at .7 four, at .9 one."""
    instance = stream((0.0, 1.0, RESNET), units=64)
    sizes = [units_at(simulate(instance, Queue("fifo", Knee(theta))), 1.0)["j0"] for theta in (0.5, 0.7, 0.9)]
    assert sizes == [8, 4, 1]


def test_orders_by_hand():
    """One unit, three jobs there at 0 s: lengths 3, 1, 2; and the shortest remaining time interrupts."""
    instance = stream((0.0, 1.0, {1: 30.0}), (0.0, 1.0, {1: 10.0}), (0.0, 1.0, {1: 20.0}), units=1)
    ends = {order: flow_times(instance, ordered(instance, order, "fixed")) for order in ORDERS}
    assert ends["fifo"] == [30.0, 40.0, 60.0]
    assert ends["srpt"] == ends["sjf"] == [60.0, 10.0, 30.0]
    late = stream((0.0, 1.0, {1: 30.0}), (5.0, 1.0, {1: 10.0}), (12.0, 1.0, {1: 20.0}), units=1)
    assert flow_times(late, ordered(late, "srpt", "fixed")) == [60.0, 10.0, 23.0]
    assert flow_times(late, ordered(late, "sjf", "fixed"))[1] == 10.0
    served = ordered(late, "las", "fixed")
    assert served.periods["j1"][0].start_s == 5.0 and served.periods["j2"][0].start_s == 12.0


def test_srpt_interrupts():
    """20 s left of the running job, 15 s of the new one: it is interrupted, and pays its pause when it goes on."""
    for restart in (0.0, 30.0):
        instance = stream((0.0, 1.0, {1: 30.0}, {"restart_s": restart}), (10.0, 1.0, {1: 15.0}), units=1)
        made = ordered(instance, "srpt", "fixed")
        assert made.periods["j1"][0].start_s == 10.0
        assert made.periods["j0"][-1].end_s == pytest.approx(45.0 + restart)


def test_who_is_stopped_and_goes_on_at_once_keeps_his_place():
    """At 10 s A1 would stop X, and A2 stops A1 first: X goes on, with 10 s left, not with the 100 s pause of a restart.

    So B, with 30 s, does not stop it at 11 s.
    """
    instance = stream(
        (0.0, 1.0, {2: 20.0}, {"restart_s": 100.0}),
        (10.0, 1.0, {3: 8.0}),
        (10.0, 1.0, {2: 4.0}),
        (11.0, 1.0, {2: 30.0}),
    )
    assert ordered(instance, "srpt", "fastest").periods["j0"] == ((0.0, 20.0, 2),)


def test_laws_of_any_number_of_units_are_quick():
    """A law that never gets worse, on 2**53 units: the knee is found by bisection; what would weigh each count is refused."""
    instance = stream(*[(0.0, 10.0, VAST)] * 2, units=2**53)
    (period,) = ordered(instance, "fifo", "knee").periods["j0"]
    assert period.units == 52  # (50 + 1) / (50 + n) >= 1 / 2
    for policy in (marginal, myopic):
        with pytest.raises(UsageError, match=r"pairs of job and count at 0.0 s, allowed: 262144"):
            policy(instance)
    assert solve(instance).objective > 0
    assert str(solve(instance.model_copy(update={"units": 10**6, "tick_s": 60.0})).status) == "feasible"


def test_efficiency_serves_whom_units_help_most():
    """At two units each on two: the job that scales perfectly goes first, though it is longer and later in the file."""
    instance = stream((0.0, 1.0, {1: 10.0, 2: 9.0}), (0.0, 1.0, {1: 40.0, 2: 20.0}), units=2)
    made = ordered(instance, "efficiency", "fixed")
    assert made.periods["j1"][0] == (0.0, 20.0, 2)


def test_a_job_may_overtake_one_that_does_not_fit_and_is_stopped_for_it():
    """3 units: j0 holds 2, j1 wants 2 and does not fit, j2 (1 unit) overtakes; when j0 ends, j1 goes first and j2 stays."""
    instance = stream((0.0, 1.0, {2: 10.0}), (1.0, 1.0, {2: 10.0}), (2.0, 1.0, {1: 30.0}), units=3)
    made = fixed(instance)
    assert made.periods == {"j0": ((0.0, 10.0, 2),), "j1": ((10.0, 20.0, 2),), "j2": ((2.0, 32.0, 1),)}
    tight = stream((0.0, 1.0, {2: 10.0}), (1.0, 1.0, {3: 10.0}), (2.0, 1.0, {1: 30.0}), units=3)
    assert fixed(tight).periods["j2"] == ((2.0, 10.0, 1), (20.0, 42.0, 1))


def test_every_cell_of_the_grid_runs():
    """Orders x sizings on a drawn stream: a mean flow time each, and not all the same."""
    instance = generate(jobs=40, gpus=16, load=1.1, seed=2)
    means = {(o, s): sum(flow_times(instance, ordered(instance, o, s))) for o in ORDERS for s in SIZINGS}
    assert len(set(means.values())) > 12


def test_every_policy_is_public():
    """Names in ``policies.__all__`` exist."""
    assert all(hasattr(policies, name) for name in policies.__all__)


BOTH = pytest.mark.parametrize("policy", [priced, weighted])


def test_weights_of_square_roots_are_those_of_the_optimal_closed_form():
    """Speeds sqrt(w): heSRPT gives the i-th longest of n (i / n)^2 - ((i - 1) / n)^2, so m_i goes with sqrt(2 i - 1)."""
    points = [(count, count**0.5) for count in range(1, 4097)]
    weights = drain([points] * 8, [1.0] * 8, [0.0] * 8, 4096)
    assert weights == pytest.approx([((2 * rank - 1) / 4096) ** 0.5 for rank in range(1, 9)], rel=5e-3)


def test_weights_of_linear_speeds_are_ranks():
    """One machine of speed C, shortest first: each second of it ends the flow of all that are left."""
    points = [(count, float(count)) for count in range(1, 17)]
    assert drain([points] * 5, [1.0] * 5, [0.0] * 5, 16) == pytest.approx([rank / 16 for rank in range(1, 6)], rel=0.01)


def test_where_units_are_plenty_a_weight_is_the_least_price_of_an_epoch():
    """The least (1 + lambda w) tau(w), with lambda the worth of a unit; without it the fastest count's time."""
    points = [(count, 1 / time_s) for count, time_s in RESNET.items()]
    price = 0.02 / 64  # of the grid
    least = min((1 + price * count) * time_s for count, time_s in RESNET.items())
    assert drain([points] * 3, [1.0] * 3, [0.0] * 3, 64) == pytest.approx([29.6] * 3)
    assert drain([points] * 3, [1.0] * 3, [price] * 3, 64) == pytest.approx([least] * 3)


def test_hull_by_hand():
    """2 lies below the line from 0 to 3, 4 gains nothing, 5 is a corner; one point below 0 has none."""
    assert upper_hull([(1, 1.0), (2, 1.5), (3, 4.5), (4, 4.5), (5, 5.0)]) == [(3, 4.5), (5, 5.0)]
    assert upper_hull([(1, 2.0), (2, 3.0), (4, 4.0)]) == [(1, 2.0), (2, 3.0), (4, 4.0)]
    assert upper_hull([(2, 0.0)]) == []


@pytest.mark.parametrize("policy", [Weighted, Priced, lambda: Priced(1.0, 0.0)])
def test_one_unit_is_served_shortest_remaining_first(policy):
    """Lengths 30, 10, 20 from 0, 5, 12 s; equal jobs go in order of the file."""
    late = stream((0.0, 1.0, {1: 30.0}), (5.0, 1.0, {1: 10.0}), (12.0, 1.0, {1: 20.0}), units=1)
    assert flow_times(late, simulate(late, policy())) == [60.0, 10.0, 23.0]
    equal = stream(*[(0.0, 1.0, {1: 10.0})] * 3, units=1)
    assert flow_times(equal, simulate(equal, policy())) == [10.0, 20.0, 30.0]


def test_the_short_job_takes_what_helps_it_and_no_more():
    """Two units, 10 and 1 epochs. At 10 and 6 s an epoch weights are 10 and 20, gains 1, .67 and 2, 1.33: the short one has both.

    At 10 and 9 s the gains are 1, .11 and 2, .22: one each. Seconds: 6, then 60; or 10, and 9 epochs of 9 s after it.
    """
    for times, flows in (({1: 10.0, 2: 6.0}, [66.0, 6.0]), ({1: 10.0, 2: 9.0}, [91.0, 10.0])):
        instance = stream((0.0, 10.0, times), (0.0, 1.0, times), units=2)
        assert flow_times(instance, priced(instance)) == pytest.approx(flows)


@pytest.mark.parametrize(("restart_s", "held"), [(10.0, [4, 8]), (25.0, [4])])
def test_a_change_is_made_if_it_saves_more_than_its_pause(restart_s, held):
    """Beside j1's 4 of 8 units j0 has 4. At 37.25 s it has 57.2 s left on them, or 35.9 s and a pause on all 8."""
    instance = stream((0.0, 2.0, RESNET, {"restart_s": restart_s}), (0.0, 1.0, {4: 37.25}), units=8)
    assert [period.units for period in priced(instance).periods["j0"]] == held


@BOTH
def test_a_step_that_does_not_fit_is_cut_short(policy):
    """j1 is best on 5 units, by far, and 2 are left: it takes the 1 that it may hold, though no corner of its hull."""
    instance = stream((0.0, 1.0, {3: 1.0}), (0.0, 1.0, {1: 100.0, 5: 10.0}), units=5)
    assert policy(instance).periods["j1"][0] == (0.0, 1.0, 1)


@BOTH
def test_counts_that_are_slower_than_smaller_ones_are_not_taken(policy):
    """9 is slower than 8; alone on 9 units the job takes 8, on 16 all."""
    times = {8: 10.0, 9: 11.0, 16: 6.0}
    assert [policy(stream((0.0, 1.0, times), units=c)).periods["j0"][0].units for c in (9, 16)] == [8, 16]


def test_the_price_is_learnt_where_units_were_refused():
    """With units for all no step is refused, and the price changes nothing; under load it does."""
    ample, short = (
        generate(preset="resnet110", jobs=60, gpus=gpus, load=load, seed=3) for gpus, load in ((999, 0.1), (16, 1.1))
    )
    alike = [simulate(ample, Priced(worth=worth)).periods for worth in (0.0, 0.5)]
    assert alike[0] == alike[1]
    assert simulate(short, Priced(worth=0.0)).periods != simulate(short, Priced(worth=0.5)).periods


@BOTH
def test_laws_that_policies_weigh_are_quick(policy):
    """Few counts of a law are looked at, its fastest among them: 10,000 units, and 2**53."""
    for units in (10_000, 2**53):
        instance = stream(*[(9.0 * n, 10.0, VAST) for n in range(6)], units=units)
        made = policy(instance)
        assert made.periods["j0"][0].units == units and check(instance, made) == []


def test_the_counts_that_are_looked_at():
    """All of a short table; of 1,000 counts 1, 2, 3, the fastest, and at most 34."""
    seen = {}

    class Looks(Weighted):
        def decide(self, view):
            seen.update({job: [count for count, _ in useful_points(view, job)] for job in view.arrived})
            return super().decide(view)

    short = {count: 100.0 / count for count in range(1, 33)}
    many = {n: 2000.0 - n if n < 990 else 5000.0 for n in range(1, 1001)}
    simulate(stream((0.0, 1.0, short), (0.0, 1.0, many), units=1000), Looks())
    assert seen[0] == list(short)
    assert seen[1][:3] == [1, 2, 3] and seen[1][-1] == 989 and len(seen[1]) <= MOST_COUNTS + 2


@BOTH
def test_the_date_does_not_matter(policy):
    """Arrivals at Unix times: the same flow times but for the clock's rounding."""
    instance = generate(jobs=40, gpus=16, load=1.1, seed=6)
    later = [job.model_copy(update={"arrival_s": job.arrival_s + 1.7e9}) for job in instance.jobs]
    moved = instance.model_copy(update={"jobs": tuple(later)})
    assert flow_times(moved, policy(moved)) == pytest.approx(flow_times(instance, policy(instance)), rel=1e-4)


@BOTH
@pytest.mark.parametrize("tick_s", [None, 7.0])
def test_long_restarts_never_go_on_for_ever(policy, tick_s):
    """Pauses far longer than the jobs and the ticks: all jobs end, and none restarts more often than jobs come and go."""
    jobs = [(3.0 * n, 1.0 + n % 5, {1: 20.0, 2: 11.0, 4: 7.0}, {"restart_s": 1e5}) for n in range(25)]
    instance = stream(*jobs, units=6, tick_s=tick_s)
    made = policy(instance)
    assert check(instance, made) == []
    assert figures(instance, made)["restarts"] <= 2 * 25


@BOTH
def test_crowds_and_heavy_tails_pass_the_checker(policy):
    """Drawn streams of each kind of arrivals, one with ticks longer than most jobs."""
    for arrivals in ("poisson", "bursts-13", "daynight"):
        instance = pattern(mix="short-long-sub-linear", arrivals=arrivals, units=16, load=1.2, seed=4, jobs=60)
        for case in (instance, instance.model_copy(update={"tick_s": 300.0})):
            assert check(case, policy(case)) == []


def test_it_is_better_than_the_orders_where_speeds_fall_off():
    """Square-root speeds, where efficiency and shortest first are at odds: ten streams, each against each sizing of srpt."""
    sizings = ("fixed", "fastest", "knee", "equal", "marginal")
    for seed in range(10):
        instance = pattern(mix="sub-linear", arrivals="poisson", units=16, load=0.9, seed=100 + seed, jobs=60)
        mine = sum(flow_times(instance, priced(instance)))
        assert mine < min(sum(flow_times(instance, ordered(instance, "srpt", sizing))) for sizing in sizings)


@pytest.mark.parametrize("values", [(0.0, 0.5), (1.5, 0.5), (0.5, -1.0), (float("nan"), 0.5), (0.5, float("inf"))])
def test_shares_and_worths_out_of_range_are_refused(values):
    """A share outside (0, 1], a worth that is negative or not finite."""
    with pytest.raises(UsageError, match=r"(share|worth): found .*, allowed: a number"):
        Priced(*values)


@pytest.mark.parametrize("units", [4, 6, 12, 32])
@pytest.mark.parametrize("policy", [weighted, priced])
def test_equal_jobs_of_linear_speed_go_one_after_another(policy, units):
    """By hand: alike jobs end at 1, 2 and 3 times what one takes alone; rounding of C / m makes no steps of its own."""
    job = {"arrival_s": 0.0, "epochs": 8.0, "epoch_time_s": {m: units / m for m in range(1, units + 1)}}
    instance = Instance(name="alike", units=units, jobs=[job | {"id": name} for name in "abc"])
    assert sorted(flow_times(instance, policy(instance))) == pytest.approx([8, 16, 24])

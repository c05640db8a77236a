"""The simulator by hand, against the checker, against a slow greedy pass, and scaled in time."""

import gc
import itertools
import math
import tracemalloc
from fractions import Fraction

import pytest
from conftest import drawn, on_each, profile
from hypothesis import given

from dlsched.core.errors import InstanceError, PolicyError, UsageError
from dlsched.elastic_stream import Period, Stream, check, figures, flow_times, generate, objective, run, simulate
from dlsched.elastic_stream.policies import ORDERS, Doubling, EqualShare, Fixed, Queue
from dlsched.testing import elastic_stream_instances

from .streams import POLICIES, SIZES, stream


class Plan:
    """Replays units by time of decision; asks for its next time, unless it waits to be asked."""

    clairvoyant = False

    def __init__(self, answers, wakes=True):
        self.answers, self.wakes = answers, wakes

    def decide(self, view):
        later = [time for time in self.answers if time > view.now_s]
        if later and self.wakes:
            view.wake_at(min(later))
        return {job: units for job, units in self.answers.get(view.now_s, {}).items() if job in set(view)}


def test_a_stop_and_a_resize_by_hand():
    """100 s on 1 unit, 40 s on 4, restart 5 s: 30 s on 1, nothing for 10 s, then 4 from 40 s: ends at 40 + 5 + 70 x .4 = 73."""
    instance = stream((0.0, 1.0, {1: 100.0, 4: 40.0}, {"restart_s": 5.0}))
    made = simulate(instance, Plan({0.0: {0: 1}, 30.0: {0: 0}, 40.0: {0: 4}}))
    assert made.periods["j0"] == (Period(0.0, 30.0, 1), Period(40.0, 73.0, 4))
    assert flow_times(instance, made) == [73.0] and not check(instance, made)
    assert figures(instance, made)["restarts"] == 1


def test_a_change_during_a_pause_starts_it_anew():
    """1 unit to 10 s (10 %), 2 units at 10 s, 4 units at 13 s: the pause ends at 18 s, and 90 % take 36 s more."""
    instance = stream((0.0, 1.0, {1: 100.0, 2: 60.0, 4: 40.0}, {"restart_s": 5.0}))
    made = simulate(instance, Plan({0.0: {0: 1}, 10.0: {0: 2}, 13.0: {0: 4}}))
    assert made.periods["j0"] == (Period(0.0, 10.0, 1), Period(10.0, 13.0, 2), Period(13.0, 54.0, 4))
    assert not check(instance, made)


def test_a_first_period_has_no_pause_however_late():
    """Waiting before the first period costs nothing but time."""
    instance = stream((2.0, 1.0, {1: 10.0}, {"restart_s": 5.0}))
    made = simulate(instance, Plan({3.0: {0: 1}, 2.0: {}}))
    assert made.periods["j0"] == (Period(3.0, 13.0, 1),)


def test_early_ends_are_real_and_unseen():
    """A 10 s job that stops at .4 has flow 4; the policy still sees 10 s left."""

    class Look(Plan):
        def decide(self, view):
            if view.arrived:
                assert view.time_left_s(0, 1) == 10.0
            return super().decide(view)

    instance = stream((0.0, 1.0, {1: 10.0}, {"stops_at": 0.4}))
    made = simulate(instance, Look({0.0: {0: 1}}))
    assert flow_times(instance, made) == [4.0]


def test_jobs_without_work_end_when_they_arrive():
    """No policy sees them; they have no periods and flow 0."""
    instance = stream((3.0, 0.0, {9: 10.0}), (4.0, 1.0, {1: 10.0}))
    made = simulate(instance, Queue("fifo", Fixed()))
    assert list(made.periods) == ["j1"] and flow_times(instance, made) == [0.0, 10.0]


def test_ticks_hold_units_to_the_end_of_the_slot():
    """Ticks of 10 s, one unit: a 4 s job from 0 s on; the next job, there since 3 s, starts at 10 s."""
    instance = stream((0.0, 1.0, {1: 4.0}), (3.0, 1.0, {1: 10.0}), units=1, tick_s=10.0)
    made = simulate(instance, Queue("fifo", Fixed()))
    assert made.periods == {"j0": (Period(0.0, 4.0, 1),), "j1": (Period(10.0, 20.0, 1),)}
    early = Stream({"j0": [(0.0, 4.0, 1)], "j1": [(4.0, 14.0, 1)]})
    assert {violation.rule for violation in check(instance, early)} == {"tick", "capacity"}


def test_a_policy_is_asked_at_events_ticks_and_when_it_wants():
    """Arrivals at 0 and 3 s, an end at 10 s, and every 4 s in between."""
    instance = stream((0.0, 1.0, {1: 10.0}), (3.0, 1.0, {1: 20.0}), units=1)

    class Asked(Queue):
        def __init__(self):
            super().__init__("fifo", Fixed())
            self.asked = []

        def decide(self, view):
            self.asked.append(view.now_s)
            return super().decide(view)

    policy = Asked()
    simulate(instance, policy, every_s=4.0)
    assert policy.asked == [0.0, 3.0, 4.0, 8.0, 10.0, 12.0, 16.0, 20.0, 24.0, 28.0, 30.0]
    plain = Asked()
    simulate(instance, plain)
    assert plain.asked == [0.0, 3.0, 10.0, 30.0]


class Says:
    """Returns the same answer always."""

    clairvoyant = False

    def __init__(self, answer):
        self.answer = answer

    def decide(self, view):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({0: 3}, r"policy Says at 5.0 s, job 'j0': found 3 units, allowed: 0, 1, 2$"),
        ({0: -1}, r"job 'j0': found -1 units, allowed: 0, 1, 2"),
        ({0: 1.0}, r"job 'j0': found 1.0 units, allowed: an integer"),
        ({0: True}, r"job 'j0': found True units, allowed: an integer"),
        ({0: "2"}, r"job 'j0': found '2' units, allowed: an integer"),
        ({1: 1}, r"at 5.0 s, job 'j1': found 1 units, allowed: jobs that are present"),
        ({7: 1}, r"at 5.0 s: found the key 7, allowed: positions of jobs, as `for job in view` gives"),
        ({"j0": 1}, r'found the key "j0", allowed: positions of jobs, as `for job in view` gives'),
        ([1], r"at 5.0 s: found a list from decide, allowed: units by job, such as \{job: 1\}, or \{\}"),
        ({}, r"policy Says at 5.0 s: found 1 jobs that wait for ever, 'j0' first"),
    ],
)
def test_nonsense_is_named_with_time_and_job(answer, sentence):
    """Whatever a policy returns, the message says when, for which job, what was found and what is allowed."""
    instance = stream((5.0, 1.0, {1: 10.0, 2: 6.0}), (9.0, 1.0, {1: 1.0}), units=2)
    if answer == {}:
        instance = stream((5.0, 1.0, {1: 10.0, 2: 6.0}), units=2)
    with pytest.raises(PolicyError, match=sentence):
        simulate(instance, Says(answer))


def test_too_many_units_are_named():
    """Two jobs at 2 units each on 3."""
    instance = stream((5.0, 1.0, {2: 6.0}), (5.0, 1.0, {2: 1.0}), units=3)
    with pytest.raises(PolicyError, match=r"at 5.0 s: found 4 units in all, 2 of them for job 'j0', allowed: 3"):
        simulate(instance, Says({0: 2, 1: 2}))


@pytest.mark.parametrize("clock", ["tick_s", "every_s"])
def test_a_policy_that_is_asked_again_may_idle(clock):
    """Nothing from 0 s to 10 s, though nobody else comes: the job runs from 10 s on."""
    ticks, every = ({"tick_s": 10.0}, {}) if clock == "tick_s" else ({}, {"every_s": 10.0})
    made = simulate(stream((0.0, 1.0, {1: 10.0}), **ticks), Plan({0.0: {}, 10.0: {0: 1}}, wakes=False), **every)
    assert made.periods["j0"] == ((10.0, 20.0, 1),)


class Wakes(Says):
    """Wants to be asked again a second later, always."""

    def decide(self, view):
        view.wake_at(view.now_s + 1.0)
        return self.answer


@pytest.mark.parametrize(
    ("policy", "ticks", "every"),
    [(Says, {"tick_s": 10.0}, {}), (Says, {}, {"every_s": 10.0}), (Wakes, {}, {}), (Wakes, {"tick_s": 10.0}, {})],
)
def test_waiting_for_ever_is_named_however_often_it_is_asked(policy, ticks, every):
    """At ticks, every so often, or when it wants: a policy that never gives anything ends in a sentence."""
    instance = stream((5.0, 1.0, {1: 10.0}), (70.0, 1.0, {1: 10.0}), **ticks)
    with pytest.raises(PolicyError, match="found 2 jobs that wait for ever, 'j0' first, allowed: an end for every job"):
        simulate(instance, policy({}), **every)


def test_restarting_for_ever_is_named():
    """Least attained service with restarts as long as a tick: nobody ever comes on."""
    jobs = [(0.0, 1.0, {1: 30.0}, {"restart_s": 10.0})] * 2
    with pytest.raises(
        PolicyError, match=r"policy Queue at \d+.0 s: found 10001 periods in a row that ended in their pause"
    ):
        simulate(stream(*jobs, units=1, tick_s=10.0), Queue("las", Fixed()))


def test_progress_of_one_job_excuses_the_restarts_of_another():
    """One job runs for 20,000 s, while another is restarted every second: it is no livelock, and ends after it."""

    class Alternates:
        clairvoyant, turn = False, 0

        def decide(self, view):
            self.turn += 1
            present = set(view)
            if 0 not in present:
                return {1: 1} if present else {}
            return {0: 1, 1: 1 + self.turn % 2}

    instance = stream((0.0, 1.0, {1: 12_000.0}), (0.0, 1.0, {1: 10.0, 2: 5.0}, {"restart_s": 5.0}), units=3)
    made = simulate(instance, Alternates(), every_s=1.0)
    assert made.periods["j0"] == ((0.0, 12_000.0, 1),) and made.periods["j1"][-1].end_s == pytest.approx(
        12_014.0, abs=5.0
    )


@pytest.mark.parametrize("scale", [1.0, 10.0, 2.0**30])
def test_an_end_at_an_arrival_is_an_end(scale):
    """3 x .1 s is a hair more than .3 s: the job has ended when the other arrives, and is not resized and paused."""
    first = (0.0, 3.0, {1: 0.2 * scale, 2: 0.1 * scale}, {"restart_s": 600.0 * scale})
    second = (0.3 * scale, 100.0, {1: 1000.0 * scale, 2: 100.0 * scale}, {"restart_s": 600.0 * scale})
    instance = stream(first, second, units=2)
    for name, policy in POLICIES.items():
        if not name.startswith(("exploratory", "fifo-fixed")):
            made = simulate(instance, policy())
            assert len(made.periods["j0"]) == 1 and not check(instance, made), name


def test_a_clock_that_rounding_stops_is_refused():
    """A tick, or a period of asking, that vanishes beside the last arrival."""
    with pytest.raises(UsageError, match="every_s: found 1e-09, allowed: at least 1e-9 of the last arrival"):
        simulate(stream((1e9, 1.0, {1: 20.0})), Doubling(), every_s=1e-9)
    with pytest.raises(InstanceError, match="tick_s: found 1e-300, allowed: at least 1e-9 of the last arrival"):
        stream((1e9, 1.0, {1: 20.0}), tick_s=1e-300)


def test_work_that_the_clock_cannot_resolve_takes_one_step_of_it():
    """1e-9 s of work each at 1.7e9 s, one unit: the second begins a step of 2.4e-7 s later; flow times keep their digits."""
    instance = stream(*[(1.7e9, 1.0, {1: 1e-9})] * 2, units=1)
    made, step_s = simulate(instance, Queue("fifo", Fixed())), math.nextafter(1.7e9, math.inf) - 1.7e9
    assert made.periods["j0"] == ((1.7e9, 1.7e9 + step_s, 1),) and made.periods["j1"][0].start_s == 1.7e9 + step_s
    assert check(instance, made) == [] and flow_times(instance, made) == [1e-9, step_s + 1e-9]


def test_ends_are_never_early():
    """Jobs one after another from 1.7e9 s on: each period holds its work on the clock's own floats, so no flow is short."""
    times = [0.1, 0.2, 0.3, 0.7, 1.1, 1e-3]
    instance = stream(*[(1.7e9 + 0.3, 1.0, {1: time}) for time in times], units=1)
    made = simulate(instance, Queue("fifo", Fixed()))
    flows = flow_times(instance, made)
    for index, time in enumerate(times):
        start_s, end_s, _ = made.periods[f"j{index}"][0]
        assert Fraction(end_s) - Fraction(start_s) >= Fraction(time)
        assert Fraction(flows[index]) * (1 + Fraction(1, 2**50)) >= sum(map(Fraction, times[: index + 1]))


def test_late_ticks_are_counted():
    """Three ticks of .1 s from 1.7e7 s on are .3 s, though the floats of their times differ by less."""
    begin = 17_000_000
    instance = stream((begin, 3.0, {1: 0.1}), (begin + 0.25, 1.0, {1: 0.1}), units=1, tick_s=0.1)
    made = simulate(instance, Queue("fifo", Fixed()))
    assert flow_times(instance, made) == pytest.approx([0.3, 0.15], rel=1e-8)
    assert made.periods["j0"][0].end_s == made.periods["j1"][0].start_s and check(instance, made) == []


def test_a_timeless_policy_is_not_asked_at_every_tick():
    """A job of 9e8 ticks: asked when it comes and when it has gone, not in between."""
    asked = []

    class Asked(Queue):
        def decide(self, view):
            asked.append(view.now_s)
            return super().decide(view)

    made = simulate(stream((0.0, 1.0, {1: 9e8}), tick_s=1.0), Asked("fifo", Fixed()))
    assert asked == [0.0, 9e8] and made.periods["j0"] == ((0.0, 9e8, 1),)
    assert not Queue("las", Fixed()).timeless


def test_a_policy_may_be_stopped_at_any_event():
    """What ``tick`` raises ends the simulation; policies that take long call it too."""

    class EnoughError(Exception):
        pass

    def stop():
        raise EnoughError

    instance = stream((0.0, 1.0, {1: 10.0}))
    with pytest.raises(EnoughError):
        simulate(instance, Queue("fifo", Fixed()), tick=stop)
    seen = []

    class Looks(Says):
        def decide(self, view):
            seen.append(view.passed_s)
            view.tick()
            return dict.fromkeys(view, 1)

    simulate(stream((1.7e9, 1.0, {1: 1e-3})), Looks(None), tick=lambda: None)
    assert seen[0] == 0.0 and seen[1] == pytest.approx(1e-3, rel=1e-3)


def test_pauses_but_for_a_millionth_are_restarts_for_ever():
    """Least attained service with restarts a hair shorter than a tick would take 1e12 of them."""
    jobs = [(0.0, 1.0, {1: 30.0}, {"restart_s": 10.0 * (1 - 2.0**-40)})] * 2
    with pytest.raises(PolicyError, match="periods in a row that ended in their pause"):
        simulate(stream(*jobs, units=1, tick_s=10.0), Queue("las", Fixed()))


def test_the_future_is_for_the_clairvoyant():
    """``true_left`` and ``to_come`` are refused unless the policy says that it uses them."""
    instance = stream((0.0, 1.0, {1: 10.0}, {"stops_at": 0.4}), (3.0, 1.0, {1: 1.0}))

    class Seer:
        def __init__(self, clairvoyant):
            self.clairvoyant, self.seen = clairvoyant, []

        def decide(self, view):
            self.seen.append((view.true_left(next(iter(view))), view.to_come()) if len(view) else None)
            return {job: 1 for job in view}

    seer = Seer(True)
    simulate(instance, seer)
    assert seer.seen[0] == (0.4, [1])
    with pytest.raises(UsageError, match="true_left: found a policy that is not clairvoyant"):
        simulate(instance, Seer(False))


def test_misuse_is_refused():
    """An infeasible stream, and a period of asking that is no time."""
    with pytest.raises(UsageError, match="no stream: job 'j0' needs at least 5 units, the cluster has 4"):
        simulate(stream((0.0, 1.0, {5: 1.0})), Doubling())
    with pytest.raises(UsageError, match=r"every_s: found 0\.0, allowed: a number > 0"):
        simulate(stream((0.0, 1.0, {1: 1.0})), Doubling(), every_s=0.0)


def test_an_interrupt_says_how_far_it_came():
    """Ctrl-C in the middle: KeyboardInterrupt with days, jobs ended and present."""
    instance = generate(preset="poisson", jobs=2000, gpus=16, seed=1)

    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(
        KeyboardInterrupt, match=r"interrupted: [\d.,]+ days simulated, [\d,]+ of 2,000 jobs ended, \d+ present"
    ):
        simulate(instance, Queue("fifo", Fixed()), step=stop)


def test_memory_is_linear_in_the_jobs_present():
    """Two jobs present at most, one without end that changes at every event: fifteen times as many arrivals, no more memory."""

    def peak(arrivals):
        jobs = [(10.0 * index, 1.0, {1: 4.0}) for index in range(arrivals)]
        instance = stream((0.0, 1.0, {1: 1e9, 2: 6e8}), *jobs, units=2)
        gc.collect()
        tracemalloc.start()
        run(instance, EqualShare(), lambda *period: None)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most - 100 * arrivals  # the order of arrivals: positions and times

    assert peak(3000) < peak(200) + 50_000


def holds_to_the_rules(instance, name):
    """The checker passes the stream, and its work, ends and capacity are those of the simulation."""
    kept = []
    events = run(instance, POLICIES[name](), lambda *period: kept.append(period))
    assert events == 2 * len(instance.jobs)
    made = simulate(instance, POLICIES[name]())
    assert not check(instance, made), f"{name}: {check(instance, made)[0]}"
    assert sorted(kept) == sorted(
        (instance.index[job], *period) for job, periods in made.periods.items() for period in periods
    )
    for job in instance.jobs:
        periods = made.periods.get(job.id, ())
        assert all(period.start_s >= job.arrival_s for period in periods)
        done = 0.0
        for index, period in enumerate(periods):
            pause_s = job.restart_s if index else 0.0
            done += max(0.0, period.end_s - period.start_s - pause_s) / job.speed.epoch_time_s(period.units)
        assert done == pytest.approx(job.stops_at * job.epochs, rel=1e-9, abs=1e-9)
        last = periods[-1].end_s if periods else job.arrival_s
        assert flow_times(instance, made)[instance.index[job.id]] == pytest.approx(last - job.arrival_s, abs=1e-9)
    moments = sorted({period.start_s for periods in made.periods.values() for period in periods})
    for moment in moments:
        held = sum(
            p.units for periods in made.periods.values() for p in periods if p.start_s <= moment < p.end_s - 1e-9
        )
        assert held <= instance.units


@pytest.mark.parametrize("name", POLICIES)
def test_checker_and_simulator_agree(name):
    """Sample of the campaign: at any time and at ticks; no job early, work conserved, capacity never exceeded."""
    ticked = drawn(elastic_stream_instances, 12, feasible=True, max_jobs=6, max_units=6)
    free = drawn(elastic_stream_instances, 15, feasible=True, max_jobs=8, max_units=6, ticked=False)
    on_each((*ticked, *free), lambda instance: holds_to_the_rules(instance, name))


@pytest.mark.long
def test_checker_and_simulator_agree_on_500_streams_under_every_policy():
    """The campaign of ``make verify``."""
    tried = 0

    @profile(500)
    @given(elastic_stream_instances(feasible=True, max_jobs=8, max_units=6, ticked=False))
    def agrees(instance):
        nonlocal tried
        tried += 1
        for name in POLICIES:
            holds_to_the_rules(instance, name)

    agrees()
    print(f"\n{tried} streams x {len(POLICIES)} policies: checker and simulator agree")


class GreedyPass:
    """What ``Queue`` does, the slow way: at every event one pass over all jobs present, in order."""

    clairvoyant = False

    def __init__(self, order, size):
        self.order, self.size = ORDERS[order], size

    def decide(self, view):
        sizes = {job: self.size(view, job) for job in view}
        left, answer = view.units, {}
        for job in sorted(sizes, key=lambda job: (self.order(view, job, sizes[job]), job)):
            answer[job] = sizes[job] if sizes[job] <= left else 0
            left -= answer[job]
        return answer


def crowded(instance):
    """The same jobs, of which three at a time arrive every second."""
    jobs = [job.model_copy(update={"arrival_s": float(index // 3)}) for index, job in enumerate(instance.jobs)]
    return instance.model_copy(update={"jobs": jobs})


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("order", "size"), list(itertools.product(ORDERS, SIZES)))
def test_the_queue_is_the_greedy_pass(order, size, weighted):
    """The same streams, period by period, though the queue looks at few jobs; many jobs of many sizes, ties exact."""

    def same(instance):
        fast, slow = simulate(instance, Queue(order, SIZES[size])), simulate(instance, GreedyPass(order, SIZES[size]))
        assert objective(instance, fast) == pytest.approx(objective(instance, slow), rel=1e-9)

    streams = drawn(
        elastic_stream_instances, 40, feasible=True, max_jobs=12, max_units=6, ticked=False, weighted=weighted
    )
    on_each((crowded(instance) if index % 2 else instance for index, instance in enumerate(streams)), same)


@pytest.mark.parametrize("name", POLICIES)
def test_scaling_time_scales_flow(name):
    """All times doubled (exact in floats): every flow time doubles."""
    if name == "exploratory":
        pytest.skip("its steps are seconds of its own")

    def scales(instance):
        data = instance.as_data()
        jobs = []
        for job in data["jobs"]:
            slower = job | {"arrival_s": 2 * job["arrival_s"], "restart_s": 2 * job.get("restart_s", 0.0)}
            if "speed_law" in job:
                law = job["speed_law"]
                slower["speed_law"] = law | {"theta": [2 * value for value in law["theta"]]}
            else:
                slower["epoch_time_s"] = {count: 2 * time for count, time in job["epoch_time_s"].items()}
            jobs.append(slower)
        twice = type(instance)(**{key: value for key, value in (data | {"jobs": jobs}).items() if key != "format"})
        once = flow_times(instance, simulate(instance, POLICIES[name]()))
        assert flow_times(twice, simulate(twice, POLICIES[name]())) == [2 * flow for flow in once]

    on_each(drawn(elastic_stream_instances, 15, feasible=True, max_jobs=8, max_units=6, ticked=False), scales)


@pytest.mark.parametrize("name", POLICIES)
def test_one_job_alone_takes_its_static_time(name):
    """A stream of one job: its work at the count that the policy settles on, none slower than its smallest count."""
    instance = stream((3.0, 2.0, {1: 10.0, 2: 6.0, 4: 4.0}), units=4)
    time_s = {"fixed": 6.0, "fastest": 4.0, "knee": 4.0}.get(name.split("-")[-1], 4.0)
    (flow,) = flow_times(instance, simulate(instance, POLICIES[name]()))
    if name == "exploratory":  # .7 epochs on 1, 1.17 on 2, the rest on 4
        assert flow == pytest.approx(7 + 7 + (2 - 0.7 - 7 / 6) * 4)
    else:
        assert flow == 2 * time_s

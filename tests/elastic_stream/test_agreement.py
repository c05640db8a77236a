"""Simulator and policies on drawn streams: against the checker, against a slow greedy pass, and scaled in time."""

import itertools

import pytest
from conftest import drawn, on_each
from hypothesis import given, settings

from dlsched.elastic_stream import check, flow_times, objective, run, simulate
from dlsched.elastic_stream.policies import ORDERS, Queue
from dlsched.testing import elastic_stream_instances

from .streams import POLICIES, SIZES, stream


def profile(examples):
    """Deterministic, without a clock."""
    return settings(max_examples=examples, derandomize=True, deadline=None, database=None)


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

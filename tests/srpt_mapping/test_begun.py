"""Jobs that run when the clock starts: what is refused, and that every method and policy leaves them where they are."""

import math
from itertools import pairwise

import numpy as np
import pytest
from conftest import profile
from hypothesis import given, settings
from hypothesis import strategies as st
from shipped import ROOT

import dlsched
from dlsched.catalogue.solvers import able
from dlsched.core.errors import InstanceError, UsageError
from dlsched.srpt_mapping import FAMILY, Waiting, anneal, length, machine, with_error
from dlsched.srpt_mapping.certificate import exact_iteration_s, verify
from dlsched.srpt_mapping.checker import check, completion_times, objective
from dlsched.srpt_mapping.dispatching import Begun, dispatch
from dlsched.srpt_mapping.heuristics import POLICIES, fifo, one_by_one
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.layouts import layouts
from dlsched.srpt_mapping.methods import METHODS
from dlsched.srpt_mapping.placing import compact
from dlsched.srpt_mapping.solution import Schedule, Share, Start
from dlsched.testing.contract import check_method
from dlsched.testing.srpt_mapping import brute_force_srpt, srpt_mapping_instances

from . import builders
from .builders import gang

THERE = [{"stage": 0, "server": "s0", "replicas": 1}, {"stage": 0, "server": "s1", "replicas": 1}]


def held(stage=0, server="s0", replicas=1):
    return {"stage": stage, "server": server, "replicas": replicas}


def job(name, *, release_s=0.0, iterations=4.0, gpus=2, ring=2.0, begun=None):
    return {"id": name} | gang(release_s, iterations, gpus, ring, begun=begun)


def made(*jobs, sizes=(2, 2)):
    """A GPU has 1 B/s of the card, and 8 B/s inside: two replicas take 1.25 s an iteration on one server, 3 s on two."""
    return builders.made(sizes, *jobs)


def shipped():
    return dlsched.read(ROOT / "srpt_mapping" / "already-running.json")


WRONG = [
    ("no stage", [job("a", begun=[held(stage=1)])], r"jobs\[0\].begun\[0\].stage: found 1, allowed: stages 0 to 0"),
    ("below", [job("a", begun=[held(stage=-1)])], r"jobs\[0\].begun\[0\].stage: found -1, allowed: a number >= 0"),
    ("no server", [job("a", begun=[held(), held(server="x")])], r"begun\[1\].server: found 'x', allowed: the id of a"),
    ("none", [job("a", begun=[held(replicas=0)])], r"begun\[0\].replicas: found 0, allowed: a number >= 1"),
    ("twice", [job("a", begun=[held(), held()])], r"begun\[1\]: found stage 0 on 's0' again, allowed: each once"),
    ("few", [job("a", begun=[held()])], r"jobs\[0\].begun: found 1 replicas of stage 0, allowed: 2, as it has"),
    ("empty", [job("a", begun=[])], r"jobs\[0\].begun: found an empty list, allowed: a list with at least 1 entries"),
    ("word", [job("a", begun=[held() | {"at": 1}])], r"begun\[0\].at: found an unknown field"),
    (
        "late",
        [job("a"), job("b", release_s=2.0, begun=[held(replicas=2)])],
        r"jobs\[1\].release_s: found 2.0, allowed: 0.0, the earliest release, of a job that has begun",
    ),
    (
        "full",
        [job("a", begun=[held(replicas=2)]), job("b", gpus=1, begun=[held()])],
        r"jobs\[1\].begun\[0\].replicas: found 3 GPUs of 's0' held by jobs that have begun, allowed: the 2 that it has",
    ),
]


@pytest.mark.parametrize(("jobs", "message"), [each[1:] for each in WRONG], ids=[each[0] for each in WRONG])
def test_what_cannot_run_is_refused(jobs, message):
    """Each message names the field, what was found and what is allowed."""
    with pytest.raises(InstanceError, match=message):
        made(*jobs)


def test_files_hold_it_only_where_it_is():
    """A job that has not begun is written without the field; what is written reads as the same instance."""
    instance = made(job("a", begun=THERE), job("b"))
    data = instance.as_data()
    assert data["jobs"][0]["begun"] == THERE and "begun" not in data["jobs"][1]
    again = Instance(**builders.fields_of(instance))
    assert again == instance and again.sha256 == instance.sha256
    assert instance.sha256 != made(job("a"), job("b")).sha256
    assert with_error(instance, sigma=1.0, seed=0).jobs[0].begun == instance.jobs[0].begun


RIGHT = {
    "a": (0.0, [Share(0, "s0", 1), Share(0, "s1", 1)]),
    "b": (12.0, [Share(0, "s0", 2)]),
}
FORGED = {
    "late": (1.0, RIGHT["a"][1]),
    "early": (-1.0, RIGHT["a"][1]),
    "moved": (0.0, [Share(0, "s0", 2)]),
    "more": (0.0, [Share(0, "s0", 1), Share(0, "s2", 1)]),
}


@pytest.mark.parametrize("forged", FORGED)
def test_forged_schedules_are_refused(forged):
    """One that starts a running job at another time or in another place breaks ``begun``; the order of shares is free."""
    instance = made(job("a", begun=THERE), job("b"), sizes=(2, 2, 2))
    assert check(instance, Schedule(RIGHT)) == []
    assert check(instance, Schedule(RIGHT | {"a": (0.0, RIGHT["a"][1][::-1])})) == []
    broken = check(instance, Schedule(RIGHT | {"a": FORGED[forged], "b": (40.0, RIGHT["b"][1])}))
    assert "begun" in {violation.rule for violation in broken}
    assert {violation.where for violation in broken} == {"a"}
    free = made(job("a"), job("b"), sizes=(2, 2, 2))
    assert "begun" not in {violation.rule for violation in check(free, Schedule(RIGHT | {"a": FORGED[forged]}))}


def test_rounding_of_a_late_clock_is_no_violation():
    """At Unix times a start is off by what the clock holds, not by more."""
    now_s = 1.7e9 + 0.3
    instance = made(job("a", release_s=now_s, begun=THERE))
    assert check(instance, Schedule({"a": (math.nextafter(now_s, math.inf), RIGHT["a"][1])})) == []
    assert [each.rule for each in check(instance, Schedule({"a": (now_s + 1e-4, RIGHT["a"][1])}))] == ["begun"]
    for method in ("exact", "fifo", "plan", "milp", "intervals"):
        result = dlsched.solve(instance, method=method)
        assert result.solution.jobs["a"].start_s == now_s
        assert result.objective == pytest.approx(now_s + 12.0, abs=1e-6)


def test_the_shipped_one_by_hand():
    """Spread runs for 12 s on both servers; small goes first on what is left, then whole, spread too: 12 + 4 + 16."""
    instance = shipped()
    result = dlsched.solve(instance)
    assert result.status == "optimal" and result.objective == 32.0
    assert completion_times(instance, result.solution) == {"spread": 12.0, "small": 4.0, "whole": 16.0}
    value, schedule = brute_force_srpt(instance)
    assert value == 32.0 and check(instance, schedule) == []
    free = instance.model_copy(update={"jobs": [each.model_copy(update={"begun": None}) for each in instance.jobs]})
    assert brute_force_srpt(free)[0] == 18.0
    # fifo: whole at once, spread for 12 s; small finds a GPU at 12 s
    assert objective(instance, fifo(instance)) == 12 + 12 + 15
    # one by one: whole 5 s, small 3 s, in order of length, after spread
    assert completion_times(instance, one_by_one(instance)) == {"spread": 12.0, "small": 15.0, "whole": 20.0}


def test_bounds_know_where_it_runs():
    """Its least length is that of its place, 12 s, not the 5 s of one server; whole and small add 5 and 1 + 3."""
    instance = shipped()
    assert exact_iteration_s(instance, 0) == 3
    assert length(instance).value == 12.0 + 5.0 + 4.0
    assert machine(instance).sizes["spread"] == 12.0 * 2 / 4
    assert verify(instance, length(instance)) == 21


def test_it_has_one_layout():
    """With its own rows, even where others with as many GPUs by server are faster."""
    stages = [builders.stage(2, 1.0, 8.0, 8.0), builders.stage(2, 1.0, 0.0, 8.0)]
    across = [held(stage, server) for stage in (0, 1) for server in ("s0", "s1")]
    instance = made(job("a") | {"stages": stages, "begun": across})
    ((layout,),) = layouts(instance)
    # 1 + 2 (2 / 2) 8 / 2 (1 / 2 / 8 + 1 / 2 / 1) + 2 (1 / 2) 8 / 1
    assert layout.usage == (2, 2) and layout.rows == ((1, 1), (1, 1))
    assert layout.iteration_s == 1 + 8 * (1 / 16 + 1 / 2) + 8
    free = made(job("a") | {"stages": stages})
    assert min(each.iteration_s for each in layouts(free)[0]) < layout.iteration_s
    assert float(exact_iteration_s(instance, 0)) == layout.iteration_s


def test_one_job_that_runs_needs_no_search():
    """On more servers than there may be layouts of, its only schedule is proven by the certificate."""
    instance = made(job("a", begun=THERE), sizes=(2,) * 400)
    result = dlsched.solve(instance)
    assert result.status == "optimal" and result.objective == 12.0


def test_nothing_is_promised_where_jobs_have_begun():
    """The theorem starts with empty servers."""
    promise = METHODS["a-srpt-strict"].guarantee
    assert not promise.holds_for(shipped())
    assert promise.holds_for(made(job("a")))


def test_queues_of_ones_own_know_it():
    """``dispatch`` takes the instance's own; what the caller names is added to it."""
    instance = made(job("a", begun=[held(replicas=2)]), job("b"), job("c", iterations=1.0))
    ran = dispatch(instance, joins_s=[0.0] * 3, keys=[0.0, 1.0, 2.0], place=compact)
    assert {name: start.start_s for name, start in ran.jobs.items()} == {"a": 0.0, "b": 0.0, "c": 5.0}
    named = Begun(2.0, {"c": Start(1.0, (Share(0, "s1", 2),))})
    later = fifo(instance, begun=named)
    assert {name: start.start_s for name, start in later.jobs.items()} == {"a": 0.0, "c": 1.0, "b": 2.25}
    assert later.jobs["a"].placement == ((0, "s0", 2),)


@profile(25)
@given(srpt_mapping_instances(feasible=True, begun=True))
def test_every_method_keeps_the_contract(instance):
    """Also where jobs have begun, with each solver; the checker says whether they are where they were."""
    for method in (method for method in METHODS.values() if method.runs_unasked(instance)):
        for solver in able("milp") if method.name == "milp" else (None,):
            check_method(FAMILY, method, instance, solver=solver)
    assert check(instance, one_by_one(instance)) == []


def test_annealing_moves_no_job_that_runs():
    """From the answer of a policy on: its queue is patient, so whole waits for spread to end: 12 + 4 + 17."""
    instance = shipped()
    best = anneal(instance, fifo(instance), np.random.default_rng(0))
    assert check(instance, best) == [] and objective(instance, best) == 33.0


AT_ONCE = [name for name in POLICIES if name not in ("a-srpt", "work-patient")]
"""Policies under which no job steps aside, of which a record would not tell since when it has."""


@settings(max_examples=20, derandomize=True, deadline=None, database=None)
@given(srpt_mapping_instances(max_jobs=6, feasible=True), st.sampled_from(AT_ONCE), st.data())
def test_a_policy_goes_on_as_it_would_have(instance: Instance, name: str, data: st.DataObject) -> None:
    """Stopped between two events and asked again, it ends with the same schedule, to the bit."""
    own = instance.on_own_clock()
    whole = POLICIES[name](own)
    assert whole is not None
    ends_s = completion_times(own, whole).values()
    events = sorted(
        {job.release_s for job in own.jobs} | {start.start_s for start in whole.jobs.values()} | set(ends_s)
    )
    at_s = data.draw(st.sampled_from([(a + b) / 2 for a, b in pairwise(events)]))
    starts = {job: start for job, start in whole.jobs.items() if start.start_s < at_s}
    again = POLICIES[name](own, begun=Begun(at_s, starts))
    assert again == whole


def two_servers(ring: float = 0.0) -> Instance:
    """Two servers of two GPUs; a and b from the start, c with a ring that is three times as slow across."""
    return builders.made((2, 2), (100, 30, 1), (100, 14, 1), (103, 10, 2, ring), (104, 1, 2), nic=4.0)


BOTH = {"a": Start(102.0, (Share(0, "s1", 1),)), "b": Start(100.0, (Share(0, "s0", 1),))}


def test_they_go_on_where_they_are() -> None:
    """By hand, from 105 s on: c across at once, d when c ends at 115 s; the answer holds what was given."""
    instance = two_servers()
    schedule = fifo(instance, begun=Begun(105.0, BOTH))
    assert schedule is not None and check(instance, schedule) == []
    assert {job: start.start_s for job, start in schedule.jobs.items()} == {
        "a": 102.0,
        "b": 100.0,
        "c": 105.0,
        "d": 115.0,
    }
    assert (schedule.jobs["a"], schedule.jobs["b"]) == (BOTH["a"], BOTH["b"])


@pytest.mark.parametrize(("patience", "start_s"), [(0.0, 105.0), (1 / 30, 105.0), (0.2, 109.0), (0.5, 114.0)])
def test_who_waits_has_waited_since_it_joined(patience: float, start_s: float) -> None:
    """C came at 103 s and takes 30 s: nothing is left of 1 s of patience, of 6 s it waits to 109 s; b ends at 114 s."""
    instance = two_servers(ring=16.0)
    waiting = Waiting(patience=patience)
    schedule = fifo(instance, waiting=waiting, begun=Begun(105.0, BOTH))
    assert schedule is not None and check(instance, schedule) == []
    assert schedule.jobs["c"].start_s == pytest.approx(start_s)


def test_too_much_on_a_server() -> None:
    """Three jobs on the two GPUs of s0 are one too many; those that have ended are none."""
    here = (Share(0, "s0", 1),)
    starts = {"a": Start(100.0, here), "b": Start(100.0, here), "d": Start(104.0, (Share(0, "s0", 2),))}
    with pytest.raises(UsageError, match="begun: found 2 GPUs too many on server 's0'"):
        fifo(two_servers(), begun=Begun(104.5, starts))
    assert fifo(two_servers(), begun=Begun(105.0, starts)) is not None

"""Jobs on slices of GPUs that run when the clock starts: what is refused, and that all methods leave them where they are."""

import json

import pytest

import dlsched
from dlsched import srpt_mapping
from dlsched.core.errors import InstanceError, UsageError
from dlsched.srpt_mapping.checker import check
from dlsched.srpt_mapping.dispatching import Begun
from dlsched.srpt_mapping.heuristics import POLICIES, fifo
from dlsched.srpt_mapping.slices import SLICE_RULES
from dlsched.srpt_mapping.solution import Schedule, Share, Start

from .test_slices import A100, job, made, starts


def runs(each, *parts):
    """The job with ``begun``: server, GPU or GPUs, and slot or None."""
    begun = []
    for server, gpus, slot in parts:
        named = {"gpu": gpus[0]} if len(gpus) == 1 else {"gpus": gpus} if gpus else {}
        begun.append({"stage": 0, "server": server, "replicas": max(1, len(gpus))} | named)
        begun[-1] |= {} if slot is None else {"slot": slot}
    return each | {"begun": begun}


def instance_of(servers, *jobs):
    """Servers as of ``made``, jobs as data."""
    names = [{"id": f"s{n}", "gpus": gpus, "slicing": slicing} for n, (gpus, slicing) in enumerate(servers)]
    fields = {"intra_bandwidth_bytes_per_s": 8.0, "nic_bandwidth_bytes_per_s": 4.0}
    return srpt_mapping.Instance(name="made", servers=names, jobs=list(jobs), **fields)


def test_a_share_that_has_begun_stays():
    """Halves run on both GPUs to 3 s and 1 s. A pair waits for both ends: 3 + 1 + 5."""
    a, b = (runs(job(name, 0, length, 0.5), ("s0", [gpu], None)) for name, length, gpu in (("a", 3, 0), ("b", 1, 1)))
    instance = instance_of([(2, "shares")], a, b, job("c", 0, 2, 2))
    result = dlsched.solve(instance)
    assert (result.objective, str(result.status)) == (9.0, "optimal")
    moved = dict(result.solution.jobs) | {"b": Start(0.0, (Share(0, "s0", 1).on((0,)),))}
    assert {broken.rule for broken in check(instance, Schedule(moved))} == {"begun"}
    for method in (*POLICIES, *SLICE_RULES, "milp", "intervals", "annealing"):
        answer = dlsched.solve(instance, method=method, seed=1).solution
        assert check(instance, answer) == [] and starts(answer) == [0, 0, 3]


def test_a_profile_that_has_begun_stays_at_its_slot():
    """1g.5gb at slot 0 to 4 s leaves 4g.20gb no start until then; at slot 6 both run at once."""
    for slot, begins in ((0, 4), (6, 0)):
        one = runs(job("a", 0, 4, "1g.5gb"), ("s0", [0], slot))
        result = dlsched.solve(instance_of([(1, A100)], one, job("b", 0, 4, "4g.20gb")))
        assert starts(result.solution) == [0, begins] and str(result.status) == "optimal"
        assert result.solution.jobs["a"].placement[0].slot == slot


def test_whole_gpus_by_number():
    """A job on GPUs 2 and 0 of s0 and one of s1, which has no slices: half a GPU begins on GPU 1 at once."""
    whole = runs(job("a", 0, 4, 3), ("s0", [2, 0], None), ("s1", [], None))
    instance = instance_of([(3, "shares"), (1, "none")], whole, job("b", 0, 1, 0.5), job("c", 0, 1, 2))
    result = dlsched.solve(instance)
    assert starts(result.solution) == [0, 0, 4]
    assert result.solution.jobs["b"].placement[0].gpus == (1,)


def test_files_have_gpus_and_slots(tmp_path):
    """They are read as they were written; where no job takes a slice they mean nothing."""
    one = runs(job("a", 0, 4, "1g.5gb"), ("s0", [0], 6))
    instance = instance_of([(2, A100)], one, runs(job("b", 0, 1, 1), ("s0", [1], None)))
    dlsched.write(instance, tmp_path / "instance.json")
    again = dlsched.read(tmp_path / "instance.json")
    assert again == instance and again.sha256 == instance.sha256
    data = json.loads((tmp_path / "instance.json").read_text())
    assert data["jobs"][0]["begun"] == [{"stage": 0, "server": "s0", "replicas": 1, "gpu": 0, "slot": 6}]
    whole = instance_of([(2, A100)], runs(job("b", 0, 1, 1), ("s0", [1], None)))
    assert dlsched.solve(whole).solution.jobs["b"].placement == (Share(0, "s0", 1),)


SERVERS = [(2, "shares"), (1, A100), (1, "none")]
HALF = job("a", 0, 1, 0.6)
ONE = job("a", 0, 1, "2g.10gb")
REFUSED = {
    "no number": ([runs(HALF, ("s0", [], None))], "begun[0]: found 0 GPUs of 's0' by number, allowed: 1"),
    "no such GPU": ([runs(HALF, ("s0", [2], None))], "begun[0]: found GPU 2 of 's0', allowed: 0 to 1"),
    "no shares": ([runs(HALF, ("s1", [0], None))], "begun[0].server: found 's1', which has no such slices, allowed: a"),
    "a slot": ([runs(HALF, ("s0", [0], 0))], "begun[0].slot: found slot 0, allowed: none"),
    "no slot": ([runs(ONE, ("s1", [0], None))], "begun[0].slot: found slot None, allowed: 0, 2, 4"),
    "no start": ([runs(ONE, ("s1", [0], 6))], "begun[0].slot: found slot 6, allowed: 0, 2, 4"),
    "two shares": (
        [runs(HALF, ("s0", [1], None)), runs(HALF | {"id": "b"}, ("s0", [1], None))],
        "jobs[1].begun[0]: found GPU 1 of 's0' taken by others that have begun, allowed: what is free of it",
    ),
    "two slots": (
        [runs(ONE, ("s1", [0], 2)), runs(job("b", 0, 1, "4g.20gb"), ("s1", [0], 0))],
        "jobs[1].begun[0]: found GPU 0 of 's1' taken by others that have begun",
    ),
    "a whole GPU": (
        [runs(HALF, ("s0", [1], None)), runs(job("b", 0, 1, 2), ("s0", [0, 1], None))],
        "jobs[1].begun[0]: found GPU 1 of 's0' taken by others that have begun",
    ),
    "a GPU twice": ([HALF, runs(job("b", 0, 1, 2), ("s0", [1, 1], None))], "found GPU 1 of 's0' taken by others"),
    "numbers without slices": (
        [HALF, runs(job("b", 0, 1, 1), ("s2", [0], None))],
        "jobs[1].begun[0]: found 1 GPUs of 's2' by number, allowed: 0",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    """The field is named."""
    jobs, message = REFUSED[case]
    with pytest.raises(InstanceError) as caught:
        instance_of(SERVERS, *jobs)
    assert message in str(caught.value)


def test_a_state_that_is_no_state():
    """Jobs named as begun, beside the instance: GPUs that are not named or not free are refused; those of ended jobs are not."""
    instance = made([(1, "shares")], (0, 4, 0.6), (0, 2, 0.6), (0, 3, 0.4))
    there, nowhere = Share(0, "s0", 1).on((0,)), Share(0, "s0", 1)
    with pytest.raises(UsageError, match="begun: found GPU 0 of server 's0' taken by others"):
        fifo(instance, begun=Begun(1.0, {"a": Start(0.0, (there,)), "b": Start(0.0, (there,))}))
    with pytest.raises(UsageError, match="begun: found 0 GPUs of server 's0' by number, allowed: 1"):
        fifo(instance, begun=Begun(1.0, {"a": Start(0.0, (nowhere,))}))
    later = fifo(instance, begun=Begun(2.5, {"a": Start(0.0, (there,)), "b": Start(0.0, (there,))}))
    assert starts(later) == [0, 0, 2.5]

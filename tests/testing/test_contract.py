"""The contract itself: one that nothing breaks would prove nothing, so every clause is broken once on purpose."""

import dataclasses
import functools
import json

import pytest
from hypothesis import Phase, settings

import dlsched
from dlsched import ring_allocation, ring_embedding, srpt_mapping
from dlsched.core.family import Guarantee
from dlsched.ring_allocation import Allocation
from dlsched.testing import hold_to_contract
from dlsched.testing.contract import _within


def smallest(instance):
    """Smallest counts, if they fit."""
    counts = {job.id: instance.counts(index)[0] for index, job in enumerate(instance.jobs)}
    return Allocation(counts) if instance.minimum_gpus <= instance.gpus else None


def ignores_capacity(instance):
    """Smallest counts, whether they fit or not."""
    return Allocation({job.id: instance.counts(index)[0] for index, job in enumerate(instance.jobs)})


def forgets_the_last(instance):
    """No count for the last job."""
    found = smallest(instance)
    return None if found is None else Allocation(dict(list(found.gpus.items())[:-1]))


class Moody:
    """Another answer every other time."""

    __name__ = "moody"
    turn = 0

    def __call__(self, instance):
        self.turn += 1
        return smallest(instance) if self.turn % 2 else ring_allocation.hull(instance)


class Unsure(Moody):
    """An answer every other time."""

    __name__ = "unsure"

    def __call__(self, instance):
        self.turn += 1
        return smallest(instance) if self.turn % 2 else None


def meddles(instance):
    """Changes a job on the way."""
    found = smallest(instance)
    object.__setattr__(instance.jobs[0], "epochs", instance.jobs[0].epochs + 1.0)
    return found


@pytest.fixture
def first_failure(monkeypatch):
    """Report the instance on which a clause was broken first, without the search for a smaller one."""
    monkeypatch.setattr("dlsched.testing.contract.settings", functools.partial(settings, phases=[Phase.generate]))


@pytest.mark.parametrize(
    ("heuristic", "sentence"),
    [
        (ignores_capacity, "ignores_capacity: its answer breaks capacity: "),
        (forgets_the_last, r"forgets_the_last: its answer breaks choice\[j"),
        (Moody(), "moody gave two different answers for one instance"),
        (Unsure(), "unsure found a solution only once in two runs"),
        (meddles, "meddles changed the instance"),
    ],
)
@pytest.mark.usefixtures("first_failure")
def test_broken_heuristics_are_caught(heuristic, sentence):
    """Each clause of the contract has its breaker, and the message says in one sentence what was broken."""
    with pytest.raises(AssertionError, match=sentence):
        hold_to_contract("ring_allocation", heuristic)


def test_the_smallest_instance_is_told():
    """A message comes with the smallest instance that hypothesis finds: here it has one job."""
    with pytest.raises(AssertionError, match="forgets_the_last: ") as broken:
        hold_to_contract("ring_allocation", forgets_the_last, examples=20)
    (told,) = (note for note in broken.value.__notes__ if note.startswith("the instance, as a file: "))
    data = json.loads(told.partition(": ")[2])
    assert [job["id"] for job in data["jobs"]] == ["j0"]


@pytest.mark.usefixtures("first_failure")
def test_a_false_promise_is_caught():
    """``smallest`` is not optimal."""
    promise = Guarantee("optimal", lambda instance: True, lambda instance, optimum: optimum)
    with pytest.raises(AssertionError, match='does not keep its promise "optimal"'):
        hold_to_contract("ring_allocation", smallest, guarantee=promise)
    never = dataclasses.replace(promise, holds_for=lambda instance: False)
    hold_to_contract("ring_allocation", smallest, guarantee=never, examples=20)


@pytest.mark.usefixtures("first_failure")
def test_a_promise_may_be_a_factor():
    """``smallest`` is far from the optimum where larger counts fit; the optimum is within a factor of 1."""
    with pytest.raises(AssertionError, match=r'does not keep its promise "within a factor of 1\.1"'):
        hold_to_contract("ring_allocation", smallest, guarantee=1.1)
    hold_to_contract(ring_allocation, "exact", guarantee=1, examples=20)
    with pytest.raises(dlsched.UsageError, match=r"guarantee: found 0\.5, allowed: a number >= 1"):
        hold_to_contract("ring_allocation", smallest, guarantee=0.5)


def test_a_factor_leaves_out_the_constant_part():
    """Releases of srpt_mapping are in every objective, and in no ratio: the promise is made of flow times."""
    instance = srpt_mapping.example()
    releases = sum(job.release_s for job in instance.jobs)
    promise = _within(srpt_mapping.FAMILY, 2.0)
    assert promise.worst(instance, releases + 10.0) == pytest.approx(releases + 20.0)
    best = _within(ring_embedding.FAMILY, 2.0)  # utility is maximised
    assert best.worst(ring_embedding.example(), 10.0) == 5.0


def data_of_smallest(instance):
    """The same as data."""
    found = smallest(instance)
    return None if found is None else {"gpus": dict(found.gpus)}


class OneEach:
    """A policy: the smallest count for whoever came first, as long as units are left."""

    def decide(self, view):
        """Decide by hand."""
        units, counts = view.units - sum(map(view.held, view)), {}
        for job in view:
            if not view.held(job) and view.allowed(job)[0] <= units:
                counts[job] = view.allowed(job)[0]
                units -= counts[job]
        return counts


def test_what_solve_takes_is_taken():
    """A function that returns the data of a solution, a policy's class, a policy, a name and a file's function."""
    hold_to_contract("ring_allocation", data_of_smallest, examples=10)
    hold_to_contract("elastic_stream", OneEach, examples=10)
    hold_to_contract("elastic_stream", OneEach(), examples=10)
    hold_to_contract("ring_allocation", "doubling", examples=10)
    hold_to_contract("ring_allocation", f"{__file__}:data_of_smallest", examples=10)


def test_the_contract_is_deterministic():
    """The same arguments try the same instances, in the same order; another seed tries others."""

    def tried(seed):
        names = []

        def watch(instance):
            names.append(instance.sha256)
            return smallest(instance)

        hold_to_contract("ring_allocation", watch, examples=15, seed=seed)
        return names

    assert tried(1) == tried(1) != tried(2)

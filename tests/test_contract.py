"""The contract, for every family and every method of it, on generated instances."""

import dataclasses
import functools
import io
import json
import math
import sys
from types import SimpleNamespace

import pytest
from conftest import drawn, on_each
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import dlsched
from dlsched import FAMILIES, Limits, TerminationStatus, ring_allocation
from dlsched.core.family import Guarantee
from dlsched.families import instance_from
from dlsched.ring_allocation import Allocation
from dlsched.testing import INSTANCES, brute_force, check_method, hold_to_contract
from dlsched.testing.contract import OPTIMA, check_heuristic

ROUTES = [
    (family.name, method.name, solver)
    for family in FAMILIES.values()
    for method in family.methods.values()
    for solver in method.solvers or (None,)
]
HEURISTICS = [
    (family, name)
    for family, name, _ in ROUTES
    if FAMILIES[family].methods[name].kind == "heuristic"
    and not FAMILIES[family].methods[name].seeded
    and name in getattr(dlsched, family).__all__
]
every_family = pytest.mark.parametrize("family", FAMILIES)


def profile(examples):
    """Deterministic, without a clock."""
    return settings(max_examples=examples, derandomize=True, deadline=None, database=None)


def name_of_its_own(family, method):
    """Whether a method is no cell of a grid, of which there are many."""
    return "-" not in method and (family, method) != ("elastic_stream", "milp")


def few_pairs(instance):
    """Whether SCIP proves the optimum of the non-linear program in seconds; four jobs of 16 counts take it minutes."""
    return sum(min(len(instance.counts(place)), instance.gpus) for place in range(len(instance.jobs))) <= 30


@functools.cache
def known(family, examples):
    """By hash: drawn instances of a family as data, and their brute-force optima; found once for all methods."""
    instances = drawn(INSTANCES[family], examples)
    return {instance.sha256: (instance.as_data(), OPTIMA[family](instance)) for instance in instances}


@pytest.fixture
def on_known(monkeypatch):
    """Check the known instances, or every third, each built anew; leave out those that are too hard."""

    def call(family, check, *, examples=30, step=1, within=lambda instance: True):
        found = known(family, examples)
        monkeypatch.setitem(OPTIMA, family, lambda instance: found[instance.sha256][1])
        instances = [instance_from(data, "drawn") for data, _ in found.values()][::step]
        on_each(filter(within, instances), check)

    return call


@pytest.mark.parametrize(("family", "method", "solver"), ROUTES)
def test_every_method_keeps_the_contract(family, method, solver, on_known):
    """Checked, repeatable, harmless; bounds verify and hold; exact means the brute-force optimum; promises are kept."""
    record = FAMILIES[family]
    on_known(
        family,
        lambda instance: check_method(record, record.methods[method], instance, solver=solver),
        examples=30 if solver is None else 12,
        step=1 if name_of_its_own(family, method) else 3,
        within=few_pairs if (family, method) == ("ring_allocation", "minlp") else lambda instance: True,
    )


@pytest.mark.parametrize(("family", "name"), HEURISTICS)
def test_plain_heuristics_keep_the_contract_of_users(family, name, on_known):
    """The functions themselves, with the promise that stands in the family's record."""
    record, function = FAMILIES[family], getattr(getattr(dlsched, family), name)
    guarantee = record.methods[name].guarantee
    on_known(family, lambda instance: check_heuristic(record, function, instance, guarantee=guarantee))


@pytest.mark.parametrize("family", dict.fromkeys(family for family, _ in HEURISTICS))
def test_users_hold_heuristics_to_the_contract(family):
    """One function of every family, by the function that users call."""
    name = next(name for mine, name in HEURISTICS if mine == family)
    function, guarantee = getattr(getattr(dlsched, family), name), FAMILIES[family].methods[name].guarantee
    hold_to_contract(family, function, guarantee=guarantee, examples=20)


@every_family
def test_every_family_has_strategies_and_brute_force(family):
    """A family without them would pass this file untested."""
    assert family in INSTANCES
    assert family in OPTIMA


@every_family
def test_files_read_back_as_written(family, tmp_path):
    """write, then read: the same data and the same hash; written again, the same bytes."""

    @profile(60)
    @given(INSTANCES[family]())
    def identity(instance):
        path, second = tmp_path / "instance.json", tmp_path / "second.json"
        dlsched.write(instance, path)
        again = dlsched.read(path)
        assert again.as_data() == instance.as_data()
        assert again.sha256 == instance.sha256
        dlsched.write(again, second)
        assert path.read_bytes() == second.read_bytes()

    identity()


@every_family
def test_results_are_json(family, monkeypatch):
    """A result is written as strict JSON, and its solution reads back as the same solution."""
    record = FAMILIES[family]

    @profile(40)
    @given(INSTANCES[family]())
    def written(instance):
        result = dlsched.solve(instance)
        stream = io.StringIO()
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(write=stream.write))
        try:
            dlsched.write(result, "-")
        finally:
            monkeypatch.undo()
        data = json.loads(stream.getvalue())
        assert data == json.loads(json.dumps(result.as_data()))
        assert (data["family"], data["instance"]["sha256"]) == (family, instance.sha256)
        if result.solution is not None:
            assert record.read_solution(data["solution"], instance) == result.solution

    written()


@every_family
def test_a_zero_time_limit_is_a_limit(family):
    """Exact methods stop at once: ``time_limit`` with a checked answer or none, or infeasible where a count proves it."""
    record = FAMILIES[family]

    @profile(25)
    @given(INSTANCES[family]())
    def stops(instance):
        optimum = OPTIMA[family](instance)
        for method in record.methods.values():
            if method.kind != "exact":
                continue
            result = dlsched.solve(instance, method=method.name, limits=Limits(time_s=0))
            if optimum is None and result.status is TerminationStatus.INFEASIBLE:
                continue
            assert result.status is TerminationStatus.TIME_LIMIT
            if result.solution is not None:
                assert not record.check(instance, result.solution)
                ahead = record.sense.better(result.objective, optimum[0])
                assert not ahead or math.isclose(
                    result.objective, optimum[0], rel_tol=1e-12
                )  # brute force rounds otherwise

    stops()


@every_family
def test_unknown_fields_are_refused(family):
    """Wherever a field is added, the message names it."""
    data = json.loads(json.dumps(FAMILIES[family].example().as_data()))
    spoiled = [data | {"surplus": 1}, data | {"jobs": [data["jobs"][0] | {"surplus": 1}, *data["jobs"][1:]]}]
    for wrong in spoiled:
        with pytest.raises(dlsched.InstanceError, match="surplus: found an unknown field"):
            instance_from(wrong, "file.json")


@profile(100)
@given(INSTANCES["ring_allocation"](feasible=True), st.data())
def test_a_perturbed_allocation_breaks_the_expected_rule(instance, data):
    """One job dropped, one invented, one count not allowed, one GPU too many: the checker names the rule and the place."""
    gpus = dict(brute_force(instance)[1].gpus)
    place = data.draw(st.integers(0, len(instance.jobs) - 1))
    victim, counts = instance.jobs[place].id, instance.counts(place)

    def rules(changed):
        return {(violation.rule, violation.where) for violation in ring_allocation.check(instance, Allocation(changed))}

    assert rules(gpus) == set()
    assert rules({job: count for job, count in gpus.items() if job != victim}) == {("choice", victim)}
    assert ("choice", "nobody") in rules(gpus | {"nobody": 1})
    assert ("choice", victim) in rules(gpus | {victim: counts[-1] + 1})
    free = instance.gpus - sum(gpus.values())
    larger = [count for count in counts if count - gpus[victim] > free]
    if larger:
        violations = ring_allocation.check(instance, Allocation(gpus | {victim: larger[0]}))
        assert [(v.rule, v.where, v.amount) for v in violations] == [
            ("capacity", "", float(larger[0] - gpus[victim] - free))
        ]


@profile(60)
@given(INSTANCES["ring_allocation"](), st.integers(1, 10))
def test_more_gpus_never_hurt(instance, more):
    """With more GPUs and the same jobs the proven optimum does not rise, and a feasible instance stays so."""
    head = {key: value for key, value in instance.as_data().items() if key != "format"}
    larger = dlsched.solve(ring_allocation.Instance(**(head | {"gpus": instance.gpus + more})))
    smaller = dlsched.solve(instance)
    if smaller.objective is not None:
        assert larger.status is TerminationStatus.OPTIMAL
        assert larger.objective <= smaller.objective * (1 + 1e-12)


# A contract that nothing breaks would prove nothing: every clause is broken once on purpose.


def smallest(instance):
    """Smallest counts, if they fit."""
    counts = {job.id: instance.counts(place)[0] for place, job in enumerate(instance.jobs)}
    return Allocation(counts) if instance.minimum_gpus <= instance.gpus else None


def ignores_capacity(instance):
    """Smallest counts, whether they fit or not."""
    return Allocation({job.id: instance.counts(place)[0] for place, job in enumerate(instance.jobs)})


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
        (ignores_capacity, "ignores_capacity returned a solution that breaks capacity: "),
        (forgets_the_last, r"forgets_the_last returned a solution that breaks choice\[j"),
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
    with pytest.raises(AssertionError, match="forgets_the_last returned") as broken:
        hold_to_contract("ring_allocation", forgets_the_last, examples=20)
    (told,) = (note for note in broken.value.__notes__ if "instance=Instance(" in note)
    assert told.count("Job(id=") == 1


@pytest.mark.usefixtures("first_failure")
def test_a_false_promise_is_caught():
    """``smallest`` is not optimal."""
    promise = Guarantee("optimal", lambda instance: True, lambda instance, optimum: optimum)
    with pytest.raises(AssertionError, match='does not keep its promise "optimal"'):
        hold_to_contract("ring_allocation", smallest, guarantee=promise)
    never = dataclasses.replace(promise, holds_for=lambda instance: False)
    hold_to_contract("ring_allocation", smallest, guarantee=never, examples=20)


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


def test_an_unknown_family_is_misuse():
    """The message lists those there are."""
    with pytest.raises(dlsched.UsageError, match="allowed: ring_allocation"):
        hold_to_contract("none", smallest)


def test_strategies_draw_the_awkward_cases():
    """Among 120 instances: infeasible, tight, ties, identical jobs, laws, restarts, counts without 1, beyond C, no epochs."""
    seen = set()

    @profile(120)
    @given(INSTANCES["ring_allocation"]())
    def look(instance):
        jobs = instance.jobs
        tables = [job.epoch_time_s for job in jobs if job.epoch_time_s is not None]
        seen.update(
            name
            for name, holds in {
                "infeasible": instance.minimum_gpus > instance.gpus,
                "just fits": instance.minimum_gpus == instance.gpus,
                "a GPU a job": instance.gpus == len(jobs) > 1,
                "identical jobs": len(jobs) > 1 and len({job.model_copy(update={"id": ""}) for job in jobs}) == 1,
                "ties": any(len(set(table.times_s)) < len(table) for table in tables),
                "not monotone": any(list(table.times_s) != sorted(table.times_s, reverse=True) for table in tables),
                "without 1": any(table.counts[0] > 1 for table in tables),
                "one count": any(len(table) == 1 for table in tables),
                "beyond C": any(table.counts[-1] > instance.gpus for table in tables),
                "law": len(tables) < len(jobs),
                "no overhead": any(job.speed_law is not None and job.speed_law.theta[1] == 0 for job in jobs),
                "no epochs": any(job.epochs == 0 for job in jobs),
                "current not allowed": any(
                    job.current_gpus is not None and job.current_gpus not in instance.counts(place)
                    for place, job in enumerate(jobs)
                ),
                "restart": any(job.current_gpus is not None and job.restart_s > 0 for job in jobs),
            }.items()
            if holds
        )

    look()
    assert len(seen) == 14, sorted(seen)

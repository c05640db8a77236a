"""Ratios, failures, results, and proofs beside a search."""

import functools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import dlsched
from dlsched import FAMILIES, DisagreementError, Limits, find_worst, ring_allocation
from dlsched.core.family import Guarantee, Method
from dlsched.core.limits import Stopped
from dlsched.core.status import TerminationStatus
from dlsched.worst.judge import Failure, Judge, Worst, with_proofs
from dlsched.worst.proving import prove
from tests.worst.conftest import FAMILY, NONE, ONE, always, judge, raising, ring

SLOW = ring({"1": 8.0, "2": 2.0})


def test_a_ratio_by_hand() -> None:
    """One GPU takes 8 s, two take 2; no answer where there is one is without bound."""
    judged = judge(ONE).judge(SLOW)
    assert judged is not None
    assert (judged.ratio, judged.objective, judged.reference.value, judged.reference.kind) == (4.0, 8.0, 2.0, "optimum")
    assert judged.score == pytest.approx(math.log(4))
    assert judged.instance.name == "by hand"
    none = judge(NONE).judge(SLOW)
    assert none is not None and (none.ratio, none.objective, none.score) == (math.inf, None, math.inf)


@pytest.mark.parametrize("name", ["source", "known"])
def test_what_the_file_says_beside_is_dropped(name: str) -> None:
    """An instance that was changed is from nowhere, and nothing is known of it."""
    value = {"source": "elsewhere", "known": {"optimum": 2.0, "proof": "by hand"}}[name]
    judged = judge(ONE).judge(SLOW | {name: value})
    assert judged is not None and getattr(judged.instance, name) is None


def test_the_worst_is_kept_and_evaluations_are_counted() -> None:
    """Four times, then once the optimum, then what is no instance at all, which is not counted."""
    counted: list[int] = []
    ours = judge(ONE)
    ours.judged = lambda: counted.append(ours.evaluations)
    for table in ({"1": 8.0, "2": 2.0}, {"1": 1.0, "2": 1.0}, {"1": -1.0}):
        ours.judge(ring(table))
    assert ours.worst is not None and ours.worst.ratio == 4.0
    assert (ours.evaluations, counted) == (2, [1, 2])
    assert not ours.failures


def test_where_no_ratio_is_defined_there_is_no_candidate() -> None:
    """Infeasible: three jobs on two GPUs; and nothing to do: zero over zero."""
    ours = judge(ONE)
    assert ours.judge(ring(*[{"1": 1.0}] * 3)) is None
    idle = ring({"1": 8.0, "2": 2.0})
    idle["jobs"][0]["epochs"] = 0.0
    assert ours.judge(idle) is None
    assert (ours.evaluations, ours.worst, ours.failures) == (2, None, {})


def test_against_a_bound_the_ratio_is_at_most() -> None:
    """Three jobs, 12 s on one GPU and 6 on two, with four GPUs: one has two. The price per GPU is 6: the bound is 30, and met."""
    tight = ring(*[{"1": 12.0, "2": 6.0}] * 3, gpus=4)
    judged = judge(ONE, "lagrange").judge(tight)
    assert judged is not None
    assert (judged.reference.kind, judged.reference.answered) == ("bound", False)
    assert judged.ratio == pytest.approx(36 / 30)
    loose = ring(*[{"1": 12.0, "3": 6.0}] * 3, gpus=4)  # three GPUs do not fit beside two jobs: the optimum is 36
    judged = judge(ONE, "lagrange").judge(loose)
    assert judged is not None and judged.ratio > 1
    assert judge(NONE, "lagrange").judge(tight) is None  # whether there is an answer is not known


def test_against_another_heuristic() -> None:
    """What it answers is no proof: the ratio may be below 1, and that contradicts nothing."""
    two = always("two", 2)
    ours = Judge(FAMILY, two, ONE)
    judged = ours.judge(SLOW)
    assert judged is not None
    assert (judged.ratio, judged.reference.kind, ours.failures) == (0.25, "answer", {})


def test_maximised_and_constant_objectives() -> None:
    """As ``dlsched.ratio`` says, for every third heuristic on its family's example; None there is infinite here."""
    for family in FAMILIES.values():
        instance, exact = family.example(), family.method("exact")
        best = dlsched.solve(instance)
        reference = Judge(family, exact, exact).reference_of(instance)
        assert reference is not None and reference.value == pytest.approx(best.objective)
        heuristics = [
            each for each in family.methods.values() if each.kind == "heuristic" and each.runs_unasked(instance)
        ]
        for method in heuristics[::3]:
            judged = Judge(family, method, exact).held_against(instance, reference, instance.as_data())
            result = dlsched.solve(instance, method=method)
            assert judged is not None, (family.name, method.name)
            expected = dlsched.ratio(result.objective, best.objective, best.sense, best.constant)
            expected = math.inf if expected is None else expected
            assert judged.ratio == pytest.approx(expected, rel=1e-6), (family.name, method.name)
            assert judged.ratio >= 1


def test_nothing_gained_where_there_is_something_to_gain_is_without_bound() -> None:
    """The example of ring_embedding without its sigmoid, and nobody runs."""
    family = FAMILIES["ring_embedding"]
    whole = family.example()
    instance = whole.model_copy(update={"jobs": whole.jobs[:2]})
    nobody = family.read_solution({"slots": []}, instance)

    def run(instance: Any, search: Any) -> TerminationStatus:
        search.offer(nobody, source="nobody")
        return TerminationStatus.FEASIBLE

    judged = Judge(family, Method("nobody", "heuristic", run), family.method("exact")).judge(instance.as_data())
    assert judged is not None
    assert (judged.ratio, judged.objective) == (math.inf, 0.0)


def test_an_error_is_kept_with_its_instance() -> None:
    """Told once for each message; the search goes on."""
    told: list[Failure] = []
    ours = judge(raising(ZeroDivisionError("by zero")), tell=told.append)
    assert ours.judge(SLOW) is None and ours.judge(SLOW) is None
    (failure,) = ours.failures.values()
    assert failure.message == "raising: ZeroDivisionError: by zero"
    assert isinstance(failure.error, ZeroDivisionError)
    assert failure.instance.jobs[0].epoch_time_s[2] == 2.0
    assert (told, ours.evaluations) == ([failure], 2)


def test_a_broken_rule_is_kept_with_its_instance() -> None:
    """Three GPUs of two."""
    ours = judge(always("three", 3))
    assert ours.judge(ring({"1": 8.0, "2": 2.0, "3": 1.0})) is None
    (failure,) = ours.failures.values()
    assert failure.message.startswith("three: three returned an answer that the checker rejects: capacity")


@pytest.mark.parametrize(("factor", "broken"), [(3.9, True), (4.0, False)])
def test_a_guarantee_is_held_against_every_answer(factor: float, broken: bool) -> None:
    """Four times the optimum breaks a promise of 3.9 times; the instance is a candidate all the same."""
    promise = Guarantee[Any]("within a factor", lambda instance: True, lambda instance, optimum: factor * optimum)
    method = Method("one", "heuristic", ONE.run, promise)
    ours = judge(method)
    judged = ours.judge(SLOW)
    assert judged is not None and judged.ratio == 4.0
    assert list(ours.failures) == (["one: it breaks its guarantee, within a factor"] if broken else [])
    assert not judge(method, "lagrange").failures


@pytest.mark.parametrize(("method", "made", "failures"), [(ONE, False, 0), (NONE, True, 0), (ONE, True, 1)])
def test_a_guarantee_that_is_not_made_is_not_broken(method: Method[Any, Any], made: bool, failures: int) -> None:
    """It may be made for other instances only, and is made of answers: where there is none it is not broken."""
    guarantee = Guarantee[Any]("nothing", lambda instance: made, lambda instance, optimum: 0.0)
    ours = judge(Method(method.name, "heuristic", method.run, guarantee))
    assert ours.judge(SLOW) is not None
    assert len(ours.failures) == failures


def test_a_reference_that_is_beaten_is_a_contradiction() -> None:
    """A bound that claims 5 where 2 is possible."""

    def claim(instance: Any, search: Any) -> TerminationStatus:
        search.prove(5.0, source="wrong")
        return TerminationStatus.FEASIBLE

    ours = Judge(FAMILY, always("two", 2), Method("wrong", "bound", claim))
    ours.judge(SLOW)
    assert list(ours.failures) == ["two: its objective contradicts what wrong proved"]


def test_time_and_ctrl_c_end_it() -> None:
    """They are no failures of a method."""
    with pytest.raises(Stopped):
        judge(ONE, limits=Limits(time_s=0)).judge(SLOW)
    with pytest.raises(KeyboardInterrupt):
        judge(raising(KeyboardInterrupt())).judge(SLOW)


def test_what_a_limit_cut_short_is_no_candidate() -> None:
    """The answer held then is that of a faster rule."""

    def run(instance: Any, search: Any) -> TerminationStatus:
        ONE.run(instance, search)
        search.tick(search.budget.limits.nodes + 1)
        return TerminationStatus.FEASIBLE

    ours = judge(Method("endless", "heuristic", run))
    assert ours.judge(SLOW) is None
    assert (ours.evaluations, ours.worst, ours.failures) == (1, None, {})


WORST = Worst(
    family="ring_allocation",
    method="doubling",
    ratio=1.5,
    found=2.0,
    objective=15.0,
    reference=10.0,
    reference_kind="optimum",
    evaluations=1200,
    seed=3,
    instance=ring_allocation.example(),
    ended="limit",
    command="dlsched worst ring_allocation --method doubling --seed 3",
)


def test_it_shows_itself_in_a_few_lines() -> None:
    """How bad, against what, on what, and the command that finds it again; never the whole instance."""
    name, jobs = WORST.instance.name, len(ring_allocation.example().jobs)
    assert repr(WORST).splitlines() == [
        "Worst: doubling on ring_allocation: ratio 1.5",
        "of: objective 15, optimum 10",
        f"instance: {name}, {jobs} jobs",
        "search: 1,200 evaluations, seed 3, ended by the limit",
        "again: dlsched worst ring_allocation --method doubling --seed 3",
    ]


def test_notebooks_show_a_table() -> None:
    """A row a line, with what users wrote escaped."""
    shown = replace(WORST, method="<b>")._repr_html_()
    assert shown.startswith("<table><tr><th>Worst</th><td>&lt;b&gt; on ring_allocation: ratio 1.5</td></tr>")
    assert shown.count("<tr>") == 5


def test_bounds_missing_answers_and_failures_are_said() -> None:
    """A ratio against a bound is at most the one stated."""
    failure = Failure("it raised an error", WORST.instance)
    shown = repr(replace(WORST, reference_kind="bound", objective=None, failures=(failure,), ended="budget"))
    assert "ratio <= 1.5" in shown and "of: no answer, bound 10" in shown
    assert shown.endswith("failures: 1, the first: it raised an error")


FOUND = functools.cache(lambda budget: find_worst("ring_allocation", "doubling", jobs=2, gpus=5, budget=budget))
PROVEN = functools.cache(lambda: prove("ring_allocation", "doubling", jobs=2, gpus=5))


def test_a_proof_beside_a_search() -> None:
    """Two jobs on 5 GPUs: 5/4, whatever a few evaluations find."""
    worst, proof = FOUND(20), PROVEN()
    shown = with_proofs(worst, proof)
    assert (shown.ratio, shown.found, shown.as_data()["proven"]) == (1.25, worst.found, "5/4")
    assert shown.objective == 1.25 * shown.reference
    assert shown.instance.sha256 == proof.instance.sha256
    assert shown.instance.source == f"{worst.command} --prove: doubling 1.25"
    assert shown.as_data()["proof"] == proof.as_data()
    assert "proof" not in worst.as_data()


def test_what_is_worse_than_the_supremum_is_an_error() -> None:
    """One of the two is wrong."""
    worst, proof = FOUND(20), PROVEN()
    with pytest.raises(DisagreementError, match=r"1\.3 was found, but 5/4 is proven to be the supremum"):
        with_proofs(replace(worst, ratio=1.3), proof)
    with pytest.raises(DisagreementError, match="without bound was found"):
        with_proofs(replace(worst, ratio=None), proof)
    bounded = with_proofs(replace(worst, ratio=1.3, reference_kind="bound"), proof)  # at most 1.3: no contradiction
    assert (bounded.ratio, bounded.reference_kind) == (1.25, "optimum")


def test_the_largest_supremum_is_shown() -> None:
    """All counts of 6 GPUs: one job is worse than two, 3/2 and 5/4; each holds for its own number."""
    worst = find_worst("ring_allocation", "doubling", jobs=2, gpus=6, budget=20, counts="all")
    jobs = len(worst.instance.as_data()["jobs"])
    two, one = (prove("ring_allocation", "doubling", jobs=many, gpus=6, counts="all") for many in (2, 1))
    shown = with_proofs(worst, two, one)
    assert (shown.proof, shown.proofs, shown.ratio) == (one, (one, two), 1.5)
    above = {1: 1.6, 2: 1.3}[jobs]
    with pytest.raises(DisagreementError, match=f"is proven to be the supremum of {jobs} job"):
        with_proofs(replace(worst, ratio=above), two, one)


def test_an_instance_of_the_search_stays_where_it_is_worse() -> None:
    """A proof may show an instance that only comes near its supremum."""
    worst, proof = FOUND(200), replace(PROVEN(), supremum=Fraction(2))
    kept = with_proofs(replace(worst, ratio=1.5), proof)
    assert (kept.ratio, kept.instance.sha256) == (1.5, worst.instance.sha256)
    assert kept.instance.source.startswith(f"{worst.command} --prove: ")

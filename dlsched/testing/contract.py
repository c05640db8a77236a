"""The contract that every method keeps, for dlsched's own and for yours.

======================  ==========================================================================================
clause                  what is asserted
======================  ==========================================================================================
feasible                the answer passes the checker; no answer is always allowed for a heuristic
bounds                  the objective is no better than the proven bound, nor than the optimum by brute force
repeatable              the same instance gives the same answer
harmless                the instance is not changed
guarantee               where the promise is made for the instance, it holds
exact, proven           (own methods) optimal means the brute-force optimum; certificates verify in exact arithmetic
======================  ==========================================================================================
"""

import inspect
import json
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from types import ModuleType

from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import seed as seeded
from hypothesis.strategies import SearchStrategy

from dlsched.core.errors import PolicyError, UsageError
from dlsched.core.family import AnyFamily, AnyMethod, Family, Guarantee, InstanceT, Method
from dlsched.core.gap import meets
from dlsched.core.limits import Limits
from dlsched.core.result import Result, SolutionT
from dlsched.core.search import Search
from dlsched.core.status import Sense, TerminationStatus
from dlsched.families import find_family
from dlsched.own_methods import called
from dlsched.solving import MethodLike, method_of
from dlsched.testing.cases import CASES

_SLACK = 1e-9  # relative tolerance between rounded objectives, and between them and an exact bound


def hold_to_contract(
    family: str | ModuleType,
    heuristic: MethodLike,
    *,
    guarantee: Guarantee[InstanceT] | float | None = None,
    examples: int = 100,
    seed: int = 0,
) -> None:
    """Run a heuristic on generated instances and assert that it keeps the contract of this module.

    Parameters
    ----------
    family
        A name of ``dlsched.FAMILIES``, or the module of the family.
    heuristic
        As ``solve`` takes it: a function that maps an instance to a solution, to the data of one, or to None if it finds
        none; a policy or its class; ``"file.py:function"``.
    guarantee
        Its promise, if it makes one; a number is a factor of the optimum on every instance, and ``hold_to_bound`` searches
        harder for an instance that breaks it.
    examples, seed
        Number of instances, and the seed of their sequence; the same arguments try the same instances.

    Raises
    ------
    AssertionError
        A clause is broken; the message says which, in one sentence, and hypothesis adds the smallest instance it found.
    UsageError
        There is no such family or method, or the method raises an error.

    Your own heuristic takes five lines:

    >>> from dlsched import ring_allocation
    >>> def smallest(instance):
    ...     counts = {job.id: instance.counts(index)[0] for index, job in enumerate(instance.jobs)}
    ...     return {"gpus": counts} if sum(counts.values()) <= instance.gpus else None
    >>> hold_to_contract("ring_allocation", smallest, examples=10)
    """
    record = find_family(family)
    promise = guarantee if isinstance(guarantee, Guarantee | None) else _within(record, guarantee)

    def holds(instance: InstanceT) -> None:
        note(f"the instance, as a file: {json.dumps(instance.as_data())}")
        check_heuristic(record, heuristic, instance, guarantee=promise)

    hold_examples(CASES[record.name].instances(), holds, examples, seed)


def hold_examples(
    instances: SearchStrategy[InstanceT], holds: Callable[[InstanceT], None], examples: int, seed: int, *phases: Phase
) -> None:
    """Call a test on instances of a strategy, the same ones for the same arguments; ``phases``: of Hypothesis, else all."""
    quiet = settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    quiet = settings(quiet, phases=phases) if phases else quiet
    seeded(seed)(quiet(given(instances)(holds)))()


def require_factor(name: str, factor: float) -> None:
    """Refuse a factor of the optimum that is no number >= 1 with a ``UsageError``."""
    if not isinstance(factor, int | float) or not 1 <= factor < math.inf:
        raise UsageError(where=name, found=repr(factor), allowed="a number >= 1")


def _within(record: AnyFamily, factor: float) -> Guarantee[InstanceT]:
    """Return the promise of a factor of the optimum, without the constant part of objectives."""
    require_factor("guarantee", factor)

    def worst(instance: InstanceT, optimum: float) -> float:
        constant = record.constant(instance)
        times = factor if record.sense_for(instance) is Sense.MINIMIZE else 1 / factor
        return constant + times * (optimum - constant)

    return Guarantee(f"within a factor of {factor:g}", lambda instance: True, worst)


def check_heuristic(
    record: Family[InstanceT, SolutionT],
    heuristic: MethodLike,
    instance: InstanceT,
    *,
    guarantee: Guarantee[InstanceT] | None = None,
) -> None:
    """Assert that a heuristic keeps the contract on one instance small enough for brute force."""
    method = method_of(record, heuristic)
    name = getattr(heuristic, "__name__", method.name)
    solution, again = (_solution(record, method, instance) for _ in range(2))
    # Methods run on copies of the instance, so a function is called once more to see whether it changes its argument.
    own = instance.apart()
    if callable(heuristic) and not inspect.isclass(heuristic):
        called(heuristic, own, _search(record, own), {})
    assert own.as_data() == instance.as_data(), f"{name} changed the instance."
    assert (solution is None) == (again is None), f"{name} found a solution only once in two runs on one instance."
    if solution is None or again is None:
        return
    assert solution.as_data() == again.as_data(), f"{name} gave two different answers for one instance."
    objective = record.objective(instance, solution)
    bound = record.solve(instance, method=record.best_bound).bound
    sense = record.sense_for(instance)
    _no_better(sense, objective, bound, f"{name}: its objective {objective} beats the proven bound {bound}.")
    _check_optimum(record, name, instance, objective, CASES[record.name].brute_force(instance), guarantee)


def _search(record: Family[InstanceT, SolutionT], instance: InstanceT) -> Search[SolutionT]:
    return Search[SolutionT](
        objective=partial(record.objective, instance),
        check=partial(record.check, instance),
        sense=record.sense_for(instance),
        limits=Limits(),
        constant=record.constant(instance),
    )


def _solution(
    record: Family[InstanceT, SolutionT], method: Method[InstanceT, SolutionT], instance: InstanceT
) -> SolutionT | None:
    """Run a method, also where counting proves that there is no solution, and assert that its answer breaks no rule."""
    if method.name in record.methods and record.infeasible(instance) is not None:
        return None
    search = _search(record, instance)
    try:
        method.follow(instance, search)
    except PolicyError as error:
        raise AssertionError(str(error)) from None
    except UsageError:
        if record.infeasible(instance) is None:  # a policy cannot be simulated where there is no solution
            raise
    return search.solution


def check_method(
    record: Family[InstanceT, SolutionT],
    method: Method[InstanceT, SolutionT],
    instance: InstanceT,
    *,
    solver: str | None = None,
) -> Result[SolutionT]:
    """Assert that a method of the package keeps the contract on one instance, and return its result.

    Parameters
    ----------
    record, method
        The family, and one of its ``methods``.
    instance
        An instance small enough for brute force.
    solver
        One of ``method.solvers``; None: the first.
    """
    name, sense = method.name if solver is None else f"{method.name} by {solver}", record.sense_for(instance)
    # Solved twice: the instance stays as it was, and equal calls give equal answers.
    before = instance.as_data()
    result, again = (record.solve(instance, method=method.name, solver=solver) for _ in range(2))
    assert instance.as_data() == before, f"{name} changed the instance."
    assert _answer(result) == _answer(again), f"{name} gave two different answers for one instance."
    # The true optimum, or None where there is no solution, says which statuses are true.
    found = CASES[record.name].brute_force(instance)
    allowed = _allowed(method, feasible=found is not None)
    assert result.status in allowed, f"{name} ended with {result.status} ({result.message})."
    if result.certificate is not None:
        # A certificate proves its value in exact arithmetic, rounded to the safe side.
        exact, value = record.verify(instance, result.certificate), Fraction(result.certificate.value)
        proven = value <= exact if sense is Sense.MINIMIZE else value >= exact
        assert proven, f"{name}: its certificate proves {float(exact)}, not {result.certificate.value}."
    if method.kind == "bound" and result.status is TerminationStatus.FEASIBLE:
        assert result.certificate is not None, f"{name} came without a certificate."
    if found is not None and result.bound is not None:
        _no_better(sense, found[0], result.bound, f"{name}: the optimum {found[0]} beats its bound {result.bound}.")
    if result.solution is not None:
        assert result.objective is not None
        violations = record.check(instance, result.solution)
        assert not violations, f"{name} returned a solution that breaks {', '.join(map(str, violations))}."
        recomputed = record.objective(instance, result.solution)
        assert result.objective == recomputed, f"{name} claims {result.objective}, the checker says {recomputed}."
        _check_optimum(record, name, instance, result.objective, found, method.guarantee)
    # An exact method has found the optimum itself, not only a bound on it.
    if method.kind == "exact" and found is not None:
        assert result.objective is not None and meets(result.objective, found[0]), (
            f"{name} proves {result.objective} optimal, the optimum is {found[0]}."
        )
    return result


def _allowed(method: AnyMethod, *, feasible: bool) -> tuple[TerminationStatus, ...]:
    if not feasible:
        return (TerminationStatus.INFEASIBLE,)
    if method.kind == "exact":
        return (TerminationStatus.OPTIMAL,)
    if method.kind == "bound":
        return (TerminationStatus.FEASIBLE,)
    return TerminationStatus.FEASIBLE, TerminationStatus.OPTIMAL, TerminationStatus.NO_SOLUTION


def _answer(result: Result[SolutionT]) -> dict[str, object]:
    return {key: value for key, value in result.as_data().items() if key != "runtime_s"}


def _check_optimum(
    record: Family[InstanceT, SolutionT],
    name: str,
    instance: InstanceT,
    objective: float,
    found: tuple[float, SolutionT] | None,
    guarantee: Guarantee[InstanceT] | None,
) -> None:
    assert found is not None, f"{name} solved an instance that brute force finds infeasible."
    best, sense = found[0], record.sense_for(instance)
    _no_better(sense, objective, best, f"{name}: its objective {objective} beats the optimum {best}.")
    if guarantee is not None and guarantee.holds_for(instance):
        worst = guarantee.worst(instance, best)
        promise = f'{name} does not keep its promise "{guarantee.words}": {objective}, at worst {worst}.'
        _no_better(sense, worst, objective, promise)


def _no_better(sense: Sense, objective: float, bound: float | None, message: str) -> None:
    """Assert that an objective is not better than a bound, up to rounding."""
    if bound is not None and sense.better(objective, bound):
        assert abs(objective - bound) <= _SLACK * max(1.0, abs(objective), abs(bound)), message

"""Side constraints that tests draw: each says it to a model in PuLP's words, and to brute force as a predicate."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import pulp
import pytest

from dlsched.core.status import Sense, TerminationStatus
from dlsched.solvers.formulation import Formulation

CASES, SHORT = 300, 6
Decided = Mapping[object, float]
"""The value of every choice of a solution that is not 0, by the keys of a mapping of ``Formulation.variables``."""


class Side(NamedTuple):
    """A side constraint: bounds on a sum of choices."""

    words: str
    terms: Mapping[object, float]
    sense: int
    right: float

    def row(self, choices: Mapping[object, pulp.LpAffineExpression]) -> pulp.LpConstraint:
        """The row of a model; a choice that no solution has is 0."""
        terms = [factor * choices[key] for key, factor in self.terms.items() if key in choices]
        return pulp.LpConstraint(pulp.lpSum(terms), self.sense, rhs=self.right)

    def holds(self, decided: Decided) -> bool:
        """Whether a solution keeps it."""
        left = sum(factor * decided.get(key, 0.0) for key, factor in self.terms.items())
        return left == self.right if self.sense == 0 else left * self.sense >= self.right * self.sense


def forbid(key: object) -> Side:
    """A choice is not made."""
    return Side(f"forbid {key}", {key: 1.0}, pulp.LpConstraintEQ, 0.0)


def require(key: object) -> Side:
    """A choice is made."""
    return Side(f"require {key}", {key: 1.0}, pulp.LpConstraintEQ, 1.0)


def together(first: object, second: object) -> Side:
    """Both choices or neither."""
    return Side(f"together {first} {second}", {first: 1.0, second: -1.0}, pulp.LpConstraintEQ, 0.0)


def apart(first: object, second: object) -> Side:
    """Not both."""
    return Side(f"apart {first} {second}", {first: 1.0, second: 1.0}, pulp.LpConstraintLE, 1.0)


def at_most(terms: Mapping[object, float], most: float) -> Side:
    """A quota."""
    return Side(f"at most {most} of {dict(terms)}", terms, pulp.LpConstraintLE, most)


def drawn(
    numbers: random.Random,
    keys: Sequence[object],
    quotas: Sequence[Mapping[object, float]],
    solutions: Sequence[tuple[Decided, float]],
) -> list[Side]:
    """One to three side constraints on choices, such as often some solution keeps; ``quotas``: what these may be set on."""
    for _ in range(numbers.randint(1, 5)):
        sides = _sides(numbers, keys, quotas)
        if any(all(side.holds(decided) for side in sides) for decided, _ in solutions):
            break
    return sides


def _sides(numbers: random.Random, keys: Sequence[object], quotas: Sequence[Mapping[object, float]]) -> list[Side]:
    sides = []
    for _ in range(numbers.randint(1, 3)):
        kind = numbers.choice(["forbid", "require", "together", "apart", "at most", "at most"])
        first, second = numbers.sample(keys, 2) if len(keys) > 1 else (keys[0], keys[0])
        if kind == "at most":
            terms = numbers.choice(quotas)
            sides.append(at_most(terms, float(numbers.randint(0, 4))))
        else:
            one = {"forbid": forbid, "require": require}
            two = {"together": together, "apart": apart}
            sides.append(one[kind](first) if kind in one else two[kind](first, second))
    return sides


def assert_agrees(
    formulation: Formulation[pulp.LpProblem, object],
    kind: str,
    sides: Sequence[Side],
    solutions: Sequence[tuple[Decided, float]],
    decided_of: Callable[[object], Decided],
    sense: Sense,
    *,
    weights: Mapping[object, float] | None = None,
    solvers: Sequence[str] = ("highs", "cbc"),
) -> bool:
    """Compare a model with side constraints with the best of all solutions that keep them; say whether there is one.

    ``weights``: another objective to minimise, by choice.
    """
    choices = formulation.variables[kind]
    for side in sides:
        formulation.model.addConstraint(side.row(choices))
    kept = [(decided, value) for decided, value in solutions if all(side.holds(decided) for side in sides)]
    if weights is not None:
        formulation.model.setObjective(pulp.lpSum(weights[key] * choice for key, choice in choices.items()))
        formulation.model.sense = pulp.LpMinimize
    for solver in solvers:
        said = f"{[side.words for side in sides]} by {solver}"
        result = formulation.solve(solver=solver)
        assert result.of_model or not solutions  # what counting proves is said of the instance
        if not kept:
            assert result.status is TerminationStatus.INFEASIBLE, said
            continue
        assert result.solution is not None, (said, result)
        decided = decided_of(result.solution)
        assert all(side.holds(decided) for side in sides), (said, decided)
        if weights is None:
            best = min if sense is Sense.MINIMIZE else max
            assert result.status is TerminationStatus.OPTIMAL, (said, result)
            assert result.objective == pytest.approx(best(value for _, value in kept), rel=1e-6), said
            assert "of the model" in str(result.bound_source)
        else:
            assert result.status is TerminationStatus.FEASIBLE and result.bound is None, (said, result)
            assert "optimal for the model's objective" in result.message
            least = min(worth(each, weights) for each, _ in kept)
            assert worth(decided, weights) == pytest.approx(least, rel=1e-6, abs=1e-6), said
    return bool(kept)


def worth(decided: Decided, weights: Mapping[object, float]) -> float:
    """What a solution is worth by weights of its choices."""
    return sum(weights.get(key, 0.0) * value for key, value in decided.items())


def seeds(campaigns: pytest.MarkDecorator) -> list[object]:
    """A few in every run, the others marked as the campaigns'."""
    return [*range(SHORT), *(pytest.param(seed, marks=campaigns) for seed in range(SHORT, CASES))]


def weighted(numbers: random.Random, keys: Sequence[object]) -> dict[object, float] | None:
    """Weights of choices for another objective, in every third case."""
    return {key: float(numbers.randint(-9, 9)) for key in keys} if numbers.random() < 1 / 3 else None

"""Gurobi agrees with HiGHS and CBC on random small models of every formulation; ``make verify`` takes 200 of each."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from dlsched.core.errors import UsageError
from dlsched.core.status import TerminationStatus
from dlsched.families import FAMILIES
from dlsched.solvers.milp import solve_milp
from dlsched.testing import CASES

OTHERS = ("highs", "cbc")
QUICK, ALL = 3, 200
DRAWN = 10
"""Times as many instances are drawn: some formulations refuse most."""
AGREED = 1e-6  # relative, of what solvers with tolerances call optimal
ENDED = {TerminationStatus.OPTIMAL, TerminationStatus.INFEASIBLE}


def instances_of(family, count):
    """Instances of a family, always the same, until some formulation has taken ``count`` of them."""
    found = []

    @seed(2000)
    @settings(
        max_examples=DRAWN * count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(CASES[family].instances())
    def keep(instance):
        found.append(instance)

    keep()
    return found


def disagreement(model):
    """What Gurobi and another say of one model that cannot both be true; None where they agree."""
    first = solve_milp(model, solver="gurobi", isolated=False)
    for name in OTHERS:
        other = solve_milp(model, solver=name, isolated=False)
        if first.status is not other.status or first.status not in ENDED:
            return f"{first.solver}: {first.status} {first.message}, {other.solver}: {other.status} {other.message}"
        if first.status is TerminationStatus.INFEASIBLE:
            continue
        values = first.objective, first.bound, other.objective, other.bound
        room = first.slack + other.slack + AGREED * max(map(abs, values))
        if max(values) - min(values) > room:
            return f"objective and bound: {first.solver} {values[:2]}, {other.solver} {values[2:]}"
    return None


def agree(family, count):
    """Assert that solvers agree on ``count`` models of each formulation of a family; count what they said."""
    ran = Counter()
    for instance in instances_of(family, count):
        for name, build in FAMILIES[family].formulations.items():
            if ran[name] == count:
                continue
            try:
                model = build(instance).model
            except UsageError:  # streams without ticks, objectives that a formulation does not serve
                ran[f"{name}, refused"] += 1
                continue
            said = disagreement(model)
            assert said is None, f"{family}, {name}: {said}; {instance.as_data()}"
            ran[name] += 1
    assert all(ran[name] == count for name in FAMILIES[family].formulations), ran
    return ran


@pytest.mark.parametrize("family", FAMILIES)
def test_gurobi_agrees_with_highs_and_cbc(family):
    """Status, objective and bound of a few models of every formulation."""
    agree(family, QUICK)


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_gurobi_agrees_with_highs_and_cbc_on_two_hundred(family, capsys):
    """The same of 200 models of every formulation."""
    ran = agree(family, ALL)
    with capsys.disabled():
        print(f"\n{family}: {dict(ran)}, 0 disagreements")

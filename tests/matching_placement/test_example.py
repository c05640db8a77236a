"""The names of the example's non-linear program."""

import pytest
from documented import assert_named, documented

from dlsched.matching_placement import example
from dlsched.matching_placement.formulations.assignment import build_minlp


def test_every_row_of_the_minlp_is_documented_and_the_other_way_round() -> None:
    """Constraints, objective and variables of the Pyomo model are those of the README."""
    pyo = pytest.importorskip("pyomo.environ")
    model = build_minlp(example()).model
    rows = [row.name for row in model.component_objects((pyo.Constraint, pyo.Objective))]
    assert_named(rows, documented("matching_placement", "minlp", "Rows"))
    variables = [variable.name for variable in model.component_data_objects(pyo.Var)]
    assert_named(variables, documented("matching_placement", "minlp", "Variables"))

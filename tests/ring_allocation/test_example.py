"""The example by hand, and the names of its non-linear program."""

import pytest
from documented import assert_named, documented

from dlsched.ring_allocation import Allocation, Instance, example, objective, solve
from dlsched.ring_allocation.formulations import build_minlp

OPTIMUM_S = 160 * 47.25 + 90.5 * (1e-3 * 50000 / 2 + 0.01 + 1e-9 * 1e8 / 2 + 0.2)  # a on 4 GPUs, b on 2


def test_the_optimum_by_hand_is_the_checkers() -> None:
    """Every allocation that fits, tried here: none is better than 4 and 2, and the checker gives its cost."""
    instance = example()
    fitting = [{"a": a, "b": b} for a in (1, 2, 4, 8) for b in range(1, 17) if a + b <= instance.gpus]
    costs = [objective(instance, Allocation(gpus)) for gpus in fitting]
    assert fitting[costs.index(min(costs))] == {"a": 4, "b": 2}
    assert min(costs) == pytest.approx(OPTIMUM_S, rel=1e-15)
    assert solve(instance).solution == Allocation({"a": 4, "b": 2})


def test_every_row_of_the_minlp_is_documented_and_the_other_way_round() -> None:
    """Constraints, objective and variables of the Pyomo model of a table and of a law with a restart are the README's."""
    pyo = pytest.importorskip("pyomo.environ")
    law = {"theta": [2.0, 1.0, 0.0, 0.5], "samples": 8.0, "model_bytes": 0.0}
    jobs = [
        {"id": "a", "epochs": 1.0, "epoch_time_s": {"1": 30.0, "4": 20.0}},
        {"id": "b", "epochs": 1.0, "speed_law": law, "current_gpus": 2, "restart_s": 0.5},
    ]
    model = build_minlp(Instance(name="x", gpus=5, jobs=jobs)).model
    rows = [row.name for row in model.component_objects((pyo.Constraint, pyo.Objective))]
    assert_named(rows, documented("ring_allocation", "minlp", "Rows"))
    variables = [variable.name for variable in model.component_data_objects(pyo.Var)]
    assert_named(variables, documented("ring_allocation", "minlp", "Variables"))

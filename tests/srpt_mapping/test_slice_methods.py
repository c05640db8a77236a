"""Jobs on slices of GPUs in ``milp`` and ``plan``: the optimum by brute force, names, and what is refused."""

import pytest
from hypothesis import given, settings
from numpy.random import default_rng

import dlsched
from dlsched.core.errors import UsageError
from dlsched.srpt_mapping import planning
from dlsched.srpt_mapping.checker import check, objective
from dlsched.srpt_mapping.formulations.milp import build_milp
from dlsched.srpt_mapping.heuristics import POLICIES
from dlsched.srpt_mapping.planning import Serial, plan
from dlsched.testing import brute_force_srpt
from dlsched.testing.srpt_mapping import srpt_mapping_instances

from .test_slices import A100, made


def held_to_brute_force(instance):
    """``milp`` and ``plan`` beside the optimum of brute force, where some job takes a slice and all fit."""
    try:
        best = brute_force_srpt(instance)
    except ValueError:
        return
    if best is None or not instance.sliced:
        return
    result = dlsched.solve(instance, method="milp")
    assert str(result.status) == "optimal" and check(instance, result.solution) == []
    assert result.objective == pytest.approx(best[0], rel=1e-9)
    given = POLICIES["fifo"](instance)
    planned = plan(instance, [given], default_rng(1), orders=20)
    assert check(instance, planned) == []
    assert best[0] * (1 - 1e-9) <= objective(instance, planned) <= objective(instance, given)


@settings(max_examples=40, derandomize=True, deadline=None, database=None)
@given(instance=srpt_mapping_instances(slices=True, walls=True, begun=True))
def test_against_brute_force(instance):
    """Shares, slots, whole GPUs, pools, groups and consolidated placement, with communication."""
    held_to_brute_force(instance)


@pytest.mark.long
@settings(max_examples=1000, derandomize=True, deadline=None, database=None)
@given(instance=srpt_mapping_instances(slices=True, walls=True, begun=True))
def test_against_brute_force_at_length(instance):
    """The same, some 400 of them with slices and a schedule."""
    held_to_brute_force(instance)


def test_milp_names_gpus_and_slots():
    """A share may lie on two GPUs of which each is 4/4, a profile at 6 slots of 8; rows as violations call them."""
    model = build_milp(made([(2, "shares"), (1, A100), (1, "none")], (0, 4, 0.25), (0, 2, "2g.10gb"), (0, 1, 4)))
    names = {name.rsplit("_", 1)[0] for name in model.model.constraints}
    assert {name for name in model.model.constraints if name.startswith(("share", "profile", "gpus"))} == {
        "gpus_s2",
        *(f"share_s0_{gpu}" for gpu in (0, 1)),
        *(f"profile_s1_0_{slot}" for slot in range(8)),
    }
    assert {"taken_s0_1", "taken_s1_0_5", "taken_s2"} <= names
    # 8 units a GPU: a quarter, slots of one, four GPUs
    rows = model.model.constraints
    assert [-rows[name].constant for name in ("gpus_s2", "share_s0_0", "profile_s1_0_7")] == [8, 8, 1]
    assert set(model.variables.placed) == {(job, server) for job in "abc" for server in ("s0", "s1", "s2")}
    assert len(model.variables.placed["a", "s0"]) == 2 and not model.variables.placed["a", "s1"]
    assert len(model.variables.placed["b", "s1"]) == 3  # starts 0, 2 and 4


@pytest.mark.parametrize("complete", [False, True])
def test_milp_solves_by_hand(complete):
    """Two jobs of .6 and one of a whole GPU on two GPUs: the whole one first or last, 1 + 5 + 6, of the second 1 s later."""
    instance = made([(2, "shares")], (0, 5, 0.6), (0, 5, 0.6), (0, 1, 1))
    build = build_milp(instance, complete=complete)
    assert build.solve().objective == pytest.approx(1 + 5 + 6)


def test_serial_placement_by_hand():
    """Shares: c waits for the GPU of b, and d goes beside a at once. Slots: 4g.20gb waits for slot 0, the last job does not."""
    instance = made([(2, "shares")], (0, 9, 0.5), (0, 4, 0.6), (0, 2, 0.8), (0, 9, 0.3))
    ran = Serial(instance, [9, 4, 2, 9]).run([0, 1, 2, 3])
    assert [(each.start_s, each.placement[0].gpus) for each in ran] == [(0, (0,)), (0, (1,)), (4, (1,)), (0, (0,))]
    slots = made([(1, A100)], (0, 4, "3g.20gb"), (0, 9, "1g.5gb"), (0, 3, "4g.20gb"), (0, 4, "1g.5gb"))
    ran = Serial(slots, [4, 9, 3, 4]).run([0, 1, 2, 3])
    # best fit puts 3g at slot 4, so 1g goes to 0; 4g waits for it; the other 1g fits beside
    assert [(each.start_s, each.placement[0].slot) for each in ran] == [(0, 4), (0, 0), (9, 0), (0, 1)]


def test_plan_refuses_what_is_too_large(monkeypatch):
    """Jobs times GPUs and slots."""
    monkeypatch.setattr(planning, "_MOST_CELLS", 15)
    with pytest.raises(
        UsageError, match="plan: found 2 jobs on 8 GPUs and slots, allowed: 5,000, times GPUs and slots 15"
    ):
        dlsched.solve(made([(1, A100)], (0, 4, "3g.20gb"), (0, 9, 1)), method="plan")

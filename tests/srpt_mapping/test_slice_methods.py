"""Jobs on slices of GPUs in ``milp``: its optimum by brute force, and its names."""

import pytest
from hypothesis import given, settings

import dlsched
from dlsched.srpt_mapping.checker import check
from dlsched.srpt_mapping.formulations.milp import build_milp
from dlsched.testing import brute_force_srpt
from dlsched.testing.srpt_mapping import srpt_mapping_instances

from .test_slices import A100, made


def held_to_brute_force(instance):
    """The optimum of ``milp`` beside that of brute force, where some job takes a slice and all fit."""
    best = brute_force_srpt(instance)
    if best is None or not instance.sliced:
        return
    result = dlsched.solve(instance, method="milp")
    assert str(result.status) == "optimal" and check(instance, result.solution) == []
    assert result.objective == pytest.approx(best[0], rel=1e-9)


@settings(max_examples=40, derandomize=True, deadline=None, database=None)
@given(instance=srpt_mapping_instances(slices=True, walls=True))
def test_milp_against_brute_force(instance):
    """Shares, slots, whole GPUs, pools, groups and consolidated placement, with communication."""
    held_to_brute_force(instance)


@pytest.mark.long
@settings(max_examples=1000, derandomize=True, deadline=None, database=None)
@given(instance=srpt_mapping_instances(slices=True, walls=True))
def test_milp_against_brute_force_at_length(instance):
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

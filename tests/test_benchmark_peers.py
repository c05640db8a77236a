"""The plain models of the benchmarks state the families' problems: their optima are those known."""

import importlib.util
import json
import sys
from pathlib import Path

import peers
import plain_models
import pytest

import dlsched
from tests.shipped import ROOT

LINEAR = [
    "ring_allocation/resnet110-12x64",
    "async_sgd/two-servers",
    "matching_placement/few-types-5x12-seed2",
    "matching_placement/few-types-5x12-seed2-max_rho",
    "elastic_stream/stopped-is-not-fresh",
    "ring_embedding/small-4x4x4-seed3",
    "srpt_mapping/four-jobs",
]
"""Instances whose plain models HiGHS solves in a second."""


def read(name):
    return dlsched.read(ROOT / f"{name}.json")


@pytest.mark.parametrize("name", LINEAR)
def test_plain_linear_models_have_the_known_optimum(name):
    instance = read(name)
    answer = plain_models.by_milp(instance, plain_models.linear(instance), "highs", 60)
    assert answer.proven and answer.objective == pytest.approx(instance.known.optimum, rel=1e-6)
    assert answer.bound == pytest.approx(instance.known.optimum, rel=1e-5)


@pytest.mark.parametrize("name", [name for name in LINEAR if "srpt" not in name])
def test_cpsat_gets_them_in_whole_numbers(name):
    instance = read(name)
    answer = plain_models.by_cpsat(instance, plain_models.linear(instance), 60)
    assert answer.proven and answer.objective == pytest.approx(instance.known.optimum, rel=1e-5)
    assert answer.bound == pytest.approx(instance.known.optimum, rel=2e-3)  # rounded to 2^-10


@pytest.mark.parametrize("name", ["srpt_mapping/four-jobs", "srpt_mapping/three-gpus"])
def test_plain_gangs_have_the_known_optimum(name):
    instance = read(name)
    calls = [plain_models.gangs_by_cpsat]
    calls += [plain_models.gangs_by_pyjobshop] if importlib.util.find_spec("pyjobshop") else []
    for call in calls:
        answer = call(instance, 60)
        assert answer.proven and answer.objective == pytest.approx(instance.known.optimum, rel=1e-5)
        assert answer.bound == pytest.approx(instance.known.optimum, rel=1e-4)


def test_what_has_no_plain_model_has_no_run():
    assert plain_models.linear(read("matching_placement/one-or-three-alpha_fair-2")) is None
    assert plain_models.linear(read("elastic_stream/poisson-100x64-seed1")) is None
    assert plain_models.gangs_by_cpsat(read("srpt_mapping/already-running"), 1) is None


def run(objective, bound, seconds, proven=True):
    return {"seconds": seconds, "objective": objective, "bound": bound, "proven": proven, "constant": 0.0}


def test_losses_are_rows():
    name = "ring_allocation/two-jobs"
    exact = {**run(110.0, 100.0, 60.0, proven=False), "constant": 10.0}
    judged = peers.Judged(name, {"exact": exact, "HiGHS": run(105.0, 105.0, 5.0), "SCIP": {"none": True}})
    # 5 of 100 without the constant
    assert (
        judged.best == 105.0
        and judged.off("exact") == pytest.approx(0.05)
        and judged.gap("exact") == pytest.approx(0.1)
    )
    assert peers.losses(judged) == [[name, "HiGHS", "its answer is better by 5.00%"]]
    slow = peers.Judged(name, {"exact": run(105.0, 105.0, 9.0), "HiGHS": run(105.0, 105.0, 3.0)})
    assert peers.losses(slow) == [[name, "HiGHS", "it proves the optimum in 3.0 s, not in 9.0 s"]]
    first = peers.Judged(name, {"exact": run(105.0, 100.0, 60.0, proven=False), "HiGHS": run(105.0, 105.0, 3.0)})
    assert peers.losses(first) == [[name, "HiGHS", "it proves the optimum, in 3.0 s"]]


def test_a_stopped_comparison_goes_on(tmp_path, monkeypatch):
    raw, calls = tmp_path / "peers.json", []
    answer = plain_models.Answer(1.0, 1.0, proven=True)

    def exact(instance, limit_s):
        calls.append(instance.name)
        return answer

    monkeypatch.setattr(peers, "METHODS", {"exact": exact, "HiGHS": lambda instance, limit_s: None})
    monkeypatch.setattr(peers, "warm", lambda: None)
    monkeypatch.setattr(sys, "argv", ["peers.py", "--only", "async_sgd/two-*", "--raw", str(raw)])
    peers.main()
    measured = json.loads(raw.read_text())["measured"]
    assert set(measured) == {"async_sgd/two-servers"} and calls.count("two-servers") == 1
    peers.main()
    assert (
        calls.count("two-servers") == 1 and "| async_sgd | exact | 1 of 1 |" in Path(raw).with_suffix(".md").read_text()
    )
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--again", "async_sgd/*"])
    peers.main()
    assert calls.count("two-servers") == 2


def test_the_best_answer_of_a_utility_is_the_largest():
    """Also where ``exact`` proves it, so that its bound is its answer."""
    exact, other = run(257.0, 257.0, 5.0), run(241.0, 257.5, 60.0, proven=False)
    judged = peers.Judged("ring_embedding/small-5x5x5-seed4", {"exact": exact, "CP-SAT": other})
    assert judged.best == 257.0 and judged.off("exact") == 0 and peers.losses(judged) == []

"""Suprema of weighted flow times: by hand, against the simulator on random instances, and forgeries."""

import functools
import json
import random
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import second_verifier
from scipy.optimize import linprog

import dlsched
from dlsched.core.errors import DlschedError, UsageError
from dlsched.elastic_stream.instance import Instance, Job
from dlsched.worst.competitive.own import own_policy
from dlsched.worst.competitive.proven import Supremum, prove_policy, speeds_of, weights_of
from dlsched.worst.competitive.verification import verify
from tests.conftest import Ended
from tests.worst.competitive.test_second_verifier import METHODS, verdicts

Data = dict[str, Any]
HERE = Path(__file__).parent / "own_policies.py"
TWO, THREE = "1,9/5", "1,7/4,9/4"
WEIGHTS = (1, 3)
POLICIES = (
    *("equal", "doubling", "marginal", "myopic", "weighted", "fifo-fastest", "srpt-fixed", "srpt-knee"),
    *("srpt-marginal", "sjf-fastest", "las-equal", "efficiency-fastest"),
)


@functools.cache
def proven(method: str, speeds: str = TWO, weights: tuple[int, ...] = WEIGHTS) -> Supremum:
    """The answer of the search for two jobs."""
    return prove_policy(method, speeds=speeds_of(speeds), weights=weights)


def data_of(found: Supremum) -> Data:
    """Return a new copy of a certificate as a file has it."""
    data: Data = json.loads(json.dumps(found.as_data()))
    return data


def test_weights_are_whole_numbers_without_a_common_divisor() -> None:
    """By hand."""
    assert weights_of("1,1/3,.5") == (2, 3, 6)
    assert weights_of("4, 4") == weights_of("1") == (1,)
    assert prove_policy("fixed", speeds=[["1"]], weights=["1/3", "1"], jobs=1).as_data()["weights"] == ["1", "3"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0,1", "found 0, 1, allowed: positive"),
        ("-1", "positive"),
        ("", "weights: found ''"),
        ("nan", "weights: found 'nan', allowed: fractions or decimals of at most 1000000$"),
        ("1,2,3,4,5", "at most 4"),
        ("1000000,1/7", "whole numbers of at most"),
    ],
)
def test_weights_that_are_refused(text: str, said: str) -> None:
    """Located, with what is allowed."""
    with pytest.raises(UsageError, match=said):
        weights_of(text)


@pytest.mark.parametrize("method", ["equal", "srpt-knee", "weighted", "myopic"])
def test_weights_that_are_all_alike_prove_what_none_prove(method: str) -> None:
    """The same certificate, to the byte."""
    plain = json.dumps(prove_policy(method, speeds=speeds_of(TWO)).as_data())
    assert json.dumps(prove_policy(method, speeds=speeds_of(TWO), weights=["7/2", "3.5"]).as_data()) == plain


@pytest.mark.parametrize("method", POLICIES)
def test_classes_without_weights_are_among_those_with_them(method: str) -> None:
    """The supremum with weights is at least that without, each choice has its tree, and the certificate holds."""
    found = proven(method)
    assert found.supremum is not None
    assert found.supremum >= Fraction(prove_policy(method, speeds=speeds_of(TWO)).supremum or 0)
    data = data_of(found)
    assert [each["classes"] for each in data["proof"]] == [list(each) for each in product(range(2), repeat=2)]
    assert verify(data).supremum == found.supremum


def test_first_come_first_served_waits_for_the_light() -> None:
    """By hand: jobs of weight 3 come just after a long one of weight 1: (1 + 3 n) / 1 times the optimum, n of them."""
    for jobs in (2, 3):
        found = prove_policy("fifo-fastest", speeds=[["1"]], weights=WEIGHTS, jobs=jobs)
        assert (found.supremum, found.attained) == (1 + 3 * (jobs - 1), False)
        assert verify(data_of(found)).supremum == found.supremum


def test_least_time_over_weight_is_optimal_for_two_jobs_on_one_machine() -> None:
    """Smith's rule (1956) at both arrivals."""
    assert prove_policy("srpt-fastest", speeds=[["1"]], weights=WEIGHTS).supremum == 1


def test_policies_of_the_user_see_weights() -> None:
    """A copy of srpt with weights has its supremum, to the fraction."""
    found = prove_policy(f"{HERE}:Smith", speeds=speeds_of(TWO), weights=WEIGHTS)
    assert found.supremum == proven("srpt-fastest").supremum
    assert verify(data_of(found), own_policy(f"{HERE}:Smith")).supremum == found.supremum


@pytest.mark.parametrize("count", [200, pytest.param(2_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("speeds", [TWO, THREE])
def test_no_instance_of_the_simulator_is_worse(speeds: str, count: int) -> None:
    """Two jobs, works and arrivals rational, the optimum by linear programs; the instance that is shown has .999 of it."""
    table = [float(each) for each in speeds_of(speeds)[0]]
    suprema = {method: float(proven(method, speeds).supremum or 0) for method in POLICIES}
    for method in POLICIES:
        found = dlsched.solve(proven(method, speeds).instance, method=method).objective
        weight = sum(job.get("weight", 1) for job in proven(method, speeds).instance.as_data()["jobs"])
        assert found is not None
        assert found * weight >= 0.999 * suprema[method] * float(proven(method, speeds).schedule.flow.at)
    generator = random.Random(speeds)
    for _ in range(count):
        instance = _drawn(generator, table)
        optimum = _optimum(instance, table)
        for method in POLICIES:
            found = dlsched.solve(instance, method=method).objective
            assert found is not None
            assert found * instance.total_weight <= suprema[method] * optimum * (1 + 1e-9), (method, instance)


def _drawn(generator: random.Random, table: list[float]) -> Instance:
    """Two jobs, often with ties of works or of an arrival and an end."""
    works = [generator.choice([1.0, 2.0, 3.0, generator.randint(1, 400) / 64]) for _ in range(2)]
    late = generator.choice([0.0, works[0], works[0] / table[-1], generator.randint(0, 200) / 64])
    jobs = [
        Job(
            id=f"j{k}",
            arrival_s=k * late,
            epochs=work,
            epoch_time_s={m: 1 / s for m, s in enumerate(table, 1)},
            weight=float(generator.choice(WEIGHTS)),
        )
        for k, work in enumerate(works)
    ]
    return Instance(name="drawn", units=len(table), jobs=jobs)


def _optimum(instance: Instance, table: list[float]) -> float:
    """Least weighted flow time of two jobs: before the second arrives, while both are there, and after the first end."""
    works, weights = [job.epochs for job in instance.jobs], [job.weight for job in instance.jobs]
    late, units, on = instance.jobs[1].arrival_s, len(table), [0.0, *table]
    least = np.inf
    if works[0] / on[-1] <= late:
        least = sum(weight * work for weight, work in zip(weights, works, strict=True)) / on[-1]
    for first in (0, 1):  # who ends first
        # seconds of job 0 alone, of both on each division, and of the one that is left
        cost = [weights[0], *[sum(weights)] * (units + 1), weights[1 - first]]
        work = np.zeros((2, units + 3))
        work[0, 0] = on[-1]
        work[:, 1 : units + 2] = [on, on[::-1]]
        work[1 - first, -1] = on[-1]
        bounds = [(late, late), *[(0, None)] * (units + 2)]
        found = linprog(cost, A_ub=-work, b_ub=-np.array(works), bounds=bounds)
        assert found.status == 0
        least = min(least, found.fun)
    return float(least)


def test_both_verifiers_verify_weights() -> None:
    """All policies that the second one knows; and classes of two tables and two weights."""
    for method in METHODS:
        assert verdicts(data_of(proven(method))) == (True, True), method
    several = prove_policy("srpt-knee", speeds=speeds_of("1,1;1,2"), weights=WEIGHTS)
    assert verdicts(data_of(several)) == (True, True)
    assert second_verifier.verify(data_of(several)).startswith("srpt-knee, 2 jobs on 2 units: the supremum is")


def _weights(data: Data, generator: random.Random) -> None:
    """Other weights, of the proof or of a job, or two of them trade places."""
    kind = generator.randrange(4)
    job = generator.choice(data["instance"]["jobs"])
    if kind == 0:
        data["weights"][generator.randrange(2)] = generator.choice(["0", "-1", "1", "2", "3", "4", "1/3", "x"])
    elif kind == 1:
        data["weights"].reverse()
    elif kind == 2:
        job["weight"] = generator.choice([0.0, 1.0, 2.0, 3.0, 9.0])
    else:
        del data["weights"]


def _class(data: Data, generator: random.Random) -> None:
    """A class or a choice dropped, a tree of other classes, or a third weight without trees."""
    kind, entry = generator.randrange(4), generator.choice(data["proof"])
    if kind == 0:
        data["proof"].remove(entry)
    elif kind == 1:
        data["weights"].pop(generator.randrange(2))
        data["proof"] = [each for each in data["proof"] if each["classes"] == [0, 0]]
    elif kind == 2:
        entry["tree"] = generator.choice(data["proof"])["tree"]
    else:
        data["weights"].append("2")


def _ends(data: Data, generator: random.Random) -> None:
    """A lower supremum, that of the instance if it is none of the proof, and multipliers with it."""
    factor = Fraction(generator.randint(8, 12), 10)
    for entry in data["proof"]:
        _scale(entry["tree"], factor)
    data["supremum"] = generator.choice([data["ratio"], str(Fraction(data["supremum"]) * factor), "6/5", "2"])
    if generator.random() < 0.5:
        data.pop("limit", None)


def _scale(node: Data, factor: Fraction) -> None:
    for key, value in node.items():
        if isinstance(value, list):
            node[key] = [str(Fraction(each) * factor) for each in value]
        elif key != "split":
            _scale(value, factor)


def test_forged_weights_prove_nothing_false() -> None:
    """300 forgeries, some twice forged: what either verifier accepts is the supremum for the weights that it then says."""
    generator, refused = random.Random(54), 0
    methods = ("equal", "fifo-fastest", "srpt-knee", "sjf-fastest", "marginal", "fifo-marginal")
    for k in range(300):
        data = data_of(proven(methods[k % len(methods)]))
        for forger in ((_weights, _class, _ends)[k % 3], *([_weights] if k % 7 == 0 and k % 3 else [])):
            if "weights" in data and len(data["weights"]) == 2:
                forger(data, generator)
        accepted = verdicts(data)
        refused += accepted == (False, False)
        if any(accepted):
            weights = [Fraction(each) for each in data.get("weights", ["1"])]
            truth = prove_policy(data["method"], speeds=data["speeds"], weights=weights)
            assert Fraction(data["supremum"]) == truth.supremum
        assert accepted[0] == accepted[1]
    assert refused >= 180


def test_weights_of_a_certificate_are_positive_and_few() -> None:
    """Before anything is listed."""
    data = data_of(proven("equal"))
    for weights in ([], ["0", "1"], ["1"] * 65, None, "1"):
        with pytest.raises((ValueError, DlschedError)):
            verify(data | {"weights": weights})


def test_the_command_line_takes_weights(tmp_path: Path, cli: Callable[..., Ended]) -> None:
    """The fraction, the command that finds it again, with its limit, and the check."""
    proof, worst = tmp_path / "proof.json", tmp_path / "worst.json"
    asked = ["worst", "elastic_stream", "--method", "fifo-fastest", "--speeds", TWO, "--weights", "1,3"]
    said = cli(*asked, "--prove", "--certificate", proof, "-o", worst)
    assert (said.code, said.err) == (0, "")
    assert "speeds 1, 9/5, weights 1, 3: the supremum of objective / optimum is 4 (" in cli("check", worst, proof).out
    again = cli(*asked, "--node-limit", "9", "--prove").out
    assert "--speeds 1,9/5 --weights 1,3 --node-limit 9 --prove" in again
    assert "with the speeds and weights given" in again
    for words in (asked, ["worst", "ring_allocation", "--method", "doubling", "--weights", "1,3", "--prove"]):
        ended = cli(*words)
        assert (ended.code, "allowed: with --prove, for elastic_stream" in ended.line) == (2, True)

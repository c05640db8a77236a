"""Tables of speeds from text, and suprema of policies against known values, the simulator and random instances."""

import json
import random
import re
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import dlsched
from dlsched.core.errors import UsageError
from dlsched.core.limits import Limits
from dlsched.elastic_stream.instance import Instance, Job
from dlsched.worst.competitive.proven import POLICIES, prove_policy, speeds_of
from dlsched.worst.competitive.verification import verify


def test_fractions_laws_and_several_tables() -> None:
    """By hand: 2^(4/5) is 1.74 to hundredths; a serial half leaves 2 / (1 + 1/2)."""
    assert speeds_of("1,1.8") == ((1, Fraction(9, 5)),)
    assert speeds_of("linear; 1,1; power:4/5; amdahl:1/2", 2) == (
        *((1, 2), (1, 1), (1, Fraction(174, 100))),
        (1, Fraction(4, 3)),
    )


@pytest.mark.parametrize(
    ("text", "units", "said"),
    [
        ("1,9/5", 3, "found 2 of them, allowed: 3"),
        ("2,1", None, "that do not fall"),
        ("0,1", None, "positive"),
        ("-1,1", None, "positive"),
        ("nan,1", None, "found 'nan'"),
        ("1,1/0", None, "found '1/0'"),
        ("1e9", None, "found '1e9'"),
        ("1,12345678", None, "found '12345678'"),
        ("", None, "found ''"),
        ("cubic:3", 2, "found 'cubic:3'"),
        ("power:2", 2, "P from 0 to 1"),
        ("linear:2", 2, "without a number"),
        ("linear", None, "gpus: found none"),
        ("linear", 1000, "gpus: found 1000"),
        ("1;1;1;1;1", None, "at most 4"),
    ],
)
def test_speeds_that_are_refused(text: str, units: int | None, said: str) -> None:
    """Located, with what is allowed."""
    with pytest.raises(UsageError, match=said):
        speeds_of(text, units)


TWO, FOUR = "1,9/5", "1,9/5,5/2,31/10"


@pytest.mark.parametrize(
    ("speeds", "two", "three"),
    [
        (TWO, "6/5", "9/5"),
        ("1,7/4,9/4", "3/2", "129/76"),
        ("1,2,3,4", "4/3", "2"),
        (FOUR, "31/27", "465/296"),
        ("1,9/5,5/2,3,17/5,37/10", "222/215", "925/816"),
    ],
)
def test_equal_shares(speeds: str, two: str, three: str) -> None:
    """Values of a program of its own, with a linear program for each pair of orders, in floats."""
    for jobs, known in ((2, two), (3, three)):
        proven = prove_policy("equal", speeds=speeds_of(speeds), jobs=jobs)
        assert proven.supremum == Fraction(known)
        assert proven.ratio >= proven.supremum * Fraction(999, 1000)
        assert verify(json.loads(json.dumps(proven.as_data()))).supremum == Fraction(known)


def test_srpt_is_optimal_on_linear_speeds() -> None:
    """All units for the job with the least work left (Schrage 1968, on one machine)."""
    for jobs in (1, 2, 3):
        assert prove_policy("srpt-fastest", speeds=speeds_of("linear", 4), jobs=jobs).supremum == 1


def test_work_that_is_all_but_done_counts_as_work() -> None:
    """``weighted`` divides by the work left, at least 1e-150, on linear speeds the optimum (Schrage 1968)."""
    assert prove_policy("weighted", speeds=speeds_of("linear", 2), jobs=2).supremum == 1


def test_first_come_first_served_waits_for_all_before() -> None:
    """By hand: n - 1 short jobs come just after a long one, and wait as long as it takes: n times the optimum."""
    for jobs in (2, 3):
        proven = prove_policy("fifo-fastest", speeds=speeds_of("linear", 2), jobs=jobs)
        assert proven.supremum == jobs
        assert not proven.attained
        assert Fraction(999, 1000) * jobs < proven.ratio < jobs


def test_an_order_that_ties_alone_allow_is_not_shown() -> None:
    """By hand: each job comes just before the last ends, a bit shorter: flow times 1 + 2 + 3 for 1 + 1 + 1, or ties."""
    proven = prove_policy("sjf-fastest", speeds=speeds_of(FOUR), jobs=3)
    assert proven.supremum == 2
    assert Fraction(999, 1000) * 2 < proven.ratio < 2
    assert verify(json.loads(json.dumps(proven.as_data()))).supremum == 2


@pytest.mark.parametrize("speeds", [TWO, "1,7/4,9/4"])
@pytest.mark.parametrize("method", POLICIES)
def test_every_policy_is_proven_and_does_so_in_the_simulator(method: str, speeds: str) -> None:
    """Two jobs on two and three units: the certificate holds, and the simulator comes to .999 of the supremum."""
    proven = prove_policy(method, speeds=speeds_of(speeds), jobs=2)
    assert verify(json.loads(json.dumps(proven.as_data()))).supremum == proven.supremum
    found = dlsched.solve(proven.instance, method=method).objective
    assert found is not None
    reference = float(proven.schedule.flow.at) / 2
    assert found / reference == pytest.approx(float(proven.ratio), rel=1e-9)
    assert found / reference >= 0.999 * float(proven.supremum)


@pytest.mark.parametrize("method", ["equal", "srpt-knee", "las-fastest", "marginal", "weighted"])
def test_no_random_instance_is_worse(method: str) -> None:
    """Two jobs on two units, the optimum by a linear program for each order, in floats."""
    speeds = [float(each) for each in speeds_of(TWO)[0]]
    supremum = float(prove_policy(method, speeds=speeds_of(TWO), jobs=2).supremum)
    generator = random.Random(7)
    for _ in range(30):
        works = [generator.choice([1.0, 2.0, generator.uniform(0.1, 4)]) for _ in range(2)]
        arrivals = [0.0, generator.choice([0.0, works[0], works[0] / speeds[1], generator.uniform(0, 3)])]
        jobs = [
            Job(id=f"j{k}", arrival_s=a, epochs=w, epoch_time_s={m: 1 / s for m, s in enumerate(speeds, 1)})
            for k, (a, w) in enumerate(zip(arrivals, works, strict=True))
        ]
        found = dlsched.solve(Instance(name="drawn", units=2, jobs=jobs), method=method).objective
        assert found is not None
        assert 2 * found <= supremum * _optimum(arrivals, works, speeds) * (1 + 1e-9)


def _optimum(arrivals: list[float], works: list[float], speeds: list[float]) -> float:
    """Least flow time of two jobs: before the second arrives, while both are there, and after the first end."""
    least = np.inf
    divided = [(a, 2 - a) for a in range(3)]
    on = [0.0, *speeds]
    for first in (0, 1):  # who ends first; job 0 may end before job 1 arrives
        cost = np.array([1.0, *[2.0] * 3, 1.0])  # seconds of job 0 alone, of both by division, of the other
        work = np.zeros((2, 5))
        work[0, 0] = on[2]
        for k, row in enumerate(divided):
            work[0, 1 + k], work[1, 1 + k] = on[row[0]], on[row[1]]
        work[1 - first, 4] = on[2]
        alone = linprog(cost, A_ub=-work, b_ub=-np.array(works), bounds=[(arrivals[1], arrivals[1]), *[(0, None)] * 4])
        if alone.status == 0:
            least = min(least, alone.fun)
    if works[0] / on[2] <= arrivals[1]:
        least = min(least, sum(works) / on[2])
    return float(least)


def test_several_tables_are_worse_than_one() -> None:
    """A job has any of the tables: the supremum is at least that of each, and there is a tree for each choice."""
    tables = speeds_of("1,9/5;1,1")
    proven = prove_policy("equal", speeds=tables, jobs=2)
    assert proven.supremum >= max(prove_policy("equal", speeds=[each], jobs=2).supremum for each in tables)
    data = json.loads(json.dumps(proven.as_data()))
    assert [each["classes"] for each in data["proof"]] == [list(each) for each in product(range(2), repeat=2)]
    assert verify(data).supremum == proven.supremum


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"method": "plan"}, "it knows the whole stream"),
        ({"method": "priced"}, "in floats"),
        ({"method": "exploratory"}, "fixed number of seconds"),
        ({"method": "nothing"}, "method: found 'nothing', allowed: doubling"),
        ({"method": "nowhere.py:Policy"}, "nowhere.py:Policy: FileNotFoundError"),
        ({"jobs": 0}, "jobs: found 0"),
        ({"jobs": 6}, "jobs: found 6"),
        ({"limits": Limits(nodes=0)}, "found a node_limit after 0 linear programs"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], said: str) -> None:
    """By name, with the reason."""
    asked: dict[str, Any] = {"method": "equal", "speeds": speeds_of(TWO), "jobs": 2}
    with pytest.raises(UsageError, match=said):
        prove_policy(**asked | arguments)


def test_the_page_begins_with_the_policies() -> None:
    """Its first sentence names every policy that can be proven, of queues by their two halves, and how many they are."""
    page = (Path(__file__).parents[3] / "docs" / "competitive.md").read_text(encoding="utf-8")
    sentence = page.split("\n\n")[1].split(". ")[0]
    names = re.findall(r"`([\w-]+)`", sentence.partition("of dlsched: ")[2])
    halves = [name for name in names if name.endswith("-")]
    after = names[names.index(halves[-1]) + 1 :]
    alone = names[: names.index(halves[0])]
    assert {*alone, *(half + rule for half in halves for rule in after)} == {*POLICIES}
    assert f"these {len(POLICIES)} policies" in sentence

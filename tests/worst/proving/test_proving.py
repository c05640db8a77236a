"""``prove``, ``dlsched check`` of its certificates, and the page of proofs."""

import contextlib
import doctest
import io
import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dlsched import async_sgd, ring_allocation
from dlsched.core.errors import UsageError
from dlsched.core.limits import Limits
from dlsched.worst.proving import bound_by_order, prove, runs, verify


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"family": "elastic_stream"}, "family: found 'elastic_stream'"),
        ({"method": "equal"}, "method: found 'equal', allowed: doubling, marginal, hull"),
        ({"tables": "concave"}, "tables: found 'concave'"),
        ({"counts": "odd"}, "counts: found 'odd'"),
        ({"jobs": 6}, "jobs and gpus: found 6 and 5"),
        ({"jobs": 0}, "jobs and gpus: found 0 and 5"),
        ({"family": "async_sgd", "method": "marginal", "counts": "powers"}, "async_sgd: its times are convex"),
    ],
)
def test_what_cannot_be_proven_is_refused(arguments: dict[str, Any], said: str) -> None:
    """Names and sizes."""
    asked: dict[str, Any] = {"family": "ring_allocation", "method": "doubling", "gpus": 5}
    with pytest.raises(UsageError, match=said):
        prove(**asked | arguments)


def test_the_known_instance_at_nine() -> None:
    """By hand: doubling gives 4 + 2 of 9 GPUs, 8 + 1 costs 8 parts of 12."""
    proven = prove("ring_allocation", "doubling", gpus=9)
    assert (proven.supremum, proven.attained, proven.ratio) == (Fraction(3, 2), True, Fraction(3, 2))
    assert isinstance(proven.instance, ring_allocation.Instance)
    held = ring_allocation.doubling(proven.instance)
    best = ring_allocation.solve(proven.instance)
    assert held is not None
    assert ring_allocation.objective(proven.instance, held) == 1.5 * (best.objective or 0.0)


def test_what_is_only_approached_is_said() -> None:
    """A ratio close to the supremum, and below it."""
    proven = prove("ring_allocation", "marginal", gpus=9, tables="sublinear")
    assert proven.supremum == 4
    assert not proven.attained
    assert 4 - Fraction(1, 10**5) < proven.ratio < 4


def test_one_job_gets_what_is_best() -> None:
    """On convex tables; with a plateau it stops at 1 GPU."""
    assert prove("ring_allocation", "doubling", jobs=1, gpus=8).supremum == 1
    assert prove("ring_allocation", "doubling", jobs=1, gpus=8, tables="sublinear").supremum == 4


def test_marginal_gain_of_async_sgd_is_optimal() -> None:
    """Its times are convex in the nodes, whatever the job (``queueing.throughput``)."""
    proven = prove("async_sgd", "marginal", jobs=2, gpus=6, counts="all")
    assert (proven.supremum, proven.attained) == (1, True)
    assert isinstance(proven.instance, async_sgd.Instance)
    assert verify(proven.as_data()).supremum == 1
    other = async_sgd.Instance(name="other", nodes=7, jobs=proven.instance.jobs)
    with pytest.raises(ValueError, match="nodes"):
        verify(proven.as_data() | {"instance": other.as_data()})
    ring = prove("ring_allocation", "marginal", jobs=2, gpus=6, counts="all").as_data()
    with pytest.raises(ValueError, match="family"):
        verify(proven.as_data() | {"instance": ring["instance"]})


def test_limits_end_it() -> None:
    """A proof that is not done is none."""
    with pytest.raises(UsageError, match="limits: found a node_limit after 5 linear programs"):
        prove("ring_allocation", "doubling", gpus=17, limits=Limits(nodes=5))


def test_what_is_far_too_large_is_refused_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before memory ends; and the time counts while ends are listed."""
    monkeypatch.setattr(runs, "LARGEST", 4000)
    with pytest.raises(UsageError, match="found 1000 ends of runs or more"):
        prove("ring_allocation", "hull", jobs=4, gpus=64, counts="all")
    with pytest.raises(UsageError, match="found a time_limit after 0 linear programs"):
        prove("ring_allocation", "hull", jobs=4, gpus=64, counts="all", limits=Limits(time_s=0.0))


def test_progress_is_reported() -> None:
    """Numbers of programs, rising."""
    seen: list[int] = []
    proven = prove(
        "ring_allocation", "marginal", gpus=9, counts="all", progress=lambda progress: seen.append(progress.nodes)
    )
    assert seen == sorted(seen)
    assert 0 < seen[-1] <= proven.programs


def test_the_same_question_has_the_same_answer() -> None:
    """Certificates are reproducible."""
    first, second = (prove("ring_allocation", "hull", gpus=5, counts="all").as_data() for _ in range(2))
    assert first == second


def test_many_jobs_take_no_memory_for_their_orders() -> None:
    """Twenty jobs on as many GPUs have one allocation, and more orders than memory holds."""
    assert prove("ring_allocation", "doubling", jobs=20, gpus=20).supremum == 1


DOUBLING = {"method": "doubling", "gpus": 5}


@pytest.fixture
def save(tmp_path: Any) -> Any:
    """Write data as JSON and return the path."""

    def write(data: Any, name: str) -> Any:
        path = tmp_path / name
        path.write_text(json.dumps(data), encoding="utf-8")
        return path

    return write


def test_a_true_proof_is_verified(cli: Any, save: Any) -> None:
    """What it is the supremum of, and what the instance has; 5/4 for doubling on 5 GPUs by hand: 10, 8 / 4 + 2, 1."""
    proven = prove("ring_allocation", **DOUBLING)
    ended = cli("check", save(proven.instance.as_data(), "instance.json"), save(proven.as_data(), "proof.json"))
    assert (ended.code, ended.err) == (0, "")
    first, second = ended.out.splitlines()
    asked = "verified: doubling, 2 jobs on 5, convex tables, counts powers: "
    assert first.startswith(f"{asked}the supremum of objective / optimum is 5/4 (")
    assert second == "verified: the instance has 5/4, the largest there is"


def test_no_bound_is_said(cli: Any, save: Any) -> None:
    """Where there is no supremum."""
    proven = prove("ring_allocation", "marginal", gpus=5, tables="monotone")
    ended = cli("check", save(proven.instance.as_data(), "instance.json"), save(proven.as_data(), "proof.json"))
    assert ended.code == 0
    assert "objective / optimum has no bound" in ended.out
    assert f"the instance has {proven.ratio}\n" in ended.out


def test_a_forged_proof_is_7(cli: Any, save: Any) -> None:
    """The supremum of 6 GPUs is not that of 5."""
    proven = prove("ring_allocation", **DOUBLING)
    forged = save(proven.as_data() | {"supremum": "1"}, "proof.json")
    ended = cli("check", save(proven.instance.as_data(), "instance.json"), forged)
    assert ended.code == 7
    assert ended.out.startswith("FAILED  proof: ")


def test_a_proof_of_another_instance_or_none_is_3(cli: Any, save: Any) -> None:
    """It names the file."""
    proven, other = prove("ring_allocation", **DOUBLING), prove("ring_allocation", "doubling", gpus=9)
    ended = cli("check", save(other.instance.as_data(), "instance.json"), save(proven.as_data(), "proof.json"))
    assert ended.code == 3
    assert "proof.json: instance: found 'worst-doubling-2-jobs-5-gpus-convex-powers'" in ended.err
    ended = cli("check", save(proven.instance.as_data(), "instance.json"), save({"kind": "worst"}, "proof.json"))
    assert ended.code == 3
    assert "proof.json: certificate: found the fields" in ended.err


PAGE = (Path(__file__).parents[3] / "docs" / "worst_proofs.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_its_example_prints_what_it_shows(cli: Any, tmp_path: Path) -> None:
    """The proof, and what check says of it."""
    (_, code), (_, shown), (_, checked), _ = BLOCKS
    out, names = io.StringIO(), dict[str, Any]()
    with contextlib.redirect_stdout(out):
        exec(code, names)
    assert out.getvalue() == shown
    for name, data in (("worst", names["proven"].instance.as_data()), ("proof", names["proven"].as_data())):
        (tmp_path / f"{name}.json").write_text(json.dumps(data), encoding="utf-8")
    ended = cli("check", tmp_path / "worst.json", tmp_path / "proof.json")
    assert ended.out == checked.partition("\n")[2]


def test_its_example_of_more_jobs_is_true() -> None:
    """A session of Python."""
    session = doctest.DocTestParser().get_doctest(BLOCKS[3][1], {}, "worst_proofs", None, None)
    assert doctest.DocTestRunner().run(session).failed == 0
    assert len(session.examples) == 3


def none(_: int, __: int) -> None:
    """No bound."""


FORMULAS: dict[tuple[str, str, str], Callable[[int, int], Fraction | None]] = {
    ("doubling", "powers", "monotone"): none,
    ("doubling", "powers", "sublinear"): lambda m, p: Fraction(p, 2),
    ("doubling", "powers", "convex"): lambda m, p: Fraction(2 * p + 2, p + 4),
    ("marginal", "powers", "monotone"): none,
    ("marginal", "powers", "sublinear"): lambda m, p: Fraction(p, 2),
    ("marginal", "all", "monotone"): none,
    ("marginal", "all", "sublinear"): lambda m, p: Fraction(m, 2),
    ("marginal", "all", "convex"): lambda m, p: Fraction(1),
    ("hull", "powers", "any"): lambda m, p: Fraction(p - 1),
    ("hull", "powers", "monotone"): lambda m, p: Fraction(p - 1),
    ("hull", "powers", "sublinear"): lambda m, p: Fraction(3 * p, p + 4),
    ("hull", "powers", "convex"): lambda m, p: Fraction(2 * p + 2, p + 4),
    ("hull", "all", "monotone"): lambda m, p: Fraction(m - 1),
    ("hull", "all", "sublinear"): lambda m, p: Fraction(2 * m - 1, m + 1),
    ("hull", "all", "convex"): lambda m, p: Fraction(1),
}


SIZES = [
    (case, jobs, gpus)
    for case in FORMULAS
    for jobs, gpus in ([(2, 5), (3, 5)] if case[:2] == ("hull", "all") else [(2, 5), (2, 9), (3, 6)])
]


@pytest.mark.parametrize(("case", "jobs", "gpus"), SIZES)
def test_its_formulas_are_what_is_proven(case: tuple[str, str, str], jobs: int, gpus: int) -> None:
    """Where C = P + J - 1."""
    method, counts, tables = case
    most = gpus - jobs + 1
    found = prove("ring_allocation", method, jobs=jobs, gpus=gpus, tables=tables, counts=counts).supremum
    assert found == FORMULAS[case](most, 1 << (most.bit_length() - 1))


@pytest.mark.parametrize(
    ("method", "jobs", "gpus", "counts", "value"),
    [
        ("doubling", 2, 9, "powers", 3 / 2),
        ("doubling", 2, 12, "powers", 1.0),
        ("doubling", 3, 7, "powers", 6 / 5),
        ("doubling", 2, 5, "all", 7 / 5),
        ("marginal", 2, 6, "all", 1.0),
    ],
)
def test_bounds_are_the_suprema(method: str, jobs: int, gpus: int, counts: str, value: float) -> None:
    """Numbers of the proofs in rationals; 1 is Fox's theorem."""
    found = bound_by_order(method, jobs=jobs, gpus=gpus, counts=counts)
    assert (found.ratio, found.bound) == (pytest.approx(value, abs=1e-6), pytest.approx(value, abs=1e-6))


@pytest.mark.parametrize("asked", [{"method": "hull"}, {"tables": "sublinear"}, {"method": "equal"}])
def test_what_it_does_not_know(asked: dict[str, str]) -> None:
    """Steps over several counts, and savings that rise."""
    arguments = {"method": "doubling", "tables": "convex"} | asked
    with pytest.raises(UsageError, match="method"):
        bound_by_order(arguments["method"], jobs=2, gpus=5, tables=arguments["tables"])

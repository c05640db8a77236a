"""``prove``: what it refuses, what it reports, limits, and the instances that it shows."""

from fractions import Fraction
from typing import Any

import pytest

from dlsched import async_sgd, ring_allocation
from dlsched.core.errors import UsageError
from dlsched.core.limits import Limits
from dlsched.worst.proving import prove, runs, verify


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

"""Who is there at a moment, what each has left, the size of the cluster, and who is given GPUs first."""

import pytest

from dlsched import matching_placement, ring_allocation
from dlsched.core.errors import InputError, UsageError
from dlsched.traces.gpu_counts import gpus_of_cluster, most_held
from dlsched.traces.makers.matching_placement import placement_of, published_speed
from dlsched.traces.makers.ring_allocation import allocation_of, counts_of, curve_of, ratios
from dlsched.traces.queue import Queue, QueuedJob, QueueNode
from dlsched.traces.snapshot import Present, admitted, moment_of, snapshot
from tests.traces.drawn import queue

NAN = float("nan")


def job(
    name: str, submit_s: float, start_s: float | None, end_s: float | None, gpus: int = 1, **more: object
) -> QueuedJob:
    """A job that ran from start to end, where both are known."""
    ran_s = None if start_s is None or end_s is None else end_s - start_s
    return QueuedJob(name, "", "", submit_s, start_s, end_s, ran_s, gpus, **more)  # type: ignore[arg-type]


EIGHT = queue(
    job("gone", 0, 0, 100),  # ends at the moment
    job("long gone", 0, 0, 300, line=9)._replace(end_s=None),  # says how long it ran, not when
    job("runs", 10, 40, 200),
    job("begins", 20, 100, 130, limit_s=500.0),
    job("waits", 90, 150, 190),
    job("open", 30, 30, None, limit_s=100.0),
    job("unknown", 50, None, None),
    job("later", 101, 101, 300),
)


def found(**more: object) -> dict[str, tuple[bool, float, float]]:
    """At 100 s: running, has run, has left."""
    return {each.job.id: each[1:] for each in snapshot(EIGHT, 100.0, **more).jobs}  # type: ignore[arg-type]


def test_who_is_there_and_what_is_left() -> None:
    """By the record: 200 - 100, 130 - 100, 190 - 150; by the limit: 100 - 70; else as the one job that ended, 100 s."""
    assert found() == {
        "open": (True, 70.0, 30.0),
        "runs": (True, 60.0, 100.0),
        "begins": (True, 0.0, 30.0),
        "unknown": (False, 0.0, 100.0),
        "waits": (False, 0.0, 40.0),
    }
    assert list(found()) == ["open", "runs", "begins", "unknown", "waits"]
    said = snapshot(EIGHT, 100.0).audit
    assert said[0] == "Jobs running at that moment: 3; waiting: 2."
    assert "Jobs with a duration but no start or end, assumed to have ended: 1 (first in line 9)." in said


def test_estimates_come_before_the_record() -> None:
    """The limit of ``begins`` is 500 s, that of ``open`` 100 s; the others say nothing, and have the median, 300 s."""
    silent = {"runs": (True, 60.0, 240.0), "unknown": (False, 0.0, 300.0), "waits": (False, 0.0, 300.0)}
    assert found(estimates=True) == found() | {"begins": (True, 0.0, 500.0)} | silent
    said = "Jobs without a requested run time, nor has their partition any: given the median of the file: 3."
    assert said in snapshot(EIGHT, 100.0, estimates=True).audit


def test_lengths_that_are_not_known() -> None:
    """Of a job that ran beyond its limit, of one that has run for 70 s and lasts 140, and of one that waits, an hour."""
    over = snapshot(queue(job("a", 0, 30, None, limit_s=50.0)), 100.0)
    assert over.jobs[0].left_s == 60.0 and "longer than their users requested" in over.audit[1]
    alone = snapshot(queue(job("a", 0, 30, None), job("b", 40, None, None)), 100.0)
    assert [each.left_s for each in alone.jobs] == [70.0, 3600.0]
    ends = [sentence.partition(" assumed to last ")[2].partition(":")[0] for sentence in alone.audit[1:]]
    assert ends == ["twice as long as they have run", "3600 s"]


def test_the_moment_is_the_latest_of_the_file() -> None:
    """What a reader says of it, else the latest time of any job."""
    assert snapshot(queue(*EIGHT.jobs, latest_s=120.0)).at_s == 120.0
    assert snapshot(queue(job("a", 0, None, None), job("b", 0, 1, 7))).at_s == 7.0


def test_nobody_is_there() -> None:
    """The error says when jobs came."""
    with pytest.raises(InputError, match=r"found no job that runs or waits at 400, .* 0 to 101$"):
        snapshot(queue(EIGHT.jobs[0], EIGHT.jobs[-1]), 400.0)
    dated = Queue("slurm", "dump", (EIGHT.jobs[0], EIGHT.jobs[-1]), ())
    with pytest.raises(InputError, match=r"at 1970-01-01T00:06:40, .* 1970-01-01T00:00:00 to 1970-01-01T00:01:41$"):
        snapshot(dated, moment_of(dated, "1970-01-01T00:06:40"))
    with pytest.raises(InputError, match="found no job that says when it ran"):
        snapshot(queue(EIGHT.jobs[1]))


def test_moments_are_written_as_the_queue_writes_them() -> None:
    """Seconds, or dates, in UTC where there is no zone; 2026-01-31T07:00 is 1,769,842,800 s after 1970 began."""
    dated = Queue("slurm", "dump", EIGHT.jobs, ())
    assert moment_of(EIGHT, "12.5") == 12.5
    assert moment_of(dated, "2026-01-31T07:00:00") == moment_of(dated, "2026-01-31T09:00:00+02:00") == 1769842800.0
    for where, text in ((EIGHT, "2026-01-31"), (dated, "12"), (dated, "soon"), (EIGHT, ""), (EIGHT, "nan")):
        with pytest.raises(UsageError, match=r"^at: found "):
            moment_of(where, text)


def test_gpus_of_the_cluster() -> None:
    """Given; of the nodes; the most at once, where an end comes before a start: 2 + 3 from 5 s on, and 4 alone."""
    jobs = (job("a", 0, 0, 5, 4), job("b", 0, 5, None, 2), job("c", 0, 6, 9, 3), job("d", 0, None, None, 50))
    assert most_held(jobs) == 5
    assert gpus_of_cluster(queue(*jobs), 2, 7) == (7, [])
    assert gpus_of_cluster(queue(*jobs), 2, None)[0] == 5
    assert gpus_of_cluster(queue(*jobs, nodes=(QueueNode("n", 8), QueueNode("m", 0))), 2, None)[0] == 8
    with pytest.raises(UsageError, match="gpus: found 0"):
        gpus_of_cluster(queue(*jobs), 2, 0)


def test_who_is_admitted() -> None:
    """Of 8 GPUs 4 run; the first that waits needs 5, the second 3, the third 2."""
    at = snapshot(queue(job("r", 0, 0, None, 4), *(job(f"w{n}", n, None, None, n) for n in (5, 3, 2))), 10.0)
    # in the order in which they came: 2, 3, 5
    inside, said = admitted(at, 8, lambda each: each.job.gpus)
    assert [each.job.id for each in inside] == ["r", "w2"]
    assert said == ["Jobs left out (first come, first served), as their smallest count no longer fits: 2."]
    with pytest.raises(UsageError, match="gpus: found 3, allowed: at least 4, which jobs that run hold"):
        admitted(at, 3, lambda each: each.job.gpus)
    waiting = at._replace(jobs=at.waiting)
    with pytest.raises(UsageError, match="gpus: found 1, allowed: at least 2, the smallest count"):
        admitted(waiting, 1, lambda each: each.job.gpus)


def test_an_allocation_of_the_moment() -> None:
    """An epoch is a second; running jobs have what they hold; the curve is that of the whole job's GPU-hours."""
    two = queue(
        job("r", 0, 0, 7200, 4), job("w", 50, 200, 260, 2, least_gpus=2), job("x", 60, None, None, 9, limit_s=5.0)
    )
    made = allocation_of(two, gpus=6, at="100", restart_s=30.0)
    instance = made.instance
    assert isinstance(instance, ring_allocation.Instance)
    assert [(each.id, each.epochs, each.current_gpus, each.restart_s) for each in instance.jobs] == [
        ("r", 7100.0, 4, 30.0),
        ("w", 60.0, None, 0.0),
        ("x", 5.0, None, 0.0),
    ]
    curve = dict(ratios(curve_of(4, 7200), 4, 0))
    tables = [dict(zip(each.epoch_time_s.counts, each.epoch_time_s.times_s, strict=True)) for each in instance.jobs[:2]]
    assert tables == [curve, {2: 1.0}]
    assert set(curve) == {1, 2, 4} and curve[4] == 1.0
    assert made.jobs == two.jobs and made.happened is None
    assert all(sentence in (instance.source or "") for sentence in made.audit)
    pinned = allocation_of(two, gpus=6, at="100", pinned=True).instance
    assert isinstance(pinned, ring_allocation.Instance)
    assert [each.id for each in pinned.jobs] == ["r", "w"]
    assert pinned.counts(0) == (4,)
    solved = ring_allocation.solve(pinned, method="exact")
    assert solved.solution is not None and dict(solved.solution.gpus) == {"r": 4, "w": 2}


def test_counts_in_proportion() -> None:
    """From 2 GPUs on: 4 / 2, 4 / 3, 1."""
    each = Present(job("a", 0, None, None, 4, least_gpus=2), False, 0.0, 5.0)
    assert counts_of("own")(each) == {2: 2.0, 3: 4 / 3, 4: 1.0}
    assert list(counts_of(max_gpus=8)(each)) == [2, 4, 8]
    for words, options in (("scaling: found 'x'", {"scaling": "x"}), ("max_gpus", {"scaling": "own", "max_gpus": 4})):
        with pytest.raises(UsageError, match=words):
            counts_of(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("restart_s", [-1.0, NAN, float("inf")])
def test_restarts_cost_something_finite(restart_s: float) -> None:
    """Or nothing."""
    with pytest.raises(UsageError, match="restart_s: found"):
        allocation_of(EIGHT, gpus=60, at="100", restart_s=restart_s)


TYPED = queue(
    job("a", 0, 0, 300, 2, gpu_type="V100"),
    job("b", 0, 0, 400, 1, gpu_type="V100M16|V100M32"),
    job("c", 0, None, None, 1, limit_s=60.0),
    job("d", 0, None, None, 1, limit_s=60.0, gpu_type="G2"),
    nodes=(QueueNode("n", 2, "V100M32"), QueueNode("m", 3, "Tesla-T4")),
)


def test_workers_and_rates_by_type() -> None:
    """T4 over V100 is 208.141 / 323.855 by the published table; what names no type has rate 1 on the most frequent one."""
    made = placement_of(TYPED, at="100")
    instance = made.instance
    assert isinstance(instance, matching_placement.Instance)
    assert [(each.id, each.type) for each in instance.workers] == [
        ("n/0", "V100M32"),
        ("n/1", "V100M32"),
        *((f"m/{index}", "Tesla-T4") for index in range(3)),
    ]
    slower, faster = 208.141 / 323.855, 323.855 / 208.141
    assert {each.id: dict(each.samples_per_s) for each in instance.jobs} == {
        "a": {"V100M32": 1.0, "Tesla-T4": pytest.approx(slower)},
        "b": {"V100M32": 1.0, "Tesla-T4": pytest.approx(slower)},
        "c": {"V100M32": pytest.approx(faster), "Tesla-T4": 1.0},
    }
    assert (
        "Jobs that name GPU types that are neither in the cluster nor in a table of speeds, left out: 1." in made.audit
    )
    assert (published_speed("A100-SXM4-80GB"), published_speed("A1000"), published_speed("")) == (827.726, None, None)


@pytest.mark.parametrize("gradient_bytes", [0.0, 1e9])
def test_a_job_lasts_as_long_as_it_does(gradient_bytes: float) -> None:
    """On GPUs of its own type, as many as it asks for, exchange included: 200 s are left of job a on both V100."""
    made = placement_of(TYPED, at="100", gradient_bytes=gradient_bytes, bandwidth_bytes_per_s=1e10)
    assert isinstance(made.instance, matching_placement.Instance)
    placement = matching_placement.Placement({"a": ["n/0", "n/1"], "b": ["m/0"], "c": ["m/1"]})
    times = matching_placement.completion_times(made.instance, placement)
    assert times["a"] == pytest.approx(200.0)
    assert times["c"] == pytest.approx(60.0)


def test_workers_without_a_list_of_nodes() -> None:
    """All are of the one type that jobs name, else of no type."""
    one = placement_of(queue(TYPED.jobs[0]), at="100", gpus=3).instance
    several = placement_of(queue(TYPED.jobs[0], TYPED.jobs[3]), at="100", gpus=3).instance
    for instance, kind in ((one, "V100"), (several, "GPU")):
        assert isinstance(instance, matching_placement.Instance)
        assert [(each.id, each.type) for each in instance.workers] == [(f"more/{index}", kind) for index in range(3)]
        assert instance.jobs[0].samples_per_s == {kind: 1.0}

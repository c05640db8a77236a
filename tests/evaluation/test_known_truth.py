"""Logs whose truth is known: MIG, arrays of which so many tasks run at once, starts, ends and limits that are missing."""

from pathlib import Path

import pytest

from dlsched import srpt_mapping, study
from dlsched.advice import decide
from dlsched.evaluation.clusters import HAPPENED, clusters_of
from dlsched.evaluation.question import Question, pieces, plan_of
from dlsched.traces import read_queue
from dlsched.traces.makers.srpt_mapping import gangs_of

from .known_log import GPUS, MINUTES, Log, simulated


@pytest.mark.parametrize("seed", range(2))
def test_waiting_use_and_what_others_held_are_the_true_ones(seed: int, tmp_path: Path) -> None:
    """Of what happened to the jobs that completed on whole GPUs."""
    log = simulated(seed)
    queue = read_queue("slurm", str(log.write(tmp_path / "sacct.txt")), states="COMPLETED")
    question = Question(queue, policies=("fifo",), gpus=(GPUS,))
    made = pieces(question)
    with study.run(plan_of(question, made, "by hand"), tmp_path / "store", workers=1) as ran:
        (found,) = clusters_of(ran, made, question.policies)
    assert sorted(found.jobs.ids) == sorted(str(job.raw) for job in log.kept)
    assert float(found.fates[HAPPENED].waiting_s.mean()) == pytest.approx(log.waiting_s, rel=1e-12)
    assert found.fates[HAPPENED].used.share == pytest.approx(float(log.used), rel=1e-12)
    assert found.outside == pytest.approx(float(log.outside), rel=1e-12)
    assert found.left_out == sum(bool(job.kind) and not job.failed and job.ended for job in log.jobs)


@pytest.mark.parametrize("seed", range(4, 11))
def test_many_logs(seed: int, tmp_path: Path) -> None:
    """The same of the instance alone, and the limits that policies are told."""
    log = simulated(seed)
    made = gangs_of(
        read_queue("slurm", str(log.write(tmp_path / "sacct.txt")), states="COMPLETED"), gpus=GPUS, estimates=True
    )
    instance, happened = made.instance, made.happened
    assert isinstance(instance, srpt_mapping.Instance) and isinstance(happened, srpt_mapping.Schedule)
    waits_s = [happened.jobs[job.id].start_s - job.release_s for job in instance.jobs]
    assert sum(waits_s) / len(waits_s) == pytest.approx(log.waiting_s, rel=1e-12)
    assert made.outside[0] / made.outside[1] == pytest.approx(float(log.outside), rel=1e-12)
    told_s = {job.id: job.predicted * job.stages[0].compute_s for job in instance.jobs}
    assert told_s == pytest.approx(dict(zip((str(job.raw) for job in log.kept), log.limits_s, strict=True)))
    assert made.silent == {str(job.raw) for job in log.kept if job.limit is None}


@pytest.mark.parametrize("seed", [*range(8), 118])
def test_arrays_start_no_more_tasks_than_they_may(seed: int, tmp_path: Path) -> None:
    """On a cluster with room for everyone: all that wait start, of arrays as many as are allowed beside those that run."""
    log = simulated(seed)
    queue = read_queue("slurm", str(log.write(tmp_path / "sacct.txt")), False)
    for family in ("srpt_mapping", "elastic_stream", "ring_allocation"):
        advice = decide(queue, family=family, gpus=500, **({} if family == "srpt_mapping" else {"scaling": "own"}))
        assert sorted(each.job for each in advice.actions if each.action == "start") == sorted(_may_start(log))
        held = sum(job.gpus for job in log.running() if not job.kind) + _fewest_gpus(log)
        assert advice.free == 500 - held
        assert len(advice.actions) == len(_waiting(log)) + sum(not job.kind for job in log.running())


def _waiting(log: Log) -> list[str]:
    return [
        job.name if job.array else str(job.raw)
        for job in log.jobs
        if not job.kind and (job.start is None or job.start > MINUTES)
    ]


def _may_start(log: Log) -> list[str]:
    room = {name: most - sum(job.array == name for job in log.running()) for name, most in log.most.items()}
    found = []
    for name in _waiting(log):
        array = name.split("_")[0] if "_" in name else ""
        if not array or room[array] > 0:
            found.append(name)
            room[array] = room.get(array, 0) - 1
    return found


def _fewest_gpus(log: Log) -> int:
    """On which the slices fit that run, tried out."""
    sizes = sorted((7 * job.parts for job in log.running() if job.kind), reverse=True)

    def fits(index: int, rooms: list[int]) -> bool:
        return index == len(sizes) or any(
            sizes[index] <= room and fits(index + 1, [*rooms[:place], room - int(sizes[index]), *rooms[place + 1 :]])
            for place, room in enumerate(rooms)
        )

    return next(count for count in range(len(sizes) + 1) if fits(0, [7] * count))

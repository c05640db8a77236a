"""Records of a scheduler that gives jobs whole nodes or a single one: it is seen, or inferred, and then reproduced."""

import random
from dataclasses import replace

import pytest

from dlsched.evaluation.measures import times_of
from dlsched.evaluation.question import Piece, Question, pieces
from dlsched.srpt_mapping import Instance, check
from dlsched.srpt_mapping.heuristics import POLICIES
from dlsched.traces.consolidation import FEWEST
from dlsched.traces.queue import Queue, QueuedJob, QueueNode

NODES = tuple(QueueNode(f"n{index}", 4) for index in range(4))
WORD = "consolidated"


def queue_of(seed: int, jobs: int = 80) -> Queue:
    """A strict queue minute by minute: a job of 4 or 8 GPUs takes free nodes, a smaller one the fullest node that holds it."""
    draw = random.Random(seed)
    submits = sorted(draw.randrange(40 * jobs) for _ in range(jobs))
    waiting = [(at, draw.choice([1, 1, 2, 4, 8]), draw.randrange(30, 300)) for at in submits]
    running: list[tuple[int, dict[str, int]]] = []
    made: list[QueuedJob] = []
    minute = 0
    while waiting:
        submit, gpus, runs = waiting[0]
        free = {node.id: 4 - sum(taken.get(node.id, 0) for end, taken in running if end > minute) for node in NODES}
        if gpus >= 4:
            on = [name for name, count in free.items() if count == 4][: gpus // 4]
            place = dict.fromkeys(on, 4) if 4 * len(on) == gpus else {}
        else:
            fitting = sorted((count, name) for name, count in free.items() if count >= gpus)
            place = {fitting[0][1]: gpus} if fitting else {}
        if submit <= minute and place:
            running.append((minute + runs, place))
            ends = 60.0 * (minute + runs)
            name = f"j{len(made)}"
            stated = {"submit_s": 60.0 * submit, "start_s": 60.0 * minute, "end_s": ends, "duration_s": 60.0 * runs}
            made.append(QueuedJob(name, "ann", "", gpus=gpus, nodes=tuple(place), **stated))  # type: ignore[arg-type]
            waiting.pop(0)
        else:
            minute += 1
    return Queue("csv", "jobs.csv", tuple(made), (), nodes=NODES)


def only_piece(queue: Queue, **options: object) -> Piece:
    """The piece of a queue of one pool on its own cluster."""
    (made,) = pieces(Question(queue, policies=("fifo", "easy", "shortest-backfill"), **options))  # type: ignore[arg-type]
    return made


def placed(made: Piece) -> tuple[str, list[str]]:
    """The placement of the instance, and what the audit says of it."""
    assert isinstance(made.imported.instance, Instance)
    return made.imported.instance.placement, [each for each in made.audit if WORD in each]


@pytest.mark.parametrize("seed", range(3))
def test_what_nodes_show_is_reproduced(seed: int) -> None:
    """Every start is that of ``fifo`` with consolidated placement; placed anywhere, jobs wait less."""
    made = only_piece(queue_of(seed))
    instance = made.imported.instance
    assert isinstance(instance, Instance) and made.happened is not None
    placement, (said,) = placed(made)
    assert placement == WORD and "all jobs on several GPUs" in said
    schedule = POLICIES["fifo"](instance)
    assert schedule is not None and check(instance, schedule) == []
    assert times_of(instance, schedule).start_s.tolist() == made.happened.start_s.tolist()
    anywhere = POLICIES["fifo"](instance.model_copy(update={"placement": "any"}))
    assert anywhere is not None
    waits_s = [schedule.jobs[job.id].start_s - anywhere.jobs[job.id].start_s for job in instance.jobs]
    assert sum(waits_s) > 0


def test_one_scattered_job_shows_that_any_node_will_do() -> None:
    """It took two nodes for two GPUs, which were free on both."""
    queue = queue_of(0)
    last = max(queue.jobs, key=lambda job: job.end_s or 0.0)
    alone = last._replace(id="scattered", submit_s=(last.end_s or 0.0) + 60, gpus=2, nodes=("n0", "n1"))
    alone = alone._replace(start_s=alone.submit_s, end_s=alone.submit_s + last.length_s)
    assert placed(only_piece(replace(queue, jobs=(*queue.jobs, alone)))) == ("any", [])


def test_few_jobs_show_nothing() -> None:
    """Fewer than ``FEWEST`` on several GPUs."""
    queue = queue_of(0)
    several = [job for job in queue.jobs if job.gpus > 1][: FEWEST - 1]
    assert placed(only_piece(replace(queue, jobs=tuple(several)))) == ("any", [])
    several = [job for job in queue.jobs if job.gpus > 1][:FEWEST]
    assert placed(only_piece(replace(queue, jobs=tuple(several))))[0] == WORD


def test_without_nodes_it_is_inferred() -> None:
    """Where first-come policies are off by more than a twentieth else; not where the queue was served otherwise."""
    queue = queue_of(6)
    jobs = tuple(job._replace(nodes=(), eligible_s=job.submit_s) for job in queue.jobs)
    bare = replace(queue, nodes=(), jobs=jobs)
    made = only_piece(bare, gpus=(16,), options={"gpus_of_node": 4})
    placement, (said,) = placed(made)
    assert placement == WORD and "assumed to be consolidated" in said and "names no nodes" in said
    later = tuple(
        job._replace(start_s=job.submit_s + 1e6, end_s=job.submit_s + 1e6 + job.length_s) for job in bare.jobs
    )
    assert placed(only_piece(replace(bare, jobs=later), gpus=(400,), options={"gpus_of_node": 4})) == ("any", [])


def test_windows_and_other_sizes_have_todays_placement() -> None:
    """Jobs that have begun stay where they are; a cluster of 24 GPUs is given the rule too."""
    queue = queue_of(2)
    made = pieces(Question(queue, policies=("fifo",), gpus=(16, 24), window_s=48 * 3600.0))
    assert len(made) > 2 and {placed(each)[0] for each in made} == {WORD}
    for each in made:
        assert isinstance(each.imported.instance, Instance)
        schedule = POLICIES["easy"](each.imported.instance)
        assert schedule is not None and check(each.imported.instance, schedule) == []

"""From a queue of three jobs to what became of them, by hand: with the store between."""

from pathlib import Path

import numpy as np
import pytest

from dlsched import study
from dlsched.core.errors import UsageError
from dlsched.evaluation.clusters import HAPPENED, Cluster, clusters_of, in_common
from dlsched.evaluation.question import MOST_WARNINGS, Question, audit_of, pieces, plan_of
from dlsched.traces.queue import Queue, Window

from .by_hand import FIFO_S, RUNS_S, SHORTEST_S, SUBMITS_S, cluster, three


def answered(question: Question, store: Path) -> list[Cluster]:
    """Run a question in one process."""
    made = pieces(question)
    with study.run(plan_of(question, made, "by hand"), store, workers=1) as ran:
        return clusters_of(ran, made, question.policies)


def flows_s(starts_s: tuple[float, ...]) -> list[float]:
    """Flow times of starts."""
    return [start + run - submit for start, run, submit in zip(starts_s, RUNS_S, SUBMITS_S, strict=True)]


def test_every_policy_job_by_job(tmp_path: Path) -> None:
    """The starts that paper gives; the cluster is in use from the first submission to the last end."""
    (found,) = answered(Question(three(), policies=("fifo", "shortest-first"), gpus=(8,)), tmp_path / "store")
    assert list(found.fates) == [HAPPENED, "fifo", "shortest-first"]
    for name, starts_s in ((HAPPENED, FIFO_S), ("fifo", FIFO_S), ("shortest-first", SHORTEST_S)):
        fate = found.fates[name]
        assert fate.waiting_s.tolist() == [start - submit for start, submit in zip(starts_s, SUBMITS_S, strict=True)]
        assert fate.flow_s.tolist() == flows_s(starts_s)
        assert fate.slowdown.tolist() == pytest.approx(
            [flow / run for flow, run in zip(fate.flow_s, RUNS_S, strict=True)]
        )
        assert fate.used.share == 1.0
    assert (found.baseline, found.best) == (HAPPENED, "shortest-first")
    assert found.change("shortest-first", HAPPENED).value == pytest.approx((367 - 407) / 3)
    assert found.least_flow_s is not None and found.least_flow_s <= 367 / 3 * (1 + 1e-9)
    assert (found.gpus, found.jobs.users, found.outside) == (8, ("ann", "bob", "ann"), 0.0)


def test_streams_are_followed_too(tmp_path: Path) -> None:
    """The same queue in elastic_stream, whose policies stop jobs: shortest first, the second and the third run at once.

    j0 runs to 1 s, j1 to 2 s, j2 to 12 s, j1 again to 61 s, and j0 to 160 s.
    """
    question = Question(three(), policies=("fifo-fixed", "sjf-fixed"), gpus=(8,), family="elastic_stream")
    (found,) = answered(question, tmp_path / "store")
    assert found.fates["fifo-fixed"].flow_s.tolist() == pytest.approx(flows_s(FIFO_S))
    assert found.fates[HAPPENED].flow_s.tolist() == pytest.approx(flows_s(FIFO_S))
    assert found.fates["sjf-fixed"].flow_s.tolist() == pytest.approx([160.0, 60.0, 10.0])
    assert found.fates["sjf-fixed"].waiting_s.tolist() == [0.0, 0.0, 0.0]
    assert found.fates["sjf-fixed"].scattered is None and found.fates["sjf-fixed"].used.share == pytest.approx(1.0)
    assert found.least_flow_s is not None and found.least_flow_s <= 230 / 3 * (1 + 1e-9)


def test_what_happened_is_missing_where_it_is_not_known_or_not_possible(tmp_path: Path) -> None:
    """No starts; and all three at once on 8 GPUs, which no cluster of 8 can have done."""
    for starts_s in (None, (0.0, 1.0, 2.0)):
        (found,) = answered(Question(three(starts_s), policies=("fifo",), gpus=(8,)), tmp_path / "store")
        assert list(found.fates) == ["fifo"] and found.baseline == "fifo"


def test_a_second_run_computes_nothing(tmp_path: Path) -> None:
    """The store has it all, solutions too."""
    question = Question(three(), policies=("fifo",), gpus=(8, 16))
    first = answered(question, tmp_path / "store")
    made = pieces(question)
    seen: list[int] = []
    with study.run(
        plan_of(question, made, "by hand"), tmp_path / "store", progress=lambda now: seen.append(now.cells - now.ended)
    ) as ran:
        again = clusters_of(ran, made, question.policies)
    assert seen == [0]
    assert [each.fates["fifo"].flow_s.tolist() for each in again] == [
        each.fates["fifo"].flow_s.tolist() for each in first
    ]


def test_a_policy_without_an_answer_says_why(tmp_path: Path) -> None:
    """One that raises an error stands apart; the others are compared."""
    (tmp_path / "own.py").write_text("def broken(instance):\n    raise ValueError('no idea')\n", encoding="utf-8")
    question = Question(three(), policies=("fifo", "own.py:broken"), gpus=(8,), folder=tmp_path)
    (found,) = answered(question, tmp_path / "store")
    assert "own.py:broken" not in found.fates and "no idea" in found.unanswered["own.py:broken"]


def test_windows_begin_with_what_was_there(tmp_path: Path) -> None:
    """From 1 s on, in windows of a minute: the first job has 99 s left, and runs first, as it did."""
    question = Question(three(), policies=("fifo",), gpus=(8,), window=Window(1.0, None), window_s=60.0)
    (found,) = answered(question, tmp_path / "store")
    assert found.fates["fifo"].flow_s.tolist() == found.fates[HAPPENED].flow_s.tolist() == [99.0, 149.0, 158.0]


def later(queue: Queue, by_s: float) -> Queue:
    """The same jobs again, later."""
    more = [
        job._replace(
            id=f"{job.id}-later",
            submit_s=job.submit_s + by_s,
            start_s=(job.start_s or 0) + by_s,
            end_s=(job.end_s or 0) + by_s,
        )
        for job in queue.jobs
    ]
    return Queue(queue.source, queue.path, (*queue.jobs, *more), queue.audit, queue.dated)


def test_windows_are_cut_where_jobs_come(tmp_path: Path) -> None:
    """Two bursts ten hours apart, in windows of an hour: two, whose names say when; each job once."""
    question = Question(later(three(), 36000.0), policies=("fifo",), gpus=(8,), window_s=3600.0)
    assert [piece.name for piece in pieces(question)] == ["0 s, 3,600 s", "36,000 s, 39,600 s"]
    (found,) = answered(question, tmp_path / "store")
    assert found.fates["fifo"].flow_s.tolist() == flows_s(FIFO_S) * 2
    assert len(found.keys) == len(set(found.keys)) == 6


def test_jobs_that_all_clusters_hold() -> None:
    """A small cluster lacks the first job."""
    large, small = cluster({"fifo": [1.0, 2.0, 3.0]}), cluster({"fifo": [9.0, 9.0]}, gpus=4)
    object.__setattr__(small, "keys", (("", "j2"), ("", "j1")))
    assert [index.tolist() for index in in_common([large, small])] == [[1, 2], [1, 0]]
    assert np.array_equal(in_common([large])[0], [0, 1, 2])


def test_warnings_are_told_of_every_window_and_cluster() -> None:
    """What happened fits 8 GPUs and 16, but the jobs are too many for 8 only where two came at once; not all are listed."""
    pair = (*three().jobs, *(job._replace(id=f"{job.id}-too") for job in three().jobs))
    queue = Queue("slurm", "pair.txt", pair, ("Jobs read: 6.",), dated=False)
    said = audit_of(pieces(Question(queue, gpus=(16, 8))))
    assert said[0] == "Jobs read: 6." and not any(each.startswith("What happened is not known") for each in said)
    assert any(each.startswith("On 8 GPUs: What happened is not known") for each in said)
    many = audit_of(pieces(Question(queue, gpus=(100, *range(8, 8 + MOST_WARNINGS + 5)))))
    assert many[-1].startswith("And ") and many[-1].endswith(" more such sentences.")


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (Question(three(), family="async_sgd"), "family: found 'async_sgd', allowed: srpt_mapping, elastic_stream"),
        (Question(three(), gpus=()), "gpus: found none"),
        (Question(three(), policies=("nonsense",), gpus=(8,)), "policies: found"),
        (Question(three(), policies=("fifo", "fifo"), gpus=(8,)), "policies: found 'fifo' twice"),
        (Question(three(), policies=("prices",), gpus=(8,)), "allowed: a policy"),
        (Question(three(), policies=("nowhere.py:mine",), gpus=(8,)), "nowhere.py:mine"),
    ],
)
def test_questions_that_cannot_be_asked(question: Question, words: str) -> None:
    """Each names what was found."""
    with pytest.raises(UsageError) as caught:
        plan_of(question, pieces(question), "by hand")
    assert words in str(caught.value)

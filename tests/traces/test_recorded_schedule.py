"""What really happened: on which servers, when it is known, and whether it is fair."""

from pathlib import Path

import pytest

from dlsched.elastic_stream.checker import check as check_stream
from dlsched.elastic_stream.checker import objective as mean_flow_s
from dlsched.elastic_stream.instance import Instance as StreamInstance
from dlsched.elastic_stream.solution import Stream
from dlsched.srpt_mapping.checker import check, objective
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.solution import Schedule, Share
from dlsched.traces.makers.elastic_stream import stream_of
from dlsched.traces.makers.srpt_mapping import gangs_of
from dlsched.traces.queue import QueueNode, Window
from dlsched.traces.readers.public_traces import read_openb
from dlsched.traces.selection import ImportedInstance
from tests.traces.drawn import job, queue

DATA = Path(__file__).parents[2].parent / "shared" / "data"
OPENB = DATA / "openb" / "openb_pod_list_default.csv"


def schedule(made: ImportedInstance) -> Schedule:
    assert isinstance(made.happened, Schedule)
    assert isinstance(made.instance, Instance)
    assert check(made.instance, made.happened) == []
    return made.happened


def places(made: ImportedInstance) -> dict[str, tuple[Share, ...]]:
    return {name: start.placement for name, start in schedule(made).jobs.items()}


def test_starts_and_first_fit() -> None:
    """By hand: a fills s0; b takes s1; c fits nowhere as a whole, and spreads; d starts as b ends, in its place."""
    made = gangs_of(
        queue(
            job("a", 10.0, 10.0, 100.0, 4),
            job("b", 10.0, 20.0, 10.0, 3),
            job("c", 10.0, 25.0, 50.0, 3),
            job("d", 12.0, 30.0, 1.0, 3),
        ),
        gpus=10,
        gpus_of_node=4,
    )
    starts_s = {name: start.start_s for name, start in schedule(made).jobs.items()}
    assert starts_s == {"a": 0.0, "b": 10.0, "c": 15.0, "d": 20.0}
    assert places(made) == {
        "a": (Share(0, "s0", 4),),
        "b": (Share(0, "s1", 3),),
        "c": (Share(0, "s1", 1), Share(0, "s2", 2)),
        "d": (Share(0, "s1", 3),),
    }
    assert objective(made.instance, schedule(made)) == 100.0 + 20.0 + 65.0 + 21.0
    assert made.audit[-1] == "What happened: the record names no nodes, for 4 of 4 jobs, placed first fit."


def test_the_nodes_of_the_record() -> None:
    """Evenly over several; where one is unknown or full, first fit."""
    nodes = tuple(QueueNode(name, 4) for name in ("n0", "n1", "n2"))
    made = gangs_of(
        queue(
            job("a", 0.0, 0.0, 9.0, 5, nodes=("n2", "n1")),
            job("b", 0.0, 1.0, 9.0, 3, nodes=("n1",)),
            job("c", 0.0, 2.0, 1.0, 1, nodes=("gone",)),
            job("d", 0.0, 3.0, 1.0, 1, nodes=("n2",)),
            nodes=nodes,
        )
    )
    assert places(made) == {
        "a": (Share(0, "n2", 3), Share(0, "n1", 2)),
        "b": (Share(0, "n0", 3),),
        "c": (Share(0, "n0", 1),),
        "d": (Share(0, "n2", 1),),
    }
    assert "no servers of the instance" in made.audit[-2] and made.audit[-2].endswith(
        "for 1 of 4 jobs, placed first fit."
    )
    assert "its nodes have no room" in made.audit[-1] and made.audit[-1].endswith("for 1 of 4 jobs, placed first fit.")
    known = gangs_of(queue(job("a", 0.0, 0.0, 9.0, 5, nodes=("n2", "n1")), nodes=nodes))
    assert not any("first fit" in sentence for sentence in known.audit)


def test_more_than_the_cluster_is_not_known() -> None:
    """By hand: 6 GPUs from 20 s on."""
    source = queue(job("a", 0.0, 0.0, 100.0, 4), job("b", 0.0, 20.0, 10.0, 2))
    made = gangs_of(source, gpus=5)
    assert made.happened is None
    assert (
        made.audit[-1]
        == "What really happened is unknown: 20 s after the start, 6 GPUs were in use, the cluster has 5."
    )
    stream = stream_of(source, gpus=5)
    assert stream.happened is None
    assert "capacity: 6 units are held from 20.0 s to 30.0 s, the cluster has 5" in stream.audit[-1]


def test_one_job_without_a_start_leaves_it_unknown() -> None:
    """In both families."""
    source = queue(job("a", 0.0, 0.0, 100.0, 4), job("b", 0.0, None, 10.0, 2))
    for make in (gangs_of, stream_of):
        made = make(source)
        assert made.happened is None
        assert made.audit[-1] == "What really happened is unknown: 1 of 2 jobs have no start."


def test_periods() -> None:
    """By hand: flows of 100 s and 30 s."""
    made = stream_of(queue(job("a", 5.0, 5.0, 100.0, 4), job("b", 5.0, 25.0, 10.0, 2)))
    assert isinstance(made.happened, Stream)
    assert isinstance(made.instance, StreamInstance)
    assert made.happened == Stream({"a": [(0.0, 100.0, 4)], "b": [(20.0, 30.0, 2)]})
    assert check_stream(made.instance, made.happened) == []
    assert mean_flow_s(made.instance, made.happened) == 65.0


@pytest.mark.parametrize("origin_s", [0.0, 1.7e9])
def test_a_full_cluster_of_jobs_back_to_back(origin_s: float) -> None:
    """Fractions of seconds since 1970 leave no gap and no overlap that a checker would see."""
    length_s = 0.1 + 1 / 3
    jobs = [job(f"j{n}", origin_s, origin_s + n * length_s, length_s, 8) for n in range(500)]
    for make in (gangs_of, stream_of):
        assert make(queue(*jobs)).happened is not None


def test_others_that_held_gpus_are_told_of() -> None:
    """By hand: from 10 to 40, when b starts, a held 4 x 20 of 8 x 30 GPU-seconds, a third."""
    source = queue(job("a", 0.0, 0.0, 30.0, 4), job("b", 12.0, 40.0, 10.0, 4), job("c", 11.0, 10.0, 60.0, 1))
    made = gangs_of(source, window=Window(10.0, None))
    assert made.outside == (80.0, 240.0)
    assert any("Jobs outside the instance used 33.3 % of its GPU time" in sentence for sentence in made.audit)
    assert gangs_of(source, window=Window(10.0, None), carried=True).outside[0] == 0.0
    assert gangs_of(source).outside[0] == 0.0


@pytest.mark.skipif(not OPENB.is_file(), reason="the raw data are not here")
def test_the_whole_of_openb() -> None:
    """6,171 pods on the 6,212 GPUs of its 1,213 nodes; its own objective is the sum of what the file says."""
    source = read_openb(OPENB)
    gangs, stream = gangs_of(source), stream_of(source)
    assert isinstance(gangs.instance, Instance)
    assert (len(gangs.instance.jobs), gangs.instance.total_gpus, len(gangs.instance.servers)) == (6171, 6212, 1213)
    ends_s = sum(each.end_s for each in source.jobs if each.end_s is not None)
    assert objective(gangs.instance, schedule(gangs)) == ends_s
    arrivals_s = sum(each.submit_s for each in source.jobs)
    assert isinstance(stream.happened, Stream)
    assert isinstance(stream.instance, StreamInstance)
    assert mean_flow_s(stream.instance, stream.happened) == pytest.approx((ends_s - arrivals_s) / 6171)

"""Queues as gangs: which jobs, on what cluster, how long they last and what policies are told."""

import pytest

from dlsched.core.errors import InputError, UsageError
from dlsched.srpt_mapping.checker import check, completion_times, flow_times, iteration_time
from dlsched.srpt_mapping.heuristics import fifo
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.solution import Schedule, Share
from dlsched.traces.makers.srpt_mapping import gangs_of
from dlsched.traces.queue import Queue, QueueNode, Window
from dlsched.traces.selection import ImportedInstance
from tests.traces.drawn import job, queue

THREE = queue(
    job("late", 100.0, 150.0, 50.5, 2, user="ann", group="night", state="FAILED"),
    job("first", 40.0, 40.0, 110.0, 8, user="bob", state="COMPLETED"),
    job("short", 100.0, 210.0, 0.25, 1, state="COMPLETED"),
)


def made(source: Queue, **options: object) -> tuple[Instance, ImportedInstance]:
    found = gangs_of(source, **options)  # type: ignore[arg-type]
    assert isinstance(found.instance, Instance)
    return found.instance, found


def test_jobs_keep_their_names_and_lengths() -> None:
    """In order of arrival, equal times in that of the file; seconds from the first arrival; empty words are none."""
    instance, found = made(THREE)
    assert [(each.id, each.release_s, each.user, each.group, each.gpus) for each in instance.jobs] == [
        ("first", 0.0, "bob", None, 8),
        ("late", 60.0, "ann", "night", 2),
        ("short", 60.0, None, None, 1),
    ]
    wide, _ = made(THREE, gpus=16)
    for spread in ((Share(0, "s0", 1),), (Share(0, "s0", 1), Share(0, "s1", 1))):
        lengths = [each.iterations * iteration_time(wide, each, spread) for each in wide.jobs]
        assert lengths == [110.0, 50.5, 0.25]
    assert [each.predicted for each in instance.jobs] == [each.iterations for each in instance.jobs]
    assert [each.id for each in found.jobs] == ["first", "late", "short"]
    assert instance.name == "csv-3x8"
    assert instance.source == f"imported from jobs.csv, a file of csv. Audit: {' '.join(found.audit)}"
    assert found.audit[0] == "Read."
    assert "States of the jobs: COMPLETED (2), FAILED (1); each counts as done after its duration." in found.audit


def test_the_cluster_is_the_most_that_was_in_use() -> None:
    """By hand: 8 until 150, when 2 take over; then 9 with another at 140; in servers of 8 or of 3."""
    assert made(THREE)[0].total_gpus == 8
    four = queue(*THREE.jobs, job("more", 0.0, 140.0, 5.0, 1))
    instance, found = made(four)
    assert [server.gpus for server in instance.servers] == [8, 8]
    used = "9 were in use at once by the jobs that were read, rounded up to a multiple of 8."
    assert f"The cluster is given 16 GPUs: {used}" in found.audit
    assert [server.gpus for server in made(four, gpus_of_node=3)[0].servers] == [3, 3, 3]
    instance, found = made(four, gpus=20)
    assert [(server.id, server.gpus) for server in instance.servers] == [("s0", 8), ("s1", 8), ("s2", 4)]
    assert "Servers of 8 GPUs, the last of 4." in found.audit


def test_the_nodes_of_the_trace_are_the_servers() -> None:
    """Those with GPUs, unless other GPUs are given."""
    nodes = (QueueNode("a", 4), QueueNode("cpu", 0), QueueNode("b", 8))
    instance, found = made(queue(*THREE.jobs, nodes=nodes))
    assert [(server.id, server.gpus) for server in instance.servers] == [("a", 4), ("b", 8)]
    assert "Servers are the nodes of the trace." in found.audit
    assert [server.id for server in made(queue(*THREE.jobs, nodes=nodes), gpus=12)[0].servers] == ["a", "b"]
    assert [server.id for server in made(queue(*THREE.jobs, nodes=nodes), gpus=16)[0].servers] == ["s0", "s1"]


def test_without_starts_the_cluster_has_the_average_demand() -> None:
    """By hand: 20 jobs of 95 GPU-seconds in 190 s of arrivals are 10 GPUs, so 16."""
    instance, found = made(queue(*(job(f"j{n}", 10.0 * n, None, 95.0, 1) for n in range(20))))
    assert instance.total_gpus == 16
    assert "The jobs ask for 10.0 GPUs on average over 190 s of arrivals." in found.audit
    assert found.happened is None
    assert found.audit[-1] == "What really happened is unknown: 20 of 20 jobs have no start."


def test_demand_above_the_cluster_is_warned_of() -> None:
    """By hand: 8 x 110 + 2 x 50.5 + .25 = 981.25 GPU-seconds in 60 s are 16.4 GPUs."""
    (warning,) = [sentence for sentence in made(THREE)[1].audit if sentence.startswith("Warning: ")]
    assert warning.startswith("Warning: the jobs ask for 204 % of the 8 GPUs while they arrive;")
    assert "All jobs together ask for 11 GPUs, no more than on average over 60 s of arrivals." in made(THREE)[1].audit


def test_jobs_larger_than_the_cluster_are_left_out() -> None:
    """Also those that say that they run on fewer, as gangs do not; without any left the file is refused."""
    instance, found = made(queue(*THREE.jobs[1:], THREE.jobs[0]._replace(gpus=9, least_gpus=1)), gpus=4)
    assert [each.id for each in instance.jobs] == ["short"]
    assert "Jobs that need more than the 4 GPUs of the cluster, left out: 2." in found.audit
    with pytest.raises(InputError, match=r"folder/jobs\.csv: found no job that fits 4 GPUs"):
        made(queue(THREE.jobs[1]), gpus=4)


def test_windows() -> None:
    """From is kept, to is not; times are relative to from; what runs or waits still is left out."""
    open_job = job("open", 45.0, 50.0, None, 1)
    instance, found = made(queue(*THREE.jobs, open_job), window=Window(30.0, 100.0))
    assert [(each.id, each.release_s) for each in instance.jobs] == [("first", 10.0)]
    assert "Jobs that arrive outside the window, left out: 2." in found.audit
    assert "Jobs that have not ended, left out: 1." in found.audit
    with pytest.raises(InputError, match="no job that runs and arrives in the window"):
        made(THREE, window=Window(101.0, None))


def test_jobs_carried_over() -> None:
    """By hand, at 120: ``first`` has 30 s left, ``short`` waits, ``over`` has ended; ``next`` comes at 130."""
    source = queue(
        *THREE.jobs, job("over", 0.0, 0.0, 120.0, 1), job("next", 130.0, 215.0, 5.0, 1), job("odd", 1.0, None, 9.0, 1)
    )
    instance, found = made(source, window=Window(120.0, None), carried=True, gpus=8)
    assert [(each.id, each.release_s, each.iterations) for each in instance.jobs][:3] == [
        ("first", 0.0, 30.0),
        ("late", 0.0, 50.5),
        ("short", 0.0, 1.0),
    ]
    assert instance.jobs[3].id == "next"
    assert (
        "Jobs submitted earlier that had not ended, assumed to arrive at the start with the work they had left: 3."
        in found.audit
    )
    assert [(each.submit_s, each.start_s, each.duration_s) for each in found.jobs] == [
        (120.0, 120.0, 30.0),
        (120.0, 150.0, 50.5),
        (120.0, 210.0, 0.25),
        (130.0, 215.0, 5.0),
    ]
    assert isinstance(found.happened, Schedule)
    assert [found.happened.jobs[each.id].start_s for each in instance.jobs] == [0.0, 30.0, 90.0, 95.0]
    with pytest.raises(UsageError, match="carried: found no from"):
        made(source, carried=True)


NODES = (QueueNode("n0", 4), QueueNode("n1", 4))
RUNNING = queue(
    job("a", 0.0, 0.0, 30.0, 2, nodes=("n1",)),
    job("b", 1.0, 5.0, 40.0, 3, nodes=("gone",)),
    job("d", 2.0, 4.0, 20.0, 1, nodes=("n0",)),
    job("c", 3.0, 45.0, 10.0, 4, nodes=("n0",)),
    job("e", 12.0, 55.0, 10.0, 8, nodes=("n0", "n1")),
    nodes=NODES,
)


def test_jobs_that_run_at_the_start_have_begun() -> None:
    """By hand, at 10 s: a runs on n1, then d on n0; b, of which nothing is known, first fit on what is left of n0."""
    instance, found = made(RUNNING, window=Window(10.0, None), carried=True)
    where = {each.id: [(part.server, part.replicas) for part in each.begun or ()] for each in instance.jobs}
    assert where == {"a": [("n1", 2)], "b": [("n0", 3)], "d": [("n0", 1)], "c": [], "e": []}
    assert [each.iterations for each in instance.jobs] == [20.0, 35.0, 14.0, 10.0, 10.0]
    said = "Jobs that run at the start, which have begun and go on where they are, for as long as was left: 3."
    assert said in found.audit
    said = (
        "Of these, on unlisted nodes or nodes that are not servers of the instance, assumed to be placed first fit: 1."
    )
    assert said in found.audit
    assert isinstance(found.happened, Schedule)
    starts_s = {name: start.start_s for name, start in found.happened.jobs.items()}
    assert starts_s == {"a": 0.0, "b": 0.0, "d": 0.0, "c": 35.0, "e": 45.0}
    assert found.happened.jobs["b"].placement == ((0, "n0", 3),)
    assert found.audit[-1].endswith("for 1 of 5 jobs, placed first fit.")
    schedule = fifo(instance)
    assert schedule is not None and check(instance, schedule) == []
    assert [schedule.jobs[name].start_s for name in "abdce"] == [0.0, 0.0, 0.0, 20.0, 35.0]
    assert all(each.begun is None for each in made(RUNNING)[0].jobs)
    assert all(each.begun is None for each in made(RUNNING, window=Window(10.0, None))[0].jobs)


def test_on_a_smaller_cluster_those_that_began_last_wait() -> None:
    """By hand: a, then d, hold 3 of 4 GPUs; b, the last to begin, is the first of the queue."""
    instance, found = made(RUNNING, window=Window(10.0, None), carried=True, gpus=4)
    assert [(each.id, each.begun is not None) for each in instance.jobs] == list(zip("abdc", (1, 0, 1, 0), strict=True))
    said = "Jobs that run at the start beyond the 4 GPUs of the cluster, those that began last, which wait at the head of the "
    assert f"{said}queue: 1." in found.audit
    schedule = fifo(instance)
    assert schedule is not None and [schedule.jobs[name].start_s for name in "abdc"] == [0.0, 20.0, 0.0, 55.0]
    assert found.happened is None
    assert found.audit[-1].startswith("What really happened is unknown: 0 s after the start, 6 GPUs were in use")


def test_servers_bear_the_names_of_nodes_that_jobs_were_on() -> None:
    """Where the source lists none: first those of jobs that run at the start, then in order of arrival; others get new names."""
    source = queue(
        job("a", 0.0, 5.0, 10.0, 2, nodes=("s1",)),
        job("b", 1.0, 6.0, 90.0, 2, nodes=("x", "y")),
        job("c", 20.0, 20.0, 10.0, 2, nodes=("z",)),
    )
    instance, found = made(source, gpus=9, gpus_of_node=2)
    assert [(each.id, each.gpus) for each in instance.servers] == [("s1", 2), ("x", 2), ("y", 2), ("z", 2), ("s0", 1)]
    assert "Servers of 2 GPUs, the last of 1; 4 of them bear names of the 4 nodes that jobs were on." in found.audit
    assert isinstance(found.happened, Schedule)
    assert found.happened.jobs["b"].placement == ((0, "x", 1), (0, "y", 1))
    assert not any("first fit" in each for each in found.audit)
    instance, found = made(source, window=Window(10.0, None), carried=True, gpus=6, gpus_of_node=2)
    assert [each.id for each in instance.servers] == ["s1", "x", "y"]
    assert "Servers of 2 GPUs; 3 of them bear names of the 4 nodes that jobs were on." in found.audit


def test_published_stages_last_as_recorded_where_they_run() -> None:
    """A gang that runs spread over nodes at the start has as long left as the record says; one that starts later has not."""
    source = queue(
        job("a", 0.0, 0.0, 1000.0, 4, nodes=("n0", "n1")),
        job("b", 1.0, 1.0, 900.0, 4, nodes=("n0", "n1")),
        job("c", 1500.0, 1500.0, 100.0, 4, nodes=("n0", "n1")),
        nodes=NODES,
    )
    options = {"communication": "published", "carried": True}
    instance, found = made(source, window=Window(500.0, 600.0), **options)
    assert isinstance(found.happened, Schedule)
    ends = completion_times(instance, found.happened)
    assert ends == pytest.approx({"a": 500.0, "b": 401.0}, rel=1e-12)
    assert fifo(instance) == found.happened
    later, told = made(source, window=Window(500.0, None), **options)
    assert told.happened is None
    assert told.audit[-1] == (
        "What really happened is unknown: with the stages given to them, 1 of 3 jobs would not last as recorded where they ran, "
        "so no schedule of the instance is what happened."
    )
    assert [each.begun is None for each in later.jobs] == [False, False, True]


def test_limits_of_jobs_carried_over_shrink() -> None:
    """By hand: 200 s were said, 80 have gone; one that has run longer than said is about to end."""
    source = queue(job("a", 0.0, 20.0, 150.0, 1, limit_s=200.0), job("b", 0.0, 20.0, 150.0, 1, limit_s=50.0))
    instance, _ = made(source, window=Window(100.0, None), carried=True, estimates=True)
    assert [(each.iterations, each.predicted) for each in instance.jobs] == [(70.0, 120.0), (70.0, 1.0)]


def test_estimates() -> None:
    """Seconds as users said; the median of the file where a user said nothing; policies then choose otherwise."""
    source = queue(
        job("liar", 1.0, 10.0, 100.0, 8, limit_s=20.0),
        job("honest", 1.0, 110.0, 50.0, 8, limit_s=60.0),
        job("silent", 1.0, 160.0, 0.5, 8),
    )
    instance, found = made(source, estimates=True)
    told = [each.predicted * each.stages[0].compute_s for each in instance.jobs]
    assert told == [20.0, 60.0, 40.0]
    assert any("half of the 2 jobs that say it ran for 292 % of that or less" in each for each in found.audit)
    said = "Jobs without a requested run time, nor has their partition any: given the median of the file: 1."
    assert said in found.audit and found.silent == {"silent"}
    with pytest.raises(InputError, match="estimates: found no job that says how long it takes"):
        made(THREE, estimates=True)


def test_published_stages() -> None:
    """A model by GPUs; packed on an empty server a job lasts as recorded, to six digits."""
    instance, found = made(THREE, communication="published")
    assert [each.model for each in instance.jobs] == ["BERT-base", "VGG-16", "ResNet-50"]
    late = instance.jobs[1]
    on_one = tuple(Share(number, "s0", stage.replicas) for number, stage in enumerate(late.stages))
    assert late.iterations * iteration_time(instance, late, on_one) == pytest.approx(50.5, rel=1e-5)
    assert late.stages[0].parameter_bytes > 0
    assert any(each.startswith("The trace names no model; they are chosen by GPUs") for each in found.audit)


def test_parts_of_gpus_and_types_are_said() -> None:
    """A part takes a whole one where it is not left out; types are not told apart."""
    source = queue(job("a", 0.0, 0.0, 5.0, 1, share=0.25, gpu_type="T4"), job("b", 0.0, 5.0, 5.0, 1, gpu_type="A100"))
    instance, found = made(source)
    assert [each.gpus for each in instance.jobs] == [1, 1]
    assert "Jobs on parts of GPUs (slices), with a whole GPU for each part: 1." in found.audit
    assert "GPU types are treated alike: the jobs name 2." in found.audit


def test_names_of_any_sort() -> None:
    """As they are in the instance; on one line in the audit."""
    name = "<script>\n\x1b[1m" + 300 * "x"
    instance, found = made(queue(job(name, 0.0, 0.0, 5.0, 1, user=name, state=name)))
    assert (instance.jobs[0].id, instance.jobs[0].user) == (name, name)
    assert all(sentence.isprintable() for sentence in found.audit)


def test_the_methods_run_on_it() -> None:
    """By hand: first come, first served gives ``first``, then both others; the checker agrees."""
    instance, _ = made(THREE)
    schedule = fifo(instance)
    assert schedule is not None
    assert check(instance, schedule) == []
    assert completion_times(instance, schedule) == {"first": 110.0, "late": 160.5, "short": 110.25}
    assert flow_times(instance, schedule) == [110.0, 100.5, 50.25]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gpus": 0}, "gpus: found 0, allowed: an integer >= 1"),
        ({"gpus": 65_537}, "gpus: found 65537, allowed: up to 65,536"),
        ({"gpus_of_node": 0}, "gpus_of_node: found 0"),
        ({"communication": "some"}, "communication: found 'some', allowed: none, published"),
    ],
)
def test_options_out_of_range(options: dict[str, object], message: str) -> None:
    """Each is misuse."""
    with pytest.raises(UsageError, match=message):
        made(THREE, **options)


def test_a_vast_cluster_is_refused() -> None:
    """What the jobs need may not be written down server by server."""
    with pytest.raises(InputError, match="need 100,000 GPUs at once, allowed: up to 65,536"):
        made(queue(job("a", 0.0, 0.0, 5.0, 100_000)))

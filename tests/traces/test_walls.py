"""What a record knows of walls: pools, when jobs were ready, limits of arrays, classes; by hand, and of a simulated cluster."""

from dataclasses import replace
from pathlib import Path

import pytest

import dlsched
from dlsched.traces import read_queue
from dlsched.traces.queue import Queue, QueuedJob
from dlsched.traces.walls import pools_of, ranks_of, with_walls
from tests.evaluation import simulated_cluster

HOUR = 3600.0


def job(name: str, submit: float, start: float, hours: float, gpus: int = 1, **more: object) -> QueuedJob:
    """A job in hours on the clock of the trace."""
    start_s, run_s = start * HOUR, hours * HOUR
    return QueuedJob(name, "ann", "", submit * HOUR, start_s, start_s + run_s, run_s, gpus)._replace(**more)


def queue_of(*jobs: QueuedJob) -> Queue:
    """A queue of Slurm."""
    return Queue("slurm", "log.txt", jobs, (), dated=False)


def walls(queue: Queue, gpus: int) -> list[tuple[float, int | None]]:
    """Hours at which every job was ready, and the limit of its array."""
    found = [each.wall for each in with_walls(queue, gpus, {}).jobs]
    return [(wall.ready_s / HOUR, wall.at_once) for wall in found if wall is not None]


def test_partitions_that_share_nodes_are_one_pool() -> None:
    """A and b ran on n1, c on n2: two pools, of 4 and 8 GPUs as were in use on a node at once."""
    on = [("a", "n1", 4), ("b", "n1", 2), ("c", "n2", 8)]
    jobs = [job(str(k), k, k, 1, gpus, partition=part, nodes=(node,)) for k, (part, node, gpus) in enumerate(on)]
    pools = pools_of(queue_of(*jobs))
    assert {name: [(node.id, node.gpus) for node in pool.nodes] for name, pool in pools.items()} == {
        "a+b": [("n1", 4)],
        "c": [("n2", 8)],
    }
    assert (
        list(pools_of(queue_of(*jobs[:2])))
        == list(pools_of(queue_of(*(each._replace(nodes=()) for each in jobs))))
        == [""]
    )
    # a trace that does not say when jobs started says no nodes
    assert list(pools_of(queue_of(*(each._replace(nodes=(), start_s=None, end_s=None) for each in jobs)))) == [""]


def test_a_node_has_what_was_in_use_on_it() -> None:
    """Two jobs of 3 GPUs on n1 at once: 6; a job of 16 on n2 and n3: 8 each; as they are of one type, all have 8."""
    jobs = [
        *(job(name, 0, 0, 2, 3, partition="a", nodes=("n1",)) for name in "xy"),
        job("z", 0, 0, 1, 16, partition="a", nodes=("n2", "n3")),
        job("w", 0, 0, 1, 1, partition="b", nodes=("m",)),
    ]
    assert {node.id: node.gpus for node in pools_of(queue_of(*jobs))["a"].nodes} == {"n1": 8, "n2": 8, "n3": 8}


def test_a_dependency_is_stated_or_inferred() -> None:
    """The second starts at the end of the first though 8 GPUs are free: at 3 h it was ready, by ``Eligible`` at 1 h."""
    first, second = job("1", 0, 0, 3), job("2", 0, 3, 1)
    assert walls(queue_of(first, second), 8) == [(0.0, None), (3.0, None)]
    stated = second._replace(eligible_s=HOUR)
    assert walls(queue_of(first, stated), 8) == [(0.0, None), (1.0, None)]
    # by the end of the first, or by something else
    at_end = second._replace(eligible_s=3 * HOUR, start_s=4 * HOUR, end_s=5 * HOUR)
    for each, depends in ((second, True), (stated, False), (at_end, True), (at_end._replace(user="bob"), False)):
        last = with_walls(queue_of(first, each), 8, {}).jobs[1].wall
        assert last is not None and last.dependent == depends
    # on one GPU it waited for that
    assert walls(queue_of(first, second), 1) == [(0.0, None), (0.0, None)]


def test_who_waits_behind_a_job_that_waits_for_gpus_is_no_dependent() -> None:
    """Of 4 GPUs 2 are free; the head needs 4, and a strict queue lets the third wait for it."""
    jobs = job("1", 0, 0, 3, 2), job("head", 1, 3, 1, 4), job("3", 2, 4, 1)
    assert walls(queue_of(*jobs), 4)[2] == (2.0, None)


def test_the_limit_of_an_array() -> None:
    """Four tasks two at a time though 8 GPUs are free: two; all at once: none; one after the other on one GPU: none."""
    tasks = [job(f"7_{k}", 0, start, 2, array="7") for k, start in enumerate((0, 0, 2, 2))]
    assert [limit for _, limit in walls(queue_of(*tasks), 8)] == [2] * 4
    at_once = [job(f"7_{k}", 0, 0, 2, array="7") for k in range(4)]
    assert [limit for _, limit in walls(queue_of(*at_once), 8)] == [None] * 4
    by_gpus = [job(f"7_{k}", 0, 2 * k, 2, array="7") for k in range(3)]
    assert [limit for _, limit in walls(queue_of(*by_gpus), 1)] == [None] * 3


def test_classes_are_ranked_by_priority_or_by_who_passes_whom() -> None:
    """Five times an urgent job starts before a low one that came first; with ``Priority`` as that has it."""
    jobs = []
    for k in range(5):
        jobs += [job(f"r{k}", 10 * k, 10 * k, 1), job(f"l{k}", 10 * k, 10 * k + 2, 1, qos="low")]
        jobs.append(job(f"u{k}", 10 * k + 0.5, 10 * k + 1, 1, qos="urgent"))
    jobs = [each._replace(qos=each.qos or "low") for each in jobs]
    ranks, words = ranks_of([queue_of(*jobs)])
    assert ranks["urgent"] > ranks["low"] and "low < urgent" in words
    stated = [each._replace(priority=2.0 if each.qos == "low" else 1.0) for each in jobs]
    ranks, words = ranks_of([queue_of(*stated)])
    assert ranks["low"] > ranks["urgent"] and "Priority" in words
    assert ranks_of([queue_of(*(each._replace(qos="low") for each in jobs))]) == ({}, "")


@pytest.mark.parametrize("seed", [1, 2])
def test_the_usual_policy_reproduces_a_cluster_that_dlsched_did_not_simulate(seed: int, tmp_path: Path) -> None:
    """Three partitions, classes, arrays, dependencies, EASY: mean waiting within 5 %, of each partition within 10 %."""
    jobs = simulated_cluster.draw(seed, 2000, 0.9)
    simulated_cluster.run(jobs)
    truth = simulated_cluster.waits(jobs)
    log = tmp_path / "sacct.txt"
    log.write_text(simulated_cluster.log(jobs), encoding="utf-8")
    gpus = {name: nodes * per for name, (nodes, per) in simulated_cluster.PARTITIONS.items()}
    assert {
        name: sum(node.gpus for node in pool.nodes) for name, pool in pools_of(read_queue("slurm", str(log))).items()
    } == gpus
    data = dlsched.whatif(log, "slurm", policies=["easy"], workers=1).data()
    waits = data["waiting_s"]
    assert isinstance(waits, dict) and isinstance(data["pools"], list)
    assert waits["happened"] == pytest.approx(truth["all"]) and waits["usual"] == pytest.approx(truth["all"], rel=0.05)
    for pool in data["pools"]:
        assert pool["usual_waiting_s"] == pytest.approx(truth[pool["name"]], rel=0.1)
    assert data["users_limits_s"] >= 0.9 * truth["before_eligible"]


def test_a_table_states_pools(tmp_path: Path) -> None:
    """Two pools without nodes; class 2 is served before 1; the second job could start at 50 s."""
    table = tmp_path / "jobs.csv"
    table.write_text("id,at,beg,fin,n,q,c,el\n1,0,0,100,4,a,1,0\n2,10,100,200,4,a,2,50\n3,0,0,100,8,b,1,0\n")
    columns = "id=id,arrival=at,start=beg,end=fin,gpus=n,pool=q,class=c,eligible=el"
    pools = pools_of(read_queue("csv", str(table), columns=columns))
    assert {name: [each.id for each in pool.jobs] for name, pool in pools.items()} == {"a": ["1", "2"], "b": ["3"]}
    assert dict(ranks_of(list(pools.values()))[0]) == {"1": 0, "2": 1}
    assert [each.wall and each.wall.ready_s for each in with_walls(pools["a"], 4, {}).jobs] == [0.0, 50.0]
    # a job without a pool may have run anywhere
    table.write_text(table.read_text().replace(",b,", ",,"))
    assert list(pools_of(read_queue("csv", str(table), columns=columns))) == [""]


def test_queues_with_quotas() -> None:
    """Two queues of 4 and 8 GPUs; where the first held 6 at once it borrowed two, and both are one pool."""
    jobs = [job("1", 0, 0, 1, 4, partition="a"), job("2", 0, 0, 1, 8, partition="b")]
    parted = pools_of(replace(queue_of(*jobs), pools={"a": 4, "b": 8, "c": 8}))
    assert {name: pool.pools for name, pool in parted.items()} == {"a": {"a": 4}, "b": {"b": 8}}
    assert parted["a"].audit == ("GPUs of the pool, by the quota that the file states: 4.",)
    borrowed = [*jobs, job("3", 0, 0, 1, 2, partition="a")]
    assert list(pools_of(replace(queue_of(*borrowed), pools={"a": 4, "b": 8}))) == [""]

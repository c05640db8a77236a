"""Readers of the public traces of Alibaba (openb, PAI) and of Microsoft's Philly."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dlsched.core.errors import InputError
from dlsched.traces.queue import QueuedJob, QueueNode
from dlsched.traces.readers.public_traces import read_openb, read_pai, read_philly_raw

PODS_FILE = Path(__file__).parents[3].parent / "shared" / "data" / "openb" / "openb_pod_list_default.csv"
HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
NODES = "sn,cpu_milli,memory_mib,gpu,model\nnode-0,96000,393216,8,V100M32\nnode-1,32000,262144,0,\n"


def pods(tmp_path: Path, *rows: str) -> Path:
    path = tmp_path / "openb_pod_list_default.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def test_pods(tmp_path: Path) -> None:
    """Parts of two GPUs, eight whole ones, none, one that never ran, one deleted while it ran, one that had not ended."""
    path = pods(
        tmp_path,
        "p0,6000,12288,2,250,,LS,Succeeded,100,900,150",
        "p1,88000,327680,8,1000,V100M16|V100M32,Burstable,Failed,200,700,200",
        "p2,1000,1024,0,0,,BE,Succeeded,300,400,300",
        "p3,1000,1024,1,1000,,BE,Pending,300,500,",
        "p4,1000,1024,1,1000,,LS,Running,300,800,310",
        "p5,1000,1024,1,1000,,LS,Running,300,1000,310",
    )
    queue = read_openb(path)
    assert queue.jobs == (
        QueuedJob("p0", "", "LS", 100.0, 150.0, 900.0, 750.0, 2, 0.25, cpus=6.0, state="Succeeded", line=2),
        QueuedJob(
            *("p1", "", "Burstable", 200.0, 200.0, 700.0, 500.0, 8),
            **{"cpus": 88.0, "gpu_type": "V100M16|V100M32", "state": "Failed", "line": 3},
        ),
        QueuedJob("p4", "", "LS", 300.0, 310.0, 800.0, 490.0, 1, cpus=1.0, state="Running", line=6),
    )
    assert not queue.dated and queue.nodes == ()
    assert queue.audit[1:4] == (
        "Jobs without a GPU, left out: 1 (first in line 4).",
        "Jobs that ended without running, left out: 1 (first in line 5).",
        "Jobs that are still running or waiting, left out: 1 (first in line 7).",
    )
    assert [job.end_s for job in read_openb(path, ended_only=False).jobs][-1] is None


def test_nodes(tmp_path: Path) -> None:
    """Those beside the file, or those that are given; what is not a list of nodes is refused."""
    path = pods(tmp_path, "p0,6000,12288,1,460,,LS,Succeeded,100,900,150")
    assert any("openb_node_list_gpu_node.csv is not beside" in each for each in read_openb(path).audit)
    listed = tmp_path / "other.csv"
    listed.write_text(NODES)
    expected = (QueueNode("node-0", 8, "V100M32", 96.0), QueueNode("node-1", 0, "", 32.0))
    assert read_openb(path, nodes=listed).nodes == expected
    listed.rename(tmp_path / "openb_node_list_gpu_node.csv")
    assert read_openb(path).nodes == expected
    (tmp_path / "openb_node_list_gpu_node.csv").write_text(NODES.replace(",8,", ",eight,"))
    with pytest.raises(InputError, match=r'openb_node_list_gpu_node.csv, line 2: found "eight", allowed: a number'):
        read_openb(path)
    (tmp_path / "openb_node_list_gpu_node.csv").write_text(NODES + "node-2,1\n")
    with pytest.raises(
        InputError, match=r"found damage, allowed: whole rows only \(Rows with other than 5 cells.*line 4"
    ):
        read_openb(path)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("p1,1,1,1,0,,LS,Failed,100,900,150", "Entries whose gpu_milli is not above 0 and at most 1000"),
        ("p1,1,1,1,1500,,LS,Failed,100,900,150", "Entries whose gpu_milli is not above 0 and at most 1000"),
        ("p1,1,1,one,1000,,LS,Failed,100,900,150", "Entries whose num_gpu is not a number"),
        (",1,1,1,1000,,LS,Failed,100,900,150", "Entries without a name"),
    ],
)
def test_damaged_pods(row: str, reason: str, tmp_path: Path) -> None:
    queue = read_openb(pods(tmp_path, "p0,6000,12288,1,460,,LS,Succeeded,100,900,150", row))
    assert len(queue.jobs) == 1
    assert any(each.startswith(f"{reason}, left out: 1 (first in line 3") for each in queue.audit), queue.audit


@pytest.mark.skipif(not PODS_FILE.is_file(), reason="the raw data are not here")
def test_the_real_file() -> None:
    """Counts that a spreadsheet gives: 7,064 pods with GPUs, 861 of them never scheduled, 32 deleted with the trace."""
    queue = read_openb(PODS_FILE)
    assert len(queue.jobs) == 7064 - 861 - 32
    assert len(queue.nodes) == 1213 and sum(node.gpus for node in queue.nodes) == 6212
    assert queue.latest_s == 12902960.0


MACHINES_FILE = Path(__file__).parents[3].parent / "shared" / "data" / "pai_machine_spec.csv"
TASKS = (
    "a,ps,1.0,Terminated,110.0,390.0,600.0,29.3,,",
    "a,worker,2.0,Terminated,120.0,400.0,400.0,29.3,50.0,T4",
    "b,tensorflow,1.0,Failed,200.0,260.0,600.0,29.3,25.0,MISC",
    "c,worker,3.0,Terminated,300.0,500.0,,,50.0,P100",
    "d,worker,1.0,Running,300.0,,600.0,29.3,100.0,V100",
    "e,worker,1.0,Terminated,300.0,310.0,600.0,29.3,,",
)
JOBS = (
    "a,i1,u1,Terminated,100.0,400.0",
    "b,i2,u2,Failed,190.0,260.0",
    "c,i3,u1,Terminated,300.0,500.0",
    "x,i9,u9,Failed,1.0,2.0",
)


def table(tmp_path: Path, name: str, rows: tuple[str, ...]) -> Path:
    path = tmp_path / name
    path.write_text("\n".join(rows) + "\n")
    return path


def test_jobs(tmp_path: Path) -> None:
    """Two instances on halves are two slices, three three; a quarter is one; one still runs; one has no GPU."""
    path = table(tmp_path, "pai_task_table.csv", TASKS)
    table(tmp_path, "pai_job_table.csv", JOBS)
    queue = read_pai(path)
    assert queue.jobs == (
        QueuedJob(
            "a", "u1", "", 100.0, 110.0, 400.0, 290.0, 2, 0.5, cpus=14.0, gpu_type="T4", state="Terminated", line=1
        ),
        QueuedJob("b", "u2", "", 190.0, 200.0, 260.0, 60.0, 1, 0.25, cpus=6.0, gpu_type="MISC", state="Failed", line=3),
        QueuedJob("c", "u1", "", 300.0, 300.0, 500.0, 200.0, 3, 0.5, gpu_type="P100", state="Terminated", line=4),
    )
    assert not queue.dated
    assert read_pai(tmp_path, ended_only=False).jobs[-1].state == "Running"  # the folder will do


def test_without_the_table_of_jobs(tmp_path: Path) -> None:
    """Jobs come when they start; it may also be given."""
    header = "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type"
    path = table(tmp_path, "tasks.csv", (header, *TASKS))
    queue = read_pai(path)
    assert [(job.user, job.submit_s) for job in queue.jobs] == [("", 110.0), ("", 200.0), ("", 300.0)]
    assert any("pai_job_table.csv is not beside" in each for each in queue.audit)
    given = table(tmp_path, "jobs.csv", JOBS)
    assert [job.user for job in read_pai(path, jobs=given).jobs] == ["u1", "u2", "u1"]


def test_machines(tmp_path: Path) -> None:
    """Those without a GPU are left out."""
    path = table(tmp_path, "pai_task_table.csv", TASKS)
    table(tmp_path, "pai_machine_spec.csv", ("m1,CPU,96,512,0", "m2,V100,96,512,8"))
    assert read_pai(path).nodes == (QueueNode("m2", 8, "V100", 96.0),)
    table(tmp_path, "pai_machine_spec.csv", ("m2,V100,96,512,many",))
    with pytest.raises(InputError, match=r'pai_machine_spec.csv, line 1: found "many", allowed: a number'):
        read_pai(path)


@pytest.mark.skipif(not MACHINES_FILE.is_file(), reason="the raw data are not here")
def test_the_real_machines(tmp_path: Path) -> None:
    """83 machines have no GPU."""
    nodes = read_pai(table(tmp_path, "pai_task_table.csv", TASKS), nodes=MACHINES_FILE).nodes
    assert len(nodes) == len(MACHINES_FILE.read_text().splitlines()) - 83


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("z,w,1.0,Terminated,soon,400,1,1,100,T4", "Entries whose start_time is not a time"),
        ("z,w,two,Terminated,1,400,1,1,100,T4", "Entries whose inst_num is not a number"),
        ("z,w,-1,Terminated,1,400,1,1,100,T4", "Tasks with a negative number of instances or GPUs"),
        ("z,w,1e9,Terminated,1,400,1,1,100,T4", "Jobs with an impossible number of GPUs"),
        (",w,1.0,Terminated,1,400,1,1,100,T4", "Entries without a job_name"),
        ("z,w,1.0,Failed,5,,1,1,100,T4", "Jobs with a start but neither end nor duration"),
    ],
)
def test_damaged_tasks(row: str, reason: str, tmp_path: Path) -> None:
    queue = read_pai(table(tmp_path, "tasks.csv", (TASKS[1], row)))
    assert [job.id for job in queue.jobs] == ["a"]
    assert any(each.startswith(f"{reason}, left out: 1 (first in line 2") for each in queue.audit), queue.audit


def test_times_in_the_table_of_jobs_that_cannot_be_read(tmp_path: Path) -> None:
    """The job comes when it starts, and this is said."""
    queue = read_pai(
        table(tmp_path, "t.csv", TASKS[:2]), jobs=table(tmp_path, "j.csv", ("a,i1,u1,Terminated,?,400.0", "b"))
    )
    assert (queue.jobs[0].submit_s, queue.jobs[0].user) == (110.0, "u1")
    unread = "In j.csv: Jobs whose start_time cannot be read, assumed to be submitted at their start: 1"
    assert any(unread in each for each in queue.audit)
    assert "In j.csv: Rows with other than 6 cells, left out: 1 (first in line 2)." in queue.audit


def test_tasks_without_an_end(tmp_path: Path) -> None:
    """The others count, and this is said."""
    queue = read_pai(table(tmp_path, "t.csv", (TASKS[1], "a,ps,1.0,Failed,110.0,,600.0,29.3,,")))
    assert queue.jobs[0].end_s == 400.0
    assert any("tasks without an end" in each for each in queue.audit)


DAY = "2017-10-07"
DAY_S = datetime(2017, 10, 7, tzinfo=UTC).timestamp()


def attempt(start: str | None, end: str | None, **gpus: int) -> dict[str, Any]:
    """An attempt between two times of the day."""
    detail = [{"ip": name, "gpus": [f"gpu{index}" for index in range(count)]} for name, count in gpus.items()]
    return {"start_time": start and f"{DAY} {start}", "end_time": end and f"{DAY} {end}", "detail": detail}


def job(name: str, *attempts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "status": "Pass",
        "vc": "ee9e8c",
        "jobid": name,
        "attempts": list(attempts),
        "submitted_time": f"{DAY} 01:00:00",
        "user": "ce2f4c",
        **more,
    }


def log(tmp_path: Path, *jobs: Any) -> Path:
    path = tmp_path / "cluster_job_log"
    path.write_text(json.dumps(jobs))
    return path


def test_a_job(tmp_path: Path) -> None:
    """Its last attempt counts, with the servers of that."""
    path = log(
        tmp_path, job("app_1", attempt("01:10:00", "01:20:00", m47=8), attempt("02:00:00", "03:00:00", m412=8, m9=4))
    )
    queue = read_philly_raw(path)
    assert queue.jobs == (
        QueuedJob(
            *("app_1", "ce2f4c", "ee9e8c", DAY_S + 3600, DAY_S + 7200, DAY_S + 10800, 3600.0, 12),
            **{"nodes": ("m412", "m9"), "state": "Pass", "line": 1},
        ),
    )
    assert "Jobs with several attempts, counted by the last: 1 (first in object 1)." in queue.audit
    assert any("no time zone" in each for each in queue.audit) and queue.dated


def test_jobs_without_whole_attempts(tmp_path: Path) -> None:
    """None at all; no end: it still runs; no start: it cannot be told."""
    path = log(
        tmp_path,
        job("none"),
        job("runs", attempt("02:00:00", None, m1=1)),
        job("startless", attempt(None, "03:00:00", m1=1)),
        job("words", attempt("02:00:00", "03:00:00", m1=1), submitted_time="None"),
        job("good", attempt("02:00:00", "03:00:00", m1=1)),
        {"jobid": 5},
    )
    queue = read_philly_raw(path)
    assert [each.id for each in queue.jobs] == ["good"]
    for said in (
        "Jobs that never got a GPU, left out: 1 (first in object 1).",
        "Jobs whose last attempt has no start, left out: 1 (first in object 3).",
        "Jobs that are still running or waiting, left out: 1 (first in object 2).",
        "Jobs without a submission time, left out: 1 (first in object 4).",
        "Objects whose jobid is not text, left out: 1 (first in object 6, 5).",
    ):
        assert said in queue.audit, queue.audit
    assert [each.id for each in read_philly_raw(path, ended_only=False).jobs] == ["runs", "good"]


def test_words_of_zones(tmp_path: Path) -> None:
    """PDT is seven hours behind UTC, PST eight."""
    times = {
        "start_time": f"{DAY} 02:00:00 PDT",
        "end_time": f"{DAY} 02:00:00 PST",
        "detail": attempt("1", "1", m1=1)["detail"],
    }
    (found,) = read_philly_raw(log(tmp_path, job("x", times, submitted_time=f"{DAY} 01:00:00 PDT"))).jobs
    assert (found.submit_s, found.start_s, found.duration_s) == (DAY_S + 8 * 3600, DAY_S + 9 * 3600, 3600.0)


def test_machines_of_philly(tmp_path: Path) -> None:
    """Those beside the log; memory stands for the type."""
    path = log(tmp_path, job("x", attempt("02:00:00", "03:00:00", m1=1)))
    listed = tmp_path / "cluster_machine_list"
    listed.write_text("machineId,number of GPUs,single GPU mem\nm1,8, 24GB\nm2,2, 12GB\n")
    assert read_philly_raw(path).nodes == (QueueNode("m1", 8, "24GB"), QueueNode("m2", 2, "12GB"))
    listed.write_text("machineId,number of GPUs,single GPU mem\nm1,eight,24GB\n")
    with pytest.raises(InputError, match=r'cluster_machine_list, line 2: found "eight"'):
        read_philly_raw(path)


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("{}")
    with pytest.raises(InputError, match="found an object, allowed: a list of jobs"):
        read_philly_raw(path)
    with pytest.raises(InputError, match=r"line 1: found 6 cells parted by commas, allowed: 10: job_name, task_name"):
        read_pai(table(tmp_path, "pai_job_table.csv", JOBS))

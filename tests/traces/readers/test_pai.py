"""PAI's tables: jobs of several tasks, parts of GPUs, users and submissions from the table of jobs."""

from pathlib import Path

import pytest

from dlsched.core.errors import InputError
from dlsched.traces.queue.queue import QueuedJob, QueueNode
from dlsched.traces.readers.pai import read_pai

DATA = Path(__file__).parents[3].parent / "shared" / "data" / "pai_machine_spec.csv"
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
    path = table(
        tmp_path,
        "tasks.csv",
        ("job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type", *TASKS),
    )
    queue = read_pai(path)
    assert [(job.id, job.user, job.submit_s) for job in queue.jobs] == [
        ("a", "", 110.0),
        ("b", "", 200.0),
        ("c", "", 300.0),
    ]
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


@pytest.mark.skipif(not DATA.is_file(), reason="the raw data are not here")
def test_the_real_machines(tmp_path: Path) -> None:
    """83 machines have no GPU."""
    nodes = read_pai(table(tmp_path, "pai_task_table.csv", TASKS), nodes=DATA).nodes
    assert len(nodes) == len(DATA.read_text().splitlines()) - 83


def test_another_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 1: found 6 cells parted by commas, allowed: 10: job_name, task_name"):
        read_pai(table(tmp_path, "pai_job_table.csv", JOBS))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("z,w,1.0,Terminated,soon,400,1,1,100,T4", "Entries whose start_time is no time"),
        ("z,w,two,Terminated,1,400,1,1,100,T4", "Entries whose inst_num is no number"),
        ("z,w,-1,Terminated,1,400,1,1,100,T4", "Tasks with less than no instances or GPUs"),
        ("z,w,1e9,Terminated,1,400,1,1,100,T4", "Jobs with an impossible number of GPUs"),
        (",w,1.0,Terminated,1,400,1,1,100,T4", "Entries without a job_name"),
        ("z,w,1.0,Terminated,500,400,1,1,100,T4", "Jobs that end before they start"),
        ("z,w,1.0,Failed,,,1,1,100,T4", "Jobs that ended without having run"),
        ("z,w,1.0,Failed,5,,1,1,100,T4", "Jobs that started and say neither end nor duration"),
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
    assert any(
        "In j.csv: Jobs whose start_time cannot be read, taken to come when they start: 1" in each
        for each in queue.audit
    )
    assert "In j.csv: Rows with other than 6 cells, left out: 1 (first in line 2)." in queue.audit


def test_tasks_without_an_end(tmp_path: Path) -> None:
    """The others count, and this is said."""
    queue = read_pai(table(tmp_path, "t.csv", (TASKS[1], "a,ps,1.0,Failed,110.0,,600.0,29.3,,")))
    assert queue.jobs[0].end_s == 400.0
    assert any("tasks that do not say when they ended" in each for each in queue.audit)

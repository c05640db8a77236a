"""Tables by a mapping of columns; Acme, Helios and Philly are such tables."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dlsched.core.errors import InputError, UsageError
from dlsched.traces.queue import QueuedJob
from dlsched.traces.readers.columns import Column, read_acme, read_csv, read_helios, read_mapping, read_philly

DATA = Path(__file__).parents[3].parent / "shared" / "data" / "philly_jobs.csv"


def file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "jobs.csv"
    path.write_text(text)
    return path


def test_a_mapping(tmp_path: Path) -> None:
    """Every key, in any order of columns, with units."""
    text = (
        "n,who,submitted,run_h,name,began,over,word,most,kind,prio,cores,at_least,where,team\n"
        "4,ada,10,0.5,j1,30,60,DONE,1.5,a100,7,16,2,n[1-2],vision\n"
    )
    columns = (
        "arrival=submitted:min,gpus=n,duration=run_h:h,user=who,id=name,start=began:min,end=over:min,state=word,limit=most:d,"
        "gpu_type=kind,priority=prio,cpus=cores,least_gpus=at_least,nodes=where,group=team"
    )
    queue = read_csv(file(tmp_path, text), columns=columns)
    assert queue.jobs == (
        QueuedJob(
            *("j1", "ada", "vision", 600.0, 1800.0, 3600.0, 1800.0, 4),
            **{"least_gpus": 2, "nodes": ("n1", "n2"), "cpus": 16.0, "gpu_type": "a100", "state": "DONE"},
            **{"limit_s": 1.5 * 86400, "line": 2, "priority": 7.0, "partition": "vision"},
        ),
    )
    assert not queue.dated


def test_the_least_that_is_needed(tmp_path: Path) -> None:
    """Ids are lines, nothing else is known."""
    queue = read_csv(
        file(tmp_path, "t;g;d\n0;1;60\n5;2;01:00:00\n"), columns={"arrival": "t", "gpus": "g", "duration": "d"}
    )
    assert [(job.id, job.submit_s, job.start_s, job.duration_s, job.gpus) for job in queue.jobs] == [
        ("line-2", 0.0, None, 60.0, 1),
        ("line-3", 5.0, None, 3600.0, 2),
    ]


def test_dates_and_open_jobs(tmp_path: Path) -> None:
    """Jobs without an end, or in a word such as running, are open."""
    text = (
        "t,s,e,g,w\n2024-05-01,2024-05-02,2024-05-03,1,ok\n"
        "2024-05-01,2024-05-02,,1,ok\n2024-05-01,2024-05-02,2024-05-03,1,Running\n"
    )
    columns = "arrival=t,start=s,end=e,gpus=g,state=w"
    queue = read_csv(file(tmp_path, text), columns=columns)
    assert [job.duration_s for job in queue.jobs] == [86400.0] and queue.dated
    both = read_csv(file(tmp_path, text), columns=columns, ended_only=False).jobs
    assert [job.end_s is None for job in both] == [False, True, True]


def test_gpus_in_parts(tmp_path: Path) -> None:
    """Percent, thousandths, fractions; a share of its own column; MIG profiles, of which a share is believed first."""
    text = "t,d,percent,milli,n,part,kind\n0,9,50,250,0.5,0.3,a100\n0,9,800,2000,2.5,0.3,2g.10gb\n0,9,100,1000,2,1,a30_1g.6gb\n"

    def held(columns: str) -> list[tuple[int, float]]:
        queue = read_csv(file(tmp_path, text), columns=f"arrival=t,duration=d,{columns}")
        return [(job.gpus, job.share) for job in queue.jobs]

    assert held("gpus=percent:%") == [(1, 0.5), (8, 1.0), (1, 1.0)]
    assert held("gpus=milli:milli") == [(1, 0.25), (2, 1.0), (1, 1.0)]
    assert held("gpus=n") == [(1, 0.5), (3, 2.5 / 3), (2, 1.0)]
    assert held("gpus=n,share=part") == [(1, 0.3), (3, 0.3), (2, 1.0)]
    assert held("gpus=percent:%,gpu_type=kind") == [(1, 0.5), (8, 2 / 7), (1, 0.25)]
    assert held("gpus=n,share=part,gpu_type=kind") == [(1, 0.3), (3, 0.3), (2, 1.0)]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("", r"found no arrival, gpus, duration \(or start and end\)"),
        ("arrival=t,gpus=g", r"found no duration \(or start and end\)"),
        ("arrival=t,gpus=g,end=e", "found no start"),
        ("arival=t,gpus=g,duration=d", "found 'arival=t', allowed: once each KEY=COLUMN"),
        ("arrival=t,arrival=u,gpus=g,duration=d", "found 'arrival=u'"),
        ("arrival,gpus=g,duration=d", "found 'arrival='"),
        ("arrival=t:h,end=e,start=s:h,gpus=g", "found times of several units"),
    ],
)
def test_mappings_that_cannot_be(columns: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_mapping(columns)


def test_columns_with_a_colon(tmp_path: Path) -> None:
    """What stands behind it is a unit only if it is one; a column that is not there is named."""
    queue = read_csv(file(tmp_path, "a:b,g,d\n0,1,60\n"), columns="arrival=a:b,gpus=g,duration=d")
    assert queue.jobs[0].submit_s == 0.0
    assert read_mapping({"arrival": "t:ms", "gpus": "x=y", "duration": "d,e"})["arrival"] == Column("t", 1e-3)
    with pytest.raises(InputError, match=r'jobs.csv, line 1: missing column run; found "t", "g"'):
        read_csv(file(tmp_path, "t,g\n0,1\n"), columns="arrival=t,gpus=g,duration=run")


ACME = (
    "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time\n"
    "5778432,u5907,1,8,128,Other,FAILED,"
    "2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,2023-03-01 00:20:51+08:00,500,32,936.0\n"
    "5778469,u5907,1,0,128,Debug,COMPLETED,"
    "2023-03-01 00:23:58+08:00,2023-03-01 00:24:11+08:00,2023-03-01 01:09:04+08:00,2693,13,0\n"
)


def test_acme(tmp_path: Path) -> None:
    """Durations are end - start; the zone counts."""
    (job,) = read_acme(file(tmp_path, ACME)).jobs
    submit_s = datetime(2023, 2, 28, 16, 18, 22, tzinfo=UTC).timestamp()
    assert job == QueuedJob(
        *("5778432", "u5907", "Other", submit_s, submit_s + 32, submit_s + 149, 117.0, 8),
        **{"cpus": 128.0, "state": "FAILED", "line": 2, "partition": "Other"},
    )


def test_helios(tmp_path: Path) -> None:
    """Stated durations; the group is the virtual cluster; states by option."""
    text = (
        "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
        "1425511,uXBbc,vcJkd,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 04:55:09,36848,0\n"
        "1425512,uVMrF,vchbv,4,16,1,CANCELLED,2020-06-09 18:41:27,None,2020-06-09 18:45:36,0,0\n"
        "1425513,uVMrF,vchbv,4,16,1,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:27,2020-06-09 18:45:36,249,0\n"
    )
    jobs = read_helios(file(tmp_path, text)).jobs
    assert [(job.id, job.group, job.gpus, job.duration_s) for job in jobs] == [
        ("1425511", "vcJkd", 1, 36848.0),
        ("1425513", "vchbv", 4, 249.0),
    ]
    assert [job.id for job in read_helios(file(tmp_path, text), states=["FAILED"]).jobs] == ["1425513"]


def test_philly(tmp_path: Path) -> None:
    """The virtual cluster stands for the user."""
    text = (
        "timestamp,duration,num_gpus,gpu_time,cluster\n"
        "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n2017-10-09 06:13:03,0,1,0,6214e9\n"
    )
    queue = read_philly(file(tmp_path, text))
    submit_s = datetime(2017, 10, 9, 7, 1, 55, tzinfo=UTC).timestamp()
    assert queue.jobs == (
        QueuedJob("line-2", "11cb48", "11cb48", submit_s, None, None, 66.0, 1, line=2, partition="11cb48"),
    )


@pytest.mark.skipif(not DATA.is_file(), reason="the raw data are not here")
def test_the_real_philly() -> None:
    """As many jobs as rows with a duration, as the importers of instances read."""
    from dlsched.traces.readers.simulators import read_philly_jobs

    strict, lenient = (
        [(job.submit_s, job.gpus, job.duration_s) for job in jobs]
        for jobs in (read_philly_jobs(DATA)[0], read_philly(DATA).jobs)
    )
    assert lenient == strict

"""The traces of simulators: as queues, their windows, and files that are none."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dlsched.core.errors import InputError, UsageError
from dlsched.traces import import_gavel, import_instance, import_philly, import_tiresias
from dlsched.traces.readers.simulators import gavel_queue, tiresias_queue
from tests.traces.drawn import gavel_file, philly_file, tiresias_file

LM = "LM (batch size 5)"


def test_gavel(tmp_path: Path) -> None:
    """By hand: 1000 steps of A3C at 7.17577 a second are 139.358 s on a V100, 290.802 s at 3.43877 on a K80."""
    path = tmp_path / "some.trace"
    path.write_text("A3C\trun\t-n\t0\t1000\t30.5\t1\nLM (batch size 5)\trun\t-n\t0\t11935\t3\t3\n")
    queue = gavel_queue(path)
    first, second = queue.jobs
    assert (first.id, first.group, first.submit_s, first.gpus, first.duration_s) == (
        "job-1",
        "A3C on 1",
        30.5,
        1,
        139.358,
    )
    assert (second.start_s, second.gpus, second.duration_s) == (None, 3, pytest.approx(64.2621))  # as on 2 GPUs
    assert not queue.dated
    assert gavel_queue(path, gpu_type="K80").jobs[0].duration_s == 290.802
    with pytest.raises(UsageError, match="gpu_type: found 'A100', allowed: V100, P100, K80"):
        gavel_queue(path, gpu_type="A100")
    with pytest.raises(UsageError, match="states: found 'done', allowed: none"):
        gavel_queue(path, states=("done",))


def test_tiresias(tmp_path: Path) -> None:
    """Its own durations; jobs without length are left out."""
    path = tmp_path / "tiresias_60_jobs.csv"
    path.write_text("num_gpu,submit_time,iterations,model_name,duration\n2,5,606,vgg19,164\n1,6,5,vgg16,0\n")
    queue = tiresias_queue(path)
    (job,) = queue.jobs
    assert (job.id, job.group, job.submit_s, job.gpus, job.duration_s) == ("job-1", "vgg19 on 2", 5.0, 2, 164.0)
    assert "Rows with a duration of 0 s or less, left out: 1." in queue.audit
    with pytest.raises(UsageError, match="states: found 'done', allowed: none"):
        tiresias_queue(path, states=("done",))


@pytest.mark.parametrize(
    ("source", "from_", "to", "expected"),
    [
        *((source, "2017-10-01T00:00:05", "2017-10-01T00:00:20", [5.0]) for source in ("philly", "philly-gangs")),
        *((source, "5", "2e1", [5.0]) for source in ("gavel", "gavel-gangs")),
        ("tiresias", None, "20", [0.0, 10.0]),
    ],
)
def test_windows(source: str, from_: str | None, to: str, expected: list[float], tmp_path: Path) -> None:
    """From is kept, to is not; times are relative to from. Empty windows are refused, what is no time before a file is read."""
    path = {
        "philly": philly_file(tmp_path, *(f"00:00:{at:02},60,1" for at in (0, 10, 20))),
        "gavel": gavel_file(tmp_path, *((LM, 5, at, 1) for at in (0.0, 10.0, 20.0))),
        "tiresias": tiresias_file(tmp_path, *(f"1,{at},5,vgg16,9" for at in (0, 10, 20))),
    }[source.partition("-")[0]]
    instance, audit = import_instance(source, path, from_=from_, to=to)
    times_s = [getattr(job, "release_s" if hasattr(job, "release_s") else "arrival_s") for job in instance.jobs]  # type: ignore[attr-defined]
    assert times_s == expected
    assert f"Jobs that arrive outside the window, left out: {3 - len(expected)}." in audit
    with pytest.raises(InputError, match="no job that runs and arrives in the window") as caught:
        import_instance(source, path, from_="2018-01-01" if source.startswith("philly") else "99")
    assert path in str(caught.value)
    for word in ("soon", "nan"):
        with pytest.raises(UsageError, match=f"from: found '{word}', allowed: "):
            import_instance(source, str(tmp_path / "absent"), from_=word)


GOOD = {
    import_philly: "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-01 00:00:00,5,1,5,a\n",
    import_gavel: f"{LM}\trun\t-n\t1\t5\t0.0\t1\n",
    import_tiresias: "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n0,1,5,9,vgg16,5,30\n",
}
NOON = "2017-10-01 12:00:00"
MALFORMED = [
    *(
        (import_philly, row, f"line 3: {message}")
        for row, message in (
            ("yesterday,5,1,5,a", "timestamp .* 'yesterday'"),
            ("2017-10-01 00:00:00+02:00,5,1,5,a", "timestamp"),
            (f"{NOON},long,1,5,a", "duration .* 'long'"),
            (f"{NOON},inf,1,5,a", "duration"),
            (f"{NOON},5,0,5,a", "num_gpus .* '0'"),
            (f"{NOON},5,1,,a", "gpu_time"),
            (f"{NOON},5,1", "the number of cells"),
        )
    ),
    *(
        (import_gavel, row, f"line 2: {message}")
        for row, message in (
            (f"{LM}\trun\t-n\t1\t0\t1.0\t1", "total_steps .* '0'"),
            (f"{LM}\trun\t-n\t1\t5\tlate\t1", "arrival_time .* 'late'"),
            (f"{LM}\trun\t-n\t1\t5\t1.0\t2.5", "scale_factor .* '2.5'"),
            (
                "LM (batch size 6)\trun\t-n\t1\t5\t1.0\t1",
                r"job_type must be one .* on V100, found 'LM \(batch size 6\)'",
            ),
            (f"{LM}\trun\t-n\t1\t5\t1.0\t1\t1", "a row must hold 7 cells parted by tabs, found 8"),
        )
    ),
    *(
        (import_tiresias, row, f"line 3: {message}")
        for row, message in (
            ("1,0,5,9,vgg16,5,30", "num_gpu .* '0'"),
            ("1,1,late,9,vgg16,5,30", "submit_time .* 'late'"),
            ("1,1,5,1.5,vgg16,5,30", "iterations .* '1.5'"),
            ("1,1,5,9,vgg99,5,30", "model_name must be one of alexnet, .*, found 'vgg99'"),
            ("1,1,5,9,vgg16,nan,30", "duration .* 'nan'"),
        )
    ),
]


@pytest.mark.parametrize(("read", "row", "message"), MALFORMED)
def test_the_line_that_is_wrong_is_named(read: Callable[[str], object], row: str, message: str, tmp_path: Path) -> None:
    """With the file, the column and what was found."""
    path = tmp_path / "trace"
    path.write_text(f"{GOOD[read]}{row}\n")
    with pytest.raises(ValueError, match=message) as caught:
        read(str(path))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (import_gavel, b"", "no row"),
        (import_gavel, b"\xff", "after line 0: not UTF-8"),
        (import_philly, GOOD[import_philly].replace(",5,1,5", ",0,1,0").encode(), "found no job"),
    ],
)
def test_what_is_no_trace(read: Callable[[str], object], content: bytes, message: str, tmp_path: Path) -> None:
    """Is refused with the file's name."""
    path = tmp_path / "trace"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read(str(path))
    assert str(path) in str(caught.value)

"""Which options readers and makers take, when the jobs of traces arrive, and windows of queues."""

import inspect
from pathlib import Path

import pytest

from dlsched.catalogue.sources import MAKING, OPTIONS
from dlsched.core.errors import InputError, UsageError
from dlsched.traces import SOURCES, arrivals_of, read_queue
from dlsched.traces.instances import MAKERS
from dlsched.traces.queue import Queue, queue_window

TIRESIAS = "num_gpu,submit_time,iterations,model_name,duration\n1,30,5,vgg16,60\n1,10,5,vgg16,0\n1,20.5,5,vgg16,60\n"
GAVEL = "LM (batch size 5)\trun\t-n\t0\t100\t30.25\t1\nLM (batch size 5)\trun\t-n\t0\t100\t3\t1\n"
PHILLY = (
    "timestamp,duration,num_gpus,gpu_time,cluster\n1970-01-02 00:00:01,60,1,60,vc\n1970-01-01 00:00:00,60,1,60,vc\n"
)


@pytest.mark.parametrize(
    ("source", "written", "expected"),
    [
        ("tiresias", TIRESIAS, [(30.0, "30"), (20.5, "20.5")]),
        *((source, GAVEL, [(30.25, "30.25"), (3.0, "3")]) for source in ("gavel", "gavel-gangs")),
        *(
            (source, PHILLY, [(86401.0, "1970-01-02T00:00:01"), (0.0, "1970-01-01T00:00:00")])
            for source in ("philly", "philly-gangs")
        ),
    ],
)
def test_arrivals(source: str, written: str, expected: list[tuple[float, str]], tmp_path: Path) -> None:
    """In the order of the file, without jobs of no length; and written as the trace's window reads them."""
    (tmp_path / "trace").write_text(written)
    clock = SOURCES[source].clock
    assert clock is not None
    found = arrivals_of(source, str(tmp_path / "trace"))
    assert [(each, clock.moment(each)) for each in found] == expected
    for each, text in expected:
        assert clock.window(text, None).start_s == each


def test_what_has_no_arrivals(tmp_path: Path) -> None:
    """Tables of speeds; files that are not there or malformed."""
    with pytest.raises(UsageError, match="source: found 'pcs', which has no times, allowed: a trace"):
        arrivals_of("pcs", "x")
    with pytest.raises(InputError, match="nosuch: cannot be read"):
        arrivals_of("gavel", str(tmp_path / "nosuch"))
    (tmp_path / "trace").write_text("1\t2\n")
    with pytest.raises(InputError, match="line 1: a row must hold 7 cells"):
        arrivals_of("gavel", str(tmp_path / "trace"))


def test_arrivals_of_queues(tmp_path: Path) -> None:
    """Of jobs that count, in the order of the file."""
    header = "JobIDRaw|State|Submit|Start|End|ElapsedRaw|AllocTRES\n"
    (tmp_path / "sacct").write_text(
        header
        + "1|COMPLETED|1970-01-01T00:02:00|1970-01-01T00:02:00|1970-01-01T00:03:00|60|gres/gpu=1\n"
        + "2|COMPLETED|1970-01-01T00:01:00|1970-01-01T00:02:00|1970-01-01T00:03:00|60|gres/gpu=1\n"
        + "3|COMPLETED|1970-01-01T00:01:00|1970-01-01T00:02:00|1970-01-01T00:03:00|60|cpu=1\n"
    )
    assert arrivals_of("slurm", str(tmp_path / "sacct")) == [120.0, 60.0]


@pytest.mark.parametrize(
    ("dated", "time_s", "text", "others"),
    [
        (True, 86400.0, "1970-01-02T00:00:00", ["1970-01-02", "1970-01-02T01:00:00+01:00", "1970-01-02T00:00:00Z"]),
        (True, 0.25, "1970-01-01T00:00:00.250000", []),
        (False, 86400.0, "86400", ["8.64e4"]),
    ],
)
def test_times_of_queues(*, dated: bool, time_s: float, text: str, others: list[str]) -> None:
    """Written as the window reads them; it takes zones too."""
    queue = Queue("csv", "jobs.csv", (), (), dated)
    assert queue.moment(time_s) == text
    for each in (text, *others):
        assert queue_window(queue, each, None).start_s == time_s
        assert queue_window(queue, None, each).end_s == time_s


def test_a_window_that_is_no_time_of_the_queue() -> None:
    """Numbers among dates, and dates among numbers."""
    with pytest.raises(UsageError, match="from: found 'soon', allowed: a date or time such as 2025-03-01"):
        queue_window(Queue("csv", "x", (), ()), "soon", None)
    with pytest.raises(UsageError, match="to: found '2025-03-01', allowed: a number of seconds"):
        queue_window(Queue("csv", "x", (), (), dated=False), None, "2025-03-01")


@pytest.mark.parametrize("family", MAKERS)
def test_the_catalogue_knows_what_makers_take(family) -> None:
    """For every family those that its maker has as arguments."""
    taken = set(inspect.signature(MAKERS[family]).parameters) - {"queue", "window"}
    assert {option.python for option in OPTIONS.values() if family in option.makes} == taken
    assert taken <= set(MAKING)


@pytest.mark.parametrize("source", [name for name, source in SOURCES.items() if source.reader])
def test_the_catalogue_knows_what_readers_take(source) -> None:
    """States are of all; what becomes of slices is no matter of the reader."""
    entry = SOURCES[source]
    taken = set(inspect.signature(entry.read).parameters) - {"path", "ended_only"}
    assert taken | {"slices"} == set(entry.reading)


def test_reading_asks_whether_a_source_takes_an_option() -> None:
    """An option of other readers is refused, before the file is looked for."""
    with pytest.raises(UsageError, match=r"^columns: found 'a=b', allowed: no such option for source slurm$"):
        read_queue("slurm", "nosuch", columns="a=b")

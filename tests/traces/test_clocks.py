"""When the jobs of traces arrive, as their files say."""

from pathlib import Path

import pytest

from dlsched.core.errors import InputError, UsageError
from dlsched.traces import SOURCES, arrivals_of

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

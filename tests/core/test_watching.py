"""Lines of ``verbose``, and records of the logger: when they are written, and what they say."""

import logging

import pytest

import dlsched
from dlsched import ring_allocation
from dlsched.core.limits import Progress
from dlsched.core.watching import Lines, line_of


def test_a_line_a_second_and_the_last(capsys: pytest.CaptureFixture[str]) -> None:
    """The first at once, those within a second of a line are replaced by later ones, the last is printed at the end."""
    now = [0.0]
    lines = Lines("small", line_of, clock=lambda: now[0])
    for moment, objective in ((0.0, 9.0), (0.4, 8.0), (0.9, 7.0), (1.1, 6.0), (1.3, 5.0)):
        now[0] = moment
        lines(Progress(moment, objective, 4.0, 1, "search"))
    lines.end()
    lines.end()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert [line.split(", ")[1] for line in printed.err.splitlines()] == ["incumbent 9", "incumbent 6", "incumbent 5"]
    assert printed.err.splitlines()[0] == "small: 0.0 s, incumbent 9, bound 4, gap -, 1 nodes, search"


def test_verbose_prints_and_progress_still_hears(capsys: pytest.CaptureFixture[str]) -> None:
    """The last line has the optimum, its bound and no gap; the callback gets the events that the lines are made of."""
    heard: list[Progress] = []
    result = dlsched.solve(ring_allocation.example(), verbose=True, progress=heard.append)
    last = capsys.readouterr().err.splitlines()[-1]
    assert f"{result.instance.name}, exact: " in last and "gap 0 %" in last
    assert heard[-1].objective == result.objective and heard[-1].gap == 0.0
    dlsched.solve(ring_allocation.example())
    assert capsys.readouterr().err == ""


def test_the_gap_leaves_out_what_solutions_share() -> None:
    """As a result's does."""
    heard: list[Progress] = []
    instance = dlsched.srpt_mapping.example()
    result = dlsched.solve(instance, progress=heard.append)
    assert result.constant > 0
    assert heard[-1].gap == result.gap


def test_the_logger_tells_what_was_tried_and_found(caplog: pytest.LogCaptureFixture) -> None:
    """DEBUG: method and end; INFO: incumbents and bounds, each better than the one before; all of the logger ``dlsched``."""
    instance = ring_allocation.example()
    with caplog.at_level(logging.DEBUG, logger="dlsched"):
        result = dlsched.solve(instance)
    assert {record.name for record in caplog.records} == {"dlsched"}
    said = {level: [r.getMessage() for r in caplog.records if r.levelname == level] for level in ("DEBUG", "INFO")}
    assert said["DEBUG"][0] == f"ring_allocation: {instance.name}, exact, limits {{}}"
    assert said["DEBUG"][-1].startswith(f"{instance.name}, exact: optimal after ")
    assert any(f"incumbent {result.objective!r}" in message for message in said["INFO"])
    assert any(f"bound {result.bound!r}" in message for message in said["INFO"])


def test_it_is_silent_by_default(capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is printed without ``verbose`` or a handler of the user's."""
    dlsched.solve(ring_allocation.example())
    assert capfd.readouterr() == ("", "")

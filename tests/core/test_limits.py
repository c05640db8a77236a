"""Limits of a search, its progress, and who sees it: a callback, lines on standard error, the logger ``dlsched``."""

import logging

import pytest

import dlsched
from dlsched import ring_allocation
from dlsched.core.errors import UsageError
from dlsched.core.limits import Limits, Lines, Progress, Stopped, line_of
from dlsched.core.search import Search
from dlsched.core.status import Sense, TerminationStatus


@pytest.mark.parametrize(
    "values",
    [
        {"time_s": -1.0},
        {"time_s": float("nan")},
        {"time_s": float("inf")},
        {"nodes": -1},
        *({"nodes": value} for value in (1.5, 5.0, float("nan"), float("inf"))),
        {"threads": 0},
        *({"threads": value} for value in (1.5, 1.0, float("nan"), float("inf"))),
    ],
)
def test_values_out_of_range_are_refused(values):
    """UsageError names what was found."""
    with pytest.raises(UsageError, match="found"):
        Limits(**values)


def test_only_limits_that_were_set_are_written():
    """No limit, no entry; one thread is the default."""
    assert Limits().as_data() == {}
    assert Limits(time_s=0, nodes=0, threads=2).as_data() == {"time_s": 0, "nodes": 0, "threads": 2}


def search(**limits):
    """A search of numbers: the objective is the number itself, negative ones are not allowed."""
    return Search(
        objective=float,
        check=lambda value: ["negative"] if value < 0 else [],
        sense=Sense.MINIMIZE,
        limits=Limits(**limits),
    )


def test_search_stops_at_its_node_limit():
    """Three nodes are allowed, the fourth is not; nodes left are counted."""
    running = search(nodes=3)
    running.tick(2)
    assert running.left.nodes == 1
    running.tick(1)
    with pytest.raises(Stopped) as caught:
        running.tick(1)
    assert caught.value.status is TerminationStatus.NODE_LIMIT
    assert running.budget.nodes == 3


def test_search_stops_at_a_zero_time_limit():
    """Zero seconds are over at once, and none are left."""
    running = search(time_s=0)
    assert running.left.time_s == 0
    with pytest.raises(Stopped) as caught:
        running.tick()
    assert caught.value.status is TerminationStatus.TIME_LIMIT


def test_search_keeps_the_better_of_what_it_is_offered():
    """5, then 7 (not kept), then 3; bounds only rise."""
    running = search()
    assert running.offer(5, source="a") and not running.offer(7, source="b") and running.offer(3, source="c")
    assert (running.solution, running.objective) == (3, 3.0)
    running.prove(1.0, source="a")
    running.prove(0.5, source="b")
    assert (running.bound, running.bound_source) == (1.0, "a")


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

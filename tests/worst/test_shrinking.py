"""Shrinking: what goes, what stays, and the ratio that has to be kept."""

from dataclasses import replace

import pytest

from dlsched.worst.judging import Judge
from dlsched.worst.places import digits_of
from dlsched.worst.shrinking import least, shrunk, simpler_values
from dlsched.worst.space import Data, Number, Space

from .conftest import FAMILY, ONE, ring

ROUGH = ring({"1": 97.31, "2": 1.1234}, {"1": 51.7, "2": 48.23}, {"1": 2.345, "2": 2.344}, gpus=6)


def shrink(space: Space, data: Data, until: int = 1000, share: float = 0.01) -> tuple[Judge, list[Data]]:
    """All steps of shrinking some data."""
    ours = Judge(FAMILY, ONE, FAMILY.method("exact"))
    found = ours.judge(data)
    assert found is not None
    return ours, [step.data for step in shrunk(ours, space, found, until, share)]


def test_an_instance_becomes_readable(space: Space) -> None:
    """The jobs that matter least go, and of the other one two round numbers stay, 100 times apart at the most."""
    ours, steps = shrink(space, ROUGH)
    (job,) = steps[-1]["jobs"]
    times = list(job["epoch_time_s"].values())
    assert all(digits_of(time) == 1 for time in times)
    assert ours.worst is not None
    assert times[0] / times[1] >= 0.99 * ours.worst.ratio
    assert ours.evaluations <= 1000


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3])
def test_the_ratio_is_kept(share: float, space: Space) -> None:
    """Every step keeps it within the share of the worst found until then, not of the step before."""
    judge = Judge(FAMILY, ONE, FAMILY.method("exact"))
    start = judge.judge(ROUGH)
    assert start is not None
    worst = start.ratio
    for step in shrunk(judge, space, start, 1000, share):
        assert step.ratio >= (1 - share) * worst
        worst = max(worst, step.ratio)


def test_small_excesses_are_kept() -> None:
    """A ratio of 1.005 may not become 1: a tenth of what is above 1 may go."""
    assert least(1.005) == pytest.approx(1.0045)
    assert least(1.0) == 1.0
    assert least(0.5) == 0.5


def test_the_budget_ends_it(space: Space) -> None:
    """What was reached by then is kept."""
    ours, steps = shrink(space, ROUGH, until=3)
    assert ours.evaluations == 3
    assert len(steps) <= 2


def test_no_fewer_entries_than_the_space_allows(space: Space) -> None:
    """Two at least."""
    _, steps = shrink(replace(space, members=[("jobs", 2, 3)]), ROUGH)
    assert len(steps[-1]["jobs"]) == 2


def test_what_cannot_be_simpler_stays(space: Space) -> None:
    """100 and 1: no candidate is accepted."""
    assert shrink(space, ring({"1": 100.0, "2": 1.0}))[1] == []


def test_the_familys_own_ways_come_first_and_are_judged(space: Space) -> None:
    """One that halves all times is taken; one that loses the ratio is not; the repair has the last word."""

    def halved(data: Data) -> list[Data]:
        jobs = [job | {"epoch_time_s": {"1": 50.0, "2": 0.5}} for job in data["jobs"]]
        return [ring({"1": 1.0, "2": 1.0}), data | {"jobs": jobs}]

    start = ring({"1": 100.0, "2": 1.0})
    own = replace(space, numbers=[], simpler=[halved])
    _, steps = shrink(own, start)
    assert [job["epoch_time_s"] for job in steps[-1]["jobs"]] == [{"1": 50.0, "2": 0.5}]
    assert shrink(replace(own, repair=lambda data: None), start)[1] == []


@pytest.mark.parametrize(
    ("value", "others", "simpler"),
    [
        (3.7, [], [5.0, 2.0, 4.0]),
        (3.74, [3.74, 3.1], [5.0, 2.0, 3.1, 4.0, 3.7]),
        (0.87654321, [], [1.0, 0.5, 0.9, 0.88, 0.877, 0.8765, 0.876543]),
        (20.0, [1.0, 5.0, 35.0], [10.0, 50.0, 5.0]),
        (0.0, [0.0], []),
    ],
)
def test_simpler_values(value: float, others: list[float], simpler: list[float]) -> None:
    """Round ones near by, those of others, fewer digits; never one that looks more complicated, nor itself."""
    assert simpler_values(Number("x", 0.5, 50), value, sorted({value, *others})) == simpler

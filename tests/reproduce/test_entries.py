"""The reproductions: every plan reads at both sizes, and says plainly where instances are drawn instead of a trace's."""

from pathlib import Path

import pytest

from dlsched.core.errors import InputError, UsageError
from dlsched.reproduce.entries import ENTRIES, PLANS, differs_of, entry_named, plan_of, unanswered
from dlsched.study.trial import count
from tests.reproduce.rows_by_hand import row

TRACE = "timestamp,duration,num_gpus,gpu_time,cluster\n" + "".join(
    f"2017-10-{day:02} 07:01:55,66.0,{gpus},66.0,11cb48\n" for day, gpus in ((1, 1), (9, 8), (10, 2))
)


def test_there_are_at_least_six() -> None:
    """By name; every plan file belongs to one."""
    names = "gadget-fig4 gadget-fig7 capes-trend capes-patterns a-srpt-philly lin-grid liu-sampling"
    assert set(names.split()) <= set(ENTRIES)
    files = {path.stem.removesuffix("-drawn") for path in PLANS.glob("*.toml")}
    assert files == set(ENTRIES)


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("quick", [True, False])
def test_plans_read(name: str, quick: bool) -> None:
    """The quick one has fewer instances than the whole one; times are not what ends a method."""
    plan = plan_of(ENTRIES[name], quick=quick)
    assert plan.name == name and plan.limits.time_s >= 600
    if quick:
        assert count(plan)[0] < count(plan_of(ENTRIES[name]))[0]


def test_the_trace_takes_the_place_of_drawn_instances(tmp_path: Path) -> None:
    """With the file a plan is about its jobs; quick, about those of one week."""
    path = tmp_path / "philly_jobs.csv"
    path.write_text(TRACE, encoding="utf-8")
    entry = ENTRIES["a-srpt-philly"]
    (week,) = plan_of(entry, quick=True, trace=path).sources
    assert (week.file, dict(week.options)) == (str(path), {"gpus": 480, "from": "2017-10-09", "to": "2017-10-16"})  # type: ignore[union-attr]
    assert [source.options["gpus"] for source in plan_of(entry, trace=path).sources] == [480, 400]  # type: ignore[union-attr]
    assert "not about philly_jobs.csv" in differs_of(entry, drawn=True)[0]
    assert differs_of(entry, drawn=False) == list(entry.differs)


def test_refusals(tmp_path: Path) -> None:
    """Unknown names, a trace where there is none, and one that is not there."""
    with pytest.raises(UsageError, match=r"name: found 'fig9', allowed: gadget-fig4, "):
        entry_named("fig9")
    with pytest.raises(UsageError, match="allowed: no such option for lin-grid"):
        plan_of(ENTRIES["lin-grid"], trace="philly_jobs.csv")
    with pytest.raises(InputError, match=r"none\.csv"):
        plan_of(ENTRIES["a-srpt-philly"], trace=tmp_path / "none.csv")


def test_unanswered_cells_are_counted() -> None:
    """A bound is an answer of a method that gives nothing else."""
    rows = [
        row("a", "las", 1.0),
        row("a", "fifo", status="rejected"),
        row("b", "fifo", status="rejected"),
        row("a", "bound", bound=2.0),
        row("a", "drf", status="timeout"),
    ]
    assert unanswered(rows) == "2 rejected (fifo), 1 timeout (drf)"

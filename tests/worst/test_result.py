"""What a worst instance says of itself."""

from dataclasses import replace

from dlsched import ring_allocation
from dlsched.worst.judging import Failure
from dlsched.worst.result import Worst

WORST = Worst(
    family="ring_allocation",
    method="doubling",
    ratio=1.5,
    found=2.0,
    objective=15.0,
    reference=10.0,
    reference_kind="optimum",
    evaluations=1200,
    seed=3,
    instance=ring_allocation.example(),
    ended="limit",
    command="dlsched worst ring_allocation --method doubling --seed 3",
)


def test_it_shows_itself_in_a_few_lines() -> None:
    """How bad, against what, on what, and the command that finds it again; never the whole instance."""
    name, jobs = WORST.instance.name, len(ring_allocation.example().jobs)
    assert repr(WORST).splitlines() == [
        "Worst: doubling on ring_allocation: ratio 1.5",
        "of: objective 15, optimum 10",
        f"instance: {name}, {jobs} jobs",
        "search: 1,200 evaluations, seed 3, ended by the limit",
        "again: dlsched worst ring_allocation --method doubling --seed 3",
    ]


def test_notebooks_show_a_table() -> None:
    """A row a line, with what users wrote escaped."""
    shown = replace(WORST, method="<b>")._repr_html_()
    assert shown.startswith("<table><tr><th>Worst</th><td>&lt;b&gt; on ring_allocation: ratio 1.5</td></tr>")
    assert shown.count("<tr>") == 5


def test_bounds_missing_answers_and_failures_are_said() -> None:
    """A ratio against a bound is at most the one stated."""
    failure = Failure("it raised an error", WORST.instance)
    shown = repr(replace(WORST, reference_kind="bound", objective=None, failures=(failure,), ended="budget"))
    assert "ratio <= 1.5" in shown and "of: no answer, bound 10" in shown
    assert shown.endswith("failures: 1, the first: it raised an error")

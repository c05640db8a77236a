"""A-SRPT on a trace, the grid of Lin et al. and the market of Liu et al. from rows whose means are worked out by hand."""

import pytest

from dlsched.reproduce.schedulers import philly, sampling
from dlsched.reproduce.streams import grid
from tests.reproduce.rows_by_hand import row


def test_the_bound_on_flows_is_that_on_completions_less_the_releases() -> None:
    """Two jobs; 20 h of flow in the mean are 40 h in sum; a bound 20 h below leaves 20 h in sum, 10 h in the mean."""
    hour = 3600.0
    rows = [
        row("week", "bound", bound=80 * hour, jobs=2, gpus=480),
        row(
            "week", "a-srpt", 100 * hour, jobs=2, gpus=480, figures={"mean_flow_s": 20 * hour, "mean_wait_s": 5 * hour}
        ),
        row("week", "fifo", 140 * hour, jobs=2, gpus=480, figures={"mean_flow_s": 40 * hour, "mean_wait_s": 25 * hour}),
    ]
    found = philly(rows)
    (panel,) = found.panels
    flow, wait = panel.series
    assert [(mark.at, mark.estimate.value) for mark in flow.marks] == [("A-SRPT", 20.0), ("order of arrival", 40.0)]
    assert [mark.estimate.value for mark in wait.marks] == [5.0, 25.0]
    assert panel.title == "480 GPUs" and panel.level is not None and panel.level[1] == pytest.approx(10.0)
    assert found.conclusions == [
        "480 GPUs: best is A-SRPT with 20.00 h, at most 2.00 times the best schedule; A-SRPT is number 1 of 2 with 20.00 h.",
        "480 GPUs: the mean flow time of A-SRPT is 0.50 times order of arrival.",
    ]


def test_the_grid_has_a_panel_for_each_case() -> None:
    """Means of two seeds; paired differences of 10 and 12 h leave out 0 by 8.3 half widths less one."""
    arguments = {"load": 1.1, "ends": "early"}
    hours = {"fifo-fixed": (30.0, 42.0), "srpt-fixed": (20.0, 30.0), "bound": (10.0, 10.0)}
    rows = [
        row("stream", method, 3600 * h if method != "bound" else None, seed=seed, bound=3600 * h, arguments=arguments)
        for method, both in hours.items()
        for seed, h in enumerate(both)
    ]
    found = grid(rows)
    (panel,) = found.panels
    assert panel.title == "Load 1.1, early ends"
    drawn = {each.label: [(mark.at, mark.estimate.value) for mark in each.marks] for each in panel.series if each.marks}
    assert drawn == {"order of arrival": [("8 nodes each", 36.0)], "shortest remaining time": [("8 nodes each", 25.0)]}
    assert found.conclusions[0].startswith(
        "Load 1.1, early ends: 8 nodes each in shortest remaining time is best on average, 25.0 [-38.5, 88.5] h, "
        "at most 2.50 [-3.85, "
    )
    # differences -10 and -12: mean -11, half width 12.7: not told apart
    assert "is better in 0 and worse in 0 of 1 comparisons where sizes are given" in found.conclusions[-1]


def test_the_reported_number_is_met_to_its_digits() -> None:
    """2.0401 % is 2.04 % as the abstract writes it, and 2.046 % is not."""
    for ratio, said in ((1.020401, "within 2.04 % of the optimum here."), (1.02046, "beyond 2.04 %")):
        found = sampling([row("a", "sampled-market", 1.0, preset="few-types", ratio=ratio, reference_kind="optimum")])
        assert said in found.conclusions[1]


def test_gaps_are_to_proven_optima_only() -> None:
    """1 and 3 % have the mean 2 %, which is within 2.04 %; an instance without a proof is left out and counted."""
    rows = [
        row("a", "sampled-market", 101.0, preset="few-types", ratio=1.01, reference=100.0, reference_kind="optimum"),
        row("b", "sampled-market", 103.0, preset="many-types", ratio=1.03, reference=100.0, reference_kind="optimum"),
        row("c", "sampled-market", 150.0, preset="few-types", ratio=1.5, reference=100.0, reference_kind="bound"),
    ]
    found = sampling(rows)
    (panel,) = found.panels
    dots, mean = panel.series
    assert [mark.estimate.value for mark in dots.marks] == pytest.approx([1.0, 3.0])
    assert [mark.estimate.value for mark in mean.marks] == pytest.approx([2.0])
    assert panel.level == ("the abstract: 2.04 %", 2.04)
    assert [each.what for each in found.beside] == [
        "sampled market, all instances", "sampled market, few-types", "sampled market, many-types",
    ]  # fmt: skip
    assert found.beside[0].difference == pytest.approx(2.0 / 2.04 - 1)
    assert found.conclusions == [
        "Sampled market (the paper's): 2.00 % above the optimum on average, 3.00 % at worst (b), "
        "no answer or no proof to 1 of 3.",
        "On average the sampled market is within 2.04 % of the optimum here, though not on many-types.",
        "Instances left out, as no optimum was proven: 1.",
    ]

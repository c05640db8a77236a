"""The trend and the patterns from rows whose means are worked out by hand."""

from dlsched.reproduce.streams import patterns, trend
from tests.reproduce.rows_by_hand import row

GRID = {"mix": "published", "arrivals": "poisson", "units": 16, "load": 0.9}
SEARCHED = {"mix": "found", "arrivals": "poisson", "units": 16, "load": 0.5}


def test_the_trend_says_which_fixed_count_is_best_and_by_how_much() -> None:
    """Doubling takes 6 and 7 h, two units 7 and 8.5 h: a difference of 1 and 1.5 h, of which 0 is 5 half widths away."""
    flows_h = {"doubling": (6.0, 7.0), "fixed-2": (7.1, 8.2), "fixed-8": (20.0, 20.0)}
    rows = [
        row(f"resnet110-206x64-seed{seed}", method, 3600 * hours, family="elastic_stream", jobs=206, seed=seed)
        for method, both in flows_h.items()
        for seed, hours in enumerate(both)
    ]
    found = trend(rows)
    (panel,) = found.panels
    doubling = panel.series[0]
    assert [(mark.at, mark.estimate.value) for mark in doubling.marks] == [(250, 6.5)]
    earlier = next(each for each in panel.series if each.label == "doubling: earlier")
    assert [(mark.at, mark.estimate.value) for mark in earlier.marks] == [(250, 6.6), (500, 2.3), (1000, 1.4)]
    # 1.1 and 1.2: mean 1.15, Student's half width 12.706 * 0.05 = 0.635, less than the mean
    assert found.conclusions[0] == (
        "Every 250 s: the best fixed allocation is 2 units; it takes 1.15 [0.51, 1.79] h more than doubling: doubling is better."
    )
    # 6.5 against 6.6, 7.65 (rounded 7.7 or 7.6) against 7.6, 20 against 10.8
    assert found.conclusions[1].startswith("Of 3 earlier means ") and found.conclusions[1].endswith(
        "difference is 9.2 h."
    )
    assert len(found.conclusions) == 2


def test_patterns_are_means_of_streams_and_hindsight_is_by_stream() -> None:
    """On one pattern one unit takes 3 and 2 times as long, two units 1 and 5: in hindsight 1 and 2, the mean 1.5."""
    ratios = {"fifo-1": (3.0, 2.0), "fifo-2": (1.0, 5.0), "srpt-1": (0.5, 4.0)}
    rows = [
        row(f"stream {seed}", method, 1.0, family="elastic_stream", seed=seed, ratio=ratio, arguments=GRID)
        for method, both in ratios.items()
        for seed, ratio in enumerate(both)
    ]
    rows += [
        row("searched", method, 1.0, family="elastic_stream", seed=9, ratio=ratio, arguments=SEARCHED)
        for method, ratio in (("doubling", 1.0), ("fifo-1", 7.0), ("fifo-2", 6.0), ("srpt-1", 8.0))
    ]
    found = patterns(rows)
    (panel,) = found.panels
    grid, searched = panel.series
    assert [(mark.at, mark.estimate.value, mark.name) for mark in grid.marks] == [
        ("1 unit a job", 2.5, "published/poisson/16/0.9"),
        ("2 units a job", 3.0, "published/poisson/16/0.9"),
        ("best count in hindsight", 1.5, "published/poisson/16/0.9"),
        ("best count and order", 1.25, "published/poisson/16/0.9"),
    ]
    assert [mark.estimate.value for mark in searched.marks] == [7.0, 6.0, 6.0, 6.0]
    assert panel.level == ("the abstract: halved", 2.0)
    assert found.conclusions[2] == (
        "Best count in hindsight: more than halved on 0 of 1 patterns, at most 1.50 times (published/poisson/16/0.9)."
    )
    assert "holds here against 1 unit a job, 2 units a job, best count in hindsight and" in found.conclusions[-1]


def test_the_claim_may_fail() -> None:
    """Where no fixed allocation takes more than twice as long."""
    rows = [row("stream", "fifo-1", 1.0, family="elastic_stream", ratio=2.0, arguments=GRID)]
    assert patterns(rows).conclusions[-1].endswith("is not met on these patterns.")

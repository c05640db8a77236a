"""Figures 4 and 7 of GADGET from rows whose means are worked out by hand."""

import pytest

from dlsched.reproduce.findings import Panel
from dlsched.reproduce.gadget import fig4, fig7
from dlsched.study.rows import Row
from tests.reproduce.rows_by_hand import row

PAPER = {"jobs": 10, "servers": 50, "slots": 1}
SLOT = {"jobs": 10, "servers": 20, "slots": 1}


def values(panel: Panel, label: str) -> dict[float | str, float]:
    """Numbers of a series by where they stand."""
    (series,) = (each for each in panel.series if each.label == label)
    return {mark.at: mark.estimate.value for mark in series.marks}


def utilities() -> list[Row]:
    """Two seeds of 100 jobs at the paper's size, one of 5 slots on 10 servers, where GADGET as published is rejected."""
    found = []
    for seed, factor in ((0, 1.0), (1, 3.0)):
        name = f"paper-100x50x200-seed{seed}"
        arguments = {"jobs": 100, "servers": 50, "slots": 200}
        for method, utility in (
            ("gadget-published", 200.0),
            ("gadget", 200.0),
            ("drf", 100.0),
            ("fifo", 50.0),
            ("exact", 400.0),
        ):
            found.append(row(name, method, utility * factor, seed=seed, ratio=400.0 / utility, arguments=arguments))
    contended = "paper-100x10x5-seed0"
    scarce = {"jobs": 100, "servers": 10, "slots": 5}
    found.append(row(contended, "gadget-published", status="rejected", arguments=scarce))
    found += [
        row(contended, "gadget", 80.0, ratio=1.25, arguments=scarce),
        row(contended, "drf", 60.0, ratio=100 / 60, arguments=scarce),
    ]
    return found


def test_total_utility_is_the_mean_of_the_seeds_beside_the_papers() -> None:
    """200 and 600 have the mean 400; the paper's plot shows 5519 for GADGET and 1435 for FIFO."""
    found = fig4(utilities())
    utility, over = found.panels
    assert values(utility, "GADGET, as published") == {100: 400.0}
    assert values(utility, "FIFO") == {100: 100.0} and values(utility, "Tiresias (las)") == {}
    assert values(utility, "GADGET, as published: the paper") == {40: 2831.0, 100: 5519.0}
    assert values(over, "DRF") == {"100 jobs, 50 servers, 200 slots": 0.5, "100 jobs, 10 servers, 5 slots": 0.75}
    assert values(over, "FIFO: the paper")["100 jobs, 50 servers, 200 slots"] == pytest.approx(1435 / 5519)
    beside = {each.what: each for each in found.beside}
    assert beside["FIFO, 100 jobs"].ours is not None and beside["FIFO, 100 jobs"].difference == pytest.approx(
        100 / 1435 - 1
    )
    assert beside["DRF, 40 jobs"].ours is None and beside["DRF, 40 jobs"].theirs == 1974.0
    assert found.conclusions[-1] == (
        "GADGET, repaired, over the optimum or the best bound: 100 jobs, 50 servers, 200 slots: 0.500; "
        "100 jobs, 10 servers, 5 slots: 0.800 (as published 1 of 1 break a capacity or a bandwidth)."
    )


@pytest.mark.parametrize(("fifo", "words"), [(1.0, "the same order"), (99.0, "another order")])
def test_the_order_of_methods_is_held_against_the_papers(fifo: float, words: str) -> None:
    """The paper has GADGET before DRF before Tiresias before FIFO."""
    numbers = {"gadget-published": 9.0, "drf": 8.0, "las": 7.0, "fifo": fifo}
    arguments = {"jobs": 40, "servers": 50, "slots": 200}
    found = fig4([row("any name", method, value, arguments=arguments) for method, value in numbers.items()])
    assert found.conclusions[0].startswith("40 jobs: ") and found.conclusions[0].endswith(f": {words}.")


def test_a_row_that_was_not_drawn_is_refused() -> None:
    """Its shape is not known."""
    with pytest.raises(ValueError, match="two-racks: no instance"):
        fig4([row("two-racks", "gadget", 1.0)])


def test_slots_are_means_of_draws_and_then_of_seeds() -> None:
    """Seed 0 has 1 and 0.5 of the optimum, so 0.75, seed 1 has 0.25: 0.5. Where draws overuse, no mean is shown."""
    rows = [
        row("paper-10x50x1-seed0", "published-1", 4.0, preset="paper", ratio=1.0, arguments=PAPER),
        row("paper-10x50x1-seed0", "published-2", 2.0, preset="paper", ratio=2.0, arguments=PAPER),
        row("paper-10x50x1-seed1", "published-1", 1.0, preset="paper", ratio=4.0, seed=1, arguments=PAPER),
        row("paper-10x50x1-seed0", "repaired-1", 4.0, preset="paper", ratio=1.0, arguments=PAPER),
        row("slot-10x20x1-seed0", "published-1", preset="slot", status="rejected", arguments=SLOT),
        row("slot-10x20x1-seed0", "published-2", 4.0, preset="slot", ratio=1.0, arguments=SLOT),
        row("slot-10x20x1-seed0", "repaired-1", 3.2, preset="slot", ratio=1.25, arguments=SLOT),
    ]
    found = fig7(rows)
    (panel,) = found.panels
    assert values(panel, "as published, the paper's ranges") == {10: 0.5}
    assert values(panel, "repaired, scarce bandwidth") == {10: 0.8}
    assert values(panel, "the paper") == {10: 0.61, 50: 0.78}
    assert "as published, scarce bandwidth" not in [each.label for each in panel.series]
    assert (
        "As published, scarce bandwidth: 1 of 2 draws overuse a server or a link, so that no mean of the others is shown."
        in (found.conclusions)
    )
    assert found.conclusions[-1].endswith("the two overlap.")
    assert found.beside[0].ours is not None and found.beside[0].ours.value == 0.5 and found.beside[1].ours is None

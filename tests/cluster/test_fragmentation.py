"""Fragments are what jobs cannot use, and grow as counted by hand."""

from fractions import Fraction

import pytest

from dlsched.cluster.fragmentation import (
    JobClass,
    expected,
    expected_slots,
    fragment,
    fragment_slots,
    growth,
    growth_slots,
)
from dlsched.cluster.slicing import GEOMETRIES

A100 = GEOMETRIES["A100-40GB"]

# Classes of ``TestingGenerateGetTypicalPodsWithNonGpu`` in ``pkg/utils/frag_test.go`` of the authors' simulator that ask
# for GPUs, merged where they differ in CPUs alone: GPUs, thousandths of each, hundredths of a per cent.
SIMULATOR = [
    JobClass(1, 1000, 8395),
    JobClass(1, 80, 27),
    JobClass(2, 1000, 192),
    JobClass(4, 1000, 224),
    JobClass(8, 1000, 208),
]


@pytest.mark.parametrize(
    ("free", "gpus", "thousandths", "unusable"),
    [
        ((1000, 1000), 1, 1000, 0),
        ((1000, 400), 1, 1000, 400),
        ((1000, 400), 2, 1000, 1400),
        ((400, 400), 1, 500, 800),
        ((500, 400), 1, 500, 400),
        ((500, 0), 1, 1, 0),
        ((1000, 700, 600), 2, 700, 600),
        ((200, 1000, 1000, 500), 2, 1000, 700),
        ((200, 1000, 1000, 500), 2, 200, 0),
        ((), 1, 1000, 0),
    ],
)
def test_fragments_by_hand(free: tuple[int, ...], gpus: int, thousandths: int, unusable: int) -> None:
    """All that is free if no job of the class fits, as of two GPUs for two whole ones; else the GPUs with too little.

    The nodes of four GPUs are in ``TestGetGpuFragMilliByNodeResAndPodRes`` of the authors' simulator, with these values.
    """
    assert fragment(free, JobClass(gpus, thousandths, 1)) == unusable


def test_fragments_are_those_of_the_simulator() -> None:
    """Its test expects 554.4 thousandths of four free GPUs of eight: 83.2 as classes of eight GPUs do not fit, here too.

    The rest is left out here: 9.54 % of the jobs need no GPU, and 2.24 % four GPUs and more CPUs than are free.
    """
    halved = (1000, 1000, 1000, 1000, 0, 0, 0, 0)
    here = sum(kind.popularity * fragment(halved, kind) for kind in SIMULATOR)
    assert Fraction(here, 10_000) + 4000 * Fraction("0.1178") == Fraction("554.4")
    assert expected(halved, SIMULATOR) == Fraction(208 * 4000, 9046)


def test_growth_by_hand() -> None:
    """Half of the jobs need 300, half a GPU: 300 on the opened GPU is used well, on a whole one it makes a fragment."""
    kinds = [JobClass(1, 300, 1), JobClass(1, 1000, 1)]
    # Before: 0 for the small class, 600 for the large one. After the opened GPU: 0 and 300; after the whole one: 0, 1300.
    assert expected((1000, 600), kinds) == 300
    assert growth((1000, 600), [1], 300, kinds) == -150
    assert growth((1000, 600), [0], 300, kinds) == 350
    assert growth((1000, 600), [0], 1000, kinds) == 0
    # Popularity is a weight: with thirds, 200 less of the large class count a third.
    assert growth((1000, 600), [1], 300, [JobClass(1, 300, 2), JobClass(1, 1000, Fraction(1))]) == -100
    assert growth((1000, 1000, 500), [0, 1], 1000, [JobClass(2, 1000, 1)]) == 0


def test_equal_growths_are_ties() -> None:
    """Thirds of a thousandth, on two GPUs in the same state among others: no rounding breaks the tie."""
    kinds = [JobClass(1, 333, Fraction(1, 3)), JobClass(1, 667, Fraction(1, 7)), JobClass(2, 1000, Fraction(1, 11))]
    assert growth((1000, 700, 700), [1], 100, kinds) == growth((1000, 700, 700), [2], 100, kinds)
    assert growth((700, 1000), [0], 100, kinds) == growth((1000, 700), [1], 100, kinds)


def test_what_is_not_free_cannot_be_taken() -> None:
    """A GPU with less, and one named twice; a slot that is used; popularities that are all 0."""
    kinds = [JobClass(1, 500, 1)]
    with pytest.raises(ValueError, match="found 700 thousandths of GPU 1, allowed: at most the 600"):
        growth((1000, 600), [1], 700, kinds)
    with pytest.raises(ValueError, match="GPU 0"):
        growth((1000, 600), [0, 0], 600, kinds)
    with pytest.raises(ValueError, match="found slots 0b10 that are used"):
        growth_slots(A100, 0b10, 0b11, {"2g.10gb": 1})
    with pytest.raises(ZeroDivisionError):
        expected((1000,), [JobClass(1, 500, 0)])


@pytest.mark.parametrize(
    ("used", "profile", "slots"),
    [
        (0, "1g.5gb", 1),
        (0, "2g.10gb", 2),
        (0, "1g.10gb", 0),
        (0, "4g.20gb", 4),
        (0b0000_0001, "4g.20gb", 7),
        (0b0000_0001, "2g.10gb", 3),
        (0b0001_0001, "3g.20gb", 6),
        (0b0001_0000, "3g.20gb", 3),
        (0b0111_1111, "1g.5gb", 1),
        (0b1111_1111, "7g.40gb", 0),
    ],
)
def test_slots_by_hand(used: int, profile: str, slots: int) -> None:
    """Slot 7 begins no 1g and no 2g; 4g has the first half alone; a used slot spoils the placements on which it lies."""
    assert fragment_slots(A100, used, profile) == slots


def test_growth_of_slots_by_hand() -> None:
    """A first 1g costs 3g and 4g least in the last half, where the driver puts it: at slot 6."""
    popularity = {"1g.5gb": 1, "4g.20gb": 1}
    # Empty: 1 and 4 slots. With slot 0 used: 1 and 7; with slot 6: 1 and 3.
    assert expected_slots(A100, 0, popularity) == Fraction(5, 2)
    assert growth_slots(A100, 0, 0b0000_0001, popularity) == Fraction(3, 2)
    assert growth_slots(A100, 0, 0b0100_0000, popularity) == Fraction(-1, 2)
    least = min(A100.masks("1g.5gb"), key=lambda mask: growth_slots(A100, 0, mask, {"3g.20gb": 2, "4g.20gb": 1}))
    assert least == 1 << 6

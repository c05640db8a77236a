"""Colours that are told apart, and texts and ticks of figures."""

import pytest

from dlsched.core.quantities import time_unit
from dlsched.plots import (
    Gang,
    GangRow,
    Point,
    SlotRow,
    StreamRow,
    draw_comparison,
    draw_gangs,
    draw_slots,
    draw_streams,
)
from dlsched.plots.figure import DASHES, HUES, OTHERS, equal_names, ink_on, labels, plain, short, ticks
from tests.plots.looks import VISIONS, least_distance, seen


@pytest.mark.parametrize("vision", VISIONS)
def test_colours_are_told_apart(vision):
    """Hues, the grey of the others, black and white are 15 apart in CIELAB for every kind of colour vision."""
    assert least_distance([*HUES, OTHERS, "#000000", "#FFFFFF"], vision) > 15


def test_the_measure_sees_what_is_confused():
    """The measure is no formality: red and green of equal lightness meet with deuteranopia, and are far apart without."""
    confused = ["#D03030", "#807A30"]
    assert least_distance(confused, "normal") > 50
    assert least_distance(confused, "deuteranopia") < 15


def test_white_is_the_white_of_cielab():
    """Lightness 100 and no colour, in every vision."""
    for vision in VISIONS:
        assert seen("#FFFFFF", vision) == pytest.approx([100, 0, 0], abs=0.02)


def luminance(colour):
    lightness = seen(colour, "normal")[0]
    return ((lightness + 16) / 116) ** 3 if lightness > 8 else lightness / 903.3


def test_ink_is_readable():
    """The ink has a contrast of at least 4.5 : 1 on every hue, the WCAG's bound for text; black and white are swapped."""
    for colour in (*HUES, OTHERS, "#000000", "#FFFFFF"):
        dark, light = sorted(luminance(each) for each in (colour, ink_on(colour)))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, colour
    assert (ink_on("#000000"), ink_on("#FFFFFF")) == ("#FFFFFF", "#000000")


def test_every_hue_has_a_dash():
    """Curves differ by more than colour: as many dashes as hues."""
    assert len(DASHES) == len(HUES) == len(set(HUES))


pytest.importorskip("matplotlib")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a_b^c $x$ \\frac{1}", "a_b^c $x$ \\frac{1}"),
        ("two\nlines\ttab", "two\\nlines\\ttab"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("\u202edrow", "\\u202edrow"),
        ("\ud800", "\\ud800"),
        ("é ü λ", "é ü λ"),
        ("\u4e2d\U0001f600", "\\u4e2d\U0001f600"),
    ],
)
def test_names_are_plain(name, shown):
    """Control characters, directions, halves of a surrogate and letters that the font lacks are escaped, others kept."""
    assert plain(name) == shown


def test_long_names_keep_both_ends():
    """Names longer than allowed lose their middle; those that then look the same are numbered."""
    assert short("j" * 40) == "j" * 14 + "…" + "j" * 13
    assert labels(["a" * 40, "a" * 41, "b"], 5) == {"a" * 40: "aa…aa", "a" * 41: "aa…aa (2)", "b": "b"}


def test_equal_names_are_counted_where_they_do_not_fit():
    """As many names as fit into the lines, and the number of the rest; one that is too long is cut."""
    assert equal_names(["exact", "milp"], 20) == "exact = milp"
    assert equal_names(["exact", "milp", "dp"], 12, 2) == "exact = milp\n= dp"
    assert equal_names(["exact", "milp", "dp"], 16, 1) == "exact = 2 more"
    assert equal_names(["m" * 50, "n"], 10, 1) == "mmmmm…mmmm\n= 1 more"
    assert equal_names(["m" * 50], 10) == "mmmmm…mmmm"
    assert equal_names(["srpt-equal", "srpt-fixed"], 12) == "srpt-equal =\nsrpt-fixed"


def test_ticks_are_few_and_within():
    """Between 1 and 1e40 eight at most; within a decade several; never outside."""
    assert ticks(1, 5) == [1, 1.5, 2, 3, 5]
    assert ticks(0.3, 40) == [0.5, 1, 2, 5, 10, 20]
    assert len(ticks(1, 1e40)) <= 8
    assert all(3e-7 <= tick <= 2e9 for tick in ticks(3e-7, 2e9))


def test_units_of_time():
    """Two days, two hours, five minutes."""
    assert [time_unit(span)[0] for span in (299, 300, 7_200, 172_800)] == ["s", "min", "h", "days"]


CHARTS = {
    "comparison": lambda path: draw_comparison(
        [Point("a", m, "exact", 1.5 - m.islower() / 2, True, 0.1) for m in "aB"], path
    ),
    "streams": lambda path: draw_streams([StreamRow("m", {"a": [(0.0, 50.0, 4)]}, (50.0,))], path, units=8),
    "slots": lambda path: draw_slots([SlotRow("m", {"a": {1: (2, 1)}}, 1.0)], path, slots=2, arrivals={"a": 1}),
    "gangs": lambda path: draw_gangs(
        [GangRow("m", {"a": Gang(0.0, 9.0, {0: 1})}, [9.0])], path, servers={"s": 2}, releases_s={"a": 0.0}
    ),
}


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_equal_rows_give_equal_bytes(suffix, chart, tmp_path):
    """Two figures of the same rows are the same file, to the byte."""
    first, second = (CHARTS[chart](tmp_path / f"{name}{suffix}").read_bytes() for name in "ab")
    assert first == second and first[:5] in (b"\x89PNG\r", b"<?xml", b"%PDF-")


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("name", ["figure.jpeg", "figure"])
def test_unknown_suffix_is_refused(name, chart, tmp_path):
    """Any other suffix is refused, with those that are allowed, and nothing is written."""
    with pytest.raises(ValueError, match=r"allowed suffixes: \.png, \.svg, \.pdf"):
        CHARTS[chart](tmp_path / name)
    assert not list(tmp_path.iterdir())

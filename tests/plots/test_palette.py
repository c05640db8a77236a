"""The palette: no two colours look alike to any kind of colour vision, and text on them can be read."""

import pytest

from dlsched.plots.palette import COLOURS, DASHES, HUES, OTHERS, ink_on
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
    assert len(DASHES) == len(HUES) == len(set(HUES)) == len(COLOURS) - 1

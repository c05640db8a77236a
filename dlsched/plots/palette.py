"""Colours for every kind of colour vision, after Okabe and Ito, with greys and a scale for amounts.

The least distance of two of ``HUES`` and ``OTHERS``, also as seen with deuteranopia, protanopia and tritanopia (Machado
et al. 2009), is 16 in CIELAB; a test measures it.
"""

BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
# Without their yellow, which cannot be seen on white. Each marks one thing in a figure; all others are grey.
HUES = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)
COLOURS = (*HUES, "#000000")
DASHES = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (6, 1.5, 1, 1.5)), (0, (2, 1)), (0, (4, 1, 1, 1, 1, 1)))
OTHERS = "#C8C8C8"  # areas of the jobs without a hue
FAINT = "#9A9A9A"  # curves and marks without a hue
SEQUENCE = "Blues"  # of amounts: light is little, dark is much


def ink_on(colour: str) -> str:
    """Return black or white, whichever is read more easily on that colour (``#rrggbb``), by relative luminance."""
    parts = (int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.179 else "#FFFFFF"

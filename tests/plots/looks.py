"""How a figure is seen: colours apart for every kind of vision (Machado et al. 2009), texts within and of readable size."""

from unittest import mock

import numpy as np

# Machado, Oliveira, Fernandes, "A physiologically-based model for simulation of color vision deficiency", severity 1.
VISIONS = {
    "normal": np.eye(3),
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])


def seen(colour, vision):
    """CIELAB of an sRGB colour (#rrggbb) as that vision sees it."""
    rgb = np.array([int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(np.asarray(VISIONS[vision]) @ linear, 0, 1) / WHITE
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def least_distance(colours, vision):
    """Least distance of two of the colours; about 2 can just be told apart side by side."""
    points = [seen(colour, vision) for colour in colours]
    return min(float(np.linalg.norm(a - b)) for index, a in enumerate(points) for b in points[:index])


def strays(figure):
    """Texts that are drawn and leave the figure, and those that are smaller than can be read."""
    from matplotlib.text import Text

    drawn = []

    def draw(text, renderer):
        if text.get_visible() and text.get_text().strip():
            drawn.append((text.get_text(), text.get_window_extent(renderer), text.get_size()))

    with mock.patch.object(Text, "draw", draw):
        figure.draw_without_rendering()
    right, top = figure.bbox.width + 1, figure.bbox.height + 1
    outside = [text for text, box, _ in drawn if min(box.x0, box.y0) < -1 or box.x1 > right or box.y1 > top]
    return outside, [text for text, _, size in drawn if size < 5.5]

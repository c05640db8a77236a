"""The figures of the pages: drawn by dlsched and Matplotlib when the documentation is built, for light and for dark pages.

A module here is a figure: its ``draw(theme)`` returns one. A page shows it by the directive ``drawing``.
"""

from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from figures.theme import THEMES, save

NAMES = ("concave_steps", "gangs", "heavy_edge", "ring_in_a_rack", "throughput", "two_arrivals")


class Drawing(SphinxDirective):
    """Shows a figure, in the variant that the page's background asks for (classes of the theme furo hide the other)."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"alt": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Make a figure of two images, a caption below them."""
        name = self.arguments[0]
        if name not in NAMES or "alt" not in self.options:
            raise self.error(f"drawing: found {name!r}, allowed: {', '.join(NAMES)}, with :alt:")
        figure = nodes.figure(classes=["drawing"])
        for theme in THEMES:
            source = f"/_figures/{name}-{theme}.svg"
            figure += nodes.image(uri=source, alt=self.options["alt"], classes=[f"only-{theme}"])
        if self.content:
            caption = nodes.caption()
            inline, messages = self.parse_inline(" ".join(self.content))
            caption += inline
            return [figure.__iadd__(caption), *messages]
        return [figure]


def draw_figures(folder: Path) -> None:
    """Write both variants of every figure to the folder."""
    folder.mkdir(exist_ok=True)
    for name in NAMES:
        draw = import_module(f"figures.{name}").draw
        for theme in THEMES:
            save(draw, THEMES[theme], folder / f"{name}-{theme}.svg")


def setup(app: Sphinx) -> dict[str, bool]:
    """Draw before the pages are read."""
    app.add_directive("drawing", Drawing)
    app.connect("builder-inited", lambda app: draw_figures(Path(app.srcdir) / "_figures"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

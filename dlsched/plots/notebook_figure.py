"""The figure that plots return: Matplotlib's own, which notebooks show without pyplot."""

from io import BytesIO

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

_DPI = 150


class NotebookFigure(Figure):
    """A figure of Matplotlib that no window shows, and that a notebook shows where a cell ends with it."""

    def __init__(self, width_in: float, height_in: float) -> None:
        super().__init__(figsize=(width_in, height_in), layout="constrained")
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        """Return what notebooks show."""
        stream = BytesIO()
        self.savefig(stream, format="png", dpi=_DPI)
        return stream.getvalue()

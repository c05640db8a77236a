"""Figures drawn with Matplotlib, which is imported only when a figure is drawn (SolverMissingError: it is missing or broken).

The suffix of a ``path`` chooses the format: .png, .svg or .pdf. Equal rows give equal bytes.
"""

from dlsched.plots.comparison import Point, draw_comparison
from dlsched.plots.figure import COLUMN_IN, PAGE_IN, require_format
from dlsched.plots.gantt import Gang, GangRow, draw_gangs
from dlsched.plots.slots import SlotRow, draw_slots
from dlsched.plots.streams import StreamRow, draw_streams
from dlsched.statistics.samples import performance_profile

__all__ = [
    "COLUMN_IN",
    "PAGE_IN",
    "Gang",
    "GangRow",
    "Point",
    "SlotRow",
    "StreamRow",
    "draw_comparison",
    "draw_gangs",
    "draw_slots",
    "draw_streams",
    "performance_profile",
    "require_format",
]

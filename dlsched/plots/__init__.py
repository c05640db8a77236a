"""The few figures that people look at, drawn with Matplotlib, which is imported only when one is drawn."""

from dlsched.plots.comparison import Point, draw_comparison, performance_profile, require_format
from dlsched.plots.streams import StreamRow, draw_streams

__all__ = ["Point", "StreamRow", "draw_comparison", "draw_streams", "performance_profile", "require_format"]

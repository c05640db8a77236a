"""The few figures that people look at, drawn with Matplotlib, which is imported only when one is drawn."""

from dlsched.plots.comparison import Point, draw_comparison, performance_profile, require_format

__all__ = ["Point", "draw_comparison", "performance_profile", "require_format"]

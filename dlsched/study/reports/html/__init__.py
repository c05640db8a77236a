"""The report of a study: one HTML file that opens anywhere, fetches nothing, and is read in print and in the dark."""

from dlsched.study.reports.content import Content
from dlsched.study.reports.html.page import write_report

__all__ = ["Content", "write_report"]

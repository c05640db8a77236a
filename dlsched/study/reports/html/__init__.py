"""The HTML report of a study: one file that fetches nothing, also for print and dark mode."""

from dlsched.study.reports.content import Content
from dlsched.study.reports.html.page import write_report

__all__ = ["Content", "write_report"]

"""Importers of public measurements; each returns what it read and the audit of what it dropped or assumed."""

from dlsched.traces.instances import SOURCES, import_instance
from dlsched.traces.speedups import read_adaptdl_speeds, read_gavel_speeds, read_pcs_speedups

__all__ = ["SOURCES", "import_instance", "read_adaptdl_speeds", "read_gavel_speeds", "read_pcs_speedups"]

"""Importers of public measurements and traces; each returns data and an audit of drops and assumptions."""

from dlsched.catalogue.sources import SOURCES
from dlsched.traces.instances import arrivals_of, import_instance, import_made, read_queue
from dlsched.traces.makers.elastic_stream import import_gavel, import_philly
from dlsched.traces.makers.srpt_mapping import import_gavel_gangs, import_philly_gangs, import_tiresias
from dlsched.traces.speedups import read_adaptdl_speeds, read_gavel_speeds, read_pcs_speedups

__all__ = [
    "SOURCES",
    "arrivals_of",
    "import_gavel",
    "import_gavel_gangs",
    "import_instance",
    "import_made",
    "import_philly",
    "import_philly_gangs",
    "import_tiresias",
    "read_adaptdl_speeds",
    "read_gavel_speeds",
    "read_pcs_speedups",
    "read_queue",
]

"""Pictures of streams: units of every job over time, and which jobs have ended."""

from collections.abc import Sequence
from pathlib import Path

from dlsched.elastic_stream.checker import flow_times
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.solution import Stream


def draw(instance: Instance, answers: Sequence[tuple[str, Stream]], path: Path, width_in: float) -> Path:
    """Draw labelled streams, one below the other."""
    from dlsched.plots import StreamRow, draw_streams

    restart_s = {job.id: job.restart_s for job in instance.jobs}
    rows = [StreamRow(label, stream.periods, flow_times(instance, stream), restart_s) for label, stream in answers]
    arrivals_s = {job.id: job.arrival_s for job in instance.jobs}
    return draw_streams(rows, path, units=instance.units, arrivals_s=arrivals_s, title=instance.name, width=width_in)

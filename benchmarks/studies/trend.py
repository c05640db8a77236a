"""Streams of identical jobs by the mean gap between their arrivals."""

from dlsched import elastic_stream
from dlsched.elastic_stream.generator import RESNET110_S

UNITS, MOST, EPOCHS = 64, 8, 160


def stream(*, gap_s: float, jobs: int, seed: int) -> elastic_stream.Instance:
    """``dlsched generate elastic_stream --preset resnet110`` at the load at which the mean gap is ``gap_s``."""
    area = EPOCHS * min(units * time_s for units, time_s in RESNET110_S.items())
    return elastic_stream.generate(
        preset="resnet110", jobs=jobs, gpus=UNITS, seed=seed, max_gpus=MOST, load=area / (UNITS * gap_s)
    )

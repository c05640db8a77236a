"""Published training speeds: the numbers behind realistic instances.

The figures are in ``published_speeds.json``, written by the readers of `dlsched.traces.speedups`. Each record's
``source`` names where it comes from, and what was assumed (data set, epoch, batch on one GPU or on all of them).
"""

import functools
import importlib.resources
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class PublishedSpeed:
    """Seconds per epoch of one training job at the GPU counts at which it was measured.

    ``gpu`` and ``dataset`` are None if the source does not name them; ``source`` (origin, licence, assumptions) says
    whether ``batch_samples`` is per GPU or in all. ``counts`` increase strictly from any number >= 1; the times are as
    published, in general neither monotone nor convex. ValueError: counts that do not increase, or figures that are not
    positive, finite and one for each count.

    >>> speed = PublishedSpeed("ResNet-50", "V100", 64, "ImageNet", 1281167, (1, 2), (4555.0, 2527.0), "an example")
    >>> speed.epoch_time_s[speed.counts.index(2)]
    2527.0
    """

    model: str
    gpu: str | None
    batch_samples: int
    dataset: str | None
    epoch_samples: int
    counts: tuple[int, ...]
    epoch_time_s: tuple[float, ...]
    source: str

    def __post_init__(self) -> None:
        if not self.counts or any(low >= high for low, high in zip((0, *self.counts), self.counts, strict=False)):
            raise ValueError(f"counts must be positive and strictly increasing, found {self.counts}")
        if len(self.epoch_time_s) != len(self.counts):
            raise ValueError(f"epoch_time_s must hold {len(self.counts)} figures, found {len(self.epoch_time_s)}")
        for name, figures in (
            ("epoch_time_s", self.epoch_time_s),
            ("batch_samples", (self.batch_samples,)),
            ("epoch_samples", (self.epoch_samples,)),
        ):
            if not all(figure > 0 and math.isfinite(figure) for figure in figures):
                raise ValueError(f"{name} must be positive and finite, found {figures}")

    def times_up_to(self, gpus: int) -> dict[int, float]:
        """Seconds per epoch at the counts of at most ``gpus``."""
        return {count: time for count, time in zip(self.counts, self.epoch_time_s, strict=True) if count <= gpus}


@functools.cache
def published_speeds() -> tuple[PublishedSpeed, ...]:
    """Return all published speeds shipped with dlsched, in the order of the file."""
    text = (importlib.resources.files("dlsched.cluster") / "published_speeds.json").read_text(encoding="utf-8")
    speeds = []
    for record in json.loads(text):
        by_count = record.pop("epoch_time_s")
        counts, times = tuple(map(int, by_count)), tuple(map(float, by_count.values()))
        speeds.append(PublishedSpeed(counts=counts, epoch_time_s=times, **record))
    return tuple(speeds)


def speeds_json(speeds: Iterable[PublishedSpeed]) -> str:
    """Return the text of a file of published speeds: a JSON list, one record per line."""
    lines = []
    for speed in speeds:
        record = {
            "model": speed.model,
            "gpu": speed.gpu,
            "batch_samples": speed.batch_samples,
            "dataset": speed.dataset,
            "epoch_samples": speed.epoch_samples,
            "epoch_time_s": {str(count): time for count, time in zip(speed.counts, speed.epoch_time_s, strict=True)},
            "source": speed.source,
        }
        lines.append(json.dumps(record, ensure_ascii=False, allow_nan=False))
    return "[\n" + ",\n".join(lines) + "\n]\n"

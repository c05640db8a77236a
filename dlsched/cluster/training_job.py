"""Data-parallel training jobs as instances hold them: name, work, and speeds on allowed counts of GPUs."""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from operator import mul
from typing import Required, Self, TypedDict

from pydantic import model_validator

from dlsched.cluster.speeds import SpeedLaw, SpeedTable
from dlsched.core.instance import Count, Name, NonNegative
from dlsched.core.messages import Refused
from dlsched.core.part import Data, Part

_ERROR = 1e-12  # relative error of products of floats, generous: any so close to the least is compared exactly


class Training(TypedDict, total=False):
    """What every training job is made from."""

    id: Required[str]
    epochs: Required[float]
    epoch_time_s: Mapping[int, float] | Mapping[str, float] | None
    speed_law: SpeedLaw | Data | None
    max_gpus: int | None


class TrainingJob(Part):
    """A data-parallel training job; its speeds come from ``epoch_time_s`` or from ``speed_law``, never both.

    ``epochs``: epochs to go. The allowed counts are the keys of ``epoch_time_s`` (seconds per epoch by number of GPUs),
    or 1 .. ``max_gpus`` of a law, where None means all GPUs of the cluster.
    """

    id: Name
    epochs: NonNegative
    epoch_time_s: SpeedTable | None = None
    speed_law: SpeedLaw | None = None
    max_gpus: Count | None = None

    @model_validator(mode="after")
    def _one_way_to_give_speeds(self) -> Self:
        if self.epoch_time_s is not None and self.speed_law is not None:
            raise Refused("epoch_time_s and speed_law", "one of the two")
        if self.epoch_time_s is None and self.speed_law is None:
            raise Refused("neither epoch_time_s nor speed_law", "one of the two")
        if self.epoch_time_s is not None and self.max_gpus is not None:
            raise Refused("a number beside epoch_time_s", "max_gpus only with speed_law", "max_gpus")
        return self

    @property
    def speed(self) -> SpeedTable | SpeedLaw:
        """Table or law of speeds; both have ``epoch_time_s(w)`` and ``exact_epoch_time_s(w)``."""
        speed = self.epoch_time_s if self.speed_law is None else self.speed_law
        assert speed is not None
        return speed

    def counts(self, gpus: int) -> Sequence[int]:
        """Allowed counts, ascending, in a cluster of ``gpus`` GPUs; those of a table may exceed it."""
        if self.epoch_time_s is not None:
            return self.epoch_time_s.counts
        return range(1, (self.max_gpus or gpus) + 1)

    def fitting_counts(self, gpus: int) -> Sequence[int]:
        """Allowed counts of at most ``gpus``, ascending; empty when the job needs more."""
        if self.epoch_time_s is None:
            return range(1, min(self.max_gpus or gpus, gpus) + 1)
        counts = self.epoch_time_s.counts
        return counts if counts[-1] <= gpus else tuple(count for count in counts if count <= gpus)

    def useful_counts(self, gpus: int) -> Sequence[int]:
        """Allowed counts of at most ``gpus``, ascending, without a law's counts beyond its fastest one."""
        counts, law = self.fitting_counts(gpus), self.speed_law
        return counts if law is None else range(1, law.largest_useful_count(counts[-1]) + 1)

    def useful_times_s(self, gpus: int) -> dict[int, float]:
        """Seconds per epoch on the useful counts, ascending, that are faster than every smaller count."""
        useful: dict[int, float] = {}
        best_s = math.inf
        counts, table = self.useful_counts(gpus), self.epoch_time_s
        times_s = map(self.speed.epoch_time_s, counts) if table is None else table.times_s  # counts that fit come first
        for count, time_s in zip(counts, times_s, strict=False):
            if time_s < best_s:
                useful[count] = best_s = time_s
        return useful

    def fastest_count(self, gpus: int) -> int:
        """Return the smallest fitting count on which the job is fastest; some count must fit ``gpus``."""
        counts = self.useful_counts(gpus)
        if self.epoch_time_s is None:
            return counts[-1]
        times_s = self.epoch_time_s.times_s[: len(counts)]
        return counts[times_s.index(min(times_s))]

    def fair_time_s(self, gpus: int) -> float:
        """Seconds per epoch on the fastest fitting count, or on the smallest count if none fits."""
        table, law = self.epoch_time_s, self.speed_law
        if law is not None:
            return law.epoch_time_s(law.largest_useful_count(max(1, min(self.max_gpus or gpus, gpus))))
        assert table is not None
        return min(table.times_s[: max(1, bisect_right(table.counts, gpus))])

    def least_area_s(self, gpus: int) -> Fraction:
        """GPU-seconds of an epoch on the most efficient count of at most ``gpus``, exactly."""
        counts = self.fitting_counts(gpus)
        if self.speed_law is not None:
            counts = self.speed_law.least_area_counts(counts[-1])
        elif self.epoch_time_s is not None:
            # Float products select the candidates, with room for their rounding; Fractions then decide among these few.
            areas = list(map(mul, counts, self.epoch_time_s.times_s))
            most = min(areas) * (1 + _ERROR)
            counts = [count for count, area in zip(counts, areas, strict=True) if area <= most]
        return min(count * self.speed.exact_epoch_time_s(count) for count in counts)

    def slowest_s(self, gpus: int) -> tuple[float, ...]:
        """Slowest seconds per epoch of a table; of a law those at both ends, as it is convex or monotone."""
        if self.epoch_time_s is not None:
            return (max(self.epoch_time_s.times_s),)
        return self.speed.epoch_time_s(1), self.speed.epoch_time_s(self.counts(gpus)[-1])

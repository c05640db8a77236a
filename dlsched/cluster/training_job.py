"""What the instances of malleable jobs share: a job's name, its work, and its speeds on the counts it allows."""

from collections.abc import Sequence
from typing import Self

from pydantic import BaseModel, model_validator

from dlsched.cluster.speed_law import SpeedLaw
from dlsched.cluster.speed_table import SpeedTable
from dlsched.core.instance import STRICT, Count, Name, NonNegative
from dlsched.core.messages import Refused


class TrainingJob(BaseModel):
    """A data-parallel training job; its speeds are given by ``epoch_time_s`` or by ``speed_law``, not both.

    Parameters
    ----------
    id
        Its name, unique in the instance.
    epochs
        Epochs left, >= 0.
    epoch_time_s
        Seconds per epoch by number of GPUs; its keys are exactly the allowed counts.
    speed_law
        Seconds per epoch as a law; the allowed counts are 1 .. ``max_gpus``.
    max_gpus
        Largest count that a law allows; None: all GPUs of the cluster.
    """

    model_config = STRICT

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
        """The speeds, however they were given; both kinds have ``epoch_time_s(w)`` and ``exact_epoch_time_s(w)``."""
        speed = self.epoch_time_s if self.speed_law is None else self.speed_law
        assert speed is not None
        return speed

    def counts(self, gpus: int) -> Sequence[int]:
        """Allowed counts, ascending, in a cluster of ``gpus`` GPUs; those of a table may exceed it."""
        if self.epoch_time_s is not None:
            return self.epoch_time_s.counts
        return range(1, (self.max_gpus or gpus) + 1)

    def slowest_s(self, gpus: int) -> tuple[float, ...]:
        """Slowest seconds per epoch of a table; of a law those at its ends, between which it is convex or monotone."""
        if self.epoch_time_s is not None:
            return (max(self.epoch_time_s.times_s),)
        return self.speed.epoch_time_s(1), self.speed.epoch_time_s(self.counts(gpus)[-1])

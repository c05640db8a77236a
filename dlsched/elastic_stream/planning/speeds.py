"""Speeds of the jobs by units for the fast simulation, and steps of falling gain per unit."""

from dataclasses import dataclass, field
from itertools import pairwise

from dlsched.algorithms.utility_tables import upper_hull
from dlsched.core.elementary import float_power
from dlsched.elastic_stream.instance import Instance, Job

FRESH, STOPPED = -2, -1
"""States of a job without units: never ran, so its next start is free; or ran before. Other states: units
held."""

_MOST_COUNTS = 32
"""Most counts of a law that are considered."""

Step = tuple[float, int, int]
"""Gain in speed per unit, units before, units after."""


@dataclass(slots=True, eq=False)
class Speeds:
    """Jobs as the fast simulation sees them; time is in seconds after the first release, or with ticks in ticks.

    ``patience`` > 1: pauses for which a change of units should last; gains by other counts than the present one are reduced
    by 1 / patience. ``release``: when jobs can first hold units; ``speed``: share of its work per unit of time, by useful
    count; ``order``: jobs with work by release; ``waits_s``: weighted seconds before releases; ``scale_s``: a unit of time.
    """

    instance: Instance
    patience: float = 20.0
    release: list[float] = field(init=False)
    pause: list[float] = field(init=False)
    speed: list[dict[int, float]] = field(init=False)
    order: list[int] = field(init=False)
    weight: list[float] = field(init=False)
    waits_s: float = field(init=False)
    scale_s: float = field(init=False)
    _steps: dict[tuple[int, int], list[Step]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        instance, tick_s = self.instance, self.instance.tick_s
        scale_s = self.scale_s = tick_s or 1.0
        jobs = range(len(instance.jobs))
        clock = (
            [job.arrival_s for job in instance.jobs]
            if tick_s is None
            else [float(instance.first_slot(j)) for j in jobs]
        )
        zero = min(clock)
        self.release = [time - zero for time in clock]
        self.weight = [job.weight for job in instance.jobs]
        self.waits_s = sum(self.weight[j] * float(instance.wait_s(j)) for j in jobs)
        self.pause = [job.restart_s / scale_s for job in instance.jobs]
        self.speed = [
            {count: scale_s / (job.work * time_s) for count, time_s in _times_s(job, instance.units).items()}
            if job.work
            else {}
            for job in instance.jobs
        ]
        self.order = sorted((j for j in jobs if self.speed[j]), key=self.release.__getitem__)

    def steps(self, job: int, state: int) -> list[Step]:
        """Steps along the upper hull of a job's gain by units in a state; gains per unit fall."""
        found = self._steps.get((job, state))
        if found is None:
            lasting = 1.0 if state == FRESH or not self.pause[job] else 1.0 - 1.0 / self.patience
            points = [(count, v if count == state else v * lasting) for count, v in self.speed[job].items()]
            corners = [(0, 0.0), *upper_hull(points)]
            found = [((v - u) / (b - a), a, b) for (a, u), (b, v) in pairwise(corners)]
            self._steps[job, state] = found
        return found


def _times_s(job: Job, units: int) -> dict[int, float]:
    """Seconds per epoch on useful counts; if a law has many, on geometric steps and the fastest."""
    useful = job.useful_counts(units)
    if job.speed_law is None or len(useful) <= _MOST_COUNTS:
        return job.useful_times_s(units)
    steps = {round(float_power(len(useful), step / (_MOST_COUNTS - 1))) for step in range(_MOST_COUNTS)}
    return {count: job.speed.epoch_time_s(count) for count in sorted(steps)}

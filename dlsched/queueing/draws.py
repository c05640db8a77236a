"""Random seconds of service for a simulation, drawn in blocks, and the starting points of its workers."""

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np

from dlsched.core.arrays import FloatArray
from dlsched.core.errors import UsageError
from dlsched.queueing.cycle import Stage, Work

Times: TypeAlias = Literal["deterministic", "exponential"] | Sequence[float] | FloatArray
"""A duration: always its mean, exponentially distributed, or drawn with replacement from measured
seconds."""

Start: TypeAlias = Literal["spread", "together"] | Sequence[float] | FloatArray
"""Where the workers begin: at a random point of a computation, all at its beginning, or given seconds before
its end."""

WORKS: tuple[Work, ...] = get_args(Work)
_BLOCK = 256  # steps whose random numbers are drawn together
_HELD = 2**17  # steps x replications whose numbers are handed over together, some megabytes


class Draws:
    """Seconds of service, drawn in blocks.

    Attributes
    ----------
    scale
        Factors of the units of each stage, shape (stages,).
    """

    def __init__(
        self, stages: Sequence[Stage], times: dict[Work, Times], shards: int, generator: np.random.Generator
    ) -> None:
        self.generator = generator
        self.scale = np.array([stage.mean_s for stage in stages])
        self._times: dict[Work, str | FloatArray] = {}
        for work, how in times.items():
            if isinstance(how, str):
                if how not in ("deterministic", "exponential"):
                    raise UsageError(
                        where=work, found=repr(how), allowed="'deterministic', 'exponential' or measured seconds"
                    )
                self._times[work] = how
                continue
            which = np.array([stage.work == work for stage in stages])
            if not which.any():
                raise UsageError(f"{work}: found measured seconds, but the job has none")
            self._times[work] = seconds_of(work, how, positive=True)
            self.scale[which] = 1.0 if work == "compute" else 1.0 / shards

    def units(self, work: Work, shape: tuple[int, ...]) -> FloatArray:
        """Draw independent units of one work."""
        how = self._times[work]
        if not isinstance(how, str):
            return how[self.generator.integers(len(how), size=shape)]
        return np.ones(shape) if how == "deterministic" else self.generator.standard_exponential(shape)

    def parts(self, steps: int, replications: int) -> Iterator[FloatArray]:
        """Yield the units of all steps in blocks (steps, works, replications), in order of ``WORKS``."""
        together = _BLOCK * max(1, _HELD // (_BLOCK * replications))
        for begin in range(0, steps, together):
            part = np.empty((min(together, steps - begin), len(WORKS), replications))
            for first in range(0, len(part), _BLOCK):
                block = part[first : first + _BLOCK]
                for index, work in enumerate(WORKS):
                    block[:, index] = self.units(work, (len(block), replications))
            yield part


def seconds_of(name: str, given: Sequence[float] | FloatArray, *, positive: bool) -> FloatArray:
    """Return ``given`` as an array; UsageError if some are no durations."""
    seconds = np.asarray(given, dtype=float)
    if seconds.ndim != 1 or not len(seconds) or not np.isfinite(seconds).all() or (seconds < 0).any():
        raise UsageError(f"{name}: allowed: one or more finite seconds >= 0 in a row")
    if positive and not (seconds > 0).all():
        raise UsageError(where=name, found="0 s", allowed="seconds > 0")
    return seconds

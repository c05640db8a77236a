"""Lower bounds on the mean flow time of the best stream in hindsight; what proves them stands in ``certificate``.

Both hold for streams with decisions at any time, hence also for ticks. They leave out pauses, and that counts are
integers at every moment. The larger of the two is a bound; a mix, job by job, is not.
"""

from collections.abc import Callable

from dlsched.certificates import LengthsCertificate, SrptCertificate, rounded_down
from dlsched.core.errors import UsageError
from dlsched.elastic_stream.certificate import area_value, exact_length_s, exact_size_s, length_value
from dlsched.elastic_stream.checker import infeasible
from dlsched.elastic_stream.instance import Instance

Tick = Callable[[], None]
"""Called for every job; it may raise to stop."""


def _nothing() -> None:
    pass


def area(instance: Instance, *, tick: Tick = _nothing) -> SrptCertificate:
    """SRPT on one machine of the cluster's speed, with every job at its most efficient count. Strong when units are short.

    Cost: O(J log J), and some microseconds for each job.

    Raises
    ------
    UsageError
        The instance is infeasible.
    """
    _require_feasible(instance)
    sizes = {}
    for place, job in enumerate(instance.jobs):
        tick()
        sizes[job.id] = rounded_down(exact_size_s(instance, place))
    return SrptCertificate(sizes, rounded_down(area_value(instance, list(sizes.values()))))


def length(instance: Instance, *, tick: Tick = _nothing) -> LengthsCertificate:
    """Every job alone on the cluster at its fastest count. Strong when there are units enough. Otherwise as ``area``."""
    _require_feasible(instance)
    lengths = {}
    for place, job in enumerate(instance.jobs):
        tick()
        lengths[job.id] = rounded_down(exact_length_s(instance, place))
    return LengthsCertificate(lengths, rounded_down(length_value(list(lengths.values()))))


def bound(instance: Instance, *, tick: Tick = _nothing) -> SrptCertificate | LengthsCertificate:
    """Return the larger of ``area`` and ``length``."""
    by_area, by_length = area(instance, tick=tick), length(instance, tick=tick)
    return by_area if by_area.value >= by_length.value else by_length


def _require_feasible(instance: Instance) -> None:
    if infeasible(instance) is not None:
        raise UsageError("the instance is infeasible: every bound holds")

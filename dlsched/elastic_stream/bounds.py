"""Lower bounds on the mean flow time of the best stream in hindsight; what proves them stands in ``certificate``.

Both hold for streams with decisions at any time, hence also for ticks. They leave out pauses, and that counts are
integers at every moment. The larger of the two is a bound; a mix, job by job, is not.
"""

from collections.abc import Callable
from fractions import Fraction

from dlsched.certificates import LengthsCertificate, SrptCertificate, rounded_down
from dlsched.core.budget import Tick, no_tick
from dlsched.core.errors import UsageError
from dlsched.elastic_stream.certificate import area_value, exact_length_s, exact_size_s, length_value
from dlsched.elastic_stream.checker import infeasible
from dlsched.elastic_stream.instance import Instance


def area(instance: Instance, *, tick: Tick = no_tick) -> SrptCertificate:
    """SRPT on one machine of the cluster's speed, with every job at its most efficient count. Strong when units are short.

    Cost: O(J log J), and some microseconds for each job, before which ``tick`` is called; it may raise to stop.

    Raises
    ------
    UsageError
        The instance is infeasible.
    """
    sizes = _claims(instance, exact_size_s, tick)
    return SrptCertificate(sizes, rounded_down(area_value(instance, list(sizes.values()))))


def length(instance: Instance, *, tick: Tick = no_tick) -> LengthsCertificate:
    """Every job alone on the cluster at its fastest count. Strong when there are units enough. Otherwise as ``area``."""
    lengths = _claims(instance, exact_length_s, tick)
    return LengthsCertificate(lengths, rounded_down(length_value(list(lengths.values()))))


def bound(instance: Instance, *, tick: Tick = no_tick) -> SrptCertificate | LengthsCertificate:
    """Return the larger of ``area`` and ``length``."""
    by_area, by_length = area(instance, tick=tick), length(instance, tick=tick)
    return by_area if by_area.value >= by_length.value else by_length


def _claims(instance: Instance, needed: Callable[[Instance, int], Fraction], tick: Tick) -> dict[str, float]:
    """What every job needs at least, rounded down."""
    if infeasible(instance) is not None:
        raise UsageError("the instance is infeasible: every bound holds")
    claims = {}
    for index, job in enumerate(instance.jobs):
        tick()
        claims[job.id] = rounded_down(needed(instance, index))
    return claims

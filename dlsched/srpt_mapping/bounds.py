"""Lower bounds on the sum of completion times; what proves them stands in ``certificate``."""

from collections.abc import Callable
from fractions import Fraction

from dlsched.certificates import LengthsCertificate, SrptCertificate, rounded_down
from dlsched.core.budget import Tick, no_tick
from dlsched.core.errors import UsageError
from dlsched.srpt_mapping.certificate import exact_length_s, exact_size_s, length_value, machine_value
from dlsched.srpt_mapping.checker import infeasible
from dlsched.srpt_mapping.instance import Instance


def machine(instance: Instance, *, tick: Tick = no_tick) -> SrptCertificate:
    """SRPT on one virtual machine as fast as all GPUs, with true iterations at the least seconds of an iteration.

    Strong when GPUs are short. ``tick`` is called for every job; it may raise to stop.
    Cost: O(I log I), and some 50 microseconds for every different job graph.

    Raises
    ------
    UsageError
        The instance is infeasible.
    """
    sizes = _of_every_job(instance, exact_size_s, tick)
    return SrptCertificate(sizes, rounded_down(machine_value(instance, list(sizes.values()))))


def length(instance: Instance, *, tick: Tick = no_tick) -> LengthsCertificate:
    """Every job alone from its release on. Strong when there are GPUs enough. Otherwise as ``machine``."""
    lengths = _of_every_job(instance, exact_length_s, tick)
    return LengthsCertificate(lengths, rounded_down(length_value(instance, list(lengths.values()))))


def bound(instance: Instance, *, tick: Tick = no_tick) -> SrptCertificate:
    """Combine both: the k-th end is no sooner than that of ``machine``, nor than the k-th of ``length``.

    Never below the larger of the two. Otherwise as ``machine``.
    """
    sizes, lengths = _of_every_job(instance, exact_size_s, tick), _of_every_job(instance, exact_length_s, tick)
    value = machine_value(instance, list(sizes.values()), list(lengths.values()))
    return SrptCertificate(sizes, rounded_down(value), lengths)


def _of_every_job(instance: Instance, exact: Callable[[Instance, int, Tick], Fraction], tick: Tick) -> dict[str, float]:
    """Exact figures of the jobs, rounded down."""
    if infeasible(instance) is not None:
        raise UsageError("the instance is infeasible: every bound holds")
    figures = {}
    for index, job in enumerate(instance.jobs):
        tick()
        figures[job.id] = rounded_down(exact(instance, index, tick))
    return figures

"""Lower bounds on the sum of completion times; what proves them stands in ``certificate``."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dlsched.certificates import LengthsCertificate, PricesCertificate, SrptCertificate, rounded_down
from dlsched.columns.price_ascent import RigidJobs, best_prices
from dlsched.core.errors import UsageError
from dlsched.core.limits import Stopped, Tick, no_tick
from dlsched.core.result import Certificate
from dlsched.core.ticks import from_the_first
from dlsched.srpt_mapping.certificate import (
    exact_length_s,
    exact_size_s,
    length_value,
    machine_value,
    prices_value,
)
from dlsched.srpt_mapping.checker import infeasible
from dlsched.srpt_mapping.instance import Instance

ROUNDS = 30
"""Linear programs that ``prices`` solves at most: fewer hardly matter to 100 jobs, more raise the bound of 80,000 little."""


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


def combined(instance: Instance, *, tick: Tick = no_tick) -> SrptCertificate:
    """Combine both: the k-th end is no sooner than that of ``machine``, nor than the k-th of ``length``.

    Never below the larger of the two. Otherwise as ``machine``.
    """
    sizes, lengths = _of_every_job(instance, exact_size_s, tick), _of_every_job(instance, exact_length_s, tick)
    value = machine_value(instance, list(sizes.values()), list(lengths.values()))
    return SrptCertificate(sizes, rounded_down(value), lengths)


def prices(
    instance: Instance,
    *,
    rounds: int = ROUNDS,
    tick: Tick = no_tick,
    better: Callable[[PricesCertificate], None] = lambda certificate: None,
) -> PricesCertificate:
    """Prices of a GPU over time, at which every job chooses its start alone; what is short of jobs waiting to run.

    Never below ``length``, as prices of 0 are among those tried. Strong at any load; what it does not see is servers.

    Parameters
    ----------
    instance
        Feasible.
    rounds
        How many linear programs are solved at most.
    tick
        Called for every job and in every round; it may raise to stop.
    better
        Called with the best certificate so far when it is stopped.

    Cost: measured .5 s for 100 jobs, 1.5 s for 200, 12 s for 10,000 and 30 s for 82,247, of which the certificate's exact
    value takes 5 s; as ``length`` where no job has to wait. UsageError: the instance is infeasible.
    """
    jobs = rigid_jobs(instance, tick)
    first_s = min(job.release_s for job in instance.jobs)
    best = np.zeros(2), np.zeros(1)

    def certificate() -> PricesCertificate:
        times, rates = first_s + best[0], best[1]
        # pieces that vanish on the instance's clock are dropped
        apart = np.diff(times) > 0
        times, rates = np.concatenate([times[:-1][apart], times[-1:]]), rates[apart]
        value = prices_value(instance, times.tolist(), rates.tolist())
        return PricesCertificate(tuple(times.tolist()), tuple(rates.tolist()), rounded_down(value))

    try:
        for record in best_prices(jobs, rounds, tick):
            best = record
    except (Stopped, KeyboardInterrupt):
        better(certificate())
        raise
    return certificate()


def bound(instance: Instance, *, rounds: int = ROUNDS, tick: Tick = no_tick) -> Certificate:
    """The better one of ``combined`` and ``prices``; otherwise as ``prices``."""
    certificates: list[Certificate] = [combined(instance, tick=tick), prices(instance, rounds=rounds, tick=tick)]
    return max(certificates, key=lambda certificate: certificate.value)


def rigid_jobs(instance: Instance, tick: Tick = no_tick) -> RigidJobs:
    """The jobs on their own clock, each with its least length, as far as prices see them; otherwise as ``machine``."""
    return RigidJobs(
        np.array(from_the_first([job.release_s for job in instance.jobs])),
        np.array(list(_of_every_job(instance, exact_length_s, tick).values())),
        np.array([job.gpus for job in instance.jobs], dtype=np.float64),
        instance.total_gpus,
    )


def _of_every_job(instance: Instance, exact: Callable[[Instance, int, Tick], Fraction], tick: Tick) -> dict[str, float]:
    """Exact figures of the jobs, rounded down."""
    if infeasible(instance) is not None:
        raise UsageError("the instance is infeasible: every bound holds")
    figures = {}
    for index, job in enumerate(instance.jobs):
        tick()
        figures[job.id] = rounded_down(exact(instance, index, tick))
    return figures

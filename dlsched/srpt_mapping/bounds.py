"""Lower bounds on the sum of completion times; what proves them stands in ``certificate``."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dlsched.certificates import (
    LengthsCertificate,
    PackingCertificate,
    PricesCertificate,
    SrptCertificate,
    rounded_down,
)
from dlsched.certificates.kinds import WindowData
from dlsched.columns.packing_cuts import PackingPrices, Part, best_packing_prices
from dlsched.columns.price_ascent import RigidJobs, best_prices, pooled_starts
from dlsched.core.errors import UsageError
from dlsched.core.limits import Stopped, Tick, no_tick
from dlsched.core.result import Certificate
from dlsched.core.ticks import from_the_first
from dlsched.srpt_mapping.certificate import (
    exact_best_length_s,
    exact_length_s,
    exact_size_s,
    length_value,
    machine_value,
    packing_prices_value,
    prices_value,
)
from dlsched.srpt_mapping.checker import infeasible
from dlsched.srpt_mapping.instance import Instance

ROUNDS = 30
"""Linear programs that ``prices`` solves at most: fewer hardly matter to 100 jobs, more raise the bound of 80,000 little."""

PACKING_ROUNDS = 14
MOST_JOBS, MOST_GPUS = 60, 1024
"""Largest numbers for ``packing``, whose linear programs grow with the square of the jobs."""


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

    Cost: measured .5 s for 100 jobs, 1.5 s for 200, 10 s for 40,000 and 90 s for 400,000 at once; as ``length``
    where no job has to wait. UsageError: the instance is infeasible.
    """
    jobs = rigid_jobs(instance, tick)
    first_s = min(job.release_s for job in instance.jobs)
    best = np.zeros(2), np.zeros(1)

    def certificate() -> PricesCertificate:
        times, rates = first_s + best[0], best[1]
        # pieces that vanish on the instance's clock are dropped
        apart = np.diff(times) > 0
        times, rates = np.concatenate([times[:-1][apart], times[-1:]]), rates[apart]
        lengths = jobs.length_s.tolist()
        value = prices_value(instance, times.tolist(), rates.tolist(), lengths)
        if value < (alone := length_value(instance, lengths)):  # prices that a sample of the jobs found
            value, rates = alone, np.zeros_like(rates)
        return PricesCertificate(tuple(times.tolist()), tuple(rates.tolist()), rounded_down(value))

    try:
        for record in best_prices(jobs, rounds, tick):
            best = record
    except (Stopped, KeyboardInterrupt):
        better(certificate())
        raise
    return certificate()


def few_enough(instance: Instance) -> bool:
    """Whether ``packing`` takes the instance."""
    return len(instance.jobs) <= MOST_JOBS and instance.total_units <= MOST_GPUS


def require_few(instance: Instance) -> None:
    """Refuse what ``packing`` would need too long for; UsageError: too many jobs or GPUs."""
    if len(instance.jobs) > MOST_JOBS:
        raise UsageError(where="packing", found=f"{len(instance.jobs):,} jobs", allowed=f"at most {MOST_JOBS}")
    if instance.total_units > MOST_GPUS:
        what = "GPUs" if instance.units == 1 else f"GPUs of {instance.units} units"
        found = f"{instance.total_gpus:,} {what}"
        raise UsageError(where="packing", found=found, allowed=f"at most {MOST_GPUS:,} in all")


def packing(
    instance: Instance,
    *,
    starts_s: Sequence[float] | None = None,
    enough: float = math.inf,
    rounds: int = PACKING_ROUNDS,
    tick: Tick = no_tick,
    better: Callable[[PackingCertificate], None] = lambda certificate: None,
) -> PackingCertificate:
    """Prices of single jobs over time: what is short of room for jobs that do not fit together.

    Parameters
    ----------
    instance
        Feasible.
    starts_s
        Of every job in a good schedule, whose events are the first breakpoints; None: of one on a pool of all GPUs.
    enough
        A bound after which no better one is sought.
    rounds
        How many linear programs are solved at most.
    tick
        Called in every round and for every job; it may raise to stop.
    better
        Called with the best certificate so far when it is stopped.

    Cost: measured .5 s for 10 jobs and 5 s for 20, of which the certificate's exact value takes a tenth. UsageError: the instance
    is infeasible, or too large.
    """
    require_few(instance)
    jobs = rigid_jobs(instance, tick, exact_best_length_s)
    first_s = min(job.release_s for job in instance.jobs)
    sizes = [(own, sum(instance.servers[m].gpus for m in servers)) for own, servers in instance.parts]
    parts = [Part(np.array(own), gpus * instance.units) for own, gpus in sizes]
    begun = np.array([job.begun is not None for job in instance.jobs])
    known_s = pooled_starts(jobs) if starts_s is None else np.array(starts_s) - first_s
    best: PackingPrices | None = None

    def certificate() -> PackingCertificate:
        assert best is not None
        return packing_certificate(instance, best)

    try:
        for best in best_packing_prices(jobs, parts, begun, known_s, rounds, tick):
            if math.fsum([best.flow_s, *(job.release_s for job in instance.jobs)]) >= enough:
                break
    except (Stopped, KeyboardInterrupt):
        if best is not None:
            better(certificate())
        raise
    return certificate()


def packing_certificate(instance: Instance, prices: PackingPrices) -> PackingCertificate:
    """The certificate of prices on the jobs' own clock."""
    names = [job.id for job in instance.jobs]
    first_s = min(job.release_s for job in instance.jobs)
    times = first_s + prices.times
    # pieces that vanish on the instance's clock are dropped
    apart = np.diff(times) > 0
    times, rates = np.concatenate([times[:-1][apart], times[-1:]]), prices.rates[:, apart]
    windows = tuple(
        WindowData(
            from_s=first_s + window.begin_s,
            until_s=first_s + window.end_s,
            touching=names[window.touching],
            charges={name: each for name, each in zip(names, window.charges.tolist(), strict=True) if each},
        )
        for window in prices.windows
    )
    priced = {name: tuple(row) for name, row in zip(names, rates.tolist(), strict=True) if any(row)}
    claimed = PackingCertificate(tuple(times.tolist()), priced, windows, 0.0)
    return replace(claimed, value=rounded_down(packing_prices_value(instance, claimed)))


def bound(instance: Instance, *, rounds: int = ROUNDS, tick: Tick = no_tick) -> Certificate:
    """The best one of ``combined``, ``prices`` and, where jobs and GPUs are few enough, ``packing``; otherwise as ``prices``."""
    certificates: list[Certificate] = [combined(instance, tick=tick), prices(instance, rounds=rounds, tick=tick)]
    if few_enough(instance):
        certificates.append(packing(instance, tick=tick))
    return max(certificates, key=lambda certificate: certificate.value)


def rigid_jobs(
    instance: Instance, tick: Tick = no_tick, length_s: Callable[[Instance, int, Tick], Fraction] = exact_length_s
) -> RigidJobs:
    """The jobs on their own clock, each with its least length, as far as prices see them; otherwise as ``machine``."""
    return RigidJobs(
        np.array(from_the_first([job.release_s for job in instance.jobs])),
        np.array(list(_of_every_job(instance, length_s, tick).values())),
        np.array([instance.units_of(job) for job in instance.jobs], dtype=np.float64),
        instance.total_units,
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

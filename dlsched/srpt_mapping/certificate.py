"""Verifier of srpt_mapping certificates: exact bounds from the instance's own numbers, without a solver.

*Seconds of an iteration.* No placement of job i has an iteration shorter than alpha_i: see
``cluster.job_graph``. A job that has begun stays where it is: its alpha_i is that of its placement.

*Machine.* Running job i on g_i of G GPUs is running it at rate g_i / G on one machine of speed 1 that may serve many at a
time: size at least n_i g_i alpha_i / G. Serving them one by one, in the order in which they end, ends none later; so
SRPT's sum is a lower bound, with smaller sizes too. Pools that share no servers have a machine each, of their own GPUs.

*Length.* No job ends before r_i + n_i alpha_i. *Both*: the k-th end of any schedule is no sooner than SRPT's k-th end,
nor than the k-th smallest r_i + n_i alpha_i (``certificates.srpt_value``); so the later of the two is summed.

*Prices.* A job holds g_i of G GPUs from its start on for n_i alpha_i seconds at least, wherever it is placed, without a
pause: see ``certificates.time_prices``.

*Slices.* Where jobs take slices, g_i and G are counted in units of a GPU (``Instance.units``): a job on a slice takes as many
as the slice has, and no GPU has room for more than all of its units at a time.

*Packing.* The jobs of a part that run at one time take at most its GPUs; alpha_i is that of the best placement, by search:
see ``certificates.packing_prices``.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TypeVar

from dlsched.certificates import (
    LengthsCertificate,
    PackingCertificate,
    PricesCertificate,
    SrptCertificate,
    claimed,
    exact_sum,
    rounded_down,
    srpt_value,
)
from dlsched.certificates.packing_prices import PackedJob, PricedWindow, packing_value
from dlsched.certificates.time_prices import rigid_value
from dlsched.cluster.job_graph import exact_best_iteration_s, exact_least_iteration_s
from dlsched.core.limits import Tick, no_tick
from dlsched.core.result import Certificate
from dlsched.srpt_mapping.instance import Instance, Job

Figure = TypeVar("Figure")


def exact_iteration_s(
    instance: Instance, index: int, tick: Tick = no_tick, least: Callable[..., Fraction] = exact_least_iteration_s
) -> Fraction:
    """alpha_i: seconds below which no placement brings an iteration of the job, exactly; ``tick`` may raise to stop.

    ``least``: one of the functions of ``cluster.job_graph``.
    """
    if instance.jobs[index].begun is not None:
        tick()
        return _placed_s(instance, instance.jobs[index])
    job = instance.jobs[index]
    inside, nic = instance.intra_bandwidth_bytes_per_s, instance.nic_bandwidth_bytes_per_s
    return least(job.graph, instance.sizes[job.pool], inside, nic, tick=tick)


def _placed_s(instance: Instance, job: Job) -> Fraction:
    """Seconds of an iteration of a job that has begun, where it runs, by their definition (``checker``)."""
    near, nic = 1 / Fraction(instance.intra_bandwidth_bytes_per_s), Fraction(instance.nic_bandwidth_bytes_per_s)
    runs: list[dict[str, int]] = [{} for _ in job.stages]
    for part in job.begun or ():
        runs[part.stage][part.server] = part.replicas
    servers = {name for servers_of in runs for name in servers_of}
    far = {name: instance.servers[instance.server_index[name]].gpus / nic for name in servers}
    # the slowest server of any stage; near and far are seconds per byte within and between servers
    slowest = Fraction(0)
    for number, (stage, servers_of) in enumerate(zip(job.stages, runs, strict=True)):
        each = Fraction(2, stage.replicas)
        band = near if len(servers_of) == 1 else max(far[name] for name in servers_of)
        alone = Fraction(stage.compute_s) + each * (stage.replicas - 1) * Fraction(stage.parameter_bytes) * band
        for name in servers_of:
            seconds = alone
            for other, sent in job.graph.neighbours(number):
                here = Fraction(runs[other].get(name, 0), job.stages[other].replicas)
                seconds += each * Fraction(sent) * (here * near + (1 - here) * far[name])
            slowest = max(slowest, seconds)
    return slowest


def exact_size_s(instance: Instance, index: int, tick: Tick = no_tick) -> Fraction:
    """Seconds of the job on the virtual machine, at least: n_i g_i alpha_i / G."""
    units = instance.part_gpus[index] * instance.units
    return exact_length_s(instance, index, tick) * instance.units_of(instance.jobs[index]) / units


def exact_length_s(instance: Instance, index: int, tick: Tick = no_tick) -> Fraction:
    """Seconds from the job's start to its end, at least: n_i alpha_i."""
    return Fraction(instance.jobs[index].iterations) * exact_iteration_s(instance, index, tick)


def exact_best_length_s(instance: Instance, index: int, tick: Tick = no_tick) -> Fraction:
    """The same by the best placement, where few placements are possible: at least ``exact_length_s``."""
    return Fraction(instance.jobs[index].iterations) * exact_iteration_s(instance, index, tick, exact_best_iteration_s)


def machine_value(instance: Instance, sizes: Sequence[float], lengths: Sequence[float] | None = None) -> Fraction:
    """Sum of completion times that sizes, none larger than ``exact_size_s``, prove; with lengths, that both prove."""

    def value(jobs: Sequence[int]) -> Fraction:
        alone = None if lengths is None else [lengths[index] for index in jobs]
        return srpt_value([instance.jobs[index].release_s for index in jobs], [sizes[index] for index in jobs], alone)

    return sum((value(jobs) for jobs, _ in instance.parts), Fraction(0))


def length_value(instance: Instance, lengths: Sequence[float]) -> Fraction:
    """Sum of completion times that lengths prove, one a job, none larger than ``exact_length_s``."""
    return exact_sum([Fraction(job.release_s) for job in instance.jobs] + [Fraction(length) for length in lengths])


def prices_value(
    instance: Instance, breakpoints: Sequence[float], prices: Sequence[float], lengths: Sequence[float] | None = None
) -> Fraction:
    """Sum of completion times that prices of a GPU and second prove; errors as ``certificates.time_prices``.

    ``lengths``: none larger than ``exact_length_s``; None: these, rounded down, as shorter lengths prove less.
    """
    if lengths is None:
        lengths = [rounded_down(exact_length_s(instance, index)) for index in range(len(instance.jobs))]
    units = [instance.units_of(job) for job in instance.jobs]
    releases = [job.release_s for job in instance.jobs]
    return rigid_value(releases, lengths, units, instance.total_units, breakpoints, prices)


def packing_prices_value(instance: Instance, certificate: PackingCertificate) -> Fraction:
    """Sum of completion times that rates and windows prove, whatever is claimed; errors as ``certificates.packing_prices``."""
    part = {index: number for number, (jobs, _) in enumerate(instance.parts) for index in jobs}
    jobs = [
        PackedJob(
            job.release_s,
            rounded_down(exact_best_length_s(instance, index)),  # shorter lengths prove less
            instance.units_of(job),
            part[index],
            job.begun is not None,
        )
        for index, job in enumerate(instance.jobs)
    ]
    totals = [sum(instance.servers[m].gpus for m in servers) * instance.units for _, servers in instance.parts]

    def indexed(figures: Mapping[str, Figure]) -> dict[int, Figure]:
        for name in figures:
            if name not in instance.index:
                raise ValueError(f"there is no job {name!r}")
        return {instance.index[name]: figure for name, figure in figures.items()}

    windows = []
    for each in certificate.windows:
        (touching,) = indexed({each["touching"]: None})
        windows.append(PricedWindow(each["from_s"], each["until_s"], touching, indexed(each["charges"])))
    return packing_value(jobs, totals, certificate.breakpoints, indexed(certificate.rates), windows)


def verify(instance: Instance, certificate: Certificate) -> Fraction:
    """Return the bound on the sum of completion times that the certificate proves, exactly; jobs not named count as 0.

    ValueError: it is not a certificate of this family, names a job that does not exist, claims more than a job needs, or
    has invalid prices.
    """
    names = [job.id for job in instance.jobs]
    lengths = None
    if isinstance(certificate, SrptCertificate):
        sizes = claimed(names, certificate.sizes, partial(exact_size_s, instance))
        if certificate.lengths:
            lengths = claimed(names, certificate.lengths, partial(exact_length_s, instance))
        return machine_value(instance, sizes, lengths)
    if isinstance(certificate, LengthsCertificate):
        return length_value(instance, claimed(names, certificate.lengths, partial(exact_length_s, instance)))
    if isinstance(certificate, PricesCertificate):
        if certificate.blocks:
            raise ValueError("prices of blocks: there are none in this family")
        return prices_value(instance, certificate.breakpoints, certificate.prices)
    if isinstance(certificate, PackingCertificate):
        return packing_prices_value(instance, certificate)
    raise ValueError(f"there are no certificates of kind {certificate.as_data()['kind']!r} in this family")

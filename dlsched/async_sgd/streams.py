"""Conversion of async_sgd instances to elastic_stream: streams whose speeds are the throughputs X_j(n).

The units are the nodes, a job's table says how long an epoch takes on 1, 2, ... of them: dataset_examples / (batch_examples
X_j(n)). When jobs arrive, what a restart costs and where jobs stop early are arguments: an instance does not say.

Source: Lin, Paolieri, Chou, Golubchik, MASCOTS 2018 [abstract]: heuristics are compared with and without early termination.
The conversion is ours.
"""

import math
from collections.abc import Sequence
from itertools import accumulate, islice

import numpy as np

from dlsched import elastic_stream
from dlsched.async_sgd.instance import Instance, Job
from dlsched.cluster.arrivals import poisson_arrivals
from dlsched.core.arrays import FloatArray
from dlsched.core.errors import InstanceError, UsageError
from dlsched.queueing.network import network_of
from dlsched.queueing.throughput import iterate

LARGEST_TABLES = 2**22  # pairs of job and count in the tables of a stream; this many take a gigabyte of memory

EarlyStops = Sequence[tuple[float, float]]
"""Pairs of a fraction of a job's work and the probability that it stops there; the rest of the probability runs to the end."""

_ROUNDING = 1e-9  # tolerance by which the sum of probabilities may exceed 1


def to_stream(
    instance: Instance,
    arrivals_s: Sequence[float],
    *,
    restart_s: float = 0.0,
    early_stop: EarlyStops = (),
    stops_at: Sequence[float] | None = None,
    tick_s: float | None = None,
) -> elastic_stream.Instance:
    """Return the jobs of an instance as a stream.

    Parameters
    ----------
    arrivals_s, restart_s
        Arrival of each job, and seconds without progress after a change of a job's nodes.
    early_stop, stops_at
        What policies may know about early ends, and the fraction of its work at which each job really ends; None: 1.
    tick_s
        Decisions are made at multiples of it only; None: at any time.

    Raises
    ------
    UsageError
        Not one arrival and one end for each job, or more than ``LARGEST_TABLES`` pairs of job and count.
    InstanceError
        A time or fraction out of range.
    """
    jobs = instance.jobs
    for name, numbers in (("arrivals_s", arrivals_s), ("stops_at", stops_at)):
        if numbers is not None and len(numbers) != len(jobs):
            raise UsageError(
                where=name, found=f"{len(numbers)} numbers", allowed=f"one for each of the {len(jobs)} jobs"
            )
    most = [min(instance.counts(index)[-1], instance.nodes) for index in range(len(jobs))]
    if sum(most) > LARGEST_TABLES:
        raise UsageError(found=f"{sum(most)} pairs of job and count", allowed=LARGEST_TABLES, limit="max_nodes")
    # every job with its own table of speeds
    records = []
    for index, job in enumerate(jobs):
        records.append(
            {
                "id": job.id,
                "arrival_s": float(arrivals_s[index]),
                "epochs": job.epochs,
                "epoch_time_s": _epoch_times_s(job, most[index]),
                "restart_s": restart_s,
                "stops_at": 1.0 if stops_at is None else float(stops_at[index]),
                "early_stop": [{"fraction": at, "probability": chance} for at, chance in early_stop],
            }
        )
    source = f"{instance.name} of async_sgd, speeds by mean value analysis"
    return elastic_stream.Instance(
        name=instance.name,
        source=source if instance.source is None else f"{source}\n{instance.source}",
        units=instance.nodes,
        tick_s=tick_s,
        jobs=records,
    )


def random_stream(
    instance: Instance,
    *,
    load: float,
    generator: "np.random.Generator",
    restart_s: float = 0.0,
    early_stop: EarlyStops = (),
    tick_s: float | None = None,
) -> elastic_stream.Instance:
    """Return the jobs of an instance as a stream with Poisson arrivals and random early ends.

    Parameters
    ----------
    load
        Node-seconds that the jobs really need on one node each, where they use it best, over the
        node-seconds that the cluster offers while they arrive; > 0.
    generator
        Draws the ends, then the arrivals.
    restart_s, early_stop, tick_s
        As in ``to_stream``; where each job stops is drawn from ``early_stop``.

    Raises
    ------
    UsageError
        An argument out of range, no job that has work, times that overflow, or a tick that vanishes beside them.
    """
    for name, number in (("load", load), ("tick", 1.0 if tick_s is None else tick_s)):
        if not 0 < number < math.inf:
            raise UsageError(where=name, found=number, allowed="a number > 0")
    if not 0 <= restart_s < math.inf:
        raise UsageError(where="restart", found=restart_s, allowed="a number >= 0")
    # ends first, then arrivals: the order of the draws fixes the stream of a seed
    stops = draw_stops(early_stop, len(instance.jobs), generator)
    work = stops * np.array([job.batches * job.cycle_s for job in instance.jobs])
    span_s = float(work.sum()) / (load * instance.nodes)
    if not 0 < span_s < math.inf:
        raise UsageError(where="load", found=load, allowed="one at which arrivals span a finite time > 0")
    arrivals = poisson_arrivals(generator, len(instance.jobs), span_s)
    try:
        return to_stream(
            instance,
            arrivals.tolist(),
            restart_s=restart_s,
            early_stop=early_stop,
            stops_at=stops.tolist(),
            tick_s=tick_s,
        )
    except InstanceError as error:
        raise UsageError(f"no stream with these arguments: {error}") from None


def draw_stops(early_stop: EarlyStops, jobs: int, generator: "np.random.Generator") -> FloatArray:
    """Draw where jobs really end, as fractions of their work; shape (jobs,).

    UsageError: fractions that are not in (0, 1), probabilities that are not in (0, 1] or add up to more than 1.
    """
    fractions, chances = [at for at, _ in early_stop], [chance for _, chance in early_stop]
    if not all(0 < at < 1 for at in fractions):
        raise UsageError(where="early_stop", found=f"fractions {fractions}", allowed="numbers > 0 and < 1")
    rest = 1.0 - math.fsum(chances)
    if not (all(chance > 0 for chance in chances) and rest > -_ROUNDING):
        raise UsageError(
            where="early_stop", found=f"probabilities {chances}", allowed="numbers > 0 that add up to at most 1"
        )
    # the rest of the probability is that of the full work
    weights = np.array([*chances, max(0.0, rest)])
    return generator.choice([*fractions, 1.0], size=jobs, p=weights / weights.sum())


def _epoch_times_s(job: Job, most: int) -> dict[int, float]:
    """Seconds of an epoch on 1 .. ``most`` nodes."""
    # X(n) grows, but by less than rounding once the links are full: the running maximum lets no node harm.
    batches = job.dataset_examples / job.batch_examples
    rates = accumulate(islice(iterate(network_of(job)), most), max)
    return {nodes: batches / rate for nodes, rate in enumerate(rates, start=1)}

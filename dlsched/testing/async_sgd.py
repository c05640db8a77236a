"""async_sgd for tests: instances with edge cases of allocations, closed networks, and optima by brute force.

Brute force knows neither the recursion nor the checker. Its throughputs come from the product form itself, by convolution
(Buzen, Communications of the ACM 16, 1973), in exact arithmetic on the instance's floats:

    G_0(n) = Z^n / n!;   G_k(n) = G_{k-1}(n) + D_k G_k(n - 1);   X(n) = G_K(n - 1) / G_K(n)

The convolution takes the K stations one by one, those of every shard separately.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from hypothesis import strategies as st

from dlsched.async_sgd.instance import RANGES, Instance, Job
from dlsched.async_sgd.solution import Allocation
from dlsched.queueing.network import Network, Station
from dlsched.testing.cases import Case, Data, fitting, named, several, values, whole_numbers

LARGEST = 1_000_000
"""Allocations that fit, beyond which ``brute_force_async`` refuses."""


def brute_force_async(instance: Instance) -> tuple[float, Allocation] | None:
    """Return the least objective and the first allocation that attains it, or None when none is feasible.

    Tries every allocation within the nodes, in lexicographic order of the counts; a ``ValueError`` says that more than
    ``LARGEST`` fit. Objectives are compared exactly, and the one returned is rounded once. Cost: some microseconds for each,
    more where numbers have many digits.
    """
    if len(instance.jobs) > instance.nodes:
        return None
    times = _job_times(instance)
    scale = math.lcm(*(time.denominator for row in times for time in row))
    whole = [[int(time * scale) for time in row] for row in times]  # integers add and compare faster than fractions
    best: tuple[int, tuple[int, ...]] | None = None
    for tried, counts in enumerate(fitting([range(1, len(row) + 1) for row in times], instance.nodes)):
        if tried == LARGEST:
            raise ValueError(f"more than {LARGEST} allocations fit: too many to try")
        total = sum(row[count - 1] for row, count in zip(whole, counts, strict=True))
        if best is None or total < best[0]:
            best = total, counts
    assert best is not None
    ids = [job.id for job in instance.jobs]
    return float(Fraction(best[0], scale)), Allocation(dict(zip(ids, best[1], strict=True)))


def exact_throughput(job: Job, nodes: int) -> Fraction:
    """Mini-batches a second of a job on that many nodes, >= 1."""
    return convolution(Fraction(job.compute_s), demands(job), nodes)[-1]


def convolution(delay_s: Fraction, demands_s: Sequence[Fraction], most: int) -> list[Fraction]:
    """Cycles a second X(1) .. X(most) of a closed network: seconds of a cycle without queueing, and at each station."""
    constants = [Fraction(1)]
    for customers in range(1, most + 1):
        constants.append(constants[-1] * delay_s / customers)
    for demand in demands_s:
        for customers in range(1, most + 1):
            constants[customers] += demand * constants[customers - 1]
    return [constants[customers - 1] / constants[customers] for customers in range(1, most + 1)]


def demands(job: Job) -> list[Fraction]:
    """Seconds of a cycle at each station of a job, one entry a station: a shard's down- and uplink, and its updates."""
    one_way = Fraction(job.parameter_bytes) / Fraction(job.bandwidth_bytes_per_s) / job.shards
    links = [one_way, one_way] if job.duplex == "full" else [2 * one_way]
    return [*links, Fraction(job.update_s) / job.shards] * job.shards


def _job_times(instance: Instance) -> list[list[Fraction]]:
    """Seconds of every job on 1, 2, ... nodes, as many as the others leave it; equal jobs are timed once."""
    spare = instance.nodes - len(instance.jobs) + 1
    known: dict[Job, list[Fraction]] = {}
    times = []
    for job in instance.jobs:
        same = job.model_copy(update={"id": "any"})
        if same not in known:
            most = min(spare, job.max_nodes or spare)
            batches = Fraction(job.epochs) * Fraction(job.dataset_examples) / Fraction(job.batch_examples)
            known[same] = [batches / value for value in convolution(Fraction(job.compute_s), demands(job), most)]
        times.append(known[same])
    return times


_MOST = RANGES["jobs[].max_nodes"]

_DEMANDS = st.one_of(
    st.sampled_from([0.0, 0.25, 1.0]),
    st.sampled_from([0.01, 0.08, 0.1]),
    st.sampled_from([1e-9, 1e-6, 1e-3, 16.0, 1e3]),
)
_DELAYS = st.one_of(st.sampled_from([0.25, 1.0]), st.sampled_from([0.0, 1e-6, 1e-3, 0.1, 16.0, 1e3]))
_STATIONS = st.builds(Station, _DEMANDS, st.sampled_from([1, 1, 2, 3, 4]))

_NUMBERS = (
    "epochs",
    "dataset_examples",
    "batch_examples",
    "parameter_bytes",
    "bandwidth_bytes_per_s",
    "compute_s",
    "update_s",
    "shards",
)
_JOBS: st.SearchStrategy[Data] = st.fixed_dictionaries(
    {
        **{name: values(RANGES[f"jobs[].{name}"]) for name in _NUMBERS},
        "duplex": st.sampled_from(["full", "half"]),
        "max_nodes": st.one_of(st.none(), whole_numbers(_MOST), st.sampled_from(_MOST.edges)),
    }
)


@st.composite
def async_sgd_instances(
    draw: st.DrawFn, *, max_jobs: int = 4, max_nodes: int = 10, feasible: bool | None = None
) -> Instance:
    """Instances of async_sgd of every awkward kind.

    Parameters
    ----------
    max_jobs, max_nodes
        Most jobs, and most nodes of the cluster; jobs may be allowed more.
    feasible
        True: only feasible instances; False: only infeasible ones; None: both, mostly feasible.
    """
    if max_jobs < 1 or max_nodes < 1:
        raise ValueError("max_jobs and max_nodes must be at least 1")
    if feasible is False and max_jobs < 2:
        raise ValueError("one job is always feasible: max_jobs must be at least 2")
    short = feasible is False or (feasible is None and max_jobs > 1 and draw(st.integers(0, 9)) == 0)
    number = draw(st.integers(2, max_jobs) if short else st.integers(1, min(max_jobs, max_nodes)))
    jobs = several(draw, _JOBS, number)
    if short:
        nodes = draw(st.integers(1, min(number - 1, max_nodes)))
    else:
        nodes = draw(st.one_of(st.integers(number, max_nodes), st.sampled_from([number, max_nodes])))
    return Instance(name="drawn", nodes=nodes, jobs=named(jobs))


@st.composite
def networks(draw: st.DrawFn, *, max_kinds: int = 4) -> Network:
    """Closed networks: no station, no delay, equal bottlenecks, demands of 0, and ratios up to 1e12."""
    stations = draw(st.lists(_STATIONS, max_size=max_kinds))
    if len(stations) > 1 and draw(st.integers(0, 3)) == 0:  # two kinds of one demand
        stations[-1] = Station(stations[0].demand_s, stations[-1].copies)
    delay_s = draw(_DELAYS)
    if delay_s == 0 and not any(station.demand_s for station in stations):
        delay_s = 1.0  # a cycle takes some time
    return Network(delay_s, tuple(stations))


CASE = Case(instances=async_sgd_instances, brute_force=brute_force_async)

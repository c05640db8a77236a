"""Hypothesis strategies of async_sgd: instances with what breaks allocations, small enough for brute force.

Ties, equal jobs, jobs with nothing left to do, nothing to send or nothing to update; networks that the links, the updates
or nobody slows down, by a little or a thousandfold; one shard and several, both kinds of links; jobs that may have one
node, a few, all, or more than there are; clusters with a node too few, with one a job, and with nodes to spare. Numbers are
short, so that exact arithmetic on them is fast.
"""

from typing import Any

from hypothesis import strategies as st

from dlsched.async_sgd.instance import Instance
from dlsched.queueing.network import Network, Station

Data = dict[str, Any]

_EPOCHS = st.one_of(st.sampled_from([1.0, 2.0, 10.0]), st.sampled_from([1.0, 0.0, 0.5, 3.0, 1000.0]))
_DATASETS = st.sampled_from([1024.0, 100.0, 1000.0, 50000.0])
_BATCHES = st.sampled_from([128.0, 1.0, 32.0, 100.0])
_BYTES = st.one_of(st.sampled_from([1e8, 2e7, 0.0]), st.sampled_from([1e8, 1.0, 1e5, 4e7, 1.02e8, 3e9]))
_BANDWIDTHS = st.sampled_from([1e9, 1.25e9, 1e8, 2.0**30])
_SECONDS = st.one_of(st.sampled_from([0.25, 1.0, 0.5]), st.sampled_from([1e-4, 0.01, 0.125, 2.0, 100.0]))
_UPDATES = st.one_of(st.sampled_from([0.0, 0.01, 0.25]), st.sampled_from([1e-5, 0.02, 0.5, 4.0]))
_MOST = st.one_of(st.none(), st.integers(1, 4), st.sampled_from([1, 6, 100, 2**53]))

_DEMANDS = st.one_of(
    st.sampled_from([0.0, 0.25, 1.0]),
    st.sampled_from([0.01, 0.08, 0.1]),
    st.sampled_from([1e-9, 1e-6, 1e-3, 16.0, 1e3]),
)
_DELAYS = st.one_of(st.sampled_from([0.25, 1.0]), st.sampled_from([0.0, 1e-6, 1e-3, 0.1, 16.0, 1e3]))
_STATIONS = st.builds(Station, _DEMANDS, st.sampled_from([1, 1, 2, 3, 4]))

_JOBS: st.SearchStrategy[Data] = st.fixed_dictionaries(
    {
        "epochs": _EPOCHS,
        "dataset_examples": _DATASETS,
        "batch_examples": _BATCHES,
        "parameter_bytes": _BYTES,
        "bandwidth_bytes_per_s": _BANDWIDTHS,
        "compute_s": _SECONDS,
        "update_s": _UPDATES,
        "shards": st.sampled_from([1, 1, 2, 3]),
        "duplex": st.sampled_from(["full", "half"]),
        "max_nodes": _MOST,
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
        True or False: only such; None: both, mostly feasible.
    """
    if max_jobs < 1 or max_nodes < 1:
        raise ValueError("max_jobs and max_nodes must be at least 1")
    if feasible is False and max_jobs < 2:
        raise ValueError("one job is always feasible: max_jobs must be at least 2")
    short = feasible is False or (feasible is None and max_jobs > 1 and draw(st.integers(0, 9)) == 0)
    number = draw(st.integers(2, max_jobs) if short else st.integers(1, min(max_jobs, max_nodes)))
    identical = draw(st.integers(0, 5)) == 0
    jobs = [draw(_JOBS)] * number if identical else [draw(_JOBS) for _ in range(number)]
    if short:
        nodes = draw(st.integers(1, min(number - 1, max_nodes)))
    else:
        nodes = draw(st.one_of(st.integers(number, max_nodes), st.sampled_from([number, max_nodes])))
    return Instance(name="drawn", nodes=nodes, jobs=[{"id": f"j{place}", **job} for place, job in enumerate(jobs)])


@st.composite
def networks(draw: st.DrawFn, *, max_kinds: int = 4) -> Network:
    """Closed networks: no station, no delay, equal bottlenecks, demands of 0, and ratios up to 1e12.

    Parameters
    ----------
    max_kinds
        Most kinds of stations, of up to four each.
    """
    stations = draw(st.lists(_STATIONS, max_size=max_kinds))
    if len(stations) > 1 and draw(st.integers(0, 3)) == 0:  # two kinds of one demand
        stations[-1] = Station(stations[0].demand_s, stations[-1].copies)
    delay_s = draw(_DELAYS)
    if delay_s == 0 and not any(station.demand_s for station in stations):
        delay_s = 1.0  # a cycle takes some time
    return Network(delay_s, tuple(stations))

"""Hypothesis strategies of srpt_mapping: instances with what breaks schedules, small enough for brute force.

Ties in releases and lengths, whole numbers and powers of two, identical jobs, servers of different sizes, jobs that take
all GPUs or more than there are, one stage and chains of up to three, nothing to exchange and heavy exchange, bandwidth
inside a server below a GPU's share of the network card, and wrong predictions.
"""

from typing import Any

from hypothesis import strategies as st

from dlsched.srpt_mapping.instance import Instance

Data = dict[str, Any]

_ODD = st.floats(0.5, 60, allow_subnormal=False).map(lambda value: float(f"{value:.6g}"))
_RELEASES = st.one_of(st.just(0.0), st.sampled_from([0.0, 1.0, 2.0, 4.0]), _ODD)
_ITERATIONS = st.one_of(st.sampled_from([1.0, 2.0, 10.0]), st.integers(1, 8).map(float), _ODD.map(lambda n: n + 0.5))
_SECONDS = st.one_of(st.sampled_from([1.0, 1.0, 2.0]), st.sampled_from([0.25, 0.5, 4.0]), _ODD)
_BYTES = st.one_of(st.sampled_from([1.0, 4.0]), st.sampled_from([16.0, 64.0]), _ODD)
_BANDWIDTHS = st.one_of(st.sampled_from([(8.0, 2.0), (16.0, 16.0), (64.0, 1.0), (4.0, 4.0)]), st.tuples(_ODD, _ODD))


@st.composite
def srpt_mapping_instances(
    draw: st.DrawFn,
    *,
    max_jobs: int = 3,
    max_servers: int = 3,
    max_gpus: int = 3,
    max_stages: int = 3,
    feasible: bool = False,
    exchange: bool | None = None,
    predicted: bool | None = None,
) -> Instance:
    """Instances of srpt_mapping of every awkward kind.

    Parameters
    ----------
    max_jobs, max_servers, max_gpus, max_stages
        The most jobs, servers, GPUs of a server and stages of a job.
    feasible
        Only such; otherwise now and then a job larger than the cluster.
    exchange
        Whether jobs have bytes to exchange, if they can; None: either.
    predicted
        Whether jobs have predictions, mostly wrong ones; None: either.
    """
    if min(max_jobs, max_servers, max_gpus, max_stages) < 1:
        raise ValueError("max_jobs, max_servers, max_gpus and max_stages must be at least 1")
    number = draw(st.integers(1, max_servers))
    alike = draw(st.booleans())
    sizes = [draw(st.integers(1, max_gpus))] * number
    if not alike:
        sizes = [draw(st.integers(1, max_gpus)) for _ in range(number)]
    total = sum(sizes)
    fast, slow = draw(_BANDWIDTHS)
    fast, slow = max(fast, slow), min(fast, slow)
    if draw(st.integers(0, 4)) == 0:
        fast, slow = slow / (2 * max(sizes)), fast  # inside a server less than any GPU's share of the card
    job = _jobs(total, max_stages, exchange, predicted)
    count = draw(st.one_of(st.just(max_jobs), st.integers(1, max_jobs)))
    identical = draw(st.integers(0, 5)) == 0
    jobs = [draw(job)] * count if identical else [draw(job) for _ in range(count)]
    if not feasible and draw(st.integers(0, 15)) == 0:
        stages = [draw(_stages(total + draw(st.integers(1, 3)), False))]
        jobs = [*jobs[1:], draw(job) | {"stages": stages}]
    if draw(st.integers(0, 3)) == 0:
        jobs = [each | {"release_s": jobs[0]["release_s"]} for each in jobs]
    return Instance(
        name="drawn",
        intra_bandwidth_bytes_per_s=fast,
        nic_bandwidth_bytes_per_s=slow,
        servers=[{"id": f"s{place}", "gpus": size} for place, size in enumerate(sizes)],
        jobs=[{"id": f"j{place}", **each} for place, each in enumerate(jobs)],
    )


@st.composite
def _jobs(draw: st.DrawFn, total: int, max_stages: int, exchange: bool | None, predicted: bool | None) -> Data:
    """A job of at most so many GPUs; often of all of them."""
    gpus = draw(st.one_of(st.integers(1, min(4, total)), st.integers(1, total), st.just(total)))
    gpus = min(gpus, 3 * max_stages)
    length = draw(st.integers(-(-gpus // 3), min(gpus, max_stages)))
    replicas = []
    for behind in reversed(range(length)):
        replicas.append(draw(st.integers(max(1, gpus - 3 * behind), min(3, gpus - behind))))
        gpus -= replicas[-1]
    sends = draw(st.integers(0, 3)) > 0 if exchange is None else exchange
    stages = [draw(_stages(count, sends)) for count in replicas]
    stages[-1]["output_bytes"] = 0.0
    job: Data = {"release_s": draw(_RELEASES), "iterations": draw(_ITERATIONS), "stages": stages}
    if draw(st.booleans()) if predicted is None else predicted:
        job["predicted_iterations"] = draw(st.one_of(_ITERATIONS, st.just(0.01), st.just(job["iterations"])))
    return job


@st.composite
def _stages(draw: st.DrawFn, replicas: int, sends: bool) -> Data:
    nothing = st.just(0.0)
    return {
        "replicas": replicas,
        "compute_s": draw(_SECONDS),
        "output_bytes": draw(st.one_of(nothing, _BYTES, _BYTES)) if sends else 0.0,
        "parameter_bytes": draw(st.one_of(nothing, _BYTES, _BYTES)) if sends else 0.0,
    }

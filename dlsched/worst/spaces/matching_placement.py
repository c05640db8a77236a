"""Search space of worst instances of matching_placement: few jobs, few workers of up to three types.

An iteration has ``BATCH`` = 10 samples, and a worker trains 1 to 10 samples/s of it: 1 to 10 s on one worker. A type's
bandwidth is 1e9 or 1e10 B/s; a ring exchanges up to 1e10 bytes, which takes up to 20 s an iteration. Jobs run 1 to 1000
iterations.

*What grows.* Methods that take workers which the ring does not repay (``equal``, ``fastest-first``) are
worse by a factor that grows with bytes over bandwidth: here to 10/15 + 2 (5/6) 10 = 17.3 on six workers.
Methods that ignore rates (``equal``) are worse by the quotient of rates, 10, times the workers that a job
could have instead of one. Methods that begin on a fast worker of a slow network, and add workers one by one,
miss a set of K - 1 workers on a fast network: a factor that grows with K to the ratio of the bandwidths, 10;
on six workers it is 1 / (1/5 + .08) = 25/7.
"""

from functools import partial

import numpy as np

from dlsched.core.elementary import log, log_uniform
from dlsched.matching_placement import FAMILY, generate
from dlsched.matching_placement.generator import PRESETS
from dlsched.matching_placement.instance import RANGES
from dlsched.worst import spaces
from dlsched.worst.spaces import Data, Number, Space

JOBS, GPUS, MOST_TYPES = 3, 6, 3
BANDWIDTHS = RANGES["workers[].bandwidth_bytes_per_s"].searched
BATCH, _ = RANGES["jobs[].batch_samples"].searched

FASTEST = RANGES["workers[].bandwidth_bytes_per_s"].choices[-1]
"""B/s of the generator's fastest networks, and so of the fastest here."""

_ITERATIONS, _RATES, _BYTES = (
    RANGES[f"jobs[].{name}"].searched for name in ("iterations", "samples_per_s{}", "gradient_bytes")
)
_FEW_BYTES, _NO_BYTES = 1e8, 1e3  # fewest bytes drawn, apart from none; fewer than `_NO_BYTES` count as none
_EXCHANGED = (0.05, 2.0)  # range of seconds of a ring over seconds of computing
_PATHS = ("jobs[].samples_per_s{}", "jobs[].gradient_bytes")
_NUMBERS = spaces.searched(RANGES, *_PATHS, whole=["jobs[].iterations"])
_OF_PRESETS = spaces.searched(
    RANGES, *_PATHS, "workers[].bandwidth_bytes_per_s", whole=["jobs[].iterations"], of_presets=True
)


def space_of(
    *,
    jobs: int | None = None,
    gpus: int | None = None,
    preset: str | None = None,
    objective: str | None = None,
    alpha: float | None = None,
    limited: bool = False,
) -> Space:
    """Return the space of at most ``jobs`` jobs (None: 3, or fewer) and ``gpus`` workers (None: 6, or two a job).

    With a ``preset`` its ranges are searched. ``limited``: whether jobs may have a smallest and a largest number of workers, and
    types that cannot serve them; in presets they do. ``objective``, ``alpha``: as ``generate`` takes them.
    """
    spaces.require_sizes(jobs=jobs, gpus=gpus)
    total = max(GPUS, 2 * (jobs or 0)) if gpus is None else gpus
    most = min(JOBS, total) if jobs is None else jobs
    model = generate(
        preset=next(iter(PRESETS)) if preset is None else preset,
        jobs=most,
        gpus=total,
        objective=objective,
        alpha=alpha,
    )
    aimed = {key: value for key, value in model.as_data().items() if key in ("objective", "alpha")}
    free = limited or preset is not None
    _, largest = RANGES["jobs[].max_workers"].usual
    limits = (
        [Number(f"jobs[].{end}_workers", 1, max(total, largest), whole=True) for end in ("min", "max")] if free else []
    )
    sizes: Data = {"most": most, "total": total, "limited": limited, "aimed": aimed}
    return Space(
        family=FAMILY,
        draw=partial(_draw, **sizes)
        if preset is None
        else spaces.drawn_as_generated(FAMILY, preset, most, total, lambda _, data: data | aimed),
        numbers=[*(_NUMBERS if preset is None else _OF_PRESETS), *limits],
        members=(("jobs", 1, most), ("workers", 1, total)),
        repair=lambda data: _repair(data, free),
        reference="dp",
        presets={}
        if preset is not None
        else {name: partial(_draw_generated, preset=name, **sizes) for name in PRESETS},
        words=_words(most, total, limited)
        if preset is None
        else f"{spaces.sizes_said(most, total, 'worker')}, as {preset} has them",
        wider=[*([] if free else ["--limited"]), "--objective", "--jobs", "--gpus"],
    )


def _draw(generator: np.random.Generator, most: int, total: int, limited: bool, aimed: Data) -> Data:
    jobs = int(generator.integers(1, most + 1))
    workers = total if generator.random() < 1 / 2 else int(generator.integers(jobs, total + 1))
    kinds = sorted(generator.integers(MOST_TYPES, size=workers).tolist())
    # a bandwidth for each of three types: two of them share one
    networks = generator.permutation([*BANDWIDTHS, generator.choice(BANDWIDTHS)]).tolist()
    drawn = spaces.lettered([_job(generator, networks, sorted(set(kinds))) for _ in range(jobs)])
    if limited:  # a smallest size might not fit
        drawn[int(generator.integers(len(drawn)))]["max_workers"] = int(generator.integers(1, len(kinds) + 1))
    return {
        "format": "dlsched/matching_placement/1",
        "name": "worst",
        "workers": [
            {"id": f"w{index}", "type": f"g{kind}", "bandwidth_bytes_per_s": networks[kind]}
            for index, kind in enumerate(kinds)
        ],
        "jobs": drawn,
    } | aimed


def _job(generator: np.random.Generator, networks: list[float], kinds: list[int]) -> Data:
    """Draw a job; two thirds exchange bytes, and a ring on some network takes about as long as computing."""
    rates = {f"g{kind}": float(f"{log_uniform(generator, *_RATES):.2g}") for kind in kinds}
    # seconds of a ring, in proportion to those of computing on the fastest type
    ring_s = BATCH / max(rates.values()) * log_uniform(generator, *_EXCHANGED)
    sent = min(max(ring_s * networks[kinds[int(generator.integers(len(kinds)))]] / 2, _FEW_BYTES), _BYTES[1])
    return {
        "iterations": float(round(log_uniform(generator, *_ITERATIONS))),
        "batch_samples": BATCH,
        "gradient_bytes": 0.0 if generator.random() < 1 / 3 else float(f"{sent:.2g}"),
        "samples_per_s": rates,
    }


def _words(most: int, total: int, limited: bool) -> str:
    """Describe the round figures."""
    bandwidths = " or ".join(f"{each:.0e}" for each in BANDWIDTHS)
    return (
        f"{spaces.sizes_said(most, total, 'worker')} of up to {MOST_TYPES} types, {bandwidths} B/s, batches of {BATCH:g}, "
        f"{_RATES[0]:g} to {_RATES[1]:g} samples/s, up to {_ITERATIONS[1]:g} iterations and {_BYTES[1]:.0e} bytes, "
        + ("limited sizes" if limited else "any sizes")
    )


def _draw_generated(
    generator: np.random.Generator, preset: str, most: int, total: int, limited: bool, aimed: Data
) -> Data | None:
    """Draw an instance of a preset in round figures, scaled so that each job computes for 1 s on its fastest type."""
    jobs = int(generator.integers(1, most + 1))
    workers = int(generator.integers(max(jobs, total - 2), total + 1))
    instance = generate(preset=preset, jobs=jobs, gpus=workers, seed=int(generator.integers(2**31))).as_data()
    # more types than the space has are folded onto its types
    kinds = {kind: f"g{index % MOST_TYPES}" for index, kind in enumerate(_networks(instance))}
    machines: list[Data] = [
        {"type": kinds[each["type"]], "bandwidth_bytes_per_s": _nearest(each["bandwidth_bytes_per_s"])}
        for each in instance["workers"]
    ]
    drawn: Data = {"format": "dlsched/matching_placement/1", "name": "worst"}
    longest_s = max(job["iterations"] * _iteration_s(job) for job in instance["jobs"])
    drawn |= {"workers": sorted(machines, key=lambda worker: worker["type"])}
    drawn |= {"jobs": [_rounded(job, kinds, longest_s, limited) for job in instance["jobs"]]} | aimed
    return _repair(drawn, limited)


def _nearest(bandwidth: float) -> float:
    """Return the bandwidth of the round figures that is nearest in proportion; their largest is the generator's."""
    return min(BANDWIDTHS, key=lambda each: abs(log(bandwidth * BANDWIDTHS[-1] / FASTEST / each)))


def _iteration_s(job: Data) -> float:
    """Seconds of an iteration on one worker of the fastest type, without a ring."""
    return float(job["batch_samples"] / max(job["samples_per_s"].values()))


def _rounded(job: Data, kinds: dict[str, str], longest_s: float, limited: bool) -> Data:
    """Put a job of the generator into round figures; types that cannot serve it do so slowly unless ``limited``."""
    # an iteration takes 1 s on the fastest type
    scale = 1 / _iteration_s(job)
    rates = {
        kinds[kind]: rate * scale * BATCH / job["batch_samples"]
        for kind, rate in reversed(job["samples_per_s"].items())
    }
    if not limited:
        rates = {kind: rates.get(kind, _RATES[0]) for kind in sorted(set(kinds.values()))}
    sent = job["gradient_bytes"] * scale * BANDWIDTHS[-1] / FASTEST
    iterations = job["iterations"] * _iteration_s(job) / longest_s * _ITERATIONS[1]
    found = {
        "iterations": spaces.within(_NUMBERS[0], iterations),
        "batch_samples": BATCH,
        "gradient_bytes": spaces.within(_NUMBERS[2], spaces.rounded(sent, 2)),
        "samples_per_s": {kind: spaces.within(_NUMBERS[1], spaces.rounded(rate, 2)) for kind, rate in rates.items()},
    }
    return found | ({key: job[key] for key in ("min_workers", "max_workers") if key in job} if limited else {})


def _networks(data: Data) -> dict[str, float]:
    """Return the bandwidth of every type, taken from its first worker."""
    return {worker["type"]: worker["bandwidth_bytes_per_s"] for worker in reversed(data["workers"])}


def _repair(data: Data, free: bool) -> Data | None:
    """Keep one bandwidth per type, rates of existing types (``free``: of some), and bytes that count; number ids."""
    repaired = spaces.copied(data)
    networks = _networks(repaired)
    for index, worker in enumerate(repaired["workers"]):
        worker |= {"id": f"w{index}", "bandwidth_bytes_per_s": networks[worker["type"]]}
    least = 0
    repaired["jobs"] = spaces.lettered(repaired["jobs"])
    for job in repaired["jobs"]:
        rates = {kind: rate for kind, rate in job["samples_per_s"].items() if kind in networks}
        if not rates:
            return None
        if not free:
            first = next(iter(rates.values()))
            rates |= {kind: first for kind in networks if kind not in rates}
        job["samples_per_s"] = rates
        if job["gradient_bytes"] < _NO_BYTES:
            job["gradient_bytes"] = 0.0
        # workers that the jobs need at least, together
        least += job.get("min_workers", 1)
        if "max_workers" in job:
            job["max_workers"] = max(job["max_workers"], job.get("min_workers", 1))
    return repaired if least <= len(repaired["workers"]) else None

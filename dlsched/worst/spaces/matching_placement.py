"""Where worst instances of matching_placement are searched: few jobs on few workers of up to three types, in round figures.

An iteration has ``BATCH`` = 10 samples, and a worker trains 1 to 10 samples/s of it: 1 to 10 s on one worker. A type's
bandwidth is 1e9 or 1e10 B/s; a ring exchanges up to 1e10 bytes, which takes up to 20 s an iteration. Jobs run 1 to 1000
iterations.

*What grows.* Whoever takes workers that the ring does not repay (``equal``, ``fastest-first``) is worse by a factor that grows
with bytes over bandwidth: here to 10/15 + 2 (5/6) 10 = 17.3 on six workers; and whoever does not look at rates (``equal``) by
their quotient, 10, times the workers that a job could have instead of one. Whoever begins on a fast worker of a slow network,
and adds workers one by one, misses a set of K - 1 on a fast one: a factor that grows with K to the ratio of the bandwidths, 10;
on six workers 1 / (1/5 + .08) = 25/7.
"""

import copy
from itertools import permutations

import numpy as np

from dlsched.core.figures import log_uniform
from dlsched.matching_placement import FAMILY, generate
from dlsched.matching_placement.generator import PRESETS
from dlsched.worst.space import Data, Draw, Number, Space
from dlsched.worst.spaces.naming import lettered, require_sizes

JOBS, GPUS = 3, 6
MOST_TYPES = 3
BATCH = 10.0
BANDWIDTHS = (1e9, 1e10)  # B/s

_ITERATIONS, _RATES, _BYTES = (1.0, 1000.0), (1.0, 10.0), (0.0, 1e10)
_FEW_BYTES, _NO_BYTES = 1e8, 1e3  # the fewest that are drawn, beside none; fewer than those count as none
_EXCHANGED = (0.05, 2.0)  # seconds of a ring over those of computing
_NUMBERS = (
    Number("jobs[].iterations", *_ITERATIONS, whole=True),
    Number("jobs[].samples_per_s{}", *_RATES),
    Number("jobs[].gradient_bytes", *_BYTES),
)
_OF_PRESETS = (
    Number("jobs[].iterations", 1, 1e7, whole=True),
    Number("jobs[].samples_per_s{}", 1, 1e5),
    Number("jobs[].gradient_bytes", 0, 1e10),
    Number("workers[].bandwidth_bytes_per_s", 1e9, 1e10),
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
    """Return the space of instances that such arguments describe.

    Parameters
    ----------
    jobs
        The most jobs; None: ``JOBS``, or fewer where workers are fewer.
    gpus
        The most workers, at least one for every job; None: ``GPUS``, or two for every job.
    preset
        Of ``generate``, whose ranges are then searched; None: the round figures above.
    objective, alpha
        As ``generate`` takes them.
    limited
        Whether jobs may have a smallest and a largest number of workers, and types that cannot serve them; in presets they do.

    Raises
    ------
    UsageError
        What ``generate`` refuses.
    """
    require_sizes(jobs=jobs, gpus=gpus)
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
    return Space(
        family=FAMILY,
        draw=_draw(most, total, limited, aimed) if preset is None else _draw_preset(preset, most, total, aimed),
        numbers=_NUMBERS if preset is None else _OF_PRESETS,
        members=(("jobs", 1, most), ("workers", 1, total)),
        moves=(_retype, _another_network, _level, *((_limit, _unable) if free else ())),
        simpler=(_fewer_types, _leveled, *((_unlimited,) if free else ())),
        repair=lambda data: _repair(data, free),
        reference="dp",
    )


def _draw(most: int, total: int, limited: bool, aimed: Data) -> Draw:
    def draw(generator: np.random.Generator) -> Data:
        jobs = int(generator.integers(1, most + 1))
        workers = total if generator.random() < 1 / 2 else int(generator.integers(jobs, total + 1))
        kinds = sorted(generator.integers(MOST_TYPES, size=workers).tolist())
        networks = generator.permutation([*BANDWIDTHS, generator.choice(BANDWIDTHS)]).tolist()
        drawn = lettered([_job(generator, networks, sorted(set(kinds))) for _ in range(jobs)])
        if limited:  # a smallest size might not fit
            _any_of(drawn, generator)["max_workers"] = int(generator.integers(1, len(kinds) + 1))
        return {
            "format": "dlsched/matching_placement/1",
            "name": "worst",
            "workers": [
                {"id": f"w{index}", "type": f"g{kind}", "bandwidth_bytes_per_s": networks[kind]}
                for index, kind in enumerate(kinds)
            ],
            "jobs": drawn,
        } | aimed

    return draw


def _job(generator: np.random.Generator, networks: list[float], kinds: list[int]) -> Data:
    """A job, two thirds of which exchange bytes: a ring of some on one of the networks takes about as long as one computes."""
    rates = {f"g{kind}": _two_digits(generator, *_RATES) for kind in kinds}
    ring_s = BATCH / max(rates.values()) * log_uniform(generator, *_EXCHANGED)
    sent = min(max(ring_s * networks[kinds[int(generator.integers(len(kinds)))]] / 2, _FEW_BYTES), _BYTES[1])
    return {
        "iterations": float(round(log_uniform(generator, *_ITERATIONS))),
        "batch_samples": BATCH,
        "gradient_bytes": 0.0 if generator.random() < 1 / 3 else float(f"{sent:.2g}"),
        "samples_per_s": rates,
    }


def _two_digits(generator: np.random.Generator, low: float, high: float) -> float:
    return float(f"{log_uniform(generator, low, high):.2g}")


def _draw_preset(preset: str, most: int, total: int, aimed: Data) -> Draw:
    def draw(generator: np.random.Generator) -> Data:
        drawn = generate(preset=preset, jobs=most, gpus=total, seed=int(generator.integers(2**31))).as_data()
        del drawn["source"]
        return drawn | {"name": "worst", "jobs": lettered(drawn["jobs"])} | aimed

    return draw


def _any_of(entries: list[Data], generator: np.random.Generator) -> Data:
    return entries[int(generator.integers(len(entries)))]


def _retype(data: Data, generator: np.random.Generator) -> Data | None:
    """Make a worker one of another type, which may be new: jobs run on that as fast as on the type that it was of."""
    changed = copy.deepcopy(data)
    networks = _networks(changed)
    worker = _any_of(changed["workers"], generator)
    kinds = sorted({*networks, *(f"g{kind}" for kind in range(MOST_TYPES))} - {worker["type"]})
    kind = kinds[int(generator.integers(len(kinds)))]
    for job in changed["jobs"] if kind not in networks else ():
        if worker["type"] in job["samples_per_s"]:
            job["samples_per_s"][kind] = job["samples_per_s"][worker["type"]]
    worker["bandwidth_bytes_per_s"] = networks.get(kind, worker["bandwidth_bytes_per_s"])
    worker["type"] = kind
    return changed


def _another_network(data: Data, generator: np.random.Generator) -> Data | None:
    """Give all workers of a type another bandwidth."""
    changed = copy.deepcopy(data)
    worker = _any_of(changed["workers"], generator)
    others = [bandwidth for bandwidth in BANDWIDTHS if bandwidth != worker["bandwidth_bytes_per_s"]]
    bandwidth = others[int(generator.integers(len(others)))]
    for each in changed["workers"]:
        if each["type"] == worker["type"]:
            each["bandwidth_bytes_per_s"] = bandwidth
    return changed


def _level(data: Data, generator: np.random.Generator) -> Data | None:
    """Make rates equal: see ``_leveled``."""
    found = _leveled(data)
    return found[int(generator.integers(len(found)))] if found else None


def _leveled(data: Data) -> list[Data]:
    """One job as fast on all types as on its first; one type as fast for all jobs as for the first; networks all alike."""
    found = []
    for number, job in enumerate(data["jobs"]):
        changed = copy.deepcopy(data)
        rate = next(iter(job["samples_per_s"].values()))
        changed["jobs"][number]["samples_per_s"] = dict.fromkeys(job["samples_per_s"], rate)
        found.append(changed)
    for kind, bandwidth in _networks(data).items():
        changed, alike = copy.deepcopy(data), copy.deepcopy(data)
        able = [job["samples_per_s"] for job in changed["jobs"] if kind in job["samples_per_s"]]
        for rates in able[1:]:
            rates[kind] = able[0][kind]
        for worker in alike["workers"]:
            worker["bandwidth_bytes_per_s"] = bandwidth
        found += [changed, alike]
    return [changed for changed in found if changed != data]


def _fewer_types(data: Data) -> list[Data]:
    """The workers of one type become some of another."""
    found, networks = [], _networks(data)
    for gone, kept in permutations(networks, 2):
        changed = copy.deepcopy(data)
        for worker in changed["workers"]:
            if worker["type"] == gone:
                worker |= {"type": kept, "bandwidth_bytes_per_s": networks[kept]}
        found.append(changed)
    return found


def _limit(data: Data, generator: np.random.Generator) -> Data | None:
    """Give a job another smallest or largest number of workers, or none."""
    changed = copy.deepcopy(data)
    job = _any_of(changed["jobs"], generator)
    end = "min_workers" if generator.random() < 1 / 2 else "max_workers"
    if end in job and generator.random() < 1 / 2:
        del job[end]
    else:
        job[end] = int(generator.integers(1, len(changed["workers"]) + 1))
    return changed


def _unlimited(data: Data) -> list[Data]:
    """A job without its smallest or largest number of workers."""
    found = []
    for number, job in enumerate(data["jobs"]):
        for end in (end for end in ("min_workers", "max_workers") if end in job):
            changed = copy.deepcopy(data)
            del changed["jobs"][number][end]
            found.append(changed)
    return found


def _unable(data: Data, generator: np.random.Generator) -> Data | None:
    """Take a type from a job, or give it one, as fast as another."""
    changed = copy.deepcopy(data)
    rates = _any_of(changed["jobs"], generator)["samples_per_s"]
    kinds = list(_networks(changed))
    kind = kinds[int(generator.integers(len(kinds)))]
    if kind not in rates:
        rates[kind] = next(iter(rates.values()))
    elif len(rates) > 1:
        del rates[kind]
    else:
        return None
    return changed


def _networks(data: Data) -> dict[str, float]:
    """Bandwidth of every type, that of its first worker."""
    return {worker["type"]: worker["bandwidth_bytes_per_s"] for worker in reversed(data["workers"])}


def _repair(data: Data, free: bool) -> Data | None:
    """One bandwidth a type, rates of the types that there are (``free``: of some), bytes and limits that count, ids by index."""
    repaired = copy.deepcopy(data)
    networks = _networks(repaired)
    for index, worker in enumerate(repaired["workers"]):
        worker |= {"id": f"w{index}", "bandwidth_bytes_per_s": networks[worker["type"]]}
    least = 0
    repaired["jobs"] = lettered(repaired["jobs"])
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
        least += job.get("min_workers", 1)
        if "max_workers" in job:
            job["max_workers"] = max(job["max_workers"], job.get("min_workers", 1))
    return repaired if least <= len(repaired["workers"]) else None

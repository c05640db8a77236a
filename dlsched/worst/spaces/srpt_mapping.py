"""Search space of worst instances of srpt_mapping: few jobs with short chains on few servers, in round figures.

A replica computes ``COMPUTE_S`` = 1 s an iteration, a server's GPUs exchange 1e11 B/s and its card sends 1e10 B/s, always.
So 1e10 bytes take .1 s inside a server, and g s to another from a server of g GPUs. The search varies the
servers, the chains and their replicas, the bytes, the numbers of iterations and the releases.

*What grows.* Ratios are of flow times. A single job that could have a server for every stage, but is spread,
is worse by a factor that grows with b_in / b_out and the GPUs of a server; with these figures and servers of
8 GPUs it is about 13. A queue that starts a long job makes J - 1 short ones wait that arrive just after it:
a factor that grows to J with the length of the long job. The two factors multiply. So no finite ratio is the
worst of all instances; compare ratios within one space. With ``slicing`` jobs take slices of GPUs and send
nothing, and the optimum lets none wait: what a rule loses there, it loses by where it places them.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from dlsched.cluster.slicing import GEOMETRIES
from dlsched.core.arguments import require_arguments
from dlsched.core.elementary import log_uniform
from dlsched.core.errors import UsageError
from dlsched.core.gap import MEETING
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import several
from dlsched.srpt_mapping import FAMILY, generate
from dlsched.srpt_mapping.generator import PRESETS as ALL_PRESETS
from dlsched.srpt_mapping.generator import SLICING
from dlsched.srpt_mapping.instance import RANGES, Instance
from dlsched.worst import spaces
from dlsched.worst.spaces import Data, Number, Space

PRESETS = {name: words for name, words in ALL_PRESETS.items() if name not in SLICING}
"""Jobs on slices are drawn only with a ``slicing``."""
JOBS, GPUS = 3, 8
JOBS_SLICED, GPUS_SLICED = 5, 2
SLICINGS = ("shares", *GEOMETRIES)
MOST_SERVERS, MOST_STAGES = 4, 4
LARGEST_SERVER = int(RANGES["servers[].gpus"].searched[1])
INTRA, _ = RANGES["intra_bandwidth_bytes_per_s"].searched
NIC, _ = RANGES["nic_bandwidth_bytes_per_s"].searched
COMPUTE_S, _ = RANGES["jobs[].stages[].compute_s"].searched
LOADS = (0.8, 2.0, 10.0)
"""Load of draws from presets: the higher it is, the more jobs compete."""
ITERATIONS, RELEASES_S, OUTPUTS, PARAMETERS = (
    RANGES[f"jobs[].{name}"].searched
    for name in ("iterations", "release_s", "stages[].output_bytes", "stages[].parameter_bytes")
)

_FEW_BYTES, _NO_BYTES = 1e8, 1e3  # fewest bytes drawn, apart from none; fewer than `_NO_BYTES` count as none
_TIMES = spaces.searched(RANGES, whole=["jobs[].iterations", "jobs[].release_s"])
_STAGE = ("jobs[].stages[].compute_s", "jobs[].stages[].output_bytes", "jobs[].stages[].parameter_bytes")
_SENT = spaces.searched(RANGES, *_STAGE[1:])
_OF_PRESETS = spaces.searched(RANGES, "jobs[].release_s", *_STAGE, whole=["jobs[].iterations"], of_presets=True)


def space_of(
    *,
    jobs: int | None = None,
    gpus: int | None = None,
    preset: str | None = None,
    prediction_error: float = 1.0,
    sends: bool = True,
    slicing: str | None = None,
) -> Space:
    """Return the space of at most ``jobs`` jobs (None: 3) and ``gpus`` GPUs of all servers together (None: 8).

    With a ``preset`` its bandwidths and ranges are searched. ``prediction_error``: predictions are between the true number
    divided by it and times it. ``sends``: whether jobs send bytes; if not, only their times matter, and one server holds all
    GPUs. ``slicing``: of ``SLICINGS``: jobs take slices, send nothing, and none has to wait; 5 on 2 GPUs by default.
    """
    usual = (JOBS, GPUS) if slicing is None else (JOBS_SLICED, GPUS_SLICED)
    most, total = usual[0] if jobs is None else jobs, usual[1] if gpus is None else gpus
    spaces.require_sizes(jobs=most, gpus=total)
    require_arguments(PRESETS, next(iter(PRESETS)) if preset is None else preset, 0)
    if not 1 <= prediction_error < math.inf:
        raise UsageError(where="prediction_error", found=prediction_error, allowed="a number >= 1")
    if preset is not None and not sends:
        raise UsageError(where="sends", found=f"False with preset {preset!r}", allowed="True, as its jobs send bytes")
    spaces.require_one_of("slicing", slicing, (None, *SLICINGS))
    if preset is not None and slicing is not None:
        raise UsageError(where="slicing", found=f"{slicing!r} with preset {preset!r}", allowed="one of the two")
    spread, sends = sends, sends and slicing is None
    largest = LARGEST_SERVER if spread else total
    servers = total if preset is not None else max(MOST_SERVERS, -(-total // largest)) if spread else 1
    numbers = [
        Number("jobs[].stages[].replicas", 1, total, whole=True),
        Number("servers[].gpus", 1, largest, whole=True),
    ]
    numbers += _OF_PRESETS if preset is not None else (*_TIMES, *(_SENT if sends else ()))
    if slicing is not None:
        numbers.append(Number("jobs[].gpu_share", *RANGES["jobs[].gpu_share"].allowed))
    if prediction_error > 1:
        fewest, most_told = RANGES["jobs[].predicted_iterations"].searched
        ends = fewest / prediction_error, most_told * prediction_error
        numbers.append(Number("jobs[].predicted_iterations", *ends))
    drawn = _Drawn(most, total, servers, largest, prediction_error, sends, slicing)
    arms = PRESETS if slicing is None else [name for name, own in SLICING.items() if own["slicing"] == slicing]

    def predicted(generator: np.random.Generator, data: Data) -> Data:
        return data | {"jobs": [_predicted(job, generator, prediction_error) for job in data["jobs"]]}

    return Space(
        family=FAMILY,
        draw=drawn if preset is None else spaces.drawn_as_generated(FAMILY, preset, most, total, predicted),
        numbers=numbers,
        admits=_all_at_once if slicing else lambda instance, optimum: True,
        members=(
            ("jobs", 1, most),
            *((("servers", 1, servers),) if spread else ()),
            *((("jobs[].stages", 1, MOST_STAGES),) if sends else ()),
        ),
        repair=lambda data: _repair(data, total, largest, prediction_error),
        presets={} if preset is not None else {name: partial(drawn.generated, preset=name) for name in arms},
        words=f"{spaces.sizes_said(most, total)}, "
        + (f"as {preset} has them" if preset is not None else _words(servers, sends))
        + (f", jobs on slices that could all run at once: {slicing}" if slicing else "")
        + (f", predictions wrong by up to {prediction_error:g} times" if prediction_error > 1 else ""),
        wider=[*(["--prediction-error"] if prediction_error == 1 else []), "--jobs", "--gpus"],
    )


def _words(servers: int, sends: bool) -> str:
    """Describe the round figures."""
    times = f"{COMPUTE_S:g} s an iteration, up to {ITERATIONS[1]:g} of them, released within {RELEASES_S[1]:g} s"
    where = f"in up to {several(servers, 'server')} of up to {LARGEST_SERVER}" if servers > 1 else "in one server"
    most = max(OUTPUTS[1], PARAMETERS[1])
    sent = f"stages send up to {most:.0e} bytes at {INTRA:.0e} B/s in a server, {NIC:.0e} B/s between them"
    return f"{where}, {times}, {sent}" if sends else f"{where}, {times}, nothing sent"


@dataclass(frozen=True)
class _Drawn:
    """Draws an instance in round figures, with at most so many jobs, GPUs and servers, and predictions so wrong.

    ``slicing``: of which slices jobs take; None: jobs take whole GPUs.
    """

    jobs: int
    gpus: int
    servers: int
    largest: int
    error: float
    sends: bool
    slicing: str | None

    def __call__(self, generator: np.random.Generator) -> Data:
        sizes = self._sizes(generator)
        jobs = range(int(generator.integers(1, self.jobs + 1)))
        return {
            "format": "dlsched/srpt_mapping/1",
            "name": "worst",
            "intra_bandwidth_bytes_per_s": INTRA,
            "nic_bandwidth_bytes_per_s": NIC,
            "servers": [{"id": f"s{index}", "gpus": size} | self._cut() for index, size in enumerate(sizes)],
            "jobs": spaces.lettered([self._job(generator, sizes) | self._slice(generator, index) for index in jobs]),
        }

    def _cut(self) -> Data:
        """How the GPUs of a server are cut."""
        return {} if self.slicing is None else {"slicing": self.slicing}

    def _slice(self, generator: np.random.Generator, index: int) -> Data:
        """Draw what a job takes of one GPU; all but the first take whole ones now and then."""
        if self.slicing is None or (index and generator.random() < 1 / 4):
            return {}
        part: Data = {"gpu_share": int(generator.integers(1, 20)) / 20}
        if self.slicing != "shares":
            part = {"profile": str(generator.choice(list(GEOMETRIES[self.slicing].profiles)))}
        return part | {"stages": [_silent(1)]}

    def _sizes(self, generator: np.random.Generator) -> list[int]:
        """GPUs of one to ``servers`` servers."""
        sizes: list[int] = []
        for _ in range(int(generator.integers(1, self.servers + 1))):
            # a third of the servers takes all GPUs that remain, so that few large servers are frequent
            remaining = min(self.gpus - sum(sizes), self.largest)
            if remaining:
                sizes.append(remaining if generator.random() < 1 / 3 else int(generator.integers(1, remaining + 1)))
        return sizes

    def _job(self, generator: np.random.Generator, sizes: list[int]) -> Data:
        drawn: Data = {
            "release_s": 0.0 if generator.random() < 1 / 2 else _whole(generator, 1, RELEASES_S[1]),
            "iterations": _whole(generator, *ITERATIONS),
            "stages": [
                {
                    "replicas": replicas,
                    "compute_s": COMPUTE_S,
                    "output_bytes": self._bytes(generator, OUTPUTS[1]),
                    "parameter_bytes": self._bytes(generator, PARAMETERS[1]),
                }
                for replicas in self._chain(generator, sizes)
            ],
        }
        drawn["stages"][-1]["output_bytes"] = 0.0
        return _predicted(drawn, generator, self.error)

    def _chain(self, generator: np.random.Generator, sizes: list[int]) -> list[int]:
        """Replicas of the stages: in a quarter of the draws as many as some servers have GPUs, else any."""
        if self.sends and generator.random() < 1 / 4:
            counts: list[int] = generator.permutation(sizes).tolist()
            return counts[: int(generator.integers(1, MOST_STAGES + 1))]
        gpus = int(generator.integers(1, sum(sizes) + 1))
        stages = int(generator.integers(1, min(MOST_STAGES, gpus) + 1)) if self.sends else 1
        # distinct cuts: every stage has a replica
        cuts = sorted((generator.permutation(gpus - 1)[: stages - 1] + 1).tolist())
        return [last - first for first, last in zip([0, *cuts], [*cuts, gpus], strict=True)]

    def _bytes(self, generator: np.random.Generator, most: float) -> float:
        """Draw bytes: none in half of the draws, the most in a quarter."""
        if not self.sends or generator.random() < 1 / 2:
            return 0.0
        return most if generator.random() < 1 / 2 else float(f"{log_uniform(generator, _FEW_BYTES, most):.2g}")

    def generated(self, generator: np.random.Generator, preset: str) -> Data | None:
        """Draw a preset in round figures: every stage computes 1 s, the longest job or release takes 1000 s."""
        jobs = int(generator.integers(1, self.jobs + 1))
        seed = int(generator.integers(2**31))
        instance = generate(
            preset=preset, jobs=jobs, gpus=self.gpus, seed=seed, load=float(generator.choice(LOADS))
        ).as_data()
        sizes = sorted(server["gpus"] for server in instance["servers"])
        # too many servers: the two smallest become one
        while len(sizes) > self.servers:
            sizes = sorted([sizes[0] + sizes[1], *sizes[2:]])
        # the slowest stage sets the pace of a chain
        iterations_s = [max(stage["compute_s"] for stage in job["stages"]) for job in instance["jobs"]]
        lengths_s = [job["iterations"] * each for job, each in zip(instance["jobs"], iterations_s, strict=True)]
        first_s = min(job["release_s"] for job in instance["jobs"])
        # the longest job or the last release is at the end of the range
        scale = RELEASES_S[1] / max(*lengths_s, *(job["release_s"] - first_s for job in instance["jobs"]))
        drawn = [
            {key: job[key] for key in ("gpu_share", "profile") if key in job}
            | {
                "release_s": spaces.within(_TIMES[1], (job["release_s"] - first_s) * scale),
                "iterations": spaces.within(_TIMES[0], length_s * scale),
                "stages": self._stages(job["stages"], NIC / instance["nic_bandwidth_bytes_per_s"] / each_s),
            }
            for job, length_s, each_s in zip(instance["jobs"], lengths_s, iterations_s, strict=True)
        ]
        head: Data = {"format": "dlsched/srpt_mapping/1", "name": "worst"}
        head |= {"intra_bandwidth_bytes_per_s": INTRA, "nic_bandwidth_bytes_per_s": NIC}
        head |= {"servers": [{"id": "", "gpus": size} | self._cut() for size in reversed(sizes)]}
        data = head | {"jobs": [_predicted(job, generator, self.error) for job in drawn]}
        return _repair(data, self.gpus, self.largest, self.error)

    def _stages(self, stages: list[Data], factor: float) -> list[Data]:
        """Return stages with bytes scaled by ``factor``; a single silent one if jobs send no bytes."""
        if not self.sends:
            replicas = sum(stage["replicas"] for stage in stages)
            return [_silent(replicas)]
        return [
            {
                "replicas": stage["replicas"],
                "compute_s": COMPUTE_S,
                "output_bytes": spaces.within(_SENT[0], spaces.rounded(stage["output_bytes"] * factor, 2)),
                "parameter_bytes": spaces.within(_SENT[1], spaces.rounded(stage["parameter_bytes"] * factor, 2)),
            }
            for stage in stages
        ]


def _all_at_once(instance: InstanceFile, optimum: float) -> bool:
    """Whether no job waits in the optimum."""
    assert isinstance(instance, Instance)
    return optimum <= math.fsum(job.release_s + job.iterations * COMPUTE_S for job in instance.jobs) * (1 + MEETING)


def _silent(replicas: int) -> Data:
    """A stage that sends nothing."""
    return {"replicas": replicas, "compute_s": COMPUTE_S, "output_bytes": 0.0, "parameter_bytes": 0.0}


def _is_slice(job: Data) -> bool:
    return "profile" in job or job.get("gpu_share", 1) < 1


def _whole(generator: np.random.Generator, low: float, high: float) -> float:
    return float(round(log_uniform(generator, low, high)))


def _predicted(job: Data, generator: np.random.Generator, error: float) -> Data:
    """Return the job, with a prediction if predictions may be wrong."""
    fields = {name: value for name, value in job.items() if name != "predicted_iterations"}
    if error > 1:
        fields["predicted_iterations"] = job["iterations"] * log_uniform(generator, 1 / error, error)
    return fields


def _repair(data: Data, total: int, largest: int, error: float) -> Data | None:
    """Make jobs fit on the servers, and number ids; None if GPUs, a server or a chain exceed their limits.

    None also where servers have slices, and no job takes one.
    """
    repaired = spaces.copied(data)
    sizes = [server["gpus"] for server in repaired["servers"]]
    if sum(sizes) > total or max(sizes) > largest:
        return None
    if any(len(job["stages"]) > sum(sizes) for job in repaired["jobs"]):
        return None
    if "slicing" in repaired["servers"][0] and not any(map(_is_slice, repaired["jobs"])):
        return None
    for job in repaired["jobs"]:
        if "gpu_share" in job:
            job["gpu_share"] = max(1, round(1000 * job["gpu_share"])) / 1000
        if _is_slice(job):
            job["stages"] = [_silent(1)]
        _repair_job(job, sum(sizes), error)
    repaired["jobs"] = spaces.lettered(repaired["jobs"])
    for index, server in enumerate(repaired["servers"]):
        server["id"] = f"s{index}"
    return repaired


def _repair_job(job: Data, gpus: int, error: float) -> None:
    """Limit replicas to the GPUs, end the chain, drop negligible bytes, and limit the error of the prediction."""
    stages = job["stages"]
    # replicas go where most are, and one stays in every stage
    while (excess := sum(stage["replicas"] for stage in stages) - gpus) > 0:
        most = max(stages, key=lambda stage: int(stage["replicas"]))
        most["replicas"] -= min(excess, most["replicas"] - 1)
    stages[-1]["output_bytes"] = 0.0
    for stage in stages:
        stage |= {name: 0.0 for name in ("output_bytes", "parameter_bytes") if stage[name] < _NO_BYTES}
    if error > 1:
        true = job["iterations"]
        job["predicted_iterations"] = min(max(job["predicted_iterations"], true / error), true * error)

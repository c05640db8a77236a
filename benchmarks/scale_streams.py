"""Policies on streams of 20,000 units, and the plan in hindsight with its bound: the piece ``streams`` of ``scale.py``."""

import contextlib
import resource
import time
from collections.abc import Mapping, Sequence

from growth import Point, shown, slope

from dlsched import elastic_stream
from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.limits import Limits
from dlsched.elastic_stream import Policy
from dlsched.elastic_stream.heuristics import SIZINGS
from dlsched.elastic_stream.policies import ORDERS, Doubling, Exploratory, Myopic, Priced, Weighted
from dlsched.elastic_stream.simulation import queue_stream

UNITS = 20_000
LIMIT_S = 600.0
PLAN_LIMIT_S = 900.0
OTHERS = {"doubling": Doubling, "weighted": Weighted, "priced": Priced, "myopic": Myopic, "exploratory": Exploratory}


def policy(name: str) -> Policy:
    """A fresh policy by its name."""
    if name in OTHERS:
        return OTHERS[name]()
    order, sizing = name.split("-")
    return SIZINGS[sizing](order)


def served_s(instance: elastic_stream.Instance, name: str) -> tuple[float, float]:
    """Seconds of one policy's run without keeping periods, up to the limit; the share of the stream that it came to."""
    begin, latest = time.process_time(), 0

    def tick() -> None:
        if time.process_time() - begin > LIMIT_S:
            raise TimeoutError

    def keep(job: int, start_s: float, end_s: float, units: int) -> None:
        nonlocal latest
        latest = job

    def keep_many(jobs: IntArray, *columns: IntArray | FloatArray) -> None:
        nonlocal latest
        latest = max(latest, int(jobs.max(initial=0)))

    try:
        elastic_stream.run(instance, policy(name), keep, keep_many=keep_many, tick=tick)
    except TimeoutError:
        return time.process_time() - begin, latest / len(instance.jobs)
    return time.process_time() - begin, 1.0


class Timed:
    """A policy whose seconds per event are noted; it ends the run at the seventh."""

    clairvoyant = False

    def __init__(self, policy: Policy) -> None:
        self.policy, self.seconds = policy, list[float]()
        self.timeless = getattr(policy, "timeless", False)

    def decide(self, view: elastic_stream.View) -> Mapping[int, int]:
        """Decide, and note how long it took."""
        begin = time.process_time()
        answer = self.policy.decide(view)
        self.seconds.append(time.process_time() - begin)
        if len(self.seconds) == 7:
            raise TimeoutError
        return answer


def events(present: int) -> None:
    """Least milliseconds an event of the policies that look at all jobs present, where so many came at once."""
    drawn = elastic_stream.generate(jobs=present, gpus=UNITS * present // 8000, seed=0)
    jobs = tuple(job.model_copy(update={"arrival_s": 0.0}) for job in drawn.jobs)
    for name in ("priced", "myopic"):
        timed = Timed(policy(name))
        with contextlib.suppress(TimeoutError):
            elastic_stream.run(drawn.model_copy(update={"jobs": jobs}), timed, lambda *_: None)
        print(f"{name} | {present:,} present | {min(timed.seconds[1:]) * 1e3:.1f} ms an event", flush=True)


def streams(sizes: Sequence[int], methods: Sequence[str]) -> None:
    """Policies on streams of 20,000 units at a load of .8, then the plan in hindsight with its bound."""
    queue_stream.COMPILED_FROM = 1
    if "events" in methods:
        for present in (2_000, 8_000):
            events(present)
    names = [f"{order}-{sizing}" for sizing in SIZINGS for order in ORDERS] + list(OTHERS)
    names = [name for name in names if not methods or name in methods]
    instances = {size: elastic_stream.generate(jobs=size, gpus=UNITS, seed=0) for size in sizes}
    print(" | ".join(["policy", *(f"{size:,}" for size in sizes), "slope"]))
    for name in names:
        served_s(elastic_stream.generate(jobs=100, gpus=8, seed=0), name)  # compiles
        points, cells = [], []
        for size in sizes:
            seconds, part = served_s(instances[size], name)
            points.append(Point(size, seconds, part == 1))
            cells.append(f"{seconds:.1f}" if part == 1 else f"{part:.0%} in {LIMIT_S:g}")
            if part < 1:
                break
        print(" | ".join([name, *cells, shown(slope(points, len(points)))]), flush=True)
    if methods and "plan" not in methods:
        return
    for size in sizes:
        begin = time.process_time()
        result = elastic_stream.solve(instances[size], method="plan", limits=Limits(time_s=PLAN_LIMIT_S))
        assert result.objective is not None and result.bound is not None
        peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        gap, seconds = result.objective / result.bound - 1, time.process_time() - begin
        found = f"{result.objective:,.1f} s, bound {result.bound:,.1f} s, gap {gap:.2%}"
        print(f"plan | {size:,} | {seconds:.0f} s | {found} | {peak_gb:.1f} GB | {result.status}", flush=True)

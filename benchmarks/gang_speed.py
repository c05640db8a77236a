"""How fast few contended gangs are proven, beside PyJobShop, and the whole Philly trace goes through every policy.

Optima: twelve jobs on sixteen GPUs, the first seeds of each preset whose best policy leaves a gap, so that jobs wait for one
another; 60 s each. ``exact`` runs as ``solve`` runs it, with one thread; before the clock starts CP-SAT has been loaded.
PyJobShop, where it is installed, gets the same problem as a project of jobs with modes, one for every layout, the servers as
renewable resources, the sum of flow times as its objective, and one thread of CP-SAT. Its times are whole multiples of 2^-24
of a known sum; building its model is part of its time, listing the layouts is not. One turn; proven optima have to agree.

Policies: the trace as gangs, 82,247 jobs on 376 GPUs. The unit is ``json.loads`` of the instance's file. Three turns.

The trace is not part of this repository: ``philly_jobs.csv`` of petuum/adaptdl, branch osdi21-artifact. Without it, by
``--trace``, the policies run on generated jobs.
"""

import importlib.util
import json
import math
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from against import percent, warm
from measure import Page, Timing, present

from dlsched import srpt_mapping
from dlsched.core.limits import Limits
from dlsched.srpt_mapping.heuristics import POLICIES
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.layouts import layouts, lengths_s
from dlsched.traces import import_philly_gangs

TRACE = Path(__file__).parents[2] / "shared" / "data" / "philly_jobs.csv"
PRESETS = ("mixed", "published", "communication-heavy")
EXACT_BAR_S, POLICY_BAR_S = 10.0, 5.0
PEER = "PyJobShop"


class Found(NamedTuple):
    """Sum of flow times, what is left of its gap, and whether it is proven optimal."""

    flow_s: float
    gap: float
    proven: bool


def contended(preset: str, jobs: int, gpus: int) -> Iterator[tuple[int, Instance]]:
    """Seeds and instances of a preset that no policy's answer settles."""
    for seed in range(1_000):
        instance = srpt_mapping.generate(preset=preset, jobs=jobs, gpus=gpus, seed=seed)
        best = min(srpt_mapping.objective(instance, policy(instance)) for policy in POLICIES.values())
        if best > srpt_mapping.combined(instance).value * (1 + 1e-6):
            yield seed, instance


def ours(instance: Instance, limit_s: float) -> Callable[[int], Found]:
    """Make the call of ``exact``."""

    def run(turn: int) -> Found:
        found = srpt_mapping.solve(instance, limits=Limits(time_s=limit_s))
        return Found(found.objective - found.constant, found.gap, found.status == "optimal")

    return run


def peer(instance: Instance, limit_s: float) -> Callable[[int], Found]:
    """Make the call of PyJobShop."""
    import pyjobshop

    known = srpt_mapping.least_work_first(instance, backfill=True, place="compact")
    first_s = min(job.release_s for job in instance.jobs)
    flow_s = srpt_mapping.objective(instance, known) - math.fsum(job.release_s for job in instance.jobs)
    unit_s, found = math.ldexp(flow_s, -24), layouts(instance)
    seconds = lengths_s(instance, found)

    def run(turn: int) -> Found:
        model = pyjobshop.Model()
        servers = [model.add_renewable(server.gpus) for server in instance.servers]
        for job, held, lengths in zip(instance.jobs, found, seconds, strict=True):
            task = model.add_task(job=model.add_job(release_date=round((job.release_s - first_s) / unit_s)))
            for layout, length_s in zip(held, lengths, strict=True):
                used = [(server, count) for server, count in zip(servers, layout.usage, strict=True) if count]
                model.add_mode(task, [each for each, _ in used], round(length_s / unit_s), [count for _, count in used])
        model.set_objective(weight_total_flow_time=1)
        result = model.solve(time_limit=limit_s, display=False, num_workers=1)
        gap = (result.objective - result.lower_bound) / result.objective
        return Found(result.objective * unit_s, gap, result.status.name == "OPTIMAL")

    return run


def agree(first: Found, second: Found) -> bool:
    """Whether two proven optima are the same, up to rounding; others say nothing of each other."""
    return not (first.proven and second.proven) or math.isclose(first.flow_s, second.flow_s, rel_tol=1e-5)


def cell(timing: Timing[Found], unit: Timing[Found] | None = None) -> str:
    """Seconds, or the gap that is left; and how many times as long as the unit."""
    found = timing.answers[-1]
    said = f"{timing.median:.2f} s" + ("" if found.proven else f", {percent(found.gap)} left")
    return said if unit is None else f"{said}, x {timing.over(unit).value:.2g}"


def add_exact(page: Page, jobs: int, gpus: int, seeds: int, limit_s: float) -> str:
    """Append the table of proofs, and return the answer."""
    there = importlib.util.find_spec("pyjobshop") is not None
    page.add(f"## {jobs} contended jobs on {gpus} GPUs", *([] if there else [f"{PEER} is not installed here."]))
    rows, times, others = [], [], []
    for preset in PRESETS:
        for seed, instance in islice(contended(preset, jobs, gpus), seeds):
            ways = {"exact": ours(instance, limit_s)} | ({PEER: peer(instance, limit_s)} if there else {})
            timings = page.measure(f"{preset}-{seed}", ways, 1, same=agree)
            times.append(timings["exact"])
            others += [timings[PEER]] if there else []
            beside = cell(timings[PEER], timings["exact"]) if there else "-"
            rows.append(f"{preset} | {seed} | {cell(timings['exact'])} | {beside}")
    page.table(f"preset | seed | exact | {PEER}", rows)
    median_s = statistics.median(timing.median for timing in times)
    said = (
        f"- `exact` on {jobs} contended jobs x {gpus} GPUs: {median_s:.2f} s in the median, "
        f"{sum(timing.answers[-1].proven for timing in times)} of {len(times)} proven in {limit_s:g} s"
    )
    if others:
        theirs_s = statistics.median(timing.median for timing in others)
        proofs = sum(timing.answers[-1].proven for timing in others)
        said += f"; {PEER} {theirs_s:.2f} s, {proofs} proven, {theirs_s / median_s:.2g} times as long"
    return f"{said}. The bar, {EXACT_BAR_S:g} s in the median: {'met' if median_s <= EXACT_BAR_S else 'missed'}."


def add_policies(page: Page, instance: Instance, turns: int) -> str:
    """Append the table of policies, and return the answer."""
    text = json.dumps(instance.as_data())
    page.add(f"## {len(instance.jobs):,} jobs on {instance.total_gpus:,} GPUs through every policy")
    ways: dict[str, Callable[[int], object]] = {"json.loads": lambda turn: json.loads(text)}
    for name, policy in POLICIES.items():
        ways[name] = partial(lambda policy, turn: policy(instance), policy)
    found = page.measure("policies", ways, turns, keep=lambda answer: None)
    unit = found.pop("json.loads")
    page.table(
        "policy | seconds | times json.loads",
        [f"`{name}` | {each.median:.2f} | {each.over(unit):.1f}" for name, each in found.items()],
    )
    slowest = max(found, key=lambda name: found[name].median)
    sum_s, most_s = math.fsum(each.median for each in found.values()), found[slowest].median
    return (
        f"- {len(instance.jobs):,} jobs through each of {len(found)} policies: {most_s:.2f} s at most (`{slowest}`), "
        f"{sum_s:.1f} s for all. The bar, {POLICY_BAR_S:g} s each: {'met' if most_s <= POLICY_BAR_S else 'missed'}."
    )


def fill(page: Page) -> None:
    """Measure everything; the answers first."""
    warm(srpt_mapping, [("exact", None), ("intervals", None)])
    trace = page.options.trace
    if page.quick or not trace.is_file():
        jobs = srpt_mapping.generate(preset="mixed", jobs=300 if page.quick else 20_000, gpus=64, seed=0)
    else:
        jobs = import_philly_gangs(str(trace))[0]
    sizes = (5, 8, 1, 10.0) if page.quick else (12, 16, 7, 60.0)
    answers = [add_exact(page, *sizes), add_policies(page, jobs, 1 if page.quick else 3)]
    page.text.insert(0, "\n".join(answers))


if __name__ == "__main__":
    present("How fast gangs are proven and scheduled", __doc__, fill, trace=TRACE)

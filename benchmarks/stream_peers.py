"""SimPy and ciw on the streams that they can say: the same jobs, the same mean flow time."""

import importlib.util
import math
import time
from array import array
from collections.abc import Callable, Generator, Iterable

from measure import Page
from stream_runs import simulated, summed_up, whole_jobs

from dlsched.algorithms.overtaking import Line
from dlsched.elastic_stream import Instance
from dlsched.elastic_stream.policies import Fixed, Queue

Ran = tuple[Instance, int, int, array]
"""The instance, arrivals and ends, periods (0: not counted), the last end of each job."""


def simpy_queue(instance: Instance, sizes: list[int], times_s: list[float]) -> Ran:
    """Shortest remaining time first in SimPy: a process for each job that runs, interrupted when it is stopped.

    Who starts and stops says ``algorithms.overtaking``, as in dlsched: SimPy keeps the clock, the processes, the interrupts.
    """
    import simpy

    env, line, jobs = simpy.Environment(), Line(instance.units), instance.jobs
    left_s, ends = times_s[:], array("d", bytes(8 * len(jobs)))
    running: dict[int, simpy.Process] = {}

    def serve(job: int) -> Generator[simpy.Event, None, None]:
        begin = env.now
        try:
            yield env.timeout(left_s[job])
        except simpy.Interrupt:
            left_s[job] -= env.now - begin
            return
        ends[job] = env.now
        decide([job], [])

    def decide(ended: Iterable[int], arrived: Iterable[int]) -> None:
        line.begin(env.now)
        line.fill(line.end(ended))
        for job in arrived:
            line.arrive((left_s[job], job, sizes[job]))
        for entry in line.stopped:
            line.wait(entry)
        for job in ended:
            running.pop(job, None)
        for job, units in line.changes.items():
            if units and job not in running:
                running[job] = env.process(serve(job))
            elif not units and job in running:
                running.pop(job).interrupt()

    def source() -> Generator[simpy.Event, None, None]:
        for job in sorted(range(len(jobs)), key=lambda job: jobs[job].arrival_s):
            yield env.timeout(jobs[job].arrival_s - env.now)
            decide([], [job])

    env.process(source())
    env.run()
    return instance, 2 * len(jobs), 0, ends


def simpy_fifo(instance: Instance, times_s: list[float]) -> Ran:
    """First come, first served, one unit each, in SimPy: a resource, and a process for each job."""
    import simpy

    env, ends = simpy.Environment(), array("d", bytes(8 * len(times_s)))
    units = simpy.Resource(env, instance.units)

    def serve(job: int) -> Generator[simpy.Event, None, None]:
        with units.request() as request:
            yield request
            yield env.timeout(times_s[job])
        ends[job] = env.now

    def source() -> Generator[simpy.Event, None, None]:
        for job, record in enumerate(instance.jobs):
            yield env.timeout(record.arrival_s - env.now)
            env.process(serve(job))

    env.process(source())
    env.run()
    return instance, 2 * len(times_s), 0, ends


def ciw_fifo(instance: Instance, times_s: list[float]) -> Ran:
    """First come, first served, one unit each, in ciw: a node with a server for each unit."""
    import ciw

    arrivals = [job.arrival_s for job in instance.jobs]
    gaps = [after - before for before, after in zip([0.0, *arrivals], arrivals, strict=False)]
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Sequential([*gaps, 1e15])],
        service_distributions=[ciw.dists.Sequential(times_s)],
        number_of_servers=[instance.units],
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(len(arrivals), method="Finish")
    ends = array("d", bytes(8 * len(arrivals)))
    for record in simulation.get_all_records():
        ends[record.id_number - 1] = record.exit_date
    return instance, 2 * len(arrivals), 0, ends


def add_peers(page: Page, instance: Instance) -> None:
    """The queue of the trace beside SimPy; first come, first served on one unit each beside SimPy and ciw."""
    sizes = [record.epoch_time_s.counts[-1] for record in instance.jobs]
    times_s = [job.work * job.speed.epoch_time_s(size) for job, size in zip(instance.jobs, sizes, strict=True)]
    single = sorted((job for job in instance.jobs if job.epoch_time_s.counts[0] == 1), key=lambda job: job.arrival_s)
    alone = Instance(name=instance.name, units=instance.units // 4, jobs=single)
    alone_s = [job.work * job.speed.epoch_time_s(1) for job in single]
    rows: list[str] = []
    absent = [name for name in ("simpy", "ciw") if importlib.util.find_spec(name) is None]

    def compare(case: str, ways: dict[str, Callable[[int], Ran]]) -> None:
        there = {name: way for name, way in ways.items() if name not in absent}
        how = {"clock": time.process_time, "keep": lambda ran: summed_up(ran).flow_s, "same": math.isclose}
        timings = page.measure(case, there, 3, **how)
        ours = next(iter(timings.values()))
        for name, timing in timings.items():
            rows.append(f"{case} | {name} | {timing.median:.2f} | {timing.over(ours):.1f}")

    compare(
        f"shortest remaining time, {len(sizes):,} jobs on {instance.units} units",
        {
            "dlsched": lambda _: simulated(instance, whole_jobs()),
            "simpy": lambda _: simpy_queue(instance, sizes, times_s),
        },
    )
    compare(
        f"first come, one unit each, {len(single):,} jobs on {alone.units} units",
        {
            "dlsched": lambda _: simulated(alone, Queue("fifo", Fixed(1))),
            "simpy": lambda _: simpy_fifo(alone, alone_s),
            "ciw": lambda _: ciw_fifo(alone, alone_s),
        },
    )
    page.add("### Against SimPy and ciw", "All without Numba; the same mean flow times.")
    page.table("stream | by | s | x dlsched", rows)
    if absent:
        page.add(f"Not installed, so left out: {', '.join(absent)}.")

"""One instance on the workers of Dask: the piece ``blocks`` of ``scale.py``."""

import os
import pickle
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence

import numpy as np

import dlsched
from dlsched import ring_allocation


def spent_s() -> float:
    """Seconds of the processor of this process, asked of a worker too."""
    return time.process_time()


def blocks(sizes: Sequence[int], methods: Sequence[str]) -> None:
    """The bound of ring_allocation in one process, then from blocks on 2 workers that run already; ``methods``: presets."""
    from distributed import Client, LocalCluster

    from dlsched.processes.dask_blocks import Blocks
    from dlsched.ring_allocation.blocks import RingBlock

    plain, asked = Blocks.ask, dict[str, tuple[float, int]]()

    def ask(self: "Blocks[RingBlock]", question: Callable[..., object], *arguments: object) -> list[object]:
        begin, name = time.perf_counter(), question.__name__
        answers = plain(self, question, *arguments)
        seconds, size = asked.get(name, (0.0, 0))
        asked[name] = seconds + time.perf_counter() - begin, size + len(pickle.dumps(answers, 5))
        return answers

    Blocks.ask = ask  # type: ignore[method-assign,assignment]
    print(
        "preset | jobs | MB sent | one process: clock, processor | 2 workers: clock, leader, each worker | ratio of clocks"
    )
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0) as cluster:
        address = cluster.scheduler_address
        with Client(address) as client:
            dlsched.bound(ring_allocation.generate(jobs=50_000, seed=0), engine="dask", scheduler=address)  # imports
            for preset in methods or ("mixed", "concave"):
                for size in sizes:
                    instance = ring_allocation.generate(preset=preset, jobs=size, seed=1)
                    none = np.empty(0, dtype=np.int64)
                    some = instance.model_copy(update={"jobs": instance.jobs[: 2**13]})
                    first = pickle.dumps(RingBlock(some, 0, size, none), 5)
                    sent_mb = len(first) / 1e6 * max(1.0, size / 2**13)
                    times: list[tuple[float, float, list[float]]] = []
                    certificates = []
                    for where in ({}, {"engine": "dask", "scheduler": address}):
                        for name in ("arrays", "minimum_gpus"):  # made anew, as of a file that was just read
                            instance.__dict__.pop(name, None)
                        asked.clear()
                        before = client.run(spent_s)
                        begin, own = time.perf_counter(), time.process_time()
                        certificates.append(dlsched.bound(instance, **where).certificate)
                        clock, own = time.perf_counter() - begin, time.process_time() - own
                        after = client.run(spent_s)
                        times.append((clock, own, [after[each] - before[each] for each in after]))
                    assert certificates[0] == certificates[1]
                    (alone_s, alone_cpu_s, _), (clock_s, own_s, workers_s) = times
                    each = ", ".join(f"{seconds:.1f}" for seconds in workers_s)
                    print(f"{preset} | {size:,} | {sent_mb:.1f} | {alone_s:.1f}, {alone_cpu_s:.1f} | ", end="")
                    print(
                        f"{clock_s:.1f}, {own_s:.1f}, ({each}) | {clock_s / alone_s:.2f}; load {os.getloadavg()[0]:.1f}"
                    )
                    print("; ".join(f"{name} {s:.2f} s, {size} B" for name, (s, size) in asked.items()), flush=True)
    print(
        "a file: jobs | dlsched bound: clock, processor | with two workers of its own: clock, processor | ratio of clocks"
    )
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/i.json"
            dlsched.write(ring_allocation.generate(preset="mixed", jobs=size, seed=0), path)
            alone, shared = (
                of_command("dlsched", "bound", path, *more) for more in ((), ("--engine", "dask", "--workers", "2"))
            )
        cells = [f"{clock_s:.1f}, {used_s:.1f}" for clock_s, used_s in (alone, shared)]
        print(" | ".join([f"{size:,}", *cells, f"{shared[0] / alone[0]:.2f}"]), flush=True)


def of_command(*command: str) -> tuple[float, float]:
    """Seconds by the clock, and of all processors, of a command."""
    begin, before = time.perf_counter(), os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    used_s = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - begin, used_s

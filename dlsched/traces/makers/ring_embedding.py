"""A queue as an instance of ring_embedding: jobs arrive in time slots, and form rings of servers."""

import math
from collections.abc import Sequence
from typing import Final

from dlsched.cluster.topologies import Topology, network_data, racks
from dlsched.core.arguments import require_arguments, require_positive
from dlsched.core.elementary import log1p
from dlsched.core.errors import InputError, UsageError
from dlsched.core.ticks import first_tick
from dlsched.ring_embedding.generator import PRESETS, generate
from dlsched.ring_embedding.instance import Instance
from dlsched.traces.cells import rounded
from dlsched.traces.gpu_counts import GPUS_OF_A_SERVER, MOST_GPUS, NIC_BANDWIDTH_BYTES_PER_S, equal_sizes, unused
from dlsched.traces.queue import Queue, QueuedJob, Window
from dlsched.traces.selection import WHOLE, Chosen, ImportedInstance, choose, finished, lasted_s

UTILITIES: Final = ("capped", "sqrt", "log")
SIZES: Final = ("trace", *(name for name in PRESETS if name.startswith("paper")))

RING_BYTES_PER_S: Final = 1.25e9  # 10 Gbit/s
UPLINK_BYTES_PER_S: Final = 5e10  # 400 Gbit/s
SERVERS_OF_A_RACK: Final = 8
MOST_SLOTS: Final = 1_000_000  # models have variables for each slot

_PAPER_PART: Final = 3 / 4  # share of the slots in which jobs of the presets arrive


def rings_of(
    queue: Queue,
    *,
    gpus: int | None = None,
    gpus_of_node: int = GPUS_OF_A_SERVER,
    window: Window = WHOLE,
    carried: bool = False,
    slot_s: float = 3600.0,
    utility: str = "capped",
    sizes: str = "trace",
    bandwidth_bytes_per_s: float = RING_BYTES_PER_S,
    server_bytes_per_s: float = NIC_BANDWIDTH_BYTES_PER_S,
    rack_bytes_per_s: float = UPLINK_BYTES_PER_S,
    servers_of_rack: int = SERVERS_OF_A_RACK,
    seed: int = 0,
) -> ImportedInstance:
    """Make an instance of ring_embedding.

    A job arrives in the first slot that begins at or after its arrival. A worker is one GPU; the job has no
    more of them at once than it held, and over all slots no more than its GPU time, rounded up to whole
    slots. The last slot ends when the last job would have ended if no job had waited.

    ``queue``, ``gpus``, ``gpus_of_node``, ``window``, ``carried``: as ``choose``. Servers are the nodes of the trace,
    unless other GPUs are given. ``slot_s``: seconds of a slot. ``utility``: utility of the GPU time that a job gets;
    all of it is worth its GPU hours: ``capped`` rises in proportion, ``sqrt`` and ``log`` rise fast at first.
    ``sizes``: ``trace``; or ``paper``, ``paper-sqrt``, ``paper-log``: only the arrivals are the trace's, and all else
    is drawn as in that preset, after the experiments of Yu et al. (GADGET, 2022). ``bandwidth_bytes_per_s``: bandwidth
    that a job reserves between servers of its ring. ``server_bytes_per_s``, ``rack_bytes_per_s``: bandwidth of the
    links from servers to their racks, and from racks to the core. ``servers_of_rack``: number of servers in a rack,
    filled in the order of the servers.
    """
    require_positive(
        slot_s=slot_s,
        bandwidth_bytes_per_s=bandwidth_bytes_per_s,
        server_bytes_per_s=server_bytes_per_s,
        rack_bytes_per_s=rack_bytes_per_s,
    )
    require_arguments(UTILITIES, "capped", seed, servers_of_rack=servers_of_rack)
    for name, value, allowed in (("utility", utility, UTILITIES), ("sizes", sizes, SIZES)):
        if value not in allowed:
            raise UsageError(where=name, found=repr(value), allowed=", ".join(allowed))
    chosen = choose(
        queue,
        gpus=gpus,
        gpus_of_node=gpus_of_node,
        window=window,
        carried=carried,
        answer="embedding",
        least=lambda job: 1,
    )
    if chosen.gpus > MOST_GPUS:
        raise InputError(
            where=queue.path, found=f"{chosen.gpus:,} GPUs", allowed=f"up to {MOST_GPUS:,} in ring_embedding"
        )
    # Slots count from 1; a job that comes within a slot waits for the next one.
    arrivals = [1 + first_tick(chosen.relative(job.submit_s), slot_s) for job in chosen.jobs]
    if max(arrivals) > MOST_SLOTS:
        raise InputError(
            where=queue.path,
            found=f"arrivals in {max(arrivals):,} slots",
            allowed=f"up to {MOST_SLOTS:,}; longer slots, or a window",
        )
    audit = [*chosen.audit, f"Slots have {slot_s:g} s; a job arrives in the first that begins when it has come."]
    if sizes != "trace":
        instance, draw_notes = _drawn(queue, chosen, arrivals, slot_s, sizes, seed)
        return finished(queue, chosen, instance, [*audit, *draw_notes])
    # Time is long enough for each job to end had it started at once.
    slots = max(
        arrival - 1 + math.ceil(lasted_s(job) / slot_s) for arrival, job in zip(arrivals, chosen.jobs, strict=True)
    )
    # Servers are leaves of a tree: racks above them, and a core above the racks.
    names, capacities, servers = _servers(queue, chosen.gpus, gpus_of_node)
    topology = _racks(names, server_bytes_per_s, rack_bytes_per_s, servers_of_rack)
    jobs = [
        {
            "id": job.id,
            "arrival_slot": arrival,
            "bandwidth_bytes_per_s": bandwidth_bytes_per_s,
            "rate": 1.0,
            **_job(job, slot_s, utility),
        }
        for arrival, job in zip(arrivals, chosen.jobs, strict=True)
    ]
    instance = Instance(
        name=f"{queue.source}-{len(jobs)}x{chosen.gpus}",
        slots=slots,
        slot_s=slot_s,
        jobs=jobs,
        **network_data(topology, [{"gpu": count} for count in capacities]),
    )
    audit += [
        f"Time ends after {slots:,} slots, when the last job would have ended had none waited.",
        "A job may have any number of workers up to the GPUs that it held, one a GPU, stopped and moved between slots at no "
        "cost; its budget is its GPU time, rounded up to whole slots.",
        f"The utility of all its GPU time is its GPU hours, of less {_WORDS[utility]}: an assumption of ours.",
        f"{servers} in racks of {servers_of_rack}, with links of {server_bytes_per_s:g} B/s to the rack and {rack_bytes_per_s:g} "
        f"B/s from there to the core; a ring reserves {bandwidth_bytes_per_s:g} B/s: choices of ours.",
    ]
    return finished(queue, chosen, instance, audit)


_WORDS = {"capped": "in proportion", "sqrt": "as its square root", "log": "as its logarithm"}


def _job(job: QueuedJob, slot_s: float, utility: str) -> dict[str, object]:
    """Return the demand, limits and utility of a job."""
    wanted = lasted_s(job) * job.gpus / slot_s  # worker-slots
    hours = job.gpus * lasted_s(job) / 3600
    worth: dict[str, object] = {"kind": utility}
    if utility == "capped":
        worth |= {"slope": rounded(hours / wanted), "cap": rounded(hours)}
    else:
        worth["scale"] = rounded(hours / (math.sqrt(wanted) if utility == "sqrt" else log1p(wanted)))
    return {
        "max_workers": job.gpus,
        "demand": {"gpu": 1},
        "budget": {"gpu": math.ceil(wanted)},
        "utility": worth,
    }


def _servers(queue: Queue, gpus: int, gpus_of_node: int) -> tuple[list[str], list[int], str]:
    """Return the names and GPUs of the servers, and a description of them."""
    listed = [node for node in queue.nodes if node.gpus]
    if gpus == sum(node.gpus for node in listed):
        return [node.id for node in listed], [node.gpus for node in listed], "Servers are the nodes of the trace,"
    sizes = equal_sizes(gpus, gpus_of_node)
    return [f"s{index}" for index in range(len(sizes))], sizes, f"Servers have {gpus_of_node} GPUs,"


def _racks(names: Sequence[str], server_bytes_per_s: float, rack_bytes_per_s: float, servers_of_rack: int) -> Topology:
    """Return racks of servers with these names; no switch has the name of a server."""
    drawn = racks(equal_sizes(len(names), servers_of_rack), server_bytes_per_s, rack_bytes_per_s)
    named = dict(zip(drawn.servers, names, strict=True))
    for switch in drawn.nodes[len(names) :]:
        named[switch] = unused(switch, named.values())
    links = tuple((named[first], named[second], each) for first, second, each in drawn.links)
    return Topology(tuple(named[node] for node in drawn.nodes), tuple(names), links)


def _drawn(
    queue: Queue, chosen: Chosen, arrivals: Sequence[int], slot_s: float, preset: str, seed: int
) -> tuple[Instance, list[str]]:
    """Return jobs and servers of a preset, the jobs with the trace's arrivals, and sentences of the audit."""
    slots = math.ceil(max(arrivals) / _PAPER_PART)
    drawn = generate(preset=preset, jobs=len(arrivals), gpus=chosen.gpus, slots=slots, seed=seed)
    jobs = [
        job.model_copy(update={"id": record.id, "arrival_slot": arrival})
        for job, record, arrival in zip(drawn.jobs, chosen.jobs, arrivals, strict=True)
    ]
    name = f"{queue.source}-{preset}-{len(jobs)}x{chosen.gpus}-seed{seed}"
    return drawn.model_copy(update={"name": name, "jobs": jobs, "slot_s": slot_s}), [
        "Only when jobs arrive is the trace's, as in the experiments of Yu et al. (2022): their sizes, budgets and utilities, "
        f"the servers and the network are drawn by `{drawn.source}`.",
        f"Time ends after {slots:,} slots, {_PAPER_PART:g} of which hold the arrivals, as in that preset.",
    ]

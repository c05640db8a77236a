"""Every source of queues: its words, its reader, and the options that the reader takes besides states and ended_only."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dlsched.traces.queues.columns import read_csv
from dlsched.traces.queues.kueue import read_kueue
from dlsched.traces.queues.openb import read_openb
from dlsched.traces.queues.pai import read_pai
from dlsched.traces.queues.philly_raw import read_philly_raw
from dlsched.traces.queues.public import read_acme, read_helios, read_philly
from dlsched.traces.queues.queue import Queue
from dlsched.traces.queues.slurm import read_slurm
from dlsched.traces.queues.volcano import read_volcano


@dataclass(frozen=True, slots=True)
class Reader:
    """What a source is, what reads it, and the options of its own."""

    words: str
    read: Callable[..., Queue]
    options: tuple[str, ...] = ()


READERS: Mapping[str, Reader] = {
    "slurm": Reader("sacct -aXP with a header: jobs of Slurm", read_slurm, ("delimiter",)),
    "kueue": Reader("kubectl get workloads -A -o json: workloads of Kueue", read_kueue, ("gpu_resource",)),
    "volcano": Reader("kubectl get vcjob -A -o json: jobs of Volcano", read_volcano, ("gpu_resource",)),
    "openb": Reader("openb_pod_list_*.csv of Alibaba's gpu-v2023", read_openb, ("nodes",)),
    "pai": Reader("pai_task_table.csv of Alibaba's gpu-v2020", read_pai, ("jobs", "nodes")),
    "acme": Reader("trace_seren.csv or trace_kalos.csv of AcmeTrace", read_acme),
    "helios": Reader("cluster_log.csv of HeliosData", read_helios),
    "philly": Reader("philly_jobs.csv of AdaptDL", read_philly),
    "philly-raw": Reader("cluster_job_log of Microsoft's Philly", read_philly_raw, ("nodes",)),
    "csv": Reader("any table of jobs, by a mapping of its columns", read_csv, ("columns", "delimiter")),
}

"""Reader of Kueue's workloads and quotas: a ClusterQueue, or all of a cohort, whose queues borrow, is a pool of GPUs."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from dlsched.core.errors import InputError
from dlsched.core.files import Json
from dlsched.traces.cells import Damaged
from dlsched.traces.queue import Queue, QueuedJob
from dlsched.traces.readers.kubernetes import GPU, WORKLOADS, amount_of, at, list_at, read_listed, text_at


def read_kueue(
    path: Path, *, states: Collection[str] | None = None, ended_only: bool = True, gpu_resource: str = GPU
) -> Queue:
    """Read the workloads of a cluster.

    A workload comes when it was created, starts when it was last admitted, and ends when it is finished. Its user is the
    namespace, its group the local queue. Its state is the reason of the condition Finished, else Admitted, QuotaReserved,
    Evicted or Pending. ``minCount`` gives the fewest GPUs. ``gpu_resource``: name of the resource that is a GPU, or
    a pattern such as ``*/gpu``. MIG profiles of its vendor are read beside it.
    """
    objects: list[Json] = []
    queue = read_listed(WORKLOADS, path, states, ended_only, gpu_resource, objects)
    try:
        return with_quotas(queue, objects, gpu_resource)
    except Damaged as damage:
        raise InputError(f"{path}: found {damage.found!r} in a queue ({damage.reason})") from None


def with_quotas(queue: Queue, objects: Sequence[Json], resource: str) -> Queue:
    """Take partitions of jobs to be pools of ClusterQueues, if the file lists these; Damaged: an object cannot be read.

    Where queues of a pool have quotas of several flavors, and every job that was admitted says which one it got, each is a pool.
    """
    quotas: dict[str, Counter[str]] = {}
    members: dict[str, list[str]] = defaultdict(list)
    # cohorts may have a common parent, under which all borrow
    tree = any(at(each, "kind") == "Cohort" for each in objects)
    for each in objects:
        if at(each, "kind") == "ClusterQueue":
            name = text_at(each, "metadata", "name")
            cohort = text_at(each, "spec", "cohortName") or text_at(each, "spec", "cohort")
            quotas[name] = _quotas(each, resource)
            members[("cohorts" if tree else f"cohort {cohort}") if cohort else f"queue {name}"].append(name)
    if not quotas:
        return queue
    pool_of = {name: "+".join(sorted(own)) for own in members.values() for name in own}
    of_pool = {
        pool: sum((quotas[name] for name in quotas if pool_of[name] == pool), Counter()) for pool in pool_of.values()
    }
    names = {
        (text_at(each, "metadata", "namespace"), text_at(each, "metadata", "name")): text_at(
            each, "spec", "clusterQueue"
        )
        for each in objects
        if at(each, "kind") == "LocalQueue"
    }

    def pool(job: QueuedJob) -> str:
        """Jobs whose admission names no ClusterQueue are in that of their LocalQueue; what no list has is no pool."""
        named = job.partition if job.partition != job.group else names.get((job.user, job.group), job.group)
        return pool_of.get(named, "")

    every = (*queue.jobs, *queue.others, *queue.slices)
    got = [(pool(job), job.gpu_type) for job in every if job.start_s is not None]
    apart = {name for name, own in of_pool.items() if len(own) > 1} - {
        name for name, kind in got if kind not in of_pool.get(name, ())
    }

    def placed(jobs: Iterable[QueuedJob]) -> Iterator[QueuedJob]:
        named = ((job, pool(job)) for job in jobs)
        return (job._replace(partition=f"{name}/{job.gpu_type}" if name in apart else name) for job, name in named)

    pools = {
        f"{name}/{flavor}" if name in apart else name: gpus if name in apart else sum(own.values())
        for name, own in of_pool.items()
        for flavor, gpus in own.items()
    }
    return replace(queue.with_jobs(placed), pools=pools)


def _quotas(item: Json, resource: str) -> Counter[str]:
    """GPUs of a ClusterQueue by flavor, of those that have some."""
    gpus = Counter[str]()
    for group in list_at(item, "spec", "resourceGroups"):
        for flavor in list_at(group, "flavors"):
            for each in list_at(flavor, "resources"):
                amount = amount_of({text_at(each, "name"): at(each, "nominalQuota")}, resource)
                gpus[text_at(flavor, "name")] += int(amount)
    return +gpus

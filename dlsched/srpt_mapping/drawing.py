"""Schedules as pictures: which GPUs each gang holds when."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dlsched.srpt_mapping.checker import completion_times
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.solution import Schedule


def draw(instance: Instance, answers: Sequence[tuple[str, Schedule]], path: Path, width_in: float) -> Path:
    """Draw labelled answers."""
    from dlsched.plots import Gang, GangRow, draw_gangs

    releases_s = {job.id: job.release_s for job in instance.jobs}
    rows = []
    for label, schedule in answers:
        ends_s = completion_times(instance, schedule)
        gangs = {}
        for job, start in schedule.jobs.items():
            gpus: Counter[int] = Counter()
            for share in start.placement:
                gpus[instance.server_index[share.server]] += share.replicas
            gangs[job] = Gang(start.start_s, ends_s[job], gpus)
        flows_s = [max(ends_s[job] - release_s, 0.0) for job, release_s in releases_s.items()]
        rows.append(GangRow(label, gangs, flows_s))
    servers = {server.id: server.gpus for server in instance.servers}
    return draw_gangs(rows, path, servers=servers, releases_s=releases_s, title=instance.name, width=width_in)

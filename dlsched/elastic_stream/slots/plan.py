"""Plans of units by slot for every job, and their streams. Slot t lasts from t D to (t + 1) D."""

from dlsched.core.ticks import HAIR, end_in_slots, left_after, slots_for
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.solution import Stream

Plan = list[dict[int, int]]
"""Units of every job by slot."""

_MOST_COUNTS = 200_000  # over all jobs


def refusal(instance: Instance) -> str | None:
    """The reason why exact methods refuse a feasible instance, or None."""
    if instance.tick_s is None:
        return "tick_s: found null, allowed: a number of seconds, since decisions at any time have no slots"
    total = 0
    for index, job in enumerate(instance.jobs):
        if job.work == 0:
            continue
        if job.restart_s >= instance.tick_s:
            return f"jobs[{index}].restart_s: found {job.restart_s}, allowed: less than tick_s, {instance.tick_s}"
        total += len(job.useful_counts(instance.units))
        if total > _MOST_COUNTS:
            return f"jobs[{index}]: found more than {_MOST_COUNTS} useful counts, allowed: fewer (limit max_gpus)"
    return None


def useful_times_s(instance: Instance) -> list[dict[int, float]]:
    """Seconds per epoch of every job on the counts that no smaller one matches; empty for a job without work."""
    return [job.useful_times_s(instance.units) if job.work else {} for job in instance.jobs]


def stream_of(instance: Instance, given: Plan) -> Stream:
    """The stream of a plan; work left by rounding is done later, alone, on the job's last count."""
    tick_s = instance.tick_s
    assert tick_s is not None
    free_from = max((slot for slots in given for slot in slots), default=0) + 2  # not touching a period
    periods = {}
    for job, units in zip(instance.jobs, given, strict=True):
        left = job.work
        made: list[tuple[float, float, int]] = []
        plan = sorted(units.items())
        while plan and left > 0:
            slot, count = plan.pop(0)
            # Neighbouring slots of one count are one period; it ends early if the work does.
            until = slot + 1
            while plan and plan[0] == (until, count):
                plan.pop(0)
                until += 1
            time_s = job.speed.epoch_time_s(count)
            pause_s = job.restart_s if made else 0.0
            needed_s = pause_s + left * time_s
            slots = slots_for(needed_s, HAIR * (pause_s + job.work * time_s), tick_s)
            if slots <= until - slot:
                left, end_s = 0.0, end_in_slots(slot, slots, needed_s, tick_s)
            else:
                lasts_s, end_s = (until - slot) * tick_s, until * tick_s
                left = left_after(left, lasts_s - pause_s, time_s) if lasts_s > pause_s else left
            made.append((slot * tick_s, end_s, count))
            if not plan and left > 0:
                plan = [(free_from, count)]
                free_from += 2  # not touching
        periods[job.id] = made
    return Stream(periods)

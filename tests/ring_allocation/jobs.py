"""Instances written out by hand."""

from dlsched.ring_allocation import Instance


def build(gpus, *jobs, **fields):
    """Jobs a, b, c ... of one epoch: times by count, a list of times on 1, 2, 3 ..., a law, or fields of the job's own."""
    drawn = []
    for index, given in enumerate(jobs):
        times = dict(enumerate(given, 1)) if isinstance(given, list) else given
        own = times if {"epoch_time_s", "speed_law"} & set(times) else {"epoch_time_s": times}
        speed = {"speed_law": given} if "theta" in times else own
        name = "abcdefgh"[index] if index < 8 else f"j{index}"
        drawn.append({"id": name, "epochs": 1.0} | fields | speed)
    return Instance(name="by-hand", gpus=gpus, jobs=drawn)

"""Policies that let communication-heavy jobs wait for a better placement."""

from dlsched.srpt_mapping import Instance, Schedule, Waiting, a_srpt, least_work_first

RULES = {"a-srpt": a_srpt, "least-work": least_work_first}


def patient(instance: Instance, rule: str, place: str, patience: float) -> Schedule | None:
    """Dispatch by ``rule`` and ``place``; ``patience``: the longest wait over the predicted length."""
    return RULES[rule](instance, waiting=Waiting(threshold=1.2, patience=patience, quality=1.2), place=place)

"""Fragments by their definitions, on plain numbers; no code is shared with dlsched."""

from fractions import Fraction


def fragment(free, gpus, thousandths):
    """What a job of so many GPUs, or of thousandths of one, cannot use: all, if it does not fit; else GPUs with too little."""
    short = [part for part in free if part < thousandths]
    return sum(short if len(free) - len(short) >= gpus else free)


def fragment_slots(slots, used, size, starts):
    """Free slots, of a set that is used, which no instance of such a size reaches from its starts."""
    reached = set()
    for start in starts:
        own = {*range(start, start + size)}
        reached |= own if not own & used else set()
    return len({*range(slots)} - used - reached)


def fragment_of(server, states, job):
    """What a job cannot use of a server, in GPUs; ``states``: by GPU the fraction, or the set of slots, that is taken."""
    shape = server.geometry
    free = [1 - (state if shape is None else Fraction(len(state), shape.slots)) for state in states]
    if job.pool not in (None, *server.pools) or not server.has_slice(job.slice):
        return sum(free)
    if job.profile is not None:
        size, starts = shape.profiles[job.profile]
        return sum(Fraction(fragment_slots(shape.slots, state, size, starts), shape.slots) for state in states)
    return fragment(free, job.gpus, Fraction(str(job.gpu_share)))

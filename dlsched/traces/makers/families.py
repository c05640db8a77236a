"""Instances of any family that can be made from a queue."""

import inspect
from collections.abc import Callable, Mapping

from dlsched.core.errors import UsageError
from dlsched.traces.makers.async_sgd import async_of
from dlsched.traces.makers.elastic_stream import stream_of
from dlsched.traces.makers.matching_placement import placement_of
from dlsched.traces.makers.ring_allocation import allocation_of
from dlsched.traces.makers.ring_embedding import rings_of
from dlsched.traces.makers.srpt_mapping import gangs_of
from dlsched.traces.queue.queue import Queue
from dlsched.traces.queue.selection import ImportedInstance

__all__ = ["DEFAULT", "MAKERS", "MOMENTARY", "ImportedInstance", "instance_from", "options_of"]

DEFAULT = "srpt_mapping"

MAKERS: Mapping[str, Callable[..., ImportedInstance]] = {
    "srpt_mapping": gangs_of,
    "elastic_stream": stream_of,
    "ring_embedding": rings_of,
    "ring_allocation": allocation_of,
    "matching_placement": placement_of,
    "async_sgd": async_of,
}
"""Functions that make an instance of a queue, by family; options are their keyword arguments, as in the
catalogue."""

MOMENTARY = frozenset(family for family, make in MAKERS.items() if "at" in inspect.signature(make).parameters)
"""Families whose instances show the queue at one moment, for which running and waiting jobs are read too."""


def options_of(family: str) -> tuple[str, ...]:
    """Names of the options that a family takes.

    Raises
    ------
    UsageError
        Queues cannot be made into instances of that family.
    """
    if family not in MAKERS:
        raise UsageError(where="family", found=repr(family), allowed=", ".join(MAKERS))
    return tuple(name for name in inspect.signature(MAKERS[family]).parameters if name != "queue")


def instance_from(queue: Queue, family: str = DEFAULT, **options: object) -> ImportedInstance:
    """Make an instance of a queue, and a solution that records what really happened.

    ``options`` are those of the family; None and False mean the default.

    Raises
    ------
    UsageError
        A family or option is unknown, or a value is out of range.
    InputError
        No job is left.
    """
    allowed = options_of(family)
    given = {name: value for name, value in options.items() if value is not None and value is not False}
    for name, value in given.items():
        if name not in allowed:
            raise UsageError(where=name, found=repr(value), allowed=f"no such option for family {family}")
    return MAKERS[family](queue, **given)

"""Queues that commands read beside ``dlsched import``."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dlsched.catalogue.importing import OPTIONS, READING
from dlsched.catalogue.option import Value
from dlsched.catalogue.sources import SOURCES
from dlsched.core.errors import UsageError

if TYPE_CHECKING:
    from dlsched.traces.queues.queue import Queue


def read_asked(source: str, file: str, own: Mapping[str, Value | None], *, ended_only: bool = True) -> "Queue":
    """Read a queue with those of a command's options that are of reading.

    Raises
    ------
    UsageError
        The source does not take an option that is given.
    UsageError, InputError
        As ``read_queue``.
    """
    from dlsched.traces import read_queue

    options = [OPTIONS[name] for name in READING]
    given = {option.python: own[option.python] for option in options if own[option.python] is not None}
    entry = SOURCES.get(source)
    for option in options:
        if (
            option.python in given
            and entry is not None
            and entry.reader is not None
            and option.python not in entry.reading
        ):
            value = given[option.python]
            raise UsageError(where=option.name, found=repr(value), allowed=f"no such option for source {source}")
    return read_queue(source, file, ended_only, **given)

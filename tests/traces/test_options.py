"""Options of the catalogue are those that readers and makers of queues take."""

import inspect

import pytest

from dlsched.catalogue.import_options import MAKING, OPTIONS
from dlsched.catalogue.sources import SOURCES
from dlsched.core.errors import UsageError
from dlsched.traces import read_queue
from dlsched.traces.instances import MAKERS


@pytest.mark.parametrize("family", MAKERS)
def test_the_catalogue_knows_what_makers_take(family) -> None:
    """For every family those that its maker has as arguments."""
    taken = set(inspect.signature(MAKERS[family]).parameters) - {"queue", "window"}
    assert {option.python for option in OPTIONS.values() if family in option.makes} == taken
    assert taken <= set(MAKING)


@pytest.mark.parametrize("source", [name for name, source in SOURCES.items() if source.reader is not None])
def test_the_catalogue_knows_what_readers_take(source) -> None:
    """States are of all; what becomes of slices is no matter of the reader."""
    entry = SOURCES[source]
    taken = set(inspect.signature(entry.reader.read).parameters) - {"path", "ended_only"}
    assert taken | {"slices"} == set(entry.reading)


def test_reading_asks_whether_a_source_takes_an_option() -> None:
    """An option of other readers is refused, before the file is looked for."""
    with pytest.raises(UsageError, match=r"^columns: found 'a=b', allowed: no such option for source slurm$"):
        read_queue("slurm", "nosuch", columns="a=b")
    with pytest.raises(UsageError, match=r"^gpu_type: found 'K80', allowed: no such option for source philly$"):
        read_queue("philly", "nosuch", gpu_type="K80")

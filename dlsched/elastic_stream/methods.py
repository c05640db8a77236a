"""Methods of elastic_stream by name, as the catalogue lists them, and how the less simple ones run."""

from dataclasses import replace

from dlsched.catalogue.elastic_stream import LISTED
from dlsched.certificates import PricesCertificate
from dlsched.core.family import Method, bound_in_ticks, heuristic, methods_of
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.elastic_stream import bounds
from dlsched.elastic_stream.heuristics import in_turn
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.solution import Stream


def _evenly(method: Method[Instance, Stream]) -> Method[Instance, Stream]:
    """Run a method on ``Instance.even``, as equal weights change no decision; restate what it proves."""

    def run(instance: Instance, search: Search[Stream]) -> TerminationStatus:
        even = instance.even
        if even is instance:
            return method.run(instance, search)
        try:
            return method.run(even, search)
        finally:  # whatever ends it
            if isinstance(search.certificate, PricesCertificate):
                search.restate(bounds.restated(instance, search.certificate))

    return replace(method, run=run)


METHODS = {
    name: _evenly(method)
    for name, method in methods_of(
        LISTED,
        heuristic=lambda name, function: heuristic(name, function, in_turn, early=True),
        bound=bound_in_ticks,
    ).items()
}

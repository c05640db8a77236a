"""The methods of elastic_stream by name, as ``solve`` and the command line run them."""

from collections.abc import Callable
from dataclasses import replace

from dlsched.catalogue.solvers import able
from dlsched.certificates import PricesCertificate
from dlsched.core.family import Method
from dlsched.core.methods import bound_by, heuristic
from dlsched.core.result import Certificate
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.elastic_stream import bounds
from dlsched.elastic_stream.exact import offer_quick, require_milp, run_bound, run_exact, run_milp, run_plan, run_prices
from dlsched.elastic_stream.heuristics import POLICIES, in_turn
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.solution import Stream


def _bound(name: str, function: Callable[..., Certificate]) -> Method[Instance, Stream]:
    return Method(name, "bound", bound_by(lambda instance, search: function(instance, tick=search.tick)))


def _evenly(method: Method[Instance, Stream]) -> Method[Instance, Stream]:
    """Run a method on ``Instance.even``: weights that are all alike change nothing, to the bit; what it proves is restated."""

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
    method.name: _evenly(method)
    for method in (
        Method("exact", "exact", run_exact, seeded=True, warm=offer_quick),
        Method("milp", "exact", run_milp, solvers=able("milp"), warm=offer_quick, require=require_milp),
        *(Method(name, "heuristic", heuristic(name, POLICIES[name], in_turn, early=True)) for name in POLICIES),
        Method("plan", "heuristic", run_plan, seeded=True, warm=offer_quick),
        Method("bound", "bound", run_bound),
        _bound("area", bounds.area),
        _bound("length", bounds.length),
        Method("prices", "bound", run_prices),
    )
}

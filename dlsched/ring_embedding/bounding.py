"""Bounds with rings as methods run them: column generation over slots, and the relaxation of one slot."""

from dlsched.core.certificate import DualsCertificate
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.checker import worth
from dlsched.ring_embedding.columns import Columns, slot_certificate, slot_gains
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.mapping_program import MappingProgram, Relaxation
from dlsched.ring_embedding.network import Network
from dlsched.ring_embedding.relaxation import Relaxed, relax
from dlsched.ring_embedding.worths import worth_tables
from dlsched.version import VERSION

COLUMNS = f"dlsched column generation {VERSION}"
CLOSE = 1e-9
"""Relative rounding of bounds in floats, added to them."""
BOUNDED = 20_000
"""Jobs times servers times different arrivals up to which ``bound`` without limits generates columns."""


def run_columns(instance: Instance, search: Search) -> TerminationStatus:
    """The bound of column generation over mappings, from the prices of the relaxation on."""
    relaxed = prove_horizon(instance, search)
    network = Network(instance)
    if instance.one_slot:
        found = MappingProgram(network).solve(slot_gains(network), {}, tick=search.tick)
        prove_slot(network, found, search)
    else:
        search_columns(instance, network, relaxed, search)
    return TerminationStatus.FEASIBLE


def run_bound(instance: Instance, search: Search) -> TerminationStatus:
    """``columns`` where it is not too long a search, else ``horizon``."""
    size = len(instance.jobs) * len(instance.servers) * len({job.arrival_slot for job in instance.jobs})
    if size <= BOUNDED or limited(search):
        return run_columns(instance, search)
    prove_horizon(instance, search)
    return TerminationStatus.FEASIBLE


def limited(search: Search) -> bool:
    """Whether time or nodes are limited."""
    return search.limits.time_s is not None or search.limits.nodes is not None


def prove_horizon(instance: Instance, search: Search) -> Relaxed:
    """The relaxation without rings, whose certificate is handed over."""
    relaxed = relax(instance, tick=search.tick)
    search.prove(relaxed.certificate.value, source="certificate", certificate=relaxed.certificate)
    return relaxed


def search_columns(instance: Instance, network: Network, relaxed: Relaxed, search: Search) -> Columns:
    """Run column generation over slots, and hand over what its prices prove, also when it is stopped."""
    columns = Columns(instance, network, worth_tables(instance.jobs, network.total), relaxed)
    try:
        columns.search(tick=search.tick, better=lambda: search.report("columns"))
    finally:
        if columns.relaxations:
            _certify(columns.certificate(), search)
            if instance.paths is not None:
                search.prove(columns.bound * (1 + CLOSE), source=COLUMNS)
    return columns


def prove_slot(
    network: Network, relaxation: Relaxation, search: Search, bound: float | None = None, solver: str | None = None
) -> None:
    """The certificate of a slot's relaxation, and what is stronger: a solver's ``bound`` on the gains of the slot.

    By listed paths the certificate knows no links, and the relaxation's own bound is stronger. In a forest it is left to the
    certificate: in floats, with the capacities of ``network``, it would say no more, and of an answer that uses the last
    thousandth of the checker's tolerance it might be wrong.
    """
    instance = network.instance
    _certify(slot_certificate(instance, relaxation), search)
    nothing = sum(worth(job, 0) for job in instance.jobs)
    if bound is not None and solver is not None and bound < relaxation.bound:
        search.prove((nothing + bound) * (1 + CLOSE), source=solver)
    elif instance.paths is not None:
        search.prove((nothing + relaxation.bound) * (1 + CLOSE), source=COLUMNS)


def _certify(certificate: DualsCertificate, search: Search) -> None:
    """Hand over a certificate that proves more than is known."""
    if search.bound is None or certificate.value < search.bound:
        search.prove(certificate.value, source="certificate", certificate=certificate)

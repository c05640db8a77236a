"""Bounds with rings as methods run them: column generation over slots, and the relaxation of one slot."""

from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding import relaxation
from dlsched.ring_embedding.columns import Columns, slot_certificate
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.mapping_program import MappingProgram, Relaxation
from dlsched.ring_embedding.network import Network
from dlsched.ring_embedding.relaxation import Relaxed
from dlsched.ring_embedding.slot_greedy import Gains, Progress
from dlsched.version import VERSION

COLUMNS = f"dlsched column generation {VERSION}"
CLOSE = 1e-9
"""Relative rounding of bounds in floats, added to them."""
BOUNDED = 20_000
"""Jobs times servers times different arrivals up to which ``bound`` without limits generates columns."""


def run_columns(instance: Instance, search: Search) -> TerminationStatus:
    """The bound of column generation over mappings, from the prices of the relaxation on."""
    relaxed = relaxation.relax(instance, tick=search.tick)
    search.prove(relaxed.certificate.value, source="certificate", certificate=relaxed.certificate)
    network = Network(instance)
    if all(job.arrival_slot == instance.slots for job in instance.jobs):
        found = MappingProgram(network).solve(slot_gains(network), {}, tick=search.tick)
        prove_slot(instance, network, found.bound, COLUMNS, search, found)
    else:
        search_columns(instance, network, relaxed, search)
    return TerminationStatus.FEASIBLE


def run_bound(instance: Instance, search: Search) -> TerminationStatus:
    """``columns`` where it is not too long a search, else ``horizon``."""
    size = len(instance.jobs) * len(instance.servers) * len({job.arrival_slot for job in instance.jobs})
    if size <= BOUNDED or limited(search):
        return run_columns(instance, search)
    relaxed = relaxation.relax(instance, tick=search.tick)
    search.prove(relaxed.certificate.value, source="certificate", certificate=relaxed.certificate)
    return TerminationStatus.FEASIBLE


def limited(search: Search) -> bool:
    """Whether time or nodes are limited."""
    return search.limits.time_s is not None or search.limits.nodes is not None


def search_columns(instance: Instance, network: Network, relaxed: Relaxed, search: Search) -> Columns:
    """Run column generation over slots, and hand over what its prices prove, also when it is stopped."""
    worths = Progress(network).worths
    columns = Columns(instance, network, worths, relaxed)

    def certify() -> None:
        certificate = columns.certificate()
        if search.bound is None or certificate.value < search.bound:
            search.prove(certificate.value, source="certificate", certificate=certificate)
        if instance.paths is not None:
            search.prove(columns.bound * (1 + CLOSE), source=COLUMNS)

    try:
        columns.search(tick=search.tick, better=lambda: search.report("columns"))
    finally:
        if columns.relaxations:
            certify()
    return columns


def prove_slot(
    instance: Instance, network: Network, bound: float, source: str, search: Search, relaxation: Relaxation
) -> None:
    """The certificate of a slot's relaxation, and a bound on its gains that is stronger."""
    certificate = slot_certificate(instance, relaxation)
    if search.bound is None or certificate.value < search.bound:
        search.prove(certificate.value, source="certificate", certificate=certificate)
    nothing = sum(float(worth.values[0]) for worth in Progress(network).worths)
    search.prove((nothing + bound) * (1 + CLOSE), source=source)


def slot_gains(network: Network) -> Gains:
    """Gains of a slot in which nothing was earned before."""
    worths = Progress(network).worths
    return {
        job: worth.values[: int(network.most[job]) + 1] - worth.values[0]
        for job, worth in enumerate(worths)
        if len(worth.values) > 1
    }

"""Upper bounds as methods run them: column generation over rings, and the relaxation of one slot."""

import numpy as np

from dlsched.certificates import DualsCertificate
from dlsched.core.elementary import float_power
from dlsched.core.limits import Stopped
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.checker import worth
from dlsched.ring_embedding.columns import Columns, slot_certificate, slot_gains
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.relaxation import Relaxed, aggregated, relax
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.rings.rows import epochs
from dlsched.ring_embedding.slot.mapping_program import MappingProgram, Relaxation
from dlsched.ring_embedding.slot.slot_program import Filled
from dlsched.ring_embedding.solution import Embedding
from dlsched.version import VERSION

COLUMNS = f"dlsched column generation {VERSION}"
CLOSE = 1e-9
"""Relative rounding error of bounds computed in floats, which is added to them."""
_SERVER_S, _NODE_S = 2e-6, 4e-7  # measured, for a job and a server, and for a job, a node and two workers
BOUNDED = 20_000
"""Largest number of jobs times servers times different arrivals for which ``bound`` without limits generates
columns."""


def run_columns(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
    """Bound by column generation over mappings, from the prices of the relaxation on."""
    relaxed = prove_horizon(instance, search)
    network = Network(instance, search.budget)
    if instance.one_slot:
        prove_slot(network, MappingProgram(network).solve(slot_gains(network), {}), search)
    else:
        search_columns(network, relaxed, search)
    return TerminationStatus.FEASIBLE


def run_bound(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
    """Bound by ``columns`` unless its search would take too long; by ``horizon`` otherwise."""
    size = len(instance.jobs) * len(instance.servers) * len({job.arrival_slot for job in instance.jobs})
    if size <= BOUNDED or search.budget.limited:
        return run_columns(instance, search)
    prove_horizon(instance, search)
    return TerminationStatus.FEASIBLE


def prove_horizon(instance: Instance, search: Search[Embedding]) -> Relaxed:
    """Certify the bound of all slots as one pool, then that of the relaxation without rings."""
    if search.bound is None:
        certify(aggregated(instance, search.budget), search)
    relaxed = relax(instance, search.budget)
    certify(relaxed.certificate, search)
    return relaxed


def search_columns(network: Network, relaxed: Relaxed, search: Search[Embedding]) -> Columns:
    """Run column generation over slots, and certify its last prices, even if stopped."""
    columns = Columns(network, relaxed)
    # The search must stop early enough to compute the certificate, which takes time itself.
    spare = _certificate_s(network)

    def enough() -> None:
        remaining_s = search.left.time_s
        if remaining_s is not None and remaining_s <= spare:
            raise Stopped(TerminationStatus.TIME_LIMIT)

    try:
        columns.search(better=lambda: search.report("columns"), enough=enough)
    finally:
        if columns.relaxations:
            try:
                certify(columns.certificate(), search)
            finally:
                if not network.forest:
                    search.prove(columns.best.bound * (1 + CLOSE), source=COLUMNS)
    return columns


def _certificate_s(network: Network) -> float:
    """Estimated seconds to compute the certificate of the prices of all epochs."""
    instance = network.instance
    rings = sum(job.arrival_slot <= span.first for job in instance.jobs for span in epochs(instance))
    each = len(instance.servers) * len(instance.resources) * _SERVER_S
    if network.forest:
        each += len(network.tree.above) * float_power(float(np.mean(network.most)), 2) * _NODE_S
    return rings * each


def prove_slot(
    network: Network, relaxation: Relaxation, search: Search[Embedding], found: Filled | None = None
) -> None:
    """Certify a slot's relaxation; record the bound of ``found`` too if it is stronger."""
    instance = network.instance
    certify(slot_certificate(network, relaxation), search)
    nothing = sum(worth(job, 0) for job in instance.jobs)
    # With listed paths the certificate ignores links, so the relaxation's own bound is stronger. In a forest it
    # proves no more, and in floats may be too low for an answer that uses the last of the checker's tolerance.
    if found is not None and found.solver is not None and found.bound < relaxation.bound:
        search.prove((nothing + found.bound) * (1 + CLOSE), source=found.solver)
    elif instance.paths is not None:
        search.prove((nothing + relaxation.bound) * (1 + CLOSE), source=COLUMNS)


def certify(certificate: DualsCertificate, search: Search[Embedding]) -> None:
    """Hand over a certificate if it proves more than the best one so far."""
    if search.bound is None or certificate.value < search.bound:
        search.prove(certificate.value, source="certificate", certificate=certificate)

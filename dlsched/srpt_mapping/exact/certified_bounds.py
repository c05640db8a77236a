"""Handing over of certificates' bounds to a search."""

from dlsched.core.result import Certificate
from dlsched.core.search import Search
from dlsched.srpt_mapping.bounds import prices
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.solution import Schedule


def prove(search: Search[Schedule], certificate: Certificate) -> None:
    """Record the bound of a certificate if it is tighter than the one before."""
    if search.bound is None or certificate.value > search.bound:
        search.prove(certificate.value, source="certificate", certificate=certificate)


def prove_prices(instance: Instance, search: Search[Schedule]) -> None:
    """Record the bound of the best prices found, even if a limit stops the search for them."""
    prove(search, prices(instance, tick=search.tick, better=lambda certificate: prove(search, certificate)))

"""The families by name, and what there is of each: asked without importing it, where a module of the catalogue says it.

A family is a name in ``FAMILIES`` and a package of that name with a record, ``FAMILY``. Importing it takes longer than a shell
may wait; so dlsched's own have a module here, which their records are made of. Of another its record is asked.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING

from dlsched.catalogue.declaration import ListedFamily, Option, load

if TYPE_CHECKING:
    from dlsched.core.family import AnyFamily

FAMILIES = (
    "ring_allocation",
    "elastic_stream",
    "matching_placement",
    "srpt_mapping",
    "ring_embedding",
    "async_sgd",
)


def methods(family: str) -> tuple[str, ...]:
    """Methods of a family and further names of some."""
    listed = _listed(family)
    if listed is not None:
        return (*(method.name for method in listed.methods), *listed.aliases)
    record = record_of(family)
    return (*record.methods, *record.aliases)


def presets(family: str) -> tuple[str, ...]:
    """Kinds of random instances of a family."""
    return tuple((_listed(family) or record_of(family)).presets)


def formulations(family: str) -> tuple[str, ...]:
    """Linear models of a family."""
    return tuple((_listed(family) or record_of(family)).formulations)


def options(family: str) -> Mapping[str, Option]:
    """Options of a family's own for ``dlsched generate``."""
    return (_listed(family) or record_of(family)).options


def space(family: str) -> Mapping[str, Option] | None:
    """Options of the space of a family's worst instances; None: it has none."""
    listed = _listed(family)
    return None if listed is None else listed.space


def record_of(family: str) -> "AnyFamily":
    """Import a family and return its record."""
    record: AnyFamily = load(f"dlsched.{family}:FAMILY")
    return record


def _listed(family: str) -> ListedFamily | None:
    home = f"dlsched.catalogue.{family}"
    if find_spec(home) is None:
        return None
    listed: ListedFamily = load(f"{home}:LISTED")
    return listed

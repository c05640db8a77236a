"""``methods`` and ``presets``: what families offer by name, as sequences of records that print as a table."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar, TypeVar

from dlsched.catalogue.families import Kind
from dlsched.catalogue.solvers import SOLVERS
from dlsched.core.display import Table
from dlsched.core.family import AnyFamily
from dlsched.families import find_family, usable


@dataclass(frozen=True, slots=True)
class MethodEntry:
    """A method of a family; it needs one of the solvers named, and ``available`` says whether one is installed."""

    COLUMNS: ClassVar = ("family", "method", "kind", "here", "needs", "guarantee")
    family: str
    name: str
    kind: Kind
    available: bool
    needs: str | None
    guarantee: str

    def cells(self) -> tuple[str, ...]:
        """Texts in the columns."""
        here = "yes" if self.available else "no"
        return self.family, self.name, self.kind, here, self.needs or "-", self.guarantee


@dataclass(frozen=True, slots=True)
class PresetEntry:
    """A kind of random instances of a family."""

    COLUMNS: ClassVar = ("family", "preset", "what it draws")
    family: str
    name: str
    what: str

    def cells(self) -> tuple[str, ...]:
        """Texts in the columns."""
        return self.family, self.name, self.what


EntryT = TypeVar("EntryT", MethodEntry, PresetEntry)


class Listing(tuple[EntryT, ...]):
    """Records, one or more of one kind; prints as a table."""

    __slots__ = ()

    @property
    def table(self) -> Table:
        """The table that is printed."""
        return Table(self[0].COLUMNS, [entry.cells() for entry in self], grouped=False)

    def __repr__(self) -> str:
        return self.table.text()

    def _repr_html_(self) -> str:
        return self.table.html()


def methods(family: str | ModuleType | None = None) -> Listing[MethodEntry]:
    """List the exact methods, heuristics and bounds of a family; None: of all.

    Raises
    ------
    UsageError
        There is no such family.

    >>> [method.name for method in methods("ring_allocation") if method.kind == "exact"]
    ['exact', 'dp', 'milp', 'minlp']
    """

    def of(record: AnyFamily) -> Iterator[MethodEntry]:
        for method in record.methods.values():
            here = not method.solvers or any(SOLVERS[name].available for name in method.solvers)
            needs = " or ".join(method.solvers) or None
            yield MethodEntry(record.name, method.name, method.kind, here, needs, method.promise)

    return _listing(family, of)


def presets(family: str | ModuleType | None = None) -> Listing[PresetEntry]:
    """List the kinds of random instances of a family that ``generate`` draws, the default first; None: of all.

    Raises
    ------
    UsageError
        There is no such family.

    >>> print(presets("async_sgd")[0].name)
    published
    """
    return _listing(family, lambda record: (PresetEntry(record.name, *each) for each in record.presets.items()))


def _listing(family: str | ModuleType | None, of: Callable[[AnyFamily], Iterator[EntryT]]) -> Listing[EntryT]:
    records, refused = usable() if family is None else ([find_family(family)], [])
    for words in refused:
        warnings.warn(words, RuntimeWarning, stacklevel=3)
    return Listing(entry for record in records for entry in of(record))

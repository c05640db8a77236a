"""An immutable mapping, for decisions: nobody can change a result's data after it was checked."""

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class FrozenMapping(Mapping[K, V]):
    """A mapping that keeps the order it was given, cannot be changed, and can be hashed and pickled.

    >>> FrozenMapping({"a": 4})["a"]
    4
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[K, V]) -> None:
        self._items = dict(items)

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def items(self) -> ItemsView[K, V]:
        """Keys and values, at the speed of a dictionary."""
        return self._items.items()

    def values(self) -> ValuesView[V]:
        """Values, at the speed of a dictionary."""
        return self._items.values()

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)

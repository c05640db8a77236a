"""Search spaces of worst instances: how a family's instances are drawn, changed and made simpler.

Searches handle instances as the data of their files (``InstanceFile.as_data``), which moves copy and change.
They drop data that are no longer a valid instance.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from dlsched.core.family import AnyFamily, AnyMethod
from dlsched.core.ranges import Ranges

Data: TypeAlias = dict[str, Any]
"""An instance as its file holds it."""
Draw: TypeAlias = Callable[[np.random.Generator], Data]
DrawGenerated: TypeAlias = Callable[[np.random.Generator], Data | None]
"""As ``Draw``, from a preset; None if the drawn instance has no counterpart in the space."""
Move: TypeAlias = Callable[[Data, np.random.Generator], Data | None]
"""Returns a changed copy of an instance, which stays as it is; None if there is nothing to change."""
Simplify: TypeAlias = Callable[[Data], Sequence[Data]]
"""Returns simpler versions of an instance, the boldest simplification first."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number of the instance that a search may change.

    Parameters
    ----------
    path
        Path of the number: fields joined with dots, ``[]`` for all entries of a list, ``{}`` for all values
        of a mapping, as in ``jobs[].epoch_time_s{}``. Entries without the field are skipped.
    low, high
        Range that is searched, both > 0; or ``low`` is 0, which is then a special value.
    whole
        Whether it is a whole number.
    """

    path: str
    low: float
    high: float
    whole: bool = False

    @classmethod
    def searched(cls, ranges: Ranges, path: str, *, whole: bool = False) -> "Number":
        """Make the number of a path, in the range that its family searches if no preset is given."""
        return cls(path, *ranges[path].searched, whole=whole)

    @classmethod
    def of_presets(cls, ranges: Ranges, path: str, *, whole: bool = False) -> "Number":
        """Make the number of a path, in the range that is searched among the instances of a preset."""
        return cls(path, *ranges[path].of_presets, whole=whole)


@dataclass(frozen=True, kw_only=True)
class Space:
    """Instances of a family among which a search goes.

    Parameters
    ----------
    family
        The family of the instances.
    draw
        Draws an instance, for random sampling and for the start of a search.
    presets
        Draws of instances in the space by preset of the generator; searches start from these too.
    words, wider
        Descriptions for people: which instances the space holds, and which options of the command widen it.
    numbers
        Numbers that the moves of all families scale, set to an end of the range, or make equal to another of
        the same path.
    members
        Lists whose entries moves add and remove: path (``jobs``) and the fewest and most entries. New
        entries are changed copies, or come from a new draw.
    moves
        The family's own moves, in addition to those of all families.
    simpler
        The family's own ways to shrink, in addition to those of all families (fewer entries, fewer digits,
        equal numbers).
    repair
        Brings changed data back into the space (a class of tables, ids that are unique, indices in range), or returns None.
        It never changes data that are in the space already.
    reference, solver
        The method that judges by default, as a name or an object, and its solver; it must be quick, and
        prove its optimum on instances of this size.
    """

    family: AnyFamily
    draw: Draw
    numbers: Sequence[Number]
    presets: Mapping[str, DrawGenerated] = field(default_factory=dict)
    words: str = "a space of one's own"
    wider: Sequence[str] = ()
    members: Sequence[tuple[str, int, int]] = ()
    moves: Sequence[Move] = ()
    simpler: Sequence[Simplify] = ()
    repair: Callable[[Data], Data | None] = lambda data: data
    reference: str | AnyMethod = "exact"
    solver: str | None = None


SpaceOf: TypeAlias = Callable[..., Space]
"""Makes the space of a family from ``jobs`` and ``gpus`` (None: its own sizes), ``preset`` (None: the space's own draw) and
the family's own options by name; raises ``UsageError`` for values out of range."""

"""Where a search for worst instances goes: how a family's instances are drawn, changed and made simpler.

Instances are handled as the data of their files (``InstanceFile.as_data``), which moves copy and change. What is no valid
instance afterwards is no candidate.
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
"""As ``Draw``, of a preset; None where what it drew has no counterpart in the space."""
Move: TypeAlias = Callable[[Data, np.random.Generator], Data | None]
"""From an instance, which it leaves as it is, to a changed copy; None where it has nothing to change."""
Simplify: TypeAlias = Callable[[Data], Sequence[Data]]
"""From an instance to simpler ones, the boldest first."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number of the instance that a search may change.

    Parameters
    ----------
    path
        Where it stands: fields joined with dots, ``[]`` for all entries of a list, ``{}`` for all values of a mapping, as in
        ``jobs[].epoch_time_s{}``. Entries without the field are passed over.
    low, high
        Range that is searched, both > 0 unless ``low`` is 0, which is then a value of its own.
    whole
        Whether it is a whole number.
    """

    path: str
    low: float
    high: float
    whole: bool = False

    @classmethod
    def searched(cls, ranges: Ranges, path: str, *, whole: bool = False) -> "Number":
        """Make the number of a path, in the range that its family searches where no preset is given."""
        return cls(path, *ranges[path].searched, whole=whole)

    @classmethod
    def of_presets(cls, ranges: Ranges, path: str, *, whole: bool = False) -> "Number":
        """Make it in the range that is searched among the instances of a preset."""
        return cls(path, *ranges[path].of_presets, whole=whole)


@dataclass(frozen=True, kw_only=True)
class Space:
    """Instances of a family among which a search goes.

    Parameters
    ----------
    family
        Whose instances they are.
    draw
        Draws one: what random sampling takes, and where searches start.
    presets
        By the names of the generator's presets: draws of instances that lie in the space as well, where searches start too.
    words, wider
        For people: what instances are in it; and the options of the command that open it further.
    numbers
        What moves of all families change: scaled, set to an end of the range, made equal to another of the same path.
    members
        Lists of which entries come and go: path (``jobs``) and the fewest and most entries. New entries are changed copies,
        or come from a new draw.
    moves
        The family's own moves, beside those of all families.
    simpler
        The family's own ways to shrink, beside those of all families (entries out, fewer digits, equal numbers).
    repair
        Brings changed data back into the space (a class of tables, ids that are unique, indices in range), or returns None.
        It never changes what is in the space already.
    reference, solver
        The method that judges by default, its name or itself, which must be quick and prove its optimum on instances of this
        size, and its solver.
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
the family's own options by name; what is out of range raises ``UsageError``."""

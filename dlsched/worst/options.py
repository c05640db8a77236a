"""Search spaces from options: a family's space by name, or one that the caller supplies, without options.

Besides ``SHARED`` every family has options of its own; the catalogue lists them, with their command-line
help.
"""

from collections.abc import Mapping

from dlsched.catalogue import families as listed
from dlsched.catalogue.option import Value
from dlsched.catalogue.target import load
from dlsched.core.errors import UsageError
from dlsched.families import find_family
from dlsched.worst.space import Space, SpaceOf

SHARED = ("jobs", "gpus", "preset")


def space_of(family: str, **options: Value | None) -> Space:
    """Return the space of a family's worst instances; options that are None count as not given.

    Raises
    ------
    UsageError
        The family is unknown or has no space, or does not have an option; or a value is out of range.
    """
    name = find_family(family).name
    own = listed.space(name)
    if own is None:
        having = (other for other in listed.FAMILIES if listed.space(other) is not None)
        raise UsageError(where="family", found=repr(name), allowed=", ".join(having))
    given = {option: value for option, value in options.items() if value is not None}
    allowed = (*SHARED, *own)
    for option, value in given.items():
        if option not in allowed:
            raise UsageError(where=option, found=value, allowed=f"no such option for {name}")
    maker: SpaceOf = load(f"dlsched.worst.spaces.{name}:space_of")
    return maker(**given)


def own_space(space: Space, family: str, given: Mapping[str, Value | None]) -> Space:
    """Return a space that the caller supplies, after checking that it is of the family and that no option is given.

    Raises
    ------
    UsageError
        The space is of another family, or an option is given in addition to it.
    """
    if not isinstance(space, Space):
        raise UsageError(where="space", found=type(space).__name__, allowed=f"a space of {family}")
    if space.family.name != family:
        raise UsageError(where="space", found=f"one of {space.family.name}", allowed=f"one of {family}")
    for option, value in given.items():
        if value is not None:
            raise UsageError(where=option, found=value, allowed="none beside a space of one's own")
    return space

"""The solution of a method for the instance of a moment."""

from dlsched.core.errors import UsageError
from dlsched.core.instance import InstanceFile
from dlsched.core.result import Solution
from dlsched.families import family_of
from dlsched.method_choice import method_named
from dlsched.solving import solve


def solved(instance: InstanceFile, method: str) -> Solution:
    """Return the solution of a method, given by its name or as ``file.py:function``.

    Raises
    ------
    UsageError
        There is no such method, it gives only bounds, or it has no answer.
    """
    chosen = method_named(family_of(instance), method)
    if chosen.kind == "bound":
        raise UsageError(
            where="method", found=f"{method!r}, which bounds and does not decide", allowed="another method"
        )
    result = solve(instance, method=chosen)
    if result.solution is None:
        raise UsageError(
            where="method", found=f"{method!r}, which has no answer here ({result.status})", allowed="another method"
        )
    return result.solution

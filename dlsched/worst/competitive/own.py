"""Policies of the user's own in proofs: how one is made, and what its code may not do there.

A proof asks for decisions that follow from sums and comparisons of what the view shows. What reads a clock or draws is refused
at the line where it happens; what multiplies two times fails there. A decision is refused as the simulator would.
"""

import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from operator import index
from pathlib import Path
from types import FrameType
from typing import Any

from dlsched.core.arguments import file_of
from dlsched.core.errors import UsageError
from dlsched.elastic_stream.simulation.view import Policy, View
from dlsched.own_methods import errors_of_user, import_of_user

_CHANCE = {"time", "datetime", "random", "_random", "secrets", "uuid", "numpy.random"}
"""Modules whose calls differ from run to run."""


@dataclass(frozen=True)
class OwnPolicy:
    """Makes fresh policies of the user's; ``text`` says where their class stands, ``sha256`` is of that file."""

    text: str
    name: str
    sha256: str
    file: str
    thing: Callable[[], Any]

    def __call__(self) -> Policy:
        """Return a fresh policy. UsageError: what the user's code raises, and where."""
        with errors_of_user(self.text, self.file):
            policy = self.thing()
        if not hasattr(policy, "decide"):
            raise UsageError(where=self.text, found=f"a {type(policy).__name__}", allowed="a class with `decide`")
        return _Asked(self, policy)


def own_policy(method: str | type[Policy]) -> OwnPolicy:
    """Find a policy by FILE.py:NAME, module:NAME or its class; UsageError: there is none, or its file cannot be read."""
    if isinstance(method, str):
        thing, file = import_of_user(method)
        text, name = method, method.rpartition(":")[2]
    else:
        thing, file = method, file_of(method)
        name = method.__qualname__
        text = f"{Path(file).name}:{name}"
    try:
        code = Path(file).read_bytes()
    except OSError:
        raise UsageError(where="method", found=text, allowed="a class that stands in a file") from None
    return OwnPolicy(text, name, hashlib.sha256(code).hexdigest(), file, thing)


class _Asked:
    """A policy of the user's at work."""

    clairvoyant = False

    def __init__(self, own: OwnPolicy, policy: Policy) -> None:
        self._own, self._policy = own, policy

    def decide(self, view: View) -> Mapping[int, int]:
        """Ask it; UsageError: its code does what a proof cannot follow, and where, or its answer is no allocation."""
        with errors_of_user(self._own.text, self._own.file), _refusing_chance(self._own.file):
            answer = self._policy.decide(view)
            wrong = _wrong(answer, view)
        if wrong:
            raise UsageError(where=f"{self._own.text}: decide", found=wrong, allowed="units by job, such as {job: 1}")
        return {job: index(units) for job, units in answer.items()}


def _wrong(answer: object, view: View) -> str:
    """What is wrong with an answer, empty if nothing is."""
    if not isinstance(answer, Mapping):
        return f"a {type(answer).__name__}"
    units = {job: view.held(job) for job in view}
    for job, many in answer.items():
        if job not in units:
            return f"units for {job!r}, which is no job that is present"
        if isinstance(many, bool) or not hasattr(many, "__index__") or not 0 <= index(many) <= view.units:
            return f"{many!r} units for job {job}"
        units[job] = index(many)
    total = sum(units.values())
    return f"{total} units in all, there are {view.units}" if total > view.units else ""


@contextmanager
def _refusing_chance(file: str) -> Iterator[None]:
    """Refuse calls of clocks and of random numbers by the code of a file."""

    def called(frame: FrameType, event: str, function: Any) -> None:
        # a function of C is called by this frame, one of Python is in it; callbacks of the garbage collector are others' calls
        caller = frame if event == "c_call" else frame.f_back
        if caller is None or caller.f_code.co_filename != file:
            return
        if event == "c_call":
            owner = getattr(function, "__self__", None)
            named = [
                getattr(function, "__module__", None),
                getattr(owner, "__module__", None),
                getattr(owner, "__name__", None),
            ]
        elif event == "call":
            named = [frame.f_globals.get("__name__")]
        else:
            return
        for name in filter(None, named):
            if name in _CHANCE or str(name).startswith("numpy.random."):
                raise ValueError("a call of a clock or of random numbers, which a proof cannot follow")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        yield
    finally:
        sys.setprofile(before)

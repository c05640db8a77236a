"""The errors that dlsched raises on purpose; everything else that escapes is a defect of dlsched.

Errors are records: the place, what was found and what is allowed are fields, and the text is composed from them. A file may
have several wrong fields at once: the error then holds one sentence for each.
"""

from collections.abc import Callable, Mapping, Sequence


class DlschedError(Exception):
    """Base of the errors below.

    Parameters
    ----------
    words
        What is wrong, in words, where ``found`` and ``allowed`` do not say it.
    where
        The argument, the field or the place in a file that is wrong, or several arguments; empty: the words say it.
    found
        What was found, in words; for several arguments, the value of each.
    allowed
        What is allowed, in words; None: the error is not about a value.
    limit
        The argument that raises the limit which was exceeded; empty: none does.
    more
        Further sentences, a line each.

    >>> print(UsageError(where="gpus", found=0, allowed="an integer >= 1"))
    gpus: found 0, allowed: an integer >= 1
    >>> print(UsageError("no category: the smallest sizes do not fit"))
    no category: the smallest sizes do not fit
    """

    exit_code = 1

    def __init__(
        self,
        words: str = "",
        *,
        where: str | Sequence[str] = (),
        found: object = None,
        allowed: object = None,
        limit: str = "",
        more: Sequence[str] = (),
    ) -> None:
        self.where = (where,) if isinstance(where, str) else tuple(where)
        self.words, self.limit, self.more = words, limit, tuple(more)
        self._given = dict(found) if isinstance(found, Mapping) else None
        self.found = "" if allowed is None else str(found) if self._given is None else self._named(str)
        self.allowed = None if allowed is None else str(allowed)
        super().__init__(self.text())

    @property
    def head(self) -> str:
        """The first line of the text."""
        return self._head({})

    def text(self, names: Mapping[str, str] | None = None) -> str:
        """Write the error out; ``names``: what the reader calls the arguments; by default their own names.

        Within the sentence an argument named by one word cannot be told from an English word, so it is not
        renamed.

        >>> error = UsageError(where="max_gpus", found={"jobs": 3, "max_gpus": 4}, allowed="fewer")
        >>> error.text({"jobs": "--jobs", "max_gpus": "--max-gpus"})
        '--max-gpus: found jobs 3, --max-gpus 4, allowed: fewer'
        """
        return "\n  ".join([self._head(names or {}), *self.more])

    def _head(self, names: Mapping[str, str]) -> str:
        def inside(name: str) -> str:
            return names.get(name, name) if "_" in name else name

        place = ", ".join(names.get(name.replace(" ", "_"), name) for name in self.where)
        sentence = self.words
        if self.allowed is not None:
            found = self.found if self._given is None else self._named(inside)
            limit = f" (limit {inside(self.limit)})" if self.limit else ""
            sentence = f"found {found}, allowed: {self.allowed}{limit}"
        return f"{place}: {sentence}" if place else sentence

    def _named(self, name_of: Callable[[str], str]) -> str:
        """Write several arguments, each with the value that it was given."""
        return ", ".join(f"{name_of(name)} {value}" for name, value in (self._given or {}).items())


class UsageError(DlschedError, ValueError):
    """A method, option or size that cannot be used as asked."""

    exit_code = 2


class InfeasibleError(UsageError):
    """An instance without a solution, as counting shows, of which something was asked that needs one."""

    exit_code = 4


class InputError(DlschedError, ValueError):
    """A file or object that is missing, malformed or belongs to something else; says where, what and what is allowed."""

    exit_code = 3


class ProofSizeError(InputError):
    """A proof whose check takes more work or memory than the limits, right or wrong."""


class InstanceError(InputError):
    """An instance that cannot exist; names the field, what was found and what is allowed."""


class SolverMissingError(DlschedError, ImportError):
    """A solver, or a package of another kind, is missing or cannot be used; the message says what to install, or the cause."""

    exit_code = 6


class SolverError(DlschedError, RuntimeError):
    """A solver failed, or returned what its model does not allow."""


class SolverKilledError(SolverError):
    """A signal killed the process of a solver: most often the system's, which ran out of memory."""


class ContradictionError(SolverError):
    """Two proofs, or a proof and a checked solution, exclude each other; callers must not ignore this."""


class DisagreementError(DlschedError, RuntimeError):
    """Two solvers, or two rows of a study, have contradicting values for one instance."""

    exit_code = 7


class PolicyError(DlschedError, ValueError):
    """A policy's decision cannot be carried out; the message says when, for which job, what is allowed."""

    exit_code = 7


class ProofError(DlschedError, ValueError):
    """A proof states what is not so, or of another model; the message says in which line."""

    exit_code = 7

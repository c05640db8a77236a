"""Answers of methods that are not dlsched's, judged: each is read, checked and offered as a solution, or refused in words.

Such a method is a function, a policy or a program of the user's own, and nothing that it says is believed. It may answer with
the data of a solution, with those of a result that holds one, with a text of JSON, with nothing, or raise an error.

============  ====================================================================================================
status        of what, in a study's rows
============  ====================================================================================================
rejected      a solution that breaks a rule, costs other than it claims, or is one of another instance
memory        memory ended
error         what is no solution at all, and every other error
============  ====================================================================================================
"""

import json

from dlsched.core.errors import DlschedError, InputError, PolicyError
from dlsched.core.family import AnyFamily
from dlsched.core.gap import meets
from dlsched.core.instance import InstanceFile
from dlsched.core.result import Solution
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.processes.messages import words_of
from dlsched.results.reading import Claim, claim_from


class UnreadableAnswer(PolicyError):  # noqa: N818  an answer, told apart from one that breaks a rule
    """What a method answered is neither a solution nor the data of one."""


def judge(
    answer: object, family: AnyFamily, instance: InstanceFile, search: Search[Solution], source: str
) -> TerminationStatus:
    """Hold an answer against the family's reader and checker, and what it claims to cost against what it costs.

    Parameters
    ----------
    answer
        The data of a solution, or those of a result, or what a file or program claims; or None.
    family, instance, search
        To which a solution is offered.
    source
        The name of the method.

    Raises
    ------
    PolicyError
        It is rejected.
    UnreadableAnswer
        It is no solution.
    """
    if isinstance(answer, Claim):
        if answer.result is not None and not answer.of(instance):
            raise PolicyError("its answer is a result of another instance")
        data, claimed = answer.solution, answer.objective
    else:
        data, claimed = _parts(answer)
    if data is None and (answer is None or isinstance(answer, Claim)):
        return TerminationStatus.NO_SOLUTION
    solution = _read(family, instance, data)
    violations = search.violations(solution)
    if violations:
        raise PolicyError(f"its answer breaks {violations[0]}")
    objective = family.objective(instance, solution)
    if claimed is not None and not meets(claimed, objective, search.constant):
        raise PolicyError(f"objective: {claimed!r} is claimed, it is {objective!r}")
    search.offer(solution, source=source)
    return TerminationStatus.FEASIBLE


def claim_of_text(text: bytes | bytearray, where: str) -> Claim:
    """Read JSON, a bare solution or a whole result; ``where`` is for messages.

    Raises
    ------
    UnreadableAnswer
        It is neither.
    """
    try:
        return claim_from(json.loads(text), where)
    except (ValueError, RecursionError, InputError) as error:
        raise UnreadableAnswer(f"{where}: {error}") from None


def status_of_error(error: BaseException) -> tuple[str, str]:
    """Status and words of a row whose method raised an error, or had its answer refused; see the module."""
    words = words_of(error)
    if isinstance(error, MemoryError):
        return "memory", words or "out of memory"
    if isinstance(error, PolicyError) and not isinstance(error, UnreadableAnswer):
        return "rejected", words
    return "error", words if isinstance(error, DlschedError) else f"{type(error).__name__}: {words}"


def _parts(answer: object) -> tuple[object, float | None]:
    """Data of a solution, and what they are claimed to cost; None where that is not said."""
    if not isinstance(answer, dict) or "solution" not in answer:
        return answer, None
    claimed = answer.get("objective")
    number = isinstance(claimed, float | int) and not isinstance(claimed, bool)
    return answer["solution"], claimed if number else None


def _read(family: AnyFamily, instance: InstanceFile, data: object) -> Solution:
    """Read an answer as that of a result file; so nothing but a solution passes."""
    if not isinstance(data, dict | list | str | int | float):  # what it is, and not where it stands in memory
        said = f"found {type(data).__name__}, allowed: a solution, the data of one, or None"
        raise UnreadableAnswer(f"its answer: {said}")
    try:
        solution: Solution = family.read_solution(data, instance)
    except InputError as error:
        kind = PolicyError if isinstance(data, dict) else UnreadableAnswer
        raise kind(f"its answer: {error}") from None
    return solution

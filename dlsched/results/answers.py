"""Judging of answers of the user's own methods: each is read, checked and offered as a solution, or refused.

dlsched believes nothing that such a function, policy or program says.
"""

import json

from dlsched.core.errors import DlschedError, InputError, PolicyError
from dlsched.core.family import AnyFamily
from dlsched.core.gap import meets
from dlsched.core.instance import InstanceFile
from dlsched.core.result import Solution
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.processes.streams import words_of
from dlsched.results.reading import Claim, claim_from


class UnreadableAnswer(PolicyError):  # noqa: N818  an answer, told apart from one that breaks a rule
    """The answer of a method is neither a solution nor the data of one."""


def judge(
    answer: object, family: AnyFamily, instance: InstanceFile, search: Search[Solution], source: str
) -> TerminationStatus:
    """Read and check an answer (a solution, a result, a claim, or None), and offer it to the search.

    PolicyError: the answer is rejected. UnreadableAnswer: the answer is no solution.
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
    """Read JSON, a bare solution or a whole result; UnreadableAnswer: the text is neither."""
    try:
        return claim_from(json.loads(text), where)
    except (ValueError, RecursionError, InputError) as error:
        raise UnreadableAnswer(f"{where}: {error}") from None


def status_of_error(error: BaseException) -> tuple[str, str]:
    """Status and words of a row whose method raised an error or whose answer was refused; ``rejected``: it breaks a rule."""
    words = words_of(error)
    if isinstance(error, MemoryError):
        return "memory", words or "out of memory"
    if isinstance(error, PolicyError) and not isinstance(error, UnreadableAnswer):
        return "rejected", words
    return "error", words if isinstance(error, DlschedError) else f"{type(error).__name__}: {words}"


def _parts(answer: object) -> tuple[object, float | None]:
    """Return the data of a solution and its claimed cost; None if the answer claims none."""
    if not isinstance(answer, dict) or "solution" not in answer:
        return answer, None
    claimed = answer.get("objective")
    number = isinstance(claimed, float | int) and not isinstance(claimed, bool)
    return answer["solution"], claimed if number else None


def _read(family: AnyFamily, instance: InstanceFile, data: object) -> Solution:
    """Read an answer like the solution of a result file, so that nothing but a solution passes."""
    if not isinstance(data, dict | list | str | int | float):  # what it is, and not where it stands in memory
        message = f"found {type(data).__name__}, allowed: a solution, the data of one, or None"
        raise UnreadableAnswer(f"its answer: {message}")
    try:
        solution: Solution = family.read_solution(data, instance)
    except InputError as error:
        kind = PolicyError if isinstance(data, dict) else UnreadableAnswer
        raise kind(f"its answer: {error}") from None
    return solution

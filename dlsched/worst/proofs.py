"""Joins proofs to the result of a search: the supremum of a method's ratio, and a worst instance."""

import math
from dataclasses import replace

from dlsched.core.errors import DisagreementError
from dlsched.core.messages import several
from dlsched.core.tolerance import MEETING
from dlsched.families import find_family
from dlsched.worst.competitive.proven import FAMILY as STREAM
from dlsched.worst.competitive.proven import Supremum
from dlsched.worst.judging import Judge
from dlsched.worst.proving import Proven
from dlsched.worst.result import Worst, finite, said_of


def with_proofs(worst: Worst, *proofs: Proven) -> Worst:
    """Return what a search found with proofs, and with the instance of the largest supremum where that is as bad.

    Parameters
    ----------
    worst
        What was found.
    proofs
        One or more, each for another number of jobs.

    Raises
    ------
    DisagreementError
        The search found an instance that is worse than the supremum for its number of jobs allows.
    """
    _require_consistent(worst, proofs)
    proof = max(proofs, key=lambda each: (math.inf if each.supremum is None else each.supremum, each.setting.jobs))
    ascending = tuple(sorted(proofs, key=lambda each: each.setting.jobs))
    worst = replace(worst, proof=proof, proofs=ascending, command=f"{worst.command} --prove")
    family = find_family(worst.family)
    judge = Judge(family, family.method(worst.method), family.method("exact"))
    judged = judge.judge(proof.instance.as_data())
    if judged is None or (worst.reference_kind == "optimum" and judged.ratio < _ratio(worst) * (1 - MEETING)):
        return replace(worst, instance=said_of(worst, worst.instance, "exact"))
    whole = replace(
        worst,
        ratio=finite(judged.ratio),
        objective=judged.objective,
        reference=judged.reference.value,
        reference_kind=judged.reference.kind,
    )
    return replace(whole, instance=said_of(whole, proof.instance, "exact"))


def proven_alone(command: str, seed: int, *proofs: Supremum) -> Worst:
    """Return proofs of a policy as a result without a search: the instance of the largest supremum.

    The reference is the schedule of the certificate; it is the optimum where the supremum is attained.

    Parameters
    ----------
    command
        The command that proves it again.
    seed
        As it was given; nothing is drawn.
    proofs
        One or more, each for another number of jobs.
    """
    proof = max(proofs, key=lambda each: (each.supremum, -each.setting.jobs))
    family, jobs = find_family(STREAM), proof.setting.jobs
    reference = float(proof.schedule.flow.at) / jobs
    worst = Worst(
        family=family.name,
        method=proof.setting.method,
        ratio=float(proof.ratio),
        found=None,
        objective=float(proof.ratio * proof.schedule.flow.at) / jobs,
        reference=reference,
        reference_kind="optimum" if proof.attained else "answer",
        evaluations=0,
        seed=seed,
        instance=proof.instance,
        ended="budget",
        command=command,
        space="all arrivals and works, with the speeds given",
        proof=proof,
        proofs=tuple(sorted(proofs, key=lambda each: each.setting.jobs)),
    )
    return replace(worst, instance=said_of(worst, proof.instance, "worst --prove"))


def _require_consistent(worst: Worst, proofs: tuple[Proven, ...]) -> None:
    """Refuse a ratio that is proven to be too large; what is held against a bound is no ratio that is reached."""
    jobs = len(worst.instance.as_data()["jobs"])
    for proof in proofs:
        alike = jobs == proof.setting.jobs and worst.reference_kind != "bound"
        if alike and proof.supremum is not None and _ratio(worst) > proof.supremum * (1 + MEETING):
            said = f"{worst.ratio_text} was found, but {proof.supremum} is proven to be the supremum"
            raise DisagreementError(f"{worst.method}: {said} of {several(jobs, 'job')}")


def _ratio(worst: Worst) -> float:
    return math.inf if worst.ratio is None else worst.ratio

"""What the commands say of a proof, and of a search for one."""

from typing import TYPE_CHECKING

from dlsched.cli.output import number, percent
from dlsched.core.limits import Progress
from dlsched.core.messages import several
from dlsched.core.status import TerminationStatus

if TYPE_CHECKING:
    from dlsched.proofs.proof import Proof


def cases(progress: Progress) -> str:
    """Where a proof stands, in words."""
    return f"{progress.doing}, objective {number(progress.objective)}, {several(progress.nodes, 'case')}"


def sentence(proof: "Proof") -> str:
    """What a proof proves, in words."""
    if proof.status is TerminationStatus.INFEASIBLE:
        return "proves that there is no solution"
    if proof.bound is None:
        return "proves no bound"
    if proof.status is TerminationStatus.OPTIMAL:
        return f"proves the optimum {number(proof.objective)} in {several(proof.cases, 'case')}"
    gap = "" if proof.gap is None else f", gap {percent(proof.gap)},"
    return f"proves the bound {number(proof.bound)}{gap} in {several(proof.cases, 'case')}"

"""Proofs of answers: made within the limits of a cell, checked, and thrown away; the row says what they prove."""

import os
import tempfile
from dataclasses import replace

from dlsched.core.errors import DlschedError
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits
from dlsched.core.result import Result, Solution
from dlsched.results.verification import Verification

FIGURE = "verified"
"""Figure of a row whose method asks for proofs: 1.0 where the proof shows that the answer is optimal, or that there is none."""


def with_proof(
    instance: InstanceFile, result: Result[Solution], found: Verification, limits: Limits, folder: str
) -> Result[Solution]:
    """Prove a result, check the proof, and return the result with the figure and a sentence.

    Parameters
    ----------
    instance, result
        What was solved, and the answer.
    found
        What was found of the result; a contradiction by the proof joins its failures.
    limits, folder
        Of the cell, for the proof alone; for its file.
    """
    from dlsched.proofs.proof import prove
    from dlsched.proofs.verification import verify_proof

    verified = False
    with tempfile.TemporaryDirectory(dir=folder) as own:
        path = os.path.join(own, "proof.vipr")
        start = None if result.solution is None else result
        try:
            prove(instance, path, start=start, limits=limits)
            proven = verify_proof(path, instance, found, result)
        except (DlschedError, MemoryError) as error:
            said = f"no proof: {str(error) or 'out of memory'}"
        else:
            verified = proven is not None and bool(proven["optimal"] or proven["infeasible"])
            said = found.verified[-1] if proven is not None else ""
    message = "; ".join(filter(None, (result.message, said)))
    return replace(result, message=message, figures={**result.figures, FIGURE: float(verified)})

"""The process that runs cells one after another; outcomes go as frames on a pipe that no method can reach."""

import contextlib
import gc
import json
import os
import pickle
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, replace

from dlsched.core.errors import DlschedError, PolicyError, SolverKilledError
from dlsched.core.garbage import uncollected
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits
from dlsched.core.result import Result, Solution
from dlsched.core.status import TerminationStatus
from dlsched.families import FAMILIES
from dlsched.processes.streams import short, words_of, write_frame
from dlsched.processes.usage import Meter, Usage
from dlsched.processes.warden import adopt_orphans, newest_process
from dlsched.results.answers import status_of_error
from dlsched.results.reading import Claim
from dlsched.results.verification import Verification, verify_claim
from dlsched.solvers import child
from dlsched.study.cells.cell import BEGUN, CHECKED, FOUND, MAKING, READY, VERIFIED, Cell, CellEnded, Outcome, facts_of
from dlsched.study.cells.foreign_methods import ForeignMethods
from dlsched.study.recipes import LAST, GivenRecipe, Recipe


def with_proof(
    instance: InstanceFile, result: Result[Solution], verification: Verification, limits: Limits, folder: str
) -> Result[Solution]:
    """Prove a result within these limits, check the proof, and return the result with the figure and a sentence.

    A contradiction by the proof joins the failures of ``verification``. The proof's file, in ``folder``, is thrown away.
    """
    from dlsched.proofs.proof import prove
    from dlsched.proofs.verification import verify_proof

    verified = False
    with tempfile.TemporaryDirectory(dir=folder) as own:
        path = os.path.join(own, "proof.vipr")
        # The search for the proof begins with the answer, and its file is gone when it was verified.
        start = None if result.solution is None else result
        try:
            prove(instance, path, start=start, limits=limits)
            proven = verify_proof(path, instance, verification, result)
        except (DlschedError, MemoryError) as error:
            sentence = f"no proof: {str(error) or 'out of memory'}"
        else:
            verified = proven is not None and bool(proven["optimal"] or proven["infeasible"])
            sentence = verification.verified[-1] if proven is not None else ""
    message = "; ".join(filter(None, (result.message, sentence)))
    return replace(result, message=message, figures={**result.figures, VERIFIED: float(verified)})


PULSE_S = 0.1
"""Seconds between two signs of life of a search."""


def serve(tasks: int, outcomes: int) -> None:
    """Run pickled lists of cells from one pipe until there are no more; write their outcomes to the other, as frames."""
    adopt_orphans()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "wb", buffering=0) as file:
        file.write(b"500")  # out of memory, the kernel kills this, not the supervisor
    arriving = os.fdopen(tasks, "rb")
    runner = Runner(os.environ["TMPDIR"])
    write_frame(outcomes, READY)
    while True:
        try:
            cells: list[Cell] = pickle.load(arriving)
        except EOFError:
            return
        while cells:
            write_frame(
                outcomes, runner.run(cells.pop(0), lambda begun: write_frame(outcomes, begun.as_bytes())).as_bytes()
            )


class Runner:
    """Runs cells, and keeps the last instance and the processes of foreign methods for the next."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._foreign = ForeignMethods(folder)
        self._recipe: Recipe = LAST
        self._instance: InstanceFile | None = None

    def run(self, cell: Cell, begun: Callable[[Outcome], None]) -> Outcome:
        """Run a cell; return its outcome, whatever it is; ``begun`` is called with facts of a new instance and as time begins."""
        if cell.recipe not in (LAST, self._recipe):
            self._recipe, self._instance = cell.recipe, None
        cell = replace(cell, recipe=self._recipe)
        try:
            self._foreign.make_room(cell)
            if cell.method.kind == "search":
                return self._searched(cell, begun)
            if cell.method.kind == "check":
                from dlsched.study.cells.recomputation import computed_anew

                found = computed_anew(cell.recipe, cell.method.parameters, lambda: begun(Outcome(cell.key, BEGUN)))
                return Outcome(cell.key, CHECKED, solution=found)
            instance = self._instance_of(cell, begun)
            if isinstance(self._recipe, GivenRecipe):  # the instance is made, and its data may be large
                self._recipe = replace(self._recipe, content=None)
                cell = replace(cell, recipe=self._recipe)
            return self._solved(cell, instance, begun)
        except CellEnded as ended:
            return Outcome(cell.key, ended.status, short(str(ended)))
        except Exception as error:
            return Outcome(cell.key, *status_of_error(error))

    def _searched(self, cell: Cell, begun: Callable[[Outcome], None]) -> Outcome:
        meter = Meter(child.workers())
        try:
            instance = cell.recipe.make(_pulse(cell, begun))
        except PolicyError as error:  # the method failed on every instance, so the search has none to show
            return Outcome(cell.key, "rejected", words_of(error))
        usage = meter.usage(child.workers())
        return Outcome(cell.key, FOUND, solution=instance.as_data(), **asdict(usage))

    def _instance_of(self, cell: Cell, begun: Callable[[Outcome], None]) -> InstanceFile:
        if self._instance is None:
            gc.unfreeze()
            self._instance = cell.recipe.make(_pulse(cell, begun))
            gc.freeze()  # no cell has to look through the instance for garbage
            begun(Outcome(cell.key, MAKING, facts=facts_of(FAMILIES[cell.recipe.family], self._instance)))
        return self._instance

    def _solved(self, cell: Cell, instance: InstanceFile, begun: Callable[[Outcome], None]) -> Outcome:
        family, method = FAMILIES[cell.recipe.family], cell.method
        if not method.foreign:
            begun(Outcome(cell.key, BEGUN))
            meter = Meter(child.workers())
            result = family.solve(
                instance, method=str(method.what), limits=cell.limits.inner, seed=cell.seed, solver=method.solver
            )
            usage = meter.usage(child.workers())
            with uncollected():
                claim = Claim(result.solution, result.objective, result.method, result)
                verification = verify_claim(family, instance, claim, judged=True)
            if method.proven and not verification.failures:
                begun(Outcome(cell.key, BEGUN))  # the proof has the limits of a cell for itself
                result = with_proof(instance, result, verification, cell.limits.inner, self._folder)
            if verification.failures:
                return Outcome(cell.key, "rejected", short(verification.failures[0]))
            return _outcome(cell.key, result, usage)
        # Whatever the method starts is killed after its cell, and what it used is measured where it ran.
        before = newest_process()
        self._foreign.usage = Usage()
        try:
            self._foreign.prepare(cell)
            begun(Outcome(cell.key, BEGUN))
            meter = Meter()
            result = family.solve(
                instance, method=self._foreign.method(family, cell), limits=cell.limits.inner, seed=cell.seed
            )
            outcome = _outcome(cell.key, result, Usage())
            if self._foreign.usage.time_s is None:  # the method was never called
                self._foreign.usage = meter.usage()
        except CellEnded as ended:
            outcome = Outcome(cell.key, ended.status, short(str(ended)))
        finally:
            self._foreign.clean_up(before)
        return replace(outcome, **asdict(self._foreign.usage))


def _pulse(cell: Cell, begun: Callable[[Outcome], None]) -> Callable[[], None]:
    """Return a callback for each evaluation of a search; now and then it restarts the cell's time."""
    last = time.monotonic()

    def step() -> None:
        nonlocal last
        if time.monotonic() - last >= PULSE_S:
            last = time.monotonic()
            begun(Outcome(cell.key, MAKING))

    return step


def text_of_solution(solution: Solution) -> bytes:
    """JSON of a solution; of a schedule some jobs at a time, as all together take five times as much as plain data."""
    dump = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
    blocks = getattr(solution, "blocks", None)
    if blocks is None:
        return dump(solution.as_data()).encode()
    begin, end = b'{"jobs":{', b"}}"
    return begin + b",".join(dump(each.as_data())[len(begin) : -len(end)].encode() for each in blocks()) + end


def _outcome(key: str, result: Result[Solution], usage: Usage) -> Outcome:
    """Return the outcome of a checked result."""
    return Outcome(
        key,
        _status(result),
        short(result.message),
        result.objective,
        result.bound,
        *(usage.time_s, usage.cpu_s, usage.memory_mib),
        figures=result.figures,
        solution=None if result.solution is None else text_of_solution(result.solution),
        certificate=None if result.certificate is None else result.certificate.as_data(),  # type: ignore[arg-type]
        bound_source=result.bound_source,
        solver=result.solver,
    )


def _status(result: Result[Solution]) -> str:
    """Return the row's status: ``killed`` for a killed solver, ``memory`` for memory used up, no answer."""
    if result.failed_by(SolverKilledError):
        return "killed"
    if result.status is TerminationStatus.MEMORY_LIMIT and result.objective is None and result.bound is None:
        return "memory"
    return str(result.status)

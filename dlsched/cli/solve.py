"""``dlsched solve`` and ``bound``: one method on one instance, and the best bound that is proven without solving."""

import sys
from collections.abc import Sized
from dataclasses import replace
from typing import Annotated

import typer

from dlsched.catalogue.solvers import SOLVERS, either
from dlsched.cli import completion
from dlsched.cli.options import (
    AsJson,
    Engine,
    InstancePath,
    NodeLimit,
    OutPath,
    Scheduler,
    Seed,
    Threads,
    TimeLimit,
    Workers,
)
from dlsched.cli.output import cases, duration, number, percent, print_json, progress_line, sentence
from dlsched.core.errors import ContradictionError, DisagreementError, SolverError, UsageError
from dlsched.core.family import AnyFamily, AnyMethod
from dlsched.core.files import require_writable
from dlsched.core.gap import meets
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits
from dlsched.core.messages import printable
from dlsched.core.result import Result, Solution
from dlsched.core.status import TerminationStatus
from dlsched.families import FAMILIES, family_of, read, require_json, write
from dlsched.results.disproof import Answer, disproof
from dlsched.solvers.outcome import require
from dlsched.solving import method_named, on_engine, placed, solve

_SHOWN = 20  # entries of a solution that the summary prints


def run(
    file: InstancePath,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="A name from `dlsched methods`, or FILE.py:FUNCTION.",
            autocompletion=completion.methods,
        ),
    ] = "exact",
    solver: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"{either(SOLVERS)}.", autocompletion=completion.solvers),
    ] = None,
    cross_check: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Solve again with this solver.", autocompletion=completion.solvers),
    ] = None,
    proof: Annotated[
        str | None, typer.Option(metavar="OUT", help="Then prove the answer as `dlsched prove` does, into this file.")
    ] = None,
    time_limit: TimeLimit = None,
    node_limit: NodeLimit = None,
    threads: Threads = 1,
    seed: Seed = 0,
    out: OutPath = None,
    as_json: AsJson = False,
    engine: Engine = "local",
    workers: Workers = None,
    scheduler: Scheduler = None,
) -> int:
    """Solve an instance with one method; `exact` proves the optimum."""
    instance = read(file)
    family = family_of(instance)
    limits = Limits(time_s=time_limit, nodes=node_limit, threads=threads)
    chosen = on_engine(method_named(family, method), engine, workers, scheduler)
    _require_another(family, chosen, solver, cross_check)
    require_json(out or "-")
    for path in filter(None, (out, proof)):
        require_writable(path)
    if proof is not None:
        _require_a_model(instance, proof)
    with progress_line(f"{instance.name}, {method}") as progress:
        result = solve(instance, method=chosen, limits=limits, seed=seed, solver=solver, progress=progress)
    # Every contradiction is written and shown first, and only then raised: the answer is not lost.
    disagreement = None
    if cross_check is not None and result.status is not TerminationStatus.INTERRUPTED:
        with progress_line(f"{instance.name}, cross-check by {cross_check}") as progress:
            second = solve(
                instance, method=family.cross_check, limits=limits, seed=seed, solver=cross_check, progress=progress
            )
        disagreement = contradiction(result, second)
        if second.status is TerminationStatus.SOLVER_ERROR and disagreement is None:
            raise SolverError(f"cross-check: {second.message}")
        result = _noted(result, disagreement or agreement(result, second))
    if proof is not None:
        false, sentence_of_proof = _proven(instance, result, proof, limits)
        disagreement, result = disagreement or false, _noted(result, sentence_of_proof)
    if out is not None:
        write(result, out)
    if as_json and out != "-":
        print_json(result.as_data())
    elif out != "-":
        print_summary(result, family.unit_for(instance))
    disagreement = disagreement or disproof(instance, result)
    if disagreement is not None:
        raise DisagreementError(disagreement)
    return exit_code(result)


def _noted(result: Result[Solution], sentence: str) -> Result[Solution]:
    """Add a sentence to the message of a result."""
    return replace(result, message="; ".join(filter(None, (result.message, sentence))))


def _require_a_model(instance: InstanceFile, path: str) -> None:
    """Refuse, before anything is solved, a proof of an instance without a linear model, or on standard output."""
    from dlsched.proofs.proof import model_of

    if path == "-":
        raise UsageError(where="proof", found="-", allowed="the name of a file")
    model_of(instance, None)


def _proven(instance: InstanceFile, result: Result[Solution], path: str, limits: Limits) -> tuple[str | None, str]:
    """Prove a result; return what it contradicts, None mostly, and what the proof proves, in a sentence."""
    from dlsched.proofs.proof import prove

    if result.status is TerminationStatus.INTERRUPTED:
        return None, f"{path}: no proof was begun"
    with progress_line(f"{instance.name}, proof", words=cases) as progress:
        found = prove(
            instance, path, start=None if result.solution is None else result, limits=limits, progress=progress
        )
    wrong = contrary((result.solver or result.method, result), ("the proof", found)) or disproof(instance, found)
    return wrong, f"{path}: {wrong or sentence(found)}"


def _require_another(family: AnyFamily, method: AnyMethod, solver: str | None, cross_check: str | None) -> None:
    """Refuse a cross-check by the solver that solves: one code base twice proves nothing."""
    if cross_check is None:
        return
    able = family.method(family.cross_check).solvers
    if cross_check not in able:
        raise UsageError(where="cross-check", found=repr(cross_check), allowed=", ".join(able))
    require(cross_check, "milp")
    if method.solvers and cross_check == (solver or method.solvers[0]):
        raise UsageError(
            where="cross-check", found=f"{cross_check!r}, the solver of method {method.name}", allowed="another one"
        )


def contradiction(first: Result[Solution], second: Result[Solution]) -> str | None:
    """Return a sentence when two results cannot both be right, or the second one contradicts itself."""
    if second.failed_by(ContradictionError):
        return second.message
    return contrary((first.solver or first.method, first), (second.solver or second.method, second))


def contrary(first: tuple[str, Answer], second: tuple[str, Answer]) -> str | None:
    """Return a sentence when two answers, each with its name, cannot both be right."""
    # Both ways round: each bound against the other solution
    for (name, one), (beside, other) in ((first, second), (second, first)):
        by = f"{name} and {beside} disagree"
        if one.status is TerminationStatus.INFEASIBLE and other.objective is not None:
            return f"{by}: infeasible, but a solution of {other.objective!r} is held"
        if one.bound is not None and other.objective is not None:
            wrong = one.sense.better(other.objective, one.bound) and not meets(other.objective, one.bound, one.constant)
            if wrong:
                return f"{by}: bound {one.bound!r} against a solution of {other.objective!r}"
    return None


def agreement(first: Result[Solution], second: Result[Solution]) -> str:
    """Say what the second solver confirms."""
    by = second.solver or "counting"
    if second.status is TerminationStatus.INFEASIBLE:
        return f"cross-check: {by} also proves infeasibility"
    if first.proven and second.proven:
        return f"cross-check: {by} proves the same optimum, {second.objective!r}"
    if second.proven:
        return f"cross-check: {by} proves the optimum {second.objective!r}"
    return f"cross-check: {by} stopped with {second.status}, objective {second.objective!r}, bound {second.bound!r}"


def exit_code(result: Result[Solution]) -> int:
    """Exit code of a result: 0 when a solution is held, whatever stopped it (or a bound, by a method that only bounds)."""
    if result.status is TerminationStatus.SOLVER_ERROR:
        return 7 if result.failed_by(ContradictionError) else 1
    if result.solution is not None or result.status is TerminationStatus.FEASIBLE:
        return 0
    return 4 if result.status is TerminationStatus.INFEASIBLE else 5


def print_summary(result: Result[Solution], unit: str) -> None:
    """Print a result for people."""
    lines = [f"{result.instance.name}: {result.status} ({result.method})"]
    if result.objective is not None:
        lines.append(f"  objective    {number(result.objective)} {unit}")
    if result.bound is not None:
        gap = f", gap {percent(result.gap)}" if result.gap is not None else ""
        lines.append(f"  bound        {number(result.bound)}{gap}, by {result.bound_source}")
    if result.certificate is not None:
        lines.append(
            f"  certificate  proves {number(result.certificate.value)} on its own; `dlsched check` verifies it"
        )
    lines.append(f"  time         {duration(result.runtime_s)}" + (f", {result.solver}" if result.solver else ""))
    if result.message:
        lines.append(f"  note         {result.message}")
    if result.figures:
        shown = ", ".join(f"{name} {number(value)}" for name, value in result.figures.items())
        lines.append(f"  figures      {shown}")
    if result.solution is not None:
        for what, entries in result.solution.as_data().items():
            rings = _rings(entries)
            text = f"{len(rings)}; each ring with its workers by server" if rings else _entries(entries)
            lines += [f"  {what:12s} {text}", *rings[:_SHOWN]]
            if len(rings) > _SHOWN:
                lines.append(f"    ... ({len(rings)} slots in all; -o OUT writes them)")
    sys.stdout.write("\n".join(map(printable, lines)) + "\n")


def _rings(entries: object) -> list[str]:
    """Return a line for each slot of an embedding of rings: its jobs, and on which servers how many of their workers are."""
    lines = []
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("rings"), dict):
            rings = [
                f"{job} {' '.join(f'{server}:{workers}' for server, workers in ring['workers'].items())}"
                for job, ring in entry["rings"].items()
            ]
            shown = ", ".join(rings[:_SHOWN]) or "no ring"
            rest = f", ... ({len(rings)} in all; -o OUT writes them)" if len(rings) > _SHOWN else ""
            lines.append(f"    slot {entry['slot']}: {shown}{rest}")
    return lines


def _entries(entries: object) -> str:
    assert isinstance(entries, Sized)
    if not isinstance(entries, dict):
        return f"{len(entries)} entries"
    kinds = set(map(type, entries.values()))
    if dict in kinds:
        return f"{len(entries)} (-o OUT writes them)"
    if list in kinds:
        return f"{sum(map(len, entries.values()))}, of {len(entries)} jobs (-o OUT writes them)"
    shown = ", ".join(f"{name} {value}" for name, value in list(entries.items())[:_SHOWN])
    return shown if len(entries) <= _SHOWN else f"{shown}, ... ({len(entries)} in all; -o OUT writes them)"


def run_bound(
    file: InstancePath,
    time_limit: TimeLimit = None,
    as_json: AsJson = False,
    engine: Engine = "local",
    workers: Workers = None,
    scheduler: Scheduler = None,
) -> int:
    """Print the best bound that is proven without solving, with its certificate."""
    limits = Limits(time_s=time_limit)
    with placed(file, engine, workers, scheduler) as instance:
        family = FAMILIES[instance.family]
        method = on_engine(family.method(family.best_bound), engine, workers, scheduler)
        with progress_line(f"{instance.name}, {family.best_bound}") as progress:
            result = family.solve(instance, method=method, limits=limits, progress=progress)
        if as_json:
            print_json(result.as_data())
        else:
            print_summary(result, family.unit_for(instance))
        wrong = disproof(instance, result)
    if wrong is not None:
        raise DisagreementError(wrong)
    bounded = result.bound is not None and result.status is not TerminationStatus.SOLVER_ERROR
    return 0 if bounded else exit_code(result)

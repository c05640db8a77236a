"""``dlsched worst``: the instance on which a method does worst, from a seed, shrunk until a person can read it."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any, TypeVar

import typer

from dlsched.catalogue.families import FAMILIES, Option, Value, space
from dlsched.cli import completion
from dlsched.cli.options import AsJson, FamilyName, NodeLimit, OutPath, Seed, TimeLimit, taking
from dlsched.cli.output import number, print_json, progress_line
from dlsched.core.errors import DlschedError, PolicyError, UsageError
from dlsched.core.files import json_text, require_writable, write_text
from dlsched.core.limits import Budget, Limits
from dlsched.core.messages import printable, several
from dlsched.families import find_family, instance_from, write
from dlsched.worst.competitive.concave import CONCAVE, GAP, AllTables, prove_all_tables
from dlsched.worst.competitive.proven import FAMILY as STREAM
from dlsched.worst.competitive.proven import Supremum, number_of, prove_policy, speeds_of, weights_of
from dlsched.worst.judge import Failure, Worst, proven_alone, sized, with_proofs
from dlsched.worst.proving import Proven
from dlsched.worst.proving import prove as prove_supremum
from dlsched.worst.proving.runs import METHODS
from dlsched.worst.search import BUDGET, find_worst
from dlsched.worst.spaces import space_of

INTERRUPTED, FAILED = 5, 7
_SPACES = {family: space(family) or {} for family in FAMILIES}
OWN: dict[str, Option] = {}
"""Options of the families' spaces; of those that several have, the words of the first."""
for _own in _SPACES.values():
    OWN = {**OWN, **{name: option for name, option in _own.items() if name not in OWN}}
_OF = {name: ", ".join(family for family, own in _SPACES.items() if name in own) for name in OWN}
ProofT = TypeVar("ProofT", Proven, Supremum)
JOBS_PROVEN = 2
LINES = 40
"""Lines of an instance that the summary shows."""


@taking(
    OWN.values(),
    before="seed",
    words={name: f"{option.words}; {_OF[name]}." for name, option in OWN.items()},
    of_family=space,
)
def run(
    family: FamilyName,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="A heuristic or policy of `dlsched methods`, or FILE.py:FUNCTION.",
            autocompletion=completion.methods,
        ),
    ],
    against: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What judges; a quick exact method.", autocompletion=completion.methods),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(metavar="P", help="What kind of instances.", autocompletion=completion.presets),
    ] = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Number of jobs, at most.")] = None,
    gpus: Annotated[int | None, typer.Option(metavar="N", help="GPUs (units, workers) of the cluster.")] = None,
    budget: Annotated[
        int, typer.Option(metavar="N", help="Instances that are evaluated; a fifth of them shrink what was found.")
    ] = BUDGET,
    seed: Seed = 0,
    time_limit: TimeLimit = None,
    node_limit: NodeLimit = None,
    prove: Annotated[
        bool,
        typer.Option(
            "--prove",
            help="Prove how bad it can be; ring_allocation: doubling, marginal, hull; async_sgd: marginal; "
            "elastic_stream, with --speeds: policies that decide by comparing.",
        ),
    ] = False,
    speeds: Annotated[
        str | None,
        typer.Option(
            metavar="S",
            help="With --prove, elastic_stream: speeds on 1, 2, ... units, as 1,9/5,5/2; linear, power:4/5 or amdahl:1/10; "
            "several tables separated by ;; or concave: any concave table.",
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="W", help="With --speeds: weights that jobs may have, as 1,3; by default they all weigh the same."
        ),
    ] = None,
    gap: Annotated[
        str | None,
        typer.Option(metavar="X", help="With --speeds concave: the ends may be so far apart, as 1/1000, the default."),
    ] = None,
    certificate: Annotated[
        str | None, typer.Option(metavar="OUT", help="Write the proof there; `dlsched check` verifies it.")
    ] = None,
    out: OutPath = None,
    as_json: AsJson = False,
    **own: Value | None,
) -> int:
    """Search for the instance on which a method does worst, against the proven optimum, and shrink it.

    The same seed finds the same instance. Ctrl-C keeps the worst so far.
    """
    for path in filter(None, (out, certificate)):
        require_writable(path)
    if certificate is not None and not prove:
        raise UsageError(where="certificate", found="a path", allowed="one with --prove")
    options: dict[str, Any] = {name: value for name, value in own.items() if value is not None}
    limits = Limits(time_s=time_limit, nodes=node_limit)
    if gap is not None and speeds != CONCAVE:
        raise UsageError(where="gap", found=repr(gap), allowed=f"with --speeds {CONCAVE}")
    if speeds is not None or weights is not None or (prove and family == STREAM):
        searching = {"against": against, "preset": preset, **options}
        _require_speeds(family, prove, speeds, [name for name, value in searching.items() if value is not None])
        worst = _policy_proven(method, jobs, gpus, str(speeds), weights, gap, seed, limits)
        return _said(worst, certificate, out, as_json)
    proofs: list[Proven] = []
    if prove:
        jobs = JOBS_PROVEN if jobs is None else jobs
        gpus = _gpus(family, preset, options) if gpus is None else gpus
        space_of(family, jobs=jobs, gpus=gpus, preset=preset, **options)  # refused before anything is proven
        supremum = partial(prove_supremum, family, method, gpus=gpus, **options)
        proofs = _proofs(f"{family}, {method}", jobs, limits, supremum)
    failed: list[Failure] = []
    with (
        progress_line(f"{family}, {method}", words=lambda progress: progress.doing) as progress,
        _failing(method, failed),
    ):
        worst = find_worst(
            *(family, method),
            against=against,
            jobs=jobs,
            gpus=gpus,
            preset=preset,
            budget=budget,
            seed=seed,
            limits=limits,
            progress=progress,
            tell=partial(_tell, failed),
            **options,
        )
    if proofs:
        worst = with_proofs(worst, *proofs)
    return _said(worst, certificate, out, as_json)


def _said(worst: Worst, certificate: str | None, out: str | None, as_json: bool) -> int:
    """Write what was asked for; return the exit code."""
    unproven = isinstance(worst.proof, Supremum) and worst.proof.at_most is None
    if worst.proof is not None and certificate is not None and not unproven:
        write_text(certificate, json_text(worst.proof.as_data()))
    if out is not None:
        write(worst.instance, out)
    if as_json and out != "-":
        print_json(worst.as_data())
    elif out != "-":
        _print(worst)
    if certificate is not None and unproven:
        raise UsageError(f"{certificate}: not written: what the ratio does not exceed is not proven yet")
    if worst.failures:
        return FAILED
    if worst.ended == "interrupted":
        print("dlsched: interrupted; this is the worst instance so far", file=sys.stderr)
        return INTERRUPTED
    return 0


def _gpus(family: str, preset: str | None, options: dict[str, Any]) -> int:
    """GPUs of the instances of a space."""
    import numpy as np

    data = space_of(family, preset=preset, **options).draw(np.random.default_rng(0))
    gpus = find_family(family).gpus(instance_from(data, "draw"))
    if gpus is None:
        raise UsageError(where="family", found=repr(family), allowed=", ".join(METHODS))
    return gpus


def _require_speeds(family: str, prove: bool, speeds: str | None, others: list[str]) -> None:
    """Refuse --speeds where nothing is proven by it, and a proof of a policy without them."""
    if family != STREAM or not prove:
        name, found = ("weights", "some") if speeds is None else ("speeds", repr(speeds))
        raise UsageError(where=name, found=found, allowed=f"with --prove, for {STREAM}")
    if speeds is None:
        raise UsageError(where="speeds", found="none", allowed="speeds on 1, 2, ... units, to prove a policy")
    if others:
        raise UsageError(where=others[0], found="an option", allowed="none beside --speeds: nothing is searched")


def _policy_proven(
    method: str,
    jobs: int | None,
    gpus: int | None,
    speeds: str,
    weights: str | None,
    gap: str | None,
    seed: int,
    limits: Limits,
) -> Worst:
    """Prove a policy of elastic_stream for a number of jobs and each smaller one."""
    many = JOBS_PROVEN if jobs is None else jobs
    if speeds == CONCAVE:
        if gpus is None or weights is not None:
            name, allowed = ("gpus", "a number of units") if gpus is None else ("weights", "none")
            raise UsageError(where=name, found=repr(weights), allowed=f"{allowed}, with --speeds {CONCAVE}")
        width = GAP if gap is None else number_of(gap, "gap")
        prove: Callable[..., Supremum] = partial(prove_all_tables, method, units=gpus, gap=width)
    else:
        tables = speeds_of(speeds, gpus)
        gpus, classes = len(tables[0]), weights_of(weights or "1")
        prove = partial(prove_policy, method, speeds=tables, weights=classes)
    words = ["dlsched", "worst", STREAM, "--method", method, "--jobs", str(many), "--gpus", str(gpus)]
    proofs = _proofs(f"{STREAM}, {method}", many, limits, prove)
    given = {"--weights": weights, "--gap": gap, "--time-limit": limits.time_s, "--node-limit": limits.nodes}
    options = [word for name, value in given.items() if value is not None for word in (name, str(value))]
    return proven_alone(shlex.join([*words, "--speeds", speeds, *options, "--prove"]), seed, *proofs)


def _proofs(title: str, jobs: int, limits: Limits, prove: Callable[..., ProofT]) -> list[ProofT]:
    """Prove for every number of jobs that a search may end with, the largest first; the limits are of all together."""
    budget, proofs = Budget(limits), []
    for many in range(jobs, 0, -1):
        with progress_line(
            f"{title}, proof for {several(many, 'job')}", words=lambda progress: f"{progress.nodes} programs"
        ) as progress:
            proof = prove(jobs=many, limits=budget.left, progress=progress)
        budget.nodes += proof.programs
        proofs.append(proof)
        if isinstance(proof, Supremum) and proof.ended != "budget":
            break
    return proofs


def _proven(proof: Proven | Supremum) -> str:
    """For people: how bad the method is at most, and with how many jobs."""
    jobs = several(proof.setting.jobs, "job")
    if isinstance(proof, AllTables) and proof.ended == "budget":
        table = ", ".join(map(str, proof.setting.speeds[0]))
        return f"{jobs}: at least {proof.ratio}, on the speeds {table}; at most {proof.at_most} on any concave ones"
    if isinstance(proof, Supremum) and proof.supremum is None:
        most = "not bounded yet" if proof.at_most is None else f"at most {proof.at_most}"
        why = (
            "no instance was found that approaches it"
            if proof.ended == "budget"
            else "stopped before the supremum was known"
        )
        return f"{jobs}: at least {proof.ratio}, {most}; {why}"
    if proof.supremum is None:
        return f"{jobs}: without bound"
    met = "attained" if proof.attained else "approached by instances, reached by none"
    if isinstance(proof, Supremum) and proof.setting.own is not None:
        met = "approached by instances without ties"
    return f"{jobs}: at most {proof.supremum}, {met}"


def _tell(failed: list[Failure], failure: Failure) -> None:
    """Keep that the method failed on an instance, and say it at once."""
    failed.append(failure)
    print(f"dlsched: {printable(failure.message)}", file=sys.stderr, flush=True)


@contextmanager
def _failing(method: str, failed: list[Failure]) -> Iterator[None]:
    """End as failures do where a method of the user's own failed and nothing is found, whatever it raised."""
    try:
        yield
    except DlschedError as error:
        if ":" not in method or not failed:
            raise
        raise PolicyError(str(error)) from None


def _print(worst: Worst) -> None:
    """The answer for people: what was found, and the instance where it is short."""
    what = {"optimum": "optimum", "bound": "bound", "answer": "reference"}[worst.reference_kind]
    objective = "no answer" if worst.objective is None else f"objective {number(worst.objective)}"
    before = "in the search" if worst.proof is not None else "before it was shrunk"
    shrunk = "" if worst.found == worst.ratio or worst.found is None else f", {worst.found:.6g} {before}"
    data = worst.instance.as_data()
    facts = {
        "ratio": f"{worst.ratio_text}{shrunk}",
        "of": f"{objective}, {what} {number(worst.reference)} {find_family(worst.family).unit_for(worst.instance)}",
        "search": f"{several(worst.evaluations, 'evaluation')}, seed {worst.seed}"
        + {"budget": "", "limit": ", ended by a limit", "interrupted": ", interrupted"}[worst.ended],
        "space": worst.space,
        "wider": ", ".join(worst.wider),
        "again": worst.command,
    }
    print(printable(f"{worst.method} on {worst.family}{sized(worst.instance, ': ')}"))
    for name, words in filter(lambda line: line[1], facts.items()):
        print(printable(f"  {name:8s} {words}"))
    for proof in worst.proofs:
        print(f"  proven   {_proven(proof)}")
    shown = json_text({key: value for key, value in data.items() if key not in ("format", "source", "known")})
    lines = shown.splitlines()
    print(
        "\n".join(map(printable, lines if len(lines) <= LINES else [*lines[:LINES], "... (-o OUT writes all of it)"]))
    )

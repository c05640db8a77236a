"""Recomputation of the rows of an instance: makes the instance again, and checks each row against it.

Rows are checked like result files. The families' checkers and verifiers of certificates share no code with
methods.

============  ====================================================================================================
kind          what stands there, of a row
============  ====================================================================================================
verified      feasible by the checker; what a certificate proves; infeasibility by counting
recomputed    the instance and its sizes, the key, objective, figures, status
claimed       bounds beyond the certificate, ends without an answer; times, memory, message, and which method it was
failures      what is false
============  ====================================================================================================
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from dlsched.core.errors import DlschedError, InputError
from dlsched.core.family import AnyFamily
from dlsched.core.files import Json, canonical_sha256
from dlsched.core.gap import meets
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import printable
from dlsched.core.status import TerminationStatus
from dlsched.families import FAMILIES
from dlsched.processes.streams import words_of
from dlsched.results.reading import Claim, claim_from
from dlsched.results.verification import Verification, read_solution, verify_claim
from dlsched.study.cells.cell import VERIFIED, facts_of, key_of, versions
from dlsched.study.plans.plan import CellLimits, PlannedMethod
from dlsched.study.recipes import CalledRecipe, Recipe, recipe_of_result, require_data

Said = Mapping[str, Any]
"""Values that a store holds for an instance or a row, by column."""
_ENDED = ("optimal", "feasible", "no_solution")
"""Statuses of methods that no limit stopped."""
_EARLY = 0.1
"""Share of the time limit below which no method lets the limit change its answer."""
_PROVEN = ("optimal", "feasible", "infeasible")
"""Statuses that the answer, the bound or an infeasibility proof imply."""
FOREIGN = "own:method"
"""Name that stands for methods that are not dlsched's own in the data for the checker."""


def computed_anew(recipe: Recipe, said: Said, step: Callable[[], None]) -> list[Json]:
    """Recompute the rows of an instance.

    Parameters
    ----------
    recipe
        How the instance is made.
    said
        ``found``: the instance that a search found or a function drew, or None; ``instance``: its hashes; ``fact``: its facts,
        or None; ``rows``: the values that the store holds for each row.
    step
        Called after each row.

    Returns
    -------
    For each row a ``Verification``, as data.
    """
    family = FAMILIES[recipe.family]
    failures = list(_recipe(recipe, said["instance"]))
    instance, why = None, ""
    try:
        instance = _made(recipe, said["found"])
        failures += _facts(family, instance, said["fact"])
    except Exception as error:  # what a store says of an instance may be anything
        why = f"{type(error).__name__}: {words_of(error)}"
    rows: list[Json] = []
    for row in said["rows"]:
        found = _row(family, recipe, instance, why, row)
        found.failures[:0] = failures
        if not found.failures:
            found.recomputed.insert(0, f"instance, {row['key'][:12]}...")
            if isinstance(recipe, CalledRecipe):
                found.claimed.append(f"that {printable(recipe.source)} made its instance")
        rows.append(found.as_data())  # type: ignore[arg-type]
        step()
    return rows


def _made(recipe: Recipe, found: Json) -> InstanceFile:
    if found is not None:
        return recipe_of_result(recipe, found).make()
    require_data(recipe)
    return recipe.make()


def _recipe(recipe: Recipe, said: Said) -> Iterator[str]:
    """Check a row's source, preset and seed, and the hashes of its instance, against the recipe."""
    whole = [recipe.family, recipe.source, recipe.preset, recipe.seed, dict(recipe.data)]
    if canonical_sha256({"recipe": whole}) != said["hash"] or recipe.content_hash() != said["content"]:
        yield "instance: its hash is that of another one"
    true = recipe.origin()
    if true is None:
        yield f"instance: found no way to make it: {printable(', '.join(recipe.data))}"
        return
    if true != (recipe.source, recipe.preset, recipe.seed):
        yield f"instance: {(recipe.source, recipe.preset, recipe.seed)!r} is claimed, it is {tuple(true)!r}"


def _facts(family: AnyFamily, instance: InstanceFile, said: Said | None) -> Iterator[str]:
    true = asdict(facts_of(family, instance))
    for name, value in (said or {}).items():
        if value != true[name] and not (
            name in ("sense", "objective_name") and value is None
        ):  # older stores lack these
            yield f"{name} of the instance: {value!r} is claimed, it is {true[name]!r}"


def _row(family: AnyFamily, recipe: Recipe, instance: InstanceFile | None, why: str, said: Said) -> Verification:
    limits, method = CellLimits(**said["limits"]), _method(said["data"])
    found = Verification()
    proof = said["figures"].get(VERIFIED) if method.proven else None
    if proof is not None:
        said = {**said, "figures": {name: value for name, value in said["figures"].items() if name != VERIFIED}}
    try:
        for each in (method, _method(said["cell"]["method"])):  # the plan's method, and the cell's
            if key_of(recipe, each, said["seed"], limits, said["versions"]) != said["key"]:
                found.failures.append(f"key: it is not that of {printable(each.label)} on this instance")
        if recipe.content_hash() != said["cell"]["content"]:
            found.failures.append("cell: it is of another instance")
        if method.family not in (None, recipe.family) or said["method"] != method.label:
            found.failures.append(f"method: {said['method']!r} is claimed, it is {method.label!r} of {method.family}")
        if method.seed not in (None, said["seed"]):
            found.failures.append(f"seed: {said['seed']!r} is claimed, the plan has {method.seed!r}")
        found.failures.extend(_kept(said))
        if _empty(said):
            found.claimed.append(f"it ended as {said['status']}")
        elif instance is None:
            found.failures.append(f"its instance cannot be made: {why}")
        else:
            found = _merged(found, _held(family, instance, method, limits, said))
        if proof is not None and not found.failures:
            found.claimed.append("that its proof was verified" if proof else "that it has no proof that was verified")
        if said["again"] and instance is not None and not method.foreign and not found.failures:
            found.failures.extend(_again(family, instance, method, limits, said, found))
    except (DlschedError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        found.failures.append(words_of(error))
    return found


def _method(data: Said) -> PlannedMethod:
    what = data["what"] if isinstance(data["what"], str) else tuple(data["what"])
    return PlannedMethod(
        *(data["label"], data["kind"], what, data["family"], data["solver"], data["seed"]),
        parameters=data["parameters"],
        fingerprint=data["fingerprint"],
    )


def _again(
    family: AnyFamily,
    instance: InstanceFile,
    method: PlannedMethod,
    limits: CellLimits,
    said: Said,
    found: Verification,
) -> Iterator[str]:
    """Solve again, and compare the result with the row.

    Two proven optima must meet. Heuristics and bounds that ended on their own, long before the time limit,
    must give the same result; everything else may depend on time and is not compared.
    """
    if said["status"] not in _ENDED:
        found.claimed.append("that it ends so again")
        return
    result = family.solve(
        instance, method=str(method.what), limits=limits.inner, seed=said["seed"], solver=method.solver
    )
    longest = max(said["time_s"] or 0.0, result.runtime_s)
    if said["status"] == result.status == TerminationStatus.OPTIMAL:
        if result.objective is None or not meets(said["objective"], result.objective, result.constant):
            yield f"objective: {said['objective']!r} is claimed, solved again it is {result.objective!r}"
    elif family.method(str(method.what)).kind == "exact" or longest > _EARLY * limits.time_s:
        found.claimed.append("that it ends so again: it depends on time")
    else:
        for name in ("status", "objective", "bound", "figures"):
            if getattr(result, name) != said[name]:
                yield f"{name}: {said[name]!r} is claimed, solved again it is {getattr(result, name)!r}"


def _kept(said: Said) -> Iterator[str]:
    """Find incomplete rows: objective or solution without the other, certificate without a bound."""
    if said["objective"] is not None and said["solution"] is None:
        yield f"objective: {said['objective']!r} is claimed, and no solution is kept that has it"
    if said["objective"] is None and said["solution"] is not None:
        yield "solution: one is kept, of a row without an answer"
    if said["bound"] is None and (said["certificate"] is not None or said["bound_source"] is not None):
        yield "certificate: one is kept, of a row without a bound"


def _empty(said: Said) -> bool:
    return said["objective"] is None and said["bound"] is None and said["status"] != TerminationStatus.INFEASIBLE


def _merged(first: Verification, second: Verification) -> Verification:
    return replace(second, failures=[*first.failures, *second.failures])


def _held(
    family: AnyFamily, instance: InstanceFile, method: PlannedMethod, limits: CellLimits, said: Said
) -> Verification:
    """Check a row with an answer, a bound or a proof of infeasibility against its instance."""
    record = None if method.foreign else family.method(str(method.what))
    data: dict[str, Json] = {
        "format": "dlsched/result/1",
        "family": family.name,
        "instance": {"name": instance.name, "sha256": instance.sha256},
        "method": FOREIGN if record is None else record.name,
        "status": "solver_error" if said["status"] == "killed" else said["status"],
        "sense": str(family.sense_for(instance)),
        "objective": said["objective"],
        "constant": family.constant(instance),
        "bound": said["bound"],
        "bound_source": said["bound_source"],
        "gap": None,
        "runtime_s": said["time_s"] or 0.0,
        "solver": said["solver"],
        "seed": said["seed"] if record is not None and record.seeded else None,
        "limits": {"time_s": limits.time_s, "nodes": limits.nodes, "threads": limits.threads},
        "certificate": said["certificate"],
        "solution": said["solution"],
        "figures": said["figures"],
        "message": said["message"],
    }
    try:
        claim = claim_from(data, "the row")
    except InputError as error:
        return Verification(failures=[str(error)])
    found = verify_claim(family, instance, claim, "the row")
    found.failures.extend(_figures(family, instance, claim, said))
    if record is None and (said["bound"] is not None or said["certificate"] is not None or said["solver"] is not None):
        found.failures.append("bound: a method that is not dlsched's proves nothing")
    if record is not None and record.kind == "heuristic":
        if said["bound_source"] not in (None, "certificate"):
            found.failures.append(f"bound_source: {said['bound_source']!r}, but heuristics prove by certificates only")
        elif found.claimed_bound is not None:
            found.failures.append(f"bound: {said['bound']!r} is beyond the certificate of a heuristic")
    bound, proven = said["bound"], found.verified_bound
    weaker = proven is not None and family.sense_for(instance).better(bound, proven)
    if proven is not None and weaker and not meets(bound, proven, family.constant(instance)):
        found.failures.append(f"bound: {bound!r} is claimed, the certificate proves {proven!r}")
    if record is not None and record.kind == "bound" and said["status"] == "no_solution":
        found.failures.append("status: no_solution is claimed of a method that looks for none")
    if said["status"] not in _PROVEN and not found.failures:
        found.claimed.append(f"that it ended as {said['status']}")
    return found


def _figures(family: AnyFamily, instance: InstanceFile, claim: Claim, said: Said) -> Iterator[str]:
    """Name the figures that are missing from a row; other versions of dlsched may have written fewer."""
    if claim.solution is None or said["versions"].get("dlsched") != versions().get("dlsched"):
        return
    true = family.figures(instance, read_solution(family, instance, claim, "the row"))
    if set(true) - set(said["figures"]):
        yield f"figures: {', '.join(sorted(set(true) - set(said['figures'])))} are missing"

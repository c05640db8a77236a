"""Recomputation of the rows of an instance: makes the instance again, and checks each row like a result file.

Findings are of the kinds of ``dlsched.results.verification``; ``docs/studies.md`` lists which parts of a row are of which kind.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, fields, replace
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

Claims = Mapping[str, Any]
"""Values that a store holds for an instance or a row, by column."""
_ENDED = ("optimal", "feasible", "no_solution")
"""Statuses of methods that no limit stopped."""
_EARLY = 0.1
"""Share of the time limit below which no method lets the limit change its answer."""
_PROVEN = ("optimal", "feasible", "infeasible")
"""Statuses that the answer, the bound or an infeasibility proof imply."""
FOREIGN = "own:method"
"""Name that stands for methods that are not dlsched's own in the data for the checker."""


def computed_anew(recipe: Recipe, claims: Claims, step: Callable[[], None]) -> list[Json]:
    """Recompute the rows of an instance; return a ``Verification`` for each, as data, and call ``step`` after each.

    ``claims``: the stored instance (``found``) or None, its hashes (``instance``), its facts or None (``fact``), ``rows``.
    """
    family = FAMILIES[recipe.family]
    failures = list(_recipe(recipe, claims["instance"]))
    instance, why = None, ""
    try:
        instance = _instance(recipe, claims["found"])
        failures += _facts(family, instance, claims["fact"])
    except Exception as error:  # what a store says of an instance may be anything
        why = f"{type(error).__name__}: {words_of(error)}"
    rows: list[Json] = []
    for row in claims["rows"]:
        verification = _row(family, recipe, instance, why, row)
        verification.failures[:0] = failures
        if not verification.failures:
            verification.recomputed.insert(0, f"instance, {row['key'][:12]}...")
            if isinstance(recipe, CalledRecipe):
                verification.claimed.append(f"that {printable(recipe.source)} made its instance")
        rows.append(verification.as_data())  # type: ignore[arg-type]
        step()
    return rows


def _instance(recipe: Recipe, stored: Json) -> InstanceFile:
    if stored is not None:
        return recipe_of_result(recipe, stored).make()
    require_data(recipe)
    return recipe.make()


def _recipe(recipe: Recipe, claims: Claims) -> Iterator[str]:
    """Check a row's source, preset and seed, and the hashes of its instance, against the recipe."""
    whole = [recipe.family, recipe.source, recipe.preset, recipe.seed, recipe.data]
    if canonical_sha256({"recipe": whole}) != claims["hash"] or recipe.content_hash() != claims["content"]:
        yield "instance: its hash is that of another one"
    true = recipe.origin()
    if true is None:
        yield f"instance: found no way to make it: {printable(', '.join(recipe.data))}"
        return
    if true != (recipe.source, recipe.preset, recipe.seed):
        yield f"instance: {(recipe.source, recipe.preset, recipe.seed)!r} is claimed, it is {true!r}"


def _facts(family: AnyFamily, instance: InstanceFile, claims: Claims | None) -> Iterator[str]:
    true = asdict(facts_of(family, instance))
    for name, value in (claims or {}).items():
        lacking = value is None and name in ("sense", "objective_name")  # of an older store
        if value != true[name] and not lacking:
            yield f"{name} of the instance: {value!r} is claimed, it is {true[name]!r}"


def _row(family: AnyFamily, recipe: Recipe, instance: InstanceFile | None, why: str, claims: Claims) -> Verification:
    """Check a row: its key, names and seed against its cell, and what it holds against its instance (None: ``why``)."""
    limits, method = CellLimits(**claims["limits"]), _method(claims["data"])
    verification = Verification()
    proof = claims["figures"].get(VERIFIED) if method.proven else None
    if proof is not None:
        claims = {**claims, "figures": {name: value for name, value in claims["figures"].items() if name != VERIFIED}}
    # First what the row says of itself, which needs no instance; then its answer, bound and proof of infeasibility.
    try:
        for each in (method, _method(claims["cell"]["method"])):  # the plan's method, and the cell's
            if key_of(recipe, each, claims["seed"], limits, claims["versions"]) != claims["key"]:
                verification.failures.append(f"key: it is not that of {printable(each.label)} on this instance")
        if recipe.content_hash() != claims["cell"]["content"]:
            verification.failures.append("cell: it is of another instance")
        if not method.runs_on(recipe.family) or claims["method"] != method.label:
            verification.failures.append(
                f"method: {claims['method']!r} is claimed, it is {method.label!r} of {method.family}"
            )
        if method.seed not in (None, claims["seed"]):
            verification.failures.append(f"seed: {claims['seed']!r} is claimed, the plan has {method.seed!r}")
        verification.failures.extend(_incomplete(claims))
        if _empty(claims):
            verification.claimed.append(f"it ended as {claims['status']}")
        elif instance is None:
            verification.failures.append(f"its instance cannot be made: {why}")
        else:
            answer = _verified(family, instance, method, limits, claims)
            verification = replace(answer, failures=[*verification.failures, *answer.failures])
        if proof is not None and not verification.failures:
            verification.claimed.append(
                "that its proof was verified" if proof else "that it has no proof that was verified"
            )
        if claims["again"] and instance is not None and not method.foreign and not verification.failures:
            verification.failures.extend(_again(family, instance, method, limits, claims, verification))
    except (DlschedError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        verification.failures.append(words_of(error))
    return verification


def _method(data: Claims) -> PlannedMethod:
    what = data["what"] if isinstance(data["what"], str) else tuple(data["what"])
    return PlannedMethod(**{each.name: data[each.name] for each in fields(PlannedMethod)} | {"what": what})


def _again(
    family: AnyFamily,
    instance: InstanceFile,
    method: PlannedMethod,
    limits: CellLimits,
    claims: Claims,
    verification: Verification,
) -> Iterator[str]:
    """Solve again, and compare the result with the row: only proven optima, and what no limit of time can have changed."""
    if claims["status"] not in _ENDED:
        verification.claimed.append("that it ends so again")
        return
    result = family.solve(
        instance, method=str(method.what), limits=limits.inner, seed=claims["seed"], solver=method.solver
    )
    # Proven optima must agree; other answers only where no limit of time can have changed them.
    longest = max(claims["time_s"] or 0.0, result.runtime_s)
    if claims["status"] == result.status == TerminationStatus.OPTIMAL:
        if result.objective is None or not meets(claims["objective"], result.objective, result.constant):
            yield f"objective: {claims['objective']!r} is claimed, solved again it is {result.objective!r}"
    elif family.method(str(method.what)).kind == "exact" or longest > _EARLY * limits.time_s:
        verification.claimed.append("that it ends so again: it depends on time")
    else:
        for name in ("status", "objective", "bound", "figures"):
            if getattr(result, name) != claims[name]:
                yield f"{name}: {claims[name]!r} is claimed, solved again it is {getattr(result, name)!r}"


def _incomplete(claims: Claims) -> Iterator[str]:
    """Find incomplete rows: objective or solution without the other, certificate without a bound."""
    if claims["objective"] is not None and claims["solution"] is None:
        yield f"objective: {claims['objective']!r} is claimed, and no solution is kept that has it"
    if claims["objective"] is None and claims["solution"] is not None:
        yield "solution: one is kept, of a row without an answer"
    if claims["bound"] is None and (claims["certificate"] is not None or claims["bound_source"] is not None):
        yield "certificate: one is kept, of a row without a bound"


def _empty(claims: Claims) -> bool:
    return claims["objective"] is None and claims["bound"] is None and claims["status"] != TerminationStatus.INFEASIBLE


def _verified(
    family: AnyFamily, instance: InstanceFile, method: PlannedMethod, limits: CellLimits, claims: Claims
) -> Verification:
    """Check a row with an answer, a bound or a proof of infeasibility against its instance."""
    record = None if method.foreign else family.method(str(method.what))
    # The row as a result file, which the checker and verifiers of results know how to read.
    data: dict[str, Json] = {
        "format": "dlsched/result/1",
        "family": family.name,
        "instance": {"name": instance.name, "sha256": instance.sha256},
        "method": FOREIGN if record is None else record.name,
        "status": "solver_error" if claims["status"] == "killed" else claims["status"],
        "sense": str(family.sense_for(instance)),
        "objective": claims["objective"],
        "constant": family.constant(instance),
        "bound": claims["bound"],
        "bound_source": claims["bound_source"],
        "gap": None,
        "runtime_s": claims["time_s"] or 0.0,
        "solver": claims["solver"],
        "seed": claims["seed"] if record is not None and record.seeded else None,
        "limits": {"time_s": limits.time_s, "nodes": limits.nodes, "threads": limits.threads},
        "certificate": claims["certificate"],
        "solution": claims["solution"],
        "figures": claims["figures"],
        "message": claims["message"],
    }
    try:
        claim = claim_from(data, "the row")
    except InputError as error:
        return Verification(failures=[str(error)])
    verification = verify_claim(family, instance, claim, "the row")
    verification.failures.extend(_figures(family, instance, claim, claims))
    if record is None and (
        claims["bound"] is not None or claims["certificate"] is not None or claims["solver"] is not None
    ):
        verification.failures.append("bound: a method that is not dlsched's proves nothing")
    if record is not None and record.kind == "heuristic":
        if claims["bound_source"] not in (None, "certificate"):
            verification.failures.append(
                f"bound_source: {claims['bound_source']!r}, but heuristics prove by certificates only"
            )
        elif verification.claimed_bound is not None:
            verification.failures.append(f"bound: {claims['bound']!r} is beyond the certificate of a heuristic")
    # A bound weaker than its certificate is as false as one that is stronger.
    bound, proven = claims["bound"], verification.verified_bound
    weaker = proven is not None and family.sense_for(instance).better(bound, proven)
    if proven is not None and weaker and not meets(bound, proven, family.constant(instance)):
        verification.failures.append(f"bound: {bound!r} is claimed, the certificate proves {proven!r}")
    if record is not None and record.kind == "bound" and claims["status"] == "no_solution":
        verification.failures.append("status: no_solution is claimed of a method that looks for none")
    if claims["status"] not in _PROVEN and not verification.failures:
        verification.claimed.append(f"that it ended as {claims['status']}")
    return verification


def _figures(family: AnyFamily, instance: InstanceFile, claim: Claim, claims: Claims) -> Iterator[str]:
    """Name the figures that are missing from a row; other versions of dlsched may have written fewer."""
    if claim.solution is None or claims["versions"].get("dlsched") != versions().get("dlsched"):
        return
    true = family.figures(instance, read_solution(family, instance, claim, "the row"))
    if set(true) - set(claims["figures"]):
        yield f"figures: {', '.join(sorted(set(true) - set(claims['figures'])))} are missing"

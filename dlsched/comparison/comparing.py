"""``compare``: every method on every instance, and answers from elsewhere, against the best that is proven."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, cast

from dlsched.comparison.comparison import Comparison
from dlsched.comparison.rows import Compared, Watch, compare_one, unwatched
from dlsched.core.arguments import require_seed
from dlsched.core.errors import UsageError
from dlsched.core.family import AnyFamily, AnyMethod
from dlsched.core.files import read_json
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits, ProgressCallback
from dlsched.core.result import Result, Solution
from dlsched.core.watching import limits_of, watched
from dlsched.families import family_of, objective_name, read, read_or_same
from dlsched.method_choice import MethodLike, method_of
from dlsched.results.reading import Claim, claim_from

Source: TypeAlias = InstanceFile | str | os.PathLike[str]
"""An instance, the path of one, or a folder of them."""
Answer: TypeAlias = str | os.PathLike[str] | Result[Solution]
"""An answer from elsewhere: the path of a result file, or a result."""


def compare(
    instances: Source | Sequence[Source],
    methods: MethodLike | Sequence[MethodLike] | None = None,
    limits: Limits | None = None,
    *,
    solutions: Answer | Sequence[Answer] = (),
    seed: int = 0,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
    verbose: bool = False,
) -> Comparison:
    """Run methods on instances, and compare their answers with the best that is proven.

    Parameters
    ----------
    instances
        One or many: instances, paths of files, folders, whose ``.json`` files are read in the order of their names.
    methods
        One or many: names, functions, policies, records, or ``file.py:function``; None: all of a family but its bounds.
    limits
        Of each method on each instance.
    solutions
        Answers from elsewhere, each of one of the instances: paths of result files, or results.
    seed
        Of every random draw.
    time_limit
        Seconds of each method on each instance, instead of ``limits``.
    progress
        Called with a ``Progress`` now and then.
    verbose
        Print a line a second on standard error.

    Returns
    -------
    A ``Comparison``; after Ctrl-C it holds what was done.

    Raises
    ------
    UsageError
        There is no instance, a family has no such method, or an answer belongs to no instance.
    InputError
        A file cannot be read.

    >>> import dlsched
    >>> found = compare(dlsched.ring_allocation.example(), ["exact", "doubling"])
    >>> [(row.method, row.ratio) for row in found.rows][0]
    ('exact', 1.0)
    """
    read_instances = _instances(instances)
    if methods is not None and (isinstance(methods, str) or not isinstance(methods, Sequence)):
        methods = [methods]
    require_seed(seed)
    answers = solutions if isinstance(solutions, list | tuple) else [solutions]
    if methods is not None and not (methods or answers):
        raise UsageError(where="methods", found="none", allowed="at least one")
    claims = dict(_claim(number, answer) for number, answer in enumerate(answers, 1))
    for path, claim in claims.items():
        if not owners_of(claim, read_instances):
            raise UsageError(where="solutions", found=stray_row(path, claim).status, allowed="answers to the instances")
    allowed = limits_of(limits, time_limit)

    @contextmanager
    def watch(what: str) -> Iterator[ProgressCallback | None]:
        with watched(None, progress, verbose=verbose, what=what) as (_, told):
            yield told

    by_family = {one.family: methods_of(family_of(one), methods) for one in read_instances}
    rows, interrupted = rows_of(read_instances, by_family, claims, allowed, seed=seed, watch=watch)
    return Comparison(tuple(rows), tuple(read_instances), interrupted)


def rows_of(
    instances: Sequence[InstanceFile],
    methods: Mapping[str, Sequence[AnyMethod]],
    claims: Mapping[str, Claim],
    limits: Limits,
    *,
    seed: int = 0,
    watch: Watch = unwatched,
) -> tuple[list[Compared], bool]:
    """Rows of all instances, and whether Ctrl-C ended them; ``methods`` by family, ``claims`` by path."""
    owners = {path: owners_of(claim, instances) for path, claim in claims.items()}
    rows: list[Compared] = []
    for index, instance in enumerate(instances):
        own = {path: claim for path, claim in claims.items() if index in owners[path]}
        found, interrupted = compare_one(instance, methods[instance.family], own, limits, seed=seed, watch=watch)
        family = family_of(instance)
        named, sense = objective_name(instance), family.sense_for(instance)
        rows += [replace(row, family=family.name, index=index, objective_name=named, sense=sense) for row in found]
        if interrupted:
            return rows, True
    return rows, False


def methods_of(family: AnyFamily, wanted: Sequence[MethodLike] | None) -> list[AnyMethod]:
    """Return the methods that are wanted of a family; None: all but its bounds."""
    if wanted is None:
        return [method for method in family.methods.values() if method.kind != "bound"]
    chosen, times = [method_of(family, each) for each in wanted], Counter[str]()
    for place, method in enumerate(chosen):
        times[method.name] += 1
        if times[method.name] > 1 and ":" in method.name:  # two functions of one name, such as lambdas
            chosen[place] = replace(method, name=f"{method.name} ({times[method.name]})")
    return chosen


def owners_of(claim: Claim, instances: Sequence[InstanceFile]) -> set[int]:
    """Indices of the instances to which an answer belongs; one that does not say belongs to the only one."""
    if len(instances) == 1 and claim.of(instances[0]) is None:
        return {0}
    return {index for index, instance in enumerate(instances) if claim.of(instance)}


def stray_row(path: str, claim: Claim) -> Compared:
    """Say of an answer that it belongs to none of the instances, or that it does not say to which."""
    label = claim.method or Path(path).stem
    named = claim.instance if claim.result is None else claim.result.instance
    if named is None:
        said = "a bare solution does not say to which of several instances it belongs"
        return Compared("-", label, "foreign", f"{path}: {said}")
    return Compared(named.name or "-", label, "foreign", f"{path}: belongs to no instance that was given")


def _instances(given: Source | Sequence[Source]) -> list[InstanceFile]:
    single = isinstance(given, InstanceFile | str | os.PathLike)
    sources = cast("list[Source]", list(given) if isinstance(given, Iterable) and not single else [given])
    found: list[InstanceFile] = []
    for source in sources:
        if isinstance(source, str | os.PathLike) and Path(source).is_dir():
            found += map(read, sorted(Path(source).glob("*.json")))
        else:
            found.append(read_or_same(source))
    if not found:
        raise UsageError(where="instances", found="none", allowed="at least one")
    return found


def _claim(number: int, answer: Answer) -> tuple[str, Claim]:
    if isinstance(answer, Result):
        data = None if answer.solution is None else answer.solution.as_data()
        return f"solution {number}", Claim(data, answer.objective, answer.method, answer)
    if not isinstance(answer, str | os.PathLike):
        allowed = "results, or paths of result files"
        raise UsageError(where="solutions", found=type(answer).__name__, allowed=allowed)
    path = os.fspath(answer)
    return path, claim_from(read_json(path), path)

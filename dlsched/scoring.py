"""``score``: one number for a method, by its answers to a suite of instances whose optima are proven.

The optima are proven and the baselines run before the method is imported, and of these only objectives are kept: no file and no
process then holds an optimal solution. The method runs in a contained process, as in studies. What it answers is read and checked
once more here, by modules that were loaded before it ran.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean

from dlsched.catalogue.families import suite as suite_of_family
from dlsched.core.arguments import LARGEST_DRAWN, require_seed
from dlsched.core.display import Brief
from dlsched.core.errors import DisagreementError, InputError, UsageError
from dlsched.core.family import AnyFamily
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import Refused, printable, several
from dlsched.core.quantities import number
from dlsched.core.quantities import ratio as ratio_text
from dlsched.core.verdict import Known, Reference, Verdict, reference_of, verdict
from dlsched.families import family_of, find_family, generate, read
from dlsched.study.cells.cell import Cell, Outcome, key_of
from dlsched.study.engines import local
from dlsched.study.plans.method_entries import imported, target_of
from dlsched.study.plans.plan import CellLimits, PlannedLike, PlannedMethod, combinations
from dlsched.study.plans.plan_file import make_plan, read_plan
from dlsched.study.plans.sources import recipes
from dlsched.study.recipes import recipe_of_instance, require_data

SUITES = {"quick": 2, "full": 20}
"""Instances of each kind in a suite, by its name."""
PROOF = CellLimits(time_s=60.0)
"""Limits of the proof of an optimum."""
BASELINE = CellLimits(time_s=60.0, nodes=1000)
"""Limits of a baseline on an instance: in nodes, so that those that go on improving end alike everywhere."""
TIME_LIMIT_S = 10.0
"""Seconds that a method has for an instance."""


@dataclass(frozen=True, repr=False)
class Score(Brief):
    """How near a method comes to the optima of a suite.

    Parameters
    ----------
    score
        Mean over the instances of optimum / answer (answer / optimum where more is better), in [0, 1]; 0 where it has no feasible
        answer. Objectives are without the part that no decision changes, as in all ratios of dlsched.
    family, suite
        Names.
    held_out
        Whether the instances were drawn from a seed that the caller keeps.
    instances, failed
        Numbers of instances, and of those without a feasible answer.
    ratio_mean, ratio_worst
        Of answers to optima, at least 1; None if there is no answer.
    baselines
        Scores of the family's heuristics on the same instances, by name.
    seconds
        Of the method, over all instances.
    feedback
        A line for each instance, the worst first: answer, optimum, and which rule was broken. Empty on held-out instances.
    unproven
        Names of instances that were left out, as no optimum was proven within 60 s.
    """

    score: float
    family: str
    suite: str
    held_out: bool
    instances: int
    failed: int
    ratio_mean: float | None
    ratio_worst: float | None
    baselines: Mapping[str, float]
    seconds: float
    feedback: tuple[str, ...]
    unproven: tuple[str, ...] = ()

    @property
    def beaten_by(self) -> list[str]:
        """Names of the baselines with a higher score, the best first."""
        ranked = sorted((-value, name) for name, value in self.baselines.items())
        return [name for value, name in ranked if -value > self.score]

    def as_data(self) -> dict[str, object]:
        """Return what ``dlsched score --json`` prints."""
        lists = {"feedback": [*self.feedback], "unproven": [*self.unproven], "beaten_by": self.beaten_by}
        return vars(self) | {"baselines": dict(self.baselines)} | lists

    def __repr__(self) -> str:
        """Say the score in two lines."""
        over = several(self.instances, "held-out instance" if self.held_out else "instance")
        words = [f"score {self.score:.4f} over {over} of {self.family}, suite {printable(self.suite)}"]
        if self.failed:
            words.append(f"{self.failed:,} without a feasible answer")
        if self.ratio_mean is not None:
            worst = ratio_text(self.ratio_worst)
            words.append(f"ratio to the optimum {ratio_text(self.ratio_mean)} on average, {worst} at worst")
        beaten = ", ".join(f"{name} {self.baselines[name]:.4f}" for name in self.beaten_by) or "no baseline"
        return f"{'; '.join(words)}\nbeaten by: {beaten}"


class Judge:
    """Scores methods on one suite; its optima and baselines are computed once, with the first score.

    Parameters
    ----------
    family
        Name of a family.
    suite
        ``quick`` or ``full``, of every kind of instance 2 or 20; or the path of an instance or of a plan, whose
        instances are the suite (functions and searches of a plan do not run).
    held_out
        A seed >= 0, which the caller keeps: the same kinds are drawn anew from it. None: the suite that everybody has.
    time_limit
        Seconds > 0 that a method has for an instance.
    seed
        Of methods that draw.
    progress
        Called with a few words now and then.

    Raises
    ------
    UsageError
        No such family or suite, or an instance of another family.
    InputError
        The suite's file cannot be read.
    """

    def __init__(
        self,
        family: str,
        *,
        suite: str | os.PathLike[str] = "quick",
        held_out: int | None = None,
        time_limit: float = TIME_LIMIT_S,
        seed: int = 0,
        progress: Callable[[str], None] = lambda words: None,
    ) -> None:
        require_seed(seed)
        if not isinstance(time_limit, float | int) or isinstance(time_limit, bool) or not 0 < time_limit < 1e9:
            raise UsageError(where="time limit", found=repr(time_limit), allowed="seconds > 0")
        self._family: AnyFamily = find_family(family)
        self._limits, self._seed, self._progress = CellLimits(time_s=float(time_limit)), seed, progress
        self._suite, self._held_out = os.fspath(suite), held_out is not None
        drawn = _instances(self._family, os.fspath(suite), held_out)
        # what is known of an instance is not for the method to read
        fields = self._family.instance.model_fields.keys() - {"known"}
        self._instances = [type(each)(**{name: getattr(each, name) for name in fields}) for each in drawn]

    def score(self, method: PlannedLike) -> Score:
        """Run a method on the suite.

        Parameters
        ----------
        method
            As in a study: a name, ``file.py:function``, a function, a policy or its class. A file is imported in the
            contained process only.

        Raises
        ------
        UsageError
            There is no such method or file, no optimum of the suite is proven, or a function cannot be handed to another process.
        DisagreementError
            An answer is better than a proven optimum, or files of dlsched changed while the method ran.
        """
        planned = self._planned(method)
        references, baselines, unproven = self._optima
        instances = [each for each in self._instances if each.name in references]
        code = _hash_of_code(self._family)
        answers = self._run([(planned, self._limits)], instances)[planned.label]
        if _hash_of_code(self._family) != code:
            raise DisagreementError(
                f"files of dlsched or of {self._family.name} changed while {planned.label} ran: install anew"
            )
        verdicts = _against(references, answers)
        ratios = [each.ratio for each in verdicts.values() if each.ratio is not None]
        return Score(
            _mean(verdicts),
            self._family.name,
            self._suite,
            self._held_out,
            len(instances),
            sum(answer.objective is None for answer in answers.values()),
            fmean(ratios) if ratios else None,
            max(ratios, default=None),
            baselines,
            sum(answer.time_s or 0.0 for answer in answers.values()),
            () if self._held_out else tuple(_feedback(answers, verdicts)),
            unproven,
        )

    def _planned(self, method: PlannedLike) -> PlannedMethod:
        """Return a method as studies take it; a file of the user's is not imported."""
        if not isinstance(method, str):
            return make_plan(instances=self._instances[:1], methods=[method]).methods[0]
        if ":" not in method:
            return PlannedMethod(method, "name", self._family.method(method).name)
        try:
            imported(method, Path(), None)
            return PlannedMethod(method, "python", target_of(method, Path()))
        except Refused as error:
            raise UsageError(where="method", found=error.found, allowed=error.allowed) from None

    @cached_property
    def _optima(self) -> tuple[dict[str, Reference], dict[str, float], tuple[str, ...]]:
        """The proven optima by instance, the scores of baselines by name, and the instances without a proof."""
        heuristics = [
            name
            for name, method in self._family.methods.items()
            if method.kind == "heuristic" and all(map(method.runs_unasked, self._instances))
        ]
        limits = {"exact": PROOF} | dict.fromkeys(heuristics, BASELINE)
        named = [(PlannedMethod(name, "name", name), limit) for name, limit in limits.items()]
        answers = self._run(named, self._instances, os.cpu_count() or 1)
        references: dict[str, Reference] = {}
        for instance in self._instances:
            sense, constant = self._family.sense_for(instance), self._family.constant(instance)
            found = reference_of([answers["exact"][instance.name]], sense, Known(constant))
            if found is not None and found.kind == "optimum":
                references[instance.name] = found
        if not references:
            raise UsageError(
                where="suite", found="no instance whose optimum is proven within 60 s", allowed="smaller ones"
            )
        baselines = {name: _mean(_against(references, answers[name])) for name in heuristics}
        return references, baselines, tuple(name for name in answers["exact"] if name not in references)

    def _run(
        self, methods: Sequence[tuple[PlannedMethod, CellLimits]], instances: Sequence[InstanceFile], workers: int = 1
    ) -> dict[str, dict[str, Outcome]]:
        """Run methods within their limits in contained processes; return answers, checked here, by method and instance."""
        cells: dict[str, tuple[InstanceFile, Cell]] = {}
        for instance in instances:
            recipe = recipe_of_instance(instance, "suite")
            for method, limits in methods:
                key = key_of(recipe, method, self._seed, limits)
                cells[key] = instance, Cell(key, recipe, method, self._seed, limits)
        answers: dict[str, dict[str, Outcome]] = {method.label: {} for method, _ in methods}
        ended = 0
        with closing(local.run((cell for _, cell in cells.values()), workers, os.getcwd())) as arriving:
            for outcome in (each for outcomes in arriving for each in outcomes):
                instance, cell = cells[outcome.key]
                answers[cell.method.label][instance.name] = _checked(self._family, instance, outcome)
                ended += 1
                self._progress(f"{cell.method.label}, {ended:,} of {several(len(cells), 'run')}")
        return answers


def score(
    method: PlannedLike,
    *,
    family: str,
    suite: str | os.PathLike[str] = "quick",
    held_out: int | None = None,
    time_limit: float = TIME_LIMIT_S,
    seed: int = 0,
) -> Score:
    """Score a method of one's own by its answers to instances whose optima are proven.

    Parameters
    ----------
    method
        A name, ``file.py:function``, a function of an instance, a policy or its class.
    family, suite, held_out, time_limit, seed
        As in ``Judge``, which scores many methods on one suite.

    Raises
    ------
    UsageError, InputError, DisagreementError
        As ``Judge`` and its ``score`` do. A method that fails on all instances has score 0.

    >>> import dlsched
    >>> result = dlsched.score("exact", family="async_sgd")
    >>> (result.score, result.failed, result.beaten_by)
    (1.0, 0, [])
    """
    return Judge(family, suite=suite, held_out=held_out, time_limit=time_limit, seed=seed).score(method)


def _instances(family: AnyFamily, suite: str, held_out: int | None) -> list[InstanceFile]:
    """Draw a suite, or read that of a file."""
    if suite not in SUITES:
        if held_out is not None:
            raise UsageError(where="held_out", found=f"a seed beside {printable(suite)}", allowed=" or ".join(SUITES))
        return _from_file(family, suite)
    if held_out is not None:
        require_seed(held_out)
    drawn = []
    for kind in suite_of_family(family.name):
        for index, arguments in enumerate(combinations(kind)):
            for place in range(SUITES[suite]):
                words = f"{held_out}:{index}:{place}".encode()
                seed = place if held_out is None else int(hashlib.sha256(words).hexdigest(), 16) % LARGEST_DRAWN
                drawn.append(generate(family.name, **arguments, seed=seed))
    return list({each.name: each for each in drawn}.values())


def _from_file(family: AnyFamily, path: str) -> list[InstanceFile]:
    """Read an instance, or the instances of a plan, of which no code runs."""
    if path.endswith(".toml"):
        planned = list(recipes(read_plan(path, run_code=False)))
        for recipe in planned:
            require_data(recipe)
        found = [recipe.make() for recipe in planned]
    elif os.path.exists(path):
        found = [read(path)]
    else:
        raise UsageError(where="suite", found=printable(path), allowed=f"{', '.join(SUITES)}, or a file that is there")
    for each in found:
        if family_of(each) is not family:
            raise UsageError(where="suite", found=f"an instance of {each.family}", allowed=f"those of {family.name}")
    return list({each.name: each for each in found}.values())


def _checked(family: AnyFamily, instance: InstanceFile, outcome: Outcome) -> Outcome:
    """Read and check an answer anew: of an outcome only its solution is believed; without a bound, only optima are references."""
    bare = replace(outcome, objective=None, bound=None, solution=None, certificate=None)
    if outcome.solution is None:
        return bare
    try:
        text = outcome.solution
        solution = family.read_solution(json.loads(text) if isinstance(text, bytes) else text, instance)
        broken = family.check(instance, solution)
    except InputError as error:
        return replace(bare, status="error", message=str(error))
    if broken:
        return replace(bare, status="rejected", message=f"breaks {broken[0]}")
    return replace(bare, objective=family.objective(instance, solution))


def _against(references: Mapping[str, Reference], answers: Mapping[str, Outcome]) -> dict[str, Verdict]:
    """Compare answers with the optima."""
    verdicts = {name: verdict(answers[name].objective, found) for name, found in references.items()}
    for name, found in verdicts.items():
        if found.contradicts is not None:
            answer = answers[name].objective
            raise DisagreementError(
                f"{name}: the answer {answer!r} contradicts the proven optimum {found.contradicts!r}"
            )
    return verdicts


def _mean(verdicts: Mapping[str, Verdict]) -> float:
    """The score: 1 / ratio, and 0 where there is none."""
    return fmean(1 / found.ratio if found.ratio is not None else 0.0 for found in verdicts.values())


def _feedback(answers: Mapping[str, Outcome], verdicts: Mapping[str, Verdict]) -> Iterator[str]:
    """Say for each instance, the worst first, what was answered and what was possible."""
    for name in sorted(verdicts, key=lambda each: (-(verdicts[each].ratio or float("inf")), each)):
        answer, found = answers[name], verdicts[name]
        if answer.objective is None:
            why = f": {printable(answer.message)}" if answer.message else ""
            yield f"{printable(name)}: no feasible answer ({answer.status}{why}); the optimum is {number(found.reference)}"
        elif found.ratio == 1:
            yield f"{printable(name)}: {number(answer.objective)}, optimal"
        else:
            words = (
                f"{number(answer.objective)}, the optimum is {number(found.reference)}, ratio {ratio_text(found.ratio)}"
            )
            yield f"{printable(name)}: {words}"


def _homes(family: AnyFamily) -> set[Path]:
    """Folders of dlsched and of the family's package."""
    package = sys.modules[family.instance.__module__.partition(".")[0]]
    return {Path(str(module.__file__)).parent for module in (sys.modules[__package__], package)}


def _hash_of_code(family: AnyFamily) -> str:
    """Hash the Python files that judge."""
    digest = hashlib.sha256()
    for file in sorted(file for home in _homes(family) for file in home.rglob("*.py")):
        digest.update(f"{file}\n".encode() + file.read_bytes())
    return digest.hexdigest()

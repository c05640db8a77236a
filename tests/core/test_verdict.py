"""References and verdicts by hand, and that nobody else computes a ratio or a gap."""

import ast
import re
from pathlib import Path
from typing import NamedTuple

from conftest import tree_of

import dlsched
from dlsched.core.status import Sense
from dlsched.core.verdict import Known, Reference, Verdict, reference_of, verdict

PACKAGE = Path(dlsched.__file__).parent
MIN, MAX = Sense.MINIMIZE, Sense.MAXIMIZE
ALLOWED = {
    "core/verdict.py": {"gap", "ratio"},
    "core/result.py": {"gap"},
    "core/search.py": {"gap"},
    "proofs/proof.py": {"gap"},
    "proofs/verification.py": {"gap"},
    "__init__.py": {"gap", "ratio"},
}
"""Who may import the two formulas: verdicts; a search, a result, a proof, for the gap to their own bound, and the check of
a claimed one; the package."""
NOTHING = Known()


class Answer(NamedTuple):
    """What a method answered."""

    status: str
    objective: float | None = None
    bound: float | None = None


def found(*answers: Answer, known: Known = NOTHING, sense: Sense = MIN, **options: object) -> tuple[float, str] | None:
    """Value and kind of a reference."""
    reference = reference_of(answers, sense, known, **options)  # type: ignore[arg-type]
    return None if reference is None else (reference.value, reference.kind)


def test_ratio_and_gap_are_computed_in_one_place() -> None:
    """No other module imports the formulas, so that no command has a rule of its own."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if re.search(r"\b(gap|ratio)\b", path.read_text(encoding="utf-8")) is None:
            continue
        home = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and node.module in ("dlsched", "dlsched.core.gap"):
                taken = {alias.name for alias in node.names} & {"gap", "ratio"}
                assert taken <= ALLOWED.get(home, set()), f"{home} imports {taken} of {node.module}"
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names]
                module = getattr(node, "module", None)
                whole = "dlsched.core.gap" in names or (module == "dlsched.core" and "gap" in names)
                assert not whole, f"{home} imports the module core.gap"


def test_the_best_that_is_proven_is_the_reference() -> None:
    """An optimum before a bound; of methods before that of the file; the tighter bound."""
    assert found() is None
    assert found(Answer("feasible", 12.0)) is None
    assert found(Answer("feasible", 12.0, 8.0), known=Known(bound=9.0)) == (9.0, "bound")
    assert found(Answer("feasible", 12.0, 8.0), known=Known(bound=9.0), sense=MAX) == (8.0, "bound")
    assert found(Answer("feasible", 12.0), known=Known(optimum=10.0, bound=10.0)) == (10.0, "optimum")
    assert found(Answer("optimal", 11.0, 11.0), known=Known(optimum=10.0, bound=10.0)) == (11.0, "optimum")


def test_an_answer_that_meets_the_bound_of_another_is_an_optimum() -> None:
    """10 and a bound of 10 from elsewhere: nothing can be better than 10."""
    assert found(Answer("feasible", None, 10.0), Answer("feasible", 10.0)) == (10.0, "optimum")


def test_of_a_method_that_is_named_the_first_that_is_taken() -> None:
    """A heuristic with an answer of 12 and a bound of 8: studies take what it proved, searches its answer."""
    answer = Answer("feasible", 12.0, 8.0)
    assert found(answer, named=[answer]) == (8.0, "bound")
    assert found(answer, named=[answer], taken=("optimum", "answer", "bound")) == (12.0, "answer")
    assert found(named=[Answer("time_limit", 12.0)], taken=("optimum", "bound")) is None
    assert found(answer, named=[]) is None
    met = Answer("solver_error", 10.0, 10.0 - 1e-7)
    assert found(met, named=[met]) == (10.0, "optimum")


def test_a_verdict_by_hand() -> None:
    """Less and more is better; of 130 and 120 100 are shared."""
    assert verdict(20.0, Reference(16.0, "optimum")) == Verdict(16.0, "optimum", 1.25, 0.2)
    assert verdict(8.0, Reference(10.0, "bound", MAX)) == Verdict(10.0, "bound", 1.25, 0.2)
    assert verdict(130.0, Reference(120.0, "bound", MIN, 100.0)).ratio == 1.5
    assert verdict(None, Reference(16.0, "optimum")) == Verdict(16.0, "optimum")
    assert verdict(20.0, None) == Verdict()


def test_what_is_better_by_rounding_is_at_the_reference() -> None:
    """And what is worse by rounding keeps its ratio; both meet it, so that none is at most."""
    better, worse = (verdict(value, Reference(10.0, "bound", proofs=(10.0,))) for value in (10.0 - 1e-7, 10.0 + 1e-7))
    assert (better.ratio, better.gap, better.met, better.at_most, better.contradicts) == (1.0, 0.0, True, False, None)
    assert worse.ratio == (10.0 + 1e-7) / 10.0 and worse.met and not worse.at_most
    assert verdict(11.0, Reference(10.0, "bound")).at_most


def test_a_ratio_without_bound_is_none_and_said() -> None:
    """Something over nothing; nothing over nothing is 1."""
    assert verdict(3.0, Reference(0.0, "optimum")) == Verdict(0.0, "optimum", None, 1.0, unbounded=True)
    assert verdict(0.0, Reference(4.0, "optimum", MAX)).unbounded
    assert verdict(0.0, Reference(0.0, "optimum")).ratio == 1.0


def test_an_answer_contradicts_the_first_proof_that_it_beats() -> None:
    """10.5 is no better than an optimum of 10, and better than a bound of 11: the two proofs exclude each other."""
    proofs = reference_of([Answer("optimal", 10.0, 10.0), Answer("feasible", None, 11.0)], MIN, Known())
    assert proofs is not None and proofs.proofs == (10.0, 11.0)
    assert [verdict(value, proofs).contradicts for value in (12.0, 10.5, 9.0)] == [None, 11.0, 10.0]

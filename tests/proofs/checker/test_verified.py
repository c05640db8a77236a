"""Proofs against an instance: its hash, its model, its solution; and the size of the checker."""

import ast
import gzip
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from conftest import tree_of

import dlsched
from dlsched.core.errors import InputError, ProofError
from dlsched.proofs.checker import check_proof
from proofs.by_hand import BEST, BOUND, HEAD, INSTANCE, WORSE, written

MOST_LINES = 400


def test_the_checker_is_small() -> None:
    """All its files together, without blank lines and docstrings, so that a reader can believe it."""
    count = 0
    for file in sorted((Path(dlsched.__file__).parent / "proofs" / "checker").glob("*.py")):
        owners = [
            node for node in ast.walk(tree_of(file)) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        ]
        docstrings = [owner.body[0] for owner in owners if ast.get_docstring(owner) is not None]
        said = {line for each in docstrings for line in range(each.lineno, (each.end_lineno or 0) + 1)}
        lines = enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
        count += sum(number not in said and bool(line.strip()) for number, line in lines)
    assert 300 < count <= MOST_LINES


@pytest.mark.parametrize("packed", [False, True])
def test_an_optimum(packed: bool, tmp_path: Path, viprchk: Callable[..., bool]) -> None:
    """The solution of the proof is that of the instance, and its bound meets it."""
    path = tmp_path / "proof.vipr"
    path.write_text(written(), encoding="utf-8")
    assert viprchk(path)
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    found = check_proof(path, INSTANCE)
    assert (found.lower, found.upper, found.closed, found.infeasible) == (6, 6, True, False)
    assert (found.formulation, found.cases, found.objective) == ("milp", 1, 6.0)
    assert found.solution is not None and found.solution.as_data() == {"gpus": {"a": 1, "b": 2}}
    assert check_proof(path, INSTANCE, "milp") == found


OPEN = {
    "no bound": (written("range -inf 6", derivation=()), None, Fraction(6)),
    "no solution": (written("range 6 inf", ()), Fraction(6), None),
    "a worse solution": (written("range 6 7", (WORSE,)), Fraction(6), Fraction(7)),
    "a weak bound": (
        written("range 1/3 6", derivation=("b G 1/3 OBJ { lin 4 9 6 10 6 8 -2 4 1 } -1",)),
        Fraction(1, 3),
        Fraction(6),
    ),
    "nothing": (written("range -inf inf", (), ()), None, None),
    "a bound without a float": (
        written(f"range -1{'0' * 400} 6", (BEST,), (f"b G -1{'0' * 400} OBJ {{ lin 4 9 6 10 6 8 -2 4 1 }} -1",)),
        Fraction(-(10**400)),
        Fraction(6),
    ),
}


@pytest.mark.parametrize("name", OPEN)
def test_open_ranges(name: str, tmp_path: Path) -> None:
    """They are true, and not closed."""
    text, lower, upper = OPEN[name]
    path = tmp_path / "proof.vipr"
    path.write_text(text, encoding="utf-8")
    found = check_proof(path, INSTANCE)
    assert (found.lower, found.upper, found.closed) == (lower, upper, False)


NO_PROOFS = {
    "nothing": "",
    "another instance": written(head=HEAD.replace(INSTANCE.sha256, "0" * 64)),
    "no hash": written(head="% formulation: milp\n"),
    "another formulation": written(head=HEAD.replace("milp", "nosuch")),
    "no formulation": written(head=HEAD.replace("% formulation: milp\n", "")),
    "JSON": '{"format": "dlsched/result/1"}\n',
}


@pytest.mark.parametrize("name", NO_PROOFS)
def test_no_proofs(name: str, tmp_path: Path) -> None:
    """Refused with the file's name."""
    path = tmp_path / "proof.vipr"
    path.write_text(NO_PROOFS[name], encoding="utf-8")
    with pytest.raises(InputError, match=r"proof.vipr: "):
        check_proof(path, INSTANCE)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """No file, a folder, a gzip file that is cut or damaged."""
    path = tmp_path / "proof.vipr.gz"
    packed = gzip.compress(written().encode())
    for damage in (packed[:-20], packed[:40] + bytes(20) + packed[60:], packed[:3]):
        path.write_bytes(damage)
        with pytest.raises(InputError, match=r"proof.vipr.gz: "):
            check_proof(path, INSTANCE)
    for missing in (tmp_path, tmp_path / "none"):
        with pytest.raises(InputError, match="cannot be read"):
            check_proof(missing, INSTANCE)


def test_a_formulation_that_is_asked_for(tmp_path: Path) -> None:
    """The file's comment says the same, or nothing."""
    path = tmp_path / "proof.vipr"
    path.write_text(written(head=HEAD.replace("% formulation: milp\n", "")), encoding="utf-8")
    assert check_proof(path, INSTANCE, "milp").closed
    path.write_text(written(head=HEAD.replace("milp", "other")), encoding="utf-8")
    with pytest.raises(InputError, match="formulation"):
        check_proof(path, INSTANCE, "milp")
    with pytest.raises(InputError, match="formulation"):
        check_proof(path, INSTANCE, "other")


def test_unit_and_constant_of_the_file_mean_nothing(tmp_path: Path) -> None:
    """They are those of the formulation."""
    path = tmp_path / "proof.vipr"
    path.write_text(written(head=f"{HEAD}% unit: 5\n% constant: 7\n% sense: max\n"), encoding="utf-8")
    assert check_proof(path, INSTANCE).upper == 6


def test_a_lie(tmp_path: Path) -> None:
    """The line is named."""
    path = tmp_path / "proof.vipr"
    path.write_text(written("range 7 7", (WORSE,), (BOUND.replace("G 6", "G 7"),)), encoding="utf-8")
    with pytest.raises(ProofError, match=r"proof.vipr: line 27: the line does not follow from its sum"):
        check_proof(path, INSTANCE)

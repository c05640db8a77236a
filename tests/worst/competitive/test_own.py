"""Policies of the user's own: suprema as those of dlsched's, what is refused and where, and intervals of stopped searches."""

import json
import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dlsched
from dlsched.core.errors import DlschedError, InputError, UsageError
from dlsched.core.limits import Limits
from dlsched.worst.competitive.own import own_policy
from dlsched.worst.competitive.programs import Programs
from dlsched.worst.competitive.proven import Supremum, prove_policy, speeds_of
from dlsched.worst.competitive.verification import verify
from tests.conftest import Ended
from tests.worst.competitive.own_policies import Equal

HERE = Path(__file__).parent / "own_policies.py"
COPIES = {"Equal": "equal", "SjfFastest": "sjf-fastest", "SrptKnee": "srpt-knee"}
TWO, THREE, FOUR = "1,9/5", "1,7/4,9/4", "1,9/5,5/2,31/10"


def data_of(proven: Supremum) -> dict[str, Any]:
    """Return a certificate as a file has it."""
    data: dict[str, Any] = json.loads(json.dumps(proven.as_data()))
    return data


@pytest.mark.parametrize(
    ("name", "speeds", "jobs"),
    [
        *((name, speeds, 2) for name in COPIES for speeds in (TWO, THREE)),
        ("Equal", TWO, 3),
        *(pytest.param(name, FOUR, 3, marks=pytest.mark.slow) for name in COPIES),
    ],
)
def test_a_copy_has_the_same_supremum(name: str, speeds: str, jobs: int) -> None:
    """To the fraction; its instance has .999 of it in the simulator, with the copy, and the certificate holds."""
    proven = prove_policy(f"{HERE}:{name}", speeds=speeds_of(speeds), jobs=jobs)
    assert proven.supremum == prove_policy(COPIES[name], speeds=speeds_of(speeds), jobs=jobs).supremum
    assert verify(data_of(proven), own_policy(f"{HERE}:{name}")).supremum == proven.supremum
    found = dlsched.solve(proven.instance, method=f"{HERE}:{name}").objective
    assert found is not None
    assert found * jobs / float(proven.schedule.flow.at) == pytest.approx(float(proven.ratio), rel=1e-9)
    assert proven.ratio >= proven.supremum * Fraction(999, 1000)


def test_a_class_is_named_by_its_file() -> None:
    """As the certificate says; one that stands in no file is refused."""
    proven = prove_policy(Equal, speeds=speeds_of(TWO), jobs=1)
    assert proven.as_data()["method"] == "own_policies.py:Equal"
    scope: dict[str, Any] = {}
    exec("class Nowhere:\n    def decide(self, view): return {}", scope)
    with pytest.raises(UsageError, match="allowed: a class that stands in a file"):
        prove_policy(scope["Nowhere"], speeds=speeds_of(TWO))


def test_errors_that_a_policy_catches_hide_no_comparison() -> None:
    """The search splits on what it swallowed: with linear speeds it is the optimum (Schrage 1968)."""
    assert prove_policy(f"{HERE}:Swallows", speeds=speeds_of("linear", 2), jobs=2).supremum == 1


def line_of(words: str) -> int:
    """Number of the line that has these words."""
    return next(k for k, line in enumerate(HERE.read_text(encoding="utf-8").splitlines(), 1) if words in line)


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("ReadsClock", "time.time()", "a call of a clock or of random numbers, which a proof cannot follow"),
        ("Draws", "random.choice", "a call of a clock or of random numbers, which a proof cannot follow"),
        ("DrawsOutOfSight", "", "does not decide alike each time"),
        ("Multiplies", "view.left(job) * view.epochs", "a product or quotient of two times, which is not linear"),
        ("Floats", "float(view.left", "a float of a time"),
        ("Wakes", "view.wake_at", "a proof has no view.wake_at"),
        ("Greedy", "", "found 4 units in all, there are 2"),
        ("Idle", "", "the ratio has no bound: jobs wait after these events: arrival, arrival"),
        ("WaitsForCompany", "", "the ratio has no bound: jobs wait after"),
        ("policy", "", "found a str, allowed: a class with `decide`"),
        ("Nobody", "", "allowed: a function or class that stands in"),
    ],
)
def test_what_a_proof_cannot_follow_is_refused_where_it_happens(name: str, words: str, said: str) -> None:
    """With the line, if it is one."""
    with pytest.raises(UsageError) as refused:
        prove_policy(f"{HERE}:{name}", speeds=speeds_of(TWO), jobs=2)
    assert said in str(refused.value)
    if words:
        assert f"own_policies.py, line {line_of(words)}: " in str(refused.value)


def test_checking_runs_no_code_that_a_file_names(tmp_path: Path, cli: Callable[..., Ended]) -> None:
    """Only that of --method, and only if it is the same to the byte."""
    own = tmp_path / "mine.py"
    own.write_bytes(HERE.read_bytes())
    proof, worst = tmp_path / "proof.json", tmp_path / "worst.json"
    asked = ["--method", f"{own}:Equal", "--speeds", TWO, "--prove", "--certificate", proof, "-o", worst]
    assert cli("worst", "elastic_stream", *asked).code == 0
    refused = cli("check", worst, proof)
    assert (refused.code, "allowed: FILE.py:CLASS: " in refused.line) == (2, True)
    assert "the supremum of objective / optimum is 6/5" in cli("check", worst, proof, "--method", f"{own}:Equal").out
    assert cli("check", worst, proof, "--method", f"{own}:SjfFastest").code == 7
    own.write_bytes(HERE.read_bytes() + b"\n")
    refused = cli("check", worst, proof, "--method", f"{own}:Equal")
    assert (refused.code, "sha256" in refused.line) == (3, True)


def test_a_certificate_of_other_code_is_refused() -> None:
    """One of dlsched's policies has no code, one of the user's has to name it."""
    data = data_of(prove_policy(f"{HERE}:Equal", speeds=speeds_of(TWO), jobs=1))
    for changed in (data | {"code_sha256": "0" * 64}, {key: data[key] for key in data if key != "code_sha256"}):
        with pytest.raises(InputError, match="sha256"):
            verify(changed, own_policy(f"{HERE}:Equal"))
    with pytest.raises(InputError, match="sha256"):
        verify(data)


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_stopped_search_gives_an_interval(interrupted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it is stopped, by a limit or by Ctrl-C: the supremum 9/5 is in it, and the certificate holds."""
    whole = prove_policy("equal", speeds=speeds_of(TWO), jobs=3)
    bounded = 0
    for at in random.Random(3).sample(range(1, whole.programs), 5):
        limits = None if interrupted else Limits(nodes=at)
        if interrupted:
            _interrupt_once(monkeypatch, at)
        proven = prove_policy("equal", speeds=speeds_of(TWO), jobs=3, limits=limits)
        monkeypatch.undo()
        assert proven.supremum is None
        assert proven.ended == ("interrupted" if interrupted else "limit")
        assert proven.ratio <= Fraction(9, 5)
        if proven.at_most is not None:
            bounded += 1
            assert proven.at_most >= Fraction(9, 5)
            found = verify(data_of(proven))
            assert (found.supremum, found.ratio, found.interval) == (proven.at_most, proven.ratio, True)
    assert bounded


def _interrupt_once(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Let Ctrl-C come in a linear program."""
    solved, left = Programs.bound, iter([False] * after + [True])

    def bound(*arguments: Any) -> Any:
        if next(left, False):
            raise KeyboardInterrupt
        return solved(*arguments)

    monkeypatch.setattr(Programs, "bound", bound)


def test_an_interval_that_is_too_short_is_refused() -> None:
    """Its upper end lowered, or said to be the supremum."""
    data = data_of(prove_policy("equal", speeds=speeds_of(TWO), jobs=3, limits=Limits(nodes=30)))
    assert verify(data).interval
    wrong = {key: data[key] for key in data if key != "at_most"}
    for changed in (data | {"at_most": "3/2"}, wrong | {"supremum": data["at_most"]}):
        with pytest.raises((ValueError, DlschedError)):
            verify(changed)


def test_nothing_is_proven_without_a_program() -> None:
    """The limit, by name."""
    with pytest.raises(UsageError, match="limits: found a node_limit after 0 linear programs"):
        prove_policy("equal", speeds=speeds_of(TWO), limits=Limits(nodes=0))


def test_the_command_line_shows_an_interval(tmp_path: Path, cli: Callable[..., Ended]) -> None:
    """Both ends, and a certificate only once there is an upper one."""
    asked = ["worst", "elastic_stream", "--method", "equal", "--jobs", "3", "--speeds", TWO, "--prove"]
    proof, worst = tmp_path / "proof.json", tmp_path / "worst.json"
    assert "stopped before the supremum was known" in cli(*asked, "--node-limit", "30").out
    assert cli(*asked, "--node-limit", "30", "--certificate", proof, "-o", worst).code == 0
    assert "objective / optimum is at most" in cli("check", worst, proof).out
    refused = cli(*asked, "--node-limit", "1", "--certificate", proof, "-o", worst)
    assert (refused.code, "not written" in refused.line) == (2, True)

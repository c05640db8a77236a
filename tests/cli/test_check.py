"""``dlsched check``: is it feasible, are objective and certificate true, and whose result is it."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

Check = Callable[[Any], Any]


@pytest.fixture
def check(cli: Any, example: Path, save: Any) -> Check:
    """Check a result against the example."""
    return lambda data: cli("check", example, save(data, "result.json"))


def bare(**gpus: Any) -> dict[str, Any]:
    return {"solution": {"gpus": gpus}}


def test_a_true_result_passes(check: Check, result: dict[str, Any]) -> None:
    """Feasible, its objective, the certificate's own value as verified, and who proved the bound are printed."""
    ended = check(result)
    assert (ended.code, ended.err) == (0, "")
    objective, verified, recomputed, claimed, trusted = ended.out.splitlines()
    assert objective == f"feasible, objective {result['objective']!r} weighted seconds, summed over jobs"
    assert verified == f"verified: {result['certificate']['value']!r} (PriceCertificate, exact arithmetic)"
    assert (
        recomputed == f"recomputed: objective {result['objective']!r}, gap {result['gap']!r}, status optimal, 3 figures"
    )
    assert claimed.startswith(
        f"claimed: bound {result['bound']!r}, by {result['bound_source']}; the certificate alone proves the optimum"
    )
    assert trusted == f"claimed: runtime {result['runtime_s']!r} s"


@pytest.mark.parametrize("method", ["dp", "milp", "doubling", "equal", "fixed", "lagrange", "lp"])
def test_what_dlsched_writes_passes(method: str, cli: Any, example: Path, tmp_path: Path) -> None:
    """Results of every kind, duals and those without a solution included."""
    out = tmp_path / "result.json"
    cli("solve", example, "--method", method, "-o", out)
    assert cli("check", example, out).code == 0


def test_a_bare_solution_is_enough(check: Check) -> None:
    """Someone else's heuristic writes a solution, and perhaps a name and an objective."""
    assert check(bare(a=2, b=4)).out == "feasible, objective 1144391.6025000003 weighted seconds, summed over jobs\n"
    assert check(bare(a=2, b=4) | {"method": "mine", "objective": 1144391.6025}).code == 0


def test_the_documented_result_is_read(check: Check, result: dict[str, Any]) -> None:
    """The contract's fields are enough: those that dlsched adds have defaults."""
    documented = {key: value for key, value in result.items() if key not in ("bound_source", "figures", "message")}
    documented |= {"status": "feasible", "bound": None, "gap": None, "certificate": None}
    assert check(documented).code == 0


BROKEN = [
    ("capacity", bare(a=4, b=4), "capacity: 8 GPUs are given, the cluster has 6"),
    ("count not allowed", bare(a=3, b=2), "choice[a]: 3 GPUs is no allowed count"),
    ("count beyond max_gpus", bare(a=1, b=17), "choice[b]: 17 GPUs is no allowed count"),
    ("count 0", bare(a=0, b=2), "choice[a]: 0 GPUs is no allowed count"),
    ("missing job", bare(a=1), "choice[b]: the job has no count"),
    ("unknown job", bare(a=1, b=2, c=1), "choice[c]: there is no such job"),
    ("count of 400 digits", bare(a=1, b=10**400), "choice[b]: "),
    ("count of minus 400 digits", bare(a=1, b=-(10**400)), "choice[b]: "),
    ("half a character", bare(**{"a": 1, "b": 5, "\ud800": 1}), "no such job"),
    ("wrong objective", bare(a=1, b=5) | {"objective": 927118.97}, "objective: 927118.97 is claimed, it is 927118.96"),
]


@pytest.mark.parametrize(("what", "data", "said"), BROKEN, ids=[case[0] for case in BROKEN])
def test_a_broken_rule_is_7(what: str, data: dict[str, Any], said: str, check: Check) -> None:
    """The rule, the place and the amount are printed, each failure on a line of its own."""
    ended = check(data)
    assert (ended.code, ended.err) == (7, ""), what
    assert any(line.startswith("FAILED  ") and said in line for line in ended.out.splitlines()), ended.out


def price(price: float, value: float) -> dict[str, Any]:
    return {"certificate": {"kind": "price", "price": price, "value": value}}


def duals(value: float, **rows: float) -> dict[str, Any]:
    return {"certificate": {"kind": "duals", "formulation": "milp", "rows": rows, "value": value}}


UNTRUE = [
    ("objective too small", {"objective": 927118.0, "bound": 927118.0}),
    ("objective too large", {"objective": 927119.0, "bound": 927119.0}),
    ("value above what the price proves", price(0.0, 900000.0)),
    ("negative price", price(-1.0, 0.0)),
    ("price that proves less than nothing", price(1.7e308, 0.0)),
    ("value above the objective", price(150832.0, 927120.0)),
    ("unknown formulation", {"certificate": duals(0.0)["certificate"] | {"formulation": "nosuch"}}),
    ("unknown row", duals(0.0, choice_c=1.0)),
    ("multiplier of the wrong sign", duals(0.0, capacity=1.0)),
    ("value above what the duals prove", duals(1.0, choice_a=0.0)),
    ("duals that prove less than nothing", duals(0.0, capacity=-1.7e308)),
    (
        "infeasible",
        {"status": "infeasible", "solution": None, "objective": None, "bound": None, "bound_source": None, "gap": None}
        | {"certificate": None},
    ),
]


@pytest.mark.parametrize(("what", "change"), UNTRUE, ids=[case[0] for case in UNTRUE])
def test_an_untrue_claim_is_7(what: str, change: dict[str, Any], check: Check, result: dict[str, Any]) -> None:
    """Objective, certificate and infeasibility are recomputed, not believed."""
    ended = check(result | change)
    assert (ended.code, ended.err) == (7, ""), what
    assert "FAILED  " in ended.out


def test_a_certificate_is_verified_exactly(cli: Any, save: Any) -> None:
    """3 epochs of 1.3 s: the float product, 3.9000000000000004, is above the exact one, so a price cannot prove it."""
    assert Fraction(3 * 1.3) > 3 * Fraction(1.3)
    job = {"id": "a", "epochs": 3, "epoch_time_s": {"1": 1.3}}
    path = save({"format": "dlsched/ring_allocation/1", "name": "one", "gpus": 1, "jobs": [job]})
    result = cli("solve", path, "--json").json
    for value, code in ((3.9, 0), (3 * 1.3, 7)):
        assert cli("check", path, save(result | price(0.0, value), "result.json")).code == code


MALFORMED = [
    ("no object", [], ""),
    ("neither", {}, "solution"),
    ("another format", {"format": "dlsched/result/2"}, "format"),
    ("an instance", {"format": "dlsched/ring_allocation/1"}, "format"),
    ("bare with an unknown field", bare(a=1, b=5) | {"colour": 1}, "colour"),
    ("bare with a wrong objective", bare(a=1, b=5) | {"objective": "5"}, "objective"),
    ("solution null", {"solution": None}, "solution"),
    ("solution a list", {"solution": []}, "solution"),
    ("solution of another family", {"solution": {"nodes": {}}}, "solution"),
    ("solution with more", {"solution": {"gpus": {}, "colour": 1}}, "solution"),
    ("gpus a list", {"solution": {"gpus": []}}, "solution.gpus"),
    ("count a float", bare(a=1.0, b=5), "solution.gpus.a"),
    ("count true", bare(a=True, b=5), "solution.gpus.a"),
    ("count null", bare(a=1, b=None), "solution.gpus.b"),
    ("count nested", bare(a=1, b=[[[]]]), "solution.gpus.b"),
    ("job of a line break", bare(**{"a\nb": 1.0}), "solution.gpus.a"),
]
CONTRADICTING: list[tuple[str, dict[str, Any], str]] = [
    ("another family", {"family": "async_sgd"}, "family"),
    ("another instance", {"instance": {"name": "two-jobs", "sha256": "0" * 64}}, "instance.sha256"),
    ("instance a string", {"instance": "two-jobs"}, "instance"),
    ("unknown status", {"status": "done"}, "status"),
    ("unknown sense", {"sense": "min"}, "sense"),
    ("another sense", {"sense": "maximize"}, ""),
    ("objective NaN", {"objective": float("nan")}, "objective"),
    ("objective a string", {"objective": "1"}, "objective"),
    ("unknown field", {"colour": 1}, "colour"),
    ("negative time", {"runtime_s": -1.0}, "runtime_s"),
    ("seed a string", {"seed": "0"}, "seed"),
    ("unknown limit", {"limits": {"memory": 1}}, "limits.memory"),
    ("limits out of range", {"limits": {"threads": 0}}, ""),
    ("solution without objective", {"objective": None}, ""),
    ("optimal without a bound", {"bound": None, "bound_source": None}, ""),
    ("bound on the wrong side", {"bound": 1e6, "status": "feasible"}, ""),
    ("stopped by a limit that was not set", {"status": "time_limit"}, ""),
    ("infeasible with a solution", {"status": "infeasible"}, ""),
    ("certificate of no kind", {"certificate": {}}, "certificate.kind"),
    ("certificate of an unknown kind", {"certificate": {"kind": "nosuch"}}, "certificate.kind"),
    ("certificate without a price", {"certificate": {"kind": "price", "value": 1.0}}, "certificate.price"),
    ("certificate NaN", price(float("nan"), 1.0), "certificate.price"),
    ("duals a list", {"certificate": duals(1.0)["certificate"] | {"rows": []}}, "certificate.rows"),
]


def refused(ended: Any, where: str) -> bool:
    assert (ended.code, ended.out) == (3, ""), ended
    head, _, rest = ended.line.partition("result.json: ")
    assert head.startswith("dlsched: /")
    return "found" in rest and "allowed" in rest and bool(rest.startswith(where))


@pytest.mark.parametrize(("what", "data", "where"), MALFORMED, ids=[case[0] for case in MALFORMED])
def test_a_malformed_result_is_3(what: str, data: Any, where: str, check: Check) -> None:
    """One line with the file, the field, what was found and what is allowed."""
    assert refused(check(data), where), what


@pytest.mark.parametrize(("what", "change", "where"), CONTRADICTING, ids=[case[0] for case in CONTRADICTING])
def test_a_wrong_field_of_a_complete_result_is_3(
    what: str, change: dict[str, Any], where: str, check: Check, result: dict[str, Any]
) -> None:
    """Wrong fields, another instance's result, and results that contradict themselves."""
    assert refused(check(result | change), where), what


REQUIRED = ("family", "instance", "method", "status", "sense", "objective", "bound", "runtime_s", "solution")


@pytest.mark.parametrize("field", REQUIRED)
def test_a_result_without_a_field_is_3(field: str, check: Check, result: dict[str, Any]) -> None:
    """Every field of the contract is needed."""
    del result[field]
    assert refused(check(result), field)


def test_text_that_is_no_json_is_3(cli: Any, example: Path, save: Any) -> None:
    """As for instances; a repeated key included."""
    for text in ("", "{", '{"solution": {"gpus": {"a": 1, "a": 2}}}', "[" * 100_000):
        assert cli("check", example, save(text, "result.json")).code == 3


def test_a_result_comes_from_standard_input(cli: Any, example: Path) -> None:
    """``-`` stands for it."""
    assert cli("check", example, "-", stdin=json.dumps(bare(a=1, b=5))).code == 0


def test_infeasibility_by_counting_is_verified(cli: Any, two_jobs: dict[str, Any], save: Any, tmp_path: Path) -> None:
    """A true claim of infeasibility passes, with the count that proves it."""
    path, out = save(two_jobs | {"gpus": 1}), tmp_path / "result.json"
    assert cli("solve", path, "-o", out).code == 4
    ended = cli("check", path, out)
    assert ended.code == 0
    assert "infeasible, verified: the smallest counts add up to 2 GPUs, the cluster has 1" in ended.out


def test_a_bare_answer_of_another_instance_is_3(check: Check) -> None:
    """It says whose it is: then that is held against the file."""
    assert check(bare(a=1, b=5) | {"instance": "two-jobs"}).code == 0
    ended = check(bare(a=1, b=5) | {"instance": "three-jobs"})
    assert ended.code == 3
    assert "instance: found another one, allowed: 'two-jobs'" in ended.err


def test_a_hundred_thousand_wrong_figures_are_not_collected(check: Check, result: dict[str, Any]) -> None:
    """The first of them, each on a line, and that there are more."""
    ended = check(result | {"figures": {f"x{index}": "wrong" for index in range(100_000)}})
    assert ended.code == 3
    assert len(ended.err.splitlines()) <= 11

"""``dlsched.prove`` on shipped instances of every family: what it says, what it writes, and how it stops."""

import gzip
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from shipped import ROOT

import dlsched
from dlsched import elastic_stream
from dlsched.cli import run
from dlsched.core.errors import ContradictionError, InfeasibleError
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Budget, Stopped
from dlsched.proofs.checker import words
from dlsched.proofs.prover.derivation import Derivation
from dlsched.proofs.prover.prover import Deadline

Accepts = Callable[[Path], bool]
SMALL = (
    *("ring_allocation/eight-nine-sixteen", "ring_allocation/worst-hull", "elastic_stream/two-arrivals"),
    *("elastic_stream/worst-doubling", "matching_placement/mixed", "matching_placement/one-or-three-max_rho"),
    *("matching_placement/one-or-three-alpha_fair-2", "srpt_mapping/four-jobs", "srpt_mapping/broken-pipeline"),
    *("ring_embedding/thin-uplink", "ring_embedding/least-first", "ring_embedding/nothing-runs", "ring_embedding/star"),
    *("async_sgd/two-servers", "async_sgd/linear-speed-up"),
)


def shipped(name: str) -> InstanceFile:
    """Read a shipped instance."""
    return dlsched.read(ROOT / f"{name}.json")


@pytest.mark.parametrize("name", SMALL)
def test_shipped_optima_are_proven(name: str, tmp_path: Path, viprchk: Accepts) -> None:
    """The range is the known optimum, up to 1e-9, and viprchk accepts the file."""
    instance = shipped(name)
    assert instance.known is not None
    path = tmp_path / "proof.vipr"
    proof = dlsched.prove(instance, path)
    assert proof.status == "optimal"
    assert proof.lower is not None
    assert proof.upper is not None
    assert proof.lower <= proof.upper
    assert proof.upper - proof.lower <= 1e-9 * abs(proof.upper)
    assert instance.known.optimum == pytest.approx(proof.upper, rel=1e-8)
    assert proof.sha256 == instance.sha256
    assert viprchk(path)


@pytest.mark.parametrize("name", ["matching_placement/one-or-three-max_rho", "srpt_mapping/four-jobs"])
def test_the_solution_of_a_proof_decodes(name: str) -> None:
    """To one whose objective is the proven side."""
    instance = shipped(name)
    proof = dlsched.prove(instance)
    assert proof.lines is not None
    names = proof.lines[proof.lines.index("VER 1.0") + 2].split()
    words = proof.lines[proof.lines.index("SOL 1") + 1].split()[2:]
    values = {names[int(j)]: float(Fraction(x)) for j, x in zip(words[::2], words[1::2], strict=True)}
    family = dlsched.FAMILIES[instance.family]
    solution = family.formulations["milp"](instance).decode(values)
    assert dlsched.check(instance, solution) == []
    assert family.objective(instance, solution) == pytest.approx(proof.upper, rel=1e-9)


def test_the_same_call_writes_the_same_bytes(tmp_path: Path) -> None:
    """Compressed or not, and as lines."""
    instance = shipped("srpt_mapping/four-jobs")
    paths = [tmp_path / name for name in ("one.vipr", "two.vipr", "one.vipr.gz", "two.vipr.gz")]
    for path in paths:
        dlsched.prove(instance, path)
    plain, again, packed, repacked = (path.read_bytes() for path in paths)
    assert plain == again == gzip.decompress(packed)
    assert packed == repacked
    proof = dlsched.prove(instance)
    assert proof.lines is not None
    assert "\n".join((*proof.lines, "")).encode() == plain


def test_the_head_names_the_instance_and_the_model(tmp_path: Path) -> None:
    """A key and a value a line."""
    instance = shipped("ring_embedding/thin-uplink")
    proof = dlsched.prove(instance, formulation="arc", limits=dlsched.Limits(nodes=0))
    assert proof.lines is not None
    head = dict(line[2:].split(": ", 1) for line in proof.lines if line.startswith("% "))
    assert head["instance"] == "thin-uplink"
    assert head["sha256"] == instance.sha256
    assert head["formulation"] == "arc"
    assert head["sense"] == "maximum"


@pytest.mark.parametrize("nodes", [0, 1, 3])
@pytest.mark.parametrize(
    "name", ["srpt_mapping/four-jobs", "ring_embedding/thin-uplink", "elastic_stream/two-arrivals"]
)
def test_a_stopped_proof_is_valid(name: str, nodes: int, tmp_path: Path, viprchk: Accepts) -> None:
    """Its range holds the optimum."""
    instance = shipped(name)
    assert instance.known is not None
    assert instance.known.optimum is not None
    proof = dlsched.prove(instance, tmp_path / "proof.vipr", limits=dlsched.Limits(nodes=nodes))
    assert proof.status in ("node_limit", "optimal")
    assert proof.lower is None or proof.lower <= instance.known.optimum + 1e-7
    assert proof.upper is None or proof.upper >= instance.known.optimum - 1e-7
    assert viprchk(tmp_path / "proof.vipr")


def test_ctrl_c_leaves_a_valid_proof(tmp_path: Path, viprchk: Accepts) -> None:
    """The first call of the progress callback is interrupted."""

    def interrupt(_: dlsched.Progress) -> None:
        raise KeyboardInterrupt

    proof = dlsched.prove(shipped("srpt_mapping/four-jobs"), tmp_path / "proof.vipr", progress=interrupt)
    assert proof.status == "interrupted"
    assert viprchk(tmp_path / "proof.vipr")


def test_a_start_is_taken_up() -> None:
    """With the optimum as the start the proof is the same range; a solution that breaks a rule is refused."""
    instance = shipped("srpt_mapping/four-jobs")
    result = dlsched.solve(instance)
    proof = dlsched.prove(instance, start=result)
    assert proof.upper == pytest.approx(result.objective)
    other = dlsched.solve(shipped("srpt_mapping/three-gpus"))
    with pytest.raises(dlsched.UsageError, match="start"):
        dlsched.prove(instance, start=other.solution)


def test_a_gap_makes_the_proof_shorter() -> None:
    """It is allowed between the two sides."""
    instance = shipped("srpt_mapping/four-jobs")
    proof = dlsched.prove(instance, gap=0.5)
    assert proof.lower is not None
    assert proof.upper is not None
    assert 0.5 * proof.upper <= proof.lower * (1 + 1e-9)
    assert proof.cases < dlsched.prove(instance).cases


def test_what_has_no_linear_model_is_refused() -> None:
    """In the words of the formulation."""
    with pytest.raises(dlsched.UsageError, match="tick_s"):
        dlsched.prove(shipped("elastic_stream/room-for-all"))
    with pytest.raises(dlsched.UsageError, match="allowed: milp"):
        dlsched.prove(shipped("ring_allocation/worst-hull"), formulation="nosuch")


def test_an_infeasible_instance_without_a_model_is_said_to_be_infeasible(tmp_path: Path) -> None:
    """A job larger than the cluster: counting proves it, there is nothing to write, and the exit code is that of ``solve``."""
    job = {"id": "a", "epochs": 1.0, "epoch_time_s": {"2": 1.0}, "arrival_s": 0.0}
    instance = elastic_stream.Instance(name="too large", units=1, tick_s=1.0, jobs=[job])
    path = tmp_path / "proof.vipr"
    with pytest.raises(
        InfeasibleError, match=r"needs no proof: job 'a' needs at least 2 units, the cluster has 1"
    ) as told:
        dlsched.prove(instance, path)
    assert told.value.exit_code == 4
    assert not path.exists()
    file = tmp_path / "instance.json"
    dlsched.write(instance, file)
    assert run(["prove", str(file), "-o", str(path)]) == 4


def test_a_proof_that_the_checker_refuses_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that claims more than its sum is an internal error, exit 1, and leaves no file."""
    monkeypatch.setattr(Derivation, "_claim", lambda self: f"G {self.lower + 1} OBJ")
    path = tmp_path / "proof.vipr"
    with pytest.raises(ContradictionError, match=r"nothing was written: .*does not follow"):
        dlsched.prove(shipped("srpt_mapping/four-jobs"), path)
    assert run(["prove", str(ROOT / "srpt_mapping" / "four-jobs.json"), "-o", str(path)]) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_proof_that_is_too_long_to_check_is_written_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checker has a minute's work, here none."""
    monkeypatch.setattr(words, "WORK", 10_000)
    proof = dlsched.prove(shipped("srpt_mapping/four-jobs"), tmp_path / "proof.vipr")
    assert proof.message.startswith("not checked, proof: line ")
    assert (tmp_path / "proof.vipr").exists()


def test_what_the_rest_of_a_proof_takes_is_part_of_its_limit() -> None:
    """A problem that took 30 s to write is checked in five times that, so that 200 s leave no more than 50."""
    deadline = Deadline(Budget(dlsched.Limits(time_s=200.0)), head_s=30.0)
    assert 40 < deadline.left_s() <= 50
    with pytest.raises(Stopped):
        Deadline(Budget(dlsched.Limits(time_s=100.0)), head_s=30.0).tick()
    assert Deadline(Budget(), head_s=30.0).left_s() == float("inf")


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "time_s"),
    [
        ("elastic_stream/slots-5x3-seed1", 30.0),
        ("elastic_stream/slots-6x3-seed3", 40.0),
        ("ring_embedding/two-racks", 30.0),
        ("ring_embedding/fat-tree-6x8x3-seed1", 20.0),
    ],
)
def test_a_limit_of_time_is_kept(name: str, time_s: float) -> None:
    """Within half a second and a hundredth, and what a busy machine adds."""
    proof = dlsched.prove(shipped(name), time_limit=time_s)
    assert proof.seconds <= 1.01 * time_s + 0.5 + 1.5

"""Forty calls that users type: they run one after another, and are typed as they say.

``python forty_calls.py FOLDER`` writes its files into the folder.
"""

import sys
from pathlib import Path
from typing import assert_type

import matplotlib
import pandas as pd  # type: ignore[import-untyped]
import pulp  # type: ignore[import-untyped]
from matplotlib.figure import Figure

import dlsched
from dlsched import (
    async_sgd,
    elastic_stream,
    matching_placement,
    ring_allocation,
    ring_embedding,
    srpt_mapping,
    study,
)
from dlsched.core.instance import InstanceFile
from dlsched.core.result import Result, Solution
from dlsched.study.figures.sentence import Summary


def one_each(instance: ring_allocation.Instance) -> dict[str, object]:
    """A GPU for every job, as plain data."""
    return {"gpus": {job.id: 1 for job in instance.jobs}}


class FirstCome:
    """A policy: units for who came first, as many as are of use."""

    clairvoyant = False

    def decide(self, view: elastic_stream.View) -> dict[int, int]:
        """Say how many units each job holds from now on."""
        free, answer = view.units, dict[int, int]()
        for job in view:
            fitting = [count for count in view.allowed(job) if count <= free]
            answer[job] = fitting[-1] if fitting else 0
            free -= answer[job]
        return answer


def instances() -> dict[str, InstanceFile]:
    """1 to 12: instances of every family from the user's own data."""
    # 1: dictionaries
    rings = ring_allocation.Instance(name="mine", gpus=6, jobs=[{"id": "a", "epochs": 9, "epoch_time_s": {1: 9.0}}])
    # 2: objects
    jobs = [ring_allocation.Job(id=name, epochs=9, epoch_time_s={1: 9.0, 2: 5.0}) for name in "abc"]
    same = ring_allocation.Instance(name="mine", gpus=6, jobs=jobs)
    assert_type(same.jobs[0], ring_allocation.Job)
    assert rings != same
    # 3: a frame, in which NaN is absent
    table = {1: 9.0, 2: 5.0}
    frame = pd.DataFrame({"id": list("abc"), "epochs": [9, 9, 9], "epoch_time_s": [table] * 3, "weight": [None, 1, 1]})
    framed = ring_allocation.Instance.from_frame(frame, name="mine", gpus=6)
    assert_type(framed, ring_allocation.Instance)
    assert framed == same and hash(framed) == hash(same)
    # 4
    rows: list[dict[str, object]] = [
        {"id": "a", "epochs": 2.0, "epoch_time_s": {1: 20.0, 2: 12.0}, "arrival_s": 0.0},
        {"id": "b", "epochs": 1.0, "epoch_time_s": {1: 8.0}, "arrival_s": 10.0},
    ]
    stream = elastic_stream.Instance(name="stream", units=2, tick_s=10.0, jobs=rows)
    # 5
    assert elastic_stream.Instance.from_frame(pd.DataFrame(rows), name="stream", units=2, tick_s=10.0) == stream
    # 6: workers and jobs are frames
    workers = pd.DataFrame({"id": ["v0", "t0"], "type": ["V100", "T4"], "bandwidth_bytes_per_s": [1e9, 1e9]})
    job = {
        "id": "a",
        "iterations": 9,
        "batch_samples": 8,
        "gradient_bytes": 1e6,
        "samples_per_s": {"V100": 4.0, "T4": 1},
    }
    placement = matching_placement.Instance.from_frame(pd.DataFrame([job]), name="placed", workers=workers)
    # 7
    assert matching_placement.Instance(name="placed", workers=workers.to_dict("records"), jobs=[job]) == placement
    # 8
    stage = srpt_mapping.Stage(replicas=1, compute_s=1.0, output_bytes=0, parameter_bytes=0)
    gangs = [srpt_mapping.Job(id=name, release_s=0, iterations=4, stages=[stage]) for name in "ab"]
    network = {"intra_bandwidth_bytes_per_s": 8e9, "nic_bandwidth_bytes_per_s": 1e9}
    servers: list[dict[str, object]] = [{"id": "s0", "gpus": 1}, {"id": "s1", "gpus": 1}]
    mapping = srpt_mapping.Instance(
        name="gangs", servers=servers, jobs=gangs, intra_bandwidth_bytes_per_s=8e9, nic_bandwidth_bytes_per_s=1e9
    )
    # 9
    stages = [{"replicas": 1, "compute_s": 1, "output_bytes": 0, "parameter_bytes": 0}]
    columns = {"id": ["a", "b"], "release_s": [0, 0], "iterations": [4, 4], "stages": [stages, [stage]]}
    assert srpt_mapping.Instance.from_frame(pd.DataFrame(columns), "gangs", servers=servers, **network) == mapping
    # 10
    ring = ring_embedding.Job(
        id="a",
        max_workers=2,
        demand={"gpu": 1},
        bandwidth_bytes_per_s=1e6,
        rate=1,
        utility={"kind": "sqrt", "scale": 6.0},
    )
    nodes = [ring_embedding.Node(id="s0", capacity={"gpu": 1}), ring_embedding.Node(id="s1", capacity={"gpu": 1})]
    links = [ring_embedding.Link(ends=["s0", "s1"], bandwidth_bytes_per_s=1e9)]
    embedding = ring_embedding.Instance(name="rings", slots=2, nodes=nodes, links=links, jobs=[ring])
    # 11
    told = pd.DataFrame(embedding.as_data()["jobs"])
    assert ring_embedding.Instance.from_frame(told, "rings", slots=2, nodes=nodes, links=links) == embedding
    # 12
    servers_too = pd.DataFrame(async_sgd.example().as_data()["jobs"])
    parameters = async_sgd.Instance.from_frame(servers_too, "two-servers", nodes=6)
    assert parameters == async_sgd.example()
    return {each.family: each for each in (same, stream, placement, mapping, embedding, parameters)}


def solutions() -> None:
    """13 to 18: what every family answers."""
    rings = dlsched.solve(ring_allocation.example())  # 13
    assert_type(rings, Result[ring_allocation.Allocation])
    assert rings.solution is not None
    assert_type(rings.solution.gpus["a"], int)
    stream = dlsched.solve(elastic_stream.example(), method="fifo-fastest")  # 14
    assert stream.solution is not None
    assert_type(stream.solution, elastic_stream.Stream)
    assert_type(stream.solution.periods["a"][0].units, int)
    placement = dlsched.solve(matching_placement.example(), method="marginal", seed=1)  # 15
    assert placement.solution is not None
    assert_type(placement.solution, matching_placement.Placement)
    assert_type(placement.solution.workers["a"][0], str)
    mapping = dlsched.solve(srpt_mapping.example(), method="fifo", limits=dlsched.Limits(time_s=60))  # 16
    assert mapping.solution is not None
    assert_type(mapping.solution, srpt_mapping.Schedule)
    assert_type(mapping.solution.jobs["long"].start_s, float)
    embedding = dlsched.solve(ring_embedding.example(), method="gadget", verbose=True)  # 17
    assert embedding.solution is not None
    assert_type(embedding.solution, ring_embedding.Embedding)
    nodes = dlsched.solve(async_sgd.example(), time_limit=60)  # 18
    assert nodes.solution is not None
    assert_type(nodes.solution, async_sgd.Allocation)
    assert_type(nodes.solution.nodes["a"], int)


def methods(folder: Path) -> None:
    """19 to 28: methods of one's own, bounds, comparisons, checks, proofs, the worst instance."""
    example = ring_allocation.example()
    heard: list[dlsched.Progress] = []
    own = dlsched.solve(example, method=one_each, progress=heard.append)  # 19
    assert own.objective is not None
    assert dlsched.check(example, own) == []
    policy = dlsched.solve(elastic_stream.example(), method=FirstCome)  # 20
    assert_type(policy, Result[elastic_stream.Stream])
    (folder / "mine.py").write_text("def two(instance):\n    return {'gpus': {job.id: 2 for job in instance.jobs}}\n")
    located = dlsched.solve(example, method=f"{folder / 'mine.py'}:two")  # 21
    record = dlsched.FAMILIES["ring_allocation"].methods["doubling"]
    recorded = dlsched.solve(example, method=record, start=located)  # 22
    assert recorded.objective is not None
    bound = dlsched.bound(example, time_limit=5)  # 23
    assert_type(bound.bound, float | None)
    found = dlsched.compare([example, *many(2)], ["exact", one_each, record], limits=dlsched.Limits(nodes=10**6))  # 24
    assert_type(found, dlsched.Comparison)
    assert_type(found.rows[0].ratio, float | None)
    assert len(found.frame()) == 9 and str(found)
    assert_type(found.plot(folder / "compared.png"), Figure)
    assert_type(dlsched.check(example, {"gpus": {"a": 4, "b": 2}}), list[dlsched.Violation])  # 25
    proof = dlsched.prove(example, folder / "proof.vipr", verbose=True)  # 26
    assert_type(proof, dlsched.Proof)
    assert proof.objective is not None and proof.status == "optimal"
    worst = dlsched.find_worst("ring_allocation", one_each, jobs=2, budget=20, seed=1)  # 27
    assert_type(worst.ratio, float | None)
    (folder / "sacct.txt").write_text(SACCT)
    said = dlsched.whatif(folder / "sacct.txt", "slurm", gpus=4, policies=["fifo"], workers=1)  # 28
    assert_type(said, dlsched.WhatIf)
    assert_type(said.sentences, list[str])


def many(count: int) -> list[ring_allocation.Instance]:
    """29: random instances."""
    return [dlsched.generate("ring_allocation", preset="mixed", jobs=4, gpus=8, seed=seed) for seed in range(count)]


def files(folder: Path, made: dict[str, InstanceFile]) -> None:
    """30 to 32: instances and results as files."""
    for name, instance in made.items():
        dlsched.write(instance, folder / f"{name}.json")
        assert dlsched.read(folder / f"{name}.json") == instance  # 30
    result = dlsched.solve(made["async_sgd"])
    assert_type(result, Result[Solution])
    dlsched.write(result, folder / "result.json")
    again = dlsched.read_result(folder / "result.json", made["async_sgd"])  # 31
    assert again == result and dlsched.verify(made["async_sgd"], again)  # 32


def models() -> None:
    """33 to 35: models with rows of one's own."""
    formulation = dlsched.formulate(ring_allocation.example(), complete=True)  # 33
    gpus = formulation.variables.gpus
    formulation.model += pulp.lpSum(n * x for (job, n), x in gpus.items() if job == "a") <= 2, "quota"
    result = formulation.solve(solver="highs", time_limit=60)  # 34
    assert result.solution is not None and result.solution.gpus["a"] <= 2 and result.of_model
    spread = dlsched.formulate(matching_placement.example(), "assignment", complete=True)  # 35
    spread.model += spread.variables.workers["a", "v0"] + spread.variables.workers["b", "v1"] <= 1
    assert str(spread.solve().status) == "optimal"


def studied(folder: Path) -> None:
    """36 to 40: a study."""
    plan = study.make_plan(  # 36
        name="forty",
        instances=[{"family": "ring_allocation", "jobs": [4, 6], "gpus": 8, "seeds": "0:2"}],
        methods=["exact", "doubling", one_each],
    )
    ran = study.run(plan, folder / "forty.study.sqlite", workers=1)  # 37
    assert_type(ran, study.Study)
    assert_type(ran.summary(), Summary)
    assert len(ran.frame()) == 12 and ran.failed == 0 and repr(ran)
    ran.report(folder / "report.md", "markdown")  # 38
    ran.export("latex", folder / "table.tex", columns=["method", "mean", "worst"])  # 39
    for what in ("ratios", "profile"):
        figure = ran.plot(what, width=3.3)  # 40
        assert_type(figure, Figure)
        figure.savefig(folder / f"{what}.pdf")


SACCT = """\
JobIDRaw|User|Partition|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|AllocTRES
1|ann|gpu|COMPLETED|2025-03-03T00:00:00|2025-03-03T00:00:00|2025-03-03T01:00:00|3600|90|cpu=8,gres/gpu=2,node=1
2|bob|gpu|COMPLETED|2025-03-03T00:01:00|2025-03-03T01:00:00|2025-03-03T02:00:00|3600|90|cpu=8,gres/gpu=4,node=1
3|ann|gpu|COMPLETED|2025-03-03T00:02:00|2025-03-03T02:00:00|2025-03-03T02:10:00|600|20|cpu=8,gres/gpu=1,node=1
"""


def main(folder: Path) -> None:
    """Call everything."""
    matplotlib.use("agg")
    made = instances()
    solutions()
    methods(folder)
    files(folder, made)
    models()
    studied(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

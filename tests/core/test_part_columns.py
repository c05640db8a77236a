"""Jobs that stay in columns are the jobs that one made one by one are, whatever looks at them first."""

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from dlsched import InstanceError, async_sgd, families, read, write
from dlsched.async_sgd.instance import Instance, Job
from dlsched.core.part_columns import PartColumns

ROWS = [
    {"id": "a", "epochs": 1.0, "compute_s": 0.25, "max_nodes": 8},
    {"id": "b", "epochs": -0.0, "compute_s": 1, "shards": 2, "duplex": "half"},
    {"id": 'c "%s', "epochs": 3.0, "compute_s": 1e-7, "update_s": 0.5, "shards": 1, "max_nodes": 3},
    # only fractions decide on these batches
    {"id": "d", "epochs": 1e-74, "dataset_examples": 1.5e-74, "compute_s": 0.1},
]
EVERY = {"dataset_examples": 50000.0, "batch_examples": 100.0, "parameter_bytes": 1e8, "bandwidth_bytes_per_s": 1.25e9}
FIELDS = {"name": "some", "source": "hand", "nodes": 8}


def plain() -> Instance:
    """Jobs made one by one."""
    return Instance(**FIELDS, jobs=[Job(**EVERY | row) for row in ROWS])


def in_columns() -> Instance:
    """The same jobs in columns, in two blocks."""
    rows = [EVERY | row for row in ROWS]
    return Instance.of_columns(
        PartColumns.joined(PartColumns.of_rows(Job, each) for each in (rows[:3], rows[3:])), **FIELDS
    )


LOOKS: dict[str, Callable[[Instance], object]] = {
    "jobs": lambda instance: [(repr(job), sorted(job.model_fields_set)) for job in instance.jobs],
    "dump": lambda instance: instance.model_dump(exclude_unset=True),
    "json": lambda instance: instance.model_dump_json(),
    "dict": lambda instance: {name: value for name, value in dict(instance).items() if name in Instance.model_fields},
    "data": lambda instance: instance.as_data(),
    "hash": lambda instance: instance.sha256,
    "hashed": lambda instance: instance.hashed().jobs,
    "index": lambda instance: instance.index,
    "repr": lambda instance: (repr(instance), str(instance)),
    "copy": lambda instance: (copy.copy(instance).jobs, instance.jobs),
    "deep": lambda instance: copy.deepcopy(instance).jobs,
    "apart": lambda instance: (instance.apart().jobs, instance.jobs),
    "other": lambda instance: instance.model_copy(update={"nodes": 9}).jobs,
    "pickle": lambda instance: pickle.loads(pickle.dumps(instance)).jobs,
    "arrays": lambda instance: [instance.column(name).tolist() for name in ("epochs", "update_s", "shards")],
    "counts": lambda instance: (instance.batches.tolist(), instance.most_nodes.tolist(), instance.half_duplex.tolist()),
    "job": lambda instance: [repr(instance.job(index)) for index in range(len(ROWS))],
    "solved": lambda instance: async_sgd.solve(instance).solution,
}


@pytest.mark.parametrize("then", LOOKS)
@pytest.mark.parametrize("first", ["jobs", "data", "hash", "copy", "pickle", "solved"])
def test_columns_hold_the_jobs(first: str, then: str) -> None:
    """Whoever looks first, and second; nothing is made twice."""
    expected, found = plain(), in_columns()
    assert repr(LOOKS[first](found)) == repr(LOOKS[first](expected))
    assert repr(LOOKS[then](found)) == repr(LOOKS[then](expected))
    assert found == expected
    assert found.jobs is found.jobs


def test_no_job_is_made_to_write_or_hash() -> None:
    """Jobs that nobody asks for stay in columns."""
    instance = async_sgd.generate(preset="mixed", jobs=50)
    assert instance.sha256
    assert instance.index
    assert async_sgd.solve(instance).proven
    assert instance.job_columns is not None
    assert len(instance.jobs) == 50
    assert instance.job_columns is None


@pytest.mark.parametrize("name", ["i.json", "i.json.gz", "i.parquet"])
def test_large_files_return(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file read by lines has the jobs that a small one has, and is written as the same bytes."""
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    written = tmp_path / name
    write(plain(), written)
    small = read(written)
    monkeypatch.setattr(families, "LARGE", 0)
    monkeypatch.setattr(families, "_BLOCK", 200)  # bytes
    large = read(written)
    again = tmp_path / f"again-{name}"
    write(large, again)
    assert again.read_bytes() == written.read_bytes()
    assert large == small == plain()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"id": "a"}, "jobs[3].id: found 'a', the id of jobs[0] too, allowed: unique ids"),
        ({"compute_s": 0}, "jobs[3].compute_s: found 0, allowed: a number > 0"),
        ({"gpus": 1}, "jobs[3].gpus: found an unknown field"),
        ({"batch_examples": 1e300, "compute_s": 1e-99}, "jobs[3]: found too many or too few batches"),
    ],
)
def test_large_files_are_refused_as_small_ones_are(
    changed: dict[str, object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same message."""
    data = plain().as_data()
    data["jobs"][3] |= changed
    path = tmp_path / "i.json"
    lines = ",\n".join(f"  {json.dumps(job)}" for job in data.pop("jobs"))
    path.write_text(json.dumps(data, indent=1)[:-2] + f',\n "jobs": [\n{lines}\n ]\n}}\n')
    said = []
    for large in (families.LARGE, 0):
        monkeypatch.setattr(families, "LARGE", large)
        with pytest.raises(InstanceError) as refused:
            read(path)
        said.append(str(refused.value))
    assert said[0] == said[1]
    assert message in said[0]

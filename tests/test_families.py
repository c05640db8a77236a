"""What works on any family: results that are read back."""

from pathlib import Path

import pytest

import dlsched
from dlsched import InputError, elastic_stream, ring_allocation


@pytest.fixture
def result(tmp_path: Path) -> Path:
    """The optimal result of the example of ring_allocation."""
    path = tmp_path / "result.json"
    dlsched.write(dlsched.solve(ring_allocation.example()), path)
    return path


def test_a_result_is_read_as_it_was_written(result: Path) -> None:
    """With the instance all of it, the solution of the family's type; without it the same data."""
    example = ring_allocation.example()
    read = dlsched.read_result(result, example)
    assert isinstance(read.solution, ring_allocation.Allocation)
    assert dlsched.check(example, read.solution) == []
    assert read.instance is example and read.certificate is not None
    alone = dlsched.read_result(result)
    assert read.as_data() == alone.as_data()
    dlsched.write(alone, result)
    assert dlsched.read_result(result, example) == read
    assert dlsched.solve(example, start=read).objective == read.objective
    assert dlsched.verify(example, read)


def test_what_is_no_result_of_the_instance_is_refused(result: Path, tmp_path: Path) -> None:
    """Another family, another instance, a bare answer: each message names file and field."""
    other = ring_allocation.example().model_copy(update={"gpus": 7})
    for instance, said in ((elastic_stream.example(), "family: found"), (other, "instance.sha256: found")):
        with pytest.raises(InputError, match=rf"result\.json: {said}"):
            dlsched.read_result(result, instance)
    bare = tmp_path / "bare.json"
    bare.write_text('{"solution": {"gpus": {}}}')
    with pytest.raises(InputError, match=r"bare\.json: format: found nothing, allowed: dlsched/result/1"):
        dlsched.read_result(bare)

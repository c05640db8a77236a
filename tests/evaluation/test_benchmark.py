"""The benchmark of public traces words a question as a page does; whole runs of it need the traces."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from dlsched.evaluation.question import Question

from .by_hand import three

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_a_question_is_worded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortest first saves 40 s of three jobs; the table has a line for every policy and the bound."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    spec = spec_from_file_location("whatif_benchmark", BENCHMARKS / "whatif.py")
    assert spec is not None and spec.loader is not None
    whatif = module_from_spec(spec)
    spec.loader.exec_module(whatif)
    question = Question(three(), policies=("fifo", "shortest-first"), gpus=(8, 16))
    text = whatif.section("by hand", "Three jobs.", question, tmp_path / "store")
    assert "switching from `fifo` to `shortest-first`" in text and "it saves 13.3 s a job" in text
    rows = ("| what happened | 0 | 82.3 |", "| fifo | – | 82.3 |", "| shortest-first | -13.3 | 69.0 |", "| the bound |")
    for line in (*rows, "### 16 GPUs"):
        assert line in text, line
    assert "{" not in text and "nan" not in text

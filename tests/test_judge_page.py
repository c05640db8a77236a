"""docs/judge.md: its method scores as the page says, and its adapters serve the programs that they are written for."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
from test_docs import blocks

import dlsched

FILES = {block.file: block.text for block in blocks("judge.md") if block.file is not None}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the page."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("evaluator", "metric"):
        sys.modules.pop(name, None)
    return tmp_path


def test_the_method_of_the_page(folder: Path, cli):
    """It is better than equal shares, as it allocates by the tables; JSON has the fields of the page."""
    ended = cli("score", "mine.py:allocate", "--family", "ring_allocation", "--json")
    found = json.loads(ended.out)
    listed = [
        line.split("|")[1]
        for line in Path(__file__).parents[1].joinpath("docs/judge.md").read_text().splitlines()
        if line.startswith("| `")
    ]
    assert set(found) == {name.strip(" `") for names in listed for name in names.split(",")}
    assert ended.code == 0
    assert 0 < found["score"] < 1
    assert len(found["feedback"]) == found["instances"] == 8
    again = cli("score", "mine.py:allocate", "--family", "ring_allocation", "--json")
    assert {**json.loads(again.out), "seconds": 0} == {**found, "seconds": 0}


def test_openevolve(folder: Path):
    """Its evaluator calls the file of the page, and hands on score and feedback."""
    config = pytest.importorskip("openevolve.config")
    evaluator = pytest.importorskip("openevolve.evaluator")
    made = evaluator.Evaluator(
        config.EvaluatorConfig(timeout=100, cascade_evaluation=False), str(folder / "evaluator.py")
    )
    metrics = asyncio.run(made.evaluate_program(FILES["mine.py"], "program"))
    assert metrics["combined_score"] == dlsched.score("mine.py:allocate", family="ring_allocation").score
    assert "the optimum is" in made.get_pending_artifacts("program")["feedback"]


def test_gepa(folder: Path):
    """It improves a program that fails: the metric of the page, and a model that answers with the program of the page."""
    anything = pytest.importorskip("gepa.optimize_anything")
    from metric import evaluate

    def model(prompt: object) -> str:
        assert "no feasible answer" in str(prompt)
        return f"```\n{FILES['mine.py']}\n```"

    found = anything.optimize_anything(
        "def allocate(instance):\n    return {}\n",
        evaluator=evaluate,
        config=anything.GEPAConfig(
            engine=anything.EngineConfig(max_metric_calls=4),
            reflection=anything.ReflectionConfig(reflection_lm=model),
        ),
    )
    assert "gains" in str(found.best_candidate)

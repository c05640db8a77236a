"""Stores that are run once, and rows that are computed in this process."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from dlsched.study import checking, leader
from dlsched.study.cells.cell import Cell, Outcome
from dlsched.study.cells.runner import Runner
from tests.study.stores_by_hand import run_store


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Stores by name, run when they are asked for."""
    folder = tmp_path_factory.mktemp("stores")

    def run(name: str) -> Path:
        path = folder / f"{name}.sqlite"
        return path if path.exists() else run_store(folder, name)

    return run


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have cells run, and rows computed anew, in this process."""

    def run(cells: Iterator[Cell], workers: int, folder: str) -> Generator[list[Outcome], None, None]:
        runner = Runner(folder)
        for cell in cells:
            begun: list[Outcome] = []
            outcome = runner.run(cell, begun.append)
            facts = next((each.facts for each in begun if each.facts is not None), None)
            yield [replace(outcome, facts=facts)]
        runner._foreign.stop()

    monkeypatch.setattr(checking, "local", SimpleNamespace(run=run))
    monkeypatch.setattr(leader, "local", SimpleNamespace(run=run))

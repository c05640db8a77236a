"""Stores that are run once, and rows that are computed in this process."""

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from dlsched.study import checking
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
    """Have rows computed in this process."""

    def run(cells: Iterator[Cell], workers: int, folder: str) -> Generator[list[Outcome], None, None]:
        runner = Runner(folder)
        for cell in cells:
            yield [runner.run(cell, lambda begun: None)]

    monkeypatch.setattr(checking, "local", SimpleNamespace(run=run))

"""Figures that are looked at in place of their files."""

import pytest


@pytest.fixture
def drawn(monkeypatch):
    """Figures caught where they would be written."""
    from matplotlib.figure import Figure

    figures = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: figures.append(figure))
    return figures

"""What tests of figures share: the figures that would be written."""

import pytest


@pytest.fixture
def drawn(monkeypatch):
    """Figures caught where they would be written."""
    from matplotlib.figure import Figure

    figures = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: figures.append(figure))
    return figures

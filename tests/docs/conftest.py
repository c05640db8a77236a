"""The extensions of the documentation can be imported, as Sphinx does."""

import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
if str(DOCS) not in sys.path:
    sys.path.insert(0, str(DOCS))

"""The family prism and its programs, which no installed package carries here, are put on the path."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "prism"))

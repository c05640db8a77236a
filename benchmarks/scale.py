"""How far each family goes: sizes up to a million, and exponents of growth; ``docs/scale.md`` has the figures.

``python benchmarks/scale.py PIECE --sizes 10000,100000`` measures one piece and prints its tables. Seconds are of the processor.
A piece is the function of that name in ``scale_PIECE.py``.
"""

import argparse
from importlib import import_module

PIECES = ("blocks", "files", "gangs", "peers", "placement", "start", "streams", "whatif")

if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("piece", choices=PIECES)
    options.add_argument("--sizes", default="10000,100000")
    options.add_argument(
        "--only",
        "--methods",
        dest="methods",
        default="",
        help="only these (methods, families or presets), a comma between",
    )
    chosen = options.parse_args()
    measure = getattr(import_module(f"scale_{chosen.piece}"), chosen.piece)
    measure(list(map(int, chosen.sizes.split(","))), [each for each in chosen.methods.split(",") if each])

"""Values of games on small grids beside the ratios of dlsched's policies on the same grids: a table, each value verified.

python benchmarks/games.py [--speeds "1,9/5,5/2,31/10"] [--jobs 2,3] [--works 1,2] [--releases 0,1]
"""

import argparse
import json
from collections.abc import Callable

from dlsched.elastic_stream import checker
from dlsched.elastic_stream.simulation.simulator import simulate
from dlsched.elastic_stream.simulation.view import Policy
from dlsched.worst.competitive.game import Game, solve_game
from dlsched.worst.competitive.game_verification import verify
from dlsched.worst.competitive.proven import POLICIES, speeds_of

BLIND = (
    "equal",
    "fixed",
    *(f"{order}-{size}" for order in ("fifo", "las") for size in ("fixed", "fastest", "knee", "equal")),
)
"""Policies that ask for no work."""
GRIDS = (
    ("1,9/5", "1,2", "0,1"),
    ("1,9/5", "1,3", "0,1"),
    ("1,2,3,4", "1,3", "0,1"),
    ("1,9/5,5/2,31/10", "1,2", "0,1"),
    ("1,9/5,5/2,31/10", "1,3", "0,1"),
    ("1,9/5,5/2,31/10", "1,2", "0,1/2,1"),
)


def ratio(game: Game, policy: Callable[[], Policy]) -> float:
    """The largest ratio of a policy over the histories, in the simulator."""
    largest = 0.0
    for history, best in game.optima.items():
        stream = game.grid.instance(history)
        largest = max(largest, sum(checker.flow_times(stream, simulate(stream, policy()))) / float(best))
    return largest


def cells(speeds: str, jobs: int, works: str, releases: str) -> list[str]:
    """Two cells for known works, and two for unknown ones: the value, and the best policy."""
    found = []
    for names in (tuple(POLICIES), BLIND):
        known = names != BLIND
        game = solve_game(speeds_of(speeds), jobs, works.split(","), releases.split(","), clairvoyant=known)
        verified = verify(json.loads(json.dumps(game.as_data())))
        ratios = {name: ratio(game, POLICIES[name]) for name in names}
        best = min(ratios, key=ratios.__getitem__)
        value = f"{game.at_most}" if verified.at_least == verified.at_most else f"{game.at_least} to {game.at_most}"
        found += [f"{value} = {float(game.at_most):.4f}", f"`{best}` {ratios[best]:.4f}"]
    return found


def main() -> None:
    """Print a row for each grid and number of jobs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speeds")
    parser.add_argument("--works", default="1,2")
    parser.add_argument("--releases", default="0,1")
    parser.add_argument("--jobs", default="2,3")
    asked = parser.parse_args()
    grids = GRIDS if asked.speeds is None else ((asked.speeds, asked.works, asked.releases),)
    print("| speeds | works | moments | jobs | value, works known | best policy | value, works unknown | best policy |")
    print("|---|---|---|---|---|---|---|---|")
    for speeds, works, releases in grids:
        for jobs in map(int, asked.jobs.split(",")):
            row = [speeds, works, releases, str(jobs), *cells(speeds, jobs, works, releases)]
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()

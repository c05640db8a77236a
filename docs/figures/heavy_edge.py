"""Heavy-Edge step by step: the job of the page of srpt_mapping, two stages of two replicas, on twice three free GPUs."""

from itertools import combinations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from dlsched.cluster.job_graph import JobGraph
from figures.theme import HUES, Theme, bare

GRAPH = JobGraph(replicas=(2, 2), compute_s=(0.1, 0.1), output_bytes=(8e8, 0.0), parameter_bytes=(1e9, 1e9))
STAGES = (0, 0, 1, 1)  # of each replica
SPOTS = ((0, 1), (0, 0), (1.6, 1), (1.6, 0))
SERVERS = ((0, 1, 2), (3,))  # replicas by server, in the order in which the steps put them there
TITLES = (
    "1. the job, its edges\nas wide as they are heavy",
    "2. the ends of the\nheaviest edge together",
    "3. the heaviest to those\nthere, until it is full",
    "the next server\ntakes the rest",
)


def placed() -> list[tuple[int, tuple[int, ...]]]:
    """Return what the last panel shows, as `heavy_edge` answers: replicas of each stage by server. A test compares the two."""
    return [
        (server, tuple(sum(STAGES[replica] == stage for replica in held) for stage in (0, 1)))
        for server, held in enumerate(SERVERS)
    ]


def draw(theme: Theme) -> Figure:
    """Draw the graph four times; replicas that have a server have its colour."""
    figure = Figure(figsize=(7.4, 2.0), layout="constrained")
    panels = figure.subplots(1, 4)
    first, second = SERVERS
    states: list[dict[int, int]] = [
        {},
        dict.fromkeys(first[:2], 0),
        dict.fromkeys(first, 0),
        dict.fromkeys(first, 0) | dict.fromkeys(second, 1),
    ]
    for axes, title, owners in zip(panels, TITLES, states, strict=True):
        _draw_graph(axes, theme, owners)
        axes.set_title(title, fontsize=8.5)
    names = [Circle((0, 0), 1, fc=HUES[server], label=f"on s{server}") for server in (0, 1)]
    figure.legend(handles=names, loc="outside lower center", ncols=2, handlelength=1)
    return figure


def _draw_graph(axes: Axes, theme: Theme, owners: dict[int, int]) -> None:
    """Draw the replicas and the edges between them."""
    for one, other in combinations(range(len(STAGES)), 2):
        weight = GRAPH.edge_weight(STAGES[one], STAGES[other])
        inside = owners.get(one) == owners.get(other) is not None
        ends = zip(SPOTS[one], SPOTS[other], strict=True)
        axes.plot(*ends, color=HUES[owners[one]] if inside else theme.faint, lw=4e-9 * weight, zorder=1)
    for replica, spot in enumerate(SPOTS):
        colour = HUES[owners[replica]] if replica in owners else theme.ground
        axes.add_patch(Circle(spot, 0.22, fc=colour, ec=theme.ink, lw=0.9, zorder=2))
        ink = "#000000" if replica in owners else theme.ink
        axes.text(*spot, str(STAGES[replica]), color=ink, ha="center", va="center", zorder=3)
    axes.set(xlim=(-0.4, 2.0), ylim=(-0.35, 1.35))
    bare(axes)

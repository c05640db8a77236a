"""One slot of the example of ring_embedding: two rings, each inside a rack, in the tree of servers, racks and core."""

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from dlsched import ring_embedding
from figures.theme import HUES, Theme, bare

SPOTS = {"core": (3.0, 3.0), "rack0": (1.0, 1.75), "rack1": (5.0, 1.75), **{f"s{n}": (2.0 * n, 0.4) for n in range(4)}}


def draw(theme: Theme) -> Figure:
    """Draw links as lines, GPUs as squares in the colour of the job that holds them, a ring as arrows along the links."""
    instance = ring_embedding.example()
    slot = ring_embedding.density(instance).slots[1]
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    for link in instance.links:
        axes.plot(*zip(*(SPOTS[end] for end in link.ends), strict=True), color=theme.faint, lw=1, zorder=1)
    for node, (x, y) in SPOTS.items():
        server = node.startswith("s")
        width, height = (1.1, 0.66) if server else (0.9, 0.36)
        corner = (x - width / 2, y - height / 2)
        frame = FancyBboxPatch(corner, width, height, "round,pad=0.03", fc=theme.ground, ec=theme.ink, lw=0.9, zorder=3)
        axes.add_patch(frame)
        axes.text(x, y + (0.2 if server else 0), node, ha="center", va="center", zorder=4)
    for hue, (job, ring) in zip(HUES, sorted(slot.items()), strict=False):
        for server, count in ring.workers.items():
            x, y = SPOTS[server]
            for gpu in range(2):
                square = Rectangle((x - 0.3 + 0.32 * gpu, y - 0.24), 0.28, 0.28, zorder=4, ec=theme.ink, lw=0.8)
                square.set_facecolor(hue if gpu < count else theme.ground)
                axes.add_patch(square)
        _draw_ring(figure, hue, ring.order)
        rack = SPOTS[f"rack{int(ring.order[0][1:]) // 2}"]
        axes.text(*(1.5 * rack[0] - 1.5, rack[1] - 0.5), f"ring of {job}", color=hue, ha="center", weight="bold")
    axes.text(3.65, 2.95, "these links have 1.25 GB/s,\na ring of a or b reserves 2", va="center", fontsize=8)
    axes.set(xlim=(-0.75, 6.75), ylim=(-0.05, 3.3))
    bare(axes)
    return figure


def _draw_ring(figure: Figure, hue: str, order: tuple[str, ...]) -> None:
    """Draw the way of a ring of two servers: up to the rack and down to the next server, there and back."""
    (axes,) = figure.axes
    rack = SPOTS[f"rack{int(order[0][1:]) // 2}"]
    for server, side in zip(order, (-1, 1), strict=True):
        x, y = SPOTS[server]
        for shift, (start, end) in ((0.12, ((x, y), rack)), (-0.12, (rack, (x, y)))):
            move = shift * side
            tail, head = (start[0] + move, start[1]), (end[0] + move, end[1])
            low, high = (0.3, 0.83) if start == (x, y) else (0.17, 0.7)
            points = [(tail[0] + t * (head[0] - tail[0]), tail[1] + t * (head[1] - tail[1])) for t in (low, high)]
            arrow = {"arrowstyle": "-|>", "color": hue, "lw": 1.8, "shrinkA": 0, "shrinkB": 0}
            axes.annotate("", points[1], points[0], arrowprops=arrow, zorder=2)

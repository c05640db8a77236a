"""The optimum of the example of elastic_stream: who holds which units when, pauses hatched."""

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from dlsched import elastic_stream
from figures.theme import HUES, Theme


def draw(theme: Theme) -> Figure:
    """Draw the periods of both jobs as boxes over time, as high as the units that they hold."""
    instance = elastic_stream.example()
    stream = elastic_stream.solve(instance).solution
    figure = Figure(figsize=(6.4, 2.3), layout="constrained")
    axes = figure.subplots()
    for index, job in enumerate(instance.jobs):
        for number, (start_s, end_s, units) in enumerate(stream.periods[job.id]):
            box = (start_s, 1 if index else 0), end_s - start_s, units
            axes.add_patch(Rectangle(*box, fc=HUES[index], ec=theme.ground, lw=1.5))
            axes.text((start_s + end_s) / 2, box[0][1] + units / 2, job.id, color="#000000", ha="center", va="center")
            if number and job.restart_s:
                axes.add_patch(
                    Rectangle(box[0], job.restart_s, units, fc="none", ec="#000000", hatch="////", lw=0, alpha=0.6)
                )
    for slot in range(4):
        axes.axvline(slot * instance.tick_s, color=theme.faint, lw=0.7, ls=":")
    axes.set(xlim=(0, 40), ylim=(0, instance.units), xlabel="time, s", ylabel="units", yticks=range(instance.units + 1))
    return figure

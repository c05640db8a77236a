"""Three schedules of the example of srpt_mapping: A-SRPT without and with waiting, and the optimum."""

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from dlsched import srpt_mapping
from figures.theme import HUES, Theme


def draw(theme: Theme) -> Figure:
    """Draw each GPU of the two servers as a row, and each job as boxes on the rows that it holds."""
    instance = srpt_mapping.example()
    best = srpt_mapping.solve(instance).solution
    schedules = {
        "a-srpt without waiting": srpt_mapping.a_srpt(instance, waiting=None),
        "a-srpt": srpt_mapping.a_srpt(instance),
        "the optimum": best,
    }
    hues = dict(zip((job.id for job in instance.jobs), HUES, strict=False))
    figure = Figure(figsize=(6.8, 4.6), layout="constrained")
    panels = figure.subplots(3, 1, sharex=True)
    for axes, (name, schedule) in zip(panels, schedules.items(), strict=True):
        ends = srpt_mapping.completion_times(instance, schedule)
        free_s = {server.id: [0.0] * server.gpus for server in instance.servers}
        rows = {server.id: 2 * index for index, server in enumerate(instance.servers)}
        for job, (start_s, placement) in sorted(schedule.jobs.items(), key=lambda item: item[1].start_s):
            for share in placement:
                taken = [gpu for gpu, until_s in enumerate(free_s[share.server]) if until_s <= start_s + 1e-9]
                for gpu in taken[: share.replicas]:
                    free_s[share.server][gpu] = ends[job]
                    corner, width = (start_s, rows[share.server] + gpu + 0.08), ends[job] - start_s
                    axes.add_patch(Rectangle(corner, width, 0.84, fc=hues[job], ec=theme.ground, lw=0.8))
        axes.axhline(2, color=theme.faint, lw=0.7)
        axes.set(xlim=(0, 41), ylim=(4, 0), yticks=[1, 3], yticklabels=[server.id for server in instance.servers])
        axes.tick_params(axis="y", length=0)
        axes.set_title(f"{name}: {srpt_mapping.objective(instance, schedule):g} s in all")
    panels[-1].set_xlabel("time, s")
    handles = [Rectangle((0, 0), 1, 1, fc=hue, label=job) for job, hue in hues.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, handlelength=1.2)
    return figure

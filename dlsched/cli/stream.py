"""``dlsched stream``: the jobs of an instance of async_sgd as they arrive over time, an instance of elastic_stream."""

from typing import Annotated

import typer

from dlsched.cli.options import InstancePath, OutPath, Seed
from dlsched.core.arguments import require_seed
from dlsched.core.errors import UsageError
from dlsched.families import FAMILIES, family_of, read, write

NAME = "stream"


def run(
    file: InstancePath,
    load: Annotated[float, typer.Option(metavar="X", help="Work that arrives over capacity.")] = 0.8,
    restart: Annotated[float, typer.Option(metavar="S", help="Seconds that a restart costs.")] = 0.0,
    stop: Annotated[
        list[str] | None,
        typer.Option(metavar="F:P", help="Jobs stop at a fraction F of their work with probability P; repeatable."),
    ] = None,
    tick: Annotated[float | None, typer.Option(metavar="S", help="Seconds between decisions.")] = None,
    seed: Seed = 0,
    out: OutPath = None,
) -> int:
    """Let the jobs of an instance of async_sgd arrive over time: an instance of elastic_stream, Poisson arrivals."""
    instance = read(file)
    make = family_of(instance).stream
    if make is None:
        able = ", ".join(name for name, family in FAMILIES.items() if family.stream is not None)
        raise UsageError(where="FILE", found=f"an instance of {instance.family}", allowed=f"one of {able}")
    require_seed(seed)
    import numpy as np

    stops = [_pair(text) for text in stop or ()]
    stream = make(
        instance,
        load=load,
        generator=np.random.default_rng(seed),
        restart_s=restart,
        early_stop=stops,
        tick_s=tick,
    )
    said = f"dlsched stream --load {load} --seed {seed} --restart {restart}"
    said += "".join(f" --stop {fraction}:{probability}" for fraction, probability in stops)
    said += "" if tick is None else f" --tick {tick}"
    name = f"{instance.name}-load{load:g}-seed{seed}"
    write(stream.model_copy(update={"name": name, "source": f"{said}\n{stream.source}"}), out or "-")
    return 0


def _pair(text: str) -> tuple[float, float]:
    """Read F:P."""
    try:
        fraction, probability = map(float, text.split(":"))
    except ValueError:
        raise UsageError(
            where="stop", found=repr(text), allowed="a fraction and a probability such as 0.25:0.3"
        ) from None
    return fraction, probability

"""``dlsched generate``, ``stream``, ``export``, ``schema``: instances and arrival streams, their models, and the file schema."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlsched.catalogue.families import FAMILIES as DLSCHEDS
from dlsched.catalogue.families import options
from dlsched.cli import completion
from dlsched.cli.options import FamilyName, InstancePath, Linear, OutPath, Seed, taking
from dlsched.cli.output import print_json
from dlsched.core.arguments import require_seed
from dlsched.core.errors import UsageError
from dlsched.core.family import AnyFamily
from dlsched.core.files import require_writable, write_text
from dlsched.core.instance import InstanceFile
from dlsched.families import FAMILIES, family_of, find_family, generate, read, write

if TYPE_CHECKING:
    import pulp


OWN = {name: option for family in DLSCHEDS for name, option in options(family).items()}
"""Options of the families; of those that several have, the words of the last."""


@taking(OWN.values(), before="seed", of_family=options)
def run_generate(
    family: FamilyName,
    preset: Annotated[
        str | None,
        typer.Option(metavar="P", help="What kind; the family's first by default.", autocompletion=completion.presets),
    ] = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Number of jobs.")] = None,
    gpus: Annotated[int | None, typer.Option(metavar="N", help="GPUs (units, workers) of the cluster.")] = None,
    max_gpus: Annotated[int | None, typer.Option(metavar="N", help="Largest count for a job.")] = None,
    seed: Seed = 0,
    out: OutPath = None,
    **own: float | str | None,
) -> int:
    """Draw an instance; the same arguments give the same bytes."""
    write(generate(family, preset=preset, jobs=jobs, gpus=gpus, max_gpus=max_gpus, seed=seed, **own), out or "-")
    return 0


def run_stream(
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
        able = ", ".join(name for name in DLSCHEDS if FAMILIES[name].stream is not None)
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
    command = f"dlsched stream --load {load} --seed {seed} --restart {restart}"
    command += "".join(f" --stop {fraction}:{probability}" for fraction, probability in stops)
    command += "" if tick is None else f" --tick {tick}"
    name = f"{instance.name}-load{load:g}-seed{seed}"
    write(stream.model_copy(update={"name": name, "source": f"{command}\n{stream.source}"}), out or "-")
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


def run_export(
    file: InstancePath,
    formulation: Linear = None,
    format_: Annotated[str, typer.Option("--format", metavar="lp|mps", help="File format.")] = "lp",
    out: OutPath = None,
) -> int:
    """Write a formulation of an instance as an LP or MPS file.

    MPS files are minimised: that of a maximising model holds the negated objective. No file holds an objective's constant;
    comments at its head say the constant and the unit.
    """
    from dlsched.modelling import formulate

    instance = read(file)
    if format_ not in ("lp", "mps"):
        raise UsageError(where="format", found=repr(format_), allowed="lp, mps")
    require_writable(out or "-")
    built = formulate(instance, formulation)
    write_text(out or "-", model_text(built.model, format_, family_of(instance).unit_for(instance), built.unit))
    return 0


def model_text(problem: "pulp.LpProblem", format_: str, unit: str | None = None, factor: float = 1.0) -> str:
    """Write a PuLP model with its own names and all digits; a maximising one as MPS with its objective negated.

    Comments at the head say a unit, of which the model's is ``factor``, and the constant to add to the file's optimum.
    """
    from dlsched.solvers.linear import from_pulp
    from dlsched.solvers.model_files import lp_text, mps_text, objective_words

    head = []
    if unit is not None:
        negated = format_ == "mps" and problem.sense == -1
        head = objective_words(unit, float(problem.objective.constant or 0.0), factor=factor, negated=negated)
    return (lp_text if format_ == "lp" else mps_text)(from_pulp(problem), problem.name, head)


def run_schema(family: FamilyName) -> int:
    """Print the JSON Schema of the format (what one field alone can say; `solve` checks the rest)."""
    print_json(instance_schema(find_family(family)))
    return 0


def instance_schema(family: AnyFamily) -> dict[str, Any]:
    """Return the schema; the files' ``format`` field, which the classes do not hold, is added."""
    name = f"dlsched/{family.name}/1"
    instance: type[InstanceFile] = family.instance
    schema = instance.model_json_schema()
    properties = {"format": {"const": name, "type": "string"}} | schema["properties"]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": name}
    return head | schema | {"title": name, "properties": properties, "required": ["format", *schema["required"]]}

"""The API reference: one page a module, made from the names in its ``__all__`` when the documentation is built.

A name is documented under the path by which users import it, wherever inside dlsched it is defined.
"""

import inspect
import re
import typing
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx

import dlsched
from dlsched.certificates.kinds import AnyCertificate
from dlsched.core.objective import Objective

# Modules whose `__all__` is public. What else of dlsched is imported on a page of the documentation stands in `ALSO`.
ROOMS = ("cluster", "study", "testing")
MODULES = ("dlsched", *(f"dlsched.{name}" for name in (*dlsched.FAMILIES, *ROOMS)))
ALSO = {
    "dlsched": {"dlsched.solvers.formulation": ["Formulation", "Variables", "Choices"]},
    "dlsched.elastic_stream": {"dlsched.elastic_stream.policies": None},
    "dlsched.ring_allocation": {"dlsched.ring_allocation.checker": ["job_cost"]},
    "dlsched.matching_placement": {"dlsched.matching_placement.checker": ["job_time"]},
    "dlsched.ring_embedding": {"dlsched.ring_embedding.rings.placing": ["embedding"]},
    "dlsched.cluster": {
        "dlsched.cluster.job_graph": ["JobGraph"],
        "dlsched.cluster.topologies": [
            *("Topology", "racks", "fat_tree", "leaf_spine", "ring_of_switches", "torus", "general"),
        ],
        "dlsched.cluster.published": [
            *(
                "published_stages",
                "PublishedModel",
                "PublishedStage",
                "published_speeds",
                "PublishedSpeed",
                "published_rates",
                "PublishedRates",
                "published_steps",
                "PublishedSteps",
                "Step",
                "IMAGENET_IMAGES",
                "NETWORK_BYTES_PER_S",
            ),
        ],
    },
    "dlsched.algorithms": {"dlsched.algorithms.one_machine": ["srpt_completions", "srpt_schedule"]},
    "dlsched.plots": {"dlsched.plots": None},
    "dlsched.statistics": {"dlsched.statistics": None},
    "dlsched.traces": {"dlsched.traces": None},
    "dlsched.worst": {
        "dlsched.worst.proving": None,
        "dlsched.worst.competitive.game": ["solve_game"],
        "dlsched.worst.competitive.game_verification": ["verify"],
    },
}
SEE = "see the module"  # so a docstring refers to that of its module, which no page shows otherwise
PAGES = tuple(dict.fromkeys((*MODULES, *ALSO)))


@dataclass(frozen=True)
class Name:
    """A public name: the module from which it is imported, and what it is."""

    module: str
    name: str
    value: Any

    @property
    def path(self) -> str:
        """What users import."""
        return f"{self.module}.{self.name}"

    @property
    def kind(self) -> str:
        """The section of the page in which it stands."""
        if isinstance(self.value, ModuleType):
            return "Modules"  # each has its own page or section
        if isinstance(self.value, type):
            return "Exceptions" if issubclass(self.value, BaseException) else "Classes"
        return "Functions" if callable(self.value) else "Values"

    @property
    def summary(self) -> str:
        """First sentence of its docstring, "" for a value without one."""
        if self.kind == "Values":
            return VALUES[self.path]
        said = " ".join((inspect.getdoc(self.value) or "").split("\n\n")[0].split())
        return re.sub(rf" \({SEE}\)|[;,] {SEE}[^.)]*", "", said).split(". ")[0].rstrip(".")


VALUES = {
    "dlsched.cluster.published.IMAGENET_IMAGES": "Images of an epoch of ImageNet",
    "dlsched.cluster.published.NETWORK_BYTES_PER_S": "Bytes per second of a network, by its Gbit/s",
    "dlsched.FAMILIES": "The families by name; the values are `Family` records, and loaded when they are asked for",
    "dlsched.__version__": "The version, as installed",
    "dlsched.elastic_stream.policies.ORDERS": "The orders by name",
    "dlsched.plots.COLUMN_IN": "Width in inches of a column of a paper",
    "dlsched.plots.PAGE_IN": "Width in inches of a page of a paper",
    "dlsched.testing.CASES": "By family, what tests need to know of it: strategy, brute force, what is too hard",
    "dlsched.testing.INSTANCES": "By family, the strategy from which the contract draws instances",
    "dlsched.traces.SOURCES": "What `dlsched import` reads, by name",
}


def names_of(module: str, chosen: Iterable[str] | None = None) -> list[Name]:
    """Return the public names of a module, or those that are chosen."""
    found = import_module(module)
    return [Name(module, name, getattr(found, name)) for name in (found.__all__ if chosen is None else chosen)]


def names_on(page: str) -> list[Name]:
    """Return the names that stand on a page, in the order of the alphabet within each module."""
    names = names_of(page) if page in MODULES else []
    for module, chosen in ALSO.get(page, {}).items():
        names += names_of(module, chosen)
    if page == "dlsched":
        names += [Name(value.__module__, value.__name__, value) for value in records()]
    return [name for name in names if name.kind != "Modules"]


def records() -> list[type]:
    """Return the classes of a family's record and of what results hold, which no ``__all__`` names."""
    family = dlsched.FAMILIES["ring_allocation"]
    method = next(iter(family.methods.values()))
    guarantee = next(each.guarantee for each in family.methods.values() if each.guarantee is not None)
    return [type(family), type(method), type(guarantee), Objective, *typing.get_args(AnyCertificate)]


def text_of(page: str) -> str:
    """Return a page: what the module is, a table of its names, and each of them."""
    said = inspect.getdoc(import_module(page)) or ""
    names = names_on(page)
    lines = [f"# {page}", "", said.split("\n\n")[0], ""]
    if page == "dlsched":
        lines += ["Each family has a page of its own, see [](../api.md).", ""]
    lines += ["| name | what it is |", "|---|---|"]
    lines += [f"| {{py:obj}}`{shown(name, page)} <{name.path}>` | {cell(name.summary)} |" for name in names]
    for kind in ("Functions", "Classes", "Exceptions", "Values"):
        of_kind = [name for name in names if name.kind == kind]
        if of_kind:
            lines += ["", f"## {kind}", "", "```{eval-rst}", *(line for name in of_kind for line in entry(name)), "```"]
    return "\n".join(lines) + "\n"


def shown(name: Name, page: str) -> str:
    """Return a name as the page's table has it: with its module where that is not the page's."""
    return name.path.removeprefix(f"{page}.")


def cell(text: str) -> str:
    """Return a docstring's sentence as a cell of a table: its code in Markdown's marks, no bar."""
    return text.replace("``", "`").replace("|", "\\|")


def entry(name: Name) -> list[str]:
    """Return the lines with which Sphinx documents a name."""
    if name.kind == "Values":
        return [f".. py:data:: {name.path}", "", f"   {name.summary.replace('`', '``')}.", ""]
    if name.kind == "Functions":
        return [f".. autofunction:: {name.path}{arguments(name.value)}", ""]
    lines = [f".. auto{'exception' if name.kind == 'Exceptions' else 'class'}:: {name.path}"]
    if name.kind == "Classes":
        lines += ["   :members:"]
    if isinstance(name.value, type) and issubclass(name.value, Enum):
        lines += ["   :undoc-members:"]
    fields = getattr(name.value, "_fields", ())  # a named tuple says of each only at which position it stands
    if fields:
        lines += [f"   :exclude-members: {', '.join(fields)}, count, index"]
    return [*lines, ""]


def arguments(function: Any) -> str:
    """Return the arguments of a method that is bound to a record, which Sphinx cannot read; else nothing, as Sphinx can."""
    if not inspect.ismethod(function):
        return ""
    found = inspect.signature(function)
    plain = [parameter.replace(annotation=parameter.empty) for parameter in found.parameters.values()]
    return str(found.replace(parameters=plain, return_annotation=found.empty))


def tell_of_the_module(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Put what the module says after the first paragraph that refers to it, a guarantee before the sections, examples below."""
    parts, module = "\n".join(lines).split("\n\n"), inspect.getmodule(value)
    section = next((index for index, part in enumerate(parts) if re.match(r"\w+\n---", part)), len(parts))
    promises = [part for part in parts[section:] if part.startswith("Guarantee:")]  # else part of the section
    parts = [*parts[:section], *promises, *(part for part in parts[section:] if part not in promises)]
    ending = next((index for index, part in enumerate(parts) if part.startswith(">>> ")), 0)
    if section < ending:  # after its sections, so of none of them
        parts.insert(ending, "Examples\n--------")
    text = "\n\n".join(parts)
    if what != "module" and module is not None and SEE in text:
        first, *others = text.replace(SEE, "see below").split("\n\n")
        said = re.sub(r"\|(?=\w)|(?<=\w)\|", r"\\|", inspect.getdoc(module) or "")  # the bars of |V| are no markup
        text = "\n\n".join((first, said, *others))
    lines[:] = text.split("\n")


def write_pages(folder: Path) -> None:
    """Write all pages into the folder."""
    folder.mkdir(exist_ok=True)
    texts = {f"{page}.md": text_of(page) for page in PAGES}
    for path in folder.iterdir():
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:  # an unchanged page is not built again
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write before the pages are looked for."""
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir) / "_api"))
    app.connect("autodoc-process-docstring", tell_of_the_module, priority=400)  # before napoleon reads the sections
    return {"parallel_read_safe": True, "parallel_write_safe": True}

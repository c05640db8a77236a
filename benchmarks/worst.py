"""On which instance every heuristic and policy does worst, and whether a search finds one as bad as sampling does.

Every heuristic of the six families is searched by ``dlsched.find_worst`` from seed 0 in its family's space, 2,000 evaluations,
shrinking among them, against what the space names as its reference. Sampling has as many evaluations: it draws from the space
and from the presets that fit it, by turns, the same instances for all methods of a family, each with its reference solved once.
Four methods take long, so search and sampling have 300 evaluations of them (*).
Ratios are objective over optimum, or optimum over objective where more is better; what is without bound has no answer, or gains
nothing, where there is something to gain.
A search is worse than sampling where what it found, before shrinking, is worse by more than 1e-9; where both find the same it is
a tie. *Worst* is the worst of the instances that were found for any method of the family, after shrinking; where that is another
method's, its name stands beside. Digits are the significant ones of the numbers that the search may change, the most of any.
*Known before*: what had been found by hand or by large samples, and what a search of 2,000 evaluations makes of it.
Seeds, evaluations and limits are counted in nodes, so a run gives the same page again; all cores work at it, and no times are
claimed. The instances stand in ``worst.json`` beside the page; with ``--gallery instances`` those that are worse than what is
shipped take its place, in files, READMEs and pages (``worst_gallery.py``).
"""

import math
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import numpy as np
from measure import Page, present
from worst_gallery import CARRIED, carried, judge_of, keep, ratio, say, value_of

from dlsched import FAMILIES
from dlsched.catalogue.families import space
from dlsched.worst.judge import Judge, Worst
from dlsched.worst.search import find_worst, turns
from dlsched.worst.spaces import Data, Space, digits_of, numbers_at, space_of

EVALUATED, FEWER, QUICK, CHUNK = 2_000, 300, 10, 250
SLOW = {
    ("elastic_stream", "plan"),
    ("srpt_mapping", "plan"),
    ("matching_placement", "beam"),
    ("ring_embedding", "slot-greedy"),
}
"""Of these search and sampling have ``FEWER`` evaluations."""
SAME = 1e-9
KNOWN: tuple[tuple[str, str, dict[str, int | str], float, str], ...] = (
    ("ring_allocation", "doubling", {"jobs": 2}, 1.7, "by linear programs"),
    ("ring_allocation", "marginal", {"jobs": 2, "tables": "sublinear"}, 8.0, "a plateau, by hand"),
    ("srpt_mapping", "fifo", {"jobs": 1, "gpus": 16}, 9.44, "Heavy-Edge, the worst of 172 placements"),
    ("ring_allocation", "marginal", {"tables": "any", "counts": "all"}, 2.09, "a study of the preset mixed"),
    ("matching_placement", "sampled-market", {"jobs": 3, "gpus": 8}, 1.471, "1,109 draws of the preset few-types"),
    ("matching_placement", "sampled-market", {}, 1.33, "the worst on the page of placement heuristics"),
    ("ring_embedding", "gadget", {}, 6.0, "`wait-for-company` of the shipped instances"),
)


@dataclass(frozen=True)
class Entry:
    """A method: the worst of sampling and of the search, infinite where it is without bound, and the worst instance.

    ``by``: for which method it was found, empty where for this one.
    """

    sampled: float
    worst: Worst
    found: float
    by: str = ""

    @property
    def outcome(self) -> str:
        """Who finds worse."""
        if self.found == self.sampled or abs(self.found - self.sampled) <= SAME * self.sampled:
            return "tie"
        return "worse" if self.found > self.sampled else "less"

    @property
    def digits(self) -> int:
        """Most significant digits of a number that the search may change."""
        data = self.worst.instance.as_data()
        numbers = (value for each in space_of(self.worst.family).numbers for _, value in numbers_at(data, each))
        return max(map(digits_of, numbers), default=1)


def heuristics(family: str) -> list[str]:
    """Names of the methods that are searched in the family's own space."""
    return [name for name, each in FAMILIES[family].methods.items() if each.kind == "heuristic" and not each.for_some]


def evaluations(family: str, method: str, evaluated: int) -> int:
    """How many evaluations search and sampling have of a method."""
    return min(evaluated, FEWER) if (family, method) in SLOW else evaluated


def drawn(space: Space, number: int) -> Data:
    """Draw by number: of the space, or of a preset, again where that drew what has no counterpart in the space."""
    generator = np.random.default_rng([1, number])
    draw = next(islice(turns(space), number % (2 * max(1, len(space.presets))), None))
    return next(data for _ in count() if (data := draw(generator)) is not None)


def sampled(family: str, evaluated: int, first: int, last: int) -> dict[str, float]:
    """Worst ratio of each heuristic on draws by number; 0 where none has one."""
    space = space_of(family)
    judges = {name: judge_of(family, name) for name in heuristics(family)}
    judging = judge_of(family, next(iter(judges)))
    for number in range(first, last):
        data = drawn(space, number)
        instance = judging.instance_of(data)
        value = None if instance is None else judging.reference_of(instance)
        if instance is not None and value is not None:
            for name, judge in judges.items():
                if number < evaluations(family, name, evaluated):
                    judge.held_against(instance, value, data)
    return {name: 0.0 if judge.worst is None else judge.worst.ratio for name, judge in judges.items()}


def searched(family: str, method: str, budget: int, options: dict[str, int | str]) -> Worst:
    """What the search finds."""
    return find_worst(family, method, budget=budget, **options)


def from_others(family: str, entries: dict[str, Entry]) -> dict[str, Entry]:
    """Put every method on the instances of the others, and keep the worst for each."""
    return {name: _worst_of(judge_of(family, name), name, entries) for name in entries}


def _worst_of(judge: Judge, method: str, entries: dict[str, Entry]) -> Entry:
    own = best = entries[method]
    for name, entry in entries.items():
        judged = judge.judge(entry.worst.instance.as_data())
        if judged is not None and judged.ratio > value_of(best.worst) * (1 + CARRIED):
            best = replace(own, worst=carried(own.worst, judged, entry.worst.command, judge.reference.name), by=name)
    return best


def entries(evaluated: int) -> Iterator[tuple[str, dict[str, Entry], dict[int, Worst]]]:
    """Sample and search with all cores; a family after the other, with what was known of it, by place in ``KNOWN``."""
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for family in (family for family in FAMILIES if space(family) is not None):
            searches = {
                name: pool.submit(searched, family, name, evaluations(family, name, evaluated), {})
                for name in heuristics(family)
            }
            again = {
                index: pool.submit(searched, family, method, evaluated, options)
                for index, (of, method, options, *_) in enumerate(KNOWN)
                if of == family
            }
            samples = [
                pool.submit(sampled, family, evaluated, first, min(evaluated, first + CHUNK))
                for first in range(0, evaluated, CHUNK)
            ]
            parts = [part.result() for part in samples]
            found = {}
            for name, search in searches.items():
                worst = search.result()
                before = math.inf if worst.found is None else worst.found
                found[name] = Entry(max(part[name] for part in parts), worst, before)
            print(f"{family}: {len(found)} methods", file=sys.stderr)
            whole = pool.submit(from_others, family, found).result()
            yield family, whole, {index: each.result() for index, each in again.items()}


def fill(page: Page) -> None:
    """Search, sample and word."""
    evaluated = QUICK if page.quick else EVALUATED
    found, known = [], {}
    for family, of_family, again in entries(evaluated):
        found += [(family, name, entry) for name, entry in of_family.items()]
        known |= again
    gallery: Path | None = page.options.gallery
    rows = []
    for family, name, entry in found:
        worst = entry.worst
        page.raw[f"{family} {name}"] = {"sampled": ratio(entry.sampled), **worst.as_data()}
        shrunk = f"{'<= ' if worst.reference_kind == 'bound' else ''}{ratio(value_of(worst))}"
        cells = (
            ratio(entry.sampled) + ("*" if (family, name) in SLOW else ""),
            ratio(entry.found),
            f"{worst.evaluations:,}",
            entry.outcome,
            shrunk + (f" (`{entry.by}`)" if entry.by else ""),
            str(jobs_of(entry)),
            str(entry.digits),
        )
        rows.append(" | ".join([family, f"`{name}`", *cells]))
        if gallery is not None:
            say(keep(worst, gallery), gallery)
    outcomes = [entry.outcome for _, _, entry in found]
    worse, ties, less = (outcomes.count(each) for each in ("worse", "tie", "less"))
    page.add(
        f"Of {len(found)} heuristics and policies a search of {evaluated:,} evaluations finds at least as bad as {evaluated:,} "
        f"draws of presets and space for {worse + ties} ({100 * (worse + ties) / len(found):.0f} %): worse for {worse}, the same "
        f"for {ties}, less for {less}. After shrinking an "
        f"instance has {median(jobs_of(entry) for _, _, entry in found):g} jobs and "
        f"{median(entry.digits for _, _, entry in found):g} significant digits in the median."
    )
    failures = [(family, each.message) for family, _, entry in found for each in entry.worst.failures]
    if failures:
        page.add("Failures: " + "; ".join(f"{family}, {message}" for family, message in failures) + ".")
    page.table("family | method | sampling | search | evaluations | search is | worst | jobs | digits", rows)
    page.add("## Known before")
    page.table(
        "family | method | command | known | found | how it was known", [known_row(*each) for each in known.items()]
    )


def jobs_of(entry: Entry) -> int:
    """Jobs of the worst instance."""
    return len(entry.worst.instance.as_data()["jobs"])


def known_row(index: int, worst: Worst) -> str:
    """A ratio that was known, and what a search finds."""
    family, method, _, value, how = KNOWN[index]
    found = math.inf if worst.found is None else worst.found
    return " | ".join([family, f"`{method}`", f"`{worst.command}`", f"{value:g}", ratio(found), how])


if __name__ == "__main__":
    present("Worst instances", __doc__, fill, how="", gallery=None)

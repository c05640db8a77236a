"""Pages of the studies: run the plans in ``studies``, each into its store, and write what came of them to ``results``.

A plan ``studies/NAME.toml`` may draw on functions in ``studies/NAME.py``. ``words/NAME.py``, where there is one, has a function
``words(rows, study)``, which computes the conclusions from the rows: as Markdown, or as what ``words/NAME.md`` has in braces. It
may have ``picture(rows, path)``.
A study goes on where it was stopped; a page whose cells have all run is written again in seconds.

    python benchmarks/pages.py               # all studies, an hour or so
    python benchmarks/pages.py trend grid    # some
    python benchmarks/pages.py --quick       # small ones, printed, no file
"""

import argparse
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from dlsched.study import Study
from dlsched.study.leader import run
from dlsched.study.plans.plan import Plan
from dlsched.study.plans.plan_file import read_plan
from dlsched.study.plans.sources import smaller
from dlsched.study.reports.markdown_page import page
from dlsched.study.study import content_of

HERE = Path(__file__).parent
STUDIES = sorted(path.stem for path in (HERE / "studies").glob("*.toml") if path.stem != "demo")
"""All but the one of ``make demo``, which has a report of its own."""
TRACES = dict.fromkeys(("gangs", "prices"), HERE.parents[1] / "shared" / "data" / "philly_jobs.csv")
"""Studies of traces that are not part of this repository."""


def quick(plan: Plan) -> Plan:
    """A plan of the same kind that takes seconds."""
    return smaller(plan, {"jobs": 20, "slots": 10}, trace_to="2017-09-25")


def conclusions(name: str, study: Study, results: Path | None) -> str:
    """What a study found, in the words of its module; its picture is drawn into ``results`` if given."""
    if not (HERE / "words" / f"{name}.py").is_file():
        return ""
    module, rows = import_module(f"words.{name}"), study.rows()
    if results is not None and hasattr(module, "picture"):
        module.picture(rows, results / f"{name}.png")
    found: str | Mapping[str, object] = module.words(rows, study)
    return found if isinstance(found, str) else (HERE / "words" / f"{name}.md").read_text("utf-8").format_map(found)


def written(name: str, plan: Plan, store: Path, results: Path | None) -> str:
    """Run a study and return its page."""
    with run(plan, store) as study:
        text = f"Command: `python benchmarks/pages.py {name}`.\n\n{conclusions(name, study, results)}"
        return page(content_of(study), text)


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(STUDIES))
    parser.add_argument("--quick", action="store_true", help="small studies, printed; no store and no page")
    asked = parser.parse_args()
    for name in asked.names or STUDIES:
        if name not in STUDIES:
            parser.error(f"NAME: found {name}, allowed: {', '.join(STUDIES)}")
        if name in TRACES and not TRACES[name].is_file():
            print(f"{name}: skipped, as {TRACES[name]} is not there", file=sys.stderr)
            continue
        plan = read_plan(HERE / "studies" / f"{name}.toml")
        if asked.quick:
            with TemporaryDirectory() as folder:
                print(written(name, quick(plan), Path(folder) / "store", None))
            continue
        stores, results = HERE / ".stores", HERE / "results"
        stores.mkdir(exist_ok=True)
        text = written(name, plan, stores / f"{name}.sqlite", results)
        (results / f"{name}.md").write_text(text, encoding="utf-8")
        print(f"{name}: {results / f'{name}.md'}", file=sys.stderr)


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    main()

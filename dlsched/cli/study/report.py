"""``dlsched study report``: a study as a page that opens anywhere."""

from typing import Annotated

import typer

from dlsched.cli.study.show import STORE_HELP
from dlsched.core.files import require_writable
from dlsched.core.messages import printable
from dlsched.study.study import FORMS, Study, require_form, write_open


def run(
    store: Annotated[str, typer.Argument(metavar="STORE", help=STORE_HELP)],
    out: Annotated[str, typer.Option("-o", "--out", metavar="FILE", help="Where the report goes.")],
    form: Annotated[str, typer.Option("--format", metavar="F", help=f"{' or '.join(FORMS)}.")] = "html",
) -> int:
    """Write a study as one page that opens anywhere: figures, plots, worst instances, failures."""
    require_writable(out)
    require_form(form)
    with Study(store) as study:
        write_open(study, out, form)
    if out != "-":
        print(f"report: {printable(out)}")
    return 0

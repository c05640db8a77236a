"""Builds one HTML file from a template, with styles, scripts, and a content security policy.

The policy forbids all requests: it allows only the page's own script, by its hash, and its styles.
"""

import base64
import hashlib
from pathlib import Path

from dlsched.core.imports import needing
from dlsched.core.messages import printable, several
from dlsched.study.reports.html.words import block

TEMPLATES = Path(__file__).parent / "templates"


def embedded(template: str, *, folder: Path = TEMPLATES, **values: object) -> str:
    """Fill in a template.

    Parameters
    ----------
    template, folder
        File name of the template, and its folder; all pages may use the templates of reports.
    values
        Values for the template; ``policy``, ``script`` and ``styles`` are added.

    Raises
    ------
    SolverMissingError
        Jinja2 or Matplotlib is not installed.
    """
    require_report()
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, TEMPLATES], encoding="utf-8"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"printable": printable, "block": block, "several": several}
    script = _text("page.js")
    policy = [
        "default-src 'none'",
        f"script-src {_hash(script)}",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    # These texts come from this folder, never from the study.
    trusted = {"script": Markup(script), "styles": Markup(_text("page.css"))}
    return environment.get_template(template).render(policy="; ".join(policy), **trusted, **values)


def require_report() -> None:
    """Raise early if the page could not be written later.

    Raises
    ------
    SolverMissingError
        Jinja2 or Matplotlib is not installed.
    """
    with needing("reports need Jinja2 and Matplotlib", "report"):
        import jinja2  # noqa: F401
        import matplotlib.figure  # noqa: F401


def _text(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """Hash of a script in the format of content security policies."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"

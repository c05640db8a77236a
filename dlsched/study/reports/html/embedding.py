"""Builds one HTML file from a template, with styles, scripts, and a content security policy.

The policy forbids all requests: it allows only the page's own scripts, by their hashes, and its styles.
Plotly is embedded once; `figure` says why Plotly.
"""

import base64
import hashlib
from pathlib import Path

from dlsched.core.imports import needing
from dlsched.core.messages import printable
from dlsched.study.reports.html.words import block, counted

TEMPLATES = Path(__file__).parent / "templates"


def embedded(template: str, *, drawn: bool, folder: Path = TEMPLATES, **values: object) -> str:
    """Fill in a template.

    Parameters
    ----------
    template, folder
        File name of the template, and its folder; all pages may use the templates of reports.
    drawn
        Whether the page has a plot, and so needs Plotly.
    values
        Values for the template; ``policy``, ``scripts`` and ``styles`` are added.

    Raises
    ------
    SolverMissingError
        Jinja2 or Plotly is not installed.
    """
    require_report()
    import jinja2
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, TEMPLATES], encoding="utf-8"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"printable": printable, "block": block, "counted": counted}
    scripts = [_text("page.js"), *([get_plotlyjs()] if drawn else [])]
    policy = [
        "default-src 'none'",
        f"script-src {' '.join(_hash(script) for script in scripts)}",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    # These texts come from packages and this folder, never from the study.
    trusted = {"scripts": [Markup(script) for script in reversed(scripts)], "styles": Markup(_text("page.css"))}
    return environment.get_template(template).render(policy="; ".join(policy), **trusted, **values)


def require_report() -> None:
    """Raise early if the page could not be written later.

    Raises
    ------
    SolverMissingError
        Jinja2 or Plotly is not installed.
    """
    with needing("reports need Jinja2 and Plotly", "report"):
        import jinja2  # noqa: F401
        import plotly.offline  # noqa: F401


def _text(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """Hash of a script in the format of content security policies."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"

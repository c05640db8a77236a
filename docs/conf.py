"""How Sphinx builds these pages: ``sphinx-build -W -b html docs docs/_build/html``.

When it begins, ``public_names`` writes the API reference, ``results_pages`` copies the results of the benchmarks,
``instance_pages`` makes the tables of the library of instances, and ``figures`` draws the figures, each into a folder of its own
that git ignores.
"""

import logging
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # where the extensions are

import dlsched

project = "dlsched"
author = "the authors of dlsched"
version = release = dlsched.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "mathml",
    "figures",
    "instance_pages",
    "public_names",
    "results_pages",
]
exclude_patterns = ["_build", "_instances", "**.ipynb_checkpoints"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

nb_execution_mode = "cache"  # in docs/_build; a notebook runs again when it is changed
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True  # lines of progress stand in one box

napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_default_options = {
    "exclude-members": "model_config, model_post_init, family, __init__, __new__",
}
python_maximum_signature_line_length = 100
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"

html_math_renderer = "mathml"
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["mathml.css", "pages.css"]
html_show_copyright = False
html_title = f"dlsched {release}"


def end_examples(app, page, source):
    """Leave out the empty line with which doctest wants examples to end, below which the fence stands."""
    source[0] = re.sub(r"\n\n```$", "\n```", source[0], flags=re.MULTILINE)


def setup(app):
    """Sphinx's own log shows nothing of what drawings of figures log."""
    logging.getLogger("dlsched").setLevel(logging.WARNING)
    app.connect("source-read", end_examples)

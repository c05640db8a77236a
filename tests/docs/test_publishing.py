"""What publishes dlsched: actions pinned to commits, few permissions, and the files that the host and the sdist expect."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
if not WORKFLOWS:
    pytest.skip("no workflows here", allow_module_level=True)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned(path):
    """An action is named by a full commit and its version; the same action is the same everywhere."""
    uses = re.findall(r"uses: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert uses
    for used in uses:
        assert used.startswith("./") or re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used), used


def test_one_version_of_each_action():
    """No workflow pins an action to another commit than the others."""
    text = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    pins = set(re.findall(r"uses: ([\w/-]+)@([0-9a-f]{40})", text))
    assert len(pins) == len({name for name, _ in pins})


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_permissions_are_few(path):
    """A workflow may read; more is given to single jobs of the release, and no checkout keeps its credentials."""
    text = path.read_text(encoding="utf-8")
    assert "\npermissions:\n  contents: read\n" in text
    more = set(re.findall(r"^      ([\w-]+: write)$", text, re.MULTILINE))
    assert more == ({"contents: write", "id-token: write"} if path.name == "release.yml" else set())
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")


@pytest.mark.parametrize("name", ["CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff", "LICENSE"])
def test_the_sdist_has_the_files_of_the_project(name):
    """Files that the documentation includes or names are in the source distribution."""
    assert (ROOT / name).exists()
    with (ROOT / "pyproject.toml").open("rb") as file:
        assert name in tomllib.load(file)["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]

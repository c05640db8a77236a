"""The family of docs/adding_a_family.md as a package of its own, installed in a folder."""

from pathlib import Path

from test_docs import blocks

PAGE = "adding_a_family.md"
FAMILY = "admission"


def install(folder: Path, name: str, points: dict[str, str]) -> None:
    """Write what an installer leaves of a package in a folder on the path: its name, and its entry points."""
    home = folder / f"{name}-1.0.dist-info"
    home.mkdir(parents=True)
    (home / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{family} = {target}" for family, target in points.items()]
    (home / "entry_points.txt").write_text("\n".join(["[dlsched.families]", *lines, ""]))


def write_package(folder: Path) -> None:
    """Write the files of the page as the package ``admission``, as the page says it: by other names, and else unchanged."""
    for block in blocks(PAGE):
        name = block.file or ""
        if name.endswith(".py"):
            home = name.replace("dlsched/testing/admission", "admission/testing").removeprefix("dlsched/")
            (folder / home).parent.mkdir(parents=True, exist_ok=True)
            text = block.text.replace("dlsched.testing.admission", "admission.testing")
            (folder / home).write_text(text.replace("dlsched.admission", "admission"), encoding="utf-8")
    install(folder, FAMILY, {FAMILY: "admission:FAMILY"})

"""Modules of the user's own: which belong to a folder, and which files a module imports from there."""

import ast
import os
import sys
import sysconfig
from collections.abc import Collection, Iterator
from pathlib import Path


def loaded_below(folder: str) -> list[str]:
    """Names of the modules that were imported from Python files below a folder.

    Neither dlsched's own nor installed ones are among them, though an environment may stand in the folder.
    """
    standard = os.path.join(os.path.realpath(sysconfig.get_path("stdlib")), "")
    start = os.path.join(os.path.realpath(folder), "")
    found = []
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name == "__main__" or _is_dlsched(name) or not isinstance(file, str):
            continue
        path = os.path.realpath(file)
        installed = {"site-packages", "dist-packages"} & set(Path(path).parts)
        if path.startswith(start) and path.endswith(".py") and not installed and not path.startswith(standard):
            found.append(name)
    return found


def files_of_code(files: Collection[str], folder: str) -> list[str]:
    """Return files of Python code, and after them those below a folder that their import statements lead to.

    They are read rather than imported, so that the answer does not depend on what this process imported before.

    Parameters
    ----------
    files
        To begin with.
    folder
        Where modules are looked for.
    """
    found = dict.fromkeys(os.path.realpath(file) for file in files)
    waiting = list(found)
    while waiting:
        file = waiting.pop(0)
        new = [each for each in _imported_by(file, os.path.realpath(folder)) if each not in found]
        found |= dict.fromkeys(new)
        waiting += dict.fromkeys(new)
    return list(found)


def _imported_by(file: str, folder: str) -> Iterator[str]:
    """Yield the files below a folder of all modules that a file may import, wherever in it that stands."""
    if not file.endswith(".py"):
        return
    for node in ast.walk(ast.parse(Path(file).read_bytes())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files_of(folder, alias.name.split("."), folder)
        elif isinstance(node, ast.ImportFrom):
            base = str(Path(file).parents[node.level - 1]) if 0 < node.level <= len(Path(file).parents) else folder
            words = node.module.split(".") if node.module else []
            for alias in node.names:
                yield from _files_of(base, [*words, alias.name], folder)


def _files_of(base: str, words: list[str], folder: str) -> Iterator[str]:
    """Yield the files of a module and of the packages that it is in; nothing for those that are elsewhere."""
    if _is_dlsched(words[0]):
        return
    for end in range(len(words) + 1):
        path = os.path.join(base, *words[:end])
        for candidate in (f"{path}.py", os.path.join(path, "__init__.py")):
            if (end or base != folder) and candidate.startswith(os.path.join(folder, "")) and os.path.isfile(candidate):
                yield os.path.realpath(candidate)


def _is_dlsched(name: str) -> bool:
    return name.partition(".")[0] == "dlsched"

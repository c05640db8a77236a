"""Modules of users: finds those loaded from a folder, and the files that a module imports from there."""

import ast
import os
import sys
import sysconfig
from collections.abc import Collection, Iterator
from pathlib import Path


def loaded_below(folder: str) -> list[str]:
    """Return the names of loaded modules that come from Python files below a folder.

    Modules of dlsched and installed packages are left out, even if the environment is below the folder.
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
    """Return Python files, followed by the files below a folder that they import, directly or indirectly.

    The files are parsed, not imported, so the answer does not depend on earlier imports of this process.

    Parameters
    ----------
    files
        The files to begin with.
    folder
        Folder in which modules are looked up.
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
    """Yield the files below a folder of all modules that a file imports, at any place in its code."""
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
    """Yield the files below the folder of a module and of the packages that contain it."""
    if _is_dlsched(words[0]):
        return
    for end in range(len(words) + 1):
        path = os.path.join(base, *words[:end])
        for candidate in (f"{path}.py", os.path.join(path, "__init__.py")):
            if (end or base != folder) and candidate.startswith(os.path.join(folder, "")) and os.path.isfile(candidate):
                yield os.path.realpath(candidate)


def _is_dlsched(name: str) -> bool:
    return name.partition(".")[0] == "dlsched"

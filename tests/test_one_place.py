"""Facts stand in one place: texts are written for people, and no module takes a fact out of one.

Errors, results and rows say what they know in fields; names of instances and methods are names. Read from the sources.
"""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

from conftest import tree_of

import dlsched
from dlsched.core import errors

PACKAGE = Path(dlsched.__file__).parent

TEXTS = {"message", "instance", "method", "words", "head"}
"""Attributes that hold a text or a name; of errors also their text itself."""
TAKING_APART = {
    *("split", "rsplit", "splitlines", "partition", "rpartition", "removeprefix", "removesuffix"),
    *("startswith", "endswith", "find", "rfind", "index", "count"),
    *("match", "fullmatch", "search", "findall", "finditer", "sub", "subn"),
}
"""Methods of texts and of regular expressions that take a text apart, or look for something in it."""

ALLOWED = {
    ("core/imports.py", "str(error)"): "what the system's linker says of a library, which has no fields",
    ("processes/dask_client.py", "str(error)"): "the first line of what Dask says",
    ("study/figures/summary.py", "row.instance"): "files of instances have no field that says that a search found them",
    ("results/verification.py", "result.method"): "a result file of a stranger: is the name one that a method may have",
}
"""By module and expression why it is taken apart nevertheless."""


@functools.cache
def sources() -> dict[str, tuple[Path, str]]:
    """Path and text of every module, by its name in the package."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {str(path.relative_to(PACKAGE)): (path, path.read_text(encoding="utf-8")) for path in paths}


def trees(*words: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield name and tree of each module in whose text one of the words stands; the others are not parsed."""
    for name, (path, text) in sources().items():
        if any(word in text for word in words):
            yield name, tree_of(path)


def texts_taken_apart(tree: ast.AST) -> Iterator[str]:
    """Yield the texts of errors, and the names and messages, that a module takes apart."""
    caught = {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name}
    known: dict[str, str] = {}  # variables that hold such a text

    def text_of(node: ast.AST) -> str | None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str" and node.args:
            inner = node.args[0]
            return ast.unparse(node) if isinstance(inner, ast.Name) and inner.id in caught else None
        if isinstance(node, ast.Attribute) and node.attr in TEXTS:
            return ast.unparse(node)
        return known.get(node.id) if isinstance(node, ast.Name) else None

    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and (text := text_of(node.value)) is not None:
            known |= {each.id: text for each in node.targets if isinstance(each, ast.Name)}
    for node in ast.walk(tree):
        looked_at: list[ast.expr] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TAKING_APART:
            looked_at = [node.func.value, *node.args]
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Constant | ast.JoinedStr):
            looked_at = [each for each, sign in zip(node.comparators, node.ops, strict=True) if _is_in(sign)]
            looked_at = looked_at if not _is_a_word(node.left) else []
        yield from (text for each in looked_at if (text := text_of(each)) is not None)


def _is_in(sign: ast.cmpop) -> bool:
    return isinstance(sign, ast.In | ast.NotIn)


def _is_a_word(node: ast.expr) -> bool:
    """Whether it is the sign that tells a method of the user's own from one of dlsched's, ``file.py:function``."""
    return isinstance(node, ast.Constant) and node.value == ":"


def test_no_text_is_taken_apart_for_a_fact() -> None:
    """Neither of an error, nor a message, nor the name of an instance or a method."""
    found = {(name, text) for name, tree in trees("str", *TEXTS) for text in texts_taken_apart(tree)}
    assert found - set(ALLOWED) == set(), "take a field, or add one"
    assert set(ALLOWED) - found == set(), "no longer taken apart: take it off the list"


def test_nothing_is_read_in_the_words_of_messages() -> None:
    """Wherever a text comes from: no module looks for ``found`` and ``allowed``, between which errors put facts."""
    for name, tree in trees("found", "allowed"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TAKING_APART:
                words = [each.value for each in node.args if isinstance(each, ast.Constant)]
                said = [word for word in words if isinstance(word, str) and word.strip(" ,:") in ("found", "allowed")]
                assert not said, f"{name}, line {node.lineno}: {said}"


def test_errors_are_given_their_fields() -> None:
    """Not a text with ``found`` and ``allowed`` in it, from which nobody could take them."""
    kinds = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}
    for name, tree in trees(", allowed: "):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in kinds and node.args:
                text = ast.unparse(node.args[0])
                wrong = "found " in text and ", allowed: " in text and "; found" not in text
                assert not wrong, f"{name}, line {node.lineno}: where=, found= and allowed= make the text {text}"

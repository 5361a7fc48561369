"""Rules for tests and names, which CONTRIBUTING.md gives in words."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import ROOT

TESTS = Path(__file__).parent
MODULES = sorted(TESTS.rglob("*.py"))
TEST_MODULES = {path.stem for path in MODULES if path.stem.startswith("test_")}
CLOCKS = {"monotonic", "perf_counter", "time"}

of_each_module = pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(TESTS)))


def imported(tree: ast.AST) -> set[str]:
    """The last parts of the names of modules that a module may have imported from this folder."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name.rpartition(".")[2] for each in node.names if each.name.startswith("tests.")}
        elif isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").split(".")[0] == "tests"):
            found |= {(node.module or "").rpartition(".")[2], *(each.name for each in node.names)}
    return found


@of_each_module
def test_nothing_is_imported_from_a_test_module(path: Path) -> None:
    """What two of them need is in a module of its own."""
    assert not imported(ast.parse(path.read_text())) & TEST_MODULES


@of_each_module
def test_nothing_is_asserted_to_be_quick(path: Path) -> None:
    """On a loaded machine everything is slow: there is no upper bound for what a clock of the wall says."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Assert):
            spans = [each for each in ast.walk(node.test) if isinstance(each, ast.Compare) and _is_span(each)]
            assert not [each for each in spans if any(isinstance(op, ast.Lt | ast.LtE) for op in each.ops)], node.lineno


def _is_span(compared: ast.Compare) -> bool:
    """Something minus something, where one is what a clock says now."""
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Sub)
        and any(isinstance(each, ast.Attribute) and each.attr in CLOCKS for each in ast.walk(node))
        for node in ast.walk(compared)
    )


def test_no_class_name_stands_for_two_things() -> None:
    """Who reads a name, in a log or a question, knows which class is meant."""
    names = [
        match[1]
        for file in (ROOT / "connector").rglob("*.py")
        for match in re.finditer(r"^class (\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert [name for name, count in Counter(names).items() if count > 1] == []


SOURCES = sorted((ROOT / "connector" / "lineagelog").rglob("*.py"))
FULL_ROOMS = {"cli", "export/satsuma", "export/snaplogic"}
"""Commands and nothing else; and the exporters."""
DOCUMENTED = {"lineage_run.__init__", "emit_lineage"}
"""The SDK's two calls, whose parameters users name."""


def functions(node: ast.AST, within: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """All functions of a module, by their qualified names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield within + child.name, child
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from functions(child, f"{within}{child.name}.")


def test_a_room_can_be_overlooked() -> None:
    """No folder has more than 14 modules, its docstring apart."""
    folders = Counter(path.parent for path in SOURCES if path.name != "__init__.py")
    named = {str(folder.relative_to(ROOT / "connector" / "lineagelog")): count for folder, count in folders.items()}
    assert {name: count for name, count in named.items() if count > 14 and name not in FULL_ROOMS} == {}


def test_what_belongs_together_is_handed_over_together() -> None:
    """At most 8 functions outside the commands and the SDK's documented calls have more than 6 parameters."""
    long = []
    for path in SOURCES:
        if path.parent.name == "cli":
            continue
        for name, function in functions(ast.parse(path.read_text(encoding="utf-8"))):
            given = function.args
            names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            if len([each for each in names if each not in ("self", "cls")]) > 6 and name not in DOCUMENTED:
                long.append(f"{path.stem}.{name}")
    assert len(long) <= 8, long

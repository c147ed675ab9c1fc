"""Rules of the house that a linter does not know, read from the source with `ast`."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ORDER = ["symbolic", "optimization", "validation", "converters", "cli"]  # each may import those before it
FOLDERS = ["anyonnx", *ORDER]
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
CORE = {"numpy", "onnx", "onnx_ir", "ml_dtypes", *sys.stdlib_module_names}
FRAMEWORKS = {
    *("torch", "torchvision", "tensorflow", "keras", "jax", "flax", "sklearn", "xgboost", "lightgbm", "catboost"),
    *("paddle", "onnxruntime", "openvino", "transformers", "pandas", "scipy", "skops", "joblib", "h5py"),
}
MAX_MODULE, MAX_FUNCTION = 600, 60


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


each_source = pytest.mark.parametrize("path", SOURCES, ids=name)


def at_top(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that run when the module is imported; those for type checkers do not."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from at_top(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for field in ("body", "orelse", "finalbody"):
                yield from at_top(getattr(node, field, []))


def absolute(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Top-level names of what is imported absolutely."""
    if isinstance(node, ast.Import):
        return [alias.name.split(".")[0] for alias in node.names]
    return [] if node.level else [str(node.module).split(".")[0]]


def imported_folders(path: Path, node: ast.ImportFrom) -> list[str]:
    """The folders of the repository that a relative import reaches."""
    here = ["anyonnx", *path.relative_to(ROOT).parts[:-1]]
    if here[1] == "anyonnx":
        here = here[:1]
    base = here[: len(here) - node.level + 1]
    target = [*base, *(node.module.split(".") if node.module else [])]
    if len(target) > 1:
        return [target[1]]
    return [alias.name for alias in node.names]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@each_source
def test_imports_run_downward_and_are_relative(path):
    folder = path.relative_to(ROOT).parts[0]
    allowed = FOLDERS if folder == "anyonnx" else [*ORDER[: ORDER.index(folder) + 1]]
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            assert "anyonnx" not in absolute(node), f"line {node.lineno}: import relatively"
        if isinstance(node, ast.ImportFrom) and node.level:
            for reached in imported_folders(path, node):
                if folder == "cli" and reached == "__version__":
                    continue
                assert reached in allowed, f"line {node.lineno}: {folder} must not import {reached}"


@each_source
def test_imports_at_module_top(path):
    folder = path.relative_to(ROOT).parts[0]
    for node in at_top(tree(path).body):
        for root in absolute(node):
            assert root not in FRAMEWORKS, f"line {node.lineno}: import {root} inside the function that needs it"
            if folder == "symbolic":
                assert root in CORE, f"line {node.lineno}: symbolic/ must not import {root}"
            if folder in ("cli", "anyonnx"):
                assert root not in ("numpy", "onnx", "onnx_ir"), f"line {node.lineno}: {root} makes --help slow"


def code_lines(function):
    """Lines of a function without its docstring: saying more about it doesn't make it longer."""
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is not None:
        lines -= function.body[0].end_lineno - function.body[0].lineno + 1
    return lines


@each_source
def test_size(path):
    lines = path.read_text(encoding="utf-8").count("\n")
    assert lines <= MAX_MODULE, f"{lines} lines: split it by family"
    functions = [node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = [f"{node.name} ({code_lines(node)} lines)" for node in functions if code_lines(node) > MAX_FUNCTION]
    assert not long, f"functions over {MAX_FUNCTION} lines: {', '.join(long)}"


@each_source
def test_no_broad_except(path):
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ExceptHandler) and ast.unparse(node.body[-1]) != "raise":
            caught = ast.unparse(node.type) if node.type is not None else "everything"
            assert not re.search(r"\b(Exception|BaseException|everything)\b", caught), f"line {node.lineno}: {caught}"


@each_source
def test_nothing_left_to_do(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\b(TODO|FIXME|XXX)\b|raise NotImplementedError", text)


def test_no_name_shadows_a_framework():
    taken = [name(p) for p in [*SOURCES, *TESTS] if {part.removesuffix(".py") for part in p.parts} & FRAMEWORKS]
    assert not taken


def test_tests_are_no_packages():
    assert not [name(p) for p in TESTS if p.name == "__init__.py"]


def test_package_list_follows_the_tree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = project["tool"]["setuptools"]["packages"]
    folders = {p.parent.relative_to(ROOT).parts for p in SOURCES}
    expected = {"anyonnx" if parts == ("anyonnx",) else ".".join(("anyonnx", *parts)) for parts in folders}
    assert sorted(listed) == sorted(expected)
    missing = [name(p.parent) for p in SOURCES if not (p.parent / "__init__.py").exists()]
    assert not missing, "folders without __init__.py"


def test_no_path_of_a_machine():
    pattern = re.compile(r"/(?:" + "|".join(["wor" + "k", "roo" + "t", "hom" + "e", "far" + "m"]) + r")/[\w.]")
    texts = [*SOURCES, *TESTS, *ROOT.glob("*.toml"), *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    texts += [ROOT / "Makefile", ROOT / ".ci" / "run", ROOT / "constraints.txt"]
    found = [name(p) for p in texts if pattern.search(p.read_text(encoding="utf-8"))]
    assert not found

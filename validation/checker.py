"""Is it a valid ONNX model of the opset that was asked for, made of standard operators only?"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

import onnx
import onnx.checker
import onnx.shape_inference

from ..symbolic.errors import CheckFailed
from .models import LoadedModel, ModelLike, iter_graphs, load_model

# Local functions came with this IR version; onnx.checker accepts them below it, runtimes don't.
_FUNCTIONS_SINCE_IR = 8
_OLDEST_IR = 3  # the first one with opset imports


def check_model(model: ModelLike, *, opset: int | None = None, domains: Sequence[str] = ("", "ai.onnx.ml")) -> None:
    """Checks a model with ``onnx.checker`` (full check) and against what the caller asked for.

    All problems are collected before anything is raised.
    A call of a function that the model itself defines is not foreign, whatever its domain: its body is checked.

    Args:
        model: ``onnx.ModelProto``, ``onnx_ir.Model`` or a path (also of a model above 2 GB with external data).
        opset: The opset of the default domain that the model must declare, exactly; None accepts any.
        domains: Operator domains that nodes may use.

    Raises:
        CheckFailed: With one line for each problem.
        InputSpecError: The path can't be read.
    """
    loaded = load_model(model)
    problems = [*_header_problems(loaded.proto, opset), *_operator_problems(loaded.proto, domains)]
    problems += _onnx_problems(loaded)
    if problems:
        raise CheckFailed(list(dict.fromkeys(problems)))


def _header_problems(model: onnx.ModelProto, opset: int | None) -> list[str]:
    problems = []
    declared = _imports(model.opset_import)
    if len(declared) != len(model.opset_import):
        problems.append("a domain is imported twice in opset_import")
    if opset is not None and declared.get("") != opset:
        problems.append(f"the model declares opset {declared.get('', 'none')}; the asked opset is {opset}")
    newest = onnx.defs.onnx_opset_version()
    if declared.get("", 0) > newest:
        problems.append(f"opset {declared['']} is newer than the newest that onnx {onnx.__version__} knows ({newest})")
    version = model.ir_version
    if not _OLDEST_IR <= version <= onnx.IR_VERSION:
        problems.append(
            f"IR version {version} is not allowed: onnx {onnx.__version__} knows {_OLDEST_IR} to {onnx.IR_VERSION}"
        )
    if model.functions and version < _FUNCTIONS_SINCE_IR:
        problems.append(f"local functions need IR version {_FUNCTIONS_SINCE_IR}; the model declares {version}")
    return problems


def _imports(entries: Collection[onnx.OperatorSetIdProto]) -> dict[str, int]:
    # "ai.onnx" is the spelled-out name of the default domain.
    return {"" if entry.domain == "ai.onnx" else entry.domain: entry.version for entry in entries}


def _operator_problems(model: onnx.ModelProto, domains: Sequence[str]) -> list[str]:
    local = {(f.domain, f.name, getattr(f, "overload", "")) for f in model.functions}
    imports = _imports(model.opset_import)
    problems: list[str] = []
    for graph in iter_graphs(model.graph):
        for node in graph.node:
            problems += _node_problems(node, imports, domains, local)
    for function in model.functions:
        # A function has opset imports of its own.
        inner = _imports(function.opset_import)
        body = onnx.GraphProto(node=function.node)
        for graph in iter_graphs(body):
            for node in graph.node:
                problems += [
                    f"in function {function.domain}::{function.name}: {text}"
                    for text in _node_problems(node, inner, domains, local)
                ]
    return problems


def _node_problems(
    node: onnx.NodeProto,
    imports: dict[str, int],
    domains: Sequence[str],
    local: Collection[tuple[str, str, str]],
) -> list[str]:
    if (node.domain, node.op_type, getattr(node, "overload", "")) in local:
        return []
    domain = "" if node.domain == "ai.onnx" else node.domain
    name = f"{domain}::{node.op_type}" if domain else node.op_type
    where = f"node {node.name or '(unnamed)'} -> {', '.join(o for o in node.output if o)}"
    if domain not in domains:
        return [f"{name} is of a foreign domain: {where}"]
    version = imports.get(domain)
    if version is None:
        return [f"{name}: the model imports no opset of domain {domain or 'ai.onnx'}: {where}"]
    if domain not in ("", "ai.onnx.ml"):
        return []  # a domain that the caller allowed: onnx may have no schemas for it
    try:
        schema = onnx.defs.get_schema(node.op_type, version, domain)
    except onnx.defs.SchemaError:
        return [f"{name} does not exist in opset {version}: {where}"]
    if schema.deprecated:
        return [f"{name} is deprecated since opset {schema.since_version}; the model declares {version}: {where}"]
    return []


def _onnx_problems(loaded: LoadedModel) -> list[str]:
    try:
        if loaded.path is not None:
            # By path the checker also looks at the external data files, and has no 2 GB limit.
            onnx.checker.check_model(os.fspath(loaded.path), full_check=True)
        else:
            onnx.checker.check_model(loaded.without_weights(), full_check=True)
    except onnx.checker.ValidationError as error:
        return [f"onnx.checker: {_one_line(error)}"]
    except onnx.shape_inference.InferenceError as error:
        return [f"onnx.shape_inference: {_one_line(error)}"]
    except (RuntimeError, ValueError) as error:  # what the C++ checker raises for malformed graphs
        return [f"onnx.checker: {_one_line(error)}"]
    return []


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())

"""``anyonnx inspect``: what is in an ONNX file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Debug

if TYPE_CHECKING:
    import onnx


def inspect_model(
    model: Annotated[Path, typer.Argument(help="An ONNX file.", metavar="MODEL")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    debug: Debug = False,
) -> None:
    """Shows inputs, outputs, opset, operators, weights and size of an ONNX file."""
    facts = describe(onnx_file(model))
    if json:
        from json import dumps

        typer.echo(dumps(facts, indent=2))
    else:
        typer.echo(_as_text(facts))


def onnx_file(path: Path) -> Path:
    """The path, if an ONNX model lies there."""
    from ..converters.files import sniff
    from ..symbolic.errors import InputSpecError

    kind = sniff(path)
    if kind.framework != "onnx":
        raise InputSpecError(f"{path} is {kind}, not an ONNX model; anyonnx convert makes one of it")
    return path


def describe(path: Path) -> dict[str, Any]:
    """The facts about an ONNX file, ready for JSON."""
    import onnx
    from google.protobuf.message import DecodeError

    from ..symbolic.errors import InputSpecError

    try:
        proto = onnx.load(path, load_external_data=False)
    except DecodeError as error:
        raise InputSpecError(f"{path} is a damaged ONNX file ({error})") from error
    graphs = list(_graphs(proto.graph))
    operators = Counter(
        f"{node.domain}::{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type
        for nodes in [*(graph.node for graph in graphs), *(function.node for function in proto.functions)]
        for node in nodes
    )
    weights = [tensor for graph in graphs for tensor in graph.initializer]
    external = [t for t in weights if t.data_location == onnx.TensorProto.EXTERNAL]
    constants = {tensor.name for tensor in proto.graph.initializer}
    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        "ir_version": proto.ir_version,
        "producer": f"{proto.producer_name} {proto.producer_version}".strip(),
        "opsets": {entry.domain or "ai.onnx": entry.version for entry in proto.opset_import},
        "domains": sorted({node.split("::")[0] if "::" in node else "ai.onnx" for node in operators}),
        "inputs": [_tensor(value) for value in proto.graph.input if value.name not in constants],
        "outputs": [_tensor(value) for value in proto.graph.output],
        "initializers": len(weights),
        "external_initializers": len(external),
        "parameters": sum(_elements(tensor.dims) for tensor in weights),
        "nodes": sum(operators.values()),
        "operators": dict(sorted(operators.items(), key=lambda item: (-item[1], item[0]))),
    }


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """The graph and all graphs inside its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs] if attribute.HasField("g") else attribute.graphs:
                yield from _graphs(inner)


def _elements(dims: Any) -> int:
    from math import prod

    return prod(dims)


def _tensor(value: onnx.ValueInfoProto) -> str:
    """A value as a spec, ``x:float32[batch,3]``."""
    import onnx

    kind = value.type.WhichOneof("value")
    if kind not in ("tensor_type", "sparse_tensor_type"):
        return f"{value.name}:{kind or 'unknown'}"
    tensor = getattr(value.type, kind)
    name = onnx.TensorProto.DataType.Name(tensor.elem_type).lower()
    dtype = {"float": "float32", "double": "float64"}.get(name, name)
    if not tensor.HasField("shape"):
        return f"{value.name}:{dtype}"
    dims = [d.dim_param or (str(d.dim_value) if d.HasField("dim_value") else "?") for d in tensor.shape.dim]
    return f"{value.name}:{dtype}[{','.join(dims)}]"


def _as_text(facts: dict[str, Any]) -> str:
    from .display import size_text

    opsets = ", ".join(f"{domain} {version}" for domain, version in facts["opsets"].items())
    external = facts["external_initializers"]
    lines = [
        f"file       {facts['file']} ({size_text(facts['bytes'])})",
        f"opset      {opsets} (IR version {facts['ir_version']})",
        f"producer   {facts['producer'] or 'not named'}",
        *(f"input      {text}" for text in facts["inputs"]),
        *(f"output     {text}" for text in facts["outputs"]),
        f"weights    {facts['initializers']} tensors, {facts['parameters']:,} elements"
        + (f", {external} in external files" if external else ""),
        f"nodes      {facts['nodes']} in domains {', '.join(facts['domains']) or 'none'}",
        *(f"  {count:>6}  {name}" for name, count in facts["operators"].items()),
    ]
    return "\n".join(lines)

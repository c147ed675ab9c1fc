"""What a runtime's own rewriting of a quantised model does to its numbers, and how to switch it off."""

from __future__ import annotations

from collections.abc import Sequence

from .models import LoadedModel, iter_nodes
from .report import ParityRow

#: A setting that differs from the source so many times more than another one has been rewritten.
_MORE = 30
_NOTE = (
    "with optimisations on, onnxruntime turns a MatMul with a dequantised weight into MatMulNBits, which rounds the "
    'other operand to int8, too; the session option session.qdq_matmulnbits_accuracy_level = "1" keeps that in float'
)


def rewriting_notes(model: LoadedModel, rows: Sequence[ParityRow]) -> list[str]:
    """The note, where onnxruntime's settings differ much and the model has such a product."""
    errors: dict[tuple[int, str], dict[str, float]] = {}
    for row in rows:
        if row.provider == "onnxruntime-cpu" and row.metrics is not None:
            errors.setdefault((row.input_set, row.output), {})[row.setting] = row.metrics.sc
    differ = any(
        found.get("optimisations on", 0.0) > _MORE * max(found.get("optimisations off", 1.0), 1e-6)
        for found in errors.values()
    )
    return [_NOTE] if differ and _multiplies_weights(model) else []


def _multiplies_weights(model: LoadedModel) -> bool:
    """Whether a MatMul takes what a DequantizeLinear of a constant gives, turned or not."""
    nodes = list(iter_nodes(model.proto))
    constants = {t.name for t in model.proto.graph.initializer}
    weights = {n.output[0] for n in nodes if n.op_type == "DequantizeLinear" and n.input[0] in constants}
    weights |= {n.output[0] for n in nodes if n.op_type == "Transpose" and n.input[0] in weights}
    return any(n.op_type == "MatMul" and n.input[1] in weights for n in nodes)

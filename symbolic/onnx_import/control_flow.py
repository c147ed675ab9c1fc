"""Scan as it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..builder import GraphBuilder, Wanted
from ..registry import symbolic
from ..value import Value
from .refusals import refused


@symbolic("onnx_import", "Scan", until=8)
def scan_8(
    g: GraphBuilder,
    sequence_lens: Value | None,
    *initial_state_and_scan_inputs: Value,
    body: GraphBuilder,
    num_scan_inputs: int,
    directions: Sequence[int] | None = None,
    outputs: Wanted = 1,
) -> Any:
    """Scan-8(sequence_lens, initial_state_and_scan_inputs...) {body, directions, num_scan_inputs}: with a batch axis.

    It becomes a scan over the batch whose body scans the sequence.
    """
    if sequence_lens is not None:
        raise refused(g, "Scan", "sequences of different lengths (sequence_lens of opset 8)")
    batch = g.subgraph("batch")
    slices = [
        batch.input(f"slice_{i}", v.type, None if v.sizes is None else v.sizes[1:])  # type: ignore[arg-type]
        for i, v in enumerate(initial_state_and_scan_inputs)
    ]
    results = batch.call(
        "Scan",
        *slices,
        body=body,
        num_scan_inputs=num_scan_inputs,
        scan_input_directions=list(directions) if directions else None,
        outputs=[True] * len(body.outputs),
    )
    for result in results:
        batch.output(result)
    return g.call("Scan", *initial_state_and_scan_inputs, body=batch, num_scan_inputs=len(slices), outputs=outputs)

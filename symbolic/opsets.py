"""The opset range, and what each opset fixes: the ai.onnx.ml version and the oldest IR version."""

from __future__ import annotations

from .errors import OpsetError

#: Symbolic functions write to the operator signatures of this opset. It is the newest that onnxruntime runs whole
#: (from 26 on, quantisation and optional types lack kernels). Raise it deliberately: "newest installed" would change
#: signatures under us.
AUTHORING_OPSET = 25
AUTHORING_ML_OPSET = 5
MIN_OPSET = 11
DEFAULT_OPSET = 21

# opset -> (ai.onnx.ml version, oldest IR version), after the release table of the ONNX standard
_RELEASES = {
    11: (2, 6), 12: (2, 7), 13: (2, 7), 14: (2, 7), 15: (2, 8), 16: (3, 8), 17: (3, 8), 18: (3, 8),
    19: (3, 9), 20: (4, 9), 21: (5, 10), 22: (5, 10), 23: (5, 11), 24: (5, 12), 25: (5, 13),
}  # fmt: skip


def check_opset(opset: int) -> int:
    """Returns `opset`, or raises OpsetError when it lies outside the range."""
    if not isinstance(opset, int) or isinstance(opset, bool) or not MIN_OPSET <= opset <= AUTHORING_OPSET:
        raise OpsetError(f"opset {opset}", detail=f"anyonnx writes opsets {MIN_OPSET} to {AUTHORING_OPSET}")
    return opset


def ml_opset(opset: int) -> int:
    """The ai.onnx.ml version that was released with `opset`."""
    return _RELEASES[opset][0]


def ir_version(opset: int) -> int:
    """The oldest IR version that `opset` allows, so that old runtimes load the file."""
    return _RELEASES[opset][1]

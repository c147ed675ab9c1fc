"""Reads ``.tflite`` files: tensors, operators, their options."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...symbolic.errors import CaptureError
from ...symbolic.tflite_ops.common import Quantization
from ..flatbuffer import Table

#: Element types by number.
DTYPES = {
    0: "float32", 1: "float16", 2: "int32", 3: "uint8", 4: "int64", 6: "bool", 7: "int16", 9: "int8", 10: "float64",
    12: "uint64", 15: "uint32", 16: "uint16",
}  # fmt: skip
_NAMES = {
    0: "ADD", 1: "AVERAGE_POOL_2D", 2: "CONCATENATION", 3: "CONV_2D", 4: "DEPTHWISE_CONV_2D", 5: "DEPTH_TO_SPACE",
    6: "DEQUANTIZE", 7: "EMBEDDING_LOOKUP", 8: "FLOOR", 9: "FULLY_CONNECTED", 11: "L2_NORMALIZATION", 14: "LOGISTIC",
    17: "MAX_POOL_2D", 18: "MUL", 19: "RELU", 20: "RELU_N1_TO_1", 21: "RELU6", 22: "RESHAPE", 23: "RESIZE_BILINEAR",
    25: "SOFTMAX", 26: "SPACE_TO_DEPTH", 28: "TANH", 32: "CUSTOM", 34: "PAD", 36: "GATHER", 37: "BATCH_TO_SPACE_ND",
    38: "SPACE_TO_BATCH_ND", 39: "TRANSPOSE", 40: "MEAN", 41: "SUB", 42: "DIV", 43: "SQUEEZE", 45: "STRIDED_SLICE",
    47: "EXP", 48: "TOPK_V2", 49: "SPLIT", 50: "LOG_SOFTMAX", 53: "CAST", 54: "PRELU", 55: "MAXIMUM", 56: "ARG_MAX",
    57: "MINIMUM", 58: "LESS", 59: "NEG", 60: "PADV2", 61: "GREATER", 62: "GREATER_EQUAL", 63: "LESS_EQUAL",
    64: "SELECT", 65: "SLICE", 66: "SIN", 67: "TRANSPOSE_CONV", 69: "TILE", 70: "EXPAND_DIMS", 71: "EQUAL",
    72: "NOT_EQUAL", 73: "LOG", 74: "SUM", 75: "SQRT", 76: "RSQRT", 77: "SHAPE", 78: "POW", 79: "ARG_MIN",
    81: "REDUCE_PROD", 82: "REDUCE_MAX", 83: "PACK", 84: "LOGICAL_OR", 85: "ONE_HOT", 86: "LOGICAL_AND",
    87: "LOGICAL_NOT", 88: "UNPACK", 89: "REDUCE_MIN", 90: "FLOOR_DIV", 91: "REDUCE_ANY", 92: "SQUARE",
    93: "ZEROS_LIKE", 94: "FILL", 95: "FLOOR_MOD", 96: "RANGE", 97: "RESIZE_NEAREST_NEIGHBOR", 98: "LEAKY_RELU",
    99: "SQUARED_DIFFERENCE", 100: "MIRROR_PAD", 101: "ABS", 102: "SPLIT_V", 104: "CEIL", 105: "REVERSE_V2",
    106: "ADD_N", 107: "GATHER_ND", 108: "COS", 109: "WHERE", 110: "RANK", 111: "ELU", 114: "QUANTIZE", 116: "ROUND",
    117: "HARD_SWISH", 118: "IF", 119: "WHILE", 122: "SCATTER_ND", 123: "SELECT_V2", 126: "BATCH_MATMUL",
    128: "CUMSUM", 129: "CALL_ONCE", 130: "BROADCAST_TO", 140: "REDUCE_ALL", 142: "VAR_HANDLE", 143: "READ_VARIABLE",
    144: "ASSIGN_VARIABLE", 150: "GELU",
}  # fmt: skip
# options of an operator: name=field form(default); forms are those of struct, or "ints", or "text"
_CONV = "padding=0 b; stride_w=1 i; stride_h=2 i; activation=3 b; dilation_w=4 i1; dilation_h=5 i1"
_POOL = "padding=0 b; stride_w=1 i; stride_h=2 i; width=3 i; height=4 i; activation=5 b"
_OPTIONS = {
    "CONV_2D": _CONV,
    "DEPTHWISE_CONV_2D": "padding=0 b; stride_w=1 i; stride_h=2 i; activation=4 b; dilation_w=5 i1; dilation_h=6 i1",
    "AVERAGE_POOL_2D": _POOL, "MAX_POOL_2D": _POOL,
    "FULLY_CONNECTED": "activation=0 b; weights_format=1 b; keep_num_dims=2 b",
    "SOFTMAX": "beta=0 f", "CONCATENATION": "axis=0 i; activation=1 b",
    **dict.fromkeys(("ADD", "MUL", "SUB", "DIV", "L2_NORMALIZATION"), "activation=0 b"),
    "RESHAPE": "new_shape=0 ints", "RESIZE_BILINEAR": "align_corners=2 b; half_pixel_centers=3 b",
    "RESIZE_NEAREST_NEIGHBOR": "align_corners=0 b; half_pixel_centers=1 b", "GATHER": "axis=0 i; batch_dims=1 i",
    **dict.fromkeys(("MEAN", "SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ANY", "REDUCE_ALL"),
                    "keep_dims=0 b"),
    "SQUEEZE": "squeeze_dims=0 ints", "SPLIT": "num_splits=0 i", "SPLIT_V": "num_splits=0 i",
    "STRIDED_SLICE": "begin_mask=0 i; end_mask=1 i; ellipsis_mask=2 i; new_axis_mask=3 i; shrink_axis_mask=4 i; "
                     "offset=5 b",
    "ARG_MAX": "output_type=0 b", "ARG_MIN": "output_type=0 b", "PACK": "axis=1 i", "UNPACK": "num=0 i; axis=1 i",
    "LEAKY_RELU": "alpha=0 f", "MIRROR_PAD": "mode=0 b", "ONE_HOT": "axis=0 i", "BATCH_MATMUL": "adj_x=0 b; adj_y=1 b",
    "CUMSUM": "exclusive=0 b; reverse=1 b", "TRANSPOSE_CONV": "padding=0 b; stride_w=1 i; stride_h=2 i; activation=3 b",
    "SPACE_TO_DEPTH": "block_size=0 i", "DEPTH_TO_SPACE": "block_size=0 i", "GELU": "approximate=0 b",
    "SHAPE": "out_type=0 b", "IF": "then_graph=0 i; else_graph=1 i", "CALL_ONCE": "graph=0 i",
    "VAR_HANDLE": "container=0 text; shared_name=1 text",
}  # fmt: skip


@dataclass(slots=True)
class Tensor:
    """A tensor: its type, and its contents where the file holds them.

    Attributes:
        name: Its name.
        dtype: numpy's name of its element type; empty where it isn't supported.
        shape: Its sizes, None where open.
        array: Its contents; None for what is computed.
        quantization: How its integers stand for numbers.
    """

    name: str
    dtype: str
    shape: list[int | None]
    array: np.ndarray | None
    quantization: Quantization | None


@dataclass(slots=True)
class Operator:
    """An operator: name, numbers of the tensors that it takes and gives, options."""

    name: str
    inputs: list[int]
    outputs: list[int]
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Graph:
    """Operators in the order in which they run, and the tensors that they work on, by number."""

    tensors: list[Tensor]
    inputs: list[int]
    outputs: list[int]
    operators: list[Operator]


@dataclass(slots=True)
class Model(Graph):
    """The main graph of a file.

    Attributes:
        names: Names of inputs and outputs that a signature gives.
        version: Version of the schema.
        graphs: All graphs by number; the main one is the first.
    """

    names: dict[int, str]
    version: int
    graphs: list[Graph]


def read_model(path: Path) -> Model:
    """Reads a file.

    Raises:
        CaptureError: It is damaged.
    """
    try:
        return _model(path.read_bytes())
    except (ValueError, IndexError) as error:  # FlatbufferError is a ValueError; numpy and decoding raise it too
        raise CaptureError(f"{path} is a damaged TensorFlow Lite model: {error}") from error


def _model(data: bytes) -> Model:
    root = Table.root(data)
    codes = [_code(t) for t in root.tables(1)]
    graphs = root.tables(2)
    if not graphs:
        raise CaptureError("the TensorFlow Lite model has no graph")
    buffers = root.tables(4)
    found = [_graph(t, codes, buffers) for t in graphs]
    names: dict[int, str] = {}
    for signature in root.tables(7)[:1]:
        for group in (0, 1):
            names |= {int(m.number(1, "I", 0)): m.text(0) for m in signature.tables(group)}
    main = found[0]
    version = int(root.number(0, "I", 0))
    return Model(main.tensors, main.inputs, main.outputs, main.operators, names, version, found)


def _graph(table: Table, codes: list[str], buffers: list[Table]) -> Graph:
    tensors = [_tensor(t, buffers) for t in table.tables(0)]
    operators = [_operator(t, codes) for t in table.tables(3)]
    inputs = _ints(table, 1)
    computed = {*inputs, *(i for o in operators for i in o.outputs)}
    for index, tensor in enumerate(tensors):
        if index not in computed and tensor.dtype and 0 in tensor.shape:  # an empty constant has an empty buffer
            tensor.array = np.zeros([s or 0 for s in tensor.shape], tensor.dtype)
    return Graph(tensors, inputs, _ints(table, 2), operators)


def _ints(table: Table, at: int) -> list[int]:
    return [int(v) for v in table.array(at, "<i4")]


def _code(table: Table) -> str:
    number = max(int(table.number(0, "b", 0)), int(table.number(3, "i", 0)))
    name = _NAMES.get(number, f"BUILTIN_{number}")
    return table.text(1) or name if name == "CUSTOM" else name


def _tensor(table: Table, buffers: list[Table]) -> Tensor:
    shape: list[int | None] = [int(v) for v in table.array(0, "<i4")]
    signature = _ints(table, 7)
    if len(signature) == len(shape):
        shape = [None if s < 0 else s for s in signature]
    number = int(table.number(1, "b", 0))
    dtype = DTYPES.get(number, "")
    buffer = buffers[int(table.number(2, "I", 0))]
    raw = buffer.array(0, "u1")
    array = None
    if table.table(6) is not None:
        raise CaptureError(f"the tensor {table.text(3)} is stored as a sparse one, which isn't supported")
    if raw.size and dtype:
        array = raw.view(np.dtype(dtype).newbyteorder("<")).reshape([int(s) for s in table.array(0, "<i4")])
    elif buffer.number(1, "Q", 0) > 1:
        raise CaptureError("weights that lie behind the flatbuffer (above 2 GB) aren't supported")
    quantized = table.table(4)
    return Tensor(table.text(3), dtype, shape, array, None if quantized is None else _quantization(quantized))


def _quantization(table: Table) -> Quantization | None:
    scale = table.array(2, "<f4")
    if not scale.size:
        return None
    zero = table.array(3, "<i8")
    return Quantization(scale, zero if zero.size else np.zeros(scale.size, np.int64), int(table.number(6, "i", 0)))


def _operator(table: Table, codes: list[str]) -> Operator:
    name = codes[int(table.number(0, "I", 0))]
    options = table.table(4)
    found: dict[str, Any] = {}
    for text in filter(None, _OPTIONS.get(name, "").split("; ")):
        head, form = text.split(" ")
        key, at = head.split("=")
        if form == "ints":
            found[key] = [] if options is None else _ints(options, int(at))
        elif form == "text":
            found[key] = "" if options is None else options.text(int(at))
        else:
            default = int(form[1:] or 0)
            found[key] = default if options is None else options.number(int(at), form[0], default)
    return Operator(name, _ints(table, 1), _ints(table, 2), found)

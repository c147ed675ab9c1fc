"""Convolutions on channels-first tensors, with the padding rules of the channels-last frameworks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..dims import Sizes
from ..value import Value

if TYPE_CHECKING:
    from ..builder import GraphBuilder

#: "SAME" (what is odd goes to the end), "SAME_LOWER", "VALID", "CAUSAL", or (before, after) for each spatial axis.
Padding = str | Sequence[tuple[int, int]]


def window_pads(
    padding: Padding, sizes: Sizes, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> dict[str, Any]:
    """ONNX attributes for the padding of a window that slides over spatial axes.

    Explicit `pads` wherever they don't depend on an open size, else `auto_pad`.
    """
    if not isinstance(padding, str):
        pairs = list(padding)
    elif padding == "VALID":
        pairs = [(0, 0)] * len(kernel)
    elif padding == "CAUSAL":
        pairs = [(d * (k - 1), 0) for k, d in zip(kernel, dilations, strict=True)]
    elif padding in ("SAME", "SAME_LOWER"):
        found = [same_pads(*axis) for axis in zip(sizes, kernel, strides, dilations, strict=True)]
        pairs = [p for p in found if p is not None]
        if len(pairs) < len(found):
            if any(d != 1 for d in dilations):
                raise ValueError("SAME padding with strides and dilations needs fixed spatial sizes")
            return {"auto_pad": "SAME_UPPER" if padding == "SAME" else "SAME_LOWER"}
        if padding == "SAME_LOWER":
            pairs = [(b, a) for a, b in pairs]
    else:
        raise ValueError(f"no padding rule is called {padding}")
    flat = [p[0] for p in pairs] + [p[1] for p in pairs]
    return {"pads": flat} if any(flat) else {}


def same_pads(size: Any, kernel: int, stride: int, dilation: int) -> tuple[int, int] | None:
    """(before, after) so that the result has ceil(size / stride) elements; None where it depends on an open size."""
    span = dilation * (kernel - 1) + 1
    if isinstance(size, int):
        total = max((-(-size // stride) - 1) * stride + span - size, 0)
    elif stride == 1 or span == 1:
        total = span - 1
    else:
        return None
    return total // 2, total - total // 2


def conv(
    g: GraphBuilder,
    x: Value,
    weight: Value,
    bias: Value | None = None,
    *,
    strides: Sequence[int],
    dilations: Sequence[int] | None = None,
    padding: Padding = "VALID",
    groups: int = 1,
) -> Value:
    """Convolution of channels-first `x` with a weight (out, in / groups, *kernel)."""
    kernel = fixed_kernel(weight)
    dilations = list(dilations or [1] * len(kernel))
    if padding == "VALID":
        x, padding = _without_zero_padding(x)
    assert x.sizes is not None
    pads = window_pads(padding, x.sizes[2:], kernel, strides, dilations)
    return g.Conv(
        x, weight, bias, strides=list(strides), dilations=dilations, group=groups, kernel_shape=kernel, **pads
    )


def _without_zero_padding(x: Value) -> tuple[Value, Padding]:
    """What was padded with zeros on its spatial axes just before, and that padding: the convolution can do it."""
    node = x.producer()
    if node is None or node.op_type != "Pad" or node.domain or len(node.inputs) > 3:
        return x, "VALID"
    source, pads, fill = [*node.inputs, None][:3]
    zeros = fill is None or (fill.const_value is not None and not fill.const_value.numpy().any())
    mode = node.attributes.get_string("mode", "constant")
    if not isinstance(source, Value) or not isinstance(pads, Value) or pads.array is None or not zeros:
        return x, "VALID"
    before, after = pads.array.reshape(2, -1).tolist()
    if mode != "constant" or any(before[:2] + after[:2]) or min(before + after) < 0:
        return x, "VALID"
    return source, list(zip(before[2:], after[2:], strict=True))


def conv_transpose(
    g: GraphBuilder,
    x: Value,
    weight: Value,
    bias: Value | None = None,
    *,
    strides: Sequence[int],
    dilations: Sequence[int] | None = None,
    pads: Sequence[tuple[int, int]],
    groups: int = 1,
) -> Value:
    """Transposed convolution of channels-first `x` with a weight (in, out / groups, *kernel).

    Each axis gets (size - 1) * stride + span elements, less its pads; a negative pad after it adds elements.
    """
    output_padding = [max(-after, 0) for _, after in pads]
    flat = [before for before, _ in pads] + [max(after, 0) for _, after in pads]
    return g.ConvTranspose(
        x,
        weight,
        bias,
        strides=list(strides),
        dilations=list(dilations or [1] * len(pads)),
        pads=flat,
        output_padding=output_padding if any(output_padding) else None,
        group=groups,
        kernel_shape=fixed_kernel(weight),
    )


def fixed_kernel(weight: Value) -> list[int]:
    """Spatial sizes of a weight; raises ValueError where one is open."""
    sizes = [s for s in (weight.sizes or ())[2:] if isinstance(s, int)]
    if weight.sizes is None or len(sizes) != weight.rank - 2:
        raise ValueError("a convolution needs a kernel of fixed size")
    return sizes


def with_bias(g: GraphBuilder, y: Value, bias: Value) -> Value:
    """Adds one number for each channel of a channels-first tensor; to a convolution just made, as its own bias."""
    node = y.producer()
    if node is not None and node.op_type == "Conv" and len(node.inputs) == 2 and not y.uses() and y.builder is g:
        node.resize_inputs(3)
        node.replace_input_with(2, bias)
        return y
    return g.Add(y, g.Unsqueeze(bias, list(range(1, y.rank - 1))))

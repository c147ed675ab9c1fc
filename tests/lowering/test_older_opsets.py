"""Delicate lowerings with open dims, against the operator at its own opset."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from opset_parity import assert_same, build, operators

from anyonnx.symbolic.errors import OpsetError

RNG = np.random.default_rng(7)
OLD = (11, 12, 13, 17)


def f32(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


# --- softmax below 13: all axes from `axis` on counted as one -----------------------------------------------------


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1, -3])
def test_softmax_family_on_any_axis_of_open_sizes(op: str, axis: int) -> None:
    open_axes = {"x": {0: "batch", 1: "channels", 2: "height", 3: "width"}}
    assert_same(lambda g, x: g.call(op, x, axis=axis), {"x": f32(2, 3, 4, 5)}, (11, 12, 13), open_axes=open_axes)


def test_softmax_on_the_last_axis_is_one_node() -> None:
    model = build(lambda g, x: g.Softmax(x, axis=3), {"x": ("float32", ["n", 3, 4, 5])}, 11)
    assert operators(model) == ["Transpose", "Softmax", "Transpose"] or operators(model) == ["Softmax"]
    model = build(lambda g, x: g.Softmax(x, axis=-1), {"x": ("float32", ["n", 3, 4, 5])}, 11)
    assert operators(model) == ["Softmax"]


# --- integers -----------------------------------------------------------------------------------------------------

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "int64", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "int64"])
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul"])
def test_integer_arithmetic_wraps_round(op: str, dtype: str) -> None:
    limits = np.iinfo(dtype)
    a = np.array([limits.min, limits.max, limits.max, 5, 100], dtype)
    b = np.array([1, 1, limits.max, 7, 100], dtype)
    with np.errstate(all="ignore"):
        expected = {"Add": a + b, "Sub": a - b, "Mul": a * b}[op]
    assert_same(lambda g, x, y: g.call(op, x, y), {"a": a, "b": b}, (11, 13, 14), expected=[expected])


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_division_rounds_to_zero_and_remainder_to_the_divisor(dtype: str) -> None:
    a, b = (np.array(v, dtype) for v in ([7, -7, 7, -7, -128, 6], [2, 2, -2, -2, 3, -3]))
    quotient = (np.abs(a.astype(np.int64)) // np.abs(b) * np.sign(a) * np.sign(b)).astype(dtype)
    feeds = {"a": a, "b": b}
    assert_same(lambda g, x, y: g.Div(x, y), feeds, (11, 13, 14), expected=[quotient])
    assert_same(lambda g, x, y: g.Mod(x, y), feeds, (11, 13), expected=[np.mod(a, b)])


def test_float_remainder_takes_the_divisors_sign() -> None:
    a, b = np.array([7.5, -7.5, 7.5, -7.5, 6, -6, 0], np.float32), np.array([2, 2, -2, -2, 3, 3, -3], np.float32)
    assert_same(lambda g, x, y: g.Mod(x, y), {"a": a, "b": b}, (11, 13, 25), expected=[np.mod(a, b)])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_extremes_and_clip_below_12(dtype: str) -> None:
    limits = np.iinfo(dtype)
    a = np.array([limits.min, limits.max, 3, 100], dtype)
    b = np.array([limits.max, limits.min, 4, 5], dtype)
    feeds = {"a": a, "b": b}
    targets = (11,) if dtype.endswith("int16") else (11, 12)  # the runtime has no kernels of 16 bits from 12 on
    assert_same(lambda g, x, y: g.Max(x, y), feeds, targets, expected=[np.maximum(a, b)])
    assert_same(lambda g, x, y: g.Min(x, y), feeds, targets, expected=[np.minimum(a, b)])
    wanted = np.clip(a, 4, 50)
    assert_same(lambda g, x, y: g.Clip(x, np.array(4, dtype), np.array(50, dtype)), feeds, targets, expected=[wanted])


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", ["And", "Or", "Xor"])
def test_bitwise_by_bits(op: str, dtype: str) -> None:
    limits = np.iinfo(dtype)
    a = RNG.integers(limits.min, limits.max, 20, dtype, endpoint=True)
    b = RNG.integers(limits.min, limits.max, 20, dtype, endpoint=True)
    a[:3], b[:3] = [limits.min, limits.max, 0], [limits.max, limits.max, limits.min]
    expected = {"And": a & b, "Or": a | b, "Xor": a ^ b}[op]
    assert_same(lambda g, x, y: g.call(f"Bitwise{op}", x, y), {"a": a, "b": b}, (11, 17, 18), expected=[expected])
    assert_same(lambda g, x: g.BitwiseNot(x), {"a": a}, (11, 17, 18), expected=[~a])


def test_powers_of_integers_that_may_not_fit_are_refused() -> None:
    x = {"x": ("int64", ["n"]), "y": ("int64", ["n"])}
    with pytest.raises(OpsetError, match=r"Pow \(X of type INT64.*needs opset 12"):
        build(lambda g, a, b: g.Pow(a, b), x, 11)
    assert_same(lambda g, a: g.Pow(a, np.int64(3)), {"a": np.array([-5, 2**20, 7])}, (11, 12))


def test_what_a_wider_type_would_change_is_refused() -> None:
    with pytest.raises(OpsetError, match=r"Equal \(A of type STRING\) needs opset 19"):
        build(lambda g, x: g.Equal(x, x), {"x": ("string", ["n"])}, 13)
    with pytest.raises(OpsetError, match="needs opset 13"):
        build(lambda g, x: g.Relu(x), {"x": ("bfloat16", ["n"])}, 11)


# --- shapes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start, end", [(0, None), (1, None), (-2, None), (1, -1), (0, 2), (-9, 9), (3, 1)])
def test_part_of_a_shape(start: int, end: int | None) -> None:
    open_axes = {"x": {0: "n", 2: "m"}}
    feeds = {"x": f32(2, 3, 4, 5)}
    assert_same(lambda g, x: g.Add(g.Shape(x, start=start, end=end), 0), feeds, (11, 14, 15), open_axes=open_axes)


@pytest.mark.parametrize("size", [6, 7])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_split_in_equal_and_unequal_parts_of_an_open_axis(size: int, axis: int) -> None:
    feeds = {"x": f32(size, size, size)}
    open_axes = {"x": {0: "a", 1: "b", 2: "c"}}
    split = lambda g, x: g.Split(x, axis=axis, num_outputs=3, outputs=3)  # noqa: E731
    assert_same(split, feeds, (11, 13, 17, 18), open_axes=open_axes)
    assert_same(split, feeds, (11, 13, 17, 18))


def test_split_by_sizes_known_at_run_time() -> None:
    feeds = {"x": f32(7, 2), "sizes": np.array([3, 0, 4])}
    assert_same(lambda g, x, s: g.Split(x, s, axis=0, outputs=3), feeds, (11, 13), open_axes={"x": {0: "n"}})


@pytest.mark.parametrize("k", [-2, 0, 1, 5])
@pytest.mark.parametrize("upper", [0, 1])
def test_triangles_of_open_sizes(k: int, upper: int) -> None:
    feeds = {"x": f32(2, 4, 5)}
    open_axes = {"x": {0: "n", 1: "r", 2: "c"}}
    assert_same(lambda g, x: g.Trilu(x, k, upper=upper), feeds, (11, 13, 14), open_axes=open_axes)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_pad_of_some_axes(mode: str) -> None:
    pads = lambda g, x: g.Pad(x, [2, 1, 1, 2], None, [-1, 1], mode=mode)  # noqa: E731
    assert_same(pads, {"x": f32(2, 4, 3)}, (11, 13, 17, 18, 19), open_axes={"x": {0: "n", 1: "m"}})


def test_pad_by_amounts_known_at_run_time() -> None:
    feeds = {"x": f32(2, 4, 3), "pads": np.array([1, 2, 0, 1])}
    assert_same(lambda g, x, p: g.Pad(x, p, np.float32(7), [2, 0]), feeds, (11, 17), open_axes={"x": {0: "n"}})


def test_axes_known_at_run_time() -> None:
    feeds = {"x": f32(2, 1, 3), "axes": np.array([-2])}
    for op in ("Squeeze", "Unsqueeze"):
        assert_same(lambda g, x, a, op=op: g.call(op, x, a), feeds, (11, 12), open_axes={"x": {0: "n"}})


REDUCTIONS = ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"]


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reductions(op: str, keepdims: int) -> None:
    x = np.abs(f32(2, 3, 4)) + 0.1
    for axes in (None, [1], [-1, 0]):
        reduce = lambda g, v, a=axes: g.call(f"Reduce{op}", v, a, keepdims=keepdims)  # noqa: E731
        assert_same(reduce, {"x": x}, (11, 13, 17, 18), open_axes={"x": {0: "n", 2: "m"}})
    for given in ([], [0], [-1, 1]):
        feeds = {"x": x, "axes": np.array(given, np.int64)}
        reduce_at_run_time = lambda g, v, a: g.call(f"Reduce{op}", v, a, keepdims=keepdims)  # noqa: E731
        open_count = {"axes": {0: "k"}} if keepdims else {}
        assert_same(reduce_at_run_time, feeds, (11, 17), open_axes={"x": {0: "n"}} | open_count)


# --- scattering ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_scatter_with_repeated_indices(reduction: str, dtype: str) -> None:
    data = (f32(5, 3) * 10).astype(dtype)
    indices = np.array([[1], [3], [1], [1]])
    updates = (f32(4, 3) * 10).astype(dtype)
    feeds = {"x": data, "i": indices, "u": updates}
    open_axes = {"x": {0: "n"}, "i": {0: "k"}, "u": {0: "k"}}
    scatter_nd = lambda g, x, i, u: g.ScatterND(x, i, u, reduction=reduction)  # noqa: E731
    assert_same(scatter_nd, feeds, (11, 15, 16, 17, 18), open_axes=open_axes)
    feeds["i"] = np.array([[0, 1, 0], [1, 1, 4], [0, -1, 0], [1, 1, 1]])
    scatter = lambda g, x, i, u: g.ScatterElements(x, i, u, axis=0, reduction=reduction)  # noqa: E731
    assert_same(scatter, feeds, (11, 15, 16, 17, 18), open_axes=open_axes)


def test_scatter_at_constant_places_needs_no_loop() -> None:
    at = np.array([[1], [3]])
    scatter = lambda g, x, u: g.ScatterND(x, at, u, reduction="add")  # noqa: E731
    assert_same(scatter, {"x": f32(5, 3), "u": f32(2, 3)}, (11, 15))
    model = build(scatter, {"x": ("float32", [5, 3]), "u": ("float32", [2, 3])}, 11)
    assert "Loop" not in operators(model)


# --- attention ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", [None, "bool", "float32"])
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_attention_with_open_lengths(mask: str | None, causal: int, kv_heads: int) -> None:
    feeds = {"q": f32(2, 4, 5, 8), "k": f32(2, kv_heads, 6, 8), "v": f32(2, kv_heads, 6, 8)}
    open_axes = {name: {0: "batch", 2: "queries" if name == "q" else "keys"} for name in "qkv"}
    if mask is not None:
        feeds["m"] = RNG.random((2, 1, 5, 6)) < 0.7 if mask == "bool" else f32(2, 1, 5, 6)
        open_axes["m"] = {0: "batch", 2: "queries", 3: "keys"}
    attention = lambda g, *x: g.Attention(*x, is_causal=causal, softcap=3.0)  # noqa: E731
    assert_same(attention, feeds, (11, 17, 21, 22), open_axes=open_axes, truth=24)


def test_a_query_without_keys_gets_zeros() -> None:
    feeds = {"q": f32(1, 2, 3, 4), "k": f32(1, 2, 3, 4), "v": f32(1, 2, 3, 4), "m": np.zeros((3, 3), bool)}
    feeds["m"][1] = True
    attention = lambda g, q, k, v, m: g.Attention(q, k, v, m)  # noqa: E731
    assert_same(attention, feeds, (11, 22), truth=24)


def test_attention_with_a_cache_and_heads_in_the_last_axis() -> None:
    feeds = {"q": f32(2, 3, 16), "k": f32(2, 3, 8), "v": f32(2, 3, 8), "pk": f32(2, 2, 5, 4), "pv": f32(2, 2, 5, 4)}
    open_axes = {n: {0: "b", 1: "s"} for n in "qkv"} | {n: {0: "b", 2: "past"} for n in ("pk", "pv")}

    def attention(g, q, k, v, pk, pv):
        return g.Attention(q, k, v, None, pk, pv, q_num_heads=4, kv_num_heads=2, is_causal=1, outputs=3)

    assert_same(attention, feeds, (11, 17, 22), open_axes=open_axes, truth=24)


@pytest.mark.parametrize("left, right, causal", [(2, 0, 0), (1, 2, 0), (-1, 1, 0), (2, -1, 1)])
def test_attention_windows_below_25(left: int, right: int, causal: int) -> None:
    feeds = {"q": f32(1, 2, 6, 4), "k": f32(1, 2, 6, 4), "v": f32(1, 2, 6, 4)}
    open_axes = {n: {2: "s"} for n in feeds}

    def attention(g, q, k, v):
        return g.Attention(q, k, v, left_window_size=left, right_window_size=right, is_causal=causal)

    steps = np.arange(6)[None] - np.arange(6)[:, None]
    seen = (steps <= (0 if causal else right if right >= 0 else 9)) & (steps >= (-left if left >= 0 else -9))
    scores = np.where(seen, feeds["q"] @ feeds["k"].swapaxes(2, 3) / 2, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = (weights / weights.sum(-1, keepdims=True)) @ feeds["v"]
    assert_same(attention, feeds, (11, 17, 24), open_axes=open_axes, expected=[expected.astype(np.float32)])


# --- normalisation, activations -----------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [-1, 1, -2])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_layer_normalization_with_statistics(axis: int, dtype: str) -> None:
    x = f32(2, 3, 4).astype(dtype)
    scale, bias = (f32(*x.shape[axis:]).astype(dtype) for _ in range(2))
    norm = lambda g, v: g.LayerNormalization(v, scale, bias, axis=axis, outputs=1 if dtype == "float16" else 3)  # noqa: E731
    assert_same(norm, {"x": x}, (11, 16, 17), open_axes={"x": {0: "n"}})


def test_group_normalization_of_open_images() -> None:
    scale, bias = f32(6), f32(6)
    norm = lambda g, x: g.GroupNormalization(x, scale, bias, num_groups=3)  # noqa: E731
    x = f32(2, 6, 4, 5)
    grouped = x.reshape(2, 3, -1)
    y = (grouped - grouped.mean(-1, keepdims=True)) / np.sqrt(grouped.var(-1, keepdims=True) + 1e-5)
    expected = y.reshape(x.shape) * scale[:, None, None] + bias[:, None, None]
    assert_same(norm, {"x": x}, (11, 18, 20), open_axes={"x": {0: "n", 2: "h", 3: "w"}}, expected=[expected])


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu(approximate: str) -> None:
    assert_same(lambda g, x: g.Gelu(x, approximate=approximate), {"x": f32(3, 50) * 3}, (11, 13, 19))


def test_batch_normalization_in_training() -> None:
    feeds = {"x": f32(4, 3, 5), "m": f32(3), "v": np.abs(f32(3))}
    norm = lambda g, x, m, v: g.BatchNormalization(  # noqa: E731
        x, np.ones(3, np.float32), np.zeros(3, np.float32), m, v, training_mode=1, momentum=0.7, outputs=3
    )
    assert_same(norm, feeds, (11, 13, 14, 15), open_axes={"x": {0: "n"}})


# --- products -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
        ("abc,cd->abd", [(2, 3, 4), (4, 5)]),
        ("i,j->ij", [(3,), (4,)]),
        ("ij->ji", [(3, 4)]),
        ("ij->", [(3, 4)]),
        ("ii->i", [(4, 4)]),
        ("bii->b", [(2, 4, 4)]),
        ("...ij,...jk->...ik", [(2, 3, 4, 5), (2, 3, 5, 2)]),
        ("...ij,jk->...ik", [(2, 4, 5), (5, 2)]),
        ("ij,jk", [(3, 4), (4, 2)]),
        ("abcd,cdef->abef", [(2, 3, 2, 2), (2, 2, 3, 2)]),
        ("bi,bi->b", [(3, 4), (3, 4)]),
    ],
)
def test_einsum(equation: str, shapes: list[tuple[int, ...]]) -> None:
    feeds = {f"x{i}": f32(*shape) for i, shape in enumerate(shapes)}
    expected = np.asarray(np.einsum(equation, *feeds.values()))
    assert_same(lambda g, *x: g.Einsum(*x, equation=equation), feeds, (11, 12), expected=[expected])
    open_axes = {n: {0: "first"} for n in feeds} if equation.startswith(("bh", "bij", "bi,")) else None
    assert_same(lambda g, *x: g.Einsum(*x, equation=equation), feeds, (11,), open_axes=open_axes, expected=[expected])


# --- images and signals ---------------------------------------------------------------------------------------------

SAMPLING = list(itertools.product(["linear", "nearest", "cubic"], ["zeros", "border", "reflection"], [0, 1]))


@pytest.mark.parametrize("mode, padding, align", SAMPLING)
def test_grid_sample_of_open_images(mode: str, padding: str, align: int) -> None:
    feeds = {"x": f32(2, 3, 4, 5), "grid": RNG.uniform(-1.6, 1.6, (2, 3, 7, 2)).astype(np.float32)}
    sample = lambda g, x, at: g.GridSample(x, at, mode=mode, padding_mode=padding, align_corners=align)  # noqa: E731
    open_axes = {"x": {0: "n", 2: "h", 3: "w"}, "grid": {0: "n", 1: "p", 2: "q"}}
    assert_same(sample, feeds, (11, 15, 16, 19), open_axes=open_axes)


@pytest.mark.parametrize("onesided, inverse, length", [(0, 0, None), (1, 0, None), (0, 1, None), (0, 0, 5), (1, 0, 12)])
def test_dft_of_open_length(onesided: int, inverse: int, length: int | None) -> None:
    feeds = {"x": f32(2, 8, 1 if onesided else 2)}
    dft = lambda g, x: g.DFT(x, length, onesided=onesided, inverse=inverse)  # noqa: E731
    signal = feeds["x"][..., 0] if onesided else feeds["x"][..., 0] + 1j * feeds["x"][..., 1]
    found = (np.fft.ifft if inverse else np.fft.rfft if onesided else np.fft.fft)(signal, length)
    expected = np.stack([found.real, found.imag], -1).astype(np.float32)
    assert_same(dft, feeds, (11, 16, 17, 20), open_axes={"x": {0: "n", 1: "t"}}, expected=[expected])


def test_stft_of_open_length() -> None:
    window = np.hanning(8).astype(np.float32)
    stft = lambda g, x: g.STFT(x, 4, window, 8)  # noqa: E731
    assert_same(stft, {"x": f32(2, 32, 1)}, (11, 16), open_axes={"x": {0: "n", 1: "t"}})


def test_resize_of_named_axes() -> None:
    for mode, transformation in itertools.product(["linear", "nearest", "cubic"], ["half_pixel", "align_corners"]):
        resize = lambda g, x, m=mode, t=transformation: g.Resize(  # noqa: E731
            x, None, None, [7, 9], axes=[2, 3], mode=m, coordinate_transformation_mode=t
        )
        assert_same(resize, {"x": f32(1, 2, 4, 5)}, (11, 13, 17, 18), open_axes={"x": {0: "n"}})


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("sizes", [(3, 4), (9, 4), (20, 31), (1, 1)])
@pytest.mark.parametrize("transformation", ["half_pixel", "align_corners", "asymmetric"])
@pytest.mark.parametrize("outside", [0, 1])
def test_antialiased_resize_of_known_sizes(
    mode: str, sizes: tuple[int, int], transformation: str, outside: int
) -> None:
    resize = lambda g, x: g.Resize(  # noqa: E731
        x, None, None, sizes, axes=[2, 3], mode=mode, antialias=1, coordinate_transformation_mode=transformation,
        exclude_outside=outside,
    )  # fmt: skip
    assert_same(resize, {"x": f32(2, 3, 9, 11)}, (11, 13, 17), open_axes={"x": {0: "n", 1: "c"}})


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("scale", [0.6, 1.7, 2.0])
def test_symmetric_half_pixels(mode: str, scale: float) -> None:
    scales = np.array([1, 1, scale, scale], np.float32)
    resize = lambda g, x: g.Resize(  # noqa: E731
        x, None, scales, mode=mode, coordinate_transformation_mode="half_pixel_symmetric"
    )
    assert_same(resize, {"x": f32(2, 3, 7, 11)}, (11, 13, 18), open_axes={"x": {0: "n"}})


def test_col2im() -> None:
    col2im = lambda g, x: g.Col2Im(x, [6, 7], [2, 3], strides=[2, 1], pads=[1, 0, 0, 1], dilations=[1, 2])  # noqa: E731
    assert_same(col2im, {"x": f32(2, 3 * 6, 12)}, (11, 17), open_axes={"x": {0: "n"}})


# --- quantisation, recurrence ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_quantisation_per_axis(dtype: str) -> None:
    scale = np.array([0.1, 0.02, 0.5], np.float32)
    zero = np.array([1, 0, 3], dtype)
    quantize = lambda g, x: g.QuantizeLinear(x, scale, zero, axis=1)  # noqa: E731
    x = np.concatenate(
        [f32(2, 3, 40) * 8, np.full((2, 3, 1), 0.05, np.float32), np.full((2, 3, 1), 1e5, np.float32)], 2
    )
    assert_same(quantize, {"x": x}, (11, 13, 21, 23), open_axes={"x": {0: "n", 2: "m"}})
    limits = np.iinfo(dtype)
    q = RNG.integers(limits.min, limits.max, (2, 3, 4), dtype)
    assert_same(lambda g, x: g.DequantizeLinear(x, scale, zero, axis=1), {"q": q}, (11, 13, 21, 23))


def test_dequantisation_in_blocks() -> None:
    scale, zero = np.abs(f32(2, 2)), RNG.integers(-5, 5, (2, 2)).astype(np.int8)
    q = RNG.integers(-128, 127, (2, 6)).astype(np.int8)
    dequantize = lambda g, x: g.DequantizeLinear(x, scale, zero, axis=1, block_size=3)  # noqa: E731
    assert_same(dequantize, {"q": q}, (11, 13, 20, 21))


@pytest.mark.parametrize("op, gates, states", [("LSTM", 4, 2), ("GRU", 3, 1), ("RNN", 1, 1)])
def test_recurrent_layers_with_the_batch_first(op: str, gates: int, states: int) -> None:
    weights, recurrence, bias = f32(1, gates * 5, 3), f32(1, gates * 5, 5), f32(1, gates * 10)
    start = f32(2, 1, 5)

    def layer(g, x):
        initial = [g.constant(start)] * states
        return g.call(op, x, weights, recurrence, bias, None, *initial, hidden_size=5, layout=1, outputs=1 + states)

    def steps_first(g, x):
        initial = [g.constant(start.swapaxes(0, 1).copy())] * states
        x = g.Transpose(x, perm=[1, 0, 2])
        found = g.call(op, x, weights, recurrence, bias, None, *initial, hidden_size=5, outputs=1 + states)
        return [g.Transpose(found[0], perm=[2, 0, 1, 3]), *(g.Transpose(s, perm=[1, 0, 2]) for s in found[1:])]

    import sweep

    x = f32(2, 4, 3)
    expected = sweep.run_onnxruntime(build(steps_first, {"x": ("float32", [2, 4, 3])}, 22), {"x": x}, optimize=False)
    assert_same(layer, {"x": x}, (11, 13), open_axes={"x": {0: "n", 1: "t"}}, expected=expected)

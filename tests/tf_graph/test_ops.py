"""Operations of TensorFlow graphs, each against TensorFlow in onnxruntime, at two sizes of each open dim."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
tf = pytest.importorskip("tensorflow")

from anyonnx.converters.api import to_onnx  # noqa: E402
from anyonnx.symbolic.errors import InputSpecError, UnsupportedOps  # noqa: E402

IMAGE, ROWS, VECTOR = "x:float32[n,8,9,3]", "x:float32[n,6]", "x:float32[n]"
INTS = "x:int32[n,6]"
ALIGNED = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")
draw = np.random.default_rng(0).normal


def f32(*shape: int) -> Any:
    return tf.constant(draw(0, 0.5, shape).astype(np.float32))


def positive(x: Any) -> Any:
    """The elements of each row that are larger than 0, or whose first is."""
    kept = (x if x.shape.rank == 2 else x[..., 0]) > 0.0
    counts = tf.reduce_sum(tf.cast(kept, tf.int64), 1)
    splits = tf.concat([tf.zeros([1], tf.int64), tf.cumsum(counts)], 0)
    return tf.RaggedTensor.from_row_splits(tf.boolean_mask(x, kept), splits, validate=False)


CASES: dict[str, tuple[list[str], Callable[..., Any]]] = {
    "arithmetic": ([ROWS], lambda x: (x + 1.0, x - x[:1], x * 3.0, x / 2.0, x // 0.7, x % 0.7, x**2, -x, abs(x))),
    "whole numbers": ([INTS], lambda x: (x // 3, x % 3, x // -2, tf.truncatediv(x, 3), x * x, tf.square(x), -x)),
    "elementary": (
        [ROWS],
        lambda x: [
            f(x) for f in (tf.exp, tf.sin, tf.tanh, tf.math.erf, tf.math.erfc, tf.math.expm1, tf.floor, tf.round)
        ],
    ),
    "positive": ([ROWS], lambda x: [f(tf.abs(x) + 0.1) for f in (tf.math.log, tf.math.log1p, tf.sqrt, tf.math.rsqrt)]),
    "no nan": ([ROWS], lambda x: (tf.math.divide_no_nan(x, tf.round(x)), tf.math.xlogy(tf.round(x), tf.abs(x) + 1.0))),
    "activations": (
        [ROWS],
        lambda x: [
            f(x)
            for f in (
                tf.nn.relu,
                tf.nn.relu6,
                tf.nn.elu,
                tf.nn.selu,
                tf.nn.gelu,
                tf.nn.silu,
                tf.nn.softplus,
                tf.nn.leaky_relu,
                tf.nn.softmax,
                tf.nn.log_softmax,
                tf.sigmoid,
            )
        ],
    ),
    "comparisons": (
        [ROWS],
        lambda x: (x > 0.0, x <= x[:1], tf.equal(x, x), tf.where(x > 0.0, x, 0.0), (x > 0.0) & (x < 1.0)),
    ),
    "reductions": (
        [ROWS],
        lambda x: (
            tf.reduce_sum(x),
            tf.reduce_mean(x, 1, True),
            tf.reduce_max(x, [0, 1]),
            tf.reduce_min(x, -1),
            tf.reduce_prod(x, 1),
            tf.reduce_any(x > 0.0, 1),
            tf.reduce_all(x > 0.0),
            tf.argmax(x, 1),
            tf.math.cumsum(x, 1, exclusive=True),
            tf.math.cumprod(x, 1),
            tf.norm(x, axis=1),
            tf.math.reduce_logsumexp(x, 1),
            tf.math.reduce_std(x, 1),
        ),
    ),
    "shapes": (
        [IMAGE],
        lambda x: (
            tf.reshape(x, [tf.shape(x)[0], -1]),
            tf.transpose(x, [0, 2, 1, 3]),
            tf.expand_dims(x, 1),
            tf.squeeze(x[:, :1], 1),
            tf.stack([x, x], 1),
            tf.concat([x, x], -1),
            tf.size(x),
            tf.rank(x),
            tf.tile(x, [1, 2, 1, 1]),
            tf.reverse(x, [1]),
            tf.roll(x, 2, 1),
            tf.zeros_like(x),
            tf.fill([tf.shape(x)[0], 2], 3.0),
            tf.broadcast_to(x[:, :1], tf.shape(x)),
            *tf.split(x, 3, -1),
            *tf.split(x, [2, 7], 2),
            *tf.unstack(x, axis=1)[:2],
        ),
    ),
    "slices": (
        [IMAGE],
        lambda x: (
            x[:, 1:4],
            x[..., -1],
            x[:, ::-2],
            x[0],
            x[:, tf.newaxis, 2],
            x[-1:, :, 3:, 0],
            x[:, -2:, tf.newaxis],
            tf.slice(x, [0, 1, 2, 0], [-1, 3, -1, 2]),
            x[:, : tf.shape(x)[0]],
        ),
    ),
    "gathers": (
        [ROWS],
        lambda x: (
            tf.gather(x, [3, 1], axis=1),
            tf.gather(x, [[0, 1]]),
            tf.gather_nd(x, [[0, 1], [1, 2]]),
            tf.gather(x, tf.argsort(x), batch_dims=1),
            tf.boolean_mask(x, x > 0.0),
            tf.where(x > 0.0),
            tf.one_hot(tf.argmax(x, 1), 6),
            tf.one_hot([1, 2], 3, axis=0),
            *tf.math.top_k(x, 2),
        ),
    ),
    "scatters": (
        [ROWS],
        lambda x: (
            tf.tensor_scatter_nd_update(x, [[0]], [[1.0] * 6]),
            tf.tensor_scatter_nd_add(x, [[0], [0]], [[1.0] * 6] * 2),
            tf.scatter_nd([[1], [1]], x[:2], [4, 6]),
            tf.dynamic_stitch([[0, 2], [1]], [x[:2], x[:1]]),
            tf.math.unsorted_segment_max(x[:2], [2, 0], 4),
            tf.math.segment_sum(x[:2], [0, 2]),
            tf.math.segment_max(x[:2], [0, 2]),
            tf.math.segment_mean(x[:2], [1, 1]),
        ),
    ),
    "counting": (
        ["x:int32[n]"],
        lambda x: (
            tf.unique(x)[0],
            tf.unique(x)[1],
            tf.unique_with_counts(x)[2],
            tf.math.bincount(tf.abs(x) % 5, minlength=5, maxlength=5),
            tf.searchsorted([1, 3, 5], x),
            tf.raw_ops.Bucketize(input=x, boundaries=[0.0, 2.0]),
        ),
    ),
    "padding": (
        [IMAGE],
        lambda x: (
            tf.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]]),
            tf.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]], "REFLECT"),
            tf.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]], "SYMMETRIC"),
            tf.pad(x, [[0, 1], [0, 0], [0, 0], [0, 0]], constant_values=2.0),
        ),
    ),
    "products": (
        [ROWS],
        lambda x: (
            x @ f32(6, 4),
            tf.matmul(x, x, transpose_b=True),
            tf.einsum("ij,jk->ki", x, f32(6, 3)),
            tf.linalg.matmul(tf.stack([x, x]), tf.stack([x, x]), transpose_a=True),
            tf.tensordot(x, f32(6, 2), 1),
        ),
    ),
    "matrices": (
        ["x:float32[n,4,4]"],
        lambda x: (
            tf.linalg.band_part(x, 1, -1),
            tf.linalg.diag(x[:, 0]),
            tf.linalg.diag(x[:, 0], k=1),
            tf.linalg.diag_part(x),
            tf.linalg.diag_part(x, k=-1),
            tf.linalg.set_diag(x, x[:, 0]),
            tf.linalg.det(x),
            tf.linalg.trace(x),
        ),
    ),
    "factorised": (
        ["x:float32[n,2,4,4]"],
        lambda x: (
            tf.linalg.cholesky(tf.matmul(x, x, transpose_b=True) + 0.5 * tf.eye(4)),
            tf.linalg.cholesky(tf.linalg.set_diag(x, tf.abs(x[..., 0]) + 9.0)),  # the upper half isn't read
            tf.linalg.cholesky(tf.boolean_mask(x, x[:, 0, 0, 0] > -9.0) * 0.1 + 5.0 * tf.eye(4)),
            tf.linalg.inv(x * 0.3 + tf.eye(4)[::-1]),
            tf.linalg.inv(tf.cast(x[0, 0], tf.float64) + 2.0 * tf.eye(4, dtype=tf.float64), adjoint=True),
            tf.linalg.inv(tf.boolean_mask(x, x[:, 0, 0, 0] > -9.0) * 0.3 + tf.eye(4)),
        ),
    ),
    "solved": (
        ["x:float32[n,2,4,4]"],
        lambda x: (
            tf.linalg.solve(x * 0.3 + tf.eye(4)[::-1], x[..., :2]),
            tf.linalg.solve(x * 0.3 + tf.eye(4)[::-1], x[..., :2], adjoint=True),
            tf.linalg.triangular_solve(x[:, :1] * 0.3 + tf.eye(4), x[..., :3]),
            tf.linalg.triangular_solve(x * 0.3 + tf.eye(4), x[..., :3], lower=False, adjoint=True),
            *tf.linalg.slogdet(x * 0.3 + tf.eye(4)[::-1]),
            *tf.linalg.lu(x * 0.3 + tf.eye(4)[::-1]),
            *tf.linalg.qr(x[..., :3] + tf.eye(4, 3)),
            *tf.linalg.qr(x[..., :3] + tf.eye(4, 3), full_matrices=True),
            tf.linalg.svd(x[..., :3], compute_uv=False),
            tf.linalg.eigvalsh(x + tf.linalg.matrix_transpose(x)),
        ),
    ),
    "spectra": (
        ["x:float32[n,16]", "k:int32[]"],
        lambda x, k: (
            tf.abs(tf.signal.rfft(x)),
            tf.math.real(tf.signal.rfft(x, [12])),  # the end is cut off
            tf.math.imag(tf.signal.rfft(tf.stack([x, x], 1), [21])),  # zeros follow
            tf.abs(tf.signal.rfft(x, [tf.abs(k) % 5 + 7])),
            tf.abs(tf.signal.rfft(tf.cast(x, tf.float64))),
            tf.signal.irfft(tf.signal.rfft(x)),
            tf.signal.irfft(tf.signal.rfft(x), [11]),
            tf.raw_ops.IRFFT(input=tf.signal.rfft(x), fft_length=[tf.abs(k) % 5 + 7]),
            tf.signal.irfft(tf.signal.rfft(x, [9])),
            tf.math.imag(tf.signal.fft(tf.signal.rfft(x))),
            tf.math.real(tf.signal.ifft(tf.signal.rfft(x))),
            tf.math.angle(tf.signal.rfft(x)),
        ),
    ),
    "spectra of several axes": (
        ["x:float32[n,4,6,5]", "k:int32[]"],
        lambda x, k: (
            tf.abs(tf.signal.rfft2d(x)),
            tf.abs(tf.signal.rfft2d(x, [3, 7])),
            tf.math.imag(tf.signal.rfft2d(x, [tf.abs(k) % 5 + 4, 4])),
            tf.math.real(tf.signal.rfft3d(x, [5, 4, 5])),
            tf.math.imag(tf.signal.fft2d(tf.signal.rfft2d(x))),
            tf.math.real(tf.signal.ifft2d(tf.signal.rfft2d(x))),
            tf.math.real(tf.signal.ifft3d(tf.signal.fft3d(tf.signal.rfft3d(x)))),
            tf.signal.irfft2d(tf.signal.rfft2d(x)),
            tf.raw_ops.IRFFT2D(input=tf.signal.rfft2d(x), fft_length=[5, 5]),
            tf.raw_ops.IRFFT3D(input=tf.signal.rfft3d(x), fft_length=[3, 6, 5]),
        ),
    ),
    "frames": (["x:float32[n,t]"], lambda x: tf.abs(tf.signal.stft(tf.pad(x, [[0, 0], [0, 40]]), 16, 8))),
    "ragged": (
        [ROWS],
        lambda x: (
            [
                made
                for rows in (positive(x), positive(tf.stack([x, -x], 2)), positive(x[:0]), positive(x * 0.0))
                for made in (rows.to_tensor(), rows.to_tensor(7.0, shape=[None, 3, *rows.shape[2:]]))
            ]
            + [positive(tf.stack([x, -x], 2)).to_tensor([1.0, 2.0])]
        ),
    ),
    "nested rows": (
        [ROWS],
        lambda x: [
            made
            for values in (tf.reshape(x[:2], [-1])[:10], tf.reshape(x[:2], [-1, 1])[:10])
            for nested in (
                tf.RaggedTensor.from_nested_row_splits(values, [[0, 1, 1, 5], [0, 3, 3, 5, 9, 10]]),
                tf.RaggedTensor.from_nested_value_rowids(
                    values, [[0, 0, 0, 2, 2], [0, 0, 2, 2, 2, 3, 3, 4, 4, 4]], [4, 5]
                ),
                tf.RaggedTensor.from_value_rowids(values, [0, 0, 2, 2, 2, 3, 3, 4, 4, 4], 7),
            )
            for made in (
                nested.to_tensor(),
                nested.to_tensor(7.0, shape=[5] + [None] * (nested.shape.rank - 1)),
                nested.to_tensor(7.0, shape=[2, 3] + [None] * (nested.shape.rank - 2)),
            )
        ],
    ),
    "sparse shapes": (
        ["d:int64[3]"],
        lambda d: [
            part
            for made in (
                tf.sparse.reshape(tf.SparseTensor([[1, 0, 0], [1, 0, 2], [3, 2, 3]], [1, 2, 3], [5, 3, 4]), [2, -1, 3]),
                tf.sparse.reshape(tf.SparseTensor([[0, 0, 0], [0, 0, 1]], [1, 2], tf.abs(d) % 3 + 2), [-1]),
            )
            for part in (made.indices, made.dense_shape)
        ],
    ),
    "patches": (
        ["x:float32[n,h,w,3]"],
        lambda x: [
            tf.image.extract_patches(tf.concat([x] * 5, 1 + (k == 3)), [1, k, 2, 1], [1, s, 3, 1], [1, r, 1, 1], p)
            for k, s, r, p in ((2, 1, 1, "SAME"), (3, 2, 1, "SAME"), (2, 3, 3, "SAME"), (1, 2, 1, "VALID"))
        ],
    ),
    "convolutions": (
        [IMAGE],
        lambda x: (
            tf.nn.conv2d(x, f32(3, 3, 3, 4), 2, "SAME"),
            tf.nn.conv2d(x, f32(2, 3, 3, 4), 1, "VALID", dilations=2),
            tf.nn.conv2d(x, f32(3, 3, 3, 4), 1, [[0, 0], [1, 0], [2, 1], [0, 0]]),
            tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, f32(3, 3, 3, 4), 1, "SAME"), f32(4))),
            tf.nn.depthwise_conv2d(x, f32(3, 3, 3, 2), [1, 1, 1, 1], "SAME"),
            tf.nn.conv2d(x, f32(3, 3, 1, 6), 1, "SAME"),
            tf.nn.conv2d_transpose(x, f32(3, 3, 4, 3), [tf.shape(x)[0], 16, 18, 4], 2),
            tf.nn.conv2d_transpose(x, f32(3, 3, 4, 3), [tf.shape(x)[0], 17, 19, 4], 2, "VALID"),
            tf.nn.conv1d(x[:, 0], f32(3, 3, 4), 1, "SAME"),
        ),
    ),
    "transposed to an asked size": (
        [IMAGE, "a:int32[]"],
        lambda x, a: (
            [
                tf.raw_ops.Conv2DBackpropInput(
                    input_sizes=tf.stack([tf.shape(x)[0], 8 * s - s + more, 9 * s - tf.abs(a) % s, 2]),
                    filter=f32(k, k, 2, 3),
                    out_backprop=x,
                    strides=[1, s, s, 1],
                    padding=p,
                )
                for k, s, p, more in ((3, 1, "SAME", 1), (3, 2, "SAME", 1 + a * 0), (4, 3, "SAME", tf.abs(a) % 2 + 1))
            ]
            + [
                tf.raw_ops.Conv2DBackpropInput(
                    input_sizes=tf.stack([tf.shape(x)[0], 17 + tf.abs(a) % 2, 19, 2]),
                    filter=f32(3, 3, 2, 3),
                    out_backprop=x,
                    strides=[1, 2, 2, 1],
                    padding="VALID",
                )
            ]
        ),
    ),
    "volumes": (
        ["x:float32[n,4,5,6,2]"],
        lambda x: (
            tf.nn.conv3d(x, f32(2, 2, 2, 2, 3), [1, 1, 2, 1, 1], "SAME"),
            tf.nn.max_pool3d(x, 2, 2, "VALID"),
            tf.nn.avg_pool3d(x, 2, 2, "SAME"),
        ),
    ),
    "pooling": (
        [IMAGE],
        lambda x: (
            tf.nn.max_pool2d(x, 2, 2, "SAME"),
            tf.nn.avg_pool2d(x, 3, 2, "SAME"),
            tf.nn.max_pool2d(x, [3, 2], 1, "VALID"),
            *tf.nn.max_pool_with_argmax(x, 2, 2, "SAME"),
            tf.nn.lrn(x, 1),
        ),
    ),
    "normalised": (
        [IMAGE],
        lambda x: (
            tf.raw_ops.FusedBatchNormV3(
                x=x, scale=[1.0, 2, 3], offset=[0.0, 1, 0], mean=[0.1, 0, 0], variance=[1.0, 2, 1], is_training=False
            )[0],
            tf.raw_ops.FusedBatchNormV3(
                x=x, scale=[1.0, 2, 3], offset=[0.0, 1, 0], mean=[], variance=[], is_training=True
            )[:3],
            tf.nn.batch_normalization(x, *tf.nn.moments(x, [1, 2], keepdims=True), None, f32(3), 1e-3),
        ),
    ),
    "blocks": (
        ["x:float32[n,4,6,8]"],
        lambda x: (
            tf.nn.space_to_depth(x, 2),
            tf.nn.depth_to_space(x, 2),
            tf.space_to_batch(x, [2, 3], [[0, 0], [1, 2]]),
            tf.batch_to_space(tf.concat([x] * 4, 0), [2, 2], [[0, 1], [1, 0]]),
        ),
    ),
    "resized": (
        [IMAGE],
        lambda x: (
            tf.image.resize(x, [16, 5]),
            tf.image.resize(x, [4, 18], "nearest"),
            tf.image.resize(x, [11, 7], "bicubic"),
            tf.compat.v1.image.resize_bilinear(x, [16, 27]),
            tf.compat.v1.image.resize_nearest_neighbor(x, [16, 27]),
            tf.compat.v1.image.resize_bilinear(x, [15, 17], align_corners=True),
        ),
    ),
    "cropped": (
        [IMAGE],
        lambda x: (
            tf.image.crop_and_resize(x, [[0.1, 0.2, 0.9, 1.2], [0, 0, 1, 1]], [1, 0], [4, 5]),
            tf.image.crop_and_resize(x, [[0.1, 0.2, 0.9, 0.7]], [0], [1, 3], "nearest"),
            tf.image.rgb_to_hsv(tf.abs(x)),
            tf.image.hsv_to_rgb(tf.sigmoid(x)),
            tf.image.adjust_contrast(x, 2.0),
        ),
    ),
    "suppressed": (
        ["x:float32[12,4]", "s:float32[12]"],
        lambda x, s: (
            tf.image.non_max_suppression(x, s, 5, 0.5),
            *tf.image.non_max_suppression_padded(x, s, 6, 0.4, 0.0, pad_to_max_output_size=True),
        ),
    ),
    "sequences": (
        ["x:float32[n,5,2]"],
        lambda x: (
            tf.reverse_sequence(x[:2], [2, 4], 1),
            tf.reverse_sequence(tf.transpose(x[:2], [1, 0, 2]), [2, 4], 0, 1),
        ),
    ),
    "run-time arguments": (
        [ROWS, "a:int32[]"],
        lambda x, a: (
            tf.reduce_sum(x, a % 2),
            tf.reduce_any(x > 0.0, a % 2),
            tf.roll(x, a, 1),
            tf.eye(tf.shape(x)[0]),
            tf.image.adjust_hue(tf.sigmoid(tf.reshape(x, [-1, 2, 1, 3])), 0.3),
            tf.image.adjust_saturation(tf.sigmoid(tf.reshape(x, [-1, 2, 1, 3])), 1.5),
            tf.quantization.quantize_and_dequantize_v2(x, -1.0, 2.0, range_given=True),
        ),
    ),
    "losses": (
        [ROWS],
        lambda x: (
            tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax(x), x * 2.0),
            tf.nn.sparse_softmax_cross_entropy_with_logits(tf.argmax(x, 1), x),
            tf.nn.l2_loss(x),
        ),
    ),
    "simulated": (
        [ROWS],
        lambda x: (
            tf.quantization.fake_quant_with_min_max_args(x, -1.0, 2.0),
            tf.quantization.fake_quant_with_min_max_vars(x, -0.3, 1.7, 4, True),
        ),
    ),
    "inverse functions": (
        [ROWS],
        lambda x: (
            [
                f(tf.tanh(x) * 0.9)
                for f in (
                    tf.acos,
                    tf.asin,
                    tf.atan,
                    tf.atanh,
                    tf.asinh,
                    tf.math.erfinv,
                    tf.tan,
                    tf.sinh,
                    tf.cosh,
                    tf.sign,
                    tf.math.rint,
                    tf.nn.softsign,
                    tf.math.reciprocal,
                )
            ]
            + [f(tf.abs(x) + 1.1) for f in (tf.acosh, tf.math.lgamma, tf.math.digamma)]
            + [tf.atan2(x, x[:1])]
        ),
    ),
    "old and rare arithmetic": (
        [ROWS],
        lambda x: (
            tf.raw_ops.Add(x=x, y=x),
            tf.raw_ops.Div(x=x, y=2.0),
            tf.raw_ops.Inv(x=x + 10.0),
            tf.math.add_n([x, x]),
            tf.raw_ops.AccumulateNV2(inputs=[x, x], shape=[None, 6]),
            tf.raw_ops.ApproximateEqual(x=x, y=x * 1.1, tolerance=0.1),
            tf.raw_ops.ClipByValue(t=x, clip_value_min=-0.5, clip_value_max=0.4),
            tf.raw_ops.Mod(x=x, y=0.7),
            tf.raw_ops.TruncateMod(x=x, y=0.7),
            tf.math.multiply_no_nan(x, tf.round(x)),
            tf.math.xdivy(tf.round(x), x),
            tf.math.xlog1py(tf.round(x), tf.abs(x)),
        ),
    ),
    "marks": (
        [ROWS],
        lambda x: (
            tf.math.is_inf(1.0 / tf.round(x)),
            tf.math.is_nan(tf.math.log(x)),
            (x > 0.0) | (x < -1.0),
            tf.ones_like(x),
            tf.argmin(x, 1),
            tf.raw_ops.EuclideanNorm(input=x, axis=1),
            tf.math.in_top_k(tf.constant([1, 2]), x[:2], 3),
            tf.raw_ops.CheckNumerics(tensor=x, message="m"),
            tf.raw_ops.Snapshot(input=x),
            tf.raw_ops.PreventGradient(input=x),
            tf.raw_ops.EnsureShape(input=x, shape=[None, 6]),
            *tf.raw_ops.ShapeN(input=[x, x]),
            tf.raw_ops.NthElement(input=x, n=2),
            tf.raw_ops.NthElement(input=x, n=1, reverse=True),
            tf.raw_ops.LinSpace(start=x[0, 0], stop=2.0, num=4),
        ),
    ),
    "bits": (
        [INTS],
        lambda x: (
            tf.bitwise.bitwise_and(x, 3),
            tf.bitwise.bitwise_or(x, 3),
            tf.bitwise.bitwise_xor(x, x[:1]),
            tf.bitwise.invert(x),
            tf.bitwise.left_shift(x, 2),
            tf.bitwise.right_shift(x, 1),
        ),
    ),
    "segments": (
        [ROWS],
        lambda x: (
            tf.math.unsorted_segment_sum(x[:2], [2, 0], 4),
            tf.math.unsorted_segment_min(x[:2], [2, 0], 4),
            tf.math.unsorted_segment_prod(x[:2], [2, -1], 4),
            tf.math.unsorted_segment_mean(x[:2], [1, 1], 3),
            tf.math.segment_min(x[:2], [0, 2]),
            tf.math.segment_prod(x[:2], [0, 2]),
            tf.tensor_scatter_nd_max(x, [[0]], [[0.1] * 6]),
            tf.tensor_scatter_nd_min(x, [[0]], [[0.1] * 6]),
            tf.tensor_scatter_nd_sub(x, [[0]], [[0.1] * 6]),
            *tf.dynamic_partition(x, tf.cast(x[:, 0] > 0.0, tf.int32), 2),
            tf.raw_ops.ParallelDynamicStitch(indices=[[0, 2], [1]], data=[x[:2], x[:1]]),
            tf.math.invert_permutation([2, 0, 1]),
            tf.raw_ops.SparseToDense(
                sparse_indices=[[0, 1], [2, 3]], output_shape=[4, 5], sparse_values=x[0, :2], default_value=9.0
            ),
        ),
    ),
    "sparse segments": (
        [ROWS],
        lambda x: (
            tf.sparse.segment_sum(x, [0, 1, 0], [0, 0, 2]),
            tf.sparse.segment_mean(x, [0, 1, 0], [0, 0, 2]),
            tf.sparse.segment_sqrt_n(x, [0, 1, 0], [0, 0, 2]),
            tf.sparse.segment_mean(x[:, 0], [0, 1, 0], [0, 0, 2]),
            tf.sparse.segment_sum(x, [0, 1, 0], [0, 0, 2], num_segments=4),
            tf.sparse.segment_mean(x, [0, 1], [1, 1], num_segments=4),
            tf.sparse.segment_sqrt_n(x, [0, 1], [1, 1], num_segments=4),
        ),
    ),
    "ranges of rows": (
        ["x:int32[n]"],
        lambda x: [
            part
            for made in (
                tf.ragged.range(x % 7, 5, 2),
                tf.ragged.range([3, 0, -2], [-4, -5, 9], [-2, 5, 3]),
                tf.ragged.range(0, tf.abs(x) % 5),
                tf.ragged.range(tf.cast(x % 5, tf.float32) * 0.5, 7.0, 1.1),
                tf.ragged.range(x, x),
            )
            for part in (made.row_splits, made.flat_values)
        ],
    ),
    "other products": (
        ["x:float32[n,4,4]"],
        lambda x: (
            tf.raw_ops.BatchMatMul(x=x, y=x, adj_x=True),
            tf.raw_ops.BatchMatMulV3(x=x, y=x, Tout=tf.float32),
            tf.raw_ops.ConjugateTranspose(x=x, perm=[0, 2, 1]),
            tf.linalg.cross(x[..., :3], x[..., 1:4]),
        ),
    ),
    "bands": (
        ["x:float32[n,4,5]"],
        lambda x: (
            *(
                tf.raw_ops.MatrixDiagPartV3(input=x, k=k, padding_value=0.5, align=a)
                for k in (0, 3, [-1, 1], [1, 2], [-3, 4])
                for a in ALIGNED
            ),
            *(
                tf.raw_ops.MatrixSetDiagV3(input=tf.ensure_shape(x[:2], [2, 4, 5]), diagonal=f32(2, *s), k=k, align=a)
                for k, s in ((1, [4]), ([-1, 1], [3, 4]), ([-3, -2], [2, 2]))
                for a in ALIGNED
            ),
            *(
                tf.raw_ops.MatrixDiagV3(diagonal=x, k=k, num_rows=r, num_cols=c, padding_value=0.5, align=a)
                for k, r, c in ((-2, 9, -1), (0, 5, 8), ([-1, 2], -1, -1), ([2, 5], -1, 9))
                for a in ALIGNED
            ),
            tf.raw_ops.MatrixDiagV2(diagonal=x[..., :3], k=[-2, 1], num_rows=-1, num_cols=-1, padding_value=0.5),
            tf.raw_ops.MatrixDiagPartV2(input=x, k=[-1, 1], padding_value=0.5),
            tf.raw_ops.MatrixDiag(diagonal=x > 0.0),
            tf.raw_ops.MatrixDiagPart(input=x[:, 1:]),
        ),
    ),
    "diagonals of open length": (
        ["x:float32[n,m]", "k:int32[]"],
        lambda x, k: (
            tf.linalg.diag(x),
            tf.raw_ops.MatrixDiagPartV3(input=x, k=tf.abs(k) % 2, padding_value=0.0),
            tf.raw_ops.MatrixDiagPartV3(input=x, k=[0, 1], padding_value=9.0),
        ),
    ),
    "old images": (
        [IMAGE],
        lambda x: (
            tf.raw_ops.BiasAddV1(value=x, bias=[1.0, 2, 3]),
            tf.raw_ops.MaxPoolV2(input=x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME"),
            tf.raw_ops.FusedBatchNorm(
                x=x, scale=[1.0, 2, 3], offset=[0.0, 1, 0], mean=[0.1, 0, 0], variance=[1.0, 2, 1], is_training=False
            )[:3],
            tf.raw_ops.FusedBatchNormV2(
                x=x, scale=[1.0, 2, 3], offset=[0.0, 1, 0], mean=[], variance=[], is_training=True
            ),
        ),
    ),
    "kinds of suppression": (
        ["x:float32[12,4]", "s:float32[12]"],
        lambda x, s: (
            tf.raw_ops.NonMaxSuppressionV2(boxes=x, scores=s, max_output_size=5, iou_threshold=0.5),
            *tf.raw_ops.NonMaxSuppressionV4(
                boxes=x,
                scores=s,
                max_output_size=5,
                iou_threshold=0.5,
                score_threshold=0.0,
                pad_to_max_output_size=True,
            ),
            *tf.raw_ops.NonMaxSuppressionV5(
                boxes=x, scores=s, max_output_size=5, iou_threshold=0.5, score_threshold=0.0, soft_nms_sigma=0.0
            ),
        ),
    ),
    "uniques": (
        ["x:int32[n]"],
        lambda x: (
            *tf.raw_ops.UniqueV2(x=x, axis=[0]),
            *tf.raw_ops.UniqueWithCountsV2(x=x, axis=[0]),
            tf.raw_ops.Bincount(arr=tf.abs(x) % 4, size=5, weights=tf.constant([], tf.float32)),
            tf.raw_ops.UpperBound(sorted_inputs=[[1, 2, 3]], values=tf.reshape(x, [1, -1])),
            tf.raw_ops.Concat(concat_dim=0, values=[x, x]),
            tf.raw_ops.Gather(params=x, indices=[0, 1]),
        ),
    ),
    "stateless": (
        [ROWS, "s:int32[2]"],
        lambda x, s: (
            *(tf.random.stateless_normal([tf.shape(x)[0], 3], s, dtype=d) for d in (tf.float32, tf.float64, tf.half)),
            *(tf.random.stateless_uniform([tf.shape(x)[0], 3], s, dtype=d) for d in (tf.float32, tf.float64, tf.half)),
            *(tf.random.stateless_uniform([tf.shape(x)[0], 3], s, -9, 2**31 - 8, d) for d in (tf.int32, tf.int64)),
            *(tf.random.stateless_uniform([5], s, None, None, d) for d in (tf.int32, tf.int64, tf.uint32, tf.uint64)),
            *(tf.random.stateless_truncated_normal([tf.shape(x)[0], 33], s, dtype=d) for d in (tf.float32, tf.double)),
            tf.random.stateless_normal([2, 3], [-5, 7]),
            tf.random.stateless_normal([0, tf.shape(x)[0]], s),
            tf.random.stateless_truncated_normal([0], s),
            tf.random.stateless_uniform([], tf.cast(s, tf.int64) * -(2**40)),
            tf.raw_ops.StatelessRandomUniform(shape=[3], seed=s),
            tf.raw_ops.StatelessRandomUniformInt(shape=[3], seed=s, minval=3, maxval=9),
        ),
    ),
    "counters": (  # the last of the low half, the last of all
        ["k:int64[1]"],
        lambda k: [
            draw(shape=[23], key=tf.cast(k, tf.uint64), counter=tf.constant([2**64 - 2, high], tf.uint64), alg=1)
            for draw in (tf.raw_ops.StatelessRandomUniformV2, tf.raw_ops.StatelessTruncatedNormalV2)
            for high in (5, 2**64 - 1)
        ],
    ),
    "simulated in ranges of its own": (
        [ROWS, "a:float32[]"],
        lambda x, a: (
            tf.quantization.quantize_and_dequantize_v2(x, 0.0, 0.0),
            tf.quantization.quantize_and_dequantize_v2(x, [0.0] * 6, [0.0] * 6, signed_input=False, axis=1),
            tf.quantization.quantize_and_dequantize_v2(x, [0.0] * 6, [0.0] * 6, narrow_range=True, num_bits=5, axis=1),
            tf.quantization.quantize_and_dequantize_v2(x, 0.0, 0.0, round_mode="HALF_UP"),
            tf.quantization.quantize_and_dequantize_v2(x * 0.0, 0.0, 0.0),
            tf.quantization.quantize_and_dequantize_v2(x, -tf.abs(a), tf.abs(a) * 0.7 + 0.1, range_given=True),
            tf.raw_ops.QuantizeAndDequantizeV3(input=x, input_min=-1.0, input_max=0.4, num_bits=6),
        ),
    ),
    "casts": (
        [ROWS],
        lambda x: (
            tf.cast(x, tf.int32),
            tf.cast(x > 0.0, tf.float32),
            tf.cast(tf.cast(x, tf.float64) * 2.0, tf.float32),
            tf.linspace(0.0, 1.0, 5),
            tf.range(tf.shape(x)[0]),
        ),
    ),
}


def function(specs: list[str], call: Callable[..., Any]) -> Any:
    """A tf.function of those inputs."""
    from anyonnx.symbolic.spec import parse_spec

    parsed = [parse_spec(s) for s in specs]
    return tf.function(
        call,
        input_signature=[
            tf.TensorSpec([None if isinstance(d, str) else d for d in s.shape], s.dtype, name=s.name) for s in parsed
        ],
    )


@pytest.mark.parametrize("name", CASES)
def test_each_op_gives_what_tensorflow_gives(name: str) -> None:
    assert to_onnx(function(*CASES[name]), opset=18).parity.passed


@pytest.mark.parametrize("opset", [11, 13, 17, 25])
@pytest.mark.parametrize("name", ["convolutions", "slices", "reductions", "gathers", "shapes", "pooling", "products"])
def test_other_opsets(name: str, opset: int) -> None:
    assert to_onnx(function(*CASES[name]), opset=opset).parity.passed


@pytest.mark.parametrize("opset", [11, 25])
@pytest.mark.parametrize(
    "name",
    [
        "factorised",
        "solved",
        "nested rows",
        "ranges of rows",
        "sparse segments",
        "patches",
        "bands",
        "spectra",
        "frames",
        "ragged",
        "stateless",
        "counters",
    ],
)
def test_later_ops_at_other_opsets(name: str, opset: int) -> None:
    assert to_onnx(function(*CASES[name]), opset=opset).parity.passed


# --- control flow ---------------------------------------------------------------------------------------------------


def doubling(x: Any) -> Any:
    count = tf.constant(0)
    while count < tf.shape(x)[0]:
        x = x * 2.0 + 1.0
        count += 1
    return x, count


def growing(x: Any) -> Any:
    shapes = [tf.TensorShape([]), tf.TensorShape([None, 6])]
    return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.concat([y, y], 0)), [0, x], shapes)


def collecting(x: Any) -> Any:
    grown = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    kept = tf.TensorArray(tf.float32, size=tf.shape(x)[1])
    total = tf.zeros([tf.shape(x)[0]])
    for i in tf.range(tf.shape(x)[1]):
        total += x[:, i]
        kept = kept.write(i, total)
        grown = grown.write(i, total * 2.0)
    return kept.stack(), grown.stack(), total


def nested(x: Any) -> Any:
    for _ in tf.range(3):
        for _ in tf.range(2):
            x = x + 1.0
            if tf.reduce_sum(x) > 5.0:
                x = x * 0.5
    return x


CONTROL: dict[str, tuple[list[str], Callable[..., Any]]] = {
    "while": ([ROWS], doubling),
    "a loop that grows": ([ROWS], growing),
    "a tensor array": ([ROWS], collecting),
    "nested": ([ROWS], nested),
    "map and scan": (
        [ROWS],
        lambda x: (tf.map_fn(lambda r: r * 2.0 + tf.reduce_sum(r), x), tf.scan(lambda a, b: a + b, x)),
    ),
    "if": ([VECTOR, "a:float32[]"], lambda x, a: tf.cond(a > 0.0, lambda: x * a, lambda: x - a)),
    "case": ([VECTOR, "a:int32[]"], lambda x, a: tf.switch_case(a, [lambda: x, lambda: x * 2.0, lambda: x * 3.0])),
    "calls": ([ROWS], tf.function(lambda x: tf.function(lambda y: tf.nn.relu(y) + 1.0)(x) * 2.0, jit_compile=True)),
}


@pytest.mark.parametrize("opset", [11, 18])
@pytest.mark.parametrize("name", CONTROL)
def test_control_flow(name: str, opset: int) -> None:
    assert to_onnx(function(*CONTROL[name]), opset=opset).parity.passed


# --- what is around them --------------------------------------------------------------------------------------------


class Scaled(tf.Module):
    """Variables of one name, a captured constant, a result with keys."""

    def __init__(self) -> None:
        self.kernel = tf.Variable(draw(size=(6, 3)).astype(np.float32), name="w")
        self.bias = tf.Variable(draw(size=3).astype(np.float32), name="w")
        self.factor = tf.constant([1.0, 2.0, 3.0])

    def __call__(self, x: Any) -> dict[str, Any]:
        return {"y": (x @ self.kernel + self.bias) * self.factor, "total": tf.reduce_sum(x)}


def test_a_module_keeps_names_weights_and_open_sizes() -> None:
    made = to_onnx(Scaled(), [ROWS])
    assert made.parity.passed
    assert [v.name for v in made.model.graph.inputs] == ["x"]
    assert [v.name for v in made.model.graph.outputs] == ["total", "y"]
    assert not isinstance(made.model.graph.inputs[0].shape[0], int)


@pytest.mark.parametrize("opset", [11, 18])
def test_random_bits_are_those_of_tensorflow(opset: int) -> None:
    def draw(s: Any) -> Any:
        shape = [tf.abs(s[0]) % 5 + 40]
        return tf.random.stateless_uniform(shape, s), tf.random.stateless_uniform(shape, s, -7, 2**62, tf.int64)

    called = function(["s:int32[2]"], draw)
    session = onnxruntime.InferenceSession(to_onnx(called, opset=opset, compare=False).proto().SerializeToString())
    for seed in ([1, 2], [-3, 2**31 - 1]):
        given = np.array(seed, np.int32)
        for ours, theirs in zip(session.run(None, {"s": given}), called(tf.constant(given)), strict=True):
            np.testing.assert_array_equal(ours, theirs.numpy())


def test_results_that_tensorflow_leaves_undefined_are_refused() -> None:
    def normalised(x: Any) -> Any:
        stated = {"scale": [1.0, 2, 3], "offset": [0.0, 1, 0], "mean": [0.1, 0, 0], "variance": [1.0, 2, 1]}
        return tf.raw_ops.FusedBatchNormV3(x=tf.cast(x, tf.float16), **stated, is_training=False)

    assert to_onnx(function([IMAGE], lambda x: normalised(x)[:3])).parity.passed
    with pytest.raises(UnsupportedOps, match="no defined value"):
        to_onnx(function([IMAGE], normalised))


def test_another_generator_is_refused() -> None:
    with pytest.raises(UnsupportedOps, match="Philox"):
        to_onnx(function(["s:int32[2]"], lambda s: tf.random.stateless_uniform([3], s, alg="threefry")))


def test_what_is_missing_is_refused_at_once() -> None:
    with pytest.raises(UnsupportedOps) as caught:
        to_onnx(function([ROWS], lambda x: (tf.math.ndtri(x), tf.math.igamma(x, x))))
    assert {m.name for m in caught.value.missing} == {"Ndtri", "Igamma"}
    assert all(m.locations for m in caught.value.missing)


COMPLEX: dict[str, tuple[str, Callable[..., Any]]] = {
    "Complex": (ROWS, lambda x: tf.math.real(tf.complex(x, x))),
    "Conj": (ROWS, lambda x: tf.math.real(tf.math.conj(tf.signal.rfft(x)))),
    "Mul": (ROWS, lambda x: tf.abs(tf.signal.rfft(x) * tf.signal.rfft(x))),
    "Shape": (ROWS, lambda x: tf.shape(tf.signal.rfft(x))),
    "Pad": (ROWS, lambda x: tf.signal.irfft(tf.signal.rfft(x), [14])),
    "Const": (ROWS, lambda x: tf.abs(tf.constant(1 + 2j, tf.complex64) + tf.signal.rfft(x))),
    "Cast": (ROWS, lambda x: tf.math.real(tf.cast(x, tf.complex64))),
    "Identity": (ROWS, lambda x: tf.signal.rfft(x)),  # what TensorFlow puts before a result
    "Placeholder": ("x:complex64[n,6]", tf.abs),
    "StatelessIf": (
        ROWS,
        lambda x: tf.abs(tf.cond(x[0, 0] > 0, lambda: tf.signal.rfft(x), lambda: tf.signal.rfft(-x))),
    ),
}


@pytest.mark.parametrize("op", COMPLEX)
def test_complex_numbers_elsewhere_are_refused(op: str) -> None:
    spec, call = COMPLEX[op]
    with pytest.raises(UnsupportedOps, match="complex") as caught:
        to_onnx(function([spec], call))
    assert op.removeprefix("Stateless") in {m.name.removeprefix("Stateless") for m in caught.value.missing}


def test_a_function_that_changes_a_variable_is_refused() -> None:
    state = tf.Variable(0.0)

    def step(x: Any) -> Any:
        state.assign_add(tf.reduce_sum(x))
        return x + state

    with pytest.raises(UnsupportedOps, match="changes a variable"):
        to_onnx(function([ROWS], step))


def test_a_function_without_signature_needs_inputs() -> None:
    with pytest.raises(InputSpecError, match="input_signature"):
        to_onnx(tf.function(lambda x: x + 1.0))
    assert to_onnx(tf.function(lambda x: x + 1.0), np.ones((2, 3), np.float32)).parity.passed


def test_convolutions_stay_channels_first() -> None:
    def network(x: Any) -> Any:
        for _ in range(3):
            x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, f32(3, 3, 3, 3), 1, "SAME"), f32(3))) + x
        return tf.reduce_mean(x, [1, 2])

    ops = [n.op_type for n in to_onnx(function([IMAGE], network)).model.graph]
    assert ops.count("Transpose") <= 1


def test_names_of_results_are_those_of_tensorflow() -> None:
    from tensorflow.python.framework import op_def_registry

    from anyonnx.converters.from_tensorflow.graph import OUTPUTS
    from anyonnx.symbolic.registry import registry

    for row in registry.rows("tf_graph"):
        definition = op_def_registry.get(row.name)
        if definition is not None and len(definition.output_arg) > 1:
            names = tuple(a.name for a in definition.output_arg)
            assert OUTPUTS.get(row.name) == names, row.name

"""Functions of JAX and what they are called on: one row for each primitive, or way of using it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Case = tuple[Callable[..., Any], tuple[Any, ...]]
_R = np.random.default_rng(0)


def f32(*shape: int) -> np.ndarray:
    return _R.standard_normal(shape).astype(np.float32)


def i32(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


X, Y, POSITIVE = f32(3, 4), f32(3, 4), np.abs(f32(3, 4)) + 0.1
INSIDE = np.tanh(f32(3, 4)) * 0.99
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.5, 0.5], np.float32)
N, M = i32(7, -7, 7, -7, 5, -2147483648, 9), i32(2, 2, -2, -2, 0, -1, 3)
U8 = np.array([250, 3, 17, 0, 255], np.uint8)
IMAGE = f32(2, 6, 7, 3)
SQUARE = f32(4, 4)
DEFINITE = SQUARE @ SQUARE.T + np.eye(4, dtype=np.float32)
W, K = f32(5, 4), f32(3, 3, 3, 4)
K2_2_2_3_4 = f32(2, 2, 2, 3, 4)
K2_5_4 = f32(2, 5, 4)
K3_3_1_6 = f32(3, 3, 1, 6)
K3_3_3_5 = f32(3, 3, 3, 5)
K3_5_2 = f32(3, 5, 2)
K4_3_2_2 = f32(4, 3, 2, 2)
K4_3_3_3 = f32(4, 3, 3, 3)

UNARY = {
    "abs": X, "sign": SPECIAL, "neg": X, "floor": X * 3, "ceil": X * 3, "exp": X, "exp2": X, "log": POSITIVE,
    "log1p": np.array([-0.5, 1e-8, -1e-8, 0, 3, 1e20, np.inf], np.float32), "sqrt": POSITIVE, "rsqrt": POSITIVE,
    "expm1": np.array([-50, -1e-7, 1e-7, 0, 3], np.float32), "cbrt": X * 5, "sin": X, "cos": X, "tan": X, "sinh": X,
    "cosh": X, "tanh": X, "asin": INSIDE, "acos": INSIDE, "atan": X, "asinh": X * 9, "acosh": POSITIVE + 1,
    "atanh": INSIDE, "logistic": X * 9, "erf": X, "erfc": X * 3, "erf_inv": INSIDE, "lgamma": POSITIVE * 5,
    "digamma": POSITIVE * 5, "bessel_i0e": X * 4, "bessel_i1e": X * 4, "is_finite": SPECIAL, "square": X,
    "population_count": N, "clz": N, "bitwise_not": N,
}  # fmt: skip
BINARY = {
    "add": (X, Y), "sub": (X, Y), "mul": (X, Y), "div": (X, Y), "rem": (X * 5, Y), "pow": (POSITIVE, Y),
    "max": (SPECIAL, SPECIAL[::-1].copy()), "min": (SPECIAL, SPECIAL[::-1].copy()),
    "atan2": (SPECIAL[:, None], SPECIAL[None, ::-1].copy()), "nextafter": (X, Y), "eq": (SPECIAL, SPECIAL),
    "ne": (SPECIAL, SPECIAL), "lt": (X, Y), "le": (X, Y), "gt": (X, Y), "ge": (X, Y),
    "shift_left": (N, i32(1, 2, 3, 31, 32, 0, 4)), "shift_right_logical": (N, i32(1, 2, 3, 31, 32, 0, 4)),
    "shift_right_arithmetic": (N, i32(1, 2, 3, 31, 32, 0, 4)), "bitwise_and": (N, M), "bitwise_or": (N, M),
    "bitwise_xor": (N, M),
}  # fmt: skip


def _broadcast(name: str) -> Callable[..., Any]:
    function = getattr(lax, name)
    return lambda x, y: function(*jnp.broadcast_arrays(x, y))


CASES: dict[str, Case] = {
    **{name: (getattr(lax, name), (x,)) for name, x in UNARY.items()},
    **{name: (_broadcast(name), pair) for name, pair in BINARY.items()},
    # --- integers
    "integer division": (lax.div, (N, M)),
    "integer remainder": (lax.rem, (N, M)),
    "integer floor division": (lambda x, y: (x // y, x % y), (N[:4], M[:4])),
    "unsigned": (lambda x: (x + x, x - jnp.uint8(9), x // jnp.uint8(3), x >> 2, x << 3, ~x, -x), (U8,)),
    "int8": (
        lambda x: (x * x, x.sum(), x.max(), jnp.abs(x), x // jnp.int8(3)),
        (np.array([-128, 100, 7, -3], np.int8),),
    ),
    "uint32": (
        lambda x: (x * x, jnp.sort(x), x.max(), x % jnp.uint32(7)),
        (np.array([2**32 - 1, 5, 2**31, 9], np.uint32),),
    ),
    "truth": (
        lambda x: (x > 0, (x > 0) & (x < 1), (x > 0).sum(), jnp.any(x > 0, 1), jnp.all(x > 0, 0), ~(x > 0)),
        (X,),
    ),
    "integer power": (lambda x: (x**2, x**3, x**7, x**-2, x**0), (X + 3,)),
    # --- conversion
    "float to int": (
        lambda x: x.astype(jnp.int32),
        (np.array([3e9, -3e9, np.nan, np.inf, -np.inf, 1.7, -1.7], np.float32),),
    ),
    "float to uint8": (lambda x: x.astype(jnp.uint8), (np.array([300, -3, np.nan, np.inf, 1.7], np.float32),)),
    "float to int8": (lambda x: x.astype(jnp.int8), (np.array([300, -300, np.nan, np.inf, -1.7], np.float32),)),
    "int to int": (
        lambda x: (x.astype(jnp.int8), x.astype(jnp.uint8), x.astype(jnp.float16), x.astype(bool)),
        (N * 37,),
    ),
    "bfloat16": (lambda x: (x.astype(jnp.bfloat16) * 3 + 1).astype(jnp.float32), (X,)),
    "bitcast": (
        lambda x: lax.bitcast_convert_type(x, jnp.int32),
        (np.r_[SPECIAL, f32(9), np.float32(1e-40)].astype(np.float32),),
    ),
    "bitcast back": (
        lambda x: lax.bitcast_convert_type(x, jnp.float32),
        (i32(0, 1, 1065353216, -1082130432, 2139095040, 8388607, 99),),
    ),
    "reduce precision": (lambda x: lax.reduce_precision(x, 5, 10), (X,)),
    "round": (
        lambda x: (lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), jnp.round(x)),
        (np.array([0.5, 1.5, -0.5, -2.5, 0.49999997, 3.2], np.float32),),
    ),
    "clamp": (lambda x: lax.clamp(-0.5, x, jnp.float32(0.7)), (X,)),
    "select": (lambda x, y: jnp.where(x > y, x, y), (X, Y)),
    "select_n": (lambda i, x: lax.select_n(i, x, x * 2, x * 3), (np.array([[0, 1, 2, 1]] * 3, np.int32), X)),
    "select truth": (lambda x: jnp.where(x > 0, x > 1, x < -1), (X,)),
    # --- shapes
    "broadcast": (
        lambda x: (jnp.broadcast_to(x, (2, 3, 4)), x[:, None] + x.T[None, :3, :3].sum(), jnp.ones((2, 2)) * x[0, 0]),
        (X,),
    ),
    "sum of a broadcast": (lambda x: jnp.broadcast_to(x[:1], (5, 4)).sum(0), (X,)),
    "reshape": (lambda x: (x.reshape(4, 3), x.reshape(-1), x.T.reshape(2, 6)), (X,)),
    "transpose": (lambda x: jnp.transpose(x, (2, 0, 1)), (f32(2, 3, 4),)),
    "concatenate": (lambda x, y: (jnp.concatenate([x, y], 0), jnp.stack([x, y], 1), jnp.hstack([x, y])), (X, Y)),
    "pad": (
        lambda x: (
            lax.pad(x, 1.5, [(1, 2, 0), (0, 1, 0)]),
            lax.pad(x, 0.0, [(-1, 1, 0), (2, -2, 0)]),
            lax.pad(x, 7.0, [(0, 1, 2), (-1, 0, 1)]),
        ),
        (X,),
    ),
    "pad modes": (lambda x: [jnp.pad(x, 2, mode=m) for m in ("edge", "wrap", "reflect", "symmetric")], (X,)),
    "slice": (lambda x: (x[1:], x[:, ::2], x[::-1], x[:, 1:3], lax.slice(x, (0, 1), (3, 4), (2, 2))), (X,)),
    "split": (lambda x: (jnp.split(x, 2, 1), jnp.split(x, [1, 3], 1)), (X,)),
    "iota": (lambda x: x + jnp.arange(4) + lax.broadcasted_iota(jnp.float32, (3, 4), 0), (X,)),
    "tile": (lambda x: (jnp.tile(x, (2, 1)), jnp.repeat(x, 2, 1), jnp.roll(x, 1, 1)), (X,)),
    "squeeze": (lambda x: jnp.squeeze(x[None], 0)[..., None], (X,)),
    "triangle": (lambda x: (jnp.tril(x), jnp.triu(x, 1), jnp.eye(4)), (X,)),
    # --- products
    "dot": (lambda x, y: (x @ y.T, jnp.vdot(x, y), x[0] @ y[0], x @ y[0]), (X, Y)),
    "einsum": (
        lambda x, y: (
            jnp.einsum("bij,bkj->bik", x, y),
            jnp.einsum("bij,kji->kb", x, K2_5_4),
            jnp.einsum("bij,bij->b", x, x),
        ),
        (f32(3, 4, 5), f32(3, 2, 5)),
    ),
    "integer dot": (
        lambda x: (x @ x.T, lax.dot_general(x, x, (((0,), (0,)), ((), ())), preferred_element_type=jnp.int32)),
        (np.array([[1, -2], [3, 100]], np.int8),),
    ),
    "weight on the left": (lambda x: jax.vmap(lambda v: jnp.asarray(W) @ v)(x), (X,)),
    "half dot": (lambda x: (x.astype(jnp.float16) @ x.T.astype(jnp.float16)).astype(jnp.float32), (X,)),
    # --- convolutions, windows
    "conv NHWC": (
        lambda x: lax.conv_general_dilated(x, K, (2, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
        (IMAGE,),
    ),
    "conv NCHW": (
        lambda x: lax.conv_general_dilated(x, K4_3_3_3, (1, 1), [(1, 0), (2, 1)], rhs_dilation=(2, 1)),
        (f32(2, 3, 8, 7),),
    ),
    "conv 1D": (
        lambda x: lax.conv_general_dilated(x, K3_5_2, (2,), "VALID", dimension_numbers=("NWC", "WIO", "NWC")),
        (f32(2, 9, 5),),
    ),
    "conv 3D": (
        lambda x: lax.conv_general_dilated(
            x, K2_2_2_3_4, (1, 1, 1), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC")
        ),
        (f32(1, 4, 4, 4, 3),),
    ),
    "conv grouped": (
        lambda x: lax.conv_general_dilated(
            x, K3_3_1_6, (1, 1), "SAME", feature_group_count=3, dimension_numbers=("NHWC", "HWIO", "NHWC")
        ),
        (IMAGE,),
    ),
    "conv batch groups": (
        lambda x: lax.conv_general_dilated(x, K4_3_2_2, (1, 1), "VALID", batch_group_count=2),
        (f32(4, 3, 5, 5),),
    ),
    "conv transposed": (
        lambda x: lax.conv_transpose(x, K3_3_3_5, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
        (IMAGE,),
    ),
    "conv dilated and strided": (
        lambda x: lax.conv_general_dilated(x, K4_3_3_3, (2, 2), [(1, 1), (1, 1)], lhs_dilation=(2, 3)),
        (f32(2, 3, 5, 5),),
    ),
    "conv negative padding": (
        lambda x: lax.conv_general_dilated(x, K4_3_2_2, (1, 1), [(-1, 0), (1, -1)]),
        (f32(2, 3, 6, 6),),
    ),
    "conv integers": (
        lambda x: lax.conv_general_dilated(
            x, (K * 3).astype(jnp.int32), (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        ),
        ((IMAGE * 9).astype(np.int32),),
    ),
    "conv gradient": (
        lambda x: jax.grad(
            lambda k: lax.conv_general_dilated(x, k, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")).sum()
        )(jnp.asarray(K)),
        (IMAGE,),
    ),
    "max window": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"), (IMAGE,)),
    "sum window": (
        lambda x: (
            lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 1, 1), "SAME"),
            lax.reduce_window(x, 0.0, lax.add, (2, 1, 1, 2), (1, 1, 1, 1), "VALID"),
        ),
        (IMAGE,),
    ),
    "min window": (lambda x: lax.reduce_window(x, jnp.inf, lax.min, (2, 2), (1, 1), "VALID"), (X,)),
    "other windows": (
        lambda x: (
            lax.reduce_window(x, 1.0, lax.mul, (2, 2), (1, 1), "VALID"),
            lax.reduce_window(x, 2.0, lax.add, (2, 2), (1, 1), "SAME"),
        ),
        (X,),
    ),
    "integer window": (
        lambda x: lax.reduce_window(x, jnp.iinfo(jnp.int32).min, lax.max, (2, 2), (1, 1), "SAME"),
        ((X * 9).astype(np.int32),),
    ),
    "dilated window": (
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 1), "VALID", window_dilation=(2, 2)),
        (X,),
    ),
    "pooling gradient": (
        lambda x: jax.grad(
            lambda y: (lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") ** 2).sum()
        )(x),
        (IMAGE,),
    ),
    # --- reductions
    "sums": (lambda x: (x.sum(), x.sum(0), x.mean(1), x.prod(1), x.var(), jnp.linalg.norm(x)), (X,)),
    "extremes": (lambda x: (x.max(), x.min(1), x.argmax(1), x.argmin(), jnp.ptp(x)), (X,)),
    "bits": (lambda x: (lax.reduce_xor(x, (0,)), lax.reduce_and(x, (0,)), lax.reduce_or(x, (0,))), (N,)),
    "any reduction": (lambda x: lax.reduce(x, 1.0, lambda a, b: a * 0.5 + b, (1,)), (X,)),
    "cumulative": (
        lambda x: (
            jnp.cumsum(x, 1),
            jnp.cumprod(x, 0),
            lax.cummax(x, 1),
            lax.cummin(x, 1, reverse=True),
            lax.cumlogsumexp(x, 1),
            lax.cumsum(x, 0, reverse=True),
        ),
        (X,),
    ),
    "associative scan": (lambda x: lax.associative_scan(jnp.add, x, axis=1), (X,)),
    "logsumexp": (
        lambda x: (jax.nn.logsumexp(x, 1), jnp.logaddexp(x, -x), jax.nn.softplus(x), jax.nn.log_softmax(x)),
        (X * 30,),
    ),
    "sort": (
        lambda x: (jnp.sort(x), jnp.argsort(x, descending=True), lax.top_k(x, 2), jnp.sort(x, descending=True)),
        (X,),
    ),
    "sort of nan": (jnp.sort, (SPECIAL,)),
    "sort by two keys": (lambda x, y: lax.sort((x, y, y * 2), num_keys=2), (i32(3, 1, 3, 1, 2), f32(5))),
    "median": (lambda x: (jnp.median(x, 1), jnp.quantile(x, 0.3, 0), jnp.searchsorted(jnp.sort(x[0]), x[1])), (X,)),
    "unique": (lambda x: jnp.unique(x, size=4, fill_value=-1), (i32(3, 1, 3, 1, 2),)),
    # --- indexing
    "take": (
        lambda x, i: (
            x[i],
            x[:, i],
            jnp.take(x, i, axis=1),
            jnp.take(x, i, axis=0, mode="clip"),
            jnp.take(x, i, axis=0, mode="fill"),
        ),
        (X, i32(2, 0, -1, 1)),
    ),
    "take outside": (
        lambda x, i: (
            x[i],
            jnp.take(x, i, 0, mode="fill", fill_value=5),
            jnp.take(x, i, 0, mode="clip"),
            jnp.take(x, i, 0),
        ),
        (X, i32(7, -9, 2)),
    ),
    "pairs": (
        lambda x, i: (x[i, i], x[i[:2], 1:3], x[1, i], x.at[i, i].get(mode="fill", fill_value=0)),
        (X, i32(2, 0, 1)),
    ),
    "take along axis": (lambda x, i: jnp.take_along_axis(x, i, 1), (X, np.array([[0, 3], [1, 1], [2, 0]], np.int32))),
    "mapped take": (jax.vmap(lambda x, i: x[i]), (X, i32(2, 0, 3))),
    "gather window": (lambda x, i: jax.vmap(lambda s: lax.dynamic_slice(x, (s, 0), (2, 3)))(i), (X, i32(0, 1, 9))),
    "dynamic slice": (
        lambda x, i: (
            lax.dynamic_slice(x, (i, 1), (2, 2)),
            lax.dynamic_slice(x, (-5, i), (2, 2)),
            lax.dynamic_index_in_dim(x, i, 1),
        ),
        (X, np.int32(5)),
    ),
    "dynamic update": (
        lambda x, i: (
            lax.dynamic_update_slice(x, jnp.ones((2, 2)), (i, i)),
            lax.dynamic_update_slice(x, jnp.ones((1, 4)), (i, 0)),
        ),
        (X, np.int32(5)),
    ),
    "set": (
        lambda x, i: (x.at[i].set(1.0), x.at[1:3].set(2.0), x.at[:, 2].set(3.0), x.at[0, i].set(jnp.arange(3.0))),
        (X, i32(2, 0, 1)),
    ),
    "set outside": (
        lambda x, i: (x.at[i].set(1.0), x.at[i].add(1.0), x.at[i].set(1.0, mode="clip")),
        (X, i32(7, 0, 2)),
    ),
    "combine": (
        lambda x, i: (
            x.at[i].add(1.0),
            x.at[i].multiply(2.0),
            x.at[i].min(0.0),
            x.at[i].max(0.0),
            x.at[i].subtract(3.0),
            x.at[i].apply(jnp.sin),
        ),
        (X, i32(2, 0, 2)),
    ),
    "set a rectangle": (lambda x: (x.at[1:2, 1:3].set(7.0), x.at[0:2, 2:3].add(x[:2, :1])), (X,)),
    "set truth": (lambda x, i: (x > 0).at[i].set(True), (X, i32(2, 0))),
    "one hot": (lambda i: (jax.nn.one_hot(i, 5), jnp.bincount(i, length=6)), (i32(1, 4, 0, 9),)),
    "segment sum": (lambda x, i: (jax.ops.segment_sum(x, i, 2), jax.ops.segment_max(x, i, 3)), (X, i32(0, 1, 1))),
    "mapped set": (lambda x, i: jax.vmap(lambda r, j: r.at[j].add(2.0))(x, i), (X, i32(2, 0, 3))),
    # --- linear algebra
    "cholesky": (lambda a: (jnp.linalg.cholesky(a), jnp.linalg.cholesky(-a)), (DEFINITE,)),
    "lu": (lambda a, b: (lax.linalg.lu(a), lax.linalg.lu(b), lax.linalg.lu(b.T)), (SQUARE, f32(4, 2))),
    "qr": (
        lambda a, b: (*jnp.linalg.qr(a), *jnp.linalg.qr(b, mode="complete"), *jnp.linalg.qr(b.T)),
        (SQUARE, f32(4, 2)),
    ),
    "reflections": (
        lambda a, c: (
            lax.linalg.householder_product(a, a[0] * 0.1 + 0.3),
            [
                lax.linalg.ormqr(a, a[0] * 0.1 + 0.3, c if left else c.T, left=left, transpose=turned)
                for left in (True, False)
                for turned in (True, False)
            ],
        ),
        (f32(4, 3), f32(4, 2)),
    ),
    "singular values": (
        lambda a, b: (jnp.linalg.svd(a, compute_uv=False), jnp.linalg.norm(b, 2), jnp.linalg.cond(a)),
        (SQUARE, f32(4, 2)),
    ),
    "singular vectors": (
        lambda a, b: (
            jnp.linalg.pinv(a),
            jnp.linalg.pinv(b),
            jnp.linalg.lstsq(b, a),
            jnp.linalg.matrix_rank(b),
            [jnp.abs(v) for v in jnp.linalg.svd(b, full_matrices=False)],
        ),
        (SQUARE, f32(4, 2)),
    ),
    "eigenvectors": (
        lambda a: (
            jnp.linalg.eigvalsh(a),
            [jnp.abs(v) for v in jnp.linalg.eigh(a)],
            (lambda w, v: (v / jnp.sqrt(w)) @ v.T)(*jnp.linalg.eigh(a)),
        ),
        (DEFINITE,),
    ),
    "solve": (lambda a, b: (jnp.linalg.solve(a, b), jnp.linalg.inv(a), jnp.linalg.det(a)), (SQUARE, f32(4, 2))),
    "solve many": (lambda a: (jnp.linalg.solve(a, a * 2), list(jnp.linalg.slogdet(a))), (f32(2, 3, 3),)),
    "triangular solve": (
        lambda a, b: [
            lax.linalg.triangular_solve(
                a, b if left else b.T, left_side=left, lower=low, transpose_a=turned, unit_diagonal=unit
            )
            for left, low, turned, unit in [
                (True, True, False, False),
                (True, False, True, False),
                (False, False, False, True),
                (False, True, True, False),
            ]
        ],
        (DEFINITE, f32(4, 2)),
    ),
    # --- control
    "mapped while": (jax.vmap(lambda x: lax.while_loop(lambda c: c.sum() < 5, lambda c: c + 1, x)), (X,)),
    "cond": (lambda x: lax.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x), (X,)),
    "switch": (lambda i, x: lax.switch(i, [lambda v: v, lambda v: v * 2, lambda v: v[::-1]], x), (np.int32(1), X)),
    "switch outside": (
        lambda i, x: lax.switch(i, [lambda v: v, lambda v: v * 2, lambda v: v[::-1]], x),
        (np.int32(9), X),
    ),
    "while": (
        lambda x: lax.while_loop(lambda c: c[1].sum() < 50, lambda c: (c[0] + 1, c[1] * 2), (0, jnp.abs(x))),
        (X,),
    ),
    "captured": (lambda x: lax.fori_loop(0, 3, lambda i, c: c + x[i].sum() * x, x), (X,)),
    "scan": (lambda x: lax.scan(lambda c, r: (c + r, (c * r, r.sum())), jnp.zeros(4), x), (X,)),
    "scan backwards": (lambda x: lax.scan(lambda c, r: (c * 0.5 + r, c), jnp.zeros(4), x, reverse=True), (X,)),
    "scan over nothing": (lambda x: lax.scan(lambda c, _: (c * 2, c[0]), x, None, length=3, reverse=True), (X,)),
    "scan gradient": (
        jax.grad(lambda x: lax.scan(lambda c, r: (jnp.tanh(c + r), None), jnp.zeros(4), x)[0].sum()),
        (X,),
    ),
    "map": (lambda x: lax.map(lambda r: jnp.outer(r, r).sum(0), x), (X,)),
    "nested loops": (
        lambda x: lax.scan(
            lambda c, r: (lax.fori_loop(0, 2, lambda i, d: d + r, c), lax.cond(r[0] > 0, jnp.sin, jnp.cos, c)),
            jnp.zeros(4),
            x,
        ),
        (X,),
    ),
    # --- calls
    "jit": (jax.jit(lambda x: jax.jit(jnp.sin)(x) * 2), (X,)),
    "remat": (jax.checkpoint(lambda x: jnp.sin(x) ** 2), (X,)),
    "custom_jvp": (jax.nn.silu, (X,)),
    "relu6": (
        lambda x: (
            jax.nn.relu6(x),
            jax.nn.gelu(x),
            jax.nn.gelu(x, approximate=False),
            jax.nn.elu(x),
            jax.nn.leaky_relu(x),
            jax.nn.hard_swish(x),
            jax.nn.softmax(x),
        ),
        (X,),
    ),
    "gradient": (jax.grad(lambda x: (jax.nn.softmax(x @ x.T) ** 2).sum()), (X,)),
    "jacobian": (jax.jacfwd(lambda x: jnp.sin(x) * x.sum()), (X[0],)),
    "resize": (
        lambda x: (jax.image.resize(x, (2, 12, 9, 3), "bilinear"), jax.image.resize(x, (2, 3, 3, 3), "nearest")),
        (IMAGE,),
    ),
    "bits of floats": (
        lambda x: (jnp.frexp(x), jnp.signbit(x), jnp.copysign(x, -x[::-1]), jnp.ldexp(x, 3)),
        (X * 100,),
    ),
    "gcd": (lambda x, y: (jnp.gcd(x, y), jnp.lcm(x, y)), (i32(12, 7, 0), i32(18, 5, 4))),
    "interpolation": (lambda x: jnp.interp(x, jnp.array([-1.0, 0.0, 2.0]), jnp.array([3.0, 1.0, 5.0])), (X,)),
}

KEY = jax.random.key(3)
#: Random numbers, which must come out bit for bit (up to rounding of logarithms and the like).
RANDOM: dict[str, Case] = {
    "bits": (lambda x: jax.random.bits(KEY, (5,)), (X,)),
    "uniform": (lambda x: x + jax.random.uniform(KEY, x.shape), (X,)),
    "normal": (lambda x: x + jax.random.normal(KEY, x.shape), (X,)),
    "split": (lambda x: x + jax.random.uniform(jax.random.split(KEY, 3)[1], x.shape), (X,)),
    "fold_in": (lambda x: x + jax.random.uniform(jax.random.fold_in(KEY, 7), x.shape), (X,)),
    "permutation": (lambda x: jax.random.permutation(KEY, x), (X,)),
    "categorical": (lambda x: jax.random.categorical(KEY, x), (X,)),
    "randint": (lambda x: jax.random.randint(KEY, (9,), 0, 100), (X,)),
    "seed as input": (lambda s: jax.random.normal(jax.random.key(s), (3,)), (np.int32(5),)),
    "mapped seeds": (
        lambda s: jax.vmap(lambda q: jax.random.normal(jax.random.key(q), (3,)))(jnp.arange(4) + s),
        (np.int32(5),),
    ),
}

#: Functions with open dims, and specs of their inputs.
OPEN: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "softmax": (jax.nn.softmax, ("x:float32[b,4]",)),
    "arange": (lambda x: (jnp.arange(x.shape[0]), x + jnp.arange(x.shape[1])), ("x:float32[b,n]",)),
    "sizes": (lambda x: (x.sum() / x.shape[0], jnp.pad(x, ((0, x.shape[0] % 3), (0, 0)))), ("x:float32[b,4]",)),
    "reshape": (lambda x: (x.reshape(-1), x.reshape(x.shape[0] * x.shape[1], 2, 2)), ("x:float32[b,n,4]",)),
    "matmul": (lambda x, y: x @ y.swapaxes(1, 2), ("x:float32[b,n,4]", "y:float32[b,m,4]")),
    "concatenate": (lambda x, y: jnp.concatenate([x, y], 1), ("x:float32[b,n]", "y:float32[b,m]")),
    "slice": (lambda x: (x[1:], x[:, ::-1], x[: x.shape[0] // 2]), ("x:float32[b,n]",)),
    "gather": (lambda x, i: (x[i], jnp.take_along_axis(x, i[:, None] % 4, 1)), ("x:float32[b,4]", "i:int32[b]")),
    "scatter": (lambda x: (x.at[:, 0].set(1.0), x.at[0].add(2.0)), ("x:float32[b,4]",)),
    "sort": (lambda x: (jnp.sort(x, 0), jnp.argsort(x, 0)), ("x:float32[b,4]",)),
    "cumulative": (lambda x: (jnp.cumsum(x, 0), jax.lax.cummax(x, 0)), ("x:float32[b,4]",)),
    "scan": (lambda x: lax.scan(lambda c, r: (c + r, c), jnp.zeros(4), x), ("x:float32[n,4]",)),
    "while": (lambda x: lax.fori_loop(0, 3, lambda i, c: c * 2, x), ("x:float32[b,4]",)),
    "cond": (lambda x: lax.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x), ("x:float32[b,4]",)),
    "mask": (
        lambda x: jnp.where(jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool)), x[:, :, None], 0),
        ("x:float32[b,n]",),
    ),
    "convolution": (
        lambda x: lax.conv_general_dilated(x, K, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
        ("x:float32[b,h,w,3]",),
    ),
    "strided pooling": (
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME"),
        ("x:float32[b,h,w,3]",),
    ),
    "a size as output": (lambda x: (x.shape[0], x), ("x:float32[b,4]",)),
}

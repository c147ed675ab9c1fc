"""Singular vectors and eigenvectors: signs are free, so what doesn't depend on them is compared."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
tf = pytest.importorskip("tensorflow")

from anyonnx.converters.api import to_onnx  # noqa: E402


def singular(x: Any) -> Any:
    values, u, v = tf.linalg.svd(x)
    whole = tf.linalg.svd(x, full_matrices=True)
    return values, abs(u), abs(v), u @ tf.linalg.adjoint(v), abs(whole[1][..., :3]), tf.linalg.pinv(x)


def eigen(x: Any) -> Any:
    symmetric = x[..., :3, :] @ tf.linalg.matrix_transpose(x[..., :3, :]) + tf.eye(3)
    values, vectors = tf.linalg.eigh(symmetric)
    return values, abs(vectors), (vectors / tf.sqrt(values)[..., None, :]) @ tf.linalg.matrix_transpose(vectors)


@pytest.mark.parametrize("opset", [11, 21])
@pytest.mark.parametrize("call", [singular, eigen])
def test_what_does_not_depend_on_signs(call: Callable[..., Any], opset: int) -> None:
    function = tf.function(call, input_signature=[tf.TensorSpec([None, 5, 3], tf.float32, name="x")])
    assert to_onnx(function, ("x:float32[n,5,3]",), opset=opset).parity.passed

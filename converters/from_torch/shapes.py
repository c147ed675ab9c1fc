"""Result shapes of composite ops, so that the capture keeps these ops whole over open sizes.

torch finds the shapes of a composite op by running its decomposition. For some this fixes open sizes: recurrent layers
loop over the time steps, and a few C++ implementations ask for plain numbers. While a model is captured, these ops are
given functions here that compute the shapes from the shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def shape_kernels(apart: Collection[Any] = ()) -> Iterator[None]:
    """Puts the shape functions in place of the implementations that fake tensors run.

    Args:
        apart: Operators that keep theirs: taking them apart runs it.
    """
    import torch
    from torch._export.utils import _collect_all_valid_cia_ops_for_aten_namespace

    _collect_all_valid_cia_ops_for_aten_namespace()  # torch keeps this list of composite ops: ours must not be in it
    key = torch._C.DispatchKey
    overloads = {op: function for op, function in _overloads().items() if op not in apart}
    saved = {op: dict(op.py_kernels) for op in overloads}
    for op, function in overloads.items():
        for dispatch in (key.CompositeImplicitAutograd, key.Autograd, key.Meta):
            if dispatch is key.CompositeImplicitAutograd or dispatch in op.py_kernels:
                op.py_kernels[dispatch] = function
        op._dispatch_cache.clear()
    try:
        yield
    finally:
        for op, kernels in saved.items():
            op.py_kernels.clear()
            op.py_kernels.update(kernels)
            op._dispatch_cache.clear()


def _overloads() -> dict[Any, Callable[..., Any]]:
    import torch

    from .spectra import overloads as transforms

    aten = torch.ops.aten
    return {
        **transforms(),
        aten.lstm.input: _lstm,
        aten.gru.input: _rnn,
        aten.rnn_tanh.input: _rnn,
        aten.rnn_relu.input: _rnn,
        aten.max_pool1d.default: _max_pool1d,
        aten.kron.default: _kron,
        aten.multilabel_margin_loss.default: _multilabel_margin_loss,
        aten.take_along_dim.default: _take_along_dim,
        aten.histogram.bin_ct: _histogram,
        aten.histogram.bins_tensor: _histogram,
        aten.histogramdd.default: _histogramdd,
        aten.histogramdd.int_bins: _histogramdd,
        aten.histogramdd.TensorList_bins: _histogramdd,
        aten.ctc_loss.IntList: _ctc_loss,
        aten.ctc_loss.Tensor: _ctc_loss,
        # these have no shape function at all in torch
        aten.fake_quantize_per_tensor_affine.default: _same,
        aten.fake_quantize_per_tensor_affine.tensor_qparams: _same,
        aten.fake_quantize_per_channel_affine.default: _same,
        aten.geqrf.default: _geqrf,
        aten.linalg_matrix_norm.default: _matrix_norm,
        aten.linalg_norm.default: _norm,
        aten.linalg_cond.default: _cond,
        # these look at numbers to warn of them, or to choose a shape
        aten.cov.default: _cov,
        aten.corrcoef.default: _corrcoef,
        aten.linalg_lstsq.default: _lstsq,
    }


def _lstm(
    input: Any, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool,
    bidirectional: bool, batch_first: bool,
) -> tuple[Any, Any, Any]:  # fmt: skip
    hidden, cell = hx
    width = hidden.shape[2] * (2 if bidirectional else 1)
    output = input.new_empty((input.shape[0], input.shape[1], width))
    return output, hidden.new_empty(hidden.shape), cell.new_empty(cell.shape)


def _rnn(
    input: Any, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool,
    bidirectional: bool, batch_first: bool,
) -> tuple[Any, Any]:  # fmt: skip
    width = hx.shape[2] * (2 if bidirectional else 1)
    return input.new_empty((input.shape[0], input.shape[1], width)), hx.new_empty(hx.shape)


def _same(self: Any, *settings: Any) -> Any:
    return self.new_empty(self.shape)


def _max_pool1d(
    self: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    import torch

    def pair(value: Any, other: int) -> list[int]:
        return [other, *value] if isinstance(value, (list, tuple)) else [other, value]

    flat = self.unsqueeze(-2)
    steps = pair(stride or kernel_size, 1)
    pooled = torch.ops.aten.max_pool2d.default(
        flat, pair(kernel_size, 1), steps, pair(padding, 0), pair(dilation, 1), ceil_mode
    )
    return pooled.squeeze(-2)


def _kron(self: Any, other: Any) -> Any:
    import torch

    rank = max(self.dim(), other.dim())
    first = [1] * (rank - self.dim()) + list(self.shape)
    second = [1] * (rank - other.dim()) + list(other.shape)
    dtype = torch.result_type(self, other)
    return self.new_empty([a * b for a, b in zip(first, second, strict=True)], dtype=dtype)


def _multilabel_margin_loss(self: Any, target: Any, reduction: int = 1) -> Any:
    return self.new_empty((self.shape[0],) if reduction == 0 and self.dim() > 1 else ())


def _take_along_dim(self: Any, indices: Any, dim: int | None = None) -> Any:
    import torch

    if dim is None:
        return self.new_empty((indices.numel(),))
    axis = dim % self.dim()
    ours = [1 if i == axis else s for i, s in enumerate(self.shape)]
    theirs = [1 if i == axis else s for i, s in enumerate(indices.shape)]
    common = list(torch.broadcast_shapes(ours, theirs))
    common[axis] = indices.shape[axis]
    return self.new_empty(common)


def _cov(self: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    import torch

    dtype = self.dtype if self.dtype.is_floating_point or self.dtype.is_complex else torch.get_default_dtype()
    if aweights is not None:
        dtype = torch.promote_types(dtype, aweights.dtype)
    rows = self.shape[0] if self.dim() == 2 else 1
    return self.new_empty([] if rows == 1 else [rows, rows], dtype=dtype)


def _corrcoef(self: Any) -> Any:
    return _cov(self)


def _lstsq(self: Any, b: Any, rcond: float | None = None, *, driver: str | None = None) -> tuple[Any, Any, Any, Any]:
    """Matrices are taken to be of full rank: of others, torch gives no residuals."""
    import torch

    driver = driver or "gelsy"
    rows, columns = self.shape[-2:]
    vector = self.dim() - 1 == b.dim() and self.shape[:-1] == b.shape
    right = b.unsqueeze(-1) if vector else b
    batch = list(torch.broadcast_shapes(self.shape[:-2], right.shape[:-2]))
    width = [] if vector else [right.shape[-1]]
    own = list(self.shape[:-2])
    return (
        self.new_empty([*batch, columns, *width]),
        self.new_empty([*batch, *width] if rows > columns and driver != "gelsy" else [0]),
        self.new_empty(own if driver != "gels" else [0], dtype=torch.int64),
        self.new_empty([*own, min(rows, columns)] if driver in ("gelsd", "gelss") else [0]),
    )


def _histogram(self: Any, bins: Any = 100, *settings: Any, **named: Any) -> tuple[Any, Any]:
    edges = bins.shape[0] if hasattr(bins, "shape") else bins + 1
    return self.new_empty((edges - 1,)), self.new_empty((edges,))


def _histogramdd(self: Any, bins: Any, *settings: Any, **named: Any) -> tuple[Any, list[Any]]:
    each = [bins] * self.shape[-1] if isinstance(bins, int) else bins
    edges = [b.shape[0] if hasattr(b, "shape") else b + 1 for b in each]
    return self.new_empty([n - 1 for n in edges]), [self.new_empty((n,)) for n in edges]


def _ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 1,
    zero_infinity: bool = False,
) -> Any:  # fmt: skip
    whole = reduction != 0 or log_probs.dim() == 2
    return log_probs.new_empty(() if whole else (log_probs.shape[1],))


def _geqrf(self: Any) -> tuple[Any, Any]:
    return self.new_empty(self.shape), self.new_empty([*self.shape[:-2], min(self.shape[-2:])])


def _matrix_norm(self: Any, ord: Any, dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Any:
    return _norm(self, ord, dim, keepdim, dtype=dtype)


def _norm(self: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    axes = {d % self.dim() for d in (range(self.dim()) if dim is None else dim)}
    sizes = [1 if i in axes else s for i, s in enumerate(self.shape) if keepdim or i not in axes]
    return self.new_empty(sizes, dtype=(dtype or self.dtype).to_real())


def _cond(self: Any, p: Any = None) -> Any:
    return self.new_empty(self.shape[:-2], dtype=self.dtype.to_real())

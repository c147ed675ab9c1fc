"""More rows of the op table: ops along axes of open size, where a size could be written into the graph."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from aten_table import row


def _three(parts: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    first, second, third = parts  # fails where a size gives fewer
    return first, second, third


row("chunk_open", lambda x: _three(x.chunk(3, 1)), "f[3,h]", "l[n,w]")
row("tensor_split_open", lambda x: x.tensor_split(3, 1), "f[3,n]", "f[3,m]", "f[2,h]")
row("hsplit_open", lambda x: torch.hsplit(x, 2), "f[3,h]")
row("diagonal_scatter_open", lambda x, y: torch.diagonal_scatter(x, y), "f[n,n] f[n]")
row("diagonal_scatter_offset", lambda x, y: torch.diagonal_scatter(x, y, 1, 0, 2), "f[3,m,4] f[m,3]")
row("sum_to_size_same", lambda x: x.sum_to_size(x.shape), "f[n,m]", "i[n,3]")
row("sum_to_size_open", lambda x: x.sum_to_size(x.shape[1:]), "f[n,m]", "l[n,3]")
row("diff_of_nothing", lambda x, y: torch.diff(x, 0, 0, prepend=y), "f[n,3] f[2,3]")
row("cosine_similarity_scalars", lambda x, y: F.cosine_similarity(x, y, 0), "f[] f[]")
for _count, _shape in ((1, "h"), (2, "h,w"), (3, "h,w,m")):
    row(f"adaptive_max_open{_count}",
        lambda x, c=_count: getattr(F, f"adaptive_max_pool{c}d")(x, (3, 4, 2)[:c], return_indices=True),
        f"f[n,2,{_shape}]", f"d[2,{_shape}]")  # fmt: skip
row("adaptive_max_open_whole", lambda x: F.adaptive_max_pool2d(x, 1, return_indices=True), "f[n,2,h,w]")
row("adaptive_max_open_ties", lambda x: F.adaptive_max_pool2d(x.round().clamp(-1, 1), (3, 2), return_indices=True),
    "f[n,2,h,w]")  # fmt: skip
row("im2col_open", lambda x: F.unfold(x, 3, 1, 1, 2), "f[n,2,h,w]", "f[2,h,w]")
row("im2col_open_dilated", lambda x: F.unfold(x, (2, 3), 2), "f[n,2,h,w]")
row("unique_counts", lambda x: torch.unique(x, return_counts=True), "l[n]<4")
row("unique_inverse", lambda x: torch.unique(x, dim=0, return_inverse=True), "l[n,2]<2")
row("unique_consecutive_open", lambda x: torch.unique_consecutive(x, return_counts=True), "l[h]<2")
row("any_open", lambda x: (x.any(), x.any(0), (x > 100).any(1)), "b[n,m]", "i[n,m]")
row("norm_inf_open", lambda x: torch.linalg.vector_norm(x, float("inf"), 1), "f[n,m]")
row("conv_transpose_open_kernel",
    lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=2, dilation=3),
    "f[n,2,4,4] f[2,3,m,n]")  # fmt: skip
row("fractional_max_pool3d_unbatched",
    lambda x, r: F.fractional_max_pool3d(x, 2, output_size=(4, 3, 2), _random_samples=torch.sigmoid(r)),
    "f[2,6,5,4] f[3,2,3]")  # fmt: skip
for _name, _call in {
    "plain": lambda x: F.avg_pool2d(x, 3, 2),
    "padded": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "ceil": lambda x: F.avg_pool2d(x, (3, 2), 2, 1, ceil_mode=True, count_include_pad=False),
    "ceil_padded": lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
    "divisor": lambda x: F.avg_pool2d(x, 2, 2, divisor_override=3),
}.items():
    row(f"avg_pool_windows_{_name}", _call, "d[n,2,h,w]", "d[2,7,9]")
row("avg_pool_windows_nan", lambda x: F.avg_pool1d((x - 1).log(), 3, 2), "d[n,2,h]")
for _reduction in ("none", "mean", "sum"):
    row(f"multilabel_margin_{_reduction}", lambda x, t, r=_reduction: F.multilabel_margin_loss(x, t - 1, reduction=r),
        "f[n,m] l[n,m]<3", "d[4] l[4]<5")  # fmt: skip
row("hypot_infinite", lambda x, y: torch.hypot((x - 1).log() / 0, y.sqrt()), "f[h] f[h]")
row("nonzero_scalar", lambda x: torch.nonzero(x, as_tuple=True), "f[]", "l[]")

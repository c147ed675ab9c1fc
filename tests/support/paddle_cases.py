"""Small Paddle models, one for each op or way of using it; for processes of their own, as it imports paddle."""

import paddle
import paddle.nn.functional as F
from paddle import nn

FLOAT = "x:float32[batch,3,4]"
PAIR = ["x:float32[batch,3,4]", "y:float32[batch,3,4]"]
INTS = ["x:int64[batch,4]", "y:int64[batch,4]"]
IMAGE = "x:float32[batch,4,10,11]"
CASES = {}


class Net(nn.Layer):
    """A layer of one function and the parts it uses."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)


class Net1(Net):
    def forward(self, x):
        return self.function(x)


class Net2(Net):
    def forward(self, x, y):
        return self.function(x, y)


class Net3(Net):
    def forward(self, x, y, z):
        return self.function(x, y, z)


def case(name, function, *specs, samples=None, opsets=(11, 25), **parts):
    """Adds a case: `function` is called with tensors; `parts` are layers that it uses."""
    assert name not in CASES, name
    CASES[name] = (lambda: _layer(function, len(specs), parts), list(specs), samples, opsets)


def on(op, function):
    """`function` with the op that it is about."""
    return lambda *tensors: function(op, *tensors)


def _layer(function, count, parts):
    paddle.seed(0)
    made = {k: make() for k, make in parts.items()}
    net = [Net1, Net2, Net3][count - 1]
    return net((lambda *a: function(*made.values(), *a)) if made else function, **made)


def layer(name, make, *specs, **options):
    """Adds a case that is a layer."""
    assert name not in CASES, name

    def build():
        paddle.seed(0)
        return make()

    CASES[name] = (build, list(specs), options.get("samples"), options.get("opsets", (11, 25)))


# --- elements ---------------------------------------------------------------------------------------------------------
for _name in [
    "abs",
    "ceil",
    "cos",
    "erf",
    "exp",
    "floor",
    "neg",
    "round",
    "sign",
    "sin",
    "tan",
    "tanh",
    "square",
    "expm1",
    "sinh",
    "cosh",
    "asinh",
    "atan",
    "reciprocal",
    "trunc",
    "rint",
]:
    if hasattr(paddle, _name):
        case(_name, getattr(paddle, _name), FLOAT)
for _name in ["acos", "asin", "atanh", "erfinv", "logit"]:
    case(_name, on(getattr(paddle, _name), lambda f, x: f(paddle.tanh(x) * 0.9 * 0.5 + 0.45)), FLOAT)
for _name in ["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "acosh"]:
    case(_name, on(getattr(paddle, _name), lambda f, x: f(paddle.abs(x) + 1.1)), FLOAT)
case("erfinv wide", lambda x: paddle.erfinv(paddle.clip(x, -0.98, 0.98)), FLOAT)
case("log1p small", lambda x: paddle.log1p(x * 1e-5), FLOAT)
case("expm1 small", lambda x: paddle.expm1(x * 1e-5), FLOAT)
case("round halves", lambda x: paddle.round(paddle.round(x * 4) / 2), FLOAT)
for _name in [
    "relu",
    "relu6",
    "sigmoid",
    "silu",
    "swish",
    "mish",
    "hardswish",
    "hardsigmoid",
    "hardtanh",
    "hardshrink",
    "softshrink",
    "tanhshrink",
    "softsign",
    "log_sigmoid",
    "elu",
    "celu",
    "selu",
    "gelu",
    "leaky_relu",
    "softplus",
    "softmax",
    "log_softmax",
    "thresholded_relu",
]:
    case(_name, getattr(F, _name), FLOAT)
case("gelu tanh", lambda x: F.gelu(x, approximate=True), FLOAT)
case("leaky_relu 0.3", lambda x: F.leaky_relu(x, 0.3), FLOAT)
case("softplus beta", lambda x: F.softplus(x * 10, beta=2.0, threshold=5.0), FLOAT)
case("hardtanh bounds", lambda x: F.hardtanh(x, -0.3, 0.4), FLOAT)
case("hardsigmoid slope", lambda x: F.hardsigmoid(x, 0.3, 0.4), FLOAT)
case("thresholded_relu value", lambda x: F.thresholded_relu(x, 0.3, 0.7), FLOAT)
case("softmax axis", lambda x: F.softmax(x, axis=1), FLOAT)
case("elu alpha", lambda x: F.elu(x, 0.4), FLOAT)
case("celu alpha", lambda x: F.celu(x, 0.4), FLOAT, opsets=(12, 25))
case("prelu all", lambda w, x: w(x), IMAGE, w=nn.PReLU)
case("prelu channel", lambda w, x: w(x), IMAGE, w=lambda: nn.PReLU(4, init=0.3))
case("prelu NHWC", lambda w, x: w(x), "x:float32[batch,5,6,4]", w=lambda: nn.PReLU(4, data_format="NHWC"))
case("rrelu", lambda x: F.rrelu(x, training=False), FLOAT)
case("maxout", lambda x: F.maxout(x, 2), IMAGE)
case("glu", lambda x: F.glu(x), FLOAT)
case("dropout", lambda x: F.dropout(x, 0.3, training=False), FLOAT)
case("dropout downscale", lambda x: F.dropout(x, 0.3, training=False, mode="downscale_in_infer"), FLOAT)
case("stanh", lambda x: paddle.stanh(x), FLOAT)
# --- arithmetic -------------------------------------------------------------------------------------------------------
for _name in [
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "pow",
    "atan2",
    "heaviside",
    "copysign",
]:
    case(f"{_name} 2", getattr(paddle, _name), *PAIR)
CASES.pop("pow 2")
case("pow 2", lambda x, y: paddle.pow(paddle.abs(x) + 0.1, y), *PAIR)
for _name in ["add", "subtract", "multiply", "floor_divide", "remainder", "maximum", "minimum"]:
    case(f"{_name} int", on(getattr(paddle, _name), lambda f, x, y: f(x - 3, y + 1)), *INTS)
case("floor_divide signs", lambda x, y: paddle.floor_divide(x - 4, paddle.where(y > 3, y, y - 5)), *INTS)
case("remainder signs", lambda x, y: paddle.remainder(x - 4, paddle.where(y > 3, y, y - 5)), *INTS)
case("remainder float", lambda x, y: paddle.remainder(x * 5, y + 3.3), *PAIR)
case("floor_divide float", lambda x, y: paddle.floor_divide(x * 5, y + 3.3), *PAIR)
case("broadcast add", lambda x, y: x + y, FLOAT, "y:float32[3,1]")
case("scalars", lambda x: (2 * x + 1) / 3 - x**2 + x**3 - 1.5, FLOAT)
case("int scalars", lambda x: (2 * x + 1) // 2 - x**2 + x % 3, "x:int64[batch,4]")
case("int32 scalars", lambda x: 2 * x + 1, "x:int32[batch,4]")
case("pow float", lambda x: paddle.pow(paddle.abs(x) + 0.1, 1.7), FLOAT)
case("pow of a scalar", lambda x: 2.0**x, FLOAT)
case("scale before", lambda x: paddle.scale(x, 2.0, 0.7, bias_after_scale=False), FLOAT)
case("add_n", lambda x, y: paddle.add_n([x, y, x]), *PAIR)
case("lerp", lambda x, y: paddle.lerp(x, y, 0.3), *PAIR)
case("clip", lambda x: paddle.clip(x, -0.4, 0.5), FLOAT)
case("clip min", lambda x: paddle.clip(x, min=0.1), FLOAT)
case("clip int", lambda x: paddle.clip(x, 2, 5), "x:int64[batch,4]")
case("clip tensor", lambda x: paddle.clip(x, x.min(), x.max() * 0.5), FLOAT)
case("cast", lambda x: (x.cast("int32"), x.cast("float64"), x.cast("bool"), x.astype("float16")), FLOAT)
case("float64", lambda x: paddle.exp(x) + 1, "x:float64[batch,3]")
case("addmm", lambda x, y: paddle.addmm(y, x, x, beta=0.5, alpha=2.0), "x:float32[4,4]", "y:float32[4,4]")
case("label_smooth", lambda x: F.label_smooth(F.softmax(x)), FLOAT)
case("square error", lambda x, y: F.mse_loss(x, y), *PAIR)
case("smooth l1", lambda x, y: F.smooth_l1_loss(x, y), *PAIR)
case("bce", lambda x, y: F.binary_cross_entropy(F.sigmoid(x), F.sigmoid(y)), *PAIR)
case("bce logits", lambda x, y: F.binary_cross_entropy_with_logits(x, F.sigmoid(y)), *PAIR)
case("kl_div", lambda x, y: F.kl_div(F.log_softmax(x), F.softmax(y)), *PAIR)
case("cross_entropy", lambda x, y: F.cross_entropy(x, y), "x:float32[batch,9]", "y:int64[batch]")
case("cross_entropy none", lambda x, y: F.cross_entropy(x, y, reduction="none"), "x:float32[batch,9]", "y:int64[batch]")
# --- comparisons ------------------------------------------------------------------------------------------------------
for _name in ["equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal"]:
    case(_name, getattr(paddle, _name), *INTS)
for _name in ["logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"]:
    case(_name, on(getattr(paddle, _name), lambda f, x, y: f(x > 0, y > 0)), *PAIR)
for _name in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
    case(f"{_name} int", getattr(paddle, _name), *INTS, opsets=(18, 25))
case("logical_not", lambda x: paddle.logical_not(x > 0), FLOAT)
case("bitwise_not", lambda x: paddle.bitwise_not(x), "x:int32[batch,4]")
case(
    "isnan",
    lambda x: (paddle.isnan(paddle.log(x)), paddle.isinf(1 / paddle.round(x)), paddle.isfinite(paddle.log(x))),
    FLOAT,
)
case("isclose", lambda x, y: (paddle.isclose(x, x + y * 1e-6), paddle.allclose(x, x)), *PAIR)
case("where", lambda x, y: paddle.where(x > y, x, y), *PAIR)
case("masked_fill", lambda x: paddle.masked_fill(x, x > 0.1, -3.0), FLOAT)
case("equal bool", lambda x, y: paddle.equal(x > 0, y > 0), *PAIR)
# --- reductions -------------------------------------------------------------------------------------------------------
for _name in ["sum", "mean", "max", "min", "prod", "amax", "amin", "logsumexp", "var", "std"]:
    _f = getattr(paddle, _name)
    case(f"{_name} all", lambda x, f=_f: f(x), FLOAT)
    case(f"{_name} axis", lambda x, f=_f: f(x, axis=1), FLOAT)
    case(f"{_name} keepdim", lambda x, f=_f: f(x, axis=[-1, 1], keepdim=True), FLOAT)
case("sum int", lambda x: (x.sum(), x.cast("int32").sum(axis=0), (x > 3).sum()), "x:int64[batch,4]")
case("max int", lambda x: (x.max(axis=1), x.cast("int32").min()), "x:int64[batch,4]")
case(
    "any all",
    lambda x: (paddle.any(x > 0.5, axis=1), paddle.all(x > -2.0), paddle.all(x > 0, axis=[0, 2], keepdim=True)),
    FLOAT,
)
case("cumsum", lambda x: (paddle.cumsum(x, axis=1), paddle.cumsum(x), paddle.cumsum(x, axis=-1)), FLOAT)
case("cumprod", lambda x: (paddle.cumprod(x, dim=1), paddle.cumprod(x, dim=-1)), FLOAT)
case("cummax", lambda x: [*paddle.cummax(x, axis=1), *paddle.cummin(x, axis=-1)], FLOAT)
case("logcumsumexp", lambda x: paddle.logcumsumexp(x, axis=1), FLOAT)
case("nansum", lambda x: paddle.nansum(paddle.log(x), axis=1), FLOAT)
for _p in (0, 1, 2, 3, float("inf"), float("-inf")):
    case(f"norm {_p}", lambda x, p=_p: (paddle.linalg.norm(x, p=p, axis=1), paddle.linalg.norm(x, p=p)), FLOAT)
case(
    "norm fro",
    lambda x: (paddle.linalg.norm(x), paddle.linalg.norm(x, axis=2, keepdim=True)),
    FLOAT,
)
case("dist", lambda x, y: (paddle.dist(x, y, 2), paddle.dist(x, y, float("inf")), paddle.dist(x, y, 0)), *PAIR)
case("normalize", lambda x: F.normalize(x, axis=1), FLOAT)
case("cosine_similarity", lambda x, y: F.cosine_similarity(x, y, axis=1), *PAIR)
# --- shapes -----------------------------------------------------------------------------------------------------------
case("reshape", lambda x: (x.reshape([0, -1]), x.reshape([-1, 2, 6]), x.reshape([-1]), x.reshape([0, 0, 2, 2])), FLOAT)
case("flatten", lambda x: (paddle.flatten(x), paddle.flatten(x, 1), paddle.flatten(x, 0, 1)), FLOAT)
case("transpose", lambda x: (x.transpose([2, 0, 1]), x.T, paddle.moveaxis(x, 0, -1), x.swapaxes(0, 1)), FLOAT)
case(
    "squeeze",
    lambda x: (paddle.squeeze(x, 1), paddle.squeeze(x, [1, -1]), x.unsqueeze(0), x.unsqueeze([0, -1])),
    "x:float32[batch,1,4,1]",
)
case(
    "concat",
    lambda x, y: (paddle.concat([x, y], 1), paddle.concat([x, y], 0), paddle.stack([x, y]), paddle.stack([x, y], -1)),
    *PAIR,
)
case("split", lambda x: [*paddle.split(x, 2, -1), *paddle.split(x, [1, 2], 1), *paddle.split(x, [1, -1], 1)], FLOAT)
case("chunk", lambda x: [*paddle.chunk(x, 3, 1), *paddle.unbind(x, 1), *paddle.unstack(x, 2)], FLOAT)
case("slices", lambda x: (x[:, 1], x[:, 0:2, ::2], x[..., -1], x[:, ::-1], x[0], x[:, None, 1:], x[-1:]), FLOAT)
case("expand", lambda x: (paddle.expand(x, [-1, 3, 4]), paddle.broadcast_to(x, [2, -1, 3, 4])), "x:float32[batch,1,4]")
case("expand_as", lambda x, y: paddle.expand_as(x, y), "x:float32[batch,1,4]", "y:float32[batch,3,4]")
case("tile", lambda x: (paddle.tile(x, [2, 1, 3]), paddle.tile(x, [2]), paddle.tile(x, [2, 1, 1, 2])), FLOAT)
case("flip", lambda x: (paddle.flip(x, [1]), paddle.flip(x, [0, -1])), FLOAT)
case("roll", lambda x: (paddle.roll(x, 1), paddle.roll(x, [1, -2], [1, 2]), paddle.roll(x, 5, 0)), FLOAT)
case("rot90", lambda x: paddle.rot90(x, 1, [1, 2]), FLOAT)
case("strided_slice", lambda x: paddle.strided_slice(x, [1, 2], [2, 3], [0, -5], [-1, -2]), FLOAT)
case("crop", lambda x: paddle.crop(x, [-1, 2, 2], [0, 1, 1]), FLOAT)
case("meshgrid", lambda x, y: paddle.meshgrid(x, y), "x:float32[n]", "y:float32[5]")
case("repeat_interleave", lambda x: (paddle.repeat_interleave(x, 2, 1), paddle.repeat_interleave(x, 3)), FLOAT)
case("repeat_interleave counts", lambda x, y: paddle.repeat_interleave(x, y, 1), FLOAT, "y:int64[3]")
case("channel_shuffle", lambda x: F.channel_shuffle(x, 2), IMAGE)
case("pixel_shuffle", lambda x: (F.pixel_shuffle(x, 2), F.pixel_unshuffle(x[:, :, :, :10], 2)), IMAGE)
case("temporal_shift", lambda x: F.temporal_shift(x, 2, 0.25), "x:float32[4,8,3,3]")
case("tril", lambda x: (paddle.tril(x), paddle.triu(x, 1), paddle.tril(x, -1)), FLOAT)
case(
    "diag",
    lambda x: (paddle.diag(x[0, 0]), paddle.diagonal(x, 0, 1, 2), paddle.diag_embed(x), paddle.diagonal(x, -1, 1, 2)),
    FLOAT,
)
case("trace", lambda x: paddle.trace(x, 0, 1, 2), FLOAT)
case("shape", lambda x: (paddle.shape(x), paddle.numel(x)), FLOAT)
case(
    "zeros like", lambda x: (paddle.zeros_like(x), paddle.ones_like(x, dtype="int64"), paddle.full_like(x, 2.5)), FLOAT
)
case("arange", lambda x: x + paddle.arange(0, 4, 1, dtype="float32") + paddle.linspace(0, 1, 4), FLOAT)
case("eye", lambda x: x @ paddle.eye(4, 5), FLOAT)
case("unfold", lambda x: (F.unfold(x, 3), F.unfold(x, [2, 3], [1, 2], [1, 0], [2, 1])), IMAGE)
case("pad", lambda x: (F.pad(x, [1, 2]), F.pad(x, [1, 2], value=1.5)), FLOAT)
case("pad image", lambda x: [F.pad(x, [1, 2, 3, 1], mode=m) for m in ("constant", "reflect", "replicate")], IMAGE)
case("pad circular", lambda x: F.pad(x, [1, 2, 3, 1], mode="circular"), IMAGE)
case("pad NHWC", lambda x: F.pad(x, [1, 2, 3, 1], data_format="NHWC"), IMAGE)
case("pad all", lambda x: F.pad(x, [0, 1, 1, 0, 2, 1]), FLOAT)
# --- indices ----------------------------------------------------------------------------------------------------------
case(
    "gather",
    lambda x, y: (paddle.gather(x, y, 1), paddle.index_select(x, y, 2), x[:, y]),
    FLOAT,
    "y:int64[2]",
    samples=[None, ("int", 3)],
)
case(
    "gather_nd", lambda x, y: paddle.gather_nd(x, y), "x:float32[3,4,5]", "y:int64[batch,2]", samples=[None, ("int", 3)]
)
case(
    "index_sample",
    lambda x, y: paddle.index_sample(x, y),
    "x:float32[batch,5]",
    "y:int64[batch,3]",
    samples=[None, ("int", 5)],
)
case(
    "take_along_axis",
    lambda x, y: paddle.take_along_axis(x, y, 1),
    "x:float32[batch,5]",
    "y:int64[batch,3]",
    samples=[None, ("int", 5)],
)
case(
    "put_along_axis",
    lambda x, y: paddle.put_along_axis(x, y, 1.5, 1),
    "x:float32[batch,5]",
    "y:int64[batch,1]",
    samples=[None, ("int", 5)],
)
case(
    "put_along_axis add",
    lambda x, y: paddle.put_along_axis(x, y, x[:, :3], 1, "add"),
    "x:float32[batch,5]",
    "y:int64[batch,3]",
    samples=[None, ("int", 5)],
    opsets=(16, 25),
)
case(
    "scatter", lambda x, y: paddle.scatter(x, y, x[:2] * 3), "x:float32[4,5]", "y:int64[2]", samples=[None, ("perm", 4)]
)
case(
    "scatter add",
    lambda x, y: paddle.scatter(x, y, x[:2] * 3, overwrite=False),
    "x:float32[4,5]",
    "y:int64[2]",
    samples=[None, ("int", 4)],
    opsets=(16, 25),
)
case(
    "scatter_nd_add",
    lambda x, y: paddle.scatter_nd_add(x, y, x[:2] * 3),
    "x:float32[4,5]",
    "y:int64[2,1]",
    samples=[None, ("int", 4)],
    opsets=(16, 25),
)
case(
    "index_add",
    lambda x, y: paddle.index_add(x, y, 1, x[:, :2]),
    "x:float32[batch,5]",
    "y:int64[2]",
    samples=[None, ("int", 5)],
    opsets=(16, 25),
)
case(
    "index_put",
    lambda x, y: paddle.index_put(x, (y,), x[:2]),
    "x:float32[4,5]",
    "y:int64[2]",
    samples=[None, ("perm", 4)],
)
case("masked_select", lambda x: paddle.masked_select(x, x > 0.1), FLOAT)
case("nonzero", lambda x: paddle.nonzero(x > 0.3), FLOAT)
case("one_hot", lambda x: F.one_hot(x, 9), "x:int64[batch,4]")
case("embedding", lambda e, x: e(x), "x:int64[batch,n]", e=lambda: nn.Embedding(10, 6))
case("embedding padding", lambda e, x: e(x), "x:int64[batch,n]", e=lambda: nn.Embedding(10, 6, padding_idx=2))
case(
    "multiplex",
    lambda x, y: paddle.multiplex([x, x * 2], y),
    "x:float32[4,5]",
    "y:int32[4,1]",
    samples=[None, ("int", 2)],
    opsets=(12, 25),
)
case("sequence_mask", lambda x: F.sequence_mask(x, 9), "x:int64[batch]")
case("set_value", lambda x: _assigned(x), FLOAT)
case("set_value tensor", lambda x: _assigned_tensor(x), FLOAT)
case("bool index", lambda x: x[x > 0.2], FLOAT)


def _assigned(x):
    y = x * 1.0
    y[:, 1] = 0.5
    y[:, ::2, 1:3] = 2.0
    return y


def _assigned_tensor(x):
    y = x * 1.0
    y[:, 1:, 0] = x[:, :2, 3]
    return y


# --- sorting ----------------------------------------------------------------------------------------------------------
case(
    "argmax",
    lambda x: (
        paddle.argmax(x, 1),
        paddle.argmax(x),
        paddle.argmin(x, -1, keepdim=True),
        paddle.argmax(x, 1, dtype="int32"),
    ),
    FLOAT,
)
case("topk", lambda x: [*paddle.topk(x, 2), *paddle.topk(x, 2, axis=1, largest=False)], FLOAT)
case(
    "sort",
    lambda x: (paddle.sort(x, 1), paddle.argsort(x, -1, descending=True), paddle.sort(x, descending=True)),
    FLOAT,
)
case("kthvalue", lambda x: paddle.kthvalue(x, 2, 1), FLOAT)
case(
    "median", lambda x: (paddle.median(x), paddle.median(x, 1), paddle.median(x, -1, keepdim=True)), "x:float32[2,3,4]"
)
case("mode", lambda x: paddle.mode(paddle.round(x * 2), -1), FLOAT)
case(
    "searchsorted",
    lambda x, y: (paddle.searchsorted(paddle.sort(x), y), paddle.searchsorted(paddle.sort(x), y, right=True)),
    "x:float32[6]",
    "y:float32[batch,4]",
)
case("bucketize", lambda x: paddle.bucketize(x, paddle.to_tensor([-0.5, 0.0, 0.7])), FLOAT)
case("unique", lambda x: paddle.unique(x), "x:int64[n]")
case("bincount", lambda x: paddle.bincount(x), "x:int64[n]")
case("histogram", lambda x: paddle.histogram(x, 5, -1.0, 1.5), FLOAT)
# --- matrices ---------------------------------------------------------------------------------------------------------
case(
    "matmul",
    lambda x, y: (
        x @ y.transpose([0, 2, 1]),
        paddle.matmul(x, y, transpose_y=True),
        paddle.matmul(x, y, transpose_x=True),
    ),
    *PAIR,
)
case("matmul vector", lambda x, y: paddle.matmul(x, y), FLOAT, "y:float32[4]")
case("bmm", lambda x, y: paddle.bmm(x, y.transpose([0, 2, 1])), *PAIR)
case("mv", lambda x, y: paddle.mv(x, y), "x:float32[batch,4]", "y:float32[4]")
case("dot", lambda x, y: paddle.dot(x, y), "x:float32[batch,4]", "y:float32[batch,4]")
case("einsum", lambda x, y: (paddle.einsum("bij,bkj->bik", x, y), paddle.einsum("bij->ji", x)), *PAIR, opsets=(12, 25))
case("bilinear", lambda w, x, y: w(x, y), "x:float32[batch,4]", "y:float32[batch,3]", w=lambda: nn.Bilinear(4, 3, 5))
case("kron", lambda x, y: paddle.kron(x, y), "x:float32[batch,2]", "y:float32[3,2]")
case("det", lambda x: paddle.linalg.det(x), "x:float32[batch,3,3]")
_SQUARE, _TALL = "x:float32[batch,4,4]", "x:float32[batch,5,3]"


def _definite(x):
    return paddle.matmul(x, x, transpose_y=True) + paddle.eye(4)


case("det double", lambda x: paddle.linalg.det(x.astype("float64")), _SQUARE)
case(
    "cholesky",
    lambda x: [
        v
        for up in (False, True)
        for factor in [paddle.linalg.cholesky(_definite(x), upper=up)]
        for v in (factor, paddle.linalg.cholesky_solve(x, factor, upper=up))
    ],
    _SQUARE,
)
case(
    "triangular_solve",
    lambda x: [
        paddle.linalg.triangular_solve(x + 3 * paddle.eye(4), x, upper=up, transpose=turn, unitriangular=up)
        for up in (True, False)
        for turn in (True, False)
    ],
    _SQUARE,
)
case("lu", lambda x: (*paddle.linalg.lu(x), *paddle.linalg.lu_unpack(*paddle.linalg.lu(x))), _SQUARE)
case("qr", lambda x: (*paddle.linalg.qr(x), *paddle.linalg.qr(x, "complete"), paddle.linalg.qr(x, "r")), _TALL)
case(
    "svd", lambda x: (paddle.linalg.svdvals(x), *[v.abs() for v in paddle.linalg.svd(x)], paddle.linalg.pinv(x)), _TALL
)
case(
    "eigh",
    lambda x: (paddle.linalg.eigvalsh(_definite(x)), *[v.abs() for v in paddle.linalg.eigh(_definite(x))],
               paddle.linalg.pinv(_definite(x), hermitian=True)),
    _SQUARE,
)  # fmt: skip
case("lstsq", lambda x: paddle.linalg.lstsq(x, x[:, :, :2])[0], "x:float32[2,5,3]")
case("inverse large", lambda x: paddle.inverse(0.1 * x + 3 * paddle.eye(20)), "x:float32[2,20,20]")
case("inverse", lambda x: paddle.inverse(x + 3 * paddle.eye(3)), "x:float32[batch,3,3]")
case("solve", lambda x, y: paddle.linalg.solve(x + 3 * paddle.eye(3), y), "x:float32[2,3,3]", "y:float32[2,3,2]")
case("linear", lambda w, x: w(x), FLOAT, w=lambda: nn.Linear(4, 5))
case("cross", lambda x, y: paddle.cross(x, y, axis=1), "x:float32[batch,3]", "y:float32[batch,3]")
case("fold", lambda x: F.fold(x, [4, 5], [2, 2]), "x:float32[2,8,12]", opsets=(18, 25))
case("matrix_power", lambda x: paddle.linalg.matrix_power(x, 3), "x:float32[2,3,3]")


# --- sizes that are known only when the model runs --------------------------------------------------------------------


def _reshape(x):
    return x.reshape([x.shape[0], x.shape[1] * x.shape[2]]), x.reshape([x.shape[0] * x.shape[1], -1])


def _slice(x, y):
    return x[:, : y.shape[1]], x[:, y.shape[1] :]


def _created(x):
    ones = paddle.ones([x.shape[0], x.shape[1]])
    return paddle.zeros([x.shape[0], 3]), paddle.full([x.shape[0]], 1.5), paddle.arange(x.shape[0]), ones * x.shape[1]


def _expanded(x):
    return paddle.expand(x[:1], [x.shape[0], 3, 4]), paddle.tile(x, [x.shape[0], 1, 1])


case("runtime reshape", _reshape, "x:float32[batch,n,4]")
case("runtime slice", _slice, "x:float32[batch,10]", "y:float32[batch,m]", samples=[(2, 10), (2, 3)])
case("runtime creation", _created, "x:float32[batch,n]")
case("runtime expand", _expanded, FLOAT)

# --- convolutions and pooling -----------------------------------------------------------------------------------------
for _name, _options in {
    "plain": {},
    "padded": {"padding": 1},
    "uneven": {"padding": [1, 2, 0, 1]},
    "strided": {"stride": 2, "padding": 1},
    "dilated": {"dilation": 2},
    "grouped": {"groups": 2},
    "same": {"padding": "SAME", "stride": 2},
    "valid": {"padding": "VALID"},
    "no bias": {"bias_attr": False},
}.items():
    layer(f"conv2d {_name}", lambda o=_options: nn.Conv2D(4, 6, 3, **o), IMAGE)
layer(
    "conv2d NHWC",
    lambda: nn.Sequential(nn.Conv2D(4, 6, 3, data_format="NHWC"), nn.ReLU(), nn.MaxPool2D(2, data_format="NHWC")),
    "x:float32[batch,8,9,4]",
)
layer("conv2d circular", lambda: nn.Conv2D(4, 6, 3, padding=1, padding_mode="circular"), IMAGE)
layer("conv2d open sizes", lambda: nn.Conv2D(4, 6, 3, stride=2, padding=1), "x:float32[batch,4,h,w]")
layer("conv1d", lambda: nn.Conv1D(4, 6, 3, padding=1), "x:float32[batch,4,9]")
layer("conv3d", lambda: nn.Conv3D(2, 4, 3, padding=1), "x:float32[batch,2,5,6,7]")
layer("depthwise", lambda: nn.Conv2D(4, 8, 3, groups=4), IMAGE)
for _name, _options in {
    "plain": {},
    "strided": {"stride": 2, "padding": 1},
    "output padding": {"stride": 2, "output_padding": 1},
    "grouped": {"groups": 2},
    "dilated": {"dilation": 2},
    "same": {"padding": "SAME", "stride": 2},
}.items():
    layer(f"conv2d_transpose {_name}", lambda o=_options: nn.Conv2DTranspose(4, 6, 3, **o), IMAGE)
case("conv2d_transpose size", lambda w, x: w(x, [21, 24]), IMAGE, w=lambda: nn.Conv2DTranspose(4, 6, 3, stride=2))
layer("conv1d_transpose", lambda: nn.Conv1DTranspose(4, 6, 3, stride=2), "x:float32[batch,4,9]")
layer("conv3d_transpose", lambda: nn.Conv3DTranspose(2, 4, 3, stride=2), "x:float32[batch,2,4,5,6]")
case(
    "deform_conv",
    lambda w, o, x: w(x, o(x)),
    IMAGE,
    w=lambda: paddle.vision.ops.DeformConv2D(4, 6, 3, padding=1),
    o=lambda: nn.Conv2D(4, 18, 3, padding=1),
    opsets=(19, 25),
)
for _name, _options in {
    "plain": {},
    "strided": {"stride": 1},
    "padded": {"padding": 1},
    "ceil": {"ceil_mode": True},
    "padded ceil": {"padding": 1, "ceil_mode": True, "stride": 2},
}.items():
    layer(f"max_pool {_name}", lambda o=_options: nn.MaxPool2D(3, **o), IMAGE)
    layer(f"avg_pool {_name}", lambda o=_options: nn.AvgPool2D(3, **o), IMAGE)
layer("avg_pool inclusive", lambda: nn.AvgPool2D(3, padding=1, exclusive=False), IMAGE)
layer("max_pool1d", lambda: nn.MaxPool1D(2), "x:float32[batch,4,9]")
layer("avg_pool3d", lambda: nn.AvgPool3D(2), "x:float32[batch,2,5,6,7]")
for _size in (1, (5, 11), (3, 4), (2, 1)):
    layer(f"adaptive_avg {_size}", lambda s=_size: nn.AdaptiveAvgPool2D(s), IMAGE)
    layer(f"adaptive_max {_size}", lambda s=_size: nn.AdaptiveMaxPool2D(s), IMAGE)
layer("adaptive_avg open", lambda: nn.AdaptiveAvgPool2D(1), "x:float32[batch,4,h,w]")
layer("adaptive_avg1d", lambda: nn.AdaptiveAvgPool1D(3), "x:float32[batch,4,9]")
layer("adaptive_avg3d", lambda: nn.AdaptiveAvgPool3D(2), "x:float32[batch,2,5,6,7]")
layer("max_pool indices", lambda: nn.MaxPool2D(2, return_mask=True), IMAGE)
case("unpool", lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_mask=True), 2), "x:float32[2,4,8,10]")
case("lp_pool", lambda x: (F.lp_pool2d(x, 2, 2), F.lp_pool2d(paddle.abs(x), 3, 3)), IMAGE)

# --- normalisation ----------------------------------------------------------------------------------------------------
layer("batch_norm", lambda: nn.BatchNorm2D(4), IMAGE)
layer("batch_norm NHWC", lambda: nn.BatchNorm2D(4, data_format="NHWC"), "x:float32[batch,5,6,4]")
layer("batch_norm1d", lambda: nn.BatchNorm1D(4), "x:float32[batch,4]")
layer("batch_norm3d", lambda: nn.BatchNorm3D(2), "x:float32[batch,2,3,4,5]")
layer("layer_norm", lambda: nn.LayerNorm(4), FLOAT)
layer("layer_norm 2 axes", lambda: nn.LayerNorm([3, 4]), FLOAT)
layer("layer_norm plain", lambda: nn.LayerNorm(4, weight_attr=False, bias_attr=False), FLOAT)
layer("group_norm", lambda: nn.GroupNorm(2, 4), IMAGE)
layer("group_norm eps", lambda: nn.GroupNorm(2, 4, epsilon=0.1), IMAGE)
layer("instance_norm", lambda: nn.InstanceNorm2D(4), IMAGE)
layer("local_response_norm", lambda: nn.LocalResponseNorm(3), IMAGE)
layer(
    "spectral-free linear", lambda: nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 2)), FLOAT
)

# --- sampling ---------------------------------------------------------------------------------------------------------
for _mode in ("nearest", "bilinear", "bicubic"):
    case(f"interpolate {_mode}", lambda x, m=_mode: F.interpolate(x, size=[7, 20], mode=m), IMAGE)
    case(f"interpolate {_mode} scale", lambda x, m=_mode: F.interpolate(x, scale_factor=1.7, mode=m), IMAGE)
    case(f"interpolate {_mode} scales", lambda x, m=_mode: F.interpolate(x, scale_factor=[2.0, 0.5], mode=m), IMAGE)
for _mode in ("bilinear", "bicubic"):
    case(
        f"interpolate {_mode} corners",
        lambda x, m=_mode: F.interpolate(x, size=[7, 20], mode=m, align_corners=True),
        IMAGE,
    )
case("interpolate align_mode", lambda x: F.interpolate(x, size=[7, 20], mode="bilinear", align_mode=1), IMAGE)
case(
    "interpolate linear", lambda x: F.interpolate(x, size=[7], mode="linear", data_format="NCW"), "x:float32[batch,4,9]"
)
case(
    "interpolate trilinear",
    lambda x: F.interpolate(x, size=[7, 3, 4], mode="trilinear", data_format="NCDHW"),
    "x:float32[batch,2,5,6,7]",
)
case("interpolate area", lambda x: F.interpolate(x, size=[5, 3], mode="area"), IMAGE)
case(
    "interpolate NHWC",
    lambda x: F.interpolate(x, size=[7, 9], mode="bilinear", data_format="NHWC"),
    "x:float32[batch,5,6,4]",
)
case("interpolate open", lambda x: F.interpolate(x, scale_factor=2, mode="nearest"), "x:float32[batch,4,h,w]")
for _mode in ("bilinear", "nearest"):
    for _pad in ("zeros", "border", "reflection"):
        case(
            f"grid_sample {_mode} {_pad}",
            lambda x, y, m=_mode, p=_pad: F.grid_sample(x, y, mode=m, padding_mode=p, align_corners=m == "bilinear"),
            "x:float32[batch,4,5,6]",
            "y:float32[batch,3,4,2]",
            opsets=(16, 25),
        )
case("affine_grid", lambda x: F.affine_grid(x, [2, 3, 4, 5]), "x:float32[2,2,3]")

# --- recurrent layers -------------------------------------------------------------------------------------------------
SEQUENCE = "x:float32[batch,steps,5]"
for _name in ("LSTM", "GRU", "SimpleRNN"):
    _cls = getattr(nn, _name)
    layer(_name, lambda c=_cls: c(5, 4), SEQUENCE)
    layer(f"{_name} deep", lambda c=_cls: c(5, 4, 2, "bidirect"), SEQUENCE)
    layer(f"{_name} time major", lambda c=_cls: c(5, 4, time_major=True), "x:float32[steps,batch,5]")
layer("SimpleRNN relu", lambda: nn.SimpleRNN(5, 4, activation="relu"), SEQUENCE)
case(
    "LSTM lengths",
    lambda w, x, y: w(x, sequence_length=y),
    "x:float32[batch,7,5]",
    "y:int64[batch]",
    w=lambda: nn.LSTM(5, 4),
    samples=[None, ("int", 7)],
)
case(
    "GRU lengths",
    lambda w, x, y: w(x, sequence_length=y),
    "x:float32[batch,7,5]",
    "y:int64[batch]",
    w=lambda: nn.GRU(5, 4, direction="bidirect"),
    samples=[None, ("int", 7)],
)
case("LSTM cell", lambda w, x: w(x), "x:float32[batch,5]", w=lambda: nn.LSTMCell(5, 4))
case("GRU cell", lambda w, x: w(x), "x:float32[batch,5]", w=lambda: nn.GRUCell(5, 4))

# --- attention --------------------------------------------------------------------------------------------------------
layer("MultiHeadAttention", lambda: nn.MultiHeadAttention(8, 2), "x:float32[batch,steps,8]")
layer(
    "TransformerEncoder",
    lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2),
    "x:float32[batch,steps,8]",
)
layer(
    "TransformerEncoder gelu",
    lambda: nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", normalize_before=True),
    "x:float32[batch,steps,8]",
)
case(
    "Transformer",
    lambda w, x, y: w(x, y),
    "x:float32[batch,n,8]",
    "y:float32[batch,m,8]",
    w=lambda: nn.Transformer(8, 2, 1, 1, 16),
)
case("attention", lambda x: F.scaled_dot_product_attention(x, x, x), "x:float32[batch,6,2,4]")

# --- detection --------------------------------------------------------------------------------------------------------
V = paddle.vision.ops


def _boxes(x):
    corner = paddle.abs(x[:, :2])
    return paddle.concat([corner, corner + 1 + paddle.abs(x[:, 2:])], 1)


for _aligned in (True, False):
    case(
        f"roi_align {_aligned}",
        on(_aligned, lambda a, x, y: V.roi_align(x, _boxes(y) * 2, paddle.to_tensor([2, 3], "int32"), 3, 0.5, 2, a)),
        "x:float32[2,4,10,11]", "y:float32[5,4]", opsets=(16, 21),
    )  # fmt: skip
case("yolo_box", lambda x: V.yolo_box(x, paddle.to_tensor([[64, 96], [80, 64]], "int32"), [10, 13, 16, 30], 3, 0.3, 8),
     "x:float32[2,16,4,5]")  # fmt: skip
case("yolo_box iou", lambda x: V.yolo_box(x, paddle.to_tensor([[64, 96]], "int32"), [10, 13, 16, 30], 3, 0.3, 8, False,
     scale_x_y=1.2, iou_aware=True), "x:float32[1,18,4,5]")  # fmt: skip
case("nms", lambda x: V.nms(_boxes(x), 0.3), "x:float32[6,4]")
case("box_coder", lambda x, y: V.box_coder(_boxes(x), [0.1, 0.1, 0.2, 0.2], y, "decode_center_size"),
     "x:float32[5,4]", "y:float32[batch,5,4]")  # fmt: skip
case("prior_box", lambda x: V.prior_box(x, paddle.zeros([1, 3, 40, 50]), [4.0, 8.0], [6.0, 12.0], [2.0], clip=True,
     flip=True)[0], "x:float32[1,4,5,6]")  # fmt: skip

# --- control flow -----------------------------------------------------------------------------------------------------


class Branches(nn.Layer):
    """Branches that use weights and inputs from outside, one inside another."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x):
        if x.sum() > 0:
            y = self.a(x)
            if x.max() > 1.5:
                y = y * 2
        else:
            y = self.b(x) + x.mean()
        return y + 1


class Loop(nn.Layer):
    """A loop that carries tensors and uses a weight from outside."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        count = paddle.zeros([], "int64")
        y = x
        while count < 4:
            y = paddle.tanh(self.a(y)) + x
            count = count + 1
        return y, count


class DataLoop(nn.Layer):
    """A loop whose length depends on the data, with a branch inside."""

    def forward(self, x):
        y = x
        while y.abs().max() < 50:
            if y.sum() > 0:
                y = y * 2
            else:
                y = y * 3 - 1
        return y


class SizeLoop(nn.Layer):
    """A loop over an open size."""

    def forward(self, x):
        total = paddle.zeros([4])
        for i in range(x.shape[0]):
            total = total + x[i] * (i + 1)
        return total


class Writes(nn.Layer):
    """Elements set in a branch and in a loop."""

    def forward(self, x):
        y = x * 1.0
        if x.sum() > 0:
            y[:, 0] = 3.0
        place = paddle.zeros([], "int64")
        while place < 2:
            y[:, place] = 0.5
            place = place + 1
        return y


class Early(nn.Layer):
    """Returns from inside a branch."""

    def forward(self, x):
        if x.sum() > 1:
            return x + 1
        return x - 1


def _cond(x):
    return paddle.static.nn.cond(x.sum() > 0, lambda: x * 2, lambda: x - 1)


layer("if", Branches, "x:float32[batch,4]")
layer("while", Loop, "x:float32[batch,4]")
layer("while on data", DataLoop, "x:float32[batch,4]")
layer("writes in bodies", Writes, "x:float32[batch,4]")
layer("early return", Early, "x:float32[batch,4]")
layer("for over a size", SizeLoop, "x:float32[batch,4]")
case("cond", _cond, FLOAT)

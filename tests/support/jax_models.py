"""Small networks of flax, equinox and plain JAX, with random weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

Model = tuple[Callable[..., Any], tuple[str, ...]]


class Cnn(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.avg_pool(nn.relu(nn.Conv(8, (3, 3))(x)), (2, 2), (2, 2))
        x = nn.max_pool(nn.relu(nn.Conv(16, (3, 3))(x)), (2, 2), (2, 2))
        x = nn.relu(nn.Dense(32)(x.reshape((x.shape[0], -1))))
        return nn.log_softmax(nn.Dense(10)(x))


class Block(nn.Module):
    features: int
    stride: int = 1

    @nn.compact
    def __call__(self, x):
        def norm(y):
            return nn.BatchNorm(use_running_average=True)(y)

        rest = x
        y = nn.relu(norm(nn.Conv(self.features, (3, 3), (self.stride,) * 2, use_bias=False)(x)))
        y = norm(nn.Conv(self.features, (3, 3), use_bias=False)(y))
        if rest.shape != y.shape:
            rest = norm(nn.Conv(self.features, (1, 1), (self.stride,) * 2, use_bias=False)(rest))
        return nn.relu(rest + y)


class ResNet18(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(16, (7, 7), (2, 2), [(3, 3), (3, 3)], use_bias=False)(x)
        x = nn.max_pool(nn.relu(nn.BatchNorm(use_running_average=True)(x)), (3, 3), (2, 2), "SAME")
        for features, stride in [(16, 1), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1)]:
            x = Block(features, stride)(x)
        return nn.Dense(10)(x.mean((1, 2)))


class Transformer(nn.Module):
    @nn.compact
    def __call__(self, ids, mask):
        x = nn.Embed(50, 16)(ids) + nn.Embed(32, 16)(jnp.arange(ids.shape[1]))
        for _ in range(2):
            y = nn.LayerNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(num_heads=4)(y, y, mask=mask[:, None, None, :])
            x = x + nn.Dense(16)(nn.gelu(nn.Dense(32)(nn.LayerNorm()(x))))
        return x


class Recurrent(nn.Module):
    cell: type
    both: bool = False

    @nn.compact
    def __call__(self, x):
        if self.both:
            return nn.Bidirectional(nn.RNN(self.cell(8)), nn.RNN(self.cell(8)))(x)
        return nn.RNN(self.cell(8))(x)


class UNet(nn.Module):
    @nn.compact
    def __call__(self, x):
        a = nn.relu(nn.Conv(8, (3, 3))(x))
        b = nn.relu(nn.GroupNorm(4)(nn.Conv(16, (3, 3))(nn.max_pool(a, (2, 2), (2, 2)))))
        up = nn.ConvTranspose(8, (2, 2), (2, 2))(b)
        return nn.sigmoid(nn.Conv(1, (1, 1))(jnp.concatenate([a, up], -1)))


class Nnx(nnx.Module):
    def __init__(self, rngs):
        self.hidden, self.norm = nnx.Linear(4, 8, rngs=rngs), nnx.BatchNorm(8, rngs=rngs)
        self.drop, self.head = nnx.Dropout(0.5, rngs=rngs), nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x):
        return self.head(self.drop(nnx.relu(self.norm(self.hidden(x)))))


def _linen(model: nn.Module, *examples: Any) -> Callable[..., Any]:
    variables = jax.jit(model.init)(jax.random.key(0), *examples)
    # normalisation with statistics that do something
    variables = jax.tree.map(lambda v: v + 0.1 * jnp.cos(jnp.arange(v.size)).reshape(v.shape), variables)
    return lambda *inputs: model.apply(variables, *inputs)


def _recurrent(cell: type, both: bool = False) -> Callable[..., Any]:
    return _linen(Recurrent(cell, both), jnp.zeros((1, 5, 4)))


def _nnx() -> Callable[..., Any]:
    model = Nnx(nnx.Rngs(0))
    model.eval()
    return model


def gpt(params: Any, ids: Any) -> Any:
    """A decoder, its weights in a dict."""
    x, length = params["embedding"][ids], ids.shape[1]
    for layer in params["layers"]:
        q, k, v = (x @ layer[n] for n in "qkv")
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), q @ k.swapaxes(-1, -2) / 4, -jnp.inf)
        x = x + jax.nn.softmax(scores) @ v
        x = x + jax.nn.silu(x @ layer["up"]) @ layer["down"]
    return {"logits": x @ params["embedding"].T, "last": x[:, -1]}


def gpt_params() -> Any:
    r = np.random.default_rng(0)

    def weight(*shape: int) -> Any:
        return jnp.asarray(r.standard_normal(shape) * 0.2, jnp.float32)

    layers = [{**{n: weight(16, 16) for n in "qkv"}, "up": weight(16, 32), "down": weight(32, 16)} for _ in range(2)]
    return {"embedding": weight(40, 16), "layers": layers}


def _gpt() -> Callable[..., Any]:
    params = gpt_params()
    return lambda ids: gpt(params, ids)


_IDS, _MASK = jnp.zeros((1, 5), jnp.int32), jnp.ones((1, 5), bool)
#: Model -> how it is made, and the specs of its inputs.
MODELS: dict[str, tuple[Callable[[], Callable[..., Any]], tuple[str, ...]]] = {
    "cnn": (lambda: _linen(Cnn(), jnp.zeros((1, 8, 8, 1))), ("x:float32[batch,8,8,1]",)),
    "resnet18": (lambda: _linen(ResNet18(), jnp.zeros((1, 32, 32, 3))), ("x:float32[batch,32,32,3]",)),
    "unet": (lambda: _linen(UNet(), jnp.zeros((1, 8, 8, 3))), ("x:float32[batch,8,8,3]",)),
    "transformer": (lambda: _linen(Transformer(), _IDS, _MASK), ("ids:int32[batch,seq]", "mask:bool[batch,seq]")),
    "lstm": (lambda: _recurrent(nn.OptimizedLSTMCell), ("x:float32[batch,5,4]",)),
    "gru": (lambda: _recurrent(nn.GRUCell), ("x:float32[batch,5,4]",)),
    "bidirectional gru": (lambda: _recurrent(nn.GRUCell, True), ("x:float32[batch,5,4]",)),
    "equinox mlp": (lambda: jax.vmap(eqx.nn.MLP(4, 3, 16, 2, key=jax.random.key(0))), ("x:float32[batch,4]",)),
    "nnx": (_nnx, ("x:float32[batch,4]",)),
    "gpt": (_gpt, ("ids:int32[batch,seq]",)),
}

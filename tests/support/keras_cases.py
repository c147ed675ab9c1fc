"""Small Keras models, one row each: what is tested of the layers, as functions that build them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def filled(model: Any) -> Any:
    """The model with weights that aren't the initial zeros and ones."""
    draw = np.random.default_rng(0)
    weights = []
    for array in model.get_weights():
        if array.dtype.kind == "f" and array.ndim < 3:
            array = np.asarray(draw.standard_normal(array.shape) * 0.3 + 0.1, array.dtype)
        weights.append(array)
    for layer in getattr(model, "_flatten_layers", list)():
        if hasattr(layer, "moving_variance"):
            layer.moving_variance.assign(draw.uniform(0.5, 1.5, layer.moving_variance.shape))
    variances = [w.name == "moving_variance" for w in model.weights]
    model.set_weights([np.abs(a) + 0.2 if v else a for a, v in zip(weights, variances, strict=True)])
    return model


def make(shape: tuple[int | None, ...], function: Callable[[Any], Any], dtype: str = "float32") -> Callable[[], Any]:
    """A case: a Functional model of one input."""

    def build() -> Any:
        import keras

        given = keras.Input(shape, dtype=dtype, name="ids" if dtype == "int32" else "x")
        return filled(keras.Model(given, function(given)))

    return build


IMAGE, FIXED, STEPS, IDS = (None, None, 4), (6, 5, 4), (None, 5), (None,)
# no axis as long as another: Keras on TensorFlow adds a bias along the wrong one where channels and width are equal
FIRST = (4, 12, 11)


def layer(name: str, *args: Any, **options: Any) -> Any:
    """A layer by its class name."""
    import keras

    return getattr(keras.layers, name)(*args, **options)


def apply(*steps: tuple[Any, ...]) -> Callable[[Any], Any]:
    """Layers one after the other: (class, positional options ..., {named options})."""

    def function(x: Any) -> Any:
        for name, *options in steps:
            named = options.pop() if options and isinstance(options[-1], dict) else {}
            x = layer(name, *options, **named)(x)
        return x

    return function


def each(*steps: tuple[Any, ...]) -> Callable[[Any], Any]:
    """Layers beside each other on the same input: several outputs."""
    return lambda x: [apply(step)(x) for step in steps]


def _windows() -> dict[str, Callable[[], Any]]:
    found = {}
    for padding in ("same", "valid"):
        for stride in (1, 2, 3):
            how = {"strides": stride, "padding": padding}
            found[f"windows_{padding}_{stride}"] = make(
                IMAGE,
                each(
                    ("Conv2D", 6, 3, how), ("Conv2D", 6, (4, 2), how), ("Conv2DTranspose", 6, 3, how),
                    ("Conv2DTranspose", 6, (4, 2), how), ("MaxPooling2D", 3, how), ("AveragePooling2D", (2, 3), how),
                    ("DepthwiseConv2D", 3, {**how, "depth_multiplier": 2}),
                    ("SeparableConv2D", 6, 3, {**how, "depth_multiplier": 2}),
                ),
            )  # fmt: skip
        found[f"dilated_{padding}"] = make(
            IMAGE,
            each(
                ("Conv2D", 6, 3, {"dilation_rate": (2, 3), "padding": padding}),
                ("Conv2DTranspose", 6, 3, {"dilation_rate": 2, "padding": padding}),
                ("Conv2DTranspose", 6, 3, {"strides": 2, "padding": padding, "output_padding": 1}),
                ("Conv2DTranspose", 6, 4, {"strides": 3, "padding": padding, "output_padding": 2}),
            ),
        )
        first = {"data_format": "channels_first"}
        found[f"channels_first_{padding}"] = make(
            FIRST,
            apply(
                ("Conv2D", 6, 3, {"padding": padding, "activation": "relu", **first}), ("BatchNormalization", 1),
                ("DepthwiseConv2D", 3, {"padding": padding, **first}), ("GroupNormalization", 2, 1),
                ("MaxPooling2D", 2, {"padding": padding, **first}), ("GlobalAveragePooling2D", first),
            ),
        )  # fmt: skip
    return found


_ACTIVATIONS = (
    "relu", "relu6", "softmax", "log_softmax", "elu", "selu", "softplus", "softsign", "tanh", "sigmoid",
    "exponential", "gelu", "silu", "hard_sigmoid", "hard_silu", "mish", "linear", "leaky_relu", "celu", "hard_tanh",
    "tanh_shrink", "soft_shrink", "hard_shrink", "squareplus", "sparse_plus", "sparse_sigmoid", "log_sigmoid",
)  # fmt: skip

LAYERS: dict[str, Callable[[], Any]] = {
    **_windows(),
    "dense": make((5,), apply(("Dense", 4, "relu"), ("Dense", 3, {"use_bias": False}))),
    "dense_steps": make(STEPS, apply(("Dense", 4, "tanh"), ("Dense", 3))),
    "groups": make(IMAGE, apply(("Conv2D", 6, 3, {"groups": 2}))),
    "one_axis": make(
        STEPS,
        each(
            ("Conv1D", 6, 3, {"padding": "causal", "dilation_rate": 2}),
            ("SeparableConv1D", 6, 3),
            ("DepthwiseConv1D", 3),
            ("Conv1DTranspose", 6, 4, {"strides": 2, "padding": "same"}),
            ("MaxPooling1D", 3),
            ("AveragePooling1D", 2, {"padding": "same"}),
            ("GlobalMaxPooling1D",),
            ("UpSampling1D", 3),
            ("GlobalAveragePooling1D", {"keepdims": True}),
            ("ZeroPadding1D", (1, 2)),
            ("Cropping1D", (1, 2)),
        ),
    ),
    "three_axes": make(
        (5, 6, 7, 2),
        each(
            ("Conv3D", 3, 2, {"padding": "same", "strides": (1, 2, 1)}),
            ("AveragePooling3D", 2),
            ("UpSampling3D", 2),
            ("Conv3DTranspose", 3, 3, {"strides": 2, "padding": "same"}),
            ("GlobalMaxPooling3D",),
        ),
    ),
    "global": make(IMAGE, each(("GlobalAveragePooling2D", {"keepdims": True}), ("GlobalMaxPooling2D",))),
    "shapes": make(
        FIXED,
        each(
            ("Flatten",),
            ("Reshape", (-1, 8)),
            ("Reshape", (5, 24)),
            ("Permute", (3, 1, 2)),
            ("Flatten", {"data_format": "channels_first"}),
        ),
    ),
    "flatten_after_conv": make(FIXED, apply(("Conv2D", 3, 2), ("Flatten",), ("Dense", 3))),
    "borders": make(IMAGE, apply(("Cropping2D", ((1, 0), (2, 1))), ("ZeroPadding2D", ((1, 2), (0, 3))))),
    "padding_into_conv": make(IMAGE, apply(("Conv2D", 3, 3), ("ZeroPadding2D", 1), ("Conv2D", 3, 3))),
    "up_sampling": make(
        (7, 9, 3),
        each(
            ("UpSampling2D", 2),
            ("UpSampling2D", (2, 4), {"interpolation": "bilinear"}),
            ("UpSampling2D", 2, {"interpolation": "bicubic"}),
            ("Resizing", 14, 27, {"interpolation": "nearest"}),
            ("CenterCrop", 4, 5),
        ),
    ),
    "repeat": make((5,), apply(("RepeatVector", 3))),
    "batch_norm": make(
        STEPS, apply(("BatchNormalization",), ("BatchNormalization", {"scale": False, "center": False}))
    ),
    "batch_norm_axis": make(FIXED, apply(("BatchNormalization", 2))),
    "layer_norm": make(IMAGE, each(("LayerNormalization",), ("LayerNormalization", {"scale": False, "center": False}))),
    "layer_norm_axes": make(FIXED, each(("LayerNormalization", (1, 2, 3)), ("LayerNormalization", 1))),
    "group_norm": make(IMAGE, apply(("GroupNormalization", -1), ("GroupNormalization", 2))),
    "other_norms": make(STEPS, each(("RMSNormalization",), ("UnitNormalization",))),
    "activations": make((3, 4, 4), each(*(("Conv2D", 4, 1, {"activation": a}) for a in _ACTIVATIONS))),
    "activation_layers": make(
        (3, 4, 4),
        each(
            ("ReLU", 6.0, 0.1, 0.2),
            ("ReLU", 1.0),
            ("ReLU", {"threshold": 0.3}),
            ("LeakyReLU", 0.2),
            ("ELU", 0.5),
            ("PReLU", {"shared_axes": [1, 2]}),
            ("Softmax", 1),
            ("Softmax", (1, 2)),
            ("Activation", "swish"),
        ),
    ),
    "glu": make(STEPS, apply(("Dense", 6, "glu"))),
    "einsum": make(
        STEPS, each(("EinsumDense", "abc,cd->abd", (None, 6), {"bias_axes": "d"}), ("EinsumDense", "...x,xy->...y", 6))
    ),
    "preprocessing": make(
        (8, 8, 4),
        each(
            ("Rescaling", 1 / 127.5, -1.0),
            ("Normalization", {"mean": [1.0, 2.0, 3.0, 4.0], "variance": [1.0] * 4}),
            ("RandomFlip",),
            ("GaussianNoise", 0.1),
            ("SpatialDropout2D", 0.2),
            ("Dropout", 0.5),
        ),
    ),
    "merge": make(
        STEPS,
        lambda x: [
            layer(n)([layer("Dense", 4)(x), layer("Dense", 4)(x)])
            for n in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate")
        ],
    ),
    "dot": make(STEPS, lambda x: [layer("Dot", (2, 2))([x, x]), layer("Dot", (1, 1), normalize=True)([x, x])]),
}


def embedded(ids: Any) -> Any:
    """Ids through an embedding that masks id 0."""
    return layer("Embedding", 8, 5, mask_zero=True)(ids)


def both(cell: str, units: int, mode: str | None = "concat", **options: Any) -> Any:
    """A Bidirectional layer."""
    return layer("Bidirectional", layer(cell, units, **options), merge_mode=mode)


SEQUENCES: dict[str, Callable[[], Any]] = {
    "lstm": make(STEPS, apply(("LSTM", 6, {"return_sequences": True}), ("LSTM", 4))),
    "gru": make(STEPS, apply(("GRU", 6, {"return_sequences": True}), ("GRU", 4))),
    "gru_reset_before": make(
        STEPS, apply(("GRU", 6, {"return_sequences": True, "reset_after": False, "use_bias": False}),
                     ("GRU", 4, {"reset_after": False}))
    ),
    "simple_rnn": make(
        STEPS, apply(("SimpleRNN", 6, {"return_sequences": True, "activation": "relu"}), ("SimpleRNN", 4))
    ),
    "activations": make(
        STEPS,
        each(("LSTM", 4, {"activation": "softsign", "recurrent_activation": "hard_sigmoid", "return_state": True}),
             ("LSTM", 4, {"activation": "linear", "recurrent_activation": "hard_sigmoid"})),
    ),
    "backwards": make(STEPS, apply(("LSTM", 4, {"go_backwards": True, "return_sequences": True}))),
    "bidirectional": make(STEPS, lambda x: both("GRU", 3)(both("LSTM", 4, return_sequences=True)(x))),
    "merge_modes": make(
        STEPS, lambda x: [both("LSTM", 4, m, return_sequences=True)(x) for m in ("sum", "ave", "mul", None)]
    ),
    "states": make(STEPS, lambda x: both("LSTM", 4, return_sequences=True, return_state=True)(x)),
    "unlike_directions": make(
        STEPS,
        lambda x: layer(
            "Bidirectional", layer("LSTM", 4, return_sequences=True),
            backward_layer=layer("GRU", 3, return_sequences=True, go_backwards=True),
        )(x),
    ),
    "cells": make(STEPS, lambda x: layer("RNN", layer("LSTMCell", 4))(
        layer("RNN", layer("GRUCell", 4), return_sequences=True)(x))),
    "masked": make(
        IDS,
        lambda i: [layer("LSTM", 4)(embedded(i)), layer("GRU", 3)(layer("GRU", 4, return_sequences=True)(embedded(i)))],
        "int32",
    ),
    "masked_backwards": make(
        IDS,
        lambda i: [layer("LSTM", 4, return_sequences=s, go_backwards=True)(embedded(i)) for s in (True, False)],
        "int32",
    ),
    "masked_zero": make(
        IDS,
        lambda i: [
            layer("LSTM", 4, return_sequences=s, go_backwards=b, zero_output_for_mask=True)(embedded(i))
            for s, b in ((True, False), (False, False), (False, True))
        ],
        "int32",
    ),
    "masked_bidirectional": make(
        IDS, lambda i: both("LSTM", 4)(both("LSTM", 4, return_sequences=True)(embedded(i))), "int32"
    ),
    "masked_pooling": make(
        IDS,
        lambda i: layer("GlobalAveragePooling1D")(layer("Dropout", 0.2)(layer("Dense", 3)(embedded(i)))),
        "int32",
    ),
    "time_distributed": make((3, 8, 8, 2), lambda x: layer("LSTM", 3)(
        layer("TimeDistributed", layer("Flatten"))(layer("TimeDistributed", layer("Conv2D", 3, 3, strides=2))(x)))),
    "attention": make(STEPS, lambda x: layer("MultiHeadAttention", 2, 4)(x, x)),
    "attention_options": make(
        STEPS,
        lambda x: [
            layer("MultiHeadAttention", 2, 4, value_dim=3, use_bias=False, output_shape=7, dropout=0.1)(
                x, layer("Dense", 6)(x), use_causal_mask=True
            ),
            layer("MultiHeadAttention", 2, 4)(x, x, return_attention_scores=True)[1],
            layer("MultiHeadAttention", 2, 4, use_gate=True, sliding_window=3)(x, x),
            layer("GroupQueryAttention", 4, 4, 2)(x, x, use_causal_mask=True),
        ],
    ),
    "attention_masked": make(
        IDS, lambda i: layer("LSTM", 4)(layer("MultiHeadAttention", 2, 4)(*[embedded(i)] * 2)), "int32"
    ),
    "dot_attention": make(
        STEPS,
        lambda x: [
            layer("Attention", use_scale=True)([x, x]), layer("Attention", score_mode="concat")([x, x, x]),
            layer("AdditiveAttention")([x, x]),
        ],
    ),
    "dot_attention_masked": make(
        IDS, lambda i: layer("Attention")([embedded(i), embedded(i)], use_causal_mask=True), "int32"
    ),
}  # fmt: skip


def _operations(x: Any) -> list[Any]:
    from keras import ops

    return [
        ops.mean(x, axis=1), ops.sum(ops.square(x), axis=-1, keepdims=True), ops.sqrt(ops.abs(x) + 1.0), x[:, 0],
        x[:, -1:, ::2], x[..., None], ops.expand_dims(x, 1), ops.concatenate([x, -x], axis=-1), ops.stack([x, x], 1),
        ops.softmax(x), ops.relu(x), ops.gelu(x), ops.clip(x, -0.5, 0.5), ops.where(x > 0, x, 0.0), x / 2, 2 - x, x**2,
        ops.matmul(x, ops.transpose(x, (0, 2, 1))), ops.max(x, axis=1), ops.argmax(x, -1), ops.maximum(x, 0.0),
        ops.split(layer("Dense", 6)(x), 3, -1)[1], ops.var(x, axis=-1), ops.logsumexp(x, axis=-1),
        ops.take(x, [0, 2], axis=2), ops.repeat(x, 2, axis=1), ops.pad(x, ((0, 0), (1, 1), (0, 0))), ops.zeros_like(x),
        ops.any(x > 1, axis=1), ops.cast(x > 0, "int32") + 1, ops.reshape(x, (-1, 5)), ops.einsum("abc,abd->acd", x, x),
    ]  # fmt: skip


LAYERS["operations"] = make(STEPS, _operations)


# --- models ----------------------------------------------------------------------------------------------------------


def _transformer() -> Any:
    def function(ids: Any) -> Any:
        x = layer("Embedding", 8, 16, mask_zero=True)(ids)
        for _ in range(2):
            attended = layer("MultiHeadAttention", 4, 4)(x, x)
            x = layer("LayerNormalization")(layer("Add")([x, attended]))
            forward = layer("Dense", 16)(layer("Dense", 32, activation="gelu")(x))
            x = layer("LayerNormalization")(layer("Add")([x, forward]))
        return layer("Dense", 3, activation="softmax")(layer("GlobalAveragePooling1D")(x))

    return make(IDS, function, "int32")()


def _nested() -> Any:
    import keras

    image, features = keras.Input((8, 8, 3)), keras.Input((4,))
    inner = keras.Sequential([layer("Conv2D", 4, 3, padding="same"), layer("BatchNormalization"), layer("ReLU")])
    two = keras.Model(features, [layer("Dense", 4)(features), layer("Dense", 5)(features)])
    a, b = two(layer("GlobalAveragePooling2D")(inner(image)))
    c, d = two(a)
    return filled(keras.Model(image, {"a": b, "z": c, "d": d}))


def _several_inputs() -> Any:
    import keras

    a, b, c = keras.Input((4,), name="left"), keras.Input((None, 3), name="right"), keras.Input((4,), name="third")
    shared = layer("Dense", 5, activation="tanh")
    joined = layer("Concatenate")([shared(a), layer("GlobalMaxPooling1D")(b), shared(c)])
    return filled(keras.Model({"left": a, "right": b, "third": c}, [shared(a), layer("Dense", 2)(joined)]))


def _shared_model() -> Any:
    import keras

    base = keras.Sequential([keras.Input((6,)), layer("Dense", 4, activation="relu"), layer("Dense", 2)])
    a, b = keras.Input((6,), name="a"), keras.Input((6,), name="b")
    return filled(keras.Model([a, b], layer("Subtract")([base(a), base(b)])))


def _states() -> Any:
    import keras

    x, h, c = keras.Input((None, 5)), keras.Input((4,), name="h"), keras.Input((4,), name="c")
    return filled(keras.Model([x, h, c], layer("LSTM", 4, return_state=True)(x, initial_state=[h, c])))


def _mixed() -> Any:
    half = {"dtype": "mixed_float16"}
    return make(
        (12, 12, 3),
        apply(("Conv2D", 8, 3, half), ("BatchNormalization", half), ("GlobalAveragePooling2D", half),
              ("Dense", 3, half), ("Activation", "softmax", {"dtype": "float32"})),
    )()  # fmt: skip


def _unet() -> Any:
    def function(image: Any) -> Any:
        left = layer("Conv2D", 4, 3, padding="same", activation="relu")(image)
        low = layer("Conv2D", 8, 3, padding="same", activation="relu")(layer("MaxPooling2D")(left))
        up = layer("Conv2DTranspose", 4, 2, strides=2, padding="same")(low)
        return layer("Conv2D", 1, 1, activation="sigmoid")(layer("Concatenate")([up, left]))

    return make((None, None, 2), function)()


def _squeeze_and_excite() -> Any:
    def function(image: Any) -> Any:
        x = layer("Conv2D", 8, 1)(image)
        gate = layer("Reshape", (1, 1, 8))(layer("GlobalAveragePooling2D")(x))
        gate = layer("Conv2D", 8, 1, activation="sigmoid")(layer("Conv2D", 2, 1, activation="silu")(gate))
        return layer("GlobalAveragePooling2D")(layer("Multiply")([x, gate]))

    return make(IMAGE, function)()


def _sequential() -> Any:
    import keras

    return filled(
        keras.Sequential(
            [keras.Input((None,), dtype="int32", name="ids"), layer("Embedding", 10, 4, mask_zero=True),
             layer("LSTM", 4, return_sequences=True), layer("Dense", 3), layer("GRU", 2)]
        )
    )  # fmt: skip


MODELS: dict[str, Callable[[], Any]] = {
    "transformer": _transformer,
    "nested": _nested,
    "several_inputs": _several_inputs,
    "shared_model": _shared_model,
    "states": _states,
    "mixed": _mixed,
    "unet": _unet,
    "squeeze_and_excite": _squeeze_and_excite,
    "sequential": _sequential,
}

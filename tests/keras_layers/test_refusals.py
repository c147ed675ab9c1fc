"""What Keras models have and we don't is refused by name."""

import keras
import numpy as np
import pytest

import anyonnx
from anyonnx.symbolic.errors import UnsupportedOps


def test_string_samples_reach_the_refusal():
    x = keras.Input((1,), dtype="string", name="word")
    model = keras.Model(x, keras.layers.StringLookup(vocabulary=["a", "b"])(x))
    with pytest.raises(UnsupportedOps, match="StringLookup"):
        anyonnx.to_onnx(model, (np.array([["a"], ["c"]], object),), compare=False)

"""Every layer against Keras, in onnxruntime with optimisations off and on, at two sizes of every open dim."""

import keras_cases
import pytest

import anyonnx

pytest.importorskip("keras")
OPSETS = (11, 13, 17, 25)
CASES = {**{f"layers-{n}": f for n, f in keras_cases.LAYERS.items()}}
CASES |= {f"sequences-{n}": f for n, f in keras_cases.SEQUENCES.items()}
CASES |= {f"models-{n}": f for n, f in keras_cases.MODELS.items()}


def converted(build, opset):
    return anyonnx.to_onnx(build(), opset=opset)


@pytest.mark.parametrize(("name", "opset"), [(n, OPSETS[i % len(OPSETS)]) for i, n in enumerate(CASES)])
def test_same_as_keras(name, opset):
    result = converted(CASES[name], opset)
    assert result.parity.passed


@pytest.mark.slow
@pytest.mark.parametrize("opset", [*OPSETS, 21])
@pytest.mark.parametrize("name", CASES)
def test_at_every_opset(name, opset):
    assert converted(CASES[name], opset).parity.passed


def operators(name):
    model = anyonnx.to_onnx(CASES[name](), opset=21, compare=False).model
    return [node.op_type for node in model.graph]


def test_recurrent_layers_are_one_operator_each():
    assert operators("sequences-lstm").count("LSTM") == 2
    assert operators("sequences-gru").count("GRU") == 2
    assert operators("sequences-simple_rnn").count("RNN") == 2
    found = operators("sequences-bidirectional")
    assert found.count("LSTM") == found.count("GRU") == 1
    assert len(operators("sequences-masked_bidirectional")) <= 45


def test_transformer_uses_the_operators_of_its_layers():
    found = operators("models-transformer")
    assert found.count("LayerNormalization") == 4 and found.count("Gelu") == 2
    assert len(found) <= 80


def test_images_are_transposed_at_the_borders_only():
    assert operators("models-unet").count("Transpose") == 2
    assert operators("models-squeeze_and_excite").count("Transpose") == 1
    assert operators("layers-channels_first_same").count("Transpose") == 0
    found = operators("layers-padding_into_conv")
    assert "Pad" not in found and "BatchNormalization" not in operators("models-nested")

"""Recurrent layers over packed sequences (through TorchScript) and with a projected state."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from anyonnx.converters.api import to_onnx


class Packed(nn.Module):
    def __init__(self, kind, batch_first, total, **options):
        super().__init__()
        self.batch_first, self.total = batch_first, total
        self.rnn = getattr(nn, kind)(4, 3, batch_first=batch_first, **options)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=self.batch_first, enforce_sorted=False)
        y, last = self.rnn(packed)
        y, back = nn.utils.rnn.pad_packed_sequence(
            y, batch_first=self.batch_first, padding_value=-1.0, total_length=self.total
        )
        return y, back, last


CASES = {
    "lstm": ("LSTM", True, None, {}),
    "two layers both ways": ("LSTM", True, None, {"bidirectional": True, "num_layers": 2}),
    "gru time first": ("GRU", False, None, {"bidirectional": True}),
    "rnn": ("RNN", True, None, {"nonlinearity": "relu"}),
    "total length": ("GRU", True, 9, {}),
}


@pytest.mark.parametrize("opset", [11, 21])
@pytest.mark.parametrize("name", CASES)
def test_packed(name, opset):
    kind, batch_first, total, options = CASES[name]
    torch.manual_seed(0)
    module = Packed(kind, batch_first, total, **options).eval()
    x = torch.randn(3, 6, 4) if batch_first else torch.randn(6, 3, 4)
    for lengths in ([2, 5, 3], [6, 6, 1]):
        conversion = to_onnx(module, (x, torch.tensor(lengths)), opset=opset)
        assert conversion.parity is not None and conversion.parity.passed, str(conversion.parity)


@pytest.mark.parametrize("opset", [11, 21])
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "batch_first": True}, {"bias": False}], ids=str)
def test_projection(options, opset):
    torch.manual_seed(0)
    module = nn.LSTM(4, 6, proj_size=3, num_layers=2, **options)
    conversion = to_onnx(module, (torch.randn(5, 2, 4),), dynamic={0: {0: "a", 1: "b"}}, opset=opset)
    assert conversion.parity is not None and conversion.parity.passed, str(conversion.parity)

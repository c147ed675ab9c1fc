"""Converts live Paddle models, and looks at what is refused; run as a script, it imports only paddle."""

import json
import sys

import numpy as np
import paddle
from paddle import nn
from paddle.static import InputSpec

import anyonnx


def vision(name, size=64):
    paddle.seed(0)
    return getattr(paddle.vision.models, name)(), [f"image:float32[batch,3,{size},{size}]"]


class Bert(nn.Layer):
    """Embeddings, a transformer encoder with a mask, a pooled head."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(50, 16), nn.Embedding(32, 16)
        self.norm = nn.LayerNorm(16)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, activation="gelu"), 2)
        self.head = nn.Linear(16, 3)

    def forward(self, input_ids, mask):
        places = paddle.arange(input_ids.shape[1]).unsqueeze(0)
        x = self.norm(self.words(input_ids) + self.places(places))
        bias = ((1.0 - mask.astype("float32")) * -1e4).unsqueeze([1, 2])
        x = self.encoder(x, bias)
        return {"logits": self.head(x[:, 0]), "states": x}


class Tagger(nn.Layer):
    """Bidirectional recurrent layers over open lengths."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 8)
        self.lstm = nn.LSTM(8, 6, num_layers=2, direction="bidirect")
        self.gru = nn.GRU(12, 5, direction="bidirect")
        self.head = nn.Linear(10, 4)

    def forward(self, ids):
        x, (h, c) = self.lstm(self.words(ids))
        y, _ = self.gru(x)
        return self.head(y), h, c


def convert_models(opset, names):
    models = {
        "resnet18": lambda: vision("resnet18"),
        "mobilenet_v3_small": lambda: vision("mobilenet_v3_small"),
        "vgg11": lambda: vision("vgg11"),
        "shufflenet_v2_x0_5": lambda: vision("shufflenet_v2_x0_5"),
        "densenet121": lambda: vision("densenet121"),
        "googlenet": lambda: vision("googlenet", 224),
        "inception_v3": lambda: vision("inception_v3", 128),
        "bert": lambda: (Bert(), ["input_ids:int64[batch,length]", "mask:int64[batch,length]"]),
        "tagger": lambda: (Tagger(), ["ids:int64[batch,length]"]),
    }
    for name in names:
        model, specs = models[name]()
        done = anyonnx.to_onnx(model, specs, opset=opset)
        ports = [v.name for v in (*done.model.graph.inputs, *done.model.graph.outputs)]
        say(name, passed=done.parity.passed, nodes=len(list(done.model.graph)), ports=ports)


class Refused(nn.Layer):
    """A layer of one function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def _two(x):
    return paddle.i0e(x) + paddle.polygamma(x, 1)


def _fft(x):
    return paddle.fft.fft(x).abs()


def _noise(x):
    return x + paddle.rand([4])


class Collect(nn.Layer):
    """Appends to a list in a loop on tensors."""

    def forward(self, x):
        found = []
        count = paddle.zeros([], "int64")
        while count < 3:
            found.append(x * count.astype("float32"))
            count = count + 1
        return paddle.stack(found)


class Counter(nn.Layer):
    """Changes its own buffer: to_static loses that, the comparison with the layer shows it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", paddle.zeros([4]))

    def forward(self, x):
        self.total.add_(x.sum(0))
        return x + self.total


def refuse():
    """What must not be converted, and the error that says so."""
    attempts = {
        "two missing ops": (Refused(_two), ["x:float32[4,4]"], {}),
        "complex numbers": (Refused(_fft), ["x:float32[batch,4]"], {}),
        "tensor array": (Collect(), ["x:float32[batch,4]"], {}),
        "random": (Refused(_noise), ["x:float32[batch,4]"], {}),
        "state": (Counter(), ["x:float32[batch,4]"], {}),
        "no inputs": (nn.Linear(4, 4), None, {}),
        "wrong name": (nn.Linear(4, 4), {"y": "float32[batch,4]"}, {}),
        "wrong width": (nn.Linear(4, 4), ["x:float32[batch,5]"], {}),
        "too many": (nn.Linear(4, 4), ["x:float32[batch,4]", "y:float32[batch,4]"], {}),
        "opset": (nn.GELU(), ["x:float32[batch,4]"], {"opset": 10}),
    }
    for name, (model, inputs, options) in attempts.items():
        try:
            anyonnx.to_onnx(model, inputs, **options)
            say(name, error="", text="nothing was refused")
        except anyonnx.AnyonnxError as error:
            say(name, error=type(error).__name__, text=str(error))


def stay():
    """A conversion leaves the layer as it was."""
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1D(4))
    net[2].eval()
    before = [p.training for p in net.sublayers(include_self=True)]
    forward = net.forward
    anyonnx.to_onnx(net, [InputSpec([None, 4], "float32", "x")])
    say("modes", same=before == [p.training for p in net.sublayers(include_self=True)], bound=net.forward == forward)
    done = anyonnx.to_onnx(
        net, [np.ones((3, 4), np.float32)], dynamic={0: {0: "n"}}, input_names=["rows"], output_names=["out"]
    )
    say(
        "names",
        ports=[str(v.name) for v in (*done.model.graph.inputs, *done.model.graph.outputs)],
        shape=[str(d) for d in done.model.graph.inputs[0].shape],
    )
    static = paddle.jit.to_static(nn.Linear(4, 2), input_spec=[InputSpec([None, 4], "float32", "x")])
    say("static", passed=anyonnx.to_onnx(static).parity.passed)
    half = nn.Linear(4, 2)
    half.to(dtype="float64")
    say("float64", passed=anyonnx.to_onnx(half, ["x:float64[n,4]"]).parity.passed)


def say(name, **facts):
    print(json.dumps({"case": name, **facts}), flush=True)


if __name__ == "__main__":
    job = sys.argv[1]
    if job == "models":
        convert_models(int(sys.argv[2]), sys.argv[3:])
    else:
        {"refuse": refuse, "stay": stay}[job]()

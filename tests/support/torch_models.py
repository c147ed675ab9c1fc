"""PyTorch models with random weights that the tests convert: name -> module, inputs and open dims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn


@dataclass
class Case:
    """A module with inputs; `dynamic` as in to_onnx."""

    module: nn.Module
    inputs: Any
    dynamic: dict[str | int, dict[int, str]]


BATCH = {0: {0: "batch"}}
SEQUENCE = {0: {0: "batch", 1: "seq"}}


def _image(name: str, size: int = 64, **options: Any) -> Case:
    import torchvision

    module = getattr(torchvision.models, name)(weights=None, **options)
    return Case(module, (torch.randn(2, 3, size, size),), BATCH)


def _statistics(module: nn.Module) -> nn.Module:
    """Batch norm with statistics other than 0 and 1, so that a wrong use of them shows."""
    for child in module.modules():
        if isinstance(child, nn.modules.batchnorm._BatchNorm) and child.running_mean is not None:
            child.running_mean.uniform_(-0.3, 0.3)
            child.running_var.uniform_(0.7, 1.3)
    return module


def vit() -> Case:
    from torchvision.models.vision_transformer import VisionTransformer

    module = VisionTransformer(32, 8, num_layers=2, num_heads=2, hidden_dim=32, mlp_dim=64, num_classes=10)
    nn.init.normal_(module.heads.head.weight, std=0.2)
    return Case(module, (torch.randn(2, 3, 32, 32),), BATCH)


def swin() -> Case:
    from torchvision.models.swin_transformer import SwinTransformer

    module = SwinTransformer([4, 4], 16, [2, 2], [2, 2], [4, 4], num_classes=10)
    return Case(module, (torch.randn(2, 3, 32, 32),), BATCH)


class Recurrent(nn.Module):
    def __init__(self, kind: str, *, given: bool = False, **options: Any):
        super().__init__()
        self.given = given
        self.rnn = getattr(nn, kind)(6, 5, **options)

    def forward(self, x: torch.Tensor, h: torch.Tensor | None = None, c: torch.Tensor | None = None) -> Any:
        if not self.given:
            return self.rnn(x)
        return self.rnn(x, (h, c)) if isinstance(self.rnn, nn.LSTM) else self.rnn(x, h)


def recurrent(kind: str, given: bool = False, **options: Any) -> Case:
    module = Recurrent(kind, given=given, **options)
    first = options.get("batch_first", False)
    dynamic: dict[str | int, dict[int, str]] = {0: {0: "batch", 1: "seq"} if first else {0: "seq", 1: "batch"}}
    x = torch.randn(3, 4, 6) if first else torch.randn(4, 3, 6)
    inputs: tuple[torch.Tensor, ...] = (x,)
    if given:
        layers = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
        for i in range(2 if kind == "LSTM" else 1):
            inputs += (torch.randn(layers, 3, 5),)
            dynamic[i + 1] = {1: "batch"}
    return Case(module, inputs, dynamic)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.encoder(x, src_key_padding_mask=mask)


def encoder() -> Case:
    mask = torch.zeros(2, 5, dtype=torch.bool)
    mask[1, 3:] = True
    both = {0: "batch", 1: "seq"}
    return Case(Encoder(), (torch.randn(2, 5, 16), mask), {0: both, 1: both})


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)

    def forward(self, query: torch.Tensor, key: torch.Tensor) -> Any:
        return self.attention(query, key, key)


def attention() -> Case:
    dynamic: dict[str | int, dict[int, str]] = {0: {0: "batch", 1: "queries"}, 1: {0: "batch", 1: "keys"}}
    return Case(Attention(), (torch.randn(2, 5, 16), torch.randn(2, 7, 16)), dynamic)


def _tokens(module: nn.Module, mask: bool = True) -> Case:
    ids = torch.randint(0, 50, (2, 6))
    both = {0: "batch", 1: "seq"}
    if not mask:
        return Case(module, {"input_ids": ids}, {"input_ids": both})
    attention_mask = torch.ones(2, 6, dtype=torch.int64)
    attention_mask[1, 4:] = 0
    inputs = {"input_ids": ids, "attention_mask": attention_mask}
    return Case(module, inputs, {"input_ids": both, "attention_mask": both})


def bert() -> Case:
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=40,
    )  # fmt: skip
    return _tokens(BertModel(config))


def gpt2() -> Case:
    from transformers import GPT2Config, GPT2LMHeadModel

    ends = {"bos_token_id": 0, "eos_token_id": 0}
    config = GPT2Config(vocab_size=60, n_positions=40, n_embd=32, n_layer=2, n_head=4, **ends)  # gives its cache too
    return _tokens(GPT2LMHeadModel(config))


def llama() -> Case:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=60, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=40, use_cache=False,
    )  # fmt: skip
    return _tokens(LlamaForCausalLM(config))


def mixtral() -> Case:
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(
        vocab_size=60, hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4,
        num_key_value_heads=2, num_local_experts=4, max_position_embeddings=40, use_cache=False,
    )  # fmt: skip
    return _tokens(MixtralForCausalLM(config), mask=False)


def t5() -> Case:
    from transformers import T5Config, T5Model

    config = T5Config(vocab_size=60, d_model=32, d_kv=8, d_ff=48, num_layers=1, num_heads=4, use_cache=False)
    case = _tokens(T5Model(config))
    case.inputs["decoder_input_ids"] = torch.randint(0, 50, (2, 4))
    case.dynamic["decoder_input_ids"] = {0: "batch", 1: "target"}
    return case


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
        self.down2 = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.SiLU(inplace=True))
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.out = nn.Conv2d(24, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = self.down1(x)
        b = self.down2(nn.functional.max_pool2d(a, 2))
        c = nn.functional.interpolate(b, scale_factor=2, mode="bilinear", align_corners=False)[:, :8]
        return self.out(torch.cat([a, self.up(b), c], dim=1))


def unet() -> Case:
    open_image: dict[str | int, dict[int, str]] = {0: {0: "batch", 2: "height", 3: "width"}}
    return Case(UNet(), (torch.randn(2, 3, 32, 48),), open_image)


CASES: dict[str, Any] = {
    "resnet18": lambda: _image("resnet18"),
    "mobilenet_v3_small": lambda: _image("mobilenet_v3_small"),
    "vgg11": lambda: _image("vgg11", 32, num_classes=10),
    "densenet121": lambda: _image("densenet121", 32, num_classes=10),
    "efficientnet_b0": lambda: _image("efficientnet_b0"),
    "convnext_tiny": lambda: _image("convnext_tiny", 32),
    "vit": vit,
    "swin": swin,
    "lstm": lambda: recurrent("LSTM", num_layers=2, batch_first=True),
    "lstm_both_ways": lambda: recurrent("LSTM", num_layers=2, bidirectional=True, given=True),
    "lstm_no_bias": lambda: recurrent("LSTM", bias=False),
    "gru": lambda: recurrent("GRU", num_layers=2, batch_first=True, given=True),
    "gru_both_ways": lambda: recurrent("GRU", bidirectional=True),
    "rnn": lambda: recurrent("RNN", num_layers=2, bidirectional=True, nonlinearity="relu"),
    "rnn_tanh": lambda: recurrent("RNN", batch_first=True, given=True),
    "encoder": encoder,
    "attention": attention,
    "bert": bert,
    "gpt2": gpt2,
    "llama": llama,
    "mixtral": mixtral,
    "t5": t5,
    "unet": unet,
}
#: Models of real size; the others take a second or two.
LARGE = ("resnet18", "vgg11", "densenet121", "efficientnet_b0", "convnext_tiny", "mobilenet_v3_small", "swin", "t5",
         "mixtral")  # fmt: skip


def build(name: str) -> Case:
    """The case of that name, the same at every call."""
    torch.manual_seed(0)
    with torch.no_grad():
        case: Case = CASES[name]()
        _statistics(case.module)
    return case

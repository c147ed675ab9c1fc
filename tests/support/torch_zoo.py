"""Model families that users ship, small and with random weights: name -> module, inputs and open dims.

The sizes are those of the architectures' own tests: every kind of layer is there, depth and width are not. `SPEED` are
the ones of real size that benchmarks/torch_vs_peer.py times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch_models import BATCH, Case, _statistics, _tokens

# --- torchvision -----------------------------------------------------------------------------------------------------

#: Name -> (image size, options of the constructor).
CLASSIFIERS: dict[str, tuple[int, dict[str, Any]]] = {
    "alexnet": (64, {}),
    "convnext_tiny": (32, {}),
    "densenet121": (32, {}),
    "efficientnet_b0": (32, {}),
    "efficientnet_v2_s": (32, {}),
    "googlenet": (64, {"init_weights": False, "aux_logits": False}),
    "inception_v3": (96, {"init_weights": False, "aux_logits": False}),
    "maxvit_t": (224, {}),
    "mnasnet0_5": (32, {}),
    "mobilenet_v2": (32, {}),
    "mobilenet_v3_small": (32, {}),
    "regnet_x_400mf": (32, {}),
    "regnet_y_400mf": (32, {}),
    "resnet18": (32, {}),
    "resnext50_32x4d": (32, {}),
    "shufflenet_v2_x0_5": (32, {}),
    "squeezenet1_1": (64, {}),
    "swin_t": (64, {}),
    "swin_v2_t": (64, {}),
    "vgg11_bn": (32, {}),
    "vit_b_16": (32, {"image_size": 32}),
    "wide_resnet50_2": (32, {}),
}
SEGMENTERS = ("deeplabv3_mobilenet_v3_large", "fcn_resnet50", "lraspp_mobilenet_v3_large")
#: Name -> (frames, image size).
VIDEO = {"r3d_18": (16, 32), "mc3_18": (16, 32), "r2plus1d_18": (16, 32), "s3d": (16, 224)}
TIMM: dict[str, tuple[int, dict[str, Any]]] = {
    "vit_tiny_patch16_224": (32, {"img_size": 32}),
    "deit_tiny_patch16_224": (32, {"img_size": 32}),
    "swin_tiny_patch4_window7_224": (224, {}),
    "convnext_atto": (32, {}),
    "convnextv2_atto": (32, {}),
    "efficientnet_b0": (32, {}),
    "mobilenetv3_small_100": (32, {}),
    "mixer_s16_224": (224, {}),
    "regnety_002": (32, {}),
    "resnet10t": (32, {}),
}


def classifier(name: str) -> Case:
    import torchvision

    size, options = CLASSIFIERS[name]
    module = getattr(torchvision.models, name)(weights=None, num_classes=10, **options)
    return Case(module, (torch.randn(2, 3, size, size),), BATCH)


def segmenter(name: str) -> Case:
    import torchvision

    module = getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None, num_classes=5)
    return Case(module, (torch.randn(2, 3, 64, 64),), BATCH)


def video(name: str) -> Case:
    import torchvision

    module = getattr(torchvision.models.video, name)(weights=None, num_classes=5)
    frames, size = VIDEO[name]
    return Case(module, (torch.randn(1, 3, frames, size, size),), BATCH)


def from_timm(name: str) -> Case:
    import timm

    size, options = TIMM[name]
    module = timm.create_model(name, pretrained=False, num_classes=10, **options)
    return Case(module, (torch.randn(2, 3, size, size),), BATCH)


# --- transformers ----------------------------------------------------------------------------------------------------

SMALL = {
    "vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
    "max_position_embeddings": 40,
}  # fmt: skip
ENDS = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}


def _transformer(kind: str, **options: Any) -> nn.Module:
    """A model of transformers by class name, configured small."""
    import transformers

    config = getattr(transformers, kind).config_class
    module: nn.Module = getattr(transformers, kind)(config(**options))
    return module


def encoder_only(kind: str, **options: Any) -> Case:
    return _tokens(_transformer(kind, **(SMALL | options)))


def decoder_only(kind: str, **options: Any) -> Case:
    sizes = SMALL | {"num_key_value_heads": 2, "use_cache": False} | ENDS | options
    return _tokens(_transformer(kind, **sizes))


def distilbert() -> Case:
    return _tokens(_transformer("DistilBertModel", vocab_size=60, dim=32, n_layers=2, n_heads=4, hidden_dim=48,
                                max_position_embeddings=40))  # fmt: skip


def gpt2() -> Case:
    return _tokens(_transformer("GPT2LMHeadModel", vocab_size=60, n_positions=40, n_embd=32, n_layer=2, n_head=4,
                                use_cache=False, **ENDS))  # fmt: skip


def t5() -> Case:
    case = _tokens(_transformer("T5ForConditionalGeneration", vocab_size=60, d_model=32, d_kv=8, d_ff=48, num_layers=2,
                                num_heads=4, use_cache=False, decoder_start_token_id=0, **ENDS))  # fmt: skip
    case.inputs["decoder_input_ids"] = torch.randint(0, 50, (2, 4))
    case.dynamic["decoder_input_ids"] = {0: "batch", 1: "target"}
    return case


def whisper() -> Case:
    module = _transformer(
        "WhisperModel", vocab_size=60, num_mel_bins=8, d_model=32, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48,
        max_source_positions=20, max_target_positions=20, use_cache=False, decoder_start_token_id=1, **ENDS,
    )  # fmt: skip
    inputs = {"input_features": torch.randn(2, 8, 40), "decoder_input_ids": torch.randint(0, 50, (2, 4))}
    return Case(module, inputs, {"input_features": {0: "batch"}, "decoder_input_ids": {0: "batch", 1: "target"}})


def clip() -> Case:
    text = {**SMALL, **ENDS}
    vision = {k: v for k, v in SMALL.items() if k not in ("vocab_size", "max_position_embeddings")}
    module = _transformer("CLIPModel", text_config=text, vision_config={**vision, "image_size": 32, "patch_size": 8},
                          projection_dim=16)  # fmt: skip
    inputs = {
        "input_ids": torch.randint(1, 50, (2, 6)),
        "pixel_values": torch.randn(3, 3, 32, 32),
        "attention_mask": torch.ones(2, 6, dtype=torch.int64),
    }
    both = {0: "batch", 1: "seq"}
    return Case(module, inputs, {"input_ids": both, "attention_mask": both, "pixel_values": {0: "images"}})


def mamba() -> Case:
    """The length is fixed: the model's own Python loop runs over it."""
    module = _transformer("MambaForCausalLM", vocab_size=60, hidden_size=16, state_size=4, num_hidden_layers=2,
                          use_cache=False, **ENDS)  # fmt: skip
    return Case(module, {"input_ids": torch.randint(0, 50, (2, 6))}, {"input_ids": {0: "batch"}})


class CachedLlama(nn.Module):
    """One step of a decoder with its keys and values in and out, as a flat tuple."""

    def __init__(self, layers: int = 2):
        super().__init__()
        self.layers = layers
        self.model = _transformer("LlamaForCausalLM", **(SMALL | ENDS | {"num_key_value_heads": 2}))

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, *past: torch.Tensor) -> Any:
        from transformers import DynamicCache

        cache = DynamicCache()
        for i in range(self.layers):
            cache.update(past[2 * i], past[2 * i + 1], i)
        given = self.model(input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True)
        kept = [t for layer in given.past_key_values.layers for t in (layer.keys, layer.values)]
        return given.logits, *kept


def llama_with_cache() -> Case:
    module = CachedLlama()
    past = [torch.randn(2, 2, 5, 8) for _ in range(2 * module.layers)]
    inputs = (torch.randint(0, 50, (2, 3)), torch.ones(2, 8, dtype=torch.int64), *past)
    dynamic: dict[str | int, dict[int, str]] = {0: {0: "batch", 1: "seq"}, 1: {0: "batch", 1: "total"}}
    dynamic |= {2 + i: {0: "batch", 2: "past"} for i in range(len(past))}
    return Case(module, inputs, dynamic)


def llama_cache_object() -> Case:
    """The cache as transformers' own object."""
    from transformers import DynamicCache

    module = _transformer("LlamaForCausalLM", **(SMALL | ENDS | {"num_key_value_heads": 2}))
    cache = DynamicCache()
    for i in range(2):
        cache.update(torch.randn(2, 2, 5, 8), torch.randn(2, 2, 5, 8), i)
    inputs = {
        "input_ids": torch.randint(0, 50, (2, 3)),
        "attention_mask": torch.ones(2, 8, dtype=torch.int64),
        "past_key_values": cache,
    }
    dynamic: dict[str | int, dict[int, str]] = {
        "input_ids": {0: "batch", 1: "seq"},
        "attention_mask": {0: "batch", 1: "total"},
    }
    names = [f"past_key_values_{kind}_cache_{i}" for kind in ("key", "value") for i in range(2)]
    return Case(module, inputs, dynamic | {name: {0: "batch", 2: "past"} for name in names})


MIXTURE = {"num_local_experts": 4, "num_experts_per_tok": 2, "num_hidden_layers": 1}
CASES: dict[str, Callable[[], Case]] = {
    **{name: (lambda name=name: classifier(name)) for name in CLASSIFIERS},
    **{name: (lambda name=name: segmenter(name)) for name in SEGMENTERS},
    **{name: (lambda name=name: video(name)) for name in VIDEO},
    **{f"timm_{name}": (lambda name=name: from_timm(name)) for name in TIMM},
    "bert": lambda: encoder_only("BertModel"),
    "bert_classifier": lambda: encoder_only("BertForSequenceClassification"),
    "roberta": lambda: encoder_only("RobertaModel", pad_token_id=1),
    "distilbert": distilbert,
    "albert": lambda: encoder_only("AlbertModel", embedding_size=16),
    "electra": lambda: encoder_only("ElectraModel", embedding_size=16),
    "gpt2": gpt2,
    "llama": lambda: decoder_only("LlamaForCausalLM"),
    "llama_with_cache": llama_with_cache,
    "llama_cache_object": llama_cache_object,
    "mistral": lambda: decoder_only("MistralForCausalLM", sliding_window=4),
    "qwen2": lambda: decoder_only("Qwen2ForCausalLM"),
    "qwen3": lambda: decoder_only("Qwen3ForCausalLM", head_dim=8),
    "gemma": lambda: decoder_only("GemmaForCausalLM", head_dim=8),
    "phi": lambda: decoder_only("PhiForCausalLM"),
    "mixtral": lambda: decoder_only("MixtralForCausalLM", **MIXTURE),
    "t5": t5,
    "whisper": whisper,
    "clip": clip,
    "mamba": mamba,
}  # fmt: skip


def build(name: str) -> Case:
    """The case of that name, the same at every call."""
    torch.manual_seed(0)
    with torch.no_grad():
        case = CASES[name]()
        _statistics(case.module)
    return case


def _vision(name: str, size: int = 224) -> Case:
    import torchvision

    return Case(getattr(torchvision.models, name)(weights=None), (torch.randn(2, 3, size, size),), BATCH)


#: The models that are timed, of the sizes of the peer's own measurements.
SPEED: dict[str, Callable[[], Case]] = {
    "resnet18": lambda: _vision("resnet18"),
    "mobilenet_v3_small": lambda: _vision("mobilenet_v3_small"),
    "deeplabv3": lambda: segmenter("deeplabv3_mobilenet_v3_large"),
    "vit_tiny": lambda: from_timm("vit_tiny_patch16_224"),
    "swin_t": lambda: _vision("swin_t"),
    "bert": CASES["bert"],
    "gpt2": CASES["gpt2"],
    "llama": CASES["llama"],
    "llama_with_cache": llama_with_cache,
    "t5": t5,
    "whisper": whisper,
}


def build_speed(name: str) -> Case:
    """A timed case, the same at every call."""
    torch.manual_seed(0)
    with torch.no_grad():
        return SPEED[name]()

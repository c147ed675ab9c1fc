"""The TorchScript walker: control flow, lists, attributes and in-place writes against torch.jit itself."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from anyonnx.converters.api import to_onnx
from anyonnx.symbolic.errors import (
    AnyonnxError,
    CaptureError,
    InputSpecError,
    ParityError,
    TranslationError,
    UnsupportedOps,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*torch.jit:FutureWarning"),
    pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning"),
]
X = "x:float32[batch,3]"


def script(module: nn.Module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.script(module.eval())


def kinds(result) -> set[str]:
    return {node.op_type for node in result.model.graph.all_nodes()}


def check(module: nn.Module, inputs, *, expect: tuple[str, ...] = (), opsets=(17,), **options):
    """Converts a scripted module at each opset, compared with torch.jit at two sizes of each open dim."""
    compiled = script(module)
    for opset in opsets:
        result = to_onnx(compiled, inputs, opset=opset, **options)
        assert result.parity.passed
        assert set(expect) <= kinds(result)
    return result


# --- the table of facts/torch.md ------------------------------------------------------------------------------------


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b = nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Linear(5, 2)

    def forward(self, x):
        return torch.softmax(self.b(torch.relu(self.norm(self.a(x)))), -1)


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x


class TensorIf(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            y = x * 2
        else:
            y = x - 1
        return y + 1


class While(nn.Module):
    def forward(self, x, n: int):
        i = 0
        while i < n:
            if i % 2 == 0:
                x = x + i
            else:
                x = x * 1.5
            i += 1
        return x


class ForSize(nn.Module):
    def forward(self, x):
        total = torch.zeros_like(x[0])
        for i in range(x.size(0)):
            total = total * 0.5 + x[i]
        return total


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True)

    def forward(self, x):
        return self.rnn(x)[0]


SEQ = "src:float32[batch,seq,8]"
ENCODER = {"d_model": 8, "nhead": 2, "dim_feedforward": 16, "batch_first": True}


@pytest.mark.parametrize(
    ("make", "example", "spec"),
    [
        (Net, (2, 3), X),
        (Recurrent, (2, 5, 3), "x:float32[batch,seq,3]"),
        (lambda: nn.TransformerEncoderLayer(**ENCODER), (2, 5, 8), SEQ),
    ],
    ids=["net", "lstm", "encoder"],
)
@pytest.mark.parametrize("how", ["traced", "traced without gradients", "scripted"])
def test_modules(make, example, spec, how):
    torch.manual_seed(0)
    module = make().eval()
    if how == "scripted":
        compiled = script(module)
    else:
        with torch.set_grad_enabled(how == "traced"):
            compiled = torch.jit.trace(module, torch.randn(example), check_trace=False)
    assert to_onnx(compiled, [spec], opset=17).parity.passed


CONTROL = {
    "layers": (Layers, [X], ()),
    "if": (TensorIf, [X], ("If",)),
    "while": (While, {"x": X, "n": "n:int64[]"}, ("Loop", "If")),
    "for": (ForSize, ["x:float32[steps,3]"], ("Loop",)),
}


@pytest.mark.parametrize("opset", [11, 13, 17, 21, 25])
@pytest.mark.parametrize("name", CONTROL)
def test_control_flow_at_every_opset(name, opset):
    make, inputs, expect = CONTROL[name]
    check(make(), inputs, expect=expect, opsets=[opset])


def test_a_known_number_decides_at_once():
    assert not {"If", "Loop"} & kinds(check(While(), {"x": X, "n": 5}))


def test_both_branches_are_right():
    import onnxruntime

    session = onnxruntime.InferenceSession(check(TensorIf(), [X]).proto().SerializeToString())
    for sign in (1, -1):
        x = np.full((2, 3), sign, np.float32)
        assert np.array_equal(session.run(None, {"x": x})[0], TensorIf()(torch.from_numpy(x)).numpy())


@pytest.mark.parametrize("options", [{"activation": "gelu"}, {"norm_first": True}])
def test_padded_encoders_on_their_fused_path(options):
    class Padded(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.TransformerEncoderLayer(**ENCODER, **options)

        def forward(self, x, pad):
            return self.layer(x, src_key_padding_mask=pad)

    pad = np.zeros((2, 5), bool)
    pad[1, 3:] = True
    check(Padded(), (np.random.default_rng(0).normal(size=(2, 5, 8)).astype(np.float32), pad))


# --- lists, dicts, tuples, objects -----------------------------------------------------------------------------------


class Appended(nn.Module):
    def forward(self, x):
        rows: list[Tensor] = []
        for i in range(x.size(0)):
            rows.append(x[i] * i)  # noqa: PERF401
        return torch.stack(rows), torch.cat(rows, 0), len(rows)


class Filled(nn.Module):
    def forward(self, x):
        sizes: dict[str, int] = {"rows": x.size(0)}
        sizes["columns"] = x.size(1)
        parts = x.split([1, 2], dim=1)
        pair = (parts[1], parts[0])
        steps = [float(i) / 2 for i in range(3)]
        steps[0] += 4.0
        return torch.cat(pair, 1) * sizes["columns"] + sizes["rows"] + torch.tensor(steps)


class Early(nn.Module):
    def forward(self, x):
        for i in range(x.size(0)):
            if bool(x[i].sum() > 2.0):
                return x[i] * 2
        return x[0] - 1


class Nothing(nn.Module):
    def forward(self, x, mask: Tensor | None = None, scale: float = 2.0) -> tuple[Tensor, dict[str, Tensor]]:
        if mask is not None:
            x = x * mask
        return x * scale, {"sum": x.sum(), "size": torch.tensor(x.shape)}


class State(nn.Module):
    def forward(self, x):
        carry = torch.zeros(0)
        for i in range(x.size(0)):
            if len(carry) == 0:
                carry = torch.zeros(1, 3)
            carry = carry * 0.5 + x[i].unsqueeze(0)
        return carry


class Growing(nn.Module):
    def forward(self, x):
        total = x[:1]
        for _ in range(x.size(0)):
            total = torch.cat([total, total[-1:] * 0.5])
        return total


class Numbers(nn.Module):
    def forward(self, x):
        count = int((x > 0).sum())
        mean = float(x.mean())
        if count > 2 and mean < 10.0:
            x = x * count + mean
        return x, count // 2, mean, count % 3 == 0


STRUCTURES = {
    "appended": (Appended, ["x:float32[steps,3]"], ("Loop",)),
    "filled": (Filled, [X], ()),
    "early return": (Early, [X], ("Loop",)),
    "optional": (Nothing, [X], ()),
    "first step differs": (State, ["x:float32[steps,3]"], ("Loop",)),
    "growing": (Growing, ["x:float32[steps,3]"], ("Loop",)),
    "numbers": (Numbers, [X], ("If",)),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures(name):
    make, inputs, expect = STRUCTURES[name]
    check(make(), inputs, expect=expect, opsets=[13, 21])


def test_weights_keep_their_names_and_memory():
    compiled = script(nn.Sequential(nn.Linear(64, 64), nn.ReLU()))
    model = to_onnx(compiled, ["float32[n,64]"], compare=False, optimize=False).model
    weight = model.graph.initializers["0.weight"].const_value
    assert np.shares_memory(weight.numpy(), compiled.state_dict()["0.weight"].numpy())


def test_names_of_inputs_and_outputs():
    result = check(Nothing(), {"x": X, "mask": "mask:float32[batch,3]"})
    assert [v.name for v in result.model.graph.inputs] == ["x", "mask"]
    assert [v.name for v in result.model.graph.outputs] == ["output_0", "output_1_sum", "output_1_size"]


# --- in-place writes -------------------------------------------------------------------------------------------------


class Writes(nn.Module):
    def forward(self, x):
        y = x.clone()
        row = y[0]
        row += 1
        y[:, 1:] *= 2
        y.t()[0].zero_()
        flat = y.view(-1)
        flat[:2] = 7.0
        return y, row, flat.sum()


class WritesInBranch(nn.Module):
    def forward(self, x):
        y = x.clone()
        first = y[0]
        if bool(x.sum() > 0):
            y[0] = 3.0
        else:
            first.mul_(2)
        return y, first


class WritesInLoop(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        for i in range(x.size(0)):
            y[i] = x[i] + y[i - 1]
        return y


@pytest.mark.parametrize("make", [Writes, WritesInBranch, WritesInLoop])
def test_in_place_writes(make):
    check(make(), [X], opsets=[13, 21])


def test_a_write_that_cannot_be_followed_is_refused():
    class Lost(nn.Module):
        def forward(self, x):
            y = x.clone()
            y.expand(2, 3, 3).mul_(2)
            return y

    with pytest.raises((TranslationError, CaptureError)):
        to_onnx(script(Lost()), ["x:float32[3,3]"])


# --- attributes ------------------------------------------------------------------------------------------------------


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.total = torch.zeros(3)
        self.calls = 0

    def forward(self, x):
        self.total = self.total * 0.9 + x.sum(0)
        self.calls += 1
        return x + self.total

    @torch.jit.export
    def doubled(self, x):
        return x * 2


class Buffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        self.seen.add_(x.sum(0))
        return x + self.seen


def test_state_is_refused_unless_said():
    with pytest.raises(CaptureError, match=r"changes calls, total: .*--state"):
        to_onnx(script(Counter()), [X])
    with pytest.raises(CaptureError, match="changes seen"):
        to_onnx(script(Buffer()), [X])


def test_fresh_state():
    result = check(Counter(), [X], state="fresh")
    assert [v.name for v in result.model.graph.outputs] == ["output"]
    check(Buffer(), [X], state="fresh")


def test_carried_state():
    result = check(Counter(), [X], state="carry")
    assert [v.name for v in result.model.graph.inputs] == ["x", "total"]
    assert [v.name for v in result.model.graph.outputs] == ["output", "total_out"]
    given = {"x": np.ones((2, 3), np.float32), "total": np.full(3, 5, np.float32)}
    assert np.array_equal(check(Counter(), given, state="carry").source.samples["total"], given["total"])


def test_another_method():
    assert kinds(check(Counter(), [X], method="doubled")) == {"Mul"}
    with pytest.raises(InputSpecError, match="no method halved; it has doubled, forward"):
        to_onnx(script(Counter()), [X], method="halved")


# --- checks and refusals ---------------------------------------------------------------------------------------------


def test_exceptions_about_known_sizes_are_met_at_once():
    class Checked(nn.Module):
        def forward(self, x):
            if x.size(-1) != 3:
                raise ValueError(f"three columns are wanted, not {x.size(-1)}")
            return x * 2

    assert kinds(check(Checked(), [X])) == {"Mul"}
    with pytest.raises(CaptureError, match="three columns are wanted, not 4"):
        to_onnx(script(Checked()), ["x:float32[batch,4]"])


def test_exceptions_about_data_are_left_out_and_said():
    class Positive(nn.Module):
        def forward(self, x):
            if bool((x > 1e6).any()):
                raise ValueError("too large")
            return x * 2

    with pytest.warns(UserWarning, match="exceptions that depend on the data"):
        assert kinds(check(Positive(), [X])) == {"Mul"}


def test_a_checked_size_is_known_from_then_on():
    class Chunks(nn.Module):
        def forward(self, x):
            y = x[: int(x[0, 0] * 0) + 2]
            if y.size(0) != 2:
                raise ValueError("two rows are wanted")
            return y.view(6)

    check(Chunks(), ["x:float32[4,3]"])


@pytest.fixture(scope="module")
def foreign_ops():
    """Operators that no registry knows."""
    library = torch.library.Library("anyonnx_test", "DEF")
    for name in ("first", "second", "third"):
        library.define(f"{name}(Tensor x) -> Tensor")
        library.impl(name, lambda x: x * 2, "CompositeExplicitAutograd")
    library.define("scaled(Tensor x, float factor) -> (Tensor, Tensor)")
    library.impl("scaled", lambda x, factor: (torch.relu(x * factor), x.mean(-1)), "CompositeImplicitAutograd")
    yield
    library._destroy()


def test_missing_operators_are_all_named(foreign_ops):
    class Rare(nn.Module):
        def forward(self, x):
            if x.size(1) == 4:  # never: the size is known
                return torch.ops.anyonnx_test.third(x)
            if bool(x.sum() > 0):
                return torch.ops.anyonnx_test.first(x)
            return torch.ops.anyonnx_test.second(x)

    with pytest.raises(UnsupportedOps) as caught:
        to_onnx(script(Rare()), ["x:float32[3,3]"])
    names = [(op.dialect, op.name) for op in caught.value.missing]
    assert sorted(names) == [("anyonnx_test", "first.default"), ("anyonnx_test", "second.default")]


def test_operators_with_a_decomposition(foreign_ops):
    class Composite(nn.Module):
        def forward(self, x):
            y, mean = torch.ops.anyonnx_test.scaled(x.flatten(1), 2.0)
            if bool(mean.sum() > 0):
                y, mean = torch.ops.anyonnx_test.scaled(y, 0.5)
            return y, mean

    check(Composite(), ["x:float32[batch,3,n]"], expect=("Relu", "If"))


def test_branches_that_cannot_be_joined():
    class Ranks(nn.Module):
        def forward(self, x):
            values = [x]
            if bool(x.sum() > 0):
                values.append(x * 2)
            return values[-1]

    with pytest.raises(TranslationError, match="branches of an if on data"):
        to_onnx(script(Ranks()), [X])


# --- modules that torch.export can't capture -------------------------------------------------------------------------


def test_script_takes_over_where_export_gives_up():
    result = to_onnx(TensorIf(), [X])
    assert "If" in kinds(result)
    assert "through TorchScript" in result.source.description
    with pytest.raises(CaptureError, match="can't capture"):
        to_onnx(TensorIf(), [X], capture="export")


def test_script_on_request():
    assert kinds(to_onnx(nn.Linear(3, 2).eval(), ["input:float32[batch,3]"], capture="script")) == {"Gemm"}


class Differs(nn.Module):
    """Eagerly another function than compiled."""

    def forward(self, x):
        y = x * 2 if torch.jit.is_scripting() else x * 3
        return y if bool(x.sum() > -1e9) else -y


def test_what_compiling_changes_is_found_out():
    with pytest.raises(ParityError):
        to_onnx(Differs(), [X])
    assert to_onnx(script(Differs()), [X]).parity.passed


def test_both_captures_fail():
    class Neither(nn.Module):
        def forward(self, x):
            return x * 2 if eval("x.sum() > 0") else x

    with pytest.raises(AnyonnxError, match="script, tried next"):
        to_onnx(Neither(), [X])


# --- what detection models need --------------------------------------------------------------------------------------


class Batched(nn.Module):
    """Images of several sizes as a list; results of several lengths, joined after a loop."""

    def forward(self, images: list[Tensor], least: float) -> list[dict[str, Tensor]]:
        results: list[dict[str, Tensor]] = []
        for image in images:
            kept: list[Tensor] = []
            for channel in range(image.size(0)):
                rows = image[channel]
                kept.append(rows[rows.sum(1) > least])
            results.append({"kept": torch.cat(kept), "size": torch.tensor(image.shape[-2:])})
        return results


def test_lists_of_inputs_and_of_results():
    images = [np.random.default_rng(i).normal(size=(20, 4 + i, 3)).astype(np.float32) for i in range(2)]
    result = check(Batched(), {"images": images, "least": 0.5}, expect=("Loop",), opsets=[13, 21])
    assert [v.name for v in result.model.graph.inputs] == ["images_0", "images_1"]
    assert [v.name for v in result.model.graph.outputs] == [
        "output_0_kept",
        "output_0_size",
        "output_1_kept",
        "output_1_size",
    ]
    specs = {"images_0": "float32[20,h,3]", "images_1": "float32[20,h,3]", "least": 0.5}
    assert [str(s) for s in check(Batched(), specs).source.specs] == [
        "images_0:float32[20,h,3]",
        "images_1:float32[20,h,3]",
    ]


def test_elements_of_a_list_come_in_order():
    with pytest.raises(InputSpecError, match="the elements of images are given in order"):
        to_onnx(script(Batched()), {"images_1": "float32[20,4,3]", "least": 0.5})


def test_an_attribute_that_only_warns_once_is_no_state():
    class Warns(nn.Module):
        def __init__(self):
            super().__init__()
            self.told = False

        def forward(self, x):
            if not self.told:
                warnings.warn("told once", stacklevel=1)
                self.told = True
            return x * 2

    assert kinds(check(Warns(), [X])) == {"Mul"}


def test_empty_tensors_of_another_rank():
    class Guarded(nn.Module):
        def forward(self, x):
            rows = x[x.sum(1) > 0]
            if rows.size(0) > 0:
                rows = rows.reshape(rows.size(0), -1, 3)
            return rows.flatten()

    with pytest.warns(UserWarning, match="taken not to be empty"):
        check(Guarded(), (np.ones((3, 6), np.float32),))

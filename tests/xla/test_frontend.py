"""The JAX frontend: inputs, names, refusals, files, and that it leaves JAX alone."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from onnx import numpy_helper

from anyonnx.converters.api import find_frontend, to_onnx
from anyonnx.converters.from_jax import JaxFrontend
from anyonnx.converters.from_jax.params import size_of_text
from anyonnx.symbolic.errors import CaptureError, InputSpecError, OpsetError, UnsupportedOps

FIXTURES = Path(__file__).parents[2] / "fixtures"
X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


# --- inputs and names ------------------------------------------------------------------------------------------------


def test_keyword_inputs_and_dict_outputs():
    def function(image, scale):
        return {"sum": (image * scale).sum(), "parts": [image + 1, image - 1]}

    result = to_onnx(function, {"image": X, "scale": np.float32(2)}, framework="jax")
    assert [s.name for s in result.source.specs] == ["image", "scale"]
    assert result.source.output_names == ["parts_0", "parts_1", "sum"]


def test_trees_as_inputs():
    def function(batch, flags):
        return batch["x"] @ batch["w"][0] if flags else batch["x"]

    result = to_onnx(function, ({"x": X, "w": [X.T]}, True), framework="jax")
    assert [s.name for s in result.source.specs] == ["batch_w_0", "batch_x"]


def test_names_of_the_caller():
    result = to_onnx(jnp.sin, (X,), framework="jax", input_names=["angle"], output_names=["sine"])
    assert [v.name for v in result.model.graph.inputs] == ["angle"]
    assert [v.name for v in result.model.graph.outputs] == ["sine"]


def test_dynamic():
    result = to_onnx(lambda x: x @ x.T, (X,), framework="jax", dynamic={"x": {0: "rows"}})
    assert result.source.specs[0].shape == ("rows", 4)
    assert [str(d) for d in result.model.graph.outputs[0].shape] == ["rows", "rows"]


def test_shape_struct_and_partial():
    import functools

    struct = jax.ShapeDtypeStruct((3, 4), jnp.float32)
    result = to_onnx(functools.partial(jnp.sum, axis=1), (struct,), framework="jax")
    assert result.parity.passed


def test_an_input_that_is_not_used_stays():
    result = to_onnx(lambda x, y: x + 1, (X, X), framework="jax")
    assert [v.name for v in result.model.graph.inputs] == ["x", "y"]


def test_an_input_as_output():
    assert to_onnx(lambda x: (x, x, 2.0), (X,), framework="jax").parity.passed


def test_the_framework_is_found_out():
    assert isinstance(find_frontend(lambda x: jnp.sin(x))[0], JaxFrontend)
    assert isinstance(find_frontend(jax.jit(jnp.sin))[0], JaxFrontend)


# --- refusals --------------------------------------------------------------------------------------------------------


def test_everything_missing_is_named_at_once():
    def function(x):
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct((3, 4), jnp.float32), x), lax.linalg.hessenberg(x @ x.T)

    with pytest.raises(UnsupportedOps) as caught:
        to_onnx(function, (X,), framework="jax")
    assert {op.name for op in caught.value.missing} == {"pure_callback", "hessenberg"}
    assert "test_frontend.py" in str(caught.value) and "calls back into Python" in str(caught.value)


def test_complex_numbers_are_refused():
    with pytest.raises(UnsupportedOps, match="complex numbers"):
        to_onnx(lambda x: jnp.abs(x + 1j * x), (X,), framework="jax")


def test_missing_inside_a_loop():
    with pytest.raises(UnsupportedOps, match="hessenberg"):
        to_onnx(
            lambda x: lax.fori_loop(0, 2, lambda i, c: lax.linalg.hessenberg(c)[0], x[:, :3]), (X,), framework="jax"
        )


def test_a_function_that_jax_cannot_trace():
    with pytest.raises(CaptureError, match="can't trace"):
        to_onnx(lambda x: x if x.sum() > 0 else -x, (X,), framework="jax")


def test_without_inputs():
    with pytest.raises(InputSpecError, match=r"example inputs"):
        to_onnx(lambda x: jnp.sin(x), framework="jax")


def test_an_integer_that_jax_would_cut():
    with pytest.raises(InputSpecError, match="jax_enable_x64"):
        to_onnx(lambda x: x + 1, ("x:int64[3]",), framework="jax")


def test_a_scatter_that_an_old_opset_lacks():
    try:
        result = to_onnx(lambda x: x.at[jnp.array([0, 0])].add(1.0), (X,), framework="jax", opset=11)
    except OpsetError as error:
        assert error.needs == 16
    else:
        assert result.parity.passed


# --- what is printed is dropped, what is dead isn't looked at --------------------------------------------------------


def test_printing_is_dropped():
    def function(x):
        jax.debug.print("{}", x)
        return x * 2

    assert to_onnx(function, (X,), framework="jax").parity.passed


def test_dead_operations_are_not_missed():
    def function(x):
        lax.linalg.hessenberg(x @ x.T)
        return x * 2

    assert to_onnx(function, (X,), framework="jax").parity.passed


# --- sizes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [("b", 7), ("2*b + 3", 17), ("b^2", 49), ("floordiv(b, 2)", 3), ("-1*floordiv(-1*b, 2)", 4), ("mod(b, 4)", 3),
     ("max(b, 9)", 9), ("- floordiv(-b, 2) + 1", 5)],
)  # fmt: skip
def test_size_expressions(text, value):
    size = size_of_text(text)
    assert (size if isinstance(size, int) else size.evaluate({"b": 7})) == value


# --- JAX is left alone -----------------------------------------------------------------------------------------------


def test_nothing_is_patched():
    @jax.jit
    def function(x):
        return jnp.where(x > 0, jnp.cumsum(x, 0), jnp.sort(x)).sum()

    modules = [jnp, jax.nn, lax, jax, jax.numpy.linalg]
    before = {(m.__name__, n): getattr(m, n) for m in modules for n in dir(m)}
    value, slope = function(X), jax.grad(function)(X)
    to_onnx(function, (X,), framework="jax")
    after = {(m.__name__, n): getattr(m, n) for m in modules for n in dir(m)}
    assert before.keys() <= after.keys() and all(after[k] is v for k, v in before.items())
    np.testing.assert_array_equal(function(X), value)
    np.testing.assert_array_equal(jax.grad(function)(X), slope)
    np.testing.assert_array_equal(jnp.cumsum(X, 0), np.cumsum(X, 0))


def test_a_function_first_traced_by_the_conversion_still_works():
    function = jax.jit(lambda x: jnp.where(x > 0, x, 2 * x))
    to_onnx(function, (X,), framework="jax")
    np.testing.assert_allclose(function(X), np.where(X > 0, X, 2 * X))
    assert jax.grad(lambda x: function(x).sum())(X).shape == X.shape


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["digits_flax", "digits_attention"])
@pytest.mark.parametrize("opset", [11, 13, 17, 21, 25])
def test_fixture(name, opset):
    import onnxruntime

    result = to_onnx(FIXTURES / f"{name}.jaxexp", opset=opset)
    assert result.parity.passed
    assert str(result.source.specs[0]) == "input:float32[batch,8,8,1]"
    known = np.load(FIXTURES / f"{name}.npz")
    session = onnxruntime.InferenceSession(result.proto().SerializeToString())
    (found,) = session.run(["probabilities"], {"input": known["input"]})
    np.testing.assert_allclose(found, known["probabilities"], atol=2e-6)


def test_stablehlo_text():
    result = to_onnx(FIXTURES / "digits_attention.mlir")
    assert result.parity.passed
    assert [s.name for s in result.source.specs] == ["input"]


def test_a_small_export_is_not_taken_for_text(tmp_path):
    exported = jax.export.export(jax.jit(lambda x: (x + 1, x * 2)))(jax.ShapeDtypeStruct((3,), jnp.float32))
    path = tmp_path / "small.jaxexp"
    path.write_bytes(exported.serialize())
    assert to_onnx(path).parity.passed


def test_a_file_that_is_not_whole(tmp_path):
    data = (FIXTURES / "digits_flax.jaxexp").read_bytes()
    path = tmp_path / "half.jaxexp"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises((CaptureError, InputSpecError)):
        to_onnx(path)


def test_a_call_of_lapack_without_a_function_is_refused(tmp_path):
    shape = jax.ShapeDtypeStruct((3, 4), jnp.float32)
    exported = jax.export.export(jax.jit(lambda x: lax.linalg.hessenberg(x @ x.T)[0]))(shape)
    path = tmp_path / "hessenberg.jaxexp"
    path.write_bytes(exported.serialize())
    with pytest.raises(UnsupportedOps, match="lapack"):
        to_onnx(path)


def test_a_wrong_weight_is_found_where_it_is_used():
    from anyonnx.validation.layers import first_divergence

    kernels = [np.random.default_rng(i).normal(size=(4, 4)).astype(np.float32) for i in range(3)]

    @jax.jit
    def network(x):
        for kernel in kernels:
            x = jax.nn.relu(x @ kernel + 0.1)
        return x

    made = to_onnx(network, ["x:float32[batch,4]"], framework="jax")
    model, inputs = made.proto(), {"x": np.ones((3, 4), np.float32)}
    assert first_divergence(model, made.trace(), inputs) is None
    second = next(i for i in model.graph.initializer if np.array_equal(numpy_helper.to_array(i), kernels[1]))
    second.CopyFrom(numpy_helper.from_array(kernels[1] * np.float32(1.01), second.name))
    found = first_divergence(model, made.trace(), inputs)
    assert found is not None and found.op_type in ("MatMul", "Gemm")
    assert "dot_general" in found.location

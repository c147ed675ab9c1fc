"""Every primitive against JAX, in onnxruntime with optimisations off and on."""

import jax
import jax_cases
import numpy as np
import pytest

from anyonnx.converters.api import to_onnx
from anyonnx.symbolic.errors import OpsetError
from anyonnx.symbolic.spec import parse_spec


@pytest.mark.parametrize("name", jax_cases.CASES)
def test_case(name):
    function, inputs = jax_cases.CASES[name]
    assert to_onnx(function, inputs, framework="jax").parity.passed


@pytest.mark.slow
@pytest.mark.parametrize("opset", [11, 13, 17, 25])
@pytest.mark.parametrize("name", jax_cases.CASES)
def test_opsets(name, opset):
    function, inputs = jax_cases.CASES[name]
    try:
        assert to_onnx(function, inputs, framework="jax", opset=opset).parity.passed
    except OpsetError as error:
        assert error.needs is not None and error.needs > opset


@pytest.mark.parametrize("name", jax_cases.OPEN)
def test_open_dims(name):
    function, specs = jax_cases.OPEN[name]
    result = to_onnx(function, specs, framework="jax")
    assert result.parity.passed
    assert [str(s) for s in result.source.specs] == list(specs)


@pytest.mark.parametrize("name", jax_cases.RANDOM)
def test_random(name):
    function, inputs = jax_cases.RANDOM[name]
    assert to_onnx(function, inputs, framework="jax").parity.passed


def exported(function, specs, path):
    """Saves a function with jax.export."""
    scope = jax.export.SymbolicScope()
    arguments = []
    for spec in specs:
        if isinstance(spec, str):
            parsed = parse_spec(spec)
            shape = jax.export.symbolic_shape(",".join(map(str, parsed.shape)) + ",", scope=scope)
            arguments.append(jax.ShapeDtypeStruct(shape, np.dtype(parsed.dtype)))
        else:
            arguments.append(jax.ShapeDtypeStruct(spec.shape, spec.dtype))
    path.write_bytes(jax.export.export(jax.jit(function))(*arguments).serialize())
    return path


#: jax itself refuses to save calls of LAPACK that it gives no guarantee for.
NOT_SAVED = {"reflections"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in jax_cases.CASES if name not in NOT_SAVED])
def test_case_from_file(name, tmp_path):
    function, inputs = jax_cases.CASES[name]
    assert to_onnx(exported(function, inputs, tmp_path / "f.jaxexp")).parity.passed


FROM_FILE = ["softmax", "arange", "reshape", "matmul", "concatenate", "gather", "scatter", "while", "cond"]


@pytest.mark.parametrize("name", FROM_FILE)
def test_open_dims_from_file(name, tmp_path):
    function, specs = jax_cases.OPEN[name]
    result = to_onnx(exported(function, specs, tmp_path / "f.jaxexp"))
    assert result.parity.passed
    assert [s.shape for s in result.source.specs] == [parse_spec(s).shape for s in specs]

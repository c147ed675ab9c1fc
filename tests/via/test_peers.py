"""Real peers: what they do well passes at opsets they can't write; what they do wrong comes out as a failure."""

import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest

from anyonnx.converters.api import to_onnx
from anyonnx.symbolic.errors import CaptureError, InputSpecError, ParityError, UnsupportedOps

FIXTURES = Path(__file__).parents[2] / "fixtures"


def needs(*packages):
    absent = [p for p in packages if importlib.util.find_spec(p) is None]
    return pytest.mark.skipif(bool(absent), reason=f"{', '.join(absent)} not installed")


@pytest.fixture(scope="module")
def iris():
    from sklearn.datasets import load_iris

    x, y = load_iris(return_X_y=True)
    return x, y


@pytest.fixture(scope="module")
def diabetes():
    from sklearn.datasets import load_diabetes

    x, y = load_diabetes(return_X_y=True)
    return x.astype(np.float32), y


def passes(model, inputs=None, *, opset, via, **options):
    conversion = to_onnx(model, inputs, opset=opset, via=via, **options)
    assert conversion.parity is not None and conversion.parity.passed, conversion
    assert conversion.model.opset_imports[""] == opset
    assert [v.name for v in conversion.model.graph.outputs] == conversion.source.output_names
    assert [v.name for v in conversion.model.graph.inputs] == [s.name for s in conversion.source.specs]
    return conversion


# --- skl2onnx --------------------------------------------------------------------------------------------------------

sklearn = needs("skl2onnx")


@sklearn
def test_pipeline(iris):
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, y = iris
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, y)
    conversion = passes(model, x.astype(np.float32), opset=11, via="skl2onnx")
    assert "LinearClassifier" in {n.op_type for n in conversion.model.graph}, "that is our own translation"
    assert "via skl2onnx" in str(conversion)


@sklearn
def test_regressor_gives_a_vector(iris, tmp_path):
    from sklearn.linear_model import Ridge

    x = iris[0].astype(np.float32)
    conversion = passes(Ridge().fit(x, x[:, 0]), x, opset=13, via="skl2onnx", output=tmp_path / "ridge.onnx")
    assert len(conversion.model.graph.outputs[0].shape) == 1
    assert (tmp_path / "ridge.onnx").exists()


@sklearn
def test_string_labels_and_scores(iris):
    from sklearn.svm import LinearSVC

    x = iris[0].astype(np.float32)
    passes(LinearSVC().fit(x, np.array(["a", "b", "c"])[iris[1]]), x, opset=13, via="skl2onnx")


@sklearn
def test_columns(tmp_path):
    pd = pytest.importorskip("pandas")
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    frame = pd.DataFrame({"size": np.arange(30, dtype=np.float32) / 7, "kind": ["a", "b", "c"] * 10})
    parts = make_column_transformer(
        (StandardScaler(), ["size"]), (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["kind"])
    )
    passes(make_pipeline(parts, Ridge()).fit(frame, np.arange(30.0)), frame, opset=13, via="skl2onnx")


@sklearn
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_forest_on_thresholds_and_missing_values(iris, dtype, tmp_path):
    from sklearn.ensemble import RandomForestClassifier

    x, y = iris
    forest = RandomForestClassifier(10, random_state=0).fit(x, y)
    with pytest.raises(ParityError, match=r"skl2onnx made \w+ with .*TreeEnsembleClassifier"):
        to_onnx(forest, x.astype(dtype), via="skl2onnx", opset=13, output=tmp_path / "no.onnx")
    assert not (tmp_path / "no.onnx").exists()


@sklearn
@pytest.mark.slow
def test_wrong_scale_of_probabilities(iris):
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    x, y = iris
    model = LinearDiscriminantAnalysis().fit(x[:100], y[:100])
    with pytest.raises(ParityError, match="skl2onnx made probabilities with"):
        to_onnx(model, x[:100].astype(np.float32), via="skl2onnx", opset=13)


@sklearn
def test_no_converter(iris):
    from sklearn.dummy import DummyRegressor

    with pytest.raises(
        CaptureError, match=r"skl2onnx can't convert this model .*MissingShapeCalculator.*DummyRegressor"
    ):
        to_onnx(DummyRegressor().fit(*iris), iris[0], via="skl2onnx")


# --- onnxmltools -----------------------------------------------------------------------------------------------------


@needs("onnxmltools", "xgboost")
def test_xgboost(iris, diabetes):
    import xgboost

    x, y = iris
    model = xgboost.XGBClassifier(n_estimators=4, n_jobs=1).fit(x, y)
    passes(model, x.astype(np.float32), opset=13, via="onnxmltools")
    cox = xgboost.XGBRegressor(n_estimators=4, n_jobs=1, objective="survival:cox").fit(*diabetes)
    with pytest.raises(ParityError, match=r"onnxmltools made variable with .*TreeEnsembleRegressor"):
        to_onnx(cox, diabetes[0], via="onnxmltools", opset=13)


@needs("onnxmltools", "lightgbm")
@pytest.mark.parametrize("option", ["zero_as_missing", "reg_sqrt"])
def test_lightgbm_option_that_is_ignored(diabetes, option):
    import lightgbm

    x, y = diabetes
    x = np.where(x > 0.03, np.float32(0), x)
    model = lightgbm.LGBMRegressor(n_estimators=4, verbose=-1, n_jobs=1, **{option: True}).fit(x, y)
    with warnings.catch_warnings(), pytest.raises(ParityError, match=r"onnxmltools made variable with .*TreeEnsemble"):
        warnings.simplefilter("ignore")
        to_onnx(model, x, via="onnxmltools", opset=13)


@needs("onnxmltools", "catboost")
def test_catboost(iris):
    passes(FIXTURES / "wine_catboost.cbm", opset=13, via="onnxmltools")


# --- torch.onnx ------------------------------------------------------------------------------------------------------


@needs("onnxscript", "torch")
def test_torch_at_an_opset_it_does_not_write():
    passes(FIXTURES / "digits_cnn.pt2", opset=13, via="torch.onnx")


@needs("onnxscript", "torch")
def test_torch_wrong_numbers_are_traced_to_their_node():
    import torch

    class Pool(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.avg_pool2d(x.relu(), 2, divisor_override=2).sin()

    with pytest.raises(ParityError, match=r"first divergence: AveragePool node .*source avg_pool2d"):
        to_onnx(Pool(), (torch.randn(2, 1, 8, 8),), via="torch.onnx", opset=13, dynamic={0: {0: "batch"}})


@needs("onnxscript", "torch")
@pytest.mark.slow
def test_torch_operator_without_function():
    import torch

    class Values(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.svdvals(x)

    with pytest.raises(CaptureError, match=r"No ONNX function found for .*aten._linalg_svd"):
        to_onnx(Values(), (torch.randn(3, 3),), via="torch.onnx", opset=13)


# --- tf2onnx ---------------------------------------------------------------------------------------------------------

tensorflow = needs("tf2onnx", "tensorflow")


@tensorflow
def test_keras_file():
    passes(FIXTURES / "digits_rows.keras", opset=13, via="tf2onnx")


@tensorflow
def test_operator_left_in_the_graph():
    with pytest.raises(UnsupportedOps, match=r"Erfc x1 at .*hidden_1/Gelu/Erfc: tf2onnx left it in its model"):
        to_onnx(FIXTURES / "digits_keras.keras", via="tf2onnx", opset=13)


@tensorflow
@pytest.mark.slow
@pytest.mark.parametrize("name", ["digits_tf", "digits_tf.pb", "digits.tflite"])
def test_tensorflow_files(name):
    passes(FIXTURES / name, opset=13, via="tf2onnx")


@tensorflow
@pytest.mark.slow
def test_tensorflow_outputs_keep_their_order():
    import tensorflow as tf

    weight = tf.Variable(np.ones((3, 2), np.float32))
    function = tf.function(lambda x: {"b": x @ weight, "a": tf.nn.relu(x)}, input_signature=[tf.TensorSpec([None, 3])])
    passes(function, opset=13, via="tf2onnx")


# --- jax2onnx --------------------------------------------------------------------------------------------------------


@needs("jax2onnx", "jax")
def test_jax():
    import jax.numpy as jnp

    weight = jnp.ones((3, 2))
    passes(lambda x: jnp.tanh(x @ weight), ("x:float32[batch,3]",), opset=13, via="jax2onnx", framework="jax")
    with pytest.raises(ParityError, match="jax2onnx made output with ScatterND"):
        to_onnx(lambda x: x.at[0].apply(jnp.sin), ("x:float32[4,3]",), via="jax2onnx", framework="jax")


@needs("jax")
def test_jax_file(monkeypatch):
    from anyonnx.converters import via

    monkeypatch.setitem(via.PEERS, "jax2onnx", via.Peer("jax2onnx", ("jax",), "jax", 21))
    with pytest.raises(InputSpecError, match="jax2onnx converts live functions"):
        to_onnx(FIXTURES / "digits_flax.jaxexp", via="jax2onnx")


# --- paddle2onnx -----------------------------------------------------------------------------------------------------


@needs("paddle")
@pytest.mark.slow
def test_paddle_in_an_environment_of_its_own():
    """Makes the environment in the user's cache (200 MB from the package index)."""
    passes(FIXTURES / "digits_paddle.json", opset=13, via="paddle2onnx")

"""The model files inside the onnx package, most of them of opset 6 (declared as 9 here) to 10: all targets agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.backend.test
import pytest
from retarget import TARGETS, same_everywhere

from anyonnx.validation.models import load_model
from anyonnx.validation.providers.base import ProviderError
from anyonnx.validation.providers.ort import Session

DATA = Path(onnx.backend.test.__file__).parent / "data"
FILES = sorted([*DATA.glob("*/*/model.onnx"), *DATA.glob("light/*.onnx")])


def _inputs(path: Path, model: onnx.ModelProto) -> dict[str, np.ndarray]:
    held = {t.name for t in model.graph.initializer}
    found = {}
    for i, value in enumerate(v for v in model.graph.input if v.name not in held):
        stored = path.parent / "test_data_set_0" / f"input_{i}.pb"
        if stored.exists():
            found[value.name] = onnx.numpy_helper.to_array(onnx.load_tensor(stored))
        else:
            shape = [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
            found[value.name] = np.random.default_rng(i).standard_normal(shape).astype(np.float32)
    return found


def _converted(path: Path) -> bool:
    """Compares one file at every target; False where onnxruntime can't run the file itself."""
    model = onnx.load(path)
    for entry in model.opset_import:
        # at opset 6 only broadcasting was written otherwise: where it is used, 9 is refused by the runtime
        entry.version = max(entry.version, 9) if not entry.domain else entry.version
    inputs = _inputs(path, model)
    try:
        Session(load_model(model), optimize=False).run(inputs)
    except ProviderError:
        return False
    same_everywhere(model, [inputs], limit=1e-5)
    return True


@pytest.mark.parametrize(
    ("folder", "least"),
    [
        pytest.param("light", 9, marks=pytest.mark.slow),  # whole networks: VGG19, DenseNet ...
        ("pytorch-converted", 55),
        ("pytorch-operator", 20),
        ("simple", 17),
    ],
)
def test_models_of_the_standard(folder: str, least: int) -> None:
    done = [_converted(path) for path in FILES if path.relative_to(DATA).parts[0] == folder]
    assert sum(done) >= least, f"{sum(done)} of {len(done)} files of {folder} run at targets {TARGETS}"

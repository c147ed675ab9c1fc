"""Writes a loaded model to a file, so that another converter can read it in its own process."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..symbolic.errors import InputSpecError
from .base import Options


def hand_over(source: Any, model: Any, inputs: Any, options: Options, folder: Path) -> dict[str, Any]:
    """Writes the model to a file that its framework reads in another process.

    Returns:
        What the request says about it: path, and what goes with that.

    Raises:
        InputSpecError: It can't be handed over.
    """
    path = folder / "source"
    try:
        return _HANDS[source.framework](source, model, inputs, options, path)
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RuntimeError) as error:
        first = str(error).strip().split("\n")[0]
        raise InputSpecError(
            f"the model can't be handed to another converter ({type(error).__name__}: {first})"
        ) from error


def _torch(source: Any, model: Any, inputs: Any, options: Options, path: Path) -> dict[str, Any]:
    import torch

    path = path.with_suffix(".pt2")
    torch.export.save(source.program, path)
    return {"path": str(path)}


def _estimator(source: Any, model: Any, inputs: Any, options: Options, path: Path) -> dict[str, Any]:
    import joblib

    joblib.dump(source.model if source.framework == "sklearn" else source.native(), path)
    return {"path": str(path)}


def _keras(source: Any, model: Any, inputs: Any, options: Options, path: Path) -> dict[str, Any]:
    if not isinstance(model, os.PathLike):
        path = path.with_suffix(".keras")
        model.save(path)
        model = path
    return {"path": os.path.abspath(model), "form": "keras"}


def _tensorflow(source: Any, model: Any, inputs: Any, options: Options, path: Path) -> dict[str, Any]:
    if isinstance(model, os.PathLike) and Path(model).is_dir():
        return {"path": os.path.abspath(model), "form": "saved_model", "signature": options.extra.get("signature")}
    if isinstance(model, os.PathLike):
        fed, fetched = (
            [n if ":" in n else f"{n}:0" for n in names] for names in (source.program.inputs, source.program.results)
        )
        return {"path": os.path.abspath(model), "form": "graph", "fed": fed, "fetched": fetched}
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    from .from_tensorflow import live

    frozen = convert_variables_to_constants_v2(
        live._concrete(model, inputs), lower_control_flow=False, aggressive_inlining=True
    )
    path.write_bytes(frozen.graph.as_graph_def().SerializeToString())
    fed, fetched = ([t.name for t in tensors] for tensors in (frozen.inputs, frozen.outputs))
    return {"path": str(path), "form": "graph", "fed": fed, "fetched": fetched}


def _tflite(source: Any, model: Any, inputs: Any, options: Options, path: Path) -> dict[str, Any]:
    if not isinstance(model, os.PathLike):
        path.write_bytes(bytes(model))
        model = path
    return {"path": os.path.abspath(model), "form": "tflite"}


def _paddle(source: Any, model: Any, inputs: Any, options: Options, path: Path) -> dict[str, Any]:
    if not isinstance(model, os.PathLike):
        import paddle

        from .from_paddle.live import Arguments, evaluating

        arguments = Arguments(model, inputs, options)
        specs = [
            paddle.static.InputSpec([None if isinstance(s, str) else s for s in spec.shape], spec.dtype, name)
            for name, spec in zip(arguments.names, arguments.specs, strict=True)
        ]
        with evaluating(model):
            paddle.jit.save(model, str(path), input_spec=list(arguments.filled(specs).values()))
        model = next(p for p in (path.with_suffix(".json"), path.with_suffix(".pdmodel")) if p.exists())
    file = Path(os.path.abspath(model))
    weights = file.with_suffix(".pdiparams")
    return {"path": str(file), "weights": str(weights) if weights.exists() else None}


class FlatFunction:
    """A JAX function of its array inputs only, in order, that gives its arrays in order."""

    def __init__(self, function: Any, arguments: Any):
        self.function, self.arguments = function, arguments

    def __call__(self, *tensors: Any) -> tuple[Any, ...]:
        """Calls the function."""
        import jax

        leaves = jax.tree_util.tree_leaves(self.arguments.call(self.function, tensors))
        return tuple(leaf for leaf in leaves if hasattr(leaf, "dtype"))


def _jax(source: Any, model: Any, inputs: Any, options: Options, path: Path) -> dict[str, Any]:
    if isinstance(model, os.PathLike):
        raise InputSpecError("jax2onnx converts live functions: name one as package.module:attribute, not a file")
    try:
        import cloudpickle as pickler  # type: ignore[import-untyped]
    except ModuleNotFoundError as error:
        raise InputSpecError("handing a JAX function over needs cloudpickle: pip install cloudpickle") from error
    path.write_bytes(pickler.dumps(FlatFunction(source.function, source._arguments)))
    return {"path": str(path)}


_HANDS: dict[str, Callable[..., dict[str, Any]]] = {
    "torch": _torch,
    **dict.fromkeys(("sklearn", "xgboost", "lightgbm", "catboost"), _estimator),
    "keras": _keras,
    "tensorflow": _tensorflow,
    "tflite": _tflite,
    "paddle": _paddle,
    "jax": _jax,
}

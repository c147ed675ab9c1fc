"""Reads Keras files into a configuration and lazy weights, without Keras."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx_ir as ir

from ...symbolic.errors import CaptureError, InputSpecError
from .h5 import Datasets, member_offset

Tensors = dict[str, ir.TensorProtocol]
_CONFIG, _WEIGHTS = "config.json", "model.weights.h5"


@dataclass
class StoredModel:
    """A model file.

    Attributes:
        config: The serialised model.
        version: Keras version that wrote it, where the file says.
        data: Its weights.
        format: ``keras`` or ``h5``.
    """

    config: Mapping[str, Any]
    version: str
    data: Datasets
    format: str


def read_model(path: Path, format: str) -> StoredModel:
    """Reads a ``.keras`` or ``.h5`` file.

    Raises:
        InputSpecError: The file is damaged, or holds weights without a model.
        MissingDependency: h5py isn't installed.
    """
    return _read_archive(path) if format == "keras" else _read_h5(path)


def _read_archive(path: Path) -> StoredModel:
    try:
        with zipfile.ZipFile(path) as archive:
            config = json.loads(archive.read(_CONFIG))
            metadata = json.loads(archive.read("metadata.json"))
            if _WEIGHTS not in archive.namelist():
                raise InputSpecError(f"{path} has no {_WEIGHTS}; other weight formats are not supported")
            member = archive.getinfo(_WEIGHTS)
            if member.compress_type != zipfile.ZIP_STORED:
                return StoredModel(config, _version(metadata), _unpacked(archive, member), "keras")
    except (zipfile.BadZipFile, json.JSONDecodeError, UnicodeDecodeError, KeyError) as error:
        raise InputSpecError(f"{path} is no Keras archive: {error}") from error
    data = Datasets(path, member_offset(path, member), member.file_size)
    return StoredModel(config, _version(metadata), data, "keras")


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Datasets:
    """Weights of an archive that was compressed after the fact: unpacked into a file that goes with the process."""
    holder = tempfile.TemporaryDirectory(prefix="anyonnx-")
    data = Datasets(Path(archive.extract(member, holder.name)))
    data.folder = holder
    return data


def _version(metadata: Any) -> str:
    return str(metadata.get("keras_version", "")) if isinstance(metadata, Mapping) else ""


def _read_h5(path: Path) -> StoredModel:
    data = Datasets(path)
    attributes = data.attributes(data.file)
    config = attributes.get("model_config")
    if config is None:
        raise InputSpecError(
            f"{path} holds weights without a model (no model_config): load them into the model, "
            'save it with model.save("model.keras") and convert that'
        )
    try:
        parsed = json.loads(config)
    except json.JSONDecodeError as error:
        raise InputSpecError(f"{path} has a damaged model_config: {error}") from error
    version = attributes.get("keras_version", b"")
    return StoredModel(parsed, version.decode() if isinstance(version, bytes) else str(version), data, "h5")


# --- weights ---------------------------------------------------------------------------------------------------------


def archive_weights(data: Datasets, wanted: Sequence[Any]) -> Tensors:
    """Weights of a ``.keras`` file by variable path.

    Args:
        data: Its weights file.
        wanted: `symbolic.keras_layers.variables.Variable` of the whole model.
    """
    found: Tensors = {}
    groups: dict[str, Any] = {}
    for variable in wanted:
        group = groups.get(variable.store)
        if group is None:
            group = groups[variable.store] = _group(data, variable.store)
        tensor = data.tensor(group, str(variable.index)) if group else None
        if tensor is not None:
            found[variable.path] = tensor
    return found


def _group(data: Datasets, store: str) -> Any:
    """The group of a layer's own variables."""
    outer, _, last = store.rpartition("/")
    private = f"{outer}/_{last}" if outer else f"_{last}"  # some layers inside layers have no public name
    old = store.replace("layers", "_layer_checkpoint_dependencies")  # Keras 2.13 to 2.15
    for path in (store, private, old):
        group = data.group(f"{path}/vars" if path else "vars")
        if group:
            return group
    return {}


def h5_weights(data: Datasets, wanted: Sequence[Any]) -> Tensors:
    """Weights of an ``.h5`` file by variable path: for each layer of the model the trained ones, then the others."""
    root = data.group("model_weights") or data.file
    by_layer: dict[str, list[Any]] = {}
    for variable in wanted:
        by_layer.setdefault(variable.steps[0] if variable.steps else "", []).append(variable)
    found: Tensors = {}
    for name, own in by_layer.items():
        group = root.get(name, {})
        names = data.strings(group, "weight_names")
        ordered = [v for v in own if v.trainable] + [v for v in own if not v.trainable]
        if len(names) != len(ordered):
            raise CaptureError(
                f"the layer {name} has {len(names)} weights in the file ({', '.join(names[:6])}), "
                f"its configuration says {len(ordered)}: {', '.join(v.path for v in ordered[:6])}"
            )
        for variable, stored in zip(ordered, names, strict=True):
            if stored.rsplit("/", 1)[-1].split(":")[0] != variable.name and not _renamed(stored, variable.name):
                raise CaptureError(f"the layer {name} has a weight {stored} where {variable.path} was expected")
            tensor = data.tensor(group, stored)
            if tensor is not None:
                found[variable.path] = tensor
    return found


def _renamed(stored: str, name: str) -> bool:
    """Whether a file's name for a weight is not the layer's own word for it."""
    last = stored.rsplit("/", 1)[-1].split(":")[0]
    return last in ("scale", "attention_scale", "concat_score_weight", "variable") or name in last

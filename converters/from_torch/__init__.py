"""The PyTorch frontend: `load` reads modules and files, `capture` exports, `graph` walks, `source` runs."""

from .load import TorchFrontend
from .source import TorchSource

__all__ = ["TorchFrontend", "TorchSource"]

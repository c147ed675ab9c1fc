"""The scikit-learn frontend: `load` reads files, `inputs` names them, `source` runs, `samples` makes hard rows."""

from .load import SklearnFrontend
from .source import SklearnSource

__all__ = ["SklearnFrontend", "SklearnSource"]

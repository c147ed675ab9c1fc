"""TensorFlow: SavedModels and frozen graphs read without TensorFlow, live functions through their graphs."""

from .load import TensorflowFrontend

__all__ = ["TensorflowFrontend"]

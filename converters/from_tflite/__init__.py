"""TensorFlow Lite: flatbuffer models, read without TensorFlow."""

from .load import TfliteFrontend

__all__ = ["TfliteFrontend"]

"""Keras: ``.keras`` and ``.h5`` files, read without Keras, and live Functional and Sequential models."""

from .load import KerasFrontend

__all__ = ["KerasFrontend"]

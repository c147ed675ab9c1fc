"""numpy code that is run once on arrays which write down what is done to them."""

from .array import TracedArray, TraceError, traced, untraced

__all__ = ["TraceError", "TracedArray", "traced", "untraced"]

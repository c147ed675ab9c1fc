"""Dialect ``aten.complex``: ATen operators where an operand or a result is complex."""

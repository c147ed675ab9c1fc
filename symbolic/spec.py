"""Named tensor specs: how inputs are described everywhere, ``"x:float32[batch,3,224,224]"``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .errors import InputSpecError

DTYPES = [
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "string",
    "complex64",
    "complex128",
]

_SPEC = re.compile(r"^\s*(?:(?P<name>[^:\[\]]+)\s*:)?\s*(?P<dtype>[a-z0-9]+)\s*(?:\[(?P<dims>[^\[\]]*)\])?\s*$")
_SYMBOL = re.compile(r"^[A-Za-z_]\w*$")


@dataclass(frozen=True)
class TensorSpec:
    """Name, dtype and shape of one input or output.

    Attributes:
        name: Tensor name.
        dtype: numpy name of the element type, or ``string``.
        shape: One entry for each axis: a size, or the name of an open dim.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]

    def __str__(self) -> str:
        return f"{self.name}:{self.dtype}[{','.join(map(str, self.shape))}]"

    @property
    def symbols(self) -> list[str]:
        """Names of the open dims, in order of first use."""
        return list(dict.fromkeys(d for d in self.shape if isinstance(d, str)))

    def sized(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape with every open dim replaced by its size."""
        return tuple(d if isinstance(d, int) else sizes[d] for d in self.shape)


def parse_spec(text: str, default_name: str = "input") -> TensorSpec:
    """Reads ``"x:float32[batch,3,224,224]"``; names in the brackets are open dims.

    Args:
        text: The spec. The name may be left out.
        default_name: Name used where the spec has none.

    Raises:
        InputSpecError: The text is not a spec; the message shows a right one.
    """
    match = _SPEC.match(text)
    example = 'write it as "x:float32[batch,3,224,224]"'
    if match is None:
        raise InputSpecError(f"can't read the input spec {text!r}; {example}")
    dtype = match["dtype"]
    if dtype not in DTYPES:
        raise InputSpecError(f"unknown dtype {dtype!r} in the input spec {text!r}; one of {', '.join(DTYPES)}")
    shape: list[int | str] = []
    for part in (p.strip() for p in (match["dims"] or "").split(",")):
        if not part and not (match["dims"] or "").strip():
            continue
        if part.isdigit():
            shape.append(int(part))
        elif _SYMBOL.match(part):
            shape.append(part)
        else:
            raise InputSpecError(f"can't read the dim {part!r} in the input spec {text!r}; {example}")
    return TensorSpec((match["name"] or default_name).strip(), dtype, tuple(shape))

"""Conditions on open sizes that a capture rests on: a branch taken, a length counted, a size rounded.

torch.export notes them beside the graph, and ONNX has no place for them. Most only say what the model demands anyway.
A model that runs where one is broken, and computes something else there, was captured for some sizes only.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

#: Most sizes that are tried for one dim, and most conditions that are broken one by one.
_MOST_SIZES, _MOST_PROBES, _FEW = 40, 6, 8
_LARGEST = 4096


class Conditions:
    """The conditions of a program.

    Args:
        nodes: Placeholders of the program.
        names: Symbol of the program -> name of the dim.
    """

    def __init__(self, nodes: Sequence[Any], names: Mapping[str, str]):
        found = [g.expr for env in _environments(nodes) for g in env.guards]
        symbols = {str(s) for n in nodes for size in n.meta["val"].shape for s in _symbols(size)}
        self._names = names
        self.all = [c for c in dict.fromkeys(found) if {str(s) for s in c.free_symbols} <= symbols and c.free_symbols]

    @property
    def dims(self) -> set[str]:
        """Names of the dims that they limit."""
        return {self._name(s) for c in self.all for s in c.free_symbols}

    def __len__(self) -> int:
        return len(self.all)

    def hold(self, sizes: Mapping[str, int]) -> bool:
        """Whether all of them hold for sizes of the dims; True for one that can't be told."""
        return all(self._holds(c, sizes) for c in self.all)

    def _name(self, symbol: Any) -> str:
        return self._names.get(str(symbol), str(symbol))

    def _holds(self, condition: Any, sizes: Mapping[str, int]) -> bool:
        import sympy  # type: ignore[import-untyped]

        known = {s: sympy.Integer(sizes[self._name(s)]) for s in condition.free_symbols if self._name(s) in sizes}
        try:
            result = condition.xreplace(known)
        except ZeroDivisionError:  # a quotient that the model itself can't take
            return True
        return bool(result) if result in (sympy.true, sympy.false) else True

    def kept(self, sizes: Mapping[str, int], base: Mapping[str, int]) -> dict[str, int]:
        """The sizes, or others near them that meet all conditions; `base` does where none is found."""
        wanted = dict(sizes)
        involved = [n for n in wanted if any(n in map(self._name, c.free_symbols) for c in self.all)]
        if self.hold(wanted):
            return wanted
        for changed in _combinations(involved, wanted, self._numbers()):
            if self.hold(wanted | changed):
                return wanted | changed
        return wanted | {n: base[n] for n in involved if n in base}

    def broken(self, base: Mapping[str, int]) -> Iterator[tuple[str, dict[str, int]]]:
        """Sizes that break a condition each, and the condition in words; as few as break all that can be broken."""
        found: list[dict[str, int]] = []
        for condition in self.all:
            if len(found) == _MOST_PROBES or any(not self._holds(condition, sizes) for sizes in found):
                continue
            names = [self._name(s) for s in condition.free_symbols]
            for changed in _combinations(names, base, _numbers_in(condition)):
                if not self._holds(condition, dict(base) | changed):
                    found.append(dict(base) | changed)
                    yield self.text(condition), found[-1]
                    break

    def _numbers(self) -> list[int]:
        return sorted({n for c in self.all for n in _numbers_in(c)})

    def text(self, condition: Any) -> str:
        """A condition with the names of the dims in it."""
        import sympy

        return str(condition.xreplace({s: sympy.Symbol(self._name(s), integer=True) for s in condition.free_symbols}))


def _environments(nodes: Sequence[Any]) -> list[Any]:
    import torch

    tensors = [n.meta["val"] for n in nodes if isinstance(n.meta.get("val"), torch.Tensor)]
    modes = [t.fake_mode for t in tensors if hasattr(t, "fake_mode")]
    found = {id(m.shape_env): m.shape_env for m in modes if m.shape_env is not None}
    return list(found.values())


def _symbols(size: Any) -> Any:
    return () if isinstance(size, int) else size.node.expr.free_symbols


def _numbers_in(condition: Any) -> list[int]:
    import sympy

    return sorted({abs(int(n)) for n in condition.atoms(sympy.Integer) if abs(int(n)) <= _LARGEST})


def _combinations(names: Sequence[str], base: Mapping[str, int], numbers: Sequence[int]) -> Iterator[dict[str, int]]:
    """Sizes for some dims, those near the known ones first."""
    choices = []
    for name in names:
        size = base[name]
        near = [size + 1, size - 1, 2 * size, 2 * size + 1, 3 * size, size + 2, 1, 2, 3, 5, 7, size + 5]
        near += [n + d for n in numbers for d in (0, 1, -1)] + [n * size for n in numbers] + [2 * n for n in numbers]
        choices.append([s for s in dict.fromkeys([size, *near]) if 1 <= s <= max(_LARGEST, size)][:_MOST_SIZES])
    for name, sizes in zip(names, choices, strict=True):
        yield from ({name: s} for s in sizes)
    yield from (dict(zip(names, sizes, strict=True)) for sizes in zip(*choices, strict=False))
    if len(names) == 2:
        short = (sizes[:_FEW] for sizes in choices)
        yield from (dict(zip(names, sizes, strict=True)) for sizes in itertools.product(*short))

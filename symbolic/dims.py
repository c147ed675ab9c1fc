"""Symbolic sizes: integer polynomials over named dims, in one canonical form.

``Dim("batch") * 197`` equals ``197 * Dim("batch")``, prints ``197*batch`` and never needs sympy.
Arithmetic gives a plain ``int`` whenever the result is constant.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TypeAlias

#: One factor of a monomial: a dim's name, or a call such as ("floordiv", a, b).
Atom: TypeAlias = "str | tuple[str, Size, Size]"
Monomial: TypeAlias = "tuple[Atom, ...]"
Size: TypeAlias = "int | Dim"
#: The sizes of a tensor; None stands for one that nothing is known about.
Sizes: TypeAlias = "tuple[int | Dim | None, ...]"

_CALL_TEXT = {"floordiv": "({} // {})", "mod": "({} % {})", "max": "max({}, {})", "min": "min({}, {})"}


class Dim:
    """A size that is not known before the model runs: sum of coefficient x product of atoms.

    Sizes are taken to be non-negative and divisors to be positive.
    """

    __slots__ = ("_hash", "terms")

    terms: tuple[tuple[Monomial, int], ...]

    def __init__(self, name: str):
        self.terms = (((name,), 1),)
        self._hash = hash(self.terms)

    @staticmethod
    def _make(terms: Mapping[Monomial, int]) -> Size:
        kept = [(m, c) for m, c in terms.items() if c]
        if not kept:
            return 0
        if len(kept) == 1 and kept[0][0] == ():
            return kept[0][1]
        kept.sort(key=lambda t: (-len(t[0]), repr(t[0])))
        dim = object.__new__(Dim)
        dim.terms = tuple(kept)
        dim._hash = hash(dim.terms)
        return dim

    @staticmethod
    def _call(fn: str, a: Size, b: Size) -> Size:
        return Dim._make({((fn, a, b),): 1})

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Dim) and self.terms == other.terms)

    def __repr__(self) -> str:
        return f"Dim({self})"

    def __str__(self) -> str:
        text = ""
        for monomial, coefficient in self.terms:
            factors = [_atom_text(a) for a in monomial]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            sign = "-" if coefficient < 0 else "+"
            text += (f" {sign} " if text else ("-" if coefficient < 0 else "")) + "*".join(factors)
        return text

    @property
    def name(self) -> str | None:
        """The dim's name if it is a bare named dim, else None."""
        if len(self.terms) == 1 and self.terms[0][1] == 1 and len(self.terms[0][0]) == 1:
            atom = self.terms[0][0][0]
            return atom if isinstance(atom, str) else None
        return None

    @property
    def is_polynomial(self) -> bool:
        """Whether no division, remainder, minimum or maximum occurs in it."""
        return all(isinstance(a, str) for m, _ in self.terms for a in m)

    def symbols(self) -> set[str]:
        """Names of all dims it is made of."""
        names: set[str] = set()
        for monomial, _ in self.terms:
            for atom in monomial:
                if isinstance(atom, str):
                    names.add(atom)
                else:
                    for operand in atom[1:]:
                        if isinstance(operand, Dim):
                            names |= operand.symbols()
        return names

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        """Its value where every dim has the given size."""
        return sum(c * math.prod(_atom_value(a, sizes) for a in m) for m, c in self.terms)

    def substitute(self, sizes: Mapping[str, Size]) -> Size:
        """The same expression with some dims replaced."""
        total: Size = 0
        for monomial, coefficient in self.terms:
            product: Size = coefficient
            for atom in monomial:
                if isinstance(atom, str):
                    factor: Size = sizes.get(atom, Dim(atom))
                else:
                    a, b = (o.substitute(sizes) if isinstance(o, Dim) else o for o in atom[1:])
                    factor = call(atom[0], a, b)
                product = product * factor
            total = total + product
        return total

    def __add__(self, other: Size) -> Size:
        if not isinstance(other, (int, Dim)):
            return NotImplemented
        terms = dict(self.terms)
        for monomial, coefficient in _terms(other):
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return Dim._make(terms)

    __radd__ = __add__

    def __mul__(self, other: Size) -> Size:
        if not isinstance(other, (int, Dim)):
            return NotImplemented
        terms: dict[Monomial, int] = {}
        for m1, c1 in self.terms:
            for m2, c2 in _terms(other):
                monomial = tuple(sorted(m1 + m2, key=repr))
                terms[monomial] = terms.get(monomial, 0) + c1 * c2
        return Dim._make(terms)

    __rmul__ = __mul__

    def __neg__(self) -> Size:
        return self * -1

    def __sub__(self, other: Size) -> Size:
        if not isinstance(other, (int, Dim)):
            return NotImplemented
        return self + (other * -1)

    def __rsub__(self, other: int) -> Size:
        return (self * -1) + other

    def __floordiv__(self, other: Size) -> Size:
        quotient = exact_quotient(self, other)
        return Dim._call("floordiv", self, other) if quotient is None else quotient

    def __rfloordiv__(self, other: int) -> Size:
        return 0 if other == 0 else Dim._call("floordiv", other, self)

    def __mod__(self, other: Size) -> Size:
        return Dim._call("mod", self, other) if exact_quotient(self, other) is None else 0

    def __rmod__(self, other: int) -> Size:
        return 0 if other == 0 else Dim._call("mod", other, self)


def call(fn: str, a: Size, b: Size) -> Size:
    """Applies "floordiv", "mod", "max" or "min" (Python meaning), folding where both are known."""
    if fn == "floordiv":
        return a // b
    if fn == "mod":
        return a % b
    if a == b:
        return a
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b) if fn == "max" else min(a, b)
    first, second = sorted((a, b), key=repr)
    return Dim._call(fn, first, second)


def exact_quotient(a: Size, b: Size) -> Size | None:
    """a / b where that is a polynomial again, else None. ``b`` is a constant or a single product."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b if b and a % b == 0 else None
    divisor = _terms(b)
    if len(divisor) != 1:
        return 1 if a == b else None
    (atoms, factor), terms = divisor[0], {}
    if not factor:
        return None
    for monomial, coefficient in _terms(a):
        left = list(monomial)
        for atom in atoms:
            if atom not in left:
                return None
            left.remove(atom)
        if coefficient % factor:
            return None
        terms[tuple(left)] = coefficient // factor
    return Dim._make(terms)


def product(sizes: Iterable[Size]) -> Size:
    """Product of sizes."""
    result: Size = 1
    for size in sizes:
        result = result * size
    return result


def as_size(size: int | str | Dim) -> Size:
    """A dim's name becomes a Dim; sizes stay as they are."""
    return Dim(size) if isinstance(size, str) else size


def _terms(size: Size) -> tuple[tuple[Monomial, int], ...]:
    return size.terms if isinstance(size, Dim) else (((), int(size)),)


def _atom_text(atom: Atom) -> str:
    return atom if isinstance(atom, str) else _CALL_TEXT[atom[0]].format(atom[1], atom[2])


def _atom_value(atom: Atom, sizes: Mapping[str, int]) -> int:
    if isinstance(atom, str):
        return sizes[atom]
    a, b = (o.evaluate(sizes) if isinstance(o, Dim) else o for o in atom[1:])
    value = call(atom[0], a, b)
    assert isinstance(value, int)
    return value

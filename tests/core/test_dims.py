"""Symbolic sizes equal what their numbers give, whatever the numbers."""

import itertools
import random

import pytest

from anyonnx.symbolic.dims import Dim, call, exact_quotient, product

A, B = Dim("a"), Dim("b")


def test_equal_expressions_are_one():
    assert A * 197 + B == B + 197 * A
    assert hash(A * B) == hash(B * A)
    assert A - A == 0 and isinstance(A - A, int)
    assert (A * 12) // (A * 4) == 3
    assert str(A * 2 + 1) == "2*a + 1"
    assert str(-A + B * A) == "a*b - a"


@pytest.mark.parametrize("seed", range(30))
def test_arithmetic_agrees_with_numbers(seed):
    generator = random.Random(seed)
    numbers = {"a": generator.randint(2, 40), "b": generator.randint(2, 40)}
    pairs = [(A, numbers["a"]), (B, numbers["b"]), (3, 3), (7, 7)]
    for _ in range(12):
        (x, nx), (y, ny) = generator.choice(pairs), generator.choice(pairs)
        for name in ("+", "*", "//", "%", "max", "min"):
            if name in ("//", "%") and (ny <= 0 or nx < 0):
                continue
            made, number = _apply(name, x, y), _apply(name, nx, ny)
            assert (made.evaluate(numbers) if isinstance(made, Dim) else made) == number, f"{x} {name} {y}"
            pairs.append((made, number))


def _apply(name, x, y):
    if name in ("max", "min"):
        return call(name, x, y)
    return {"+": lambda: x + y, "*": lambda: x * y, "//": lambda: x // y, "%": lambda: x % y}[name]()


def test_exact_quotients_only_where_they_are_polynomials():
    assert exact_quotient(A * B * 6, A * 2) == B * 3
    assert exact_quotient(A * 6 + 3, 3) == A * 2 + 1
    assert exact_quotient(A * 6 + 2, 3) is None
    assert exact_quotient(7, 2) is None
    assert exact_quotient(A + B, A + B) == 1


def test_substitution():
    expression = (A * 4 + 1) // 2 + call("max", A, B)
    for a, b in itertools.product((1, 5, 8), (2, 6)):
        assert expression.substitute({"a": a, "b": b}) == expression.evaluate({"a": a, "b": b})
    assert (A * 2).substitute({"a": B + 1}) == B * 2 + 2


def test_properties():
    assert A.name == "a" and (A * 2).name is None
    assert (A * B + 1).symbols() == {"a", "b"} and ((A // 3) * B).symbols() == {"a", "b"}
    assert (A * B).is_polynomial and not (A // 3).is_polynomial
    assert product([A, 2, B]) == A * B * 2 and product([]) == 1

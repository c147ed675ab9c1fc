"""What every Unicode character means to an analyzer, and how the graph asks a string about it.

ONNX can't take a string apart. It can ask whether a string matches a pattern (RegexFullMatch), and put strings together
(StringConcat). So each character gets a number that says all that the analyzer needs to know about it: which character
of the vocabulary it becomes (lower case, without accent), or which kind of other character it is. One pattern for each
bit of the numbers asks about the character at a place.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np

_COUNT = 0x110000
_SURROGATES = slice(0xD800, 0xE000)  # no string that ONNX holds has them
#: Characters that stand for any other one inside a token; the first that the vocabulary lacks is taken.
_OTHER = ("\ufffd", "\ufffe", "\uffff", "\U0010ffff")

#: Places of a capital sigma's neighbours in its lower case: letters, characters that are passed over, others.
CASED, IGNORED = 1, 2


@cache
def _all() -> str:
    return "".join(map(chr, range(_COUNT)))


@cache
def members(pattern: str) -> np.ndarray:
    """Which characters a character class of Python's `re` holds: bool[0x110000]."""
    found = np.zeros(_COUNT, bool)
    for match in re.finditer(f"(?s)(?:{pattern})+", _all()):
        found[match.start() : match.end()] = True
    return found


@cache
def mapped(lower: bool, accents: str) -> dict[str, str]:
    """The characters that lower case and the removal of accents change, with what they become.

    With ``ascii`` all that is not ASCII goes, also what is not listed here.

    Args:
        lower: Whether ``str.lower`` comes first. The capital sigma is taken for one inside a word.
        accents: ``unicode``, ``ascii``, or empty.
    """
    found = {}
    for code, char in enumerate(_all()):
        if 0xD800 <= code < 0xE000:
            continue
        new = char.lower() if lower else char
        if accents and not new.isascii() and _may_lose_accents(new):
            new = unicodedata.normalize("NFKD", new)
            if accents == "ascii":
                new = "".join(c for c in new if c <= "\x7f")
            else:
                new = "".join(c for c in new if not unicodedata.combining(c))
        if new != char:
            found[char] = new
    return found


def _may_lose_accents(text: str) -> bool:
    if len(text) > 1 or "\uac00" <= text <= "\ud7a3":  # syllables of Hangul are taken apart by rule
        return True
    return bool(unicodedata.decomposition(text) or unicodedata.combining(text))


@cache
def sigma_neighbours() -> np.ndarray:
    """CASED, IGNORED or 0 for each character, found by asking ``str.lower``."""
    kinds = np.zeros(_COUNT, np.int8)
    for code, char in enumerate(_all()):
        if 0xD800 <= code < 0xE000:
            continue
        if (char + "Σ").lower().endswith("ς"):
            kinds[code] = CASED
        elif ("A" + char + "Σ").lower().endswith("ς"):
            kinds[code] = IGNORED
    return kinds


@dataclass(frozen=True)
class Characters:
    """The numbers of the characters.

    A character stands for up to `width` units; a unit is a character of the alphabet or a kind of other characters.

    Attributes:
        bits: A character class for each bit of the numbers, as RE2 writes it; number 0 is no character.
        units: Units of each number, 0 for none: int64[numbers, width].
        texts: Text of each unit.
        token: Whether a unit is part of tokens.
        word: Whether it is a word character.
        space: Whether it is white space.
        alphabet: Unit of each character of the alphabet.
        changed: Characters that lower case or the removal of accents change.
        sigma: What the number means to a capital sigma beside it; None where there is none.
        capital_sigma: The number of the capital sigma.
        final_sigma: Unit of the small sigma that ends a word.
    """

    bits: tuple[str, ...]
    units: np.ndarray
    texts: np.ndarray
    token: np.ndarray
    word: np.ndarray
    space: np.ndarray
    alphabet: dict[str, int]
    changed: frozenset[str]
    sigma: np.ndarray | None = None
    capital_sigma: int = 0
    final_sigma: int = 0


def characters(alphabet: Iterable[str], *, lower: bool, accents: str, token: str) -> Characters:
    """The numbers for an analyzer.

    Args:
        alphabet: All characters of the vocabulary (and of the stop words).
        lower: It takes the lower case.
        accents: How it removes accents: ``unicode``, ``ascii``, or empty.
        token: Character class that tokens are made of.
    """
    known = sorted(set(alphabet))
    of_token, of_word, of_space = members(token), members(r"\w"), members(r"\s")
    place = {char: i + 1 for i, char in enumerate(known)}
    kind = of_token + 2 * of_word + 4 * of_space.astype(np.int64)
    kinds = np.unique(kind)
    first_kind = len(known) + 1
    unit_of_kind = np.zeros(8, np.int64)
    unit_of_kind[kinds] = first_kind + np.arange(len(kinds))
    unit = unit_of_kind[kind]
    for char, at in place.items():
        unit[ord(char)] = at
    if accents == "ascii":
        unit[128:] = 0
    changed = {c: tuple(int(unit[ord(u)]) for u in new if unit[ord(u)]) for c, new in mapped(lower, accents).items()}
    sigma = lower and not place.keys().isdisjoint("σς")
    codes, meanings = _meanings(unit, changed, sigma_neighbours() if sigma else None)
    numbers, bits = _numbered(codes, len(meanings))
    width = max(max((len(m[0]) for m in meanings), default=1), 1)
    units = np.zeros((int(numbers.max()) + 1, width), np.int64)
    neighbours = np.zeros(len(units), np.int64)
    for number, (parts, neighbour, _) in zip(numbers, meanings, strict=True):
        units[number, : len(parts)] = parts
        neighbours[number] = neighbour
    other = next(o for o in _OTHER if o not in place)
    points = np.array([ord(c) for c in known], np.int64)
    return Characters(
        bits=bits,
        units=units,
        texts=np.array(["", *known, *([other] * len(kinds))], object),
        token=np.concatenate([[False], of_token[points], kinds & 1 > 0]),
        word=np.concatenate([[False], of_word[points], kinds & 2 > 0]),
        space=np.concatenate([[False], of_space[points], kinds & 4 > 0]),
        alphabet=place,
        changed=frozenset(changed) | {c for c in known if accents == "ascii" and not c.isascii()},
        sigma=neighbours if sigma else None,
        capital_sigma=int(numbers[codes[ord("Σ")]]) if sigma else 0,
        final_sigma=int(unit[ord("ς")]),
    )


_Meaning = tuple[tuple[int, ...], int, bool]


def _meanings(
    unit: np.ndarray, changed: dict[str, tuple[int, ...]], neighbours: np.ndarray | None
) -> tuple[np.ndarray, list[_Meaning]]:
    """Which meaning each character has, and the meanings: units, the place beside a sigma, whether it is the sigma."""
    beside = np.zeros(_COUNT, np.int64) if neighbours is None else neighbours.astype(np.int64)
    keys, codes = np.unique(unit * 4 + beside, return_inverse=True)
    meanings: list[_Meaning] = [((int(k) // 4,) if k >= 4 else (), int(k) % 4, False) for k in keys]
    place = {m: i for i, m in enumerate(meanings)}
    codes = codes.astype(np.int64)
    for char, parts in changed.items():
        code = ord(char)
        meaning = (parts, int(beside[code]), neighbours is not None and char == "Σ")
        codes[code] = place.setdefault(meaning, len(place))
    codes[_SURROGATES] = codes[_SURROGATES.start - 1]
    # meanings that no character has any more go
    used, codes = np.unique(codes, return_inverse=True)
    ordered = list(place)
    return codes, [ordered[i] for i in used]


def _numbered(codes: np.ndarray, count: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """A number above 0 for each meaning (those with many ranges of characters get few bits), and the bits' classes."""
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    ranges = np.bincount(codes[starts], minlength=count)
    width = count.bit_length()
    free = sorted(range(1, 2**width), key=lambda n: (n.bit_count(), n))
    numbers = np.zeros(count, np.int64)
    numbers[np.argsort(-ranges, kind="stable")] = free[:count]
    own = numbers[codes]
    own[_SURROGATES] = 0
    return numbers, tuple(class_of(own >> bit & 1 > 0) for bit in range(width))


def class_of(holds: np.ndarray) -> str:
    """The ranges of a character class, in what RE2 and Python's `re` (ONNX's reference implementation) both read."""
    edges = np.flatnonzero(np.diff(holds.astype(np.int8), prepend=0, append=0)).tolist()
    parts = []
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        parts.append(_written(start) + (f"-{_written(stop - 1)}" if stop - start > 1 else ""))
    return "".join(parts)


def _written(code: int) -> str:
    return f"\\x{code:02X}" if code < 0x100 else chr(code)

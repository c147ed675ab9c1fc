"""From documents to the tokens and characters that an analyzer sees."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..value import Value
from .characters import CASED, IGNORED, Characters, class_of, members
from .ragged import (
    INT64,
    Ragged,
    before,
    chosen,
    count_of,
    greatest,
    length,
    merged,
    numbers,
    owned,
    same,
    shifted,
    starts_of_runs,
)

#: How long the pieces may be that are read character after character; longer ones stop the run with an error.
_SHORT = (8, 16, 32)
_LONG = (64, 128, 256, 512, 1000)
LONGEST = _LONG[-1]
_END = np.iinfo(np.int64).max
_FILL = "."
#: By which documents are split first, where no token holds them.
_SEPARATORS = (" ", "\n", "\t", "\r")


@dataclass(frozen=True)
class Rule:
    """What a token is: a longest run of characters, or a part of it that is as long as may be.

    Attributes:
        token: The characters, as a class of Python's `re`.
        least: Fewest characters.
        bounded: The run lies between word boundaries: a longest run of word characters, all of them in the class.
        separators: Characters that no token holds, by which documents can be split first.
        longest: Most characters that a known token has.
        most: Most characters; 0 for any number.
    """

    token: str
    least: int
    bounded: bool
    separators: tuple[str, ...]
    longest: int = 0
    most: int = 0

    @classmethod
    def of(cls, token: str, least: int = 1, most: int = 0, *, bounded: bool = False) -> Rule:
        """The rule of a class of characters."""
        holds = members(token)
        return cls(token, least, bounded, tuple(s for s in _SEPARATORS if not holds[ord(s)]), most=most)

    def holds(self, char: str) -> bool:
        """Whether tokens can hold a character."""
        return bool(members(self.token)[ord(char)])

    def up_to(self, longest: int) -> Rule:
        """The same rule where the longest known token is given."""
        return replace(self, longest=longest)


# --- characters ----------------------------------------------------------------------------------------------------


def _numbers_of(g: GraphBuilder, strings: Value, characters: Characters, lengths: tuple[int, ...]) -> Value:
    """Numbers of the characters of strings, [strings, places]; 0 behind a string's end.

    A pattern can only ask about one place, so the strings are moved past it: each step puts a character in front.
    """
    longest = lengths[-1]
    level = g.constant(np.int64(0))
    for size in lengths[:-1]:
        longer = g.Cast(g.Not(_matches(g, strings, f".{{0,{size}}}")), to=INT64)
        level = g.Add(level, greatest(g, longer))
    places = g.Gather(np.array(lengths, np.int64), level, axis=0)
    some = g.Min(length(g, strings), np.int64(1))
    fill = np.array([_FILL * (longest + 1 - size) for size in lengths], object)
    start = g.StringConcat(g.Gather(fill, level, axis=0), strings)
    body = g.subgraph()
    body.input("step", "int64", ())
    going = body.input("going", "bool", ())
    text = body.input("text", "string", (None,))
    number: Value | None = None
    for bit, own in enumerate(characters.bits):
        flag = _matches(body, text, f".{{{longest}}}[{own}].*")
        term = body.Mul(body.Cast(flag, to=INT64), np.int64(1 << bit))
        number = term if number is None else body.Add(number, term)
    assert number is not None
    body.output(going)
    body.output(body.StringConcat(g.constant(np.array([_FILL], object)), text))
    body.output(number)
    _, found = g.Loop(g.Mul(places, some), np.bool_(True), start, body=body, outputs=2)
    in_order = g.Slice(found, [-1], [-_END], [0], [-1])  # the last place was asked about first
    rows = g.Concat(length_vector(g, strings), g.Unsqueeze(places, [0]), axis=0)
    return g.Reshape(g.Transpose(in_order, perm=[1, 0]), rows, allowzero=1)


def _matches(g: GraphBuilder, strings: Value, pattern: str) -> Value:
    return g.RegexFullMatch(strings, pattern=f"(?s){pattern}")


def length_vector(g: GraphBuilder, x: Value) -> Value:
    """Number of elements along the first axis, int64[1]."""
    return g.Shape(x, start=0, end=1)


def _flat_units(
    g: GraphBuilder, strings: Value, characters: Characters, lengths: tuple[int, ...]
) -> tuple[Value, Value]:
    """Units of the characters of all strings, one after the other, and the string of each."""
    table = _numbers_of(g, strings, characters, lengths)
    owner = g.Unsqueeze(numbers(g, length(g, strings)), [1])
    owners = g.Reshape(g.Expand(owner, g.Shape(table)), [-1])
    flat = g.Reshape(table, [-1])
    real = g.Not(g.Equal(flat, np.int64(0)))
    flat, owners = g.Compress(flat, real, axis=0), g.Compress(owners, real, axis=0)
    units = g.Gather(characters.units, flat, axis=0)
    if characters.sigma is not None:
        final = np.zeros(characters.units.shape[1], np.int64)
        final[0] = characters.final_sigma
        units = g.Where(g.Unsqueeze(_final_sigmas(g, flat, owners, characters), [1]), final, units)
    width = characters.units.shape[1]
    if width == 1:
        everything = g.Reshape(units, [-1])
        if characters.units[1:].all():
            return everything, owners
    else:
        owners = g.Reshape(g.Expand(g.Unsqueeze(owners, [1]), g.Shape(units)), [-1])
        everything = g.Reshape(units, [-1])
    real = g.Not(g.Equal(everything, np.int64(0)))
    return g.Compress(everything, real, axis=0), g.Compress(owners, real, axis=0)


def _final_sigmas(g: GraphBuilder, flat: Value, owners: Value, characters: Characters) -> Value:
    """Which capital sigmas end a word: a letter before, none behind, what is passed over aside."""
    assert characters.sigma is not None
    end = length_vector(g, flat)
    neighbour = g.Gather(characters.sigma, flat, axis=0)
    solid = g.Not(g.Equal(neighbour, np.int64(IGNORED)))
    places = g.Concat(end, g.Compress(numbers(g, length(g, flat)), solid, axis=0), end, axis=0)
    ahead = before(g, g.Cast(solid, to=INT64))
    kinds = g.Concat(neighbour, np.array([0], np.int64), axis=0)
    lists = g.Concat(owners, np.array([-1], np.int64), axis=0)

    def letter(place: Value) -> Value:
        at = g.Gather(places, place, axis=0)
        is_letter = g.Equal(g.Gather(kinds, at, axis=0), np.int64(CASED))
        return g.And(is_letter, g.Equal(g.Gather(lists, at, axis=0), owners))

    behind = g.Add(g.Add(ahead, g.Cast(solid, to=INT64)), np.int64(1))
    sigma = g.Equal(flat, np.int64(characters.capital_sigma))
    # (a sigma itself is solid: its own place lies between the two)
    return g.And(sigma, g.And(letter(ahead), g.Not(letter(behind))))


def _apart(g: GraphBuilder, strings: Value) -> list[tuple[Value, Value, tuple[int, ...]]]:
    """The short and the long strings: their numbers, themselves, and the lengths they may have."""
    short = _matches(g, strings, f".{{0,{_SHORT[-1]}}}")
    every = numbers(g, length(g, strings))
    sizes: tuple[tuple[Value, tuple[int, ...]], ...] = ((short, _SHORT), (g.Not(short), _LONG))
    return [(g.Compress(every, f, axis=0), g.Compress(strings, f, axis=0), lengths) for f, lengths in sizes]


def _stop_if_too_long(g: GraphBuilder, strings: Value) -> Value:
    """0; an index out of bounds, which stops the run, where a string is longer than can be read."""
    longer = greatest(g, g.Cast(g.Not(_matches(g, strings, f".{{0,{LONGEST}}}")), to=INT64))
    return g.Gather(np.array([0], np.int64), longer, axis=0)


# --- words ---------------------------------------------------------------------------------------------------------


def split(g: GraphBuilder, strings: Value, owners: Value, separator: str) -> tuple[Value, Value]:
    """The strings without a separator, empty ones left out, and the owner of each."""
    pieces, _ = g.StringSplit(strings, delimiter=separator, outputs=2)
    owners = g.Reshape(g.Expand(g.Unsqueeze(owners, [1]), g.Shape(pieces)), [-1])
    flat = g.Reshape(pieces, [-1])
    full = g.Not(g.Equal(flat, np.array("", object)))
    return g.Compress(flat, full, axis=0), g.Compress(owners, full, axis=0)


def words(g: GraphBuilder, documents: Value, characters: Characters, rule: Rule) -> tuple[Value, Value]:
    """All tokens of the documents in order, and the document of each."""
    pieces, owners = documents, numbers(g, length(g, documents))
    for separator in rule.separators:
        pieces, owners = split(g, pieces, owners, separator)
    distinct, _, which, _ = g.Unique(pieces, sorted=0, outputs=4)
    plain = _matches(g, distinct, f"[{_plain(characters, rule)}]{{{rule.least},{rule.most or ''}}}")
    every = numbers(g, length(g, distinct))
    ready = g.Compress(distinct, plain, axis=0)
    count = length(g, ready)
    ones = same(g, 1, g.Shape(ready))
    parts = [(g.Compress(every, plain, axis=0), Ragged(ready, numbers(g, count), ones))]
    rest = g.Not(plain)
    at, others = g.Compress(every, rest, axis=0), g.Compress(distinct, rest, axis=0)
    for own, strings, lengths in _apart(g, others):
        tokens = _tokens(g, strings, characters, rule, lengths)
        parts.append((g.Gather(at, own, axis=0), tokens))
    lists = merged(g, parts, length(g, distinct))
    lists = Ragged(lists.values, g.Add(lists.starts, _stop_if_too_long(g, others)), lists.counts)
    tokens_in_order, places = chosen(g, lists, which)
    return tokens_in_order, g.Gather(owners, places, axis=0)


def _plain(characters: Characters, rule: Rule) -> str:
    """Class of the characters of the alphabet that tokens hold as they are."""
    holds = np.zeros(0x110000, bool)
    holds[[ord(c) for c in characters.alphabet if c not in characters.changed]] = True
    holds &= members(rule.token)
    return class_of(holds) or "^\\x00-\U0010ffff"


def _tokens(g: GraphBuilder, strings: Value, characters: Characters, rule: Rule, lengths: tuple[int, ...]) -> Ragged:
    """The tokens of each string."""
    units, owners = _flat_units(g, strings, characters, lengths)
    inside = g.Gather(characters.word if rule.bounded else characters.token, units, axis=0)
    begins = g.Compress(starts_of_runs(g, inside, owners), inside, axis=0)
    units, owners = g.Compress(units, inside, axis=0), g.Compress(owners, inside, axis=0)
    if rule.most and not rule.bounded:
        begins = _begins_of_parts(g, begins, rule.most)
    run = g.Sub(g.CumSum(g.Cast(begins, to=INT64), np.int64(0)), np.int64(1))
    runs = g.ReduceSum(g.Cast(begins, to=INT64), [0], keepdims=0)
    sizes = count_of(g, run, runs)
    starts = before(g, sizes)
    good = g.GreaterOrEqual(sizes, np.int64(rule.least))
    if rule.most:
        good = g.And(good, g.LessOrEqual(sizes, np.int64(rule.most)))
    if rule.bounded and not np.array_equal(characters.word, characters.token):
        foreign = g.Compress(run, g.Not(g.Gather(characters.token, units, axis=0)), axis=0)
        good = g.And(good, g.Equal(count_of(g, foreign, runs), np.int64(0)))
    starts, sizes = g.Compress(starts, good, axis=0), g.Compress(sizes, good, axis=0)
    texts = g.Concat(g.Gather(characters.texts, units, axis=0), np.array([""], object), axis=0)
    joined = _joined(g, texts, length(g, units), starts, sizes, rule.longest)
    return owned(g, joined, g.Gather(owners, starts, axis=0), length(g, strings))


def _begins_of_parts(g: GraphBuilder, begins: Value, most: int) -> Value:
    """Where runs that begin at these places are cut, so that no part has more than so many characters."""
    place = numbers(g, length(g, begins))
    run = g.Sub(g.CumSum(g.Cast(begins, to=INT64), np.int64(0)), np.int64(1))
    within = g.Sub(place, g.Gather(g.Compress(place, begins, axis=0), run, axis=0))
    return g.Equal(g.Mod(within, np.int64(most)), np.int64(0))


def _joined(g: GraphBuilder, texts: Value, end: Value, starts: Value, sizes: Value, longest: int) -> Value:
    """Texts put together to tokens; one that is longer than all known tokens is cut behind that length."""
    steps = g.Min(greatest(g, sizes), np.int64(longest + 1))
    empty = g.Gather(np.array([""], object), g.Mul(starts, np.int64(0)), axis=0)
    body = g.subgraph()
    step = body.input("step", "int64", ())
    going = body.input("going", "bool", ())
    token = body.input("token", "string", (None,))
    at = body.Where(body.Less(step, sizes), body.Add(starts, step), end)
    body.output(going)
    body.output(body.StringConcat(token, body.Gather(texts, at, axis=0)))
    joined: Value = g.Loop(steps, np.bool_(True), empty, body=body, outputs=1)
    return joined


# --- characters of documents -----------------------------------------------------------------------------------------


def text_units(g: GraphBuilder, documents: Value, characters: Characters) -> tuple[Value, Value]:
    """Units of all documents in order, white space made even, and the document of each."""
    space = np.array([characters.alphabet[" "]], np.int64)
    pieces, counts = g.StringSplit(documents, delimiter=" ", outputs=2)
    columns = g.Unsqueeze(numbers(g, g.Squeeze(g.Shape(pieces, start=1, end=2), [0])), [0])
    number = g.Unsqueeze(counts, [1])
    real = g.Reshape(g.Less(columns, number), [-1])
    last = g.Compress(g.Reshape(g.Equal(columns, g.Sub(number, np.int64(1))), [-1]), real, axis=0)
    document = g.Unsqueeze(numbers(g, length(g, documents)), [1])
    owners = g.Compress(g.Reshape(g.Expand(document, g.Shape(pieces)), [-1]), real, axis=0)
    flat = g.Compress(g.Reshape(pieces, [-1]), real, axis=0)
    distinct, _, which, _ = g.Unique(flat, sorted=0, outputs=4)
    parts = []
    for own, strings, lengths in _apart(g, distinct):
        units, owner = _flat_units(g, strings, characters, lengths)
        parts.append((own, owned(g, units, owner, length(g, strings))))
    count = length(g, distinct)
    pair = g.Concat(g.Unsqueeze(count, [0]), g.Unsqueeze(g.Add(count, np.int64(1)), [0]), axis=0)
    # two lists more, one that holds a space, one that holds nothing: one of them follows each piece
    extra = Ragged(g.constant(space), g.constant(np.array([0, 0])), g.constant(np.array([1, 0])))
    lists = merged(g, [*parts, (pair, extra)], g.Add(count, np.int64(2)))
    lists = Ragged(lists.values, g.Add(lists.starts, _stop_if_too_long(g, distinct)), lists.counts)
    follows = g.Add(count, g.Cast(last, to=INT64))
    order = g.Reshape(g.Concat(g.Unsqueeze(which, [1]), g.Unsqueeze(follows, [1]), axis=1), [-1])
    stream, places = chosen(g, lists, order)
    own = g.Gather(owners, g.Div(places, np.int64(2)), axis=0)
    return _evened(g, stream, own, characters, space)


def _evened(
    g: GraphBuilder, units: Value, owners: Value, characters: Characters, space: np.ndarray
) -> tuple[Value, Value]:
    """Two white space characters or more become one space."""
    blank = g.Gather(characters.space, units, axis=0)
    first = starts_of_runs(g, blank, owners)
    more = g.And(shifted(g, g.And(blank, g.Not(first)), -1), first)
    units = g.Where(more, space, units)
    kept = g.Or(first, g.Not(blank))
    return g.Compress(units, kept, axis=0), g.Compress(owners, kept, axis=0)


def bordered_words(g: GraphBuilder, units: Value, owners: Value, characters: Characters) -> tuple[Value, Value]:
    """Each word between spaces, and behind it a unit that no character has."""
    solid = g.Not(g.Gather(characters.space, units, axis=0))
    begins = g.Compress(starts_of_runs(g, solid, owners), solid, axis=0)
    units, owners = g.Compress(units, solid, axis=0), g.Compress(owners, solid, axis=0)
    ends = g.Concat(
        g.Slice(begins, [1], [_END], [0]), g.Greater(g.Slice(g.Shape(units), [0], [1], [0]), np.int64(0)), axis=0
    )
    ends = g.Slice(ends, [0], g.Shape(units), [0])
    space, gap = np.int64(characters.alphabet[" "]), np.int64(len(characters.texts))
    columns = [
        g.Mul(g.Cast(begins, to=INT64), space),
        units,
        g.Mul(g.Cast(ends, to=INT64), space),
        g.Mul(g.Cast(ends, to=INT64), gap),
    ]
    table = g.Concat(*(g.Unsqueeze(c, [1]) for c in columns), axis=1)
    repeated = g.Reshape(g.Expand(g.Unsqueeze(owners, [1]), g.Shape(table)), [-1])
    flat = g.Reshape(table, [-1])
    real = g.Not(g.Equal(flat, np.int64(0)))
    return g.Compress(flat, real, axis=0), g.Compress(repeated, real, axis=0)


def string_vector(g: GraphBuilder, x: Value) -> Value:
    """Documents as one vector; a column of a table is one, too."""
    if x.dtype is not ir.DataType.STRING:
        raise TypeError(f"documents are strings, not {x.element.name}")
    return x if x.rank == 1 else g.reshape(x, [x.dim(0)])

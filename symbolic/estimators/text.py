"""Counts of words and character n-grams, and what is made of the counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml.dtypes import as_float, cast, in_place
from ..registry import symbolic
from ..schemas import ML_DOMAIN
from ..text.characters import Characters, characters
from ..text.patterns import token_rule
from ..text.ragged import length, owned, padded
from ..text.tokens import Rule, bordered_words, string_vector, text_units, words
from ..value import Value
from .calling import DIALECT, Features, Sparse, columns, matrix, read, unsupported

_MODULE = "sklearn.feature_extraction.text."
_READ = (
    "analyzer", "lowercase", "strip_accents", "stop_words", "token_pattern", "tokenizer", "preprocessor", "ngram_range",
    "binary", "dtype", "input",
)  # fmt: skip
_FIT = ("encoding", "decode_error", "max_df", "min_df", "max_features", "vocabulary")


@symbolic(DIALECT, _MODULE + "CountVectorizer")
def count_vectorizer(g: GraphBuilder, x: Features, est: Any) -> Sparse:
    """CountVectorizer.transform(texts): how often each text has each term of vocabulary_"""
    return Sparse(_counts(g, x, est, read(g, est, *_READ, ignore=_FIT)))


@symbolic(DIALECT, _MODULE + "TfidfVectorizer")
def tfidf_vectorizer(g: GraphBuilder, x: Features, est: Any) -> Sparse:
    """TfidfVectorizer.transform(texts): counts of terms, weighed by idf_, rows of length 1"""
    params = read(g, est, *_READ, ignore=(*_FIT, "norm", "use_idf", "smooth_idf", "sublinear_tf"))
    return Sparse(_weighed(g, _counts(g, x, est, params), est._tfidf))


@symbolic(DIALECT, _MODULE + "TfidfTransformer")
def tfidf_transformer(g: GraphBuilder, x: Features, est: Any) -> Sparse:
    """TfidfTransformer.transform(X): counts, weighed by idf_, rows of length 1"""
    return Sparse(_weighed(g, matrix(g, x), est))


def _weighed(g: GraphBuilder, counts: Value, est: Any) -> Value:
    params = read(g, est, "norm", "use_idf", "sublinear_tf", ignore=("smooth_idf",))
    rows = as_float(g, counts)
    kind = rows.element.numpy().type
    if params.sublinear_tf:
        none = g.Equal(rows, kind(0))
        rows = g.Where(none, kind(0), g.Add(g.Log(g.Where(none, kind(1), rows)), kind(1)))
    if params.use_idf:
        rows = in_place(g, "Mul", rows, np.asarray(est.idf_))
    if params.norm is None:
        return rows
    wide = cast(g, rows, ir.DataType.DOUBLE)
    if params.norm == "l2":  # squares in the dtype of the rows, summed in double
        squares = cast(g, g.Mul(rows, rows), ir.DataType.DOUBLE)
        norm = g.Sqrt(g.ReduceSum(squares, [1], keepdims=1))
    elif params.norm == "l1":
        norm = g.ReduceSum(g.Abs(wide), [1], keepdims=1)
    else:
        raise unsupported(g, est, f"norm={params.norm!r}")
    norm = g.Where(g.Equal(norm, np.float64(0)), np.float64(1), norm)
    return cast(g, g.Div(wide, norm), rows.element)


# --- counts --------------------------------------------------------------------------------------------------------


def _counts(g: GraphBuilder, x: Features, est: Any, params: Any) -> Value:
    for name in ("preprocessor", "tokenizer", "analyzer", "strip_accents"):
        value = getattr(params, name)
        if callable(value) and not (name == "tokenizer" and value is str.split):
            raise unsupported(g, est, f"{name}={getattr(value, '__qualname__', value)} is Python code")
    if params.input != "content":
        raise unsupported(g, est, f"input={params.input!r}")
    (column,) = columns(g, x) if not isinstance(x, Value) or x.rank == 2 else (x,)
    documents = string_vector(g, column)
    by_words = params.analyzer == "word"
    found = (_word_counts if by_words else _character_counts)(g, documents, est, params)
    if params.binary:
        found = g.Min(found, np.float32(1))
    return cast(g, found, ir.DataType.from_numpy(np.dtype(params.dtype)))


def _characters(est: Any, params: Any, alphabet: set[str], token: str) -> Characters:
    return characters(alphabet, lower=bool(params.lowercase), accents=params.strip_accents or "", token=token)


def _terms(est: Any) -> list[str]:
    """The terms by their column."""
    vocabulary = est.vocabulary_
    terms = [""] * len(vocabulary)
    for term, at in vocabulary.items():
        terms[int(at)] = str(term)
    return terms


def _word_counts(g: GraphBuilder, documents: Value, est: Any, params: Any) -> Value:
    """How often each document has each word (or sequence of words): float[documents, terms]."""
    low, high = params.ngram_range
    stop = est.get_stop_words() if hasattr(est, "get_stop_words") else None
    terms = _terms(est)
    rule = _rule(g, est, params)
    if high > 1 and rule.holds(" "):
        raise unsupported(g, est, "token_pattern takes in spaces, which sequences of words are joined by")
    parts = [tuple(term.split(" ")) if high > 1 else (term,) for term in terms]
    known = {word for part in parts for word in part} | set(stop or ())
    rule = rule.up_to(max(map(len, known)))
    table = _characters(est, params, set("".join(known)), rule.token)
    tokens, owners = words(g, documents, table, rule)
    if stop:
        flags = g.call(
            "LabelEncoder", tokens, domain=ML_DOMAIN, keys_strings=sorted(stop), values_int64s=[0] * len(stop),
            default_int64=1,
        )  # fmt: skip
        kept = g.Equal(flags, np.int64(1))
        tokens, owners = g.Compress(tokens, kept, axis=0), g.Compress(owners, kept, axis=0)
    pools = [part if low <= len(part) <= high and not (stop and stop & set(part)) else None for part in parts]
    return _count(g, tokens, owners, documents, pools, np.array("", object))


def _rule(g: GraphBuilder, est: Any, params: Any) -> Rule:
    if params.tokenizer is str.split:
        return Rule.of(r"\S")
    rule = token_rule(params.token_pattern)
    if rule is None:
        raise unsupported(
            g, est, f"token_pattern={params.token_pattern!r}: done are runs of one class of characters, "
            r"such as \b\w\w+\b or [a-z]{3,}",
        )  # fmt: skip
    return rule


def _character_counts(g: GraphBuilder, documents: Value, est: Any, params: Any) -> Value:
    """How often each document has each sequence of characters: float[documents, terms]."""
    low, high = params.ngram_range
    terms = _terms(est)
    table = _characters(est, params, set("".join(terms)) | {" "}, r"\w")
    units, owners = text_units(g, documents, table)
    bordered = params.analyzer == "char_wb"
    if bordered:
        units, owners = bordered_words(g, units, owners, table)
    elif params.analyzer != "char":
        raise unsupported(g, est, f"analyzer={params.analyzer!r}")
    pools: list[tuple[Any, ...] | None] = []
    for term in terms:
        # a word that is shorter than the shortest n-gram counts once, as a whole
        whole = bordered and len(term) < low and len(term) > 2 and term[0] == term[-1] == " " and " " not in term[1:-1]
        fits = low <= len(term) <= high or whole
        pools.append(tuple(table.alphabet[c] for c in term) if fits else None)
    return _count(g, units, owners, documents, pools, np.array(0, np.int64))


def _count(
    g: GraphBuilder,
    tokens: Value,
    owners: Value,
    documents: Value,
    pools: list[tuple[Any, ...] | None],
    pad: np.ndarray,
) -> Value:
    """How often each document has each sequence of tokens; None stands for one that no document can have."""
    # one document more, which has nothing: TfIdfVectorizer refuses to count no rows
    count = g.Add(length(g, documents), np.int64(1))
    rows = padded(g, owned(g, tokens, owners, count), pad)
    by_text = pad.dtype == object
    sizes = [len(p) for p in pools if p is not None]
    longest, shortest = max(sizes, default=1), min(sizes, default=1)
    # a place that nothing counts for gets tokens that no document has
    entries = [(p or ((f"\x00{i}" if by_text else -1 - i),) * longest, i) for i, p in enumerate(pools)]
    entries.sort(key=lambda e: len(e[0]))
    flat = [token for entry, _ in entries for token in entry]
    starts, at = [], 0
    for n in range(1, longest + 1):
        starts.append(at)
        at += n * sum(len(e) == n for e, _ in entries)
    pool: dict[str, Any] = {"pool_strings": flat} if by_text else {"pool_int64s": flat}
    found = g.TfIdfVectorizer(
        rows, mode="TF", min_gram_length=shortest, max_gram_length=longest, max_skip_count=0, ngram_counts=starts,
        ngram_indexes=[i for _, i in entries], **pool,
    )  # fmt: skip
    result = g.Slice(found, [0], [-1], [0])
    return g.expect(result, ir.DataType.FLOAT, (documents.dim(0), len(pools)))

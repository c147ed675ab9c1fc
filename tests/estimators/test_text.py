"""Vectorizers of texts: exact for every Unicode string, with standard operators and without a locale."""

from __future__ import annotations

import random
import unicodedata
import warnings

import numpy as np
import pandas as pd
import pytest
from estimator_check import assert_same, build, compare, load, sessions
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
    strip_accents_ascii,
    strip_accents_unicode,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler

from anyonnx.symbolic.errors import OpsetError, UnsupportedOps
from anyonnx.symbolic.text.characters import mapped
from anyonnx.symbolic.text.patterns import token_rule

TEXTS = [
    "One two, two three", "don't stop", "a b c", "Été à la mer", "", "three THREE", "new words here", "one",
    "  lead  and\ttab\nline ", "x", "İstanbul ISTANBUL", "naïve café Café CAFÉ", "ΟΔΟΣ σας ΣΑΣ' Σ'Α ΑΣ. ",
    "日本語 テキスト 日本", "½ ﬁne ﬁ Å Å K", "a_b __ 12 1 foo-bar.baz", "emoji 😀😀 x😀y", "e\u0301te\u0301 cafe\u0301",
    "the and of", "\u00a0nbsp\u2003em\u3000ideo  ", "ǅ ß ẞ Straße STRASSE", "x" * 40 + " " + "Ab" * 30,
]  # fmt: skip
NEW = [
    "Unknown ☃ words☃one two☃three", "ONE  TWO", "don’t “stop”", "one\u2014two", "üne ône", "A", "\n", "   ", " a",
    "a ", "ab ab  ab", "one two three one two", "Σ", "TWO:one;THREE,new", "q" * 200 + " one",
    "tab\x0bvt\x1cfs\x85nel", "a\0b",
]  # fmt: skip

VECTORIZERS = {
    "counts": CountVectorizer(),
    "tfidf": TfidfVectorizer(),
    "float32": TfidfVectorizer(dtype=np.float32, norm="l1", sublinear_tf=True),
    "as written": CountVectorizer(lowercase=False, binary=True),
    "without accents": CountVectorizer(strip_accents="unicode"),
    "ascii": CountVectorizer(strip_accents="ascii", ngram_range=(1, 2)),
    "sequences": CountVectorizer(ngram_range=(2, 3)),
    "stop words": CountVectorizer(stop_words="english", ngram_range=(1, 2)),
    "single letters": CountVectorizer(token_pattern=r"(?u)\b\w+\b", max_features=20),
    "letters": CountVectorizer(token_pattern=r"[a-z]{2,}"),
    "words of letters": CountVectorizer(token_pattern=r"\b[a-z]{2,}\b"),
    "pieces": CountVectorizer(token_pattern=r".{1,3}"),
    "pieces of words": TfidfVectorizer(token_pattern=r"\w{2,4}", ngram_range=(1, 2)),
    "pairs": CountVectorizer(token_pattern=r"[^\W\d]{2}", lowercase=False),
    "short words only": CountVectorizer(token_pattern=r"\b\w{2,3}\b"),
    "split": CountVectorizer(tokenizer=str.split, token_pattern=None),
    "given words": CountVectorizer(vocabulary=["one two", "two", "foo-bar", "été", "ONE"], ngram_range=(1, 2)),
    "given pairs": CountVectorizer(vocabulary=["one two", "two", "two two"], ngram_range=(2, 2)),
    "characters": CountVectorizer(analyzer="char", ngram_range=(1, 3)),
    "in words": TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4)),
    "short words": CountVectorizer(analyzer="char_wb", ngram_range=(5, 6), strip_accents="unicode"),
}


def check(vectorizer, texts, opsets=(21,)):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = load(vectorizer, texts)
        expected = source.run({"X": np.array(texts, object)})
    for opset in opsets:
        for session in sessions(build(source, opset)):
            found = session.run(None, {"X": np.array(texts, object)})
            compare(expected, dict(zip(source.output_names, found, strict=True)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", VECTORIZERS)
def test_every_text(name):
    check(VECTORIZERS[name].fit(TEXTS), TEXTS + NEW, (20, 25) if name == "counts" else (21,))


def test_random_unicode():
    choose = random.Random(5)
    known = [chr(c) for c in range(0x3000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    greek = [*map(chr, range(0x370, 0x400)), *"ΣΣΣΣ'.:· ", "\u0301"]
    pools = [list("abcABC  '-_.12é"), known, greek]
    texts = ["".join(choose.choices(choose.choice(pools), k=choose.choice([0, 1, 5, 30]))) for _ in range(120)]
    for name in ("counts", "without accents", "characters"):
        check(VECTORIZERS[name].fit(texts[:60]), texts)


@pytest.mark.parametrize("accents", ["unicode", "ascii"])
def test_tables_of_characters(accents):
    strip = {"unicode": strip_accents_unicode, "ascii": strip_accents_ascii}[accents]
    changes = mapped(True, accents)
    for code in (*range(0x600), *range(0x600, 0x110000, 11)):
        if 0xD800 <= code < 0xE000:
            continue
        char = chr(code)
        found = changes.get(char, char if accents == "unicode" or char.isascii() else "")
        kept = found if accents == "unicode" else "".join(c for c in found if c.isascii())
        assert kept == strip(char.lower())


def test_no_rows_and_few_rows():
    for name in ("counts", "characters", "in words"):
        source = load(VECTORIZERS[name].fit(TEXTS), TEXTS)
        for session in sessions(build(source, 21)):
            assert session.run(None, {"X": np.array([], object)})[0].shape == (0, len(VECTORIZERS[name].vocabulary_))
            assert not session.run(None, {"X": np.array([""], object)})[0].any()


def test_pipelines_of_texts():
    labels = np.array(["first", "second"])[np.arange(len(TEXTS)) % 2]
    union = FeatureUnion([("words", TfidfVectorizer()), ("characters", CountVectorizer(analyzer="char_wb"))])
    assert_same(make_pipeline(union, LogisticRegression()).fit(TEXTS, labels), TEXTS, [21])
    counts = make_pipeline(CountVectorizer(), TfidfTransformer(sublinear_tf=True), LogisticRegression())
    assert_same(counts.fit(TEXTS, labels), TEXTS, [21])
    frame = pd.DataFrame({"text": TEXTS, "size": np.arange(len(TEXTS)) / 3.0})
    columns = make_column_transformer((TfidfVectorizer(), "text"), (StandardScaler(), ["size"]))
    model = make_pipeline(columns, LogisticRegression()).fit(frame, labels)
    assert_same(model, frame, [21])
    assert [str(s) for s in load(model, None).specs] == ["text:string[batch,1]", "size:float32[batch,1]"]


def test_what_can_not_be_done_is_refused():
    with pytest.raises(OpsetError, match="needs opset 20"):
        build(load(CountVectorizer().fit(TEXTS), TEXTS), 19)
    for vectorizer, reason in (
        (CountVectorizer(tokenizer=lambda t: t.split(",")), "tokenizer"),
        (CountVectorizer(preprocessor=str.upper), "preprocessor"),
        (CountVectorizer(analyzer=lambda t: t.split(",")), "analyzer"),
        (CountVectorizer(token_pattern=r"\w+'?\w*"), "token_pattern"),
        (HashingVectorizer(), "not known beforehand"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = vectorizer.fit(TEXTS)
        with pytest.raises(UnsupportedOps, match=reason):
            build(load(fitted, TEXTS), 21)


def test_a_piece_that_is_too_long_stops_the_run():
    session = sessions(build(load(CountVectorizer().fit(TEXTS), TEXTS), 21))[0]
    for fine in ("one " + "É" * 1000, "one " + "x" * 5000):
        assert session.run(None, {"X": np.array([fine], object)})[0].sum() == 1
    with pytest.raises(Exception, match="out of data bounds"):
        session.run(None, {"X": np.array(["É" * 1001], object)})


@pytest.mark.parametrize(
    ("pattern", "token", "least", "most", "bounded"),
    [
        (r"(?u)\b\w\w+\b", r"[\w]", 2, 0, True),
        (r"\w+", r"[\w]", 1, 0, False),
        (r"(\b[^\W\d]{3,}\b)", r"[^\W\d]", 3, 0, True),
        (r"[a-z]{2}[a-z]+", r"[\U00000061-\U0000007a]", 3, 0, False),
        (r".{1,3}", r"[^\n]", 1, 3, False),
        (r"\b\w\w?\w?\b", r"[\w]", 1, 3, True),
    ],
)
def test_token_patterns(pattern, token, least, most, bounded):
    rule = token_rule(pattern)
    assert (rule.token, rule.least, rule.most, rule.bounded) == (token, least, most, bounded)


@pytest.mark.parametrize("pattern", [r"\w*", r"\b\w+", r"\w{2,4}?", r"(?i)[a-z]+", r"ab|c", r"\b\S+\b", r"(?<=x)\w+"])
def test_other_token_patterns(pattern):
    assert token_rule(pattern) is None


def test_squares_of_counts_are_taken_in_their_dtype():
    x = np.array([[1e30, 2e30, 0], [3, 4, 0], [0, 0, 0]], np.float32)
    model = TfidfTransformer(use_idf=False).fit(x)
    (found,) = sessions(build(load(model, x), 21))[0].run(None, {"X": x})
    assert np.array_equal(found, model.transform(x).toarray())  # 0: the norm overflows in scikit-learn, too

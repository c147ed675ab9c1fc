"""Reads LightGBM's text model: parameters of the booster, and the arrays of each tree, still as text."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np


class TextError(ValueError):
    """The text is no LightGBM model."""


@dataclass
class TextModel:
    """The parts of the file.

    Attributes:
        header: Key and value of each line before the trees; flags have an empty value.
        trees: Key and value of each line of each tree.
        parameters: What it was trained with.
        categories: The line about pandas categories, JSON; empty where there is none.
    """

    header: dict[str, str]
    trees: list[dict[str, str]]
    parameters: dict[str, str] = field(default_factory=dict)
    categories: str = ""

    def numbers(self, key: str, dtype: type = np.float64) -> np.ndarray:
        """The numbers of one key of all trees, one tree after the other."""
        text = " ".join([tree.get(key, "") for tree in self.trees])
        return numbers(text, dtype)

    def counts(self, key: str) -> np.ndarray:
        """One whole number of each tree; 0 where a tree lacks the key."""
        return numbers(" ".join([tree.get(key, "") or "0" for tree in self.trees]), np.int64)


def numbers(text: str, dtype: type = np.float64) -> np.ndarray:
    """The numbers in a text, divided by spaces.

    Raises:
        TextError: Something else is among them.
    """
    if text.isspace():  # numpy finds a number in spaces
        return np.zeros(0, dtype)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # all that an older numpy says about it
            found: np.ndarray = np.fromstring(text, dtype, sep=" ")
    except (ValueError, DeprecationWarning) as error:
        raise TextError(f"the LightGBM model has something else where numbers should be: {error}") from error
    return found


def words(text: str) -> int:
    """How many words a text has, divided by single spaces."""
    text = text.strip(" ")
    return text.count(" ") + 1 if text else 0


def read_text(text: str) -> TextModel:
    """The parts of a text model.

    Raises:
        TextError: It is truncated, or no LightGBM model.
    """
    if not text.startswith("tree\n"):
        raise TextError("the text is no LightGBM model: its first line is not 'tree'")
    body, mark, rest = text.partition("\nend of trees")
    if not mark:
        raise TextError("the LightGBM model is truncated: it has no 'end of trees'")
    head, *blocks = body.split("\nTree=")
    trees = [_lines(block.split("\n")[1:]) for block in blocks]
    model = TextModel(_lines(head.split("\n")[1:]), trees)
    _, mark, parameters = rest.partition("\nparameters:")
    if mark:
        lines = parameters.partition("end of parameters")[0].split("\n")
        pairs = [line.strip("[]").partition(":") for line in lines if line.startswith("[")]
        model.parameters = {key: value.strip() for key, _, value in pairs}
    _, mark, categories = rest.partition("\npandas_categorical:")
    model.categories = categories.strip().split("\n")[0] if mark else ""
    return model


def _lines(lines: list[str]) -> dict[str, str]:
    pairs = [line.partition("=") for line in lines if line]
    return {key: value for key, _, value in pairs}

"""Token patterns of Python's `re` as rules that the graph can follow."""

from __future__ import annotations

import re
from typing import Any

from .characters import members
from .tokens import Rule


def token_rule(pattern: str) -> Rule | None:
    r"""The rule of a token pattern: one class repeated some number of times, perhaps between word boundaries.

    ``(?u)\b\w\w+\b``, ``\w+``, ``[a-z]{3,}``, ``\S+``, ``.{1,3}`` ... None for any other pattern.
    """
    from re import _constants as codes  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]

    parsed = parser.parse(pattern)
    if parsed.state.flags & ~re.UNICODE:
        return None
    items = list(parsed)
    while len(items) == 1 and items[0][0] is codes.SUBPATTERN and not any(items[0][1][1:3]):
        items = list(items[0][1][3])  # a group around the whole
    boundary = (codes.AT, codes.AT_BOUNDARY)
    bounded = len(items) > 2 and items[0] == boundary and items[-1] == boundary
    if bounded:
        items = items[1:-1]
    least, most, own, endless = 0, 0, None, False
    for item in items:
        low, high, cls = 1, 1, item
        if item[0] is codes.MAX_REPEAT:
            low, high, inner = item[1]
            if len(inner) != 1:
                return None
            cls = inner[0]
        text = _class(cls, codes)
        if text is None or own not in (None, text):
            return None
        endless = endless or high is codes.MAXREPEAT
        own, least, most = text, least + int(low), most + int(high)
    if own is None or least < 1:
        return None
    holds = members(own)
    if bounded and (holds & ~members(r"\w")).any():
        return None
    return Rule.of(own, least, 0 if endless else most, bounded=bounded)


def _class(item: Any, codes: Any) -> str | None:
    """One parsed character class, written again."""
    kind, value = item
    if kind is codes.LITERAL:
        return f"[{_char(value)}]"
    if kind is codes.ANY:
        return "[^\\n]"
    if kind is codes.NOT_LITERAL:
        return f"[^{_char(value)}]"
    if kind is not codes.IN:
        return None
    parts = []
    for what, detail in value:
        if what is codes.NEGATE:
            parts.append("^")
        elif what is codes.LITERAL:
            parts.append(_char(detail))
        elif what is codes.RANGE:
            parts.append(f"{_char(detail[0])}-{_char(detail[1])}")
        elif what is codes.CATEGORY:
            names = {
                codes.CATEGORY_WORD: r"\w", codes.CATEGORY_NOT_WORD: r"\W", codes.CATEGORY_DIGIT: r"\d",
                codes.CATEGORY_NOT_DIGIT: r"\D", codes.CATEGORY_SPACE: r"\s", codes.CATEGORY_NOT_SPACE: r"\S",
            }  # fmt: skip
            parts.append(names[detail])
        else:
            return None
    return f"[{''.join(parts)}]"


def _char(code: int) -> str:
    return f"\\U{code:08x}"

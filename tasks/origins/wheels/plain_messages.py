"""Turns a message of a program's catalog into plain text: no markup, no mnemonics, placeholders as {1}, {2}, ...

What cannot be made plain for certain is refused, with the reason.
"""

import html
import re

from transformer.text.preparation import normalise

_CHOICE = re.compile(r"\{\s*\w*\s*,\s*(plural|select|selectordinal|number|date|time)\b")
_CODE = re.compile(r"\{%|\{#|\[%key:")

_PARAGRAPH = re.compile(r"\n\s*\n")
_LIST = re.compile(r"^\s*([-*•]|\d+[.)])\s.*\n\s*([-*•]|\d+[.)])\s", re.MULTILINE)
_HEADING = re.compile(r"^\s*#+\s+(.*)$", re.MULTILINE)
_BREAK = re.compile(r"</?(br|p|div|li|ul|ol|h\d|tr|td)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(
    r"</?(a|abbr|b|big|center|code|em|font|i|img|kbd|label|pre|q|s|samp|small|span|strong|sub|sup|tt|u|var)\b[^<>]*>",
    re.IGNORECASE,
)
_LINK = re.compile(r"!?\[([^\[\]]+)\]\([^()\s]*\)")
_STRONG = re.compile(r"\*\*|`")
_EMPHASIS = re.compile(r"(?<![\w*])\*([^\s*](?:[^*]*[^\s*])?)\*(?![\w*])")
_PAIRED = re.compile(r"\{(\w+)\}(.*?)\{/\1\}", re.DOTALL)  # {link}here{/link}
_MNEMONIC = re.compile(r"(?<![\w&])&(?=\w)|(?<=[^\W\d_])&(?=[a-zäöüßàâçéèêëîïôùûœ])")
_LEFT_OVER = re.compile(r"[{}<>|\\]|\$\w|%\w|\]\(|\w%%?\w")

_PLACEHOLDER = re.compile(
    r"""%\((?P<percent>[^()]+)\)[-\#0+]*\d*(?:\.\d+)?[a-zA-Z]   # %(name)s
      | \$?\{\{?\$?\s*(?P<brace>[^{}]*?)\s*\$?\}?\}             # {name}, {}, {0:.2f}, ${name}, {{name}}, {$name$}
      | (?<!%)%(?P<position>\d+)(?:\$[a-zA-Z])?(?!\w)        # %1, %1$s
      | (?<!%)%[-\#0+]*\d*(?:\.\d+)?[sdifgrxu](?!\w)         # %s, %.2f
    """,
    re.VERBOSE,
)


class Unfit(Exception):
    """The message cannot become a plain sentence; the text says why, in the words that the counts use."""


def plain_pairs(source: str, target: str) -> list[tuple[str, str]]:
    """The message and its translation as plain pairs: one, or one for each paragraph where both have as many.

    Raises Unfit.
    """
    sources, targets = _paragraphs(source), _paragraphs(target)
    if len(sources) != len(targets):
        sources, targets = [" ".join(sources)], [" ".join(targets)]
    return [_plain_pair(*pair) for pair in zip(sources, targets, strict=True)]


def _paragraphs(text: str) -> list[str]:
    if _CHOICE.search(text) or _CODE.search(text):
        raise Unfit("with plural forms or logic")
    if _LIST.search(text):
        raise Unfit("laid out as a list")
    return [part for part in _PARAGRAPH.split(_without_markup(text)) if part.strip()]


def _without_markup(text: str) -> str:
    text = _TAG.sub("", _BREAK.sub("\n\n", text))
    text = _LINK.sub(r"\1", _HEADING.sub(r"\1\n\n", text))
    return html.unescape(_PAIRED.sub(r"\2", _EMPHASIS.sub(r"\1", _STRONG.sub("", text))))


def _plain_pair(source: str, target: str) -> tuple[str, str]:
    numbers: dict[str, int] = {}
    sides = [_number_placeholders(_MNEMONIC.sub("", text), numbers) for text in (source, target)]
    if sorted(sides[0][1]) != sorted(sides[1][1]):
        raise Unfit("with other placeholders on the other side")
    texts = [normalise(text) for text, _ in sides]
    if any(_LEFT_OVER.search(re.sub(r"\{\d+\}", "", text)) for text in texts):
        raise Unfit("with markup or code left")
    return texts[0], texts[1]


def _number_placeholders(text: str, numbers: dict[str, int]) -> tuple[str, list[int]]:
    """The text with numbered placeholders, and these numbers. `numbers` maps names to numbers and grows.

    A placeholder without a name is known by its rank among those of its text.
    """
    found: list[int] = []
    nameless = 0

    def number(match: re.Match[str]) -> str:
        nonlocal nameless
        name = next((group for group in match.groups() if group), "")
        name = re.sub(r"\s", "", re.split(r"[:!|]", name)[0])
        if not name:
            nameless += 1
            name = f"nameless {nameless}"
        found.append(numbers.setdefault(name, len(numbers) + 1))
        return f"{{{found[-1]}}}"

    return _PLACEHOLDER.sub(number, text).replace("%%", "%"), found

"""Computed values in the text of a lesson, such as `{ $share }`, which the app computes when it shows a step.

So the text stays true if the shipped checkpoint changes or the reader chooses another one.
"""

import re
from collections.abc import Mapping

# Page -> the names of the values that `bertlab_app.classroom.compute` can compute for this page.
VALUE_NAMES = {
    "input": ("tokens", "word", "pieces"),
    "attention": ("layer", "head", "query", "key", "share"),
    "logit-lens": ("early", "early_rank", "layer", "last", "word", "share"),
    "fill-mask": ("first", "share", "second", "second_share"),
}
UNKNOWN_VALUE = "–"  # replaces a value that cannot be computed, such as the prediction of a missing checkpoint

_PLACEHOLDER = re.compile(r"\{ ?\$([\w-]+) ?\}")
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")  # the characters that can have a meaning in Markdown


def find_value_names(text: str) -> list[str]:
    """List the names of the computed values in a text.

    >>> find_value_names("It is { $word } with {$share}.")
    ['word', 'share']
    """
    return _PLACEHOLDER.findall(text)


def fill_in(text: str, values: Mapping[str, object]) -> str:
    r"""Replace the placeholders in a text with computed values, and escape the Markdown characters in the values.

    >>> fill_in("It is { $word } with { $share }.", {"word": "##s"})
    'It is \\#\\#s with –.'
    """
    return _PLACEHOLDER.sub(lambda match: _PUNCTUATION.sub(r"\\\1", str(values.get(match[1], UNKNOWN_VALUE))), text)

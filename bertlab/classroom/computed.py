"""Numbers and words in the text of a lesson that the app computes when it shows the step.

`{ $share }` in the text of a step stands for a computed value; the message files write parameters in the same way. So
the text stays true if the shipped checkpoint changes, or if the reader chooses another checkpoint.
"""

import re
from collections.abc import Mapping

# page -> the names of the values that `bertlab.app.classroom.compute` can compute for it
NAMES = {
    "input": ("tokens", "word", "pieces"),
    "attention": ("layer", "head", "query", "key", "share"),
    "logit-lens": ("early", "early_rank", "layer", "last", "word", "share"),
    "fill-mask": ("first", "share", "second", "second_share"),
}
UNKNOWN = "–"  # replaces a value that cannot be computed, such as the prediction of a missing checkpoint

_PLACEHOLDER = re.compile(r"\{ ?\$([\w-]+) ?\}")
_MARKUP = re.compile(r"([!-/:-@\[-`{-~])")


def find_names(text: str) -> list[str]:
    """List the names of the computed values in a text.

    >>> find_names("It is { $word } with {$share}.")
    ['word', 'share']
    """
    return _PLACEHOLDER.findall(text)


def fill_in(text: str, values: Mapping[str, object]) -> str:
    r"""Replace the names in a text with computed values. The values are escaped, because the text is Markdown.

    >>> fill_in("It is { $word } with { $share }.", {"word": "##s"})
    'It is \\#\\#s with –.'
    """
    return _PLACEHOLDER.sub(lambda match: _MARKUP.sub(r"\\\1", str(values.get(match[1], UNKNOWN))), text)

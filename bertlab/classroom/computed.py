"""Numbers and words in the text of a lesson that the app computes when it shows the step.

`{ $share }` in what a step says stands for a computed value, as a parameter does in the message files. So the text
stays true if the shipped checkpoint changes, or if the reader chooses another one.
"""

import re
from collections.abc import Mapping

# page -> the names of what can be computed for it; `bertlab.app.classroom.compute` computes them
NAMES = {
    "input": ("tokens", "word", "pieces"),
    "attention": ("layer", "head", "query", "key", "share"),
    "depth": ("early", "early_rank", "layer", "last", "word", "share"),
    "fill-mask": ("first", "share", "second", "second_share"),
}
UNKNOWN = "–"  # for what cannot be computed, such as the prediction of a checkpoint that is missing

_PLACE = re.compile(r"\{ ?\$([\w-]+) ?\}")
_MARKUP = re.compile(r"([!-/:-@\[-`{-~])")


def find_names(text: str) -> list[str]:
    """List the names of the computed values in a text.

    >>> find_names("It is { $word } with {$share}.")
    ['word', 'share']
    """
    return _PLACE.findall(text)


def fill_in(text: str, values: Mapping[str, object]) -> str:
    r"""Replace the names in a text by computed values, which are escaped, because the text is Markdown.

    >>> fill_in("It is { $word } with { $share }.", {"word": "##s"})
    'It is \\#\\#s with –.'
    """
    return _PLACE.sub(lambda place: _MARKUP.sub(r"\\\1", str(values.get(place[1], UNKNOWN))), text)

"""`Number`: the formula and the source of a value that the app shows."""

from dataclasses import dataclass

ARXIV = "https://arxiv.org/abs/"  # followed by the arXiv id of a paper


@dataclass(frozen=True)
class Number:
    """The formula and the source of a value that the app shows."""

    formula: str  # the formula that computes the value, in KaTeX
    source: str  # the source that defines the value: a paper and its section, a web page, or code
    link: str  # the URL of the source

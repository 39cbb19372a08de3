"""Views of WordPiece: the search for tokens, the merges that made them, and the comparison of two vocabularies."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from bertlab.config.languages import DEFAULT, render
from bertlab.text.tokenizers.search import MergeHistory, SearchStep, WordSearch
from bertlab.views.export import Columns
from bertlab.views.figures import BLUE, ORANGE, empty_figure, escape_markup
from bertlab.views.palette import PALETTE, transparent
from bertlab.views.passage import escape_html

MAX_REJECTED = 8  # how many rejected candidates of a step are shown; a long word has many
# CSS of a token
_TOKEN_STYLE = "display: inline-block; margin: 0 4px 4px 0; padding: 0 7px; border-radius: 6px; line-height: 1.6;"


def search_html(searches: Sequence[WordSearch], lang: str = DEFAULT) -> str:
    """Write the search for the tokens of each word: rejected candidates are crossed out, and a found token has its id.

    Args:
        searches: from `Session.search_tokens`.
        lang: the language of the notes.
    """
    words = []
    for search in searches:
        steps = "".join(_step_html(step, lang) for step in search.steps)
        if search.is_too_long:
            steps = f"<p>{escape_html(render('wordpiece-too-long', lang, count=len(search.word)))}</p>"
        result = "".join(_token_html(token) for token in search.tokens)
        word = search.word if len(search.word) <= 60 else f"{search.word[:60]}…"
        words.append(
            f'<section style="margin: 0 0 1rem"><p dir="auto" style="margin: 0"><b>{escape_html(word)}</b> → {result}'
            f'</p><ol style="margin: 0.2rem 0 0">{steps}</ol></section>'
        )
    return f'<div class="bl-wordpiece" style="overflow-wrap: anywhere">{"".join(words)}</div>'


def merges_html(histories: Sequence[MergeHistory], lang: str = DEFAULT) -> str:
    """Write the merges that built each token, in the order in which training made them, each with its rank."""
    parts = []
    for history in histories:
        if not history.merges:
            line = escape_html(render("wordpiece-single-character", lang))
        else:
            line = " · ".join(
                f'<span style="white-space: nowrap">{_merge_part_html(merge.left)} + '
                f"{_merge_part_html(merge.right)} → "
                f"{_token_html(merge.token)}<small>{escape_html(render('wordpiece-rank', lang, rank=merge.rank))}"
                f"</small></span>"
                for merge in history.merges
            )
        note = "" if history.is_unique else f" <small>{escape_html(render('wordpiece-not-unique', lang))}</small>"
        parts.append(f'<p dir="auto" style="margin: 0 0 0.6rem">{_token_html(history.token)} {line}{note}</p>')
    return f'<div class="bl-wordpiece" style="overflow-wrap: anywhere">{"".join(parts)}</div>'


def token_row_html(tokens: Sequence[str]) -> str:
    """Write tokens in a line that wraps; [UNK] is orange and dashed."""
    return f'<div class="bl-wordpiece" style="overflow-wrap: anywhere">{"".join(map(_token_html, tokens))}</div>'


def vocabulary_bars(rates: Mapping[str, tuple[float, float]], *, lang: str = DEFAULT) -> go.Figure:
    """Draw tokens per word and the share of unknown words as a pair of bars for each vocabulary.

    Args:
        rates: {name of a vocabulary: (tokens per word, share of words that became [UNK], 0..1)}.
        lang: the language of the labels.
    """
    names = list(rates)[::-1]
    figure = empty_figure(height=70 + 60 * len(names))
    for label, index, colour, number_format in (
        ("figure-tokens-per-word", 0, BLUE, "{:.2f}"), ("figure-unknown-words", 1, ORANGE, "{:.0%}"),
    ):  # fmt: skip
        values = [rates[name][index] for name in names]
        figure.add_bar(
            x=values, y=[escape_markup(name) for name in names], orientation="h", name=render(label, lang),
            marker={"color": colour, "cornerradius": 4}, text=[number_format.format(value) for value in values],
            textposition="outside", cliponaxis=False, hovertemplate="%{y}: %{text}<extra></extra>",
        )  # fmt: skip
    largest = max(rate for rate, _ in rates.values())
    figure.update_xaxes(range=[0, 1.18 * max(largest, 1.0)], visible=False)
    figure.update_layout(
        barmode="group", showlegend=True, legend={"orientation": "h", "y": -0.1, "traceorder": "normal"}
    )
    return figure


def compute_token_rates(searches: Sequence[WordSearch], unknown: str = "[UNK]") -> tuple[float, float]:
    """Return the tokens per word and the share of words that became [UNK].

    >>> compute_token_rates([WordSearch("teapot", (), ("tea", "##pot")), WordSearch("§", (), ("[UNK]",))])
    (1.5, 0.5)
    """
    num_tokens = sum(len(search.tokens) for search in searches)
    return num_tokens / len(searches), sum(search.tokens == (unknown,) for search in searches) / len(searches)


def search_columns(searches: Sequence[WordSearch]) -> Columns:
    """Make one row for each step of the search for the tokens of a word."""
    rows = [(search.word, step) for search in searches for step in search.steps]
    return {
        "word": [word for word, _ in rows],
        "start": [step.start for _, step in rows],
        "candidates_rejected": [len(step.rejected) for _, step in rows],
        "token": [step.token for _, step in rows],
        "id": [-1 if step.id is None else step.id for _, step in rows],
    }


def merge_columns(histories: Sequence[MergeHistory]) -> Columns:
    """Make one row for each merge that built a token."""
    rows = [(history.token, merge) for history in histories for merge in history.merges]
    columns: Columns = {"token": [token for token, _ in rows]}
    return columns | {
        name: [getattr(merge, field) for _, merge in rows]
        # (column, field of `Merge`)
        for name, field in (("left", "left"), ("right", "right"), ("merged", "token"), ("rank", "rank"))
    }


def _step_html(step: SearchStep, lang: str) -> str:
    """Write one step of the search: the rejected candidates, then the token that was found."""
    rejected = step.rejected
    if len(rejected) > MAX_REJECTED:  # the first and the last ones are enough to show what the search does
        half = MAX_REJECTED // 2
        more = escape_html(render("wordpiece-more", lang, count=len(rejected) - MAX_REJECTED))
        first, last = map(_rejected_html, rejected[:half]), map(_rejected_html, rejected[-half:])
        items = [*first, f"<small>{more}</small>", *last]
    else:
        items = [*map(_rejected_html, rejected)]
    found_token = f"{_token_html(step.token)}<small>id {step.id}</small>" if step.token else _token_html("[UNK]")
    return f'<li dir="auto">{" ".join([*items, found_token])}</li>'


def _rejected_html(candidate: str) -> str:
    """Write a rejected candidate, crossed out."""
    style = f"{_TOKEN_STYLE} opacity: 0.6; background: {transparent(PALETTE['grey'], 0.12)}"
    return f'<s style="{style}">{_short_html(candidate)}</s>'


def _token_html(token: str) -> str:
    """Write a token of the vocabulary; [UNK] is orange and dashed."""
    colour = PALETTE["orange"] if token == "[UNK]" else PALETTE["blue"]
    line = "dashed" if token == "[UNK]" else "solid"
    style = f"{_TOKEN_STYLE} background: {transparent(colour, 0.16)}; border-bottom: 2px {line} {colour}"
    return f'<bdi style="{style}">{_short_html(token)}</bdi>'


def _merge_part_html(token: str) -> str:
    """Write one of the two tokens that a merge joins."""
    return f'<bdi style="{_TOKEN_STYLE} background: {transparent(PALETTE["grey"], 0.16)}">{_short_html(token)}</bdi>'


def _short_html(token: str) -> str:
    """Write a token as HTML, shortened if it has more than 24 characters."""
    return escape_html(token if len(token) <= 24 else f"{token[:20]}…")

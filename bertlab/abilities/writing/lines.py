"""Format the results of the writing aids as lines for a terminal."""

from collections.abc import Sequence

from bertlab.abilities.writing.corrections import Correction
from bertlab.abilities.writing.surprise import ProposedWord, TextSurprise, WordProposals
from bertlab.abilities.writing.type_ahead import TypeAhead
from bertlab.config.text_table import format_table
from bertlab.views.numbers import percent
from bertlab.views.terminal import bar, make_printable

FULL_BAR_SURPRISE = 25.0  # nats; from this surprise on, a bar has its full width


def writing_lines(
    surprise: TextSurprise,
    proposals: Sequence[WordProposals],
    threshold: float,
    type_ahead: TypeAhead,
    corrections: Sequence[Correction] | None = None,
) -> list[str]:
    """Format every word's surprise, better words where it exceeds the threshold (nats), changes, and next words."""
    misfits = set(surprise.find_misfits(threshold))
    rows = [("word", "surprise", "")]
    for index, word in enumerate(surprise.words):
        surprise_bar = bar(min(word.surprise / FULL_BAR_SURPRISE, 1.0))
        rows.append(
            (make_printable(word.text), f"{word.surprise:.2f}", surprise_bar + (" <" if index in misfits else ""))
        )
    lines = [
        *format_table(rows, "<><"), "",
        f"sum {surprise.total:.2f} nats over {surprise.num_tokens:,} tokens, mean {surprise.mean:.2f}, "
        f"pseudo-perplexity {surprise.pseudo_perplexity:,.1f}",
    ]  # fmt: skip
    if proposals:
        lines += ["", f"words with a surprise above {threshold:g} nats, and words of one token that fit better:"]
        lines += format_table([(make_printable(row.text), _list_words(row.proposals)) for row in proposals], "<<")
    if corrections is not None:
        changes = [(make_printable(row.original), "->", make_printable(row.replacement), f"+{row.gain:.1f} nats")
                   for row in corrections]  # fmt: skip
        lines += ["", "suggested changes:" if changes else "no changes are suggested", *format_table(changes, "<<<>")]
    predictions = [(f"gap {number}", gap.words) for number, gap in enumerate(type_ahead.gaps, 1)]
    predictions += [("ending of the last word", type_ahead.endings)] if type_ahead.endings else []
    predictions += [("next word", type_ahead.words), ("last word of the sentence", type_ahead.last_words)]
    return [*lines, "", *format_table([(name, _list_words(words)) for name, words in predictions], "<<")]


def _list_words(words: Sequence[ProposedWord]) -> str:
    return ", ".join(f"{make_printable(word.text)} {percent(word.probability)}" for word in words) or "none"

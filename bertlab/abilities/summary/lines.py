"""Format summaries of texts, and their ROUGE, as lines for a terminal."""

from collections.abc import Sequence

from bertlab.abilities.summary.compute import RougeComparison, Summary
from bertlab.config.text_table import format_table
from bertlab.tasks.rouge import METRICS
from bertlab.views.numbers import percent
from bertlab.views.terminal import make_printable

# metric -> its name in the table
METRIC_NAMES = dict(zip(METRICS, ("ROUGE-1", "ROUGE-2", "ROUGE-L"), strict=True))


def summary_lines(ids: Sequence[str], summaries: Sequence[Summary], comparison: RougeComparison | None) -> list[str]:
    """Format the score, the position and the text of each chosen sentence; then ROUGE, if there are references."""
    lines = []
    for id, summary in zip(ids, summaries, strict=True):
        lines += [make_printable(id)] if len(ids) > 1 else []
        header = (
            "score" if summary.has_learned_scores else "centrality",
            "sentence",
            f"{len(summary.chosen)} of {len(summary.sentences):,}",
        )
        chosen = [(f"{summary.sentences[i].score:.2f}", str(i + 1), make_printable(summary.sentences[i].text))
                  for i in summary.chosen]  # fmt: skip
        lines += [*format_table([header, *chosen], ">><"), ""]
    if comparison is None:
        return [*lines, "no reference summaries, so the quality was not measured"]
    rows = [(f"F1, mean of {comparison.references:,}", *METRIC_NAMES.values())]
    for name, values in (("chosen sentences", comparison.summary), ("first sentences", comparison.first)):
        rows.append((name, *(percent(values[metric]) for metric in METRICS)))
    return [*lines, *format_table(rows, "<>>>")]

"""Format an example of pre-training as lines for a terminal."""

from bertlab.abilities.pretraining_example.results import PretrainingExample
from bertlab.config.text_table import format_table
from bertlab.views.numbers import percent
from bertlab.views.terminal import make_printable


def example_lines(example: PretrainingExample) -> list[str]:
    """Format the label of the sentence pair and the input, then a row for every token to predict, then the losses."""
    input_line = " ".join(token.input_token for token in example.tokens)
    rows = [("token", "replaced by", "probability", "rank", "-ln p", "predictions")]
    for row in example.predictions:
        replacement = {"mask": "[MASK]", "random": f"{row.input_token} (random)", "unchanged": "(unchanged)"}[
            row.replacement_kind
        ]
        candidates = ", ".join(candidate.token for candidate in row.candidates)
        rows.append(
            (
                make_printable(row.token), make_printable(replacement), percent(row.probability), f"{row.rank:,}",
                f"{row.loss:.2f}", make_printable(candidates),
            )
        )  # fmt: skip
    losses = example.losses
    parts = [f"MLM {losses.mlm:.3f}"]
    if losses.pair is not None:
        parts += [f"sentence pair {losses.pair:.3f}", f"sum {losses.total:.3f}"]
    return [
        f"seed {example.seed}: {example.label_name}", make_printable(input_line), "", *format_table(rows, "<<>>><"), "",
        f"loss: {', '.join(parts)}",
    ]  # fmt: skip

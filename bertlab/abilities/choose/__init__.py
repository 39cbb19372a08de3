"""The best continuation of a text (multiple choice), and the products that add up to each score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertlab.abilities.ability import Prediction, Text, Texts

if TYPE_CHECKING:
    from bertlab.abilities.queries import Query
    from bertlab.session import Session
    from bertlab.tasks.multiple_choice import Choice


@dataclass(frozen=True, kw_only=True)
class Choose(Prediction["list[Choice]"]):
    """Choose the best continuation of a text, with a checkpoint that was fine-tuned on multiple choice.

    Examples:
      bertlab choose "She opened her umbrella." "It had started to rain." "The soup was salty."
    """

    name = "choose"
    summary = "choose the best continuation of a text"
    needs = ("choose",)
    example = {"context": "choice_context", "choices": "choices"}

    context: Text
    """The text to continue. Use "-" to read it from standard input."""
    choices: Texts
    """Two or more continuations."""

    def prepare(self, session: Session) -> Query:
        import torch

        from bertlab.abilities.queries import Query
        from bertlab.tasks.multiple_choice import make_choices

        inputs = session.encode_choices(self.context, self.choices)
        return Query("choose", inputs, lambda outputs: make_choices(self.choices, torch.cat(outputs)))

    def lines(self, result: list[Choice]) -> list[str]:
        from bertlab.views.shortening import shorten_to_width
        from bertlab.views.terminal import make_printable, probability_table

        rows = [(shorten_to_width(make_printable(choice.text), 64), choice.probability) for choice in result]
        return [make_printable(self.context), "", *probability_table(rows)]

    def as_json(self, result: list[Choice]) -> dict:
        return super().as_json({"choices": result})


ABILITIES = (Choose,)

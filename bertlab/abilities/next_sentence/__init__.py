"""Next-sentence prediction, and the laboratory that tests it: rankings and test pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertlab.abilities.ability import Prediction, Text

if TYPE_CHECKING:
    from bertlab.abilities.queries import Query
    from bertlab.session import Session
    from bertlab.tasks.sentence_pair import NextSentence as NextSentenceResult


@dataclass(frozen=True, kw_only=True)
class NextSentence(Prediction["NextSentenceResult"]):
    """Predict whether sentence B follows sentence A or, with an SOP checkpoint, whether the two are in order.

    Examples:
      bertlab next-sentence "She opened the window." "Cold air came in."
      bertlab next-sentence "She opened the window." "Goats have square pupils." --json
    """

    name = "next-sentence"
    summary = "predict whether a sentence follows another"
    needs = ("nsp",)
    example = {"first": "pair.0", "second": "pair.1"}

    first: Text
    """Sentence A. Use "-" to read it from standard input."""
    second: Text
    """Sentence B. Use "-" to read it from standard input."""

    def prepare(self, session: Session) -> Query:
        from bertlab.abilities.queries import Query
        from bertlab.tasks.sentence_pair import read_pair_logits

        encoding, objective = session.encode_input(self.first, self.second), session.loaded.pair_objective
        return Query("nsp", (encoding,), lambda outputs: read_pair_logits(outputs[0], objective))

    def lines(self, result: NextSentenceResult) -> list[str]:
        from bertlab.views.terminal import make_printable, probability_table

        rows = zip(result.outcomes, (result.probability, 1 - result.probability), strict=True)
        return [f"A  {make_printable(self.first)}", f"B  {make_printable(self.second)}", "", *probability_table(rows)]

    def as_json(self, result: NextSentenceResult) -> dict:
        return {"label": result.label} | super().as_json(result)


ABILITIES = (NextSentence,)

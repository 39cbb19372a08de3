"""Labels, or numbers (regression), for texts; and the effect of each word on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertlab.abilities.ability import OptionalText, Prediction, Text
from bertlab.config.languages import Message

if TYPE_CHECKING:
    from bertlab.abilities.queries import Query
    from bertlab.session import Session
    from bertlab.tasks.classification import Classification


@dataclass(frozen=True, kw_only=True)
class Classify(Prediction["Classification"]):
    """Predict a label, or a number (regression), for a text with a fine-tuned checkpoint.

    Examples:
      bertlab classify "A quiet, lovely film."
      bertlab classify "A man plays." "Somebody makes music." --checkpoint runs/mnli
      bertlab classify - --json < review.txt
    """

    name = "classify"
    summary = "predict a label, or a number (regression), for a text"
    needs = ("classify", "regress")
    example = {"text": "review"}

    text: Text
    """The text. Use "-" to read it from standard input."""
    pair: OptionalText = None
    """A second text, for a checkpoint that was fine-tuned on pairs."""

    def prepare(self, session: Session) -> Query:
        from bertlab.abilities.queries import Query

        task_type, labels = session.find_classifier(), session.labels
        encoding = session.encode_input(self.text, self.pair)
        return Query(task_type.head, (encoding,), lambda outputs: task_type.read_logits(labels, outputs[0]))

    def notes(self, session: Session, result: Classification) -> list[Message]:
        if session.num_texts in (None, 1 if self.pair is None else 2):
            return []
        id = "fine-tuned-on-single-texts" if session.num_texts == 1 else "fine-tuned-on-pairs"
        return [Message(id, checkpoint=session.name)]

    def lines(self, result: Classification) -> list[str]:
        from bertlab.views.terminal import make_printable, probability_table

        texts = [self.text] if self.pair is None else [f"A  {self.text}", f"B  {self.pair}"]
        lines = [*map(make_printable, texts), ""]
        if result.value is not None:
            return [*lines, f"value  {result.value:.3f}"]
        ranked = sorted(result.labels, key=lambda label: -label.probability)
        return lines + probability_table((label.label, label.probability) for label in ranked)

    def as_json(self, result: Classification) -> dict:
        return ({} if result.best is None else {"label": result.best.label}) | super().as_json(result)


ABILITIES = (Classify,)

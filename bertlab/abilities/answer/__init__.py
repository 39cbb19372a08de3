"""Answers to questions about a passage, and the scores behind them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from annotated_types import Interval

from bertlab.abilities.ability import Count, Flag, Prediction, Text

if TYPE_CHECKING:
    from bertlab.abilities.queries import Query
    from bertlab.abilities.results import SpanXray
    from bertlab.session import Session
    from bertlab.tasks.span.answer import Answers


@dataclass(frozen=True, kw_only=True)
class Answer(Prediction["Answers"]):
    """Find the answer to a question in a passage.

    Examples:
      bertlab answer "Who carried the lantern?" "The keeper of the old mill carried the lantern."
      bertlab answer "When was it built?" - < passage.txt
    """

    name = "answer"
    summary = "find the answer to a question in a passage"
    needs = ("span",)
    example = {"question": "questions.0", "passage": "passage"}

    question: Text
    """The question. Use "-" to read it from standard input."""
    passage: Text
    """The passage, of any length. Use "-" to read it from standard input."""
    n_best: Count = 5
    """Number of answers to show."""
    max_answer_tokens: Count = 30
    """Maximum number of tokens in an answer."""
    threshold: Annotated[float | None, Flag("NUMBER")] = None
    """Threshold tau: the answer is "no answer" if its score exceeds the score of the best answer by more than tau.
    Default: the threshold of the checkpoint; a checkpoint without a threshold always answers."""
    stride: Annotated[int | None, Interval(ge=1), Flag("INT")] = None
    """Distance in tokens between the starts of neighbouring windows of a long passage. Default: the value used in
    fine-tuning, or 128."""
    max_tokens: Annotated[int | None, Interval(ge=5), Flag("INT")] = None
    """Maximum number of tokens in a window, including the question. Default: the value used in fine-tuning, but at
    least 384."""

    def prepare(self, session: Session) -> Query:
        from bertlab.abilities.answer.compute import prepare_reading
        from bertlab.tasks.span.answer import find_answers

        query = prepare_reading(session, self)
        tau = session.loaded.null_threshold if self.threshold is None else self.threshold
        return replace(
            query, finish=lambda outputs: replace(find_answers(query.finish(outputs), self.n_best), null_threshold=tau)
        )

    def lines(self, result: Answers) -> list[str]:
        from bertlab.abilities.answer.lines import answer_lines

        return answer_lines(self.passage, result)

    def as_json(self, result: Answers) -> dict:
        return {"text": result.text} | super().as_json(result)


@dataclass(frozen=True, kw_only=True)
class Xray(Answer):
    """Find the answer to a question in a passage, with the scores behind it: the prediction for each window alone.

    Examples:
      bertlab xray "Who carried the lantern?" "The keeper of the old mill carried the lantern." --json
    """

    name = "xray"
    summary = "show the scores behind the answer to a question, window by window"
    opens_like = "answer"

    n_best: Count = 20

    def prepare(self, session: Session) -> Query:
        from bertlab.abilities.answer.compute import make_xray, prepare_reading

        query = prepare_reading(session, self)
        return replace(query, finish=lambda outputs: make_xray(session, self, query.finish(outputs)))

    def lines(self, result: SpanXray) -> list[str]:
        return super().lines(result.answers)

    def as_json(self, result: SpanXray) -> dict:
        return super(Answer, self).as_json(result)


ABILITIES = (Answer, Xray)

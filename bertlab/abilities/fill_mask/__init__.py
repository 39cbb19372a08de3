"""Masked words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from bertlab.abilities.ability import TEXT, Count, Flag, Prediction, Text

if TYPE_CHECKING:
    from bertlab.abilities.queries import Query
    from bertlab.session import Session
    from bertlab.tasks.masked_lm import MaskFill


@dataclass(frozen=True, kw_only=True)
class FillMask(Prediction["list[MaskFill]"]):
    """Predict the masked words of a text.

    Examples:
      bertlab fill-mask "The cat [MASK] on the mat."
      bertlab fill-mask "A [MASK] of hot [MASK]." --top-k 3
      echo "Rain [MASK] on the roof." | bertlab fill-mask - --json
    """

    name = "fill-mask"
    summary = "predict the masked words"
    needs = ("mlm",)
    example = {"text": "masked_sentence"}

    text: Text
    """The text, with [MASK] in place of each word to predict. Use "-" to read it from standard input."""
    top_k: Count = 5
    """Number of predictions for each mask."""
    pair: Annotated[str | None, TEXT, Flag("TEXT")] = None
    """A second text, sentence B of the input."""
    originals: Annotated[tuple[str, ...], Flag("TEXT ...")] = ()
    """The word that each mask replaced; the result then has its probability and rank. "" for an unknown word."""

    def prepare(self, session: Session) -> Query:
        from bertlab.abilities.queries import Query
        from bertlab.tasks.masked_lm import find_mask_positions, read_mask_logits

        encoding, tokenizer = session.encode_input(self.text, self.pair), session.tokenizer
        positions = tuple(find_mask_positions(tokenizer, encoding))
        return Query(
            "mlm",
            (encoding,),
            lambda outputs: read_mask_logits(tokenizer, encoding, positions, outputs[0], self.top_k, self.originals),
            (positions,),
        )

    def lines(self, result: list[MaskFill]) -> list[str]:
        from bertlab.views.terminal import make_printable, probability_table

        lines = [make_printable(self.text if self.pair is None else f"{self.text} | {self.pair}")]
        for number, fill in enumerate(result, 1):
            lines += ["", *([f"[MASK] number {number}"] if len(result) > 1 else [])]
            lines += probability_table((candidate.token, candidate.probability) for candidate in fill.candidates)
        return lines

    def as_json(self, result: list[MaskFill]) -> dict:
        return super().as_json({"masks": result})


ABILITIES = (FillMask,)

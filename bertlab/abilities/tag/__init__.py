"""Tags of words, and the entities that they form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from bertlab.abilities.ability import SHOWN_ONLY, Prediction, Text

if TYPE_CHECKING:
    from bertlab.abilities.queries import Query
    from bertlab.session import Session
    from bertlab.tasks.tag_prediction import Tags


@dataclass(frozen=True, kw_only=True)
class Tag(Prediction["Tags"]):
    """Find the named entities in a text by predicting a tag for every word.

    Examples:
      bertlab tag "Ada Lovelace was born in London."
      bertlab tag "Ada Lovelace was born in London." --words
      bertlab tag - --json < article.txt
    """

    name = "tag"
    summary = "find the named entities in a text"
    needs = ("tag",)
    example = {"text": "text_with_names"}

    text: Text
    """The text. Use "-" to read it from standard input."""
    words: Annotated[bool, SHOWN_ONLY] = False
    """Show the tag of every word, not only the entities."""

    def prepare(self, session: Session) -> Query:
        from bertlab.abilities.queries import Query
        from bertlab.tasks.tag_prediction import read_tag_logits

        encoding, labels, by_token = session.encode_input(self.text), session.labels, session.predicts_token_tags
        return Query(
            "tag", (encoding,), lambda outputs: read_tag_logits(labels, self.text, encoding, outputs[0], by_token)
        )

    def lines(self, result: Tags) -> list[str]:
        from bertlab.config.text_table import format_table
        from bertlab.tasks.entity_spans import is_entity_scheme
        from bertlab.views.numbers import percent
        from bertlab.views.terminal import bar, make_printable

        marked_text, end = "", 0
        for entity in result.entities:
            marked_text += f"{self.text[end : entity.start]}[{self.text[entity.start : entity.end]} {entity.label}]"
            end = entity.end
        if self.words or not is_entity_scheme(result.labels):
            header, found = "word", [(word, word.tag, result.probability(word)) for word in result.words]
        else:
            header, found = "entity", [(entity, entity.label, entity.probability) for entity in result.entities]
        rows = [
            (make_printable(span.text), label, bar(share), percent(share), f"{span.start}-{span.end}")
            for span, label, share in found
        ]
        titles = (header, "tag" if header == "word" else "type", "", "", "characters")
        table = format_table([titles, *rows], "<<<>>") if rows else ["no entities found"]
        return [make_printable(marked_text + self.text[end:]), "", *table]


ABILITIES = (Tag,)

"""Extractive summaries: the highest-scoring sentences of a text, without repetitions, in text order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from annotated_types import Interval

from bertlab.abilities.ability import Ability, Count, Flag, Text, read_stdin
from bertlab.config.languages import Message

if TYPE_CHECKING:
    from bertlab.abilities.summary.compute import FileSummaries
    from bertlab.abilities.summary.compute import Summary as SummaryResult
    from bertlab.session import Session
    from bertlab.text.readers.text_file import TextFile

NUM_SENTENCES, DIVERSITY = 3, 0.3  # defaults
LANGUAGE_SAMPLE_SIZE = 50  # the language of a file is detected from this many of its first documents


@dataclass(frozen=True, kw_only=True)
class Summary(Ability["SummaryResult"]):
    """Choose the sentences that summarise a text.

    By default, the most central sentences are chosen: those whose vectors are most similar to the vectors of the other
    sentences. This needs no training. A checkpoint that was trained with `bertlab finetune custom --type summarisation`
    predicts a score for every sentence instead.
    """

    name = "summary"
    summary = "choose the sentences that summarise a text"
    doors = ("route", "method")
    opens_like = "embed"
    example = {"text": "report"}

    text: Text
    """The text, of any length."""
    sentences: Count = NUM_SENTENCES
    """The maximum number of sentences of the summary."""
    diversity: Annotated[float, Interval(ge=0, le=1)] = DIVERSITY
    """How much a sentence has to differ from the sentences chosen before it, from 0 to 1. With 0, a sentence is
    left out only if it shares three consecutive words with a chosen sentence. With a checkpoint that was trained for
    summarisation, the value is always 0."""

    def compute(self, session: Session, progress: Callable = iter) -> SummaryResult:
        from bertlab.abilities.summary.compute import summarise_texts

        (summary,) = summarise_texts(
            session.loaded, [self.text], self.sentences, diversity=self.diversity, progress=progress
        )
        return summary

    def notes(self, session: Session, result: SummaryResult) -> list[Message]:
        from bertlab.abilities.summary.compute import describe_limits

        return describe_limits(session, [result])

    def lines(self, result: SummaryResult) -> list[str]:
        from bertlab.abilities.summary.lines import summary_lines

        return summary_lines([""], [result], None)


@dataclass(frozen=True, kw_only=True)
class SummaryOfFile(Ability["FileSummaries"]):
    """Choose the sentences that summarise each document of a file.

    By default, the most central sentences are chosen: those whose vectors are most similar to the vectors of the other
    sentences. This needs no training. A checkpoint that was trained with `bertlab finetune custom --type summarisation`
    predicts a score for every sentence instead. The quality of a summary depends on the texts. If the file has a column
    of reference summaries, ROUGE measures how well the chosen sentences match them and, as a baseline, how well the
    first sentences of each text match them. Without references, the quality is not measured.

    Examples:
      bertlab summary report.txt --sentences 3
      bertlab summary articles.jsonl --column article --reference summary --json
      bertlab summary report.txt --checkpoint runs/summaries
    """

    name = "summary"
    summary = "choose the sentences that summarise a text"
    doors = ("command",)
    opens_like = "embed"

    file: Annotated[str, Flag("FILE", is_positional=True)]
    """A text file with one document, or a CSV, TSV, JSON Lines or Parquet file with one document per row. It may be
    compressed. Use "-" to read one document from standard input."""
    sentences: int = NUM_SENTENCES
    """The maximum number of sentences of a summary."""
    diversity: float = DIVERSITY
    """How much a sentence has to differ from the sentences chosen before it, from 0 to 1. With 0, a sentence is
    left out only if it shares three consecutive words with a chosen sentence. With a checkpoint that was trained for
    summarisation, the value is always 0."""
    column: Annotated[str | None, Flag("NAME")] = None
    """The column with the documents. Default: a column with a common name such as `document` or `text`, or the one
    with the most words."""
    id_column: Annotated[str | None, Flag("NAME")] = None
    """The column with the ids. Default: `id`, or the number of the row."""
    reference: Annotated[str | None, Flag("NAME")] = None
    """The column with the reference summaries. Default: `summary`, `highlights` or `요약`, if one of them exists."""
    cache: bool = True
    """Use the cache of vectors. It is in the directory that the environment variable BERTLAB_CACHE names, or in
    ~/.cache/bertlab."""

    @cached_property
    def documents(self) -> TextFile:
        """The documents of the file, or the one of standard input."""
        from bertlab.text.readers.text_file import make_document, read_documents

        if self.file == "-":
            return make_document(read_stdin(), "-")
        return read_documents(self.file, self.column, self.id_column, self.reference)

    def list_texts(self) -> Iterator[str]:
        yield from self.documents.texts[:LANGUAGE_SAMPLE_SIZE]

    def compute(self, session: Session, progress: Callable = iter) -> FileSummaries:
        from bertlab.abilities.summary.compute import FileSummaries, compare_with_references, summarise_texts

        documents = self.documents
        summaries = summarise_texts(
            session.loaded, documents.texts, self.sentences, diversity=self.diversity, use_cache=self.cache,
            progress=progress,
        )  # fmt: skip
        rouge = compare_with_references(summaries, documents.references) if documents.references else None
        return FileSummaries(documents.ids, tuple(summaries), rouge)

    def notes(self, session: Session, result: FileSummaries) -> list[Message]:
        from bertlab.abilities.summary.compute import describe_limits

        blank = [Message("summary-blank", count=self.documents.num_blank)] if self.documents.num_blank else []
        return blank + describe_limits(session, result.summaries)

    def lines(self, result: FileSummaries) -> list[str]:
        from bertlab.abilities.summary.lines import summary_lines

        return summary_lines(result.ids, result.summaries, result.rouge)

    def as_json(self, result: FileSummaries) -> dict:
        rows = [
            {"id": id, "num_sentences": len(summary.sentences), "summary": summary.text,
             "sentences": [{"index": index} | vars(summary.sentences[index]) for index in summary.chosen]}
            for id, summary in zip(result.ids, result.summaries, strict=True)
        ]  # fmt: skip
        scores = "learned" if result.summaries[0].has_learned_scores else "centrality"
        rouge = {"rouge": result.rouge} if result.rouge else {}
        return super().as_json({"scores": scores, "documents": rows} | rouge)


ABILITIES = (Summary, SummaryOfFile)

"""`bertlab summarise`: choose the sentences that summarise texts, and compare them with references if there are any."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar

import tyro

from bertlab.cli.query import QueryOptions, open_session, print_result, read_texts
from bertlab.config.languages import Message

if TYPE_CHECKING:
    from bertlab.text.readers.text_file import TextFile

Item = TypeVar("Item")
LANGUAGE_SAMPLE_SIZE = 50  # the language of a file is detected from this many of its first documents


@dataclass(frozen=True, kw_only=True)
class Summarise(QueryOptions):
    """Choose the sentences that summarise a text.

    By default, the most central sentences are chosen: those whose vectors are most similar to the vectors of the other
    sentences. This needs no training. A checkpoint that was trained with `bertlab finetune custom --type summarisation`
    predicts a score for every sentence instead. The quality of a summary depends on the texts. If the file has a column
    of reference summaries, ROUGE measures how well the chosen sentences match them and, as a baseline, how well the
    first sentences of each text match them. Without references, the quality is not measured.

    Examples:
      bertlab summarise report.txt --sentences 3
      bertlab summarise articles.jsonl --column article --reference summary --json
      bertlab summarise report.txt --checkpoint runs/summaries
    """

    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """A text file with one document, or a CSV, TSV, JSON Lines or Parquet file with one document per row. It may be
    compressed. Use "-" to read one document from standard input."""
    sentences: int = 3
    """The maximum number of sentences of a summary."""
    diversity: float = 0.3
    """How much a sentence has to differ from the sentences chosen before it, from 0 to 1. With 0, a sentence is
    left out only if it shares three consecutive words with a chosen sentence. With a checkpoint that was trained for
    summarisation, the value is always 0."""
    column: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """The column with the documents. Default: a column with a common name such as `document` or `text`, or the one
    with the most words."""
    id_column: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """The column with the ids. Default: `id`, or the number of the row."""
    reference: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """The column with the reference summaries. Default: `summary`, `highlights` or `요약`, if one of them exists."""
    cache: bool = True
    """Use the cache of vectors. It is in the directory that the environment variable BERTLAB_CACHE names, or in
    ~/.cache/bertlab."""


def summarise(config: Summarise) -> None:
    """Print the summaries and, if there are references, ROUGE."""
    from bertlab.abilities.summary import lines as terminal_summary
    from bertlab.abilities.summary.compute import compare_with_references, summarise_texts

    documents = _read_documents(config)
    session = open_session(config, "embed", *documents.texts[:LANGUAGE_SAMPLE_SIZE])
    summaries = summarise_texts(
        session.loaded, documents.texts, config.sentences, diversity=config.diversity, use_cache=config.cache,
        progress=_show_progress,
    )  # fmt: skip
    warnings = {
        "summary-blank": documents.num_blank,
        "summary-truncated": sum(len(summary.truncated) for summary in summaries),
    }
    for id, count in warnings.items():
        if count:
            print(Message(id, count=count), file=sys.stderr)
    if not summaries[0].is_checkpoint_suited:
        print(Message("sentences-untrained", checkpoint=session.name), file=sys.stderr)
    comparison = compare_with_references(summaries, documents.references) if documents.references else None
    rows = [
        {"id": id, "num_sentences": len(summary.sentences), "summary": summary.text,
         "sentences": [{"index": index} | vars(summary.sentences[index]) for index in summary.chosen]}
        for id, summary in zip(documents.ids, summaries, strict=True)
    ]  # fmt: skip
    result = {"scores": "learned" if summaries[0].has_learned_scores else "centrality", "documents": rows} | (
        {"rouge": comparison} if comparison else {}
    )
    make_lines = terminal_summary.summary_lines
    print_result(config, session, result, lambda: make_lines(documents.ids, summaries, comparison))


def _read_documents(config: Summarise) -> "TextFile":
    """Read the documents of the file, or one document from standard input."""
    from bertlab.text.readers.text_file import make_document, read_documents

    if config.file == "-":
        return make_document(*read_texts("-"), "-")
    return read_documents(config.file, config.column, config.id_column, config.reference)


def _show_progress(groups: Iterable[Item]) -> Iterable[Item]:
    """Show a progress bar while groups of sentences are computed."""
    from tqdm import tqdm

    return tqdm(
        groups, desc="sentences", leave=False, disable=None,
        bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}",
    )  # fmt: skip

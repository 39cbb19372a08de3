"""Commands about sentence vectors: compute them for a file, find similar texts, find clusters.

Shape legend: S texts, P dimensions of a sentence vector.
"""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import tyro

from bertlab.cli.query import CheckpointOptions, QueryOptions, print_result
from bertlab.config.languages import Message, detect_language

if TYPE_CHECKING:
    from bertlab.abilities.sentences.vectors import SentenceVectors
    from bertlab.session import Session
    from bertlab.text.readers.text_file import TextFile

Item = TypeVar("Item")
LANGUAGE_SAMPLE_SIZE = 200  # the language of a file is detected from this many of its first texts
SLOW_TO_CLUSTER = 20_000  # with at least this many texts, HDBSCAN takes longer than a few seconds


@dataclass(frozen=True, kw_only=True)
class FileOptions(CheckpointOptions):
    """A file of texts, and the checkpoint that computes their vectors."""

    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """The file with the texts: a text file with one text per line, or a CSV, TSV, JSON Lines or Parquet file with a
    column of texts. It may be compressed."""
    column: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """The column with the texts. Default: a column with a common name such as `text` or `sentence`, or the one
    with the most words."""
    id_column: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """The column with the ids. Default: `id`, or the number of the row or line."""
    cache: bool = True
    """Use the cache of vectors. It is in the directory that the environment variable BERTLAB_CACHE names, or in
    ~/.cache/bertlab."""


@dataclass(frozen=True, kw_only=True)
class Embed(FileOptions):
    """Compute a vector for every text of a file.

    Examples:
      bertlab embed headlines.txt --out vectors.npy
      bertlab embed articles.csv --column title --id-column url --out vectors.parquet --checkpoint runs/vectors
    """

    out: Annotated[Path, tyro.conf.arg(metavar="FILE")]
    """The file to write: .npy (a matrix, with the ids and texts beside it in NAME.ids.jsonl), or .parquet (columns id,
    text and vector)."""


def embed(config: Embed) -> None:
    """Write the vectors, and print how many vectors and dimensions there are.

    Raises:
        BertlabError: the name of the output file has an unknown suffix, or the file cannot be written.
    """
    from bertlab.abilities.sentences.vector_files import VECTOR_SUFFIXES, write_vectors
    from bertlab.config.errors import BertlabError

    if config.out.suffix not in VECTOR_SUFFIXES:  # check this first, because computing the vectors may take long
        raise BertlabError("vectors-suffix-unknown", path=config.out, suffixes=list(VECTOR_SUFFIXES))
    file, session, vectors = _compute_vectors(config)
    for path in write_vectors(config.out, file, vectors.vectors_SP):
        print(path)
    count, size = vectors.vectors_SP.shape
    print(Message("vectors-written", count=count, size=size, checkpoint=session.name))


@dataclass(frozen=True, kw_only=True)
class Similar(FileOptions, QueryOptions):
    """Find the texts of a file that are most similar to a query or, without a query, the pairs of similar texts.

    Examples:
      bertlab similar headlines.txt --query "Prices rise again"
      bertlab similar headlines.txt --threshold 0.9 --json
    """

    query: Annotated[str | None, tyro.conf.arg(metavar="TEXT")] = None
    """The text to compare with. Without it, pairs of texts of the file are compared."""
    top_k: int = 10
    """The number of texts, or of pairs, to print."""
    threshold: float = 0.8
    """Without --query: the smallest cosine of a pair."""


def similar(config: Similar) -> None:
    """Print the texts most similar to the query, or the most similar pairs."""
    from bertlab.abilities.sentences import lines as terminal_sentences
    from bertlab.abilities.sentences.vectors import find_neighbours, find_similar_pairs

    file, session, vectors = _compute_vectors(config)
    if config.query is not None:
        (query_P,) = session.sentence_vectors([config.query], use_cache=config.cache).vectors_SP
        neighbours = find_neighbours(vectors.vectors_SP, query_P, config.top_k)
        rows = [{"id": file.ids[n.index], "text": file.texts[n.index], "cosine": n.cosine} for n in neighbours]
        result = {"query": config.query, "neighbours": rows}
        print_result(config, session, result, lambda: terminal_sentences.neighbour_lines(file, neighbours))
        return
    if len(file.texts) == 1:
        print(Message("sentences-only-one"), file=sys.stderr)
    similar_pairs = find_similar_pairs(
        vectors.vectors_SP, config.threshold, config.top_k, vectors.unreadable_texts,
        _show_progress("pairs", len(file.texts)),
    )  # fmt: skip
    pairs = [
        {"first": file.ids[p.first], "second": file.ids[p.second], "cosine": p.cosine,
         "texts": [file.texts[p.first], file.texts[p.second]]}
        for p in similar_pairs.pairs
    ]  # fmt: skip
    groups = [[file.ids[index] for index in group] for group in similar_pairs.groups]
    result = {"threshold": config.threshold, "total": similar_pairs.total, "pairs": pairs, "groups": groups}
    print_result(config, session, result, lambda: terminal_sentences.pair_lines(file, similar_pairs))


@dataclass(frozen=True, kw_only=True)
class Cluster(FileOptions, QueryOptions):
    """Find clusters of similar texts (HDBSCAN), each named by its most typical words.

    Examples:
      bertlab cluster headlines.txt
      bertlab cluster articles.csv --column title --min-size 20 --out clusters.csv
    """

    min_size: int = 0
    """The smallest number of texts in a cluster; 0 derives it from the number of texts."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write a CSV file with the columns id, text, cluster and words. The column cluster is empty for a text that
    belongs to no cluster."""


def cluster(config: Cluster) -> None:
    """Print the clusters, and write them to --out if it is given."""
    from bertlab.abilities.sentences import lines as terminal_sentences
    from bertlab.abilities.sentences.clusters import MIN_TEXTS, cluster_sentences
    from bertlab.config.files import write_atomically

    file, session, vectors = _compute_vectors(config)
    if len(set(file.texts)) < MIN_TEXTS:
        print(Message("sentences-too-few-to-cluster", least=MIN_TEXTS), file=sys.stderr)
    elif len(file.texts) >= SLOW_TO_CLUSTER:  # warn, because HDBSCAN reports no progress
        print(Message("sentences-clustering-slow", count=len(file.texts)), file=sys.stderr)
    clustering = cluster_sentences(file.texts, vectors.vectors_SP, config.min_size, vectors.unreadable_indices)
    if config.out:
        write_atomically(config.out, terminal_sentences.cluster_csv(file, clustering))
    clusters = [
        {"words": each.words, "centre": file.texts[each.centre], "ids": [file.ids[index] for index in each.members]}
        for each in clustering.clusters
    ]
    print_result(config, session, {"clusters": clusters}, lambda: terminal_sentences.cluster_lines(file, clustering))


def _compute_vectors(config: FileOptions) -> tuple["TextFile", "Session", "SentenceVectors"]:
    """Read the texts, open the checkpoint and compute the vectors, with a progress bar on standard error."""
    from bertlab.session import load
    from bertlab.tasks.registry import default_checkpoint
    from bertlab.text.readers.text_file import read_texts

    file = read_texts(config.file, config.column, config.id_column)
    # Korean is detected if at least a third of the texts use its script. One Korean word in a file is not enough.
    language = detect_language(file.texts[:LANGUAGE_SAMPLE_SIZE])
    session = load(default_checkpoint("embed", language) if config.checkpoint is None else config.checkpoint)
    vectors = session.sentence_vectors(
        file.texts, use_cache=config.cache, progress=_show_progress("vectors", len(file.texts))
    )
    warnings = {
        "sentences-blank": file.num_blank, "sentences-truncated": len(vectors.truncated),
        "sentences-unreadable": len(vectors.unreadable_indices),
    }  # fmt: skip
    for id, count in warnings.items():
        if count:
            print(Message(id, count=count, checkpoint=session.name), file=sys.stderr)
    if not vectors.is_checkpoint_suited:
        print(Message("sentences-untrained", checkpoint=session.name), file=sys.stderr)
    return file, session, vectors


def _show_progress(name: str, total: int) -> Callable[[Iterable[Item]], Iterable[Item]]:
    """Return a function that shows a progress bar with this name during a computation; no bar for a single text."""
    from tqdm import tqdm

    return lambda groups: tqdm(
        groups, desc=name, leave=False, disable=None if total > 1 else True,
        bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}",
    )  # fmt: skip

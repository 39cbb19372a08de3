"""Format similar texts and clusters of texts as lines for a terminal, and clusters as a CSV file."""

import csv
import io
from collections.abc import Sequence

from bertlab.abilities.sentences.clusters import NO_CLUSTER, Clusters
from bertlab.abilities.sentences.vectors import Neighbour, SimilarPairs
from bertlab.config.text_table import format_table
from bertlab.text.readers.text_file import TextFile
from bertlab.views.terminal import make_printable

MAX_TEXT_LENGTH = 100  # how many characters of a text are shown
MAX_SHOWN_MEMBERS = 3  # how many texts of a cluster are shown


def neighbour_lines(file: TextFile, neighbours: Sequence[Neighbour]) -> list[str]:
    """Format the neighbours of a text, its most similar texts: the cosine, the id and the text of each."""
    rows = [(f"{n.cosine:.2f}", make_printable(file.ids[n.index]), _shorten(file.texts[n.index])) for n in neighbours]
    return format_table(rows, ">><")


def pair_lines(file: TextFile, similar: SimilarPairs) -> list[str]:
    """Say how many similar pairs and groups there are; then list the most similar pairs with their cosines."""
    lines = [f"{_format_count(similar.total, 'pair')} in {_format_count(len(similar.groups), 'group')}"]
    for pair in similar.pairs:
        members = (pair.first, f"{pair.cosine:.2f}"), (pair.second, "")
        rows = [(cosine, make_printable(file.ids[i]), _shorten(file.texts[i])) for i, cosine in members]
        lines += ["", *format_table(rows, ">><")]
    return lines


def cluster_lines(file: TextFile, result: Clusters) -> list[str]:
    """List the clusters: the size and the words of each, and some of its texts, the most central one first."""
    num_outside = result.labels.count(NO_CLUSTER)
    clusters, texts = _format_count(len(result.clusters), "cluster"), _format_count(len(file.texts), "text")
    lines = [f"{clusters}; {num_outside:,} of {texts} in no cluster"]
    for cluster in result.clusters:
        lines += ["", f"{len(cluster.members):,}  {make_printable(', '.join(cluster.words)) or '–'}"]
        others = [index for index in cluster.members if index != cluster.centre]
        lines += [f"    {_shorten(file.texts[index])}" for index in (cluster.centre, *others)[:MAX_SHOWN_MEMBERS]]
    return lines


def cluster_csv(file: TextFile, result: Clusters) -> str:
    """Write a CSV file with the columns id, text, cluster (from 1; empty for none) and words."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["id", "text", "cluster", "words"])
    for id, text, label in zip(file.ids, file.texts, result.labels, strict=True):
        words = "" if label == NO_CLUSTER else " ".join(result.clusters[label].words)
        writer.writerow([id, text, "" if label == NO_CLUSTER else label + 1, words])
    return stream.getvalue()


def _format_count(count: int, noun: str) -> str:
    """Write a count before its noun, in the plural unless the count is 1."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _shorten(text: str) -> str:
    """Make a text printable, and shorten it to `MAX_TEXT_LENGTH` characters."""
    text = make_printable(text)
    return text if len(text) <= MAX_TEXT_LENGTH else text[: MAX_TEXT_LENGTH - 1] + "…"

"""Extractive summaries: those sentences of a text that have the largest scores, without repetitions, in text order.

The output layer of a checkpoint that was fine-tuned on summaries computes the scores (`tasks.summarisation`). Without
this layer, the score is centrality, which is not learned: a sentence is central if its vector has large cosines with
the vectors of many other sentences, above all of central ones. This measures what a text talks about most. Only
reference summaries can tell whether the result is a good summary (`tasks.rouge`).

Shape legend: S sentences, P dimensions of a vector.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from bertlab.abilities.sentences.vectors import TEXTS_AT_ONCE, compute_sentence_vectors
from bertlab.abilities.summary import DIVERSITY, NUM_SENTENCES
from bertlab.abilities.summary.centrality import choose_sentences, compute_centrality
from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import TextError
from bertlab.config.languages import Message
from bertlab.tasks.evaluation import encode
from bertlab.tasks.examples import Example, Examples
from bertlab.tasks.rouge import METRICS, compute_rouge
from bertlab.tasks.summarisation import SUMMARISATION
from bertlab.tasks.summary_rows import choose_by_scores
from bertlab.text.pretraining.sentences import find_sentences

if TYPE_CHECKING:
    from bertlab.session import Session


@dataclass(frozen=True)
class ScoredSentence:
    """A sentence of a text."""

    text: str
    """The sentence."""
    start: int
    """The index of the sentence's first character in the text."""
    end: int
    """The index after the sentence's last character."""
    score: float
    """The learned probability that the sentence is chosen, 0..1, or the centrality: the sentence's PageRank divided by
    the mean PageRank of the text's sentences, so that the mean is 1. See `Summary.has_learned_scores`."""


@dataclass(frozen=True)
class RougeComparison:
    """Mean ROUGE of summaries and of the first sentences of the same texts."""

    references: int
    """The number of texts that have a reference."""
    summary: dict[str, float]
    """{metric: the mean F1 of the summaries, 0..1}."""
    first: dict[str, float]
    """{metric: the mean F1 of the first sentences of each text, 0..1}."""


@dataclass(frozen=True)
class Summary:
    """The sentences of a text, and those that summarise it."""

    sentences: tuple[ScoredSentence, ...]
    """All sentences with at least one letter or digit, in text order."""
    chosen: tuple[int, ...]
    """The indices of the chosen sentences, in text order; fewer than requested if all others repeat parts of them."""
    first: tuple[int, ...]
    """The indices of the first sentences of the text, as many as were requested, to compare with."""
    repeated: tuple[int, ...]
    """The indices of the sentences that were left out because they repeat three consecutive words of a chosen one."""
    truncated: tuple[int, ...]
    """The indices of the sentences whose end was cut off, because they have more tokens than the checkpoint reads."""
    is_checkpoint_suited: bool
    """Whether the checkpoint was trained for one of the two ways to summarise: to score sentences, or to make sentence
    vectors."""
    has_learned_scores: bool = False
    """Whether an output layer for summaries computed the scores; otherwise the scores are centrality."""

    @property
    def text(self) -> str:
        """The chosen sentences as one text."""
        return self.join(self.chosen)

    def join(self, indices: Sequence[int]) -> str:
        """Join sentences to one text."""
        return " ".join(self.sentences[index].text for index in indices)


@torch.inference_mode()
def summarise_texts(
    loaded: Checkpoint,
    texts: Sequence[str],
    num_sentences: int = NUM_SENTENCES,
    *,
    diversity: float = DIVERSITY,
    use_cache: bool = True,
    progress: Callable = iter,
) -> list[Summary]:
    """From each text, choose the sentences with the largest score: learned or, without an output layer, centrality.

    A text may have any length: it is read in windows or, for centrality, every sentence is one input of the model.

    Args:
        loaded: the checkpoint.
        texts: the texts.
        num_sentences: the maximum number of sentences of a summary.
        diversity: for centrality, the weight, 0..1, of the penalty for similarity to the sentences chosen before.
        use_cache: whether vectors are read from the cache on the disk, and stored in it.
        progress: wraps the sequence of the parts that are computed one after another, as `tqdm` does: the groups of
            sentences or, with an output layer, the batches of windows.

    Raises:
        TextError: a text has no letters or digits, or `texts` is one text instead of a list.
        CheckpointError: the checkpoint's sentence vectors need a module of sentence-transformers that bertlab does not
            implement.
    """
    if isinstance(texts, str):
        raise TextError("embed-needs-list")
    spans = [find_sentences(text) for text in texts]
    if [] in spans:
        raise TextError("text-empty")
    if SUMMARISATION.can_predict(loaded.model):
        return _summarise_by_output_layer(loaded, texts, spans, num_sentences, progress)
    # Each group has the indices of texts with at most `TEXTS_AT_ONCE` sentences together, or the index of a single
    # longer text; `size` is the number of sentences in the last group.
    groups, size = [[]], 0
    for index, spans_of_text in enumerate(spans):
        if groups[-1] and size + len(spans_of_text) > TEXTS_AT_ONCE:
            groups.append([])
            size = 0
        groups[-1].append(index)
        size += len(spans_of_text)
    # with a single group, `progress` shows the progress within the group, otherwise the progress from group to group
    progress_in_group = progress if len(groups) == 1 else iter
    summaries = []
    for group in groups if len(groups) == 1 else progress(groups):
        sentences = [texts[index][slice(*span)] for index in group for span in spans[index]]
        vectors = compute_sentence_vectors(loaded, sentences, use_cache=use_cache, progress=progress_in_group)
        start = 0  # the index of the text's first sentence in `sentences`
        for index in group:
            end = start + len(spans[index])
            truncated = tuple(row - start for row in vectors.truncated if start <= row < end)
            summaries.append(_summarise_by_centrality(
                sentences[start:end], spans[index], vectors.vectors_SP[start:end], num_sentences, diversity,
                truncated, vectors.is_checkpoint_suited,
            ))  # fmt: skip
            start = end
    return summaries


def _summarise_by_centrality(
    texts: Sequence[str],
    spans: Sequence[tuple[int, int]],
    vectors_SP: np.ndarray,
    num_sentences: int,
    diversity: float,
    truncated: tuple[int, ...],
    is_checkpoint_suited: bool,
) -> Summary:
    """Choose the most central sentences of one text; `texts` are its sentences."""
    centrality_S = compute_centrality(vectors_SP)
    chosen, repeated = choose_sentences(texts, vectors_SP, centrality_S, num_sentences, diversity)
    sentences = tuple(
        ScoredSentence(text, *span, float(value))
        for text, span, value in zip(texts, spans, centrality_S, strict=True)
    )  # fmt: skip
    first = tuple(range(min(num_sentences, len(texts))))
    return Summary(sentences, tuple(sorted(chosen)), first, tuple(sorted(repeated)), truncated, is_checkpoint_suited)


def _summarise_by_output_layer(
    loaded: Checkpoint,
    texts: Sequence[str],
    spans: Sequence[Sequence[tuple[int, int]]],
    num_sentences: int,
    progress: Callable,
) -> list[Summary]:
    """Choose the sentences with the largest score of the output layer for summaries.

    Args:
        loaded: the checkpoint, which has this layer.
        texts: the texts.
        spans: (first character, character after the last) of every sentence of each text.
        num_sentences: the maximum number of sentences of a summary.
        progress: wraps the sequence of batches of windows.
    """
    sentences = [
        tuple(text[slice(*span)] for span in spans_of_text) for text, spans_of_text in zip(texts, spans, strict=True)
    ]
    rows = tuple(Example(str(index), sentences_of_text, None) for index, sentences_of_text in enumerate(sentences))
    examples = Examples("", SUMMARISATION.make_default_spec(), (), rows)
    features = encode(SUMMARISATION, loaded, examples)
    scores = SUMMARISATION.compute_outputs(loaded.model, features, progress=progress)
    summaries = []
    for index, scores_S in enumerate(scores):
        chosen, repeated = choose_by_scores(sentences[index], scores_S, num_sentences)
        truncated = tuple(sentence for document, sentence in features.truncated if document == index)
        scored_sentences = tuple(
            ScoredSentence(text, *span, float(value))
            for text, span, value in zip(sentences[index], spans[index], scores_S, strict=True)
        )  # fmt: skip
        first = tuple(range(min(num_sentences, len(scored_sentences))))
        summaries.append(Summary(
            scored_sentences, tuple(sorted(chosen)), first, tuple(sorted(repeated)), truncated,
            is_checkpoint_suited=True, has_learned_scores=True,
        ))  # fmt: skip
    return summaries


def compare_with_references(summaries: Sequence[Summary], references: Sequence[str]) -> RougeComparison | None:
    """Compute the mean ROUGE of summaries, and of the first sentences of the same texts.

    Args:
        summaries: the summaries.
        references: a reference summary of each text; blank where there is none.

    Returns:
        The comparison; None if there are no references.
    """
    pairs = [
        (summary, reference) for summary, reference in zip(summaries, references, strict=True) if reference.strip()
    ]
    if not pairs:
        return None
    rows = [
        [compute_rouge(reference, summary.join(indices)) for indices in (summary.chosen, summary.first)]
        for summary, reference in pairs
    ]
    means = [{name: float(np.mean([row[column][name] for row in rows])) for name in METRICS} for column in (0, 1)]
    return RougeComparison(len(pairs), *means)


@dataclass(frozen=True)
class FileSummaries:
    """The summaries of the documents of a file."""

    ids: Sequence[str]
    summaries: tuple[Summary, ...]
    rouge: RougeComparison | None  # None without references


def describe_limits(session: "Session", summaries: Sequence[Summary]) -> list[Message]:
    """Say if sentences were truncated, or if the checkpoint was trained for neither way to summarise."""
    truncated = sum(len(summary.truncated) for summary in summaries)
    notes = [Message("summary-truncated", count=truncated)] if truncated else []
    if not summaries[0].is_checkpoint_suited:
        notes.append(Message("sentences-untrained", checkpoint=session.name))
    return notes

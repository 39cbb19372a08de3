"""`Session`: an open checkpoint with its predictions (`Predictor`), the values inside the model, and changes to it.

Each method calls the module that computes its result. This module draws and prints nothing.

Shape legend: T tokens, H hidden, N heads, L layers.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from bertlab.abilities import queries
from bertlab.abilities.answer import xray
from bertlab.abilities.attention import block, roles
from bertlab.abilities.attention import compute as attention
from bertlab.abilities.attention.block import BlockMap
from bertlab.abilities.attention.rollout import Rollout, compute_rollout
from bertlab.abilities.classify.word_effects import compute_word_effects
from bertlab.abilities.lens import compute as logit_lens
from bertlab.abilities.next_sentence.laboratory import (
    PairAttention,
    RankedSentence,
    TestPairResult,
    compute_pair_attention,
    predict_test_pairs,
    rank_candidates,
)
from bertlab.abilities.results import (
    AttentionMap,
    HeadEffects,
    HeadRoles,
    HeadVectors,
    InputMap,
    Lens,
    NeuronMap,
    PredictionChange,
    SpanAttention,
    SpanXray,
    WordEffects,
)
from bertlab.abilities.surgery import compute as explore_interventions
from bertlab.abilities.surgery.syntax import read_heads, resolve
from bertlab.abilities.wordpiece.positions import PositionSimilarity, compute_position_similarity
from bertlab.checkpoints import checkpoint
from bertlab.checkpoints.average import average
from bertlab.checkpoints.prune import prune
from bertlab.config.errors import BertlabError, CheckpointError, TextError
from bertlab.nn.interventions import Interventions, check_position
from bertlab.predictor import Predictor
from bertlab.tasks.recomputable_prediction import RecomputablePrediction
from bertlab.tasks.registry import TASK_TYPES, list_intervention_types
from bertlab.text.tokenizers.search import MergeHistory, WordSearch


def load(source: str | Path, device: str = "cpu", dtype: str = "float32") -> "Session":
    """Open a checkpoint.

    Args:
        source: a directory (of bertlab or of any Hugging Face BERT), the name of a shipped checkpoint, or a hub id.
        device: where the model computes, such as "cpu" or "cuda".
        dtype: the number type in which the model computes, "float32" or "bfloat16"; bfloat16 is for predictions only.
            A model in an ONNX file computes in the number type of the file.

    Raises:
        CheckpointError: the checkpoint is missing or damaged, or is not a BERT.
    """
    loaded = checkpoint.load(source, dtype=getattr(torch, dtype))
    loaded.model.to(device)
    return Session(loaded)


class Session(Predictor):
    """An open checkpoint and its predictions; a session is immutable, so several threads may share it.

    Every method raises TextError if a text is empty or has more tokens than the model has positions, and MissingHead if
    the checkpoint has no output layer for the prediction. Layers, heads and positions are counted from 0.
    """

    # -- inside the model ------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def embeddings(self, text: str, pair: str | None = None) -> InputMap:
        """Compute the three embeddings of every token and their normalised sum, each [T, H]."""
        return attention.compute_input_map(self.model, self._encode(text, pair))

    @torch.inference_mode()
    def attention(self, text: str, pair: str | None = None, interventions: Interventions | None = None) -> AttentionMap:
        """Compute the attention of every head, probs_LNTT.

        Args:
            text: the text.
            pair: the second text, if the input is a pair.
            interventions: changes to make during the forward pass.

        Raises:
            InterventionError: an intervention does not fit this model and input.
        """
        return attention.compute_attention_map(self.model, self._encode(text, pair), interventions)

    @torch.inference_mode()
    def neuron(self, text: str, pair: str | None = None, *, layer: int = 0, head: int = 0) -> NeuronMap:
        """Compute what the neuron view shows of one attention head: queries, keys, scores and probabilities.

        Raises:
            BertlabError: there is no such layer or head.
        """
        return attention.compute_neuron_map(self.model, self._encode(text, pair), layer, head)

    @torch.inference_mode()
    def head_vectors(self, text: str, pair: str | None = None) -> HeadVectors:
        """Compute the queries, keys and attention of every head."""
        return attention.compute_head_vectors(self.model, self._encode(text, pair))

    @torch.inference_mode()
    def attention_row(self, text: str, pair: str | None = None, *, layer: int, head: int, position: int) -> np.ndarray:
        """Compute the attention of one head from one position -> probs_T.

        Raises:
            BertlabError: there is no such layer, head or position.
        """
        neuron = self.neuron(text, pair, layer=layer, head=head)
        check_position(position, len(neuron.tokens))
        return neuron.probs_TT[position]

    @torch.inference_mode()
    def block(
        self, text: str, pair: str | None = None, *, layer: int = 0, head: int = 0, position: int = 0
    ) -> BlockMap:
        """Compute one layer step by step at one position: values, attention output, feed-forward, residual sums.

        Raises:
            BertlabError: there is no such layer, head or position.
        """
        encoding = self._encode(text, pair)
        return block.compute_block(self.model, self.tokenizer, encoding, layer, head, position)

    @torch.inference_mode()
    def rollout(self, text: str, pair: str | None = None) -> Rollout:
        """Compute the attention rollout up to every layer: the product of the attention matrices."""
        return compute_rollout(attention.compute_attention_map(self.model, self._encode(text, pair)))

    @torch.inference_mode()
    def head_roles(self, text: str, pair: str | None = None) -> HeadRoles:
        """Find the role of each head in this text: the kind of key that gets the largest share of its attention.

        The kinds of keys are the previous token, the next token, the query's own position, other occurrences of the
        same token, [CLS] and [SEP].
        """
        return roles.find_head_roles(attention.compute_attention_map(self.model, self._encode(text, pair)))

    @torch.inference_mode()
    def lens(self, text: str, pair: str | None = None) -> Lens:
        """Predict the token at every position after every layer, with the MLM output layer (logit lens)."""
        self._require_head("masked_lm")
        return logit_lens.compute_lens(self.model, self.tokenizer, self._encode(text, pair))

    def xray(
        self,
        question: str,
        passage: str,
        n_best: int = 20,
        max_answer_tokens: int = 30,
        stride: int | None = None,
        max_tokens: int | None = None,
        batch_size: int = 8,
        progress: Callable = iter,
    ) -> SpanXray:
        """Find the answers as `answer` does, and return the scores behind them: the prediction for each window alone.

        The arguments and errors are those of `answer`, without `null_threshold`.
        """
        query = queries.prepare_reading(self, question, passage, n_best, max_answer_tokens, stride, max_tokens)
        reading = self._compute_result(query, batch_size, progress)
        result = xray.make_xray(self.tokenizer, reading, n_best, max_answer_tokens)
        return replace(result, answers=replace(result.answers, null_threshold=self.loaded.null_threshold))

    @torch.inference_mode()
    def span_attention(
        self,
        question: str,
        passage: str,
        window: int,
        start: int,
        end: int,
        stride: int | None = None,
        max_tokens: int | None = None,
    ) -> SpanAttention:
        """Compute the attention from the question and from the answer in one window, for every head.

        Args:
            question: the question.
            passage: the passage.
            window: the index of the window, from 0, in the `readings` that `xray` returns.
            start: the answer's first character in the passage.
            end: the index after the answer's last character.
            stride: as in `answer`.
            max_tokens: as in `answer`.

        Raises:
            TextError: there is no such window, or the answer is not in it.
        """
        return xray.compute_span_attention(
            self.model,
            self.tokenizer,
            question,
            passage,
            window,
            start,
            end,
            **self.window_settings(stride, max_tokens),
        )

    @torch.inference_mode()
    def pair_attention(self, first: str, second: str) -> PairAttention:
        """Compute how much attention goes from the second sentence to the first, for every head."""
        return compute_pair_attention(self.attention(first, second))

    def rank_next_sentences(self, first: str, candidates: Sequence[str]) -> list[RankedSentence]:
        """Rank candidates for the sentence after `first`, the most probable one first.

        Raises:
            TextError: there is no candidate.
        """
        return rank_candidates(self.next_sentence, first, candidates)

    def predict_test_pairs(self, progress: Callable = iter) -> list[TestPairResult]:
        """Run next-sentence prediction on the test pairs of the checkpoint's language.

        The test pairs show whether the checkpoint recognises coherence or only the topic.

        Args:
            progress: wraps the iterable of groups of pairs, as `tqdm` does.
        """
        return predict_test_pairs(self.next_sentence, self.language, progress)

    next_sentence_probes = predict_test_pairs  # the old name of this method

    def search_tokens(self, text: str) -> list[WordSearch]:
        """Split every word of a text into tokens by WordPiece's longest-match search, and return its steps.

        Raises:
            TextError: the text has no words.
        """
        if not (searches := self.tokenizer.search(text)):
            raise TextError("text-empty")
        return searches

    def merges(self, text: str) -> list[MergeHistory] | None:
        """Reconstruct, for each distinct token of a text, the merges that built it when the vocabulary was trained.

        Returns:
            The merges of each token; None if the order of the merges cannot be derived from the token ids.
        """
        tokens = (token for search in self.search_tokens(text) for token in search.tokens)
        return self.tokenizer.merges(dict.fromkeys(tokens))

    def position_similarity(self, size: int = 64) -> PositionSimilarity:
        """Compare every two learned position vectors, and every two sinusoidal ones of the original Transformer.

        Args:
            size: the number of positions in the matrices; if the model has more, evenly spaced ones are taken.
        """
        return compute_position_similarity(self.model, size)

    # -- changes to the input or the model -------------------------------------------------------------------------

    @torch.inference_mode()
    def word_effects(self, text: str, pair: str | None = None) -> WordEffects:
        """Measure the effect of each word on the prediction of `classify` by masking the words one at a time."""
        return compute_word_effects(self.model, self.tokenizer, self.find_classifier(), text, pair)

    @torch.inference_mode()
    def intervene(
        self,
        kind: str,
        text: str,
        pair: str | None = None,
        *,
        changes: str = "",
        other: str | None = None,
        mask: int = 0,
        top_k: int = 5,
    ) -> PredictionChange:
        """Compute a prediction before and after changes inside the model.

        Args:
            kind: the task type: "masked_lm", "sentence_pair" (`pair` is sentence B), "span" (`text` is the question,
                `pair` the passage) or "classification".
            text: the text.
            pair: the second text, if the task type reads two.
            changes: changes separated by commas. "0.3,2.11" ablates head 3 of layer 0 and head 11 of layer 2.
                The module `explore.intervention_syntax` describes all forms.
            other: the text whose hidden states are patched in.
            mask: the index of the [MASK] to predict, from 0.
            top_k: number of best candidates to include, both before and after the changes.

        Raises:
            InterventionError: a change cannot be parsed, or does not fit this model and input.
        """
        prediction = self._make_recomputable_prediction(kind, text, pair, mask)
        parsed_changes = resolve(changes, self.config.num_heads)
        encoded_other = self._encode(other) if parsed_changes.patches and other is not None else None
        return explore_interventions.intervene(self.model, prediction, parsed_changes, encoded_other, top_k)

    @torch.inference_mode()
    def head_effects(
        self, kind: str, text: str, pair: str | None = None, *, mask: int = 0, layers: Sequence[int] | None = None
    ) -> HeadEffects:
        """Measure, for every head, how a prediction's log-odds change when that head is ablated.

        `kind`, `text`, `pair` and `mask` are those of `intervene`.

        Args:
            layers: ablate only the heads of these layers; all layers by default.
        """
        prediction = self._make_recomputable_prediction(kind, text, pair, mask)
        return explore_interventions.compute_head_effects(self.model, prediction, layers)

    @torch.inference_mode()
    def head_effects_by_layer(
        self, kind: str, text: str, pair: str | None = None, *, mask: int = 0, layers: Sequence[int] | None = None
    ) -> Iterator[HeadEffects]:
        """Yield the result of `head_effects` layer by layer, each as soon as it is computed; same arguments."""
        layers = range(self.config.num_layers) if layers is None else layers
        prediction = self._make_recomputable_prediction(kind, text, pair, mask)
        yield from explore_interventions.compute_effects_by_layer(self.model, prediction, layers)

    def prune(self, heads: str, *, zeroed: bool = False) -> "Session":
        """Remove attention heads, and return the result as a new session; see `checkpoints.prune`.

        Args:
            heads: heads and whole layers, such as "0.3,2.11,4".
            zeroed: set the weights of the heads to zero instead of removing them, so that all shapes stay the same.

        Raises:
            InterventionError: there is no such head, or a layer would lose all heads and `zeroed` is False.
        """
        model = prune(self.model, read_heads(heads, self.config.num_heads), zeroed=zeroed)
        return Session(replace(self.loaded, model=model))

    def average(self, other: "Session", share: float = 0.5) -> "Session":
        """Average the weights of this checkpoint and another into a new session; see `checkpoints.average`.

        Args:
            other: the other checkpoint.
            share: the share of the other checkpoint in the average, more than 0 and less than 1.

        Raises:
            CheckpointError: the vocabularies, sizes, labels or output layers of the two checkpoints differ.
        """
        if self.tokenizer.digest != other.tokenizer.digest:
            raise CheckpointError("average-vocabularies-differ")
        return Session(replace(self.loaded, model=average(self.model, other.model, share)))

    def _make_recomputable_prediction(
        self, kind: str, text: str, pair: str | None, mask: int
    ) -> RecomputablePrediction:
        """Make the prediction of `intervene`, which can be computed again with changed hidden states."""
        task_type = TASK_TYPES.get(kind)
        if task_type is None or not task_type.supports_interventions:
            names = [supported_type.name for supported_type in list_intervention_types()]
            raise BertlabError("prediction-unknown", prediction=kind, predictions=names)
        self._require_head(kind)
        if task_type.interventions_need_pair and pair is None:
            raise TextError("second-text-missing", prediction=task_type.name)
        encoding = self._encode(text, pair)
        return task_type.make_recomputable_prediction(self.loaded, encoding, pair, mask)

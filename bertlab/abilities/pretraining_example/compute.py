"""One example of pre-training: a sentence pair, its masks, the predictions of a checkpoint and their losses.

The pair, the masks and the losses are computed by the functions that `bertlab pretrain` uses, so the losses are those
of a training step on a batch of this one pair, without dropout. One random choice of the pair and the masks is called a
draw. A draw depends only on its seed, the text and the settings.

A slot is a place for one token that the model has to predict; the slots that are not needed have the label `IGNORED`.

Shape legend: P slots (K in `draw_replacement_kinds`), R rows of which the first belongs to [CLS] and the others to the
slots, H hidden, T tokens, V vocabulary, D documents, B batch (one row), E sentence pairs (one).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from bertlab.abilities.pretraining_example.results import (
    ExampleLosses,
    ExampleToken,
    PretrainingExample,
    ReplacementKind,
    TokenPrediction,
)
from bertlab.config.errors import BertlabError, TextError
from bertlab.config.languages import detect_language, read_data
from bertlab.config.limits import MAX_INTEGER, check_limits
from bertlab.nn.bert import Bert
from bertlab.nn.fast.cross_entropy import MIN_PROBABILITY
from bertlab.tasks.inference import find_device, require_positive
from bertlab.tasks.loss import Loss
from bertlab.tasks.masked_lm import Candidate, PretrainingLoss
from bertlab.tasks.sentence_pair import PAIR_OBJECTIVES, NextSentence
from bertlab.text.batch import PairBatch
from bertlab.text.pretraining.masking import IGNORED, MaskRule, draw_replacement_kinds
from bertlab.text.pretraining.pair_inputs import assemble_inputs
from bertlab.text.pretraining.sentence_pairs import Documents, PairObjectiveName, compute_offsets, make_pairs
from bertlab.text.pretraining.sentences import split_sentences
from bertlab.text.tokenizers.wordpiece import Tokenizer


@dataclass(frozen=True)
class DrawSettings:
    """How examples are drawn. The names and the defaults are those of `bertlab pretrain`."""

    pair_objective: Literal["next", "order"] = "next"
    """The sentence-pair objective: NSP, where B is random in half of the pairs, or SOP, where half are swapped."""
    chosen_share: float = 0.15
    """The share of tokens that are chosen for prediction."""
    mask_share: float = 0.8
    """Of the chosen tokens, the share that [MASK] replaces."""
    random_share: float = 0.1
    """Of the chosen tokens, the share that a random token replaces; the rest stay unchanged."""
    whole_word: bool = False
    """Whether all tokens of a word are masked together."""
    max_tokens: int = 128
    """The maximum number of tokens in a pair, with [CLS] and both [SEP]; never more than the model's positions."""

    def __post_init__(self):
        check_limits(self)
        if PAIR_OBJECTIVES.get(self.pair_objective) is None:
            objectives = [name for name, objective in PAIR_OBJECTIVES.items() if objective]
            raise BertlabError("pair-objective-unknown", objective=self.pair_objective, objectives=objectives)
        if self.mask_share + self.random_share > 1 + 1e-9:
            raise BertlabError("mask-shares-too-large")


@dataclass(frozen=True)
class _Draw:
    """A drawn pair before it is masked."""

    batch: PairBatch
    """The pair as a batch of one row."""
    document_b: int | None
    """The index of the document that a random B was taken from; None if B is from the text."""
    num_text_tokens: int
    """The number of tokens in the text."""


class ExampleDrawer:
    """Draws examples from one text for one model, one example for each seed.

    Args:
        model: a model with an MLM output layer.
        tokenizer: its tokenizer.
        checkpoint_objective: the sentence-pair objective that the model was trained on.
        text: the document that sentence A comes from.
        settings: how examples are drawn.
        documents: the documents that a random sentence B comes from; None for `read_documents` in the language of the
            text.

    Raises:
        MissingHead: the model has no MLM output layer.
        TextError: the text has fewer than two tokens.
    """

    def __init__(
        self,
        model: Bert,
        tokenizer: Tokenizer,
        checkpoint_objective: PairObjectiveName,
        text: str,
        settings: DrawSettings,
        documents: Sequence[str] | None = None,
    ):
        model.require_head("mlm")
        if not model.config.can_read_pairs:
            raise TextError("pair-without-token-types")
        if not isinstance(text, str):
            raise TextError("text-not-a-string")
        self.model, self.tokenizer, self.settings = model, tokenizer, settings
        self.checkpoint_objective = checkpoint_objective
        self.sentences = [self._encode_sentences(text)]
        num_tokens = sum(map(len, self.sentences[0]))
        if num_tokens < 2:
            raise TextError("text-too-short-for-pair" if num_tokens else "text-empty")
        self.texts = [text]
        for other in read_documents(detect_language(text.split())) if documents is None else documents:
            if sentences := self._encode_sentences(other):
                self.texts.append(other)
                self.sentences.append(sentences)
        # copies of the text share its index, so that B never comes from one of them
        self.original_D = np.array([0 if other == text else index for index, other in enumerate(self.texts)])
        rule = MaskRule.for_tokenizer(
            tokenizer, settings.chosen_share, settings.whole_word, mask_share=settings.mask_share,
            random_share=settings.random_share,
        )  # fmt: skip
        # the checkpoint has no loss for an objective that it was not trained on
        objective = settings.pair_objective if settings.pair_objective == checkpoint_objective else "none"
        self.loss = PretrainingLoss(rule.to(find_device(model)), objective)

    def draw(self, seed: int) -> _Draw:
        """Draw the pair with this seed, as `bertlab pretrain` draws the first pair of a document.

        If the text is longer than a pair, the pair begins at a random sentence, as it would for a chunk in the
        middle of a document. All pairs have the full length, while pre-training makes one in ten shorter.
        """
        require_positive(seed=seed)
        if seed > MAX_INTEGER:
            raise BertlabError("setting-too-large", flag="seed")
        rng = np.random.default_rng(seed)
        max_tokens = min(self.settings.max_tokens, self.model.config.max_tokens)
        lengths = np.array([len(ids) for ids in self.sentences[0]])
        # the number of tokens from the start of each sentence to the end of the text
        tokens_to_end = lengths.sum() - compute_offsets(lengths)[:-1]
        # how many sentences, beginning with the first, have enough tokens after their start for a pair of full length
        num_starts = max(1, int((tokens_to_end >= max_tokens - 3).sum()))  # 3: [CLS] and two [SEP]
        first = int(rng.integers(num_starts))
        documents = _join_documents([self.sentences[0][first:], *self.sentences[1:]], self.original_D)
        objective = self.settings.pair_objective
        pairs = make_pairs(documents, max_tokens, rng, short_probability=0.0, pair_objective=objective)
        length = int(pairs.a_length_E[0] + pairs.b_length_E[0]) + 3
        inputs = assemble_inputs(documents, pairs, np.array([0]), self.tokenizer, length)
        batch = PairBatch(inputs, torch.tensor([seed]), torch.from_numpy(pairs.label_E[:1]))
        document_b = int(pairs.document_b_E[0]) or None
        return _Draw(batch.to(find_device(self.model)), document_b, int(lengths.sum()))

    def compute_losses(self, seed: int) -> ExampleLosses:
        """Compute the losses of a draw."""
        return _read_losses(seed, self.loss(self.model, self.draw(seed).batch))

    def compute_example(self, seed: int, top_k: int) -> PretrainingExample:
        """Compute the predictions and the losses of a draw.

        Args:
            seed: the seed of the draw.
            top_k: the number of candidates for each predicted token.
        """
        require_positive(top_k=top_k)
        drawn = self.draw(seed)
        targets = inputs, index_P, labels_P = self.loss.make_targets(drawn.batch)
        hidden_RH = self.loss.encode(self.model, targets)
        losses = _read_losses(seed, self.loss.compute(self.model, drawn.batch, targets, hidden_RH))
        slots = (labels_P != IGNORED).nonzero().flatten()
        slots = slots[index_P[slots].argsort()]  # in the order of the input
        positions = index_P[slots].tolist()
        replacement_kinds = dict(
            zip(positions, self._find_replacement_kinds(drawn.batch, len(index_P), slots), strict=True)
        )
        tokens = self._make_tokens(drawn.batch.inputs.input_ids_BT[0], inputs, replacement_kinds)
        # the first row of hidden_RH belongs to [CLS], the others to the slots
        hidden_PH = hidden_RH[len(hidden_RH) - len(index_P) :][slots]
        predictions = self._predict(
            hidden_PH, labels_P[slots].tolist(), [tokens[position] for position in positions], top_k
        )
        objective = self.settings.pair_objective
        label = int(drawn.batch.pair_labels_B[0])
        return PretrainingExample(
            seed, objective, label, PAIR_OBJECTIVES[objective].labels[label],
            None if drawn.document_b is None else self.texts[drawn.document_b],
            drawn.num_text_tokens, len(self.sentences[0]),
            tokens, predictions, self._predict_pair(hidden_RH), self.checkpoint_objective, losses,
        )  # fmt: skip

    def _encode_sentences(self, text: str) -> list[np.ndarray]:
        """Tokenise the sentences of a text; those without tokens are left out."""
        return [np.array(ids) for ids in self.tokenizer.encode_plain(split_sentences(text)) if ids]

    def _find_replacement_kinds(self, batch: PairBatch, size: int, slots: torch.Tensor) -> list[ReplacementKind]:
        """Find what replaces the tokens at some `slots`; `size` is K, the number of all slots."""
        is_masked_1K, is_random_1K = draw_replacement_kinds(batch.key_B, size, self.loss.rule)
        return [
            "mask" if is_masked else "random" if is_random else "unchanged"
            for is_masked, is_random in zip(
                is_masked_1K[0, slots].tolist(), is_random_1K[0, slots].tolist(), strict=True
            )
        ]

    def _make_tokens(
        self, ids_T: torch.Tensor, inputs, replacement_kinds: dict[int, ReplacementKind]
    ) -> tuple[ExampleToken, ...]:
        """List the tokens before and after masking."""
        originals, input_tokens = (self.tokenizer.tokens(ids.tolist()) for ids in (ids_T, inputs.input_ids_BT[0]))
        segments = inputs.token_type_ids_BT[0].tolist()
        added_ids = {self.tokenizer.cls_id, self.tokenizer.sep_id}
        return tuple(
            ExampleToken(position, token, segment, id in added_ids, input_token, replacement_kinds.get(position))
            for position, (token, segment, id, input_token) in enumerate(
                zip(originals, segments, ids_T.tolist(), input_tokens, strict=True)
            )
        )

    def _predict(
        self, hidden_PH: torch.Tensor, labels: Sequence[int], chosen: Sequence[ExampleToken], top_k: int
    ) -> tuple[TokenPrediction, ...]:
        """Predict the chosen tokens, whose ids are `labels`."""
        probs_PV = self.model.mlm(hidden_PH).float().softmax(-1)
        best = probs_PV[:, : self.tokenizer.vocab_size].topk(min(top_k, self.tokenizer.vocab_size))
        predictions = []
        for token, label, probs_V, ids, probs in zip(
            chosen, labels, probs_PV, best.indices.tolist(), best.values.tolist(), strict=True
        ):
            probability = probs_V[label]
            predictions.append(
                TokenPrediction(
                    token.position, token.token, label, token.replacement_kind, token.input_token, float(probability),
                    1 + int((probs_V > probability).sum()), -float(probability.clamp(min=MIN_PROBABILITY).log()),
                    tuple(map(Candidate, self.tokenizer.tokens(ids), ids, probs)),
                )
            )  # fmt: skip
        return tuple(predictions)

    def _predict_pair(self, hidden_RH: torch.Tensor) -> NextSentence | None:
        """Predict the label of the pair; None if the checkpoint was not trained on the objective of the settings."""
        if self.loss.pair_objective == "none":
            return None
        logits_2 = self.model.nsp(self.model.pooler(hidden_RH[:1, None]))[0].float()
        return NextSentence(float(logits_2.softmax(-1)[0]), self.loss.pair_objective)


def read_documents(language: str) -> tuple[str, ...]:
    """Read the short documents of a language that come with bertlab, or the English ones if it has none."""
    return tuple(read_data("documents", language)["documents"])


def _read_losses(seed: int, loss: Loss) -> ExampleLosses:
    """Read the losses of a draw from the result of the loss function."""
    # there is at most one loss besides the MLM loss, that of the sentence pair
    pair_loss = next((float(value) for name, value in loss.parts.items() if name != "mlm"), None)
    return ExampleLosses(seed, float(loss.parts["mlm"]), pair_loss, float(loss.value))


def compute_draw_losses(drawer: ExampleDrawer, draws: int | Iterable[int]) -> tuple[ExampleLosses, ...]:
    """Compute the losses of several draws.

    Args:
        drawer: draws the examples.
        draws: the seeds of the draws; an integer n means the seeds 1 to n.
    """
    seeds = range(1, draws + 1) if isinstance(draws, int) else list(draws)
    return tuple(drawer.compute_losses(seed) for seed in seeds)


def _join_documents(documents: Sequence[Sequence[np.ndarray]], original_D: np.ndarray) -> Documents:
    """Make `Documents` of the tokenised sentences of each document; `original_D` is the field of the same name."""
    lengths = np.array([len(ids) for document in documents for ids in document], np.int64)
    tokens = np.concatenate([ids for document in documents for ids in document])
    counts = np.array([len(document) for document in documents], np.int64)
    return Documents(
        tokens, compute_offsets(lengths), compute_offsets(counts), np.zeros(len(documents), np.int64), original_D
    )

"""Predictions and inner values of an open checkpoint, and the names of the shipped checkpoints.

Knows no terminal, no page and no picture.

Shape legend: T tokens, H hidden, N heads, L layers.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from bertlab.checkpoints import checkpoint
from bertlab.checkpoints.average import average
from bertlab.checkpoints.locate import first_shipped
from bertlab.checkpoints.locate import shipped as shipped
from bertlab.checkpoints.prune import prune
from bertlab.config.config import ModelConfig
from bertlab.config.errors import BertlabError, CheckpointError, TextError
from bertlab.explore import attention, roles, xray
from bertlab.explore import interventions as explore_interventions
from bertlab.explore import lens as depth
from bertlab.explore.embed import embed
from bertlab.explore.encode import encode, token_rows
from bertlab.explore.facts import (
    AttentionMap,
    HeadEffects,
    HeadRoles,
    InputMap,
    JointFill,
    Lens,
    NeuronMap,
    PredictionChange,
    SpanAttention,
    SpanXray,
    TokenRow,
    WordEffects,
)
from bertlab.explore.intervention_syntax import read_heads, resolve
from bertlab.explore.word_effects import word_effects
from bertlab.nn.bert import Bert
from bertlab.nn.interventions import Interventions, check_position
from bertlab.tasks.classification import Classification
from bertlab.tasks.masked_lm import MaskFill, predict_masks
from bertlab.tasks.multiple_choice import Choice, predict_choice
from bertlab.tasks.probe import Probe
from bertlab.tasks.registry import TASK_TYPES, probe_types, types_of, types_of_command
from bertlab.tasks.sentence_pair import NextSentence, predict_next_sentence
from bertlab.tasks.span.answer import Answers, find_answers, read_passage
from bertlab.tasks.tagging import Tags, predict_tags
from bertlab.tasks.task_type import TaskType
from bertlab.text.tokenizers.wordpiece import Encoding, Tokenizer

# the shipped checkpoints for everything but the fine-tuned task types, best first, by language
PRETRAINED = {"en": ("strongest", "scratch"), "ko": ("korean",)}
LARGEST = 1e9  # of a value that a record is believed


def load(source: str | Path, device: str = "cpu") -> "Session":
    """Open a checkpoint: a directory of bertlab's or of any Hugging Face BERT, the name of a shipped one, or a hub id.

    Raises:
        CheckpointError: it is missing, damaged or foreign.
    """
    loaded = checkpoint.load(source)
    loaded.model.to(device)
    return Session(loaded)


def default_checkpoint(command: str = "fill-mask", language: str = "en") -> Path:
    """The shipped checkpoint that suits a command; one of pre-training where no task type names its own.

    Args:
        command: such as "answer", "classify" or "fill-mask".
        language: of the texts; where no checkpoint of that language is shipped, an English one.

    Raises:
        CheckpointError: none that suits is shipped.
    """
    task_types = types_of_command(command)
    suiting = task_types[0].checkpoints if task_types and task_types[0].checkpoints else PRETRAINED
    return first_shipped(dict.fromkeys((*suiting.get(language, ()), *suiting["en"])))


@dataclass(frozen=True, repr=False)
class Session:
    """A checkpoint that answers questions. Immutable, so any number of threads may ask at once.

    Every method raises TextError for a text that is empty or has more tokens than the model has positions, and
    MissingHead for what the checkpoint has no output layer for. Layers, heads and positions count from zero.
    """

    loaded: checkpoint.Checkpoint
    """The open checkpoint: model, tokenizer and record."""

    def __repr__(self) -> str:
        c, heads = self.config, ", ".join(self.heads) or "none"
        return (
            f"Session({self.name}: {c.num_layers} layers x {c.num_heads} heads, {c.hidden_size} wide, tasks: {heads})"
        )

    @property
    def name(self) -> str:
        return self.loaded.name

    @property
    def path(self) -> Path:
        return self.loaded.path

    @property
    def config(self) -> ModelConfig:
        return self.loaded.config

    @property
    def record(self) -> dict:
        """What `bertlab.json` says of how it was made; {} for a checkpoint made elsewhere."""
        return self.loaded.record

    @property
    def language(self) -> str:
        """The language it reads: what its record says ("ko", "en"), else what its vocabulary tells."""
        recorded = self.record.get("language")
        return recorded if isinstance(recorded, str) and recorded else self.tokenizer.language

    @property
    def texts(self) -> int | None:
        """How many texts `classify` was trained to read at once, 1 or 2; None where its record does not say."""
        task = self.record.get("task")
        kind = task.get("kind") if isinstance(task, dict) else None
        task_type = TASK_TYPES.get(kind) if isinstance(kind, str) else None
        columns = task.get("text") if task_type in types_of_command("classify") else None
        return len(columns) if isinstance(columns, list) and len(columns) in (1, 2) else None

    @property
    def value_range(self) -> tuple[float, float] | None:
        """The smallest and largest value of the fine-tuning rows, for regression; None if they are not recorded."""
        match self.record.get("value_range"):
            case [int() | float() as low, int() | float() as high] if -LARGEST < low < high < LARGEST:
                return float(low), float(high)
        return None

    @property
    def heads(self) -> tuple[str, ...]:
        """The names of its output layers, rows of `nn.heads.HEADS`."""
        return self.loaded.heads

    @property
    def task_types(self) -> tuple[TaskType, ...]:
        """The task types that it can predict."""
        return tuple(types_of(self.model))

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that it can answer, such as "fill-mask"."""
        return tuple(dict.fromkeys(task_type.command for task_type in self.task_types if task_type.command))

    @property
    def labels(self) -> tuple[str, ...]:
        """What `classify` or `tag` tells apart, in the order of the model's rows; () for other checkpoints."""
        return self.config.labels

    @property
    def tokenizer(self) -> Tokenizer:
        return self.loaded.tokenizer

    @property
    def model(self) -> Bert:
        return self.loaded.model

    # -- input ----------------------------------------------------------------------------------------------------

    def encode(self, text: str, pair: str | None = None) -> tuple[TokenRow, ...]:
        """The tokens of [CLS] text [SEP], or of [CLS] text [SEP] pair [SEP]."""
        return token_rows(self._encoding(text, pair))

    @torch.inference_mode()
    def embeddings(self, text: str, pair: str | None = None) -> InputMap:
        """The token, position and token type embeddings of every token and their normalised sum, each [T, H]."""
        return attention.input_map(self.model, self._encoding(text, pair))

    # -- predictions ---------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def fill_mask(
        self, text: str, top_k: int = 5, pair: str | None = None, originals: Sequence[str] = ()
    ) -> list[MaskFill]:
        """Predictions for every [MASK], in the order of the text (then of the pair).

        Args:
            top_k: candidates for each mask.
            originals: the word that each mask replaced, "" where it is not known; `MaskFill.original` then has its
                probability and rank.

        Raises:
            TextError: there is no [MASK].
        """
        self.model.head("mlm")
        return predict_masks(self.model, self.tokenizer, self._encoding(text, pair), top_k, originals)

    @torch.inference_mode()
    def fill_jointly(self, text: str, beams: int = 5, pair: str | None = None) -> JointFill:
        """Predict all masks together by a beam search from left to right.

        Raises:
            TextError: there is no [MASK].
        """
        self.model.head("mlm")
        return depth.fill_jointly(self.model, self.tokenizer, self._encoding(text, pair), text, pair, beams)

    @torch.inference_mode()
    def next_sentence(self, first: str, second: str) -> NextSentence:
        """The probability that `second` follows `first`; for a checkpoint trained on SOP, that they are in order."""
        self.model.head("nsp")
        return predict_next_sentence(self.model, self._encoding(first, second), self.loaded.pair_objective)

    @torch.inference_mode()
    def answer(
        self,
        question: str,
        passage: str,
        n_best: int = 20,
        max_answer_tokens: int = 30,
        stride: int | None = None,
        max_tokens: int | None = None,
        batch_size: int = 8,
        null_threshold: float | None = None,
        progress: Callable = iter,
    ) -> Answers:
        """Where the passage answers the question (Devlin et al. 2019, sections 4.2 and 4.3).

        Args:
            n_best: answers at most.
            max_answer_tokens: tokens of an answer at most.
            stride: a long passage is read in windows; each begins this many tokens after the one before. By default
                as in fine-tuning, or 128.
            max_tokens: tokens of a window, the question's included. By default as in fine-tuning, but at least 384.
            batch_size: windows read at once; it bounds the memory, however long the passage.
            null_threshold: tau; where the no-answer score is above the best answer's by more, the answer is "". None
                takes the checkpoint's own, and a checkpoint without one always answers.
            progress: wraps the parts that the windows are read in (say, `tqdm`).

        Raises:
            TextError: the question or the passage is empty.
        """
        reading = read_passage(
            self.model, self.tokenizer, question, passage, n_best=n_best, max_answer_tokens=max_answer_tokens,
            batch_size=batch_size, progress=progress, **self._windows(stride, max_tokens),
        )  # fmt: skip
        tau = self.loaded.null_threshold if null_threshold is None else null_threshold
        return replace(find_answers(reading, n_best), null_threshold=tau)

    @torch.inference_mode()
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
        """What stands behind an answer, window by window; arguments and errors as of `answer`."""
        found = xray.xray(
            self.model, self.tokenizer, question, passage, n_best=n_best, max_answer_tokens=max_answer_tokens,
            batch_size=batch_size, progress=progress, **self._windows(stride, max_tokens),
        )  # fmt: skip
        return replace(found, answers=replace(found.answers, null_threshold=self.loaded.null_threshold))

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
        """Where the question's tokens and the answer's look in one window, in every head.

        Args:
            window: which of `xray`'s readings. start, end: the answer's characters.

        Raises:
            TextError: there is no such window, or it does not show the answer.
        """
        return xray.span_attention(
            self.model, self.tokenizer, question, passage, window, start, end, **self._windows(stride, max_tokens)
        )

    @torch.inference_mode()
    def classify(self, text: str, pair: str | None = None) -> Classification:
        """The probability of every label; from a checkpoint with a regression head, a value (section 4.1)."""
        return self._classifier().predict_text(self.model, self._encoding(text, pair))

    @torch.inference_mode()
    def word_effects(self, text: str, pair: str | None = None) -> WordEffects:
        """The effect of each word on the prediction of `classify`, found by masking the words one at a time."""
        return word_effects(self.model, self.tokenizer, self._classifier(), text, pair)

    @torch.inference_mode()
    def choose(self, context: str, choices: Sequence[str]) -> list[Choice]:
        """How probable each of two or more ways to go on is, in the order given (section 4.4).

        Raises:
            TextError: fewer than two choices.
        """
        self.model.head("choose")
        if isinstance(choices, str) or len(choices) < 2:
            raise TextError("too-few-choices")
        encodings = [self._encoding(context, choice) for choice in choices]
        return predict_choice(self.model, choices, encodings, self.tokenizer.pad_id)

    @torch.inference_mode()
    def tag(self, text: str) -> Tags:
        """A tag for every word, and the entities that they make up, with their places in the text (section 5.3)."""
        self.model.head("tag")
        by_token = self.record.get("settings", {}).get("unit") == "character"
        return predict_tags(self.model, text, self._encoding(text), by_token)

    @torch.inference_mode()
    def embed(self, texts: Sequence[str], batch_size: int = 32) -> np.ndarray:
        """A vector of length 1 for each text, the mean of its last hidden states -> float32 [texts, H]."""
        if isinstance(texts, str):
            raise TextError("embed-needs-list")
        return embed(self.model, [self._encoding(text) for text in texts], self.tokenizer.pad_id, batch_size)

    # -- what it computes on the way -----------------------------------------------------------------------------

    @torch.inference_mode()
    def attention(self, text: str, pair: str | None = None, interventions: Interventions | None = None) -> AttentionMap:
        """Every head's attention, probs_LNTT.

        Args:
            interventions: what to change in the forward pass.

        Raises:
            InterventionError: a change that does not fit this model and input.
        """
        return attention.attention_map(self.model, self._encoding(text, pair), interventions)

    @torch.inference_mode()
    def neuron(self, text: str, pair: str | None = None, *, layer: int = 0, head: int = 0) -> NeuronMap:
        """One head opened up: queries, keys, their scaled products and what softmax makes of them.

        Raises:
            BertlabError: a layer or head that the model does not have.
        """
        return attention.neuron_map(self.model, self._encoding(text, pair), layer, head)

    @torch.inference_mode()
    def lens(self, text: str, pair: str | None = None) -> Lens:
        """The prediction of every layer at every position, read through the MLM head (logit lens)."""
        self.model.head("mlm")
        return depth.lens(self.model, self.tokenizer, self._encoding(text, pair))

    # -- what a change inside does -------------------------------------------------------------------------------

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
        """A prediction before and after changes inside the model.

        Args:
            kind: the task type: "masked_lm", "sentence_pair" (`pair` is sentence B), "span" (`text` is the question,
                `pair` the passage) or "classification".
            changes: such as "0.3,2.11": see `explore.intervention_syntax`.
            other: the text whose hidden states are patched in.
            mask: which [MASK], counted from 0.

        Raises:
            InterventionError: a change that cannot be read, or does not fit this model and input.
        """
        watched = self._probe(kind, text, pair, mask)
        resolved = resolve(changes, self.config.num_heads)
        patched = self._encoding(other) if resolved.patches and other is not None else None
        return explore_interventions.intervene(self.model, watched, resolved, patched, top_k)

    @torch.inference_mode()
    def head_effects(
        self, kind: str, text: str, pair: str | None = None, *, mask: int = 0, layers: Sequence[int] | None = None
    ) -> HeadEffects:
        """What every head does for a prediction, named as in `intervene`: the change of its log-odds without that head.

        Args:
            layers: only the heads of these.
        """
        return explore_interventions.head_effects(self.model, self._probe(kind, text, pair, mask), layers)

    @torch.inference_mode()
    def head_effects_by_layer(
        self, kind: str, text: str, pair: str | None = None, *, mask: int = 0, layers: Sequence[int] | None = None
    ) -> Iterator[HeadEffects]:
        """`head_effects`, one layer after the other as it is found; arguments as there."""
        layers = range(self.config.num_layers) if layers is None else layers
        yield from explore_interventions.effects_by_layer(self.model, self._probe(kind, text, pair, mask), layers)

    @torch.inference_mode()
    def attention_row(self, text: str, pair: str | None = None, *, layer: int, head: int, position: int) -> np.ndarray:
        """Where one head looks from one position -> probs_T.

        Raises:
            BertlabError: a layer, head or position that is not there.
        """
        fact = self.neuron(text, pair, layer=layer, head=head)
        check_position(position, len(fact.tokens))
        return fact.probs_TT[position]

    @torch.inference_mode()
    def head_roles(self, text: str, pair: str | None = None) -> HeadRoles:
        """What each head mostly looks at, in this text."""
        return roles.head_roles(attention.attention_map(self.model, self._encoding(text, pair)))

    def prune(self, heads: str, *, zeroed: bool = False) -> "Session":
        """The same checkpoint without some attention heads, for good; see `checkpoints.prune`.

        Args:
            heads: such as "0.3,2.11,4": heads, and whole layers.

        Raises:
            InterventionError: there is no such head, or, unless `zeroed`, a layer would lose every one.
        """
        model = prune(self.model, read_heads(heads, self.config.num_heads), zeroed=zeroed)
        return Session(replace(self.loaded, model=model))

    def average(self, other: "Session", share: float = 0.5) -> "Session":
        """The mean of this checkpoint's weights and another's; see `checkpoints.average`.

        Args:
            share: of the other, more than 0 and less than 1.

        Raises:
            CheckpointError: their vocabularies, sizes, labels or heads differ.
        """
        if self.tokenizer.digest != other.tokenizer.digest:
            raise CheckpointError("average-vocabularies-differ")
        return Session(replace(self.loaded, model=average(self.model, other.model, share)))

    def _probe(self, kind: str, text: str, pair: str | None, mask: int) -> Probe:
        task_type = TASK_TYPES.get(kind)
        if task_type is None or not task_type.can_probe:
            names = [each.name for each in probe_types()]
            raise BertlabError("prediction-unknown", prediction=kind, predictions=names)
        self.model.head(task_type.head)
        if task_type.probe_reads_pair and pair is None:
            raise TextError("second-text-missing", prediction=task_type.name)
        return task_type.probe(self.model, self.tokenizer, self._encoding(text, pair), pair, mask)

    def _classifier(self) -> TaskType:
        """The task type that `classify` predicts: labels or a value. Raises MissingHead."""
        task_types = types_of_command("classify")
        able = [task_type for task_type in task_types if task_type.head in self.heads]
        if not able:
            self.model.head(task_types[0].head)
        return able[-1]

    def _windows(self, stride: int | None, max_tokens: int | None) -> dict[str, int]:
        """The stride and size of a passage's windows: those given, otherwise those of the fine-tuning."""
        max_window = self.loaded.max_tokens_for(TASK_TYPES["span"].max_tokens)
        defaults = {"stride": self.loaded.stride, "max_tokens": max_window}
        given = {"stride": stride, "max_tokens": max_tokens}
        return defaults | {name: value for name, value in given.items() if value is not None}

    def _encoding(self, text: str, pair: str | None = None) -> Encoding:
        return encode(self.tokenizer, text, pair, self.config)

"""A checkpoint, opened to be asked: text in, facts out; and which checkpoints are shipped.

Knows no terminal, no page and no picture.

Shape legend: T tokens, H hidden, N heads, L layers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from bertlab.explore import attention, predict, tasks, xray
from bertlab.explore.facts import (
    Answers,
    AttentionMap,
    Choice,
    Classification,
    InputMap,
    MaskFill,
    NeuronMap,
    NextSentence,
    SpanAttention,
    SpanXray,
    Tags,
    TokenRow,
)
from bertlab.explore.inputs import encode, token_rows
from bertlab.nn.model import Bert
from bertlab.nn.surgery import Surgery
from bertlab.spec.config import ModelConfig
from bertlab.spec.errors import CheckpointError, TextError
from bertlab.text.tokenizer import Encoding, Tokenizer
from bertlab.weights import checkpoint
from bertlab.weights.hub import SHIPPED, shipped

# what is asked -> the shipped checkpoints that suit it, best first; everything else is asked of the strongest
SUITING = {"answer": ("squad",), "classify": ("sst2", "nsmc"), "tag": ("wikiann_en", "ner"), "choose": ("comve",)}
STRONGEST = ("strongest", "scratch")


def load(source: str | Path, device: str = "cpu") -> "Session":
    """Open a checkpoint: a directory of bertlab's or of any Hugging Face BERT, the name of a shipped one, or a hub id.

    Raises:
        CheckpointError: it is missing, damaged or foreign.
    """
    loaded = checkpoint.load(source)
    loaded.model.to(device)
    return Session(loaded)


def default_checkpoint(task: str = "fill-mask") -> Path:
    """The shipped checkpoint that suits a task; "answer" is one, any other word asks for the strongest.

    Raises:
        CheckpointError: none that suits is shipped.
    """
    found, wanted = shipped(), SUITING.get(task, STRONGEST)
    for name in wanted:
        if name in found:
            return found[name]
    raise CheckpointError(
        f"no checkpoint called {' or '.join(wanted)} is shipped here: name one (a directory or a hub id), "
        f"or say in {SHIPPED} where they are"
    )


@dataclass(frozen=True, repr=False)
class Session:
    """A checkpoint that answers questions. Immutable, so any number of threads may ask at once.

    Every method raises TextError for a text that is empty or has more tokens than the model has positions, and
    MissingHead for what the checkpoint has no output layer for. Layers, heads and positions count from zero.
    """

    loaded: checkpoint.Loaded

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
    def heads(self) -> tuple[str, ...]:
        """What it has output layers for: of "mlm", "nsp", "span", "classify", "regress", "choose", "tag"."""
        return self.loaded.heads

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

    # -- what goes in --------------------------------------------------------------------------------------------

    def encode(self, text: str, pair: str | None = None) -> tuple[TokenRow, ...]:
        """The tokens of [CLS] text [SEP], or of [CLS] text [SEP] pair [SEP]."""
        return token_rows(self._encoding(text, pair))

    @torch.inference_mode()
    def embeddings(self, text: str, pair: str | None = None) -> InputMap:
        """The token, position and token type embeddings of every token and their normalised sum, each [T, H]."""
        return attention.input_map(self.model, self._encoding(text, pair))

    # -- what it says --------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def fill_mask(self, text: str, top_k: int = 5, pair: str | None = None) -> list[MaskFill]:
        """What the model would put in place of every [MASK], in the order of the text (then of the pair).

        Raises:
            TextError: there is no [MASK].
        """
        self.model.head("mlm")
        return predict.fill_mask(self.model, self.tokenizer, self._encoding(text, pair), top_k)

    @torch.inference_mode()
    def next_sentence(self, first: str, second: str) -> NextSentence:
        """The probability that `second` follows `first`."""
        self.model.head("nsp")
        return predict.next_sentence(self.model, self._encoding(first, second))

    @torch.inference_mode()
    def answer(
        self,
        question: str,
        passage: str,
        n_best: int = 20,
        max_answer_tokens: int = 30,
        stride: int = 128,
        max_tokens: int = 384,
        batch_size: int = 8,
    ) -> Answers:
        """Where the passage answers the question (Devlin et al. 2019, sections 4.2 and 4.3).

        Args:
            n_best: answers at most.
            max_answer_tokens: tokens of an answer at most.
            stride: a long passage is read in windows; each begins this many tokens after the one before.
            max_tokens: tokens of a window, the question's included.
            batch_size: windows read at once; it bounds the memory, however long the passage.

        Raises:
            TextError: the question or the passage is empty.
        """
        reading = predict.read_spans(
            self.model, self.tokenizer, question, passage, n_best=n_best, max_answer_tokens=max_answer_tokens,
            stride=stride, max_tokens=max_tokens, batch_size=batch_size,
        )  # fmt: skip
        return predict.answers(reading, n_best)

    @torch.inference_mode()
    def xray(
        self,
        question: str,
        passage: str,
        n_best: int = 20,
        max_answer_tokens: int = 30,
        stride: int = 128,
        max_tokens: int = 384,
        batch_size: int = 8,
    ) -> SpanXray:
        """What stands behind an answer, window by window; arguments and errors as of `answer`."""
        return xray.xray(
            self.model, self.tokenizer, question, passage, n_best=n_best, max_answer_tokens=max_answer_tokens,
            stride=stride, max_tokens=max_tokens, batch_size=batch_size,
        )  # fmt: skip

    @torch.inference_mode()
    def span_attention(
        self,
        question: str,
        passage: str,
        window: int,
        start: int,
        end: int,
        stride: int = 128,
        max_tokens: int = 384,
    ) -> SpanAttention:
        """Where the question's tokens and the answer's look in one window, in every head.

        Args:
            window: which of `xray`'s readings. start, end: the answer's characters.

        Raises:
            TextError: there is no such window, or it does not show the answer.
        """
        return xray.span_attention(
            self.model, self.tokenizer, question, passage, window, start, end, stride=stride, max_tokens=max_tokens
        )

    @torch.inference_mode()
    def classify(self, text: str, pair: str | None = None) -> Classification:
        """The probability of every label; from a checkpoint with a regression head, a value (section 4.1)."""
        tasks.classifier(self.model)
        return tasks.classify(self.model, self._encoding(text, pair))

    @torch.inference_mode()
    def choose(self, context: str, choices: Sequence[str]) -> list[Choice]:
        """How probable each of two or more ways to go on is, in the order given (section 4.4).

        Raises:
            TextError: fewer than two choices.
        """
        self.model.head("choose")
        if isinstance(choices, str) or len(choices) < 2:
            raise TextError("there is nothing to choose from: give at least two texts")
        encodings = [self._encoding(context, choice) for choice in choices]
        return tasks.choose(self.model, choices, encodings, self.tokenizer.pad_id)

    @torch.inference_mode()
    def tag(self, text: str) -> Tags:
        """A tag for every word, and the entities that they make up, with their places in the text (section 5.3)."""
        self.model.head("tag")
        by_piece = self.record.get("settings", {}).get("unit") == "character"
        return tasks.tag(self.model, text, self._encoding(text), by_piece)

    @torch.inference_mode()
    def embed(self, texts: Sequence[str], batch_size: int = 32) -> np.ndarray:
        """A vector of length 1 for each text, the mean of its last hidden states -> float32 [texts, H]."""
        if isinstance(texts, str):
            raise TextError("embed takes several texts: put a single one in a list")
        return predict.embed(self.model, [self._encoding(text) for text in texts], self.tokenizer.pad_id, batch_size)

    # -- what it computes on the way -----------------------------------------------------------------------------

    @torch.inference_mode()
    def attention(self, text: str, pair: str | None = None, surgery: Surgery | None = None) -> AttentionMap:
        """Every head's attention, probs_LNTT.

        Args:
            surgery: what to change in the forward pass.

        Raises:
            SurgeryError: a change that does not fit this model and input.
        """
        return attention.attention_map(self.model, self._encoding(text, pair), surgery)

    @torch.inference_mode()
    def neuron(self, text: str, pair: str | None = None, *, layer: int = 0, head: int = 0) -> NeuronMap:
        """One head opened up: queries, keys, their scaled products and what softmax makes of them.

        Raises:
            BertlabError: a layer or head that the model does not have.
        """
        return attention.neuron_map(self.model, self._encoding(text, pair), layer, head)

    def _encoding(self, text: str, pair: str | None = None) -> Encoding:
        return encode(self.tokenizer, text, pair, self.config.max_positions)

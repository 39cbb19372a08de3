"""`Session`: an open checkpoint, what is known about it, and everything one can ask of it.

Shape legend: T tokens, H hidden, N heads, L layers, P dimensions of a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from bertlab.abilities.ability import Ability
from bertlab.abilities.answer import Answer, Xray
from bertlab.abilities.answer.compute import compute_span_attention
from bertlab.abilities.attention import block, roles
from bertlab.abilities.attention import compute as attention
from bertlab.abilities.attention.block import BlockMap
from bertlab.abilities.attention.rollout import Rollout, compute_rollout
from bertlab.abilities.choose import Choose
from bertlab.abilities.choose.compute import ChoiceScores, compute_choice_scores
from bertlab.abilities.classify import Classify
from bertlab.abilities.classify.word_effects import compute_word_effects
from bertlab.abilities.encode import encode, make_token_rows
from bertlab.abilities.fill_mask import FillMask
from bertlab.abilities.lens import compute as logit_lens
from bertlab.abilities.next_sentence import NextSentence
from bertlab.abilities.next_sentence.laboratory import (
    PairAttention,
    RankedSentence,
    TestPairResult,
    compute_pair_attention,
    predict_test_pairs,
    rank_candidates,
)
from bertlab.abilities.pretraining_example.compute import DrawSettings, ExampleDrawer, compute_draw_losses
from bertlab.abilities.pretraining_example.results import ExampleLosses, PretrainingExample
from bertlab.abilities.results import (
    AttentionMap,
    HeadEffects,
    HeadRoles,
    HeadVectors,
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
from bertlab.abilities.sentences.embed import embed_texts
from bertlab.abilities.sentences.vectors import SentenceVectors, compute_sentence_vectors
from bertlab.abilities.summary import DIVERSITY, NUM_SENTENCES, Summary
from bertlab.abilities.summary.compute import Summary as SummaryResult
from bertlab.abilities.surgery import compute as explore_interventions
from bertlab.abilities.surgery.syntax import read_heads, resolve
from bertlab.abilities.tag import Tag
from bertlab.abilities.wordpiece.positions import PositionSimilarity, compute_position_similarity
from bertlab.abilities.writing.corrections import MARGIN, Correction, suggest_corrections
from bertlab.abilities.writing.surprise import (
    MAX_PROPOSALS,
    MaskingName,
    TextSurprise,
    WordProposals,
    compute_surprise,
    propose_words,
)
from bertlab.abilities.writing.type_ahead import TypeAhead, compute_type_ahead
from bertlab.checkpoints import checkpoint
from bertlab.checkpoints.average import average
from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.checkpoints.prune import prune
from bertlab.config.config import ModelConfig
from bertlab.config.errors import BertlabError, CheckpointError, TextError
from bertlab.nn.bert import Bert
from bertlab.nn.interventions import Interventions, check_position
from bertlab.tasks.classification import Classification
from bertlab.tasks.masked_lm import MaskFill
from bertlab.tasks.multiple_choice import Choice
from bertlab.tasks.recomputable_prediction import RecomputablePrediction
from bertlab.tasks.registry import TASK_TYPES, list_intervention_types, list_types_for_command, list_types_for_model
from bertlab.tasks.sentence_pair import NextSentence as NextSentenceResult
from bertlab.tasks.span.answer import Answers
from bertlab.tasks.tag_prediction import Tags
from bertlab.tasks.task_type import TaskType
from bertlab.text.tokenizers.search import MergeHistory, WordSearch
from bertlab.text.tokenizers.wordpiece import Encoding, Tokenizer

Result = TypeVar("Result")
MAX_RECORDED_VALUE = 1e9  # a value range with a larger number counts as damaged and is ignored


def load(source: str | Path, device: str = "cpu", dtype: str = "float32") -> Session:
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


@dataclass(frozen=True, repr=False)
class Session:
    """An open checkpoint; a session is immutable, so several threads may share it.

    Each ability has a method here, whose arguments are its inputs, described in its class. Every method raises
    TextError if a text is empty or has more tokens than the model has positions, and MissingHead if the checkpoint has
    no output layer for the prediction. Layers, heads and positions are counted from 0.
    """

    loaded: Checkpoint
    """The open checkpoint: model, tokenizer and record."""

    def __repr__(self) -> str:
        config, names = self.config, ", ".join(task_type.name for task_type in self.task_types) or "none"
        size = f"{config.num_layers} layers x {config.num_heads} heads, hidden size {config.hidden_size}"
        return f"Session({self.name}: {size}, tasks: {names})"

    # -- asking ----------------------------------------------------------------------------------------------------

    def ask(self, ability: Ability[Result], progress: Callable = iter) -> Result:
        """Compute the result of an ability, such as `session.ask(FillMask(text="Green [MASK]."))`.

        Args:
            progress: wraps the sequence of the parts that take long, as `tqdm` does.
        """
        ability.check()
        if ability.needs and not {*ability.needs} & {*self.heads}:
            self.model.require_head(ability.needs[0])
        with torch.inference_mode():
            return ability.compute(self, progress)

    def fill_mask(
        self, text: str, top_k: int = 5, pair: str | None = None, originals: Sequence[str] = ()
    ) -> list[MaskFill]:
        """Predict every [MASK], in the order of the text and then of the pair."""
        return self.ask(FillMask(text=text, top_k=top_k, pair=pair, originals=tuple(originals)))

    def next_sentence(self, first: str, second: str) -> NextSentenceResult:
        """Predict whether `second` follows `first` or, with an SOP checkpoint, whether they are in order."""
        return self.ask(NextSentence(first=first, second=second))

    def answer(
        self,
        question: str,
        passage: str,
        n_best: int = 5,
        max_answer_tokens: int = 30,
        threshold: float | None = None,
        stride: int | None = None,
        max_tokens: int | None = None,
        progress: Callable = iter,
    ) -> Answers:
        """Find the answer to a question in a passage (Devlin et al. 2019, sections 4.2 and 4.3)."""
        options: dict[str, Any] = {"threshold": threshold, "stride": stride, "max_tokens": max_tokens}
        ability = Answer(
            question=question, passage=passage, n_best=n_best, max_answer_tokens=max_answer_tokens, **options
        )
        return self.ask(ability, progress)

    def xray(
        self,
        question: str,
        passage: str,
        n_best: int = 20,
        max_answer_tokens: int = 30,
        threshold: float | None = None,
        stride: int | None = None,
        max_tokens: int | None = None,
        progress: Callable = iter,
    ) -> SpanXray:
        """Find the answers as `answer` does, and return the scores behind them: the prediction for each window."""
        options: dict[str, Any] = {"threshold": threshold, "stride": stride, "max_tokens": max_tokens}
        ability = Xray(
            question=question, passage=passage, n_best=n_best, max_answer_tokens=max_answer_tokens, **options
        )
        return self.ask(ability, progress)  # type: ignore[return-value]

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
            window: the index of the window, from 0, in the `readings` that `xray` returns.
            start: the answer's first character in the passage.
            end: the index after the answer's last character.

        Raises:
            TextError: there is no such window, or the answer is not in it.
        """
        return compute_span_attention(self, question, passage, window, start, end, stride, max_tokens)

    def classify(self, text: str, pair: str | None = None) -> Classification:
        """Predict the probability of every label or, with a regression checkpoint, the value."""
        return self.ask(Classify(text=text, pair=pair))

    def choose(self, context: str, choices: Sequence[str]) -> list[Choice]:
        """Predict for each choice, in the order of `choices`, the probability that it continues the context."""
        choices = choices if isinstance(choices, str) else tuple(choices)  # one text is refused later
        return self.ask(Choose(context=context, choices=choices))  # type: ignore[arg-type]

    def tag(self, text: str) -> Tags:
        """Tag every word, and find the entities that the tags form (Devlin et al. 2019, section 5.3)."""
        return self.ask(Tag(text=text))

    def summary(
        self, text: str, sentences: int = NUM_SENTENCES, diversity: float = DIVERSITY, progress: Callable = iter
    ) -> SummaryResult:
        """Choose the sentences of a text that summarise it, without repetitions."""
        return self.ask(Summary(text=text, sentences=sentences, diversity=diversity), progress)

    @torch.inference_mode()
    def fill_jointly(self, text: str, beams: int = 5, pair: str | None = None) -> JointFill:
        """Predict all masks together by a beam search from left to right.

        Args:
            text: the text, with at least one [MASK] in it or in the pair.
            beams: how many fillings the search keeps after each mask.
            pair: the second text, if the input is a pair.

        Raises:
            TextError: there is no [MASK].
        """
        self._require_head("masked_lm")
        return logit_lens.fill_jointly(self.model, self.tokenizer, self.encode_input(text, pair), text, pair, beams)

    @torch.inference_mode()
    def pretraining_example(
        self, text: str, seed: int = 1, *, top_k: int = 5, documents: Sequence[str] | None = None, **settings: object
    ) -> PretrainingExample:
        """Draw one example as pre-training does: a sentence pair and its masks, with the predictions and the losses.

        Args:
            text: the document that sentence A comes from.
            seed: the seed of the random choices; equal seeds give equal examples. The app calls it the number of the
                draw.
            top_k: number of candidates for each predicted token.
            documents: the documents that a random sentence B comes from; by default, short documents in the language
                of the text.
            settings: fields of `DrawSettings`, such as `chosen_share`, `mask_share` or `pair_objective`.

        Raises:
            TextError: the text has fewer than two tokens.

        Source: Devlin et al. 2019, section 3.1 and appendix A.2; Lan et al. 2020 for sentence order.
        """
        return self._make_drawer(text, documents, settings).compute_example(seed, top_k)

    @torch.inference_mode()
    def pretraining_losses(
        self,
        text: str,
        draws: int | Sequence[int] = 20,
        *,
        documents: Sequence[str] | None = None,
        **settings: object,
    ) -> tuple[ExampleLosses, ...]:
        """Compute the losses of several draws of `pretraining_example`.

        Args:
            text: the document that sentence A comes from.
            draws: the seeds of the draws; an integer n means the seeds 1 to n.
            documents: as in `pretraining_example`.
            settings: fields of `DrawSettings`.

        Raises:
            TextError: the text has fewer than two tokens.
        """
        return compute_draw_losses(self._make_drawer(text, documents, settings), draws)

    @torch.inference_mode()
    def choice_scores(self, context: str, choices: Sequence[str]) -> ChoiceScores:
        """Predict the probability of each choice as `choose` does, with the products that add up to its score.

        Raises:
            TextError: there are fewer than two choices.
        """
        self._require_head("multiple_choice")
        encodings = self.encode_choices(context, choices)
        return compute_choice_scores(self.model, choices, encodings, self.tokenizer.pad_id)

    @torch.inference_mode()
    def embed(self, texts: Sequence[str], batch_size: int = 32) -> np.ndarray:
        """Compute a unit vector (norm 1) for each text -> float32 [texts, P].

        If the checkpoint contains files of `sentence-transformers` that specify a pooling, the vector is made by this
        pooling; otherwise it is the mean of the text's last hidden states. The dot product of two vectors is their
        cosine.

        Raises:
            CheckpointError: the vectors need a module that bertlab does not have.
        """
        if isinstance(texts, str):
            raise TextError("embed-needs-list")
        settings = self.loaded.sentence_settings
        encodings = [self.encode_input(settings.prompt + text) for text in texts]
        return embed_texts(self.model, encodings, self.tokenizer.pad_id, batch_size, settings.pooling)

    @torch.inference_mode()
    def sentence_vectors(
        self, texts: Sequence[str], *, use_cache: bool = True, batch_size: int = 32, progress: Callable = iter
    ) -> SentenceVectors:
        """Compute the vectors of `embed` for many texts, from a cache where possible; long texts are truncated.

        Args:
            texts: the texts.
            use_cache: whether vectors are read from the cache on the disk, and stored in it.
            batch_size: the maximum number of texts in a batch.
            progress: wraps the sequence of groups of texts to compute, as `tqdm` does.

        Raises:
            TextError: a text has no tokens.
            CheckpointError: the vectors need a module that bertlab does not have.
        """
        return compute_sentence_vectors(
            self.loaded, texts, use_cache=use_cache, batch_size=batch_size, progress=progress
        )

    def surprise(self, text: str, masking: MaskingName = "word", *, progress: Callable = iter) -> TextSurprise:
        """Compute how surprising each word of a text is: -ln p of its tokens, each masked in turn.

        Args:
            text: the text, of any length; it is read in parts of whole sentences.
            masking: "word" masks each token together with the later tokens of its word, which would reveal it; "token"
                masks one token only.
            progress: wraps the sequence of batches, as `tqdm` does.

        Source: Salazar et al. 2020 (arXiv 1910.14659), section 2.2; Kauf and Ivanova 2023 (arXiv 2305.10588).
        """
        return compute_surprise(self.model, self.tokenizer, text, masking, progress)

    def propose_words(self, text: str, indices: Sequence[int], top_k: int = MAX_PROPOSALS) -> tuple[WordProposals, ...]:
        """Find the most probable whole words of the vocabulary in place of some words of a text.

        Args:
            text: the text.
            indices: the indices of the words in the result of `surprise`, such as `result.find_misfits(9.0)`.
            top_k: the maximum number of proposals for each word.

        Raises:
            BertlabError: there is no such word.
        """
        return propose_words(self.model, self.tokenizer, text, indices, top_k)

    def type_ahead(self, text: str, top_k: int = MAX_PROPOSALS) -> TypeAhead:
        """Predict the words after a text, endings of its last word, and the words of its gaps (___ or [MASK]).

        Args:
            text: the text so far; the next word is predicted after its end.
            top_k: the maximum number of words for each gap, for the ending and for the next word.
        """
        return compute_type_ahead(self.model, self.tokenizer, text, top_k)

    def suggest_corrections(
        self, text: str, margin: float = MARGIN, *, progress: Callable = iter
    ) -> tuple[Correction, ...]:
        """Suggest changes of the spelling and spacing of a text: one letter, or one space, for each suspicious word.

        Args:
            text: the text, of any length.
            margin: a change is suggested only if it raises the pseudo-log-likelihood by more than the margin, in nats;
                `bertlab bench writing` tunes the default.
            progress: wraps the sequence of the parts of the text, as `tqdm` does.
        """
        return suggest_corrections(self.model, self.tokenizer, text, margin, progress)

    # -- inside the model ------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def embeddings(self, text: str, pair: str | None = None) -> InputMap:
        """Compute the three embeddings of every token and their normalised sum, each [T, H]."""
        return attention.compute_input_map(self.model, self.encode_input(text, pair))

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
        return attention.compute_attention_map(self.model, self.encode_input(text, pair), interventions)

    @torch.inference_mode()
    def neuron(self, text: str, pair: str | None = None, *, layer: int = 0, head: int = 0) -> NeuronMap:
        """Compute what the neuron view shows of one attention head: queries, keys, scores and probabilities.

        Raises:
            BertlabError: there is no such layer or head.
        """
        return attention.compute_neuron_map(self.model, self.encode_input(text, pair), layer, head)

    @torch.inference_mode()
    def head_vectors(self, text: str, pair: str | None = None) -> HeadVectors:
        """Compute the queries, keys and attention of every head."""
        return attention.compute_head_vectors(self.model, self.encode_input(text, pair))

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
        encoding = self.encode_input(text, pair)
        return block.compute_block(self.model, self.tokenizer, encoding, layer, head, position)

    @torch.inference_mode()
    def rollout(self, text: str, pair: str | None = None) -> Rollout:
        """Compute the attention rollout up to every layer: the product of the attention matrices."""
        return compute_rollout(attention.compute_attention_map(self.model, self.encode_input(text, pair)))

    @torch.inference_mode()
    def head_roles(self, text: str, pair: str | None = None) -> HeadRoles:
        """Find the role of each head in this text: the kind of key that gets the largest share of its attention.

        The kinds of keys are the previous token, the next token, the query's own position, other occurrences of the
        same token, [CLS] and [SEP].
        """
        return roles.find_head_roles(attention.compute_attention_map(self.model, self.encode_input(text, pair)))

    @torch.inference_mode()
    def lens(self, text: str, pair: str | None = None) -> Lens:
        """Predict the token at every position after every layer, with the MLM output layer (logit lens)."""
        self._require_head("masked_lm")
        return logit_lens.compute_lens(self.model, self.tokenizer, self.encode_input(text, pair))

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
        encoded_other = self.encode_input(other) if parsed_changes.patches and other is not None else None
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

    def prune(self, heads: str, *, zeroed: bool = False) -> Session:
        """Remove attention heads, and return the result as a new session; see `checkpoints.prune`.

        Args:
            heads: heads and whole layers, such as "0.3,2.11,4".
            zeroed: set the weights of the heads to zero instead of removing them, so that all shapes stay the same.

        Raises:
            InterventionError: there is no such head, or a layer would lose all heads and `zeroed` is False.
        """
        model = prune(self.model, read_heads(heads, self.config.num_heads), zeroed=zeroed)
        return Session(replace(self.loaded, model=model))

    def average(self, other: Session, share: float = 0.5) -> Session:
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

    # -- about the checkpoint ---------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name of the checkpoint's directory, or the hub id."""
        return self.loaded.name

    @property
    def path(self) -> Path:
        """The directory of the checkpoint; for a hub model, its directory in the hub's cache."""
        return self.loaded.path

    @property
    def config(self) -> ModelConfig:
        """The model's configuration."""
        return self.loaded.config

    @property
    def record(self) -> dict:
        """The content of `bertlab.json`, which describes the training; {} if another program made the checkpoint."""
        return self.loaded.record

    @property
    def language(self) -> str:
        """The language of the checkpoint's texts ("ko", "en"), from the record, else from the vocabulary."""
        recorded = self.record.get("language")
        return recorded if isinstance(recorded, str) and recorded else self.tokenizer.language

    @property
    def num_texts(self) -> int | None:
        """How many texts one input of `classify` has, 1 or 2; None if the record does not contain it."""
        task = self.record.get("task")
        kind = task.get("kind") if isinstance(task, dict) else None
        task_type = TASK_TYPES.get(kind) if isinstance(kind, str) else None
        columns = task.get("text") if task_type in list_types_for_command("classify") else None
        return len(columns) if isinstance(columns, list) and len(columns) in (1, 2) else None

    @property
    def value_range(self) -> tuple[float, float] | None:
        """The smallest and the largest value in the training rows of a regression; None if they are not recorded."""
        match self.record.get("value_range"):
            case [int() | float() as low, int() | float() as high] if (
                -MAX_RECORDED_VALUE < low < high < MAX_RECORDED_VALUE
            ):
                return float(low), float(high)
        return None

    @property
    def heads(self) -> tuple[str, ...]:
        """The names of the model's output layers, which are keys of `nn.heads.HEADS`."""
        return self.loaded.heads

    @property
    def task_types(self) -> tuple[TaskType, ...]:
        """The task types for which the checkpoint makes predictions."""
        return tuple(list_types_for_model(self.model))

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that the checkpoint supports, such as "fill-mask"."""
        return tuple(dict.fromkeys(task_type.command for task_type in self.task_types if task_type.command))

    def find_classifier(self) -> TaskType:
        """Find the task type of `classify`, classification or regression, that the checkpoint supports.

        Raises:
            MissingHead: the checkpoint supports neither.
        """
        task_types = list_types_for_command("classify")
        supported = [task_type for task_type in task_types if task_type.head in self.heads]
        if not supported:
            self.model.require_head(task_types[0].head)
        return supported[-1]

    @property
    def predicts_token_tags(self) -> bool:
        """Whether `tag` predicts a tag for every token, because the model was trained on tags of characters.

        Otherwise `tag` predicts a tag for every word.
        """
        return self.record.get("settings", {}).get("unit") == "character"

    def window_settings(self, stride: int | None = None, max_tokens: int | None = None) -> dict[str, int]:
        """Return the stride and the size of the windows of a passage, in tokens.

        If an argument is None, the value from fine-tuning is used.
        """
        max_window = self.loaded.max_tokens_for(TASK_TYPES["span"].max_tokens)
        defaults = {"stride": self.loaded.stride, "max_tokens": max_window}
        arguments = {"stride": stride, "max_tokens": max_tokens}
        return defaults | {name: value for name, value in arguments.items() if value is not None}

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of `classify` or the tags of `tag`, in the model's order; () for other checkpoints."""
        return self.config.labels

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that the model was trained with."""
        return self.loaded.tokenizer

    @property
    def model(self) -> Bert:
        """The model, in eval mode."""
        return self.loaded.model

    # -- inputs ----------------------------------------------------------------------------------------------------

    def encode(self, text: str, pair: str | None = None) -> tuple[TokenRow, ...]:
        """List the tokens of [CLS] text [SEP], or of [CLS] text [SEP] pair [SEP]."""
        return make_token_rows(self.encode_input(text, pair))

    def encode_input(self, text: str, pair: str | None = None) -> Encoding:
        """Encode a text or a pair as an input of the model."""
        return encode(self.tokenizer, text, pair, self.config)

    def encode_choices(self, context: str, choices: Sequence[str]) -> tuple[Encoding, ...]:
        """Encode a context with each of its choices.

        Raises:
            TextError: there are fewer than two choices.
        """
        if isinstance(choices, str) or len(choices) < 2:
            raise TextError("too-few-choices")
        return tuple(self.encode_input(context, choice) for choice in choices)

    def _make_drawer(self, text: str, documents: Sequence[str] | None, settings: dict) -> ExampleDrawer:
        return ExampleDrawer(
            self.model, self.tokenizer, self.loaded.pair_objective, text, DrawSettings(**settings), documents
        )

    def _require_head(self, task_type: str) -> None:
        self.model.require_head(TASK_TYPES[task_type].head)

    def _make_recomputable_prediction(
        self, kind: str, text: str, pair: str | None, mask: int
    ) -> RecomputablePrediction:
        """Make the prediction of `intervene`, which can be computed again with changed hidden states."""
        task_type = TASK_TYPES.get(kind)
        if task_type is None or not task_type.recompute:
            names = [supported_type.name for supported_type in list_intervention_types()]
            raise BertlabError("prediction-unknown", prediction=kind, predictions=names)
        self._require_head(kind)
        if task_type.interventions_need_pair and pair is None:
            raise TextError("second-text-missing", prediction=task_type.name)
        encoding = self.encode_input(text, pair)
        return task_type.recompute(task_type, self.loaded, encoding, pair, mask)

"""`Predictor`: an open checkpoint and its predictions. Each method calls the module that computes the prediction.

Shape legend: P dimensions of a vector (the hidden size times the number of pooling modes).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from bertlab.abilities import queries
from bertlab.abilities.choose.compute import ChoiceScores, compute_choice_scores
from bertlab.abilities.encode import encode, make_token_rows
from bertlab.abilities.lens import compute as logit_lens
from bertlab.abilities.pretraining_example.compute import DrawSettings, ExampleDrawer, compute_draw_losses
from bertlab.abilities.pretraining_example.results import ExampleLosses, PretrainingExample
from bertlab.abilities.queries import Query, answer_query
from bertlab.abilities.results import JointFill, TokenRow
from bertlab.abilities.sentences.embed import embed_texts
from bertlab.abilities.sentences.vectors import SentenceVectors, compute_sentence_vectors
from bertlab.abilities.summary.compute import DIVERSITY, NUM_SENTENCES, Summary, summarise_texts
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
from bertlab.checkpoint_info import CheckpointInfo
from bertlab.config.errors import TextError
from bertlab.config.renamed_keys import SETTING_KEYS, rename_keys
from bertlab.tasks.classification import Classification
from bertlab.tasks.inference import find_device
from bertlab.tasks.masked_lm import MaskFill
from bertlab.tasks.multiple_choice import Choice, make_choices
from bertlab.tasks.registry import TASK_TYPES
from bertlab.tasks.sentence_pair import NextSentence
from bertlab.tasks.span.answer import Answers
from bertlab.tasks.tag_prediction import Tags
from bertlab.text.batch import collate
from bertlab.text.tokenizers.wordpiece import Encoding


class Predictor(CheckpointInfo):
    """An open checkpoint and its predictions.

    Every method raises TextError if a text is empty or has more tokens than the model has positions, and MissingHead if
    the checkpoint has no output layer for the prediction.
    """

    def encode(self, text: str, pair: str | None = None) -> tuple[TokenRow, ...]:
        """List the tokens of [CLS] text [SEP], or of [CLS] text [SEP] pair [SEP]."""
        return make_token_rows(self._encode(text, pair))

    def fill_mask(
        self, text: str, top_k: int = 5, pair: str | None = None, originals: Sequence[str] = ()
    ) -> list[MaskFill]:
        """Predict every [MASK], in the order of the text and then of the pair.

        Args:
            text: the text, with at least one [MASK] in it or in the pair.
            top_k: number of candidates for each mask.
            pair: the second text, if the input is a pair.
            originals: the word that each mask replaced, or "" if it is unknown. For a known word, `MaskFill.original`
                contains its probability and rank.

        Raises:
            TextError: there is no [MASK].
        """
        return self._compute_result(queries.prepare_fill_mask(self, text, pair, top_k, originals))

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
        return logit_lens.fill_jointly(self.model, self.tokenizer, self._encode(text, pair), text, pair, beams)

    def next_sentence(self, first: str, second: str) -> NextSentence:
        """Predict whether `second` follows `first` or, with an SOP checkpoint, whether they are in order."""
        return self._compute_result(queries.prepare_next_sentence(self, first, second))

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
        seed = settings.pop("draw", seed)  # an old name
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
        """Find the answer to a question in a passage (Devlin et al. 2019, sections 4.2 and 4.3).

        Args:
            question: the question.
            passage: the text that contains the answer. A long passage is read in overlapping windows.
            n_best: maximum number of answers.
            max_answer_tokens: maximum number of tokens of an answer.
            stride: distance in tokens between the starts of neighbouring windows. Default: as in fine-tuning, or 128.
            max_tokens: tokens of a window, including the question. Default: as in fine-tuning, but at least 384.
            batch_size: number of windows computed at once; it limits the memory for a passage of any length.
            null_threshold: tau; the answer is "" if the no-answer score exceeds the best answer's score by more
                than tau. Default: the checkpoint's threshold; a checkpoint without a threshold always answers.
            progress: a function that wraps the iterable of batches to show progress, such as `tqdm`.

        Raises:
            TextError: the question or the passage is empty.
        """
        query = queries.prepare_answer(
            self, question, passage, n_best, max_answer_tokens, null_threshold, stride, max_tokens
        )
        return self._compute_result(query, batch_size, progress)

    def classify(self, text: str, pair: str | None = None) -> Classification:
        """Predict the probability of every label or, with a regression checkpoint, the value.

        Source: Devlin et al. 2019, section 4.1.
        """
        return self._compute_result(queries.prepare_classify(self, text, pair))

    @torch.inference_mode()
    def choose(self, context: str, choices: Sequence[str]) -> list[Choice]:
        """Predict for each choice, in the order of `choices`, the probability that it continues the context.

        Raises:
            TextError: there are fewer than two choices.

        Source: Devlin et al. 2019, section 4.4.
        """
        batch = collate(self._encode_choices(context, choices), self.tokenizer.pad_id).to(find_device(self.model))
        return make_choices(choices, self.model.logits("choose", batch)[:, 0])

    @torch.inference_mode()
    def choice_scores(self, context: str, choices: Sequence[str]) -> ChoiceScores:
        """Predict the probability of each choice as `choose` does, with the products that add up to its score.

        Raises:
            TextError: there are fewer than two choices.
        """
        encodings = self._encode_choices(context, choices)
        return compute_choice_scores(self.model, choices, encodings, self.tokenizer.pad_id)

    def tag(self, text: str) -> Tags:
        """Tag every word, and find the entities that the tags form (Devlin et al. 2019, section 5.3)."""
        return self._compute_result(queries.prepare_tag(self, text))

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
        encodings = [self._encode(settings.prompt + text) for text in texts]
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

    def summarise(
        self,
        text: str,
        num_sentences: int = NUM_SENTENCES,
        *,
        diversity: float = DIVERSITY,
        use_cache: bool = True,
        progress: Callable = iter,
    ) -> Summary:
        """Choose the most central sentences of a text, without repetitions; see `explore.summary`.

        Args:
            text: the text, of any length.
            num_sentences: the maximum number of sentences.
            diversity: the weight, 0..1, of the penalty for similarity to the sentences chosen before.
            use_cache: whether vectors are read from the cache on the disk, and stored in it.
            progress: wraps the sequence of groups of sentences to compute, as `tqdm` does.

        Raises:
            TextError: the text has no letters or digits.
            CheckpointError: the vectors need a module that bertlab does not have.

        Source: Erkan and Radev 2004 (LexRank, arXiv 1109.2128), section 3.3.
        """
        return summarise_texts(
            self.loaded, [text], num_sentences, diversity=diversity, use_cache=use_cache, progress=progress
        )[0]

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

    def _encode_choices(self, context: str, choices: Sequence[str]) -> list[Encoding]:
        """Encode a context with each of its choices; the errors are those of `choose`."""
        self._require_head("multiple_choice")
        if isinstance(choices, str) or len(choices) < 2:
            raise TextError("too-few-choices")
        return [self._encode(context, choice) for choice in choices]

    def _make_drawer(self, text: str, documents: Sequence[str] | None, settings: dict) -> ExampleDrawer:
        """Make the object that draws pre-training examples; the arguments are those of `pretraining_example`."""
        draw_settings = DrawSettings(**rename_keys(settings, SETTING_KEYS))
        return ExampleDrawer(self.model, self.tokenizer, self.loaded.pair_objective, text, draw_settings, documents)

    def _require_head(self, task_type: str) -> None:
        """Raise MissingHead if the checkpoint has no output layer for a task type."""
        self.model.require_head(TASK_TYPES[task_type].head)

    def _compute_result(self, query: Query, batch_size: int = 8, progress: Callable = iter) -> Any:
        """Compute the result of a query with this checkpoint."""
        return answer_query(self.model, self.tokenizer.pad_id, query, batch_size, progress)

    def _encode(self, text: str, pair: str | None = None) -> Encoding:
        return encode(self.tokenizer, text, pair, self.config)

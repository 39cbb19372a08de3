"""Commands that print predictions: masked words, the next sentence, answers, labels, choices and tags."""

import os
import sys
from dataclasses import dataclass
from typing import Annotated

import tyro

from bertlab.cli.query import OptionalText, QueryOptions, Text, TextQuery, open_session, print_result, read_texts
from bertlab.config.languages import Message


@dataclass(frozen=True)
class FillMask(QueryOptions):
    """Predict the masked words of a text.

    Examples:
      bertlab fill-mask "The cat [MASK] on the mat."
      bertlab fill-mask "A [MASK] of hot [MASK]." --top-k 3
      echo "Rain [MASK] on the roof." | bertlab fill-mask - --json
    """

    text: Text
    """The text, with [MASK] in place of each word to predict. Use "-" to read it from standard input."""
    pair: Annotated[str | None, tyro.conf.arg(metavar="TEXT")] = None
    """A second text, sentence B of the input."""
    top_k: int = 5
    """Number of predictions for each mask."""


def fill_mask(config: FillMask) -> None:
    """Print the most probable tokens for each mask."""
    from bertlab.views import terminal

    (text,) = read_texts(config.text)
    session = open_session(config, "fill-mask", text)
    predictions = session.fill_mask(text, config.top_k, config.pair)
    title = text if config.pair is None else f"{text} | {config.pair}"
    print_result(config, session, predictions, lambda: terminal.mask_lines(title, predictions), "fill-mask")


@dataclass(frozen=True)
class NextSentence(QueryOptions):
    """Predict whether sentence B follows sentence A.

    Examples:
      bertlab next-sentence "She opened the window." "Cold air came in."
      bertlab next-sentence "She opened the window." "Goats have square pupils." --json
    """

    first: Text
    """Sentence A. Use "-" to read it from standard input."""
    second: Text
    """Sentence B. Use "-" to read it from standard input."""


def next_sentence(config: NextSentence) -> None:
    """Print the probability that sentence B follows sentence A."""
    from bertlab.views import terminal

    first, second = read_texts(config.first, config.second)
    session = open_session(config, "nsp", first, second)
    prediction = session.next_sentence(first, second)
    print_result(
        config,
        session,
        prediction,
        lambda: terminal.next_sentence_lines(first, second, prediction),
        "next-sentence",
    )


@dataclass(frozen=True)
class Answer(QueryOptions):
    """Find the answer to a question in a passage.

    Examples:
      bertlab answer "Who carried the lantern?" "The keeper of the old mill carried the lantern."
      bertlab answer "When was it built?" - < passage.txt
    """

    question: Text
    """The question. Use "-" to read it from standard input."""
    passage: Text
    """The passage, of any length. Use "-" to read it from standard input."""
    n_best: int = 5
    """Number of answers to show."""
    max_answer_tokens: int = 30
    """Maximum number of tokens in an answer."""
    stride: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Distance in tokens between the starts of neighbouring windows of a long passage. Default: the value used in
    fine-tuning, or 128."""
    max_tokens: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Maximum number of tokens in a window, including the question. Default: the value used in fine-tuning, but at
    least 384."""
    batch_size: int = 8
    """Number of windows in a batch."""
    threshold: Annotated[float | None, tyro.conf.arg(metavar="NUMBER", aliases=("--null-threshold",))] = None
    """Threshold tau: print "no answer" if the no-answer score exceeds the score of the best answer by more than tau.
    Default: the threshold of the checkpoint; a checkpoint without a threshold always answers."""


def answer(config: Answer) -> None:
    """Print the passage with the best answer marked, and the best answers with their scores."""
    from bertlab.views import terminal

    question, passage = read_texts(config.question, config.passage)
    session = open_session(config, "answer", question, passage)
    answers = session.answer(
        question, passage, config.n_best, config.max_answer_tokens, config.stride, config.max_tokens,
        config.batch_size, config.threshold,
    )  # fmt: skip
    # `marks` are printed before and after the answer: in a terminal, the codes for bold and inverted text
    marks = ("\x1b[1;7m", "\x1b[0m") if sys.stdout.isatty() and "NO_COLOR" not in os.environ else ("»", "«")
    print_result(config, session, answers, lambda: terminal.answer_lines(passage, answers, marks), "answer")


@dataclass(frozen=True)
class Classify(TextQuery):
    """Predict a label, or a number (regression), for a text with a fine-tuned checkpoint.

    Examples:
      bertlab classify "A quiet, lovely film."
      bertlab classify "A man plays." "Somebody makes music." --checkpoint runs/mnli
      bertlab classify - --json < review.txt
    """

    pair: OptionalText = None
    """A second text, for a checkpoint that was fine-tuned on pairs."""


def classify(config: Classify) -> None:
    """Print the probability of each label, or the predicted number."""
    from bertlab.views import terminal

    texts = read_texts(config.text, *([] if config.pair is None else [config.pair]))
    session = open_session(config, "classify", *texts)
    prediction = session.classify(*texts)
    if session.num_texts not in (None, len(texts)):
        id = "fine-tuned-on-single-texts" if session.num_texts == 1 else "fine-tuned-on-pairs"
        print(Message(id, checkpoint=session.name), file=sys.stderr)
    print_result(config, session, prediction, lambda: terminal.classification_lines(texts, prediction), "classify")


@dataclass(frozen=True)
class Choose(QueryOptions):
    """Choose the best continuation of a text, with a checkpoint that was fine-tuned on multiple choice.

    Examples:
      bertlab choose "She opened her umbrella." "It had started to rain." "The soup was salty."
    """

    context: Text
    """The text to continue. Use "-" to read it from standard input."""
    choices: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="TEXT ...")]
    """Two or more continuations."""


def choose(config: Choose) -> None:
    """Print the probability of each continuation."""
    from bertlab.views import terminal

    context, *choices = read_texts(config.context, *config.choices)
    session = open_session(config, "choose", context, *choices)
    scored_choices = session.choose(context, choices)
    print_result(config, session, scored_choices, lambda: terminal.choice_lines(context, scored_choices), "choose")


@dataclass(frozen=True)
class Tag(TextQuery):
    """Find the named entities in a text by predicting a tag for every word.

    Examples:
      bertlab tag "Ada Lovelace was born in London."
      bertlab tag "Ada Lovelace was born in London." --words
      bertlab tag - --json < article.txt
    """

    words: bool = False
    """Show the tag of every word, not only the entities."""


def tag(config: Tag) -> None:
    """Print the named entities and, with --words, the tag of every word."""
    from bertlab.views import terminal

    (text,) = read_texts(config.text)
    session = open_session(config, "tag", text)
    tags = session.tag(text)
    print_result(config, session, tags, lambda: terminal.tag_lines(text, tags, config.words), "tag")

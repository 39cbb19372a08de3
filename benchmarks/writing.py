"""`bertlab bench writing`: precision and recall of spelling and spacing suggestions on text with artificial errors.

A suggestion is counted if its gain exceeds a margin, the one with the largest F0.5 on the first half of the sentences.
It is right if it alone restores the original sentence.
"""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import torch
import tyro
from tqdm import tqdm

from benchmarks.harness import BenchOptions, report
from benchmarks.results import Result
from bertlab.abilities.writing.corrections import Correction
from bertlab.config.errors import DataError
from bertlab.config.languages import languages
from bertlab.session import Session, load
from bertlab.text.letter_edits import KINDS, corrupt
from bertlab.text.pretraining.sentences import split_sentences
from bertlab.text.readers.text_file import read_documents
from bertlab.text.story_world.world import StoryWorld
from bertlab.training.devices import describe_hardware

MIN_WORDS, MAX_WORDS = 4, 25  # the smallest and the largest number of words of a sentence
BETA = 0.5  # precision counts more than recall, as in the shared tasks on correction (Ng et al. 2014, CoNLL)


@dataclass(frozen=True)
class WritingBenchConfig(BenchOptions):
    """Measure the precision and recall of spelling and spacing suggestions on text with artificial errors.

    Half of the sentences get one error each: a letter (in Korean, a letter of a syllable) is replaced, dropped, added
    or swapped with its neighbour, or a space is removed or added. The margin (see `bertlab writing --margin`) is tuned
    on the first half of the list of all sentences, with and without errors. Precision and recall are measured with this
    margin on the second half of the list. Precision: the share of suggestions that restore the original sentence.
    Recall: the share of errors that a suggestion corrects.

    Examples:
      bertlab bench writing --checkpoint scratch --sentences 200
      bertlab bench writing --checkpoint korean --data kowiki-validation.parquet --record
    """

    checkpoint: Annotated[str, tyro.conf.arg(metavar="CHECKPOINT")] = "scratch"
    """A checkpoint that has an MLM output layer and was trained on the language of the sentences."""
    data: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """A text file, or a file with a document in each row. Default: held-out sentences of the story world."""
    sentences: int = 400
    """The number of sentences; the margin is tuned on half of them."""
    seed: int = 0
    """Seed of the choice of sentences and of the errors."""


@dataclass(frozen=True)
class Row:
    """A sentence of the benchmark and the suggestions for it."""

    original: str  # the sentence without an error
    text: str  # the sentence that BERT reads, with or without an error
    kind: str  # the kind of the error, one of `KINDS`; "" if there is none
    corrections: tuple[Correction, ...] = ()  # all suggestions with a gain above 0

    def count(self, margin: float) -> tuple[int, int]:
        """Count the suggestions with a gain above a margin, and how many of these restore the sentence."""
        suggestions = [each for each in self.corrections if each.gain > margin]
        corrected_texts = [self.text[: c.start] + c.replacement + self.text[c.end :] for c in suggestions]
        return len(suggestions), corrected_texts.count(self.original) if self.kind else 0


def make_rows(sentences: list[str], seed: int) -> list[Row]:
    """Insert one error in half of the sentences, taking the kinds of errors in turn."""
    rng, rows = random.Random(seed), []
    for index, sentence in enumerate(sentences):
        # the second and the third of every four sentences get an error; the kind changes after every four sentences
        kind = KINDS[(index // 4) % len(KINDS)] if index % 4 in (1, 2) else ""
        text = corrupt(sentence, rng, kind) if kind else None
        rows.append(Row(sentence, sentence, "") if text is None else Row(sentence, text, kind))
    return rows


def score(rows: list[Row], margin: float) -> dict[str, float]:
    """Return precision, recall and F0.5 of suggestions with a gain above a margin, and count suggestions and errors.

    >>> wrong, right = (Correction(0, 1, "a", text, "letter", 9.0) for text in ("c", "b"))
    >>> score([Row("b", "a", "replace", (right,)), Row("a", "a", "", (wrong,)), Row("b", "a", "drop")], 5.0)["recall"]
    0.5
    """
    counts = [row.count(margin) for row in rows]
    num_suggestions, num_right = sum(n for n, _ in counts), sum(n for _, n in counts)
    errors = sum(bool(row.kind) for row in rows)
    precision, recall = num_right / max(num_suggestions, 1), num_right / max(errors, 1)
    weight = BETA**2
    f_score = (1 + weight) * precision * recall / (weight * precision + recall) if num_right else 0.0
    return {"precision": precision, "recall": recall, "f": f_score, "suggestions": num_suggestions, "errors": errors}


def tune_margin(rows: list[Row]) -> float:
    """Return the margin with the largest F0.5: 0, 0.5, ... or 30 nats. Of equally good margins, it is the smallest."""
    margins = [step / 2 for step in range(61)]
    return max(margins, key=lambda margin: (score(rows, margin)["f"], -margin))


def read_sentences(config: WritingBenchConfig, language: str) -> list[str]:
    """Choose sentences at random from the file, or from held-out stories.

    Only sentences of `MIN_WORDS` to `MAX_WORDS` words that end with a period and use the script of the language are
    chosen.
    """
    rng = random.Random(config.seed)
    if config.data is None:
        stories = StoryWorld(language, config.seed).documents(config.sentences, held_out=True)
        candidates = [sentence.text for story in stories for sentence in story.sentences]
    else:
        documents = list(read_documents(config.data).texts)
        rng.shuffle(documents)
        candidates = [sentence for text in documents[: config.sentences] for sentence in split_sentences(text)]
    uses_script = languages()[language].uses_script
    suitable = [each for each in dict.fromkeys(candidates) if MIN_WORDS <= len(each.split()) <= MAX_WORDS
               and (uses_script(each) or not languages()[language].script) and each.endswith(".")]  # fmt: skip
    if len(suitable) < config.sentences:
        raise DataError("bench-too-few-sentences", found=len(suitable), wanted=config.sentences)
    return rng.sample(suitable, config.sentences)


def correct_rows(session: Session, rows: list[Row], *, quiet: bool) -> Iterator[Row]:
    """Yield the rows with all suggestions for them."""
    for row in tqdm(rows, "sentences", disable=quiet):
        yield replace(row, corrections=session.suggest_corrections(row.text, 0.0))


def run(config: WritingBenchConfig) -> None:
    """Measure, print the results, and record them if `--record` is given."""
    torch.set_num_threads(1)
    session = load(config.checkpoint)
    rows = make_rows(read_sentences(config, session.language), config.seed)
    start = time.perf_counter()
    rows = list(correct_rows(session, rows, quiet=config.json))
    seconds = time.perf_counter() - start
    tuning_rows, test_rows = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    margin = tune_margin(tuning_rows)
    scores = score(test_rows, margin)
    source = config.data.name if config.data else "story world"
    measurements = {
        "checkpoint": config.checkpoint, "text": source, "test_sentences": len(test_rows), "margin_nats": margin,
        "errors": scores["errors"], "suggestions": scores["suggestions"],
        "precision_percent": round(100 * scores["precision"], 1), "recall_percent": round(100 * scores["recall"], 1),
        "milliseconds_per_sentence": round(1000 * seconds / len(rows)),
    }  # fmt: skip
    claim = f"Checkpoints: {Path(config.checkpoint).name}, corrections of artificial errors, {source}, precision"
    recall = f"recall: {measurements['recall_percent']} % of {scores['errors']} errors"
    hardware = describe_hardware(torch.device("cpu"))
    result = Result(
        claim, measurements["precision_percent"], unit="%", n=int(scores["suggestions"]), peer=recall, hardware=hardware
    )
    report(measurements, [result], config)

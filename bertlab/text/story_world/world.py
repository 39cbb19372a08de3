"""Stories of the story world: coherent documents with known events, from a language and a seed."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from bertlab.text.story_world.lexicon import load_lexicon
from bertlab.text.story_world.plots import run_plot
from bertlab.text.story_world.realisation import Narrator, NoWordingForEvent, Sentence
from bertlab.text.story_world.simulation import Event, Simulation


@dataclass(frozen=True)
class Story:
    """A story with everything that is known about it."""

    text: str  # the text; a line per paragraph
    sentences: tuple[Sentence, ...]
    starts: tuple[int, ...]  # where each sentence begins in `text`
    paragraph_sizes: tuple[int, ...]  # the number of sentences of each paragraph
    plot: str
    is_happy: bool
    world: Simulation  # the simulated world in which the story happens, in its state at the end

    @property
    def events(self) -> list[Event]:
        return [sentence.event for sentence in self.sentences]


@dataclass(frozen=True)
class StoryWorld:
    """All stories of a language and a seed."""

    language: str  # a code of `story_languages()`
    seed: int = 0  # seed of all stories; another seed gives other stories

    def documents(self, count: int, held_out: bool = False, start: int = 0) -> Iterator[Story]:
        """Yield stories from index `start` on; those of the held-out part share no sentence with the training part."""
        for number in range(start, start + count):
            yield self.make_story(number, held_out)

    def make_story(self, number: int, held_out: bool = False) -> Story:
        """Make the story with this index; it depends only on the arguments, the language and the seed."""
        lexicon = load_lexicon(self.language)
        rng = random.Random(f"{self.language} {self.seed} {held_out} {number}")
        while True:
            world = Simulation(lexicon, rng, self.seed)
            plot, is_happy = run_plot(world)
            narrator = Narrator(lexicon, rng, held_out)
            try:
                paragraphs = [_write_paragraph(narrator, events) for events in world.paragraphs]
            except NoWordingForEvent:
                # This is rare: all sentences tried for an event belong to the other part (training or held-out).
                continue
            return _join_paragraphs(paragraphs, plot, is_happy, world)


def _write_paragraph(narrator: Narrator, events: list[Event]) -> list[Sentence]:
    narrator.start_paragraph()
    return [narrator.write_sentence(event) for event in events]


def _join_paragraphs(paragraphs: list[list[Sentence]], plot: str, is_happy: bool, world: Simulation) -> Story:
    starts, position = [], 0
    for sentences in paragraphs:
        for sentence in sentences:
            starts.append(position)
            position += len(sentence.text) + 1  # a space, or a line end after the last sentence of a paragraph
    text = "\n".join(" ".join(sentence.text for sentence in sentences) for sentences in paragraphs)
    sentences = tuple(sentence for sentences in paragraphs for sentence in sentences)
    sizes = tuple(len(sentences) for sentences in paragraphs)
    return Story(text, sentences, tuple(starts), sizes, plot, is_happy, world)

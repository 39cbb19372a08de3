"""Stories of the story world: coherent documents with known events, from a language and a seed."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

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
            paragraphs: list[list[Sentence]] = []
            try:
                for events in world.paragraphs:
                    narrator.start_paragraph()
                    paragraphs.append([narrator.write_sentence(event) for event in events])
            except NoWordingForEvent:
                # This is rare: all sentences tried for an event belong to the other part (training or held-out).
                continue
            sentences = tuple(sentence for paragraph in paragraphs for sentence in paragraph)
            # After a sentence comes a space or, at the end of a paragraph, a line end.
            starts = tuple(accumulate((len(sentence.text) + 1 for sentence in sentences[:-1]), initial=0))
            text = "\n".join(" ".join(sentence.text for sentence in paragraph) for paragraph in paragraphs)
            return Story(text, sentences, starts, tuple(map(len, paragraphs)), plot, is_happy, world)

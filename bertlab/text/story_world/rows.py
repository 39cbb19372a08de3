"""Labelled rows from stories. The labels are exact, because the events of a story are known.

Each task is a function from a story to a row, or to None if the story has no such row. `ROW_TASKS` states the
columns and the task of `bertlab finetune` that reads them.
"""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal, get_args

from bertlab.config.errors import DataError
from bertlab.config.tasks import TASKS
from bertlab.text.story_world.lexicon import Lexicon, load_lexicon
from bertlab.text.story_world.realisation import Mention, Narrator, NoWordingForEvent
from bertlab.text.story_world.simulation import Event, Thing, choose_people
from bertlab.text.story_world.wordings import Wording, parse_wording
from bertlab.text.story_world.world import Story, StoryWorld

Row = dict[str, object]  # column -> value
# the names of the labelled tasks
RowTaskName = Literal["next-sentence", "questions", "entities", "sentiment", "endings", "pronouns"]

UNANSWERABLE_SHARE = 1 / 3  # the share of questions whose story has no answer
# the kinds of events that decide a story. The kinds in one tuple are alternatives: a story has at most one of them. A
# wrong ending is an event of a kind from a tuple whose kinds are all absent from the story
OUTCOMES = (
    ("find", "never_found"), ("works_again", "no_repair"), ("buy", "go_without"), ("rain_stops", "ill"),
    ("succeed", "give_up"), ("give", "break"), ("forgive", "not_forgive"), ("win", "lose_contest"),
    ("animal_follows", "animal_escapes"), ("on_time", "late"), ("give_some", "refuse"), ("rest",), ("hand_over",),
)  # fmt: skip
WORD = re.compile(r"\w+|[^\w\s]")  # a run of letters and digits, or a single punctuation mark


@dataclass(frozen=True)
class RowTask:
    """A labelled task of the story world."""

    kind: str  # the task type, a name of `tasks.registry.TASK_TYPES`
    columns: dict[str, str]  # flags of `bertlab finetune custom` -> the columns of the rows
    make: Callable[["RowMaker", Story], Row | None]  # makes a row from a story, or returns None
    task: str = "custom"
    """The task of `bertlab finetune` that reads the rows; a language may have its own, such as story_qa_ko."""

    def find_task(self, language: str) -> str:
        """Return the task of `bertlab finetune` that reads the rows in a language.

        >>> ROW_TASKS["questions"].find_task("en"), ROW_TASKS["questions"].find_task("ko")
        ('story_qa', 'story_qa_ko')
        """
        name = f"{self.task}_{language}"
        return name if name in TASKS else self.task


@dataclass
class RowMaker:
    """The settings and the state with which the functions of this module make a row from a story."""

    language: str
    rng: random.Random
    held_out: bool  # whether the rows belong to the held-out part
    previous_story: Story | None = None  # the previous story; second sentences with the label NotNext come from it
    lexicon: Lexicon = field(init=False)

    def __post_init__(self):
        self.lexicon = load_lexicon(self.language)

    def make_narrator(self, story: Story) -> Narrator:
        """Make a narrator that treats the object of a story as known, and has mentioned nobody yet."""
        return Narrator(self.lexicon, self.rng, self.held_out, [story.world.thing])


def make_rows(task: str, language: str, seed: int, count: int, held_out: bool = False) -> Iterator[Row]:
    """Yield labelled rows.

    >>> next(make_rows("sentiment", "en", 0, 1)).keys()
    dict_keys(['text', 'label'])
    """
    if task not in ROW_TASKS:
        raise DataError("story-task-unknown", task=task, tasks=list(ROW_TASKS))
    world = StoryWorld(language, seed)
    maker = RowMaker(language, random.Random(f"{task} {language} {seed} {held_out}"), held_out)
    story_index = num_rows = 0
    maker.previous_story = world.make_story(story_index, held_out)
    while num_rows < count:
        story_index += 1
        story = world.make_story(story_index, held_out)
        row = ROW_TASKS[task].make(maker, story)
        maker.previous_story = story
        if row is not None:
            num_rows += 1
            yield row


def make_next_sentence(maker: RowMaker, story: Story) -> Row:
    """Make a row of two sentences: the second follows the first, or comes from another story."""
    index = maker.rng.randrange(len(story.sentences) - 1)
    is_next = maker.rng.random() < 0.5
    second = story.sentences[index + 1] if is_next else maker.rng.choice(maker.previous_story.sentences)
    return {
        "first": story.sentences[index].text, "second": second.text, "label": "IsNext" if is_next else "NotNext",
    }  # fmt: skip


def make_question(maker: RowMaker, story: Story) -> Row | None:
    """Make a row with a question about the story in SQuAD's columns; some questions have no answer in the story."""
    row: Row = {"id": f"{maker.rng.getrandbits(64):016x}", "title": story.world.theme.name, "context": story.text}
    if maker.rng.random() < UNANSWERABLE_SHARE:
        kinds = {event.kind for event in story.events}
        wordings = _unanswerable_wordings(maker.language)
        kind = maker.rng.choice([kind for kind in wordings if kind not in kinds])
        event = Event(kind, _make_cast(story), None, "", {})
        return row | {
            "question": maker.make_narrator(story).write_question(event, wordings[kind]),
            "answers": {"text": [], "answer_start": []},
        }
    candidates = [
        (sentence, start, wording, role)
        for sentence, start in zip(story.sentences, story.starts, strict=True)
        for wording, role in _answerable_wordings(maker.language).get(sentence.event.kind, ())
    ]
    maker.rng.shuffle(candidates)
    for sentence, start, wording, role in candidates:
        mention = next((m for m in sentence.mentions if m.role == role and m.kind in ("name", "phrase")), None)
        if mention is None or mention.start == mention.end:
            continue
        answer_start = start + mention.start
        text = story.text[answer_start : start + mention.end]
        question = maker.make_narrator(story).write_question(sentence.event, wording)
        return row | {"question": question, "answers": {"text": [text], "answer_start": [answer_start]}}
    return None


def make_entities(maker: RowMaker, story: Story) -> Row:
    """Make a row of the words of a paragraph, with BIO tags: PER person, LOC place, OBJ object, DAY day."""
    paragraph = maker.rng.randrange(len(story.paragraph_sizes))
    first = sum(story.paragraph_sizes[:paragraph])
    words, tags = [], []
    for sentence in story.sentences[first : first + story.paragraph_sizes[paragraph]]:
        entities = [(m.start, m.end, tag) for m in sentence.mentions if (tag := _find_entity_type(m, story))]
        begun_entities = set()
        for match in WORD.finditer(sentence.text):
            entity = next((e for e in entities if e[0] < match.end() and match.start() < e[1]), None)
            words.append(match.group())
            tags.append("O" if entity is None else f"{'I' if entity in begun_entities else 'B'}-{entity[2]}")
            begun_entities.add(entity)
    return {"tokens": words, "tags": tags}


def make_sentiment(maker: RowMaker, story: Story) -> Row:
    """Make a row of a story without its last sentence; the label is positive if the story ends well."""
    text = story.text[: story.starts[-1]].rstrip()
    return {"text": text.replace("\n", " "), "label": "positive" if story.is_happy else "negative"}


def make_ending(maker: RowMaker, story: Story) -> Row | None:
    """Make a row of the beginning of a story and four sentences: one continues it, and three end other plots."""
    kinds = [event.kind for event in story.events]
    # Only the fourth and later events are considered, so that at least three sentences come before the outcome.
    own_outcomes = next((outcomes for outcomes in OUTCOMES if any(kind in kinds[3:] for kind in outcomes)), None)
    if own_outcomes is None:
        return None
    index = next(i for i, kind in enumerate(kinds) if i >= 3 and kind in own_outcomes)
    other_outcomes = [outcomes for outcomes in OUTCOMES if not set(outcomes) & set(kinds)]
    cast = _make_cast(story)
    events = [story.events[index]]
    events += [
        Event(maker.rng.choice(outcomes), cast, None, "", {}) for outcomes in maker.rng.sample(other_outcomes, 3)
    ]
    # All four are written without the story before them, so that no pronoun or connective gives the answer away.
    events = [replace(event, link="") for event in events]
    try:
        choices = [maker.make_narrator(story).write_sentence(event).text for event in events]
    except NoWordingForEvent:
        return None
    order = maker.rng.sample(range(4), 4)
    context = story.text[: story.starts[index]].rstrip().replace("\n", " ")
    return {"context": context, "choices": [choices[i] for i in order], "label": order.index(0)}


def make_pronoun(maker: RowMaker, story: Story) -> Row | None:
    """Make a row that asks whom a pronoun means.

    The context is a story up to the sentence with the pronoun, followed by the question; the choices are three names.
    """
    candidates = [
        (index, mention)
        for index, sentence in enumerate(story.sentences)
        for mention in sentence.mentions
        if mention.kind == "pronoun" and mention.case != "own" and sentence.event.kind != "scene"
    ]
    if not candidates:
        return None
    index, mention = maker.rng.choice(candidates)
    sentence, person = story.sentences[index], mention.referent
    end = story.starts[index] + len(sentence.text)
    main_names = [story.world.hero.name, story.world.friend.name]
    people = choose_people(maker.language, story.world.seed, story.world.theme)
    names = [other.name for other in people if other.gender == person.gender and other.name not in main_names]
    choices = [*main_names, maker.rng.choice(names)]
    maker.rng.shuffle(choices)
    pronoun = sentence.text[mention.start : mention.end]
    question = maker.lexicon.questions["pronoun"].format(pronoun=pronoun)
    context = story.text[:end].replace("\n", " ")
    return {"context": f"{context} {question}", "choices": choices, "label": choices.index(person.name)}


# flag of `bertlab finetune custom` -> column, for the two multiple-choice tasks
_CHOICE_COLUMNS = {"text-column": "context", "choice-columns": "choices", "label-column": "label"}
# the labelled tasks by name
ROW_TASKS: dict[str, RowTask] = {
    "next-sentence": RowTask(
        "classification", {"text-column": "first", "pair-column": "second", "label-column": "label"}, make_next_sentence
    ),
    "questions": RowTask("span", {}, make_question, "story_qa"),
    "entities": RowTask("tagging", {"text-column": "tokens", "label-column": "tags"}, make_entities),
    "sentiment": RowTask("classification", {"text-column": "text", "label-column": "label"}, make_sentiment),
    "endings": RowTask("multiple_choice", _CHOICE_COLUMNS, make_ending),
    "pronouns": RowTask("multiple_choice", _CHOICE_COLUMNS, make_pronoun),
}
assert set(ROW_TASKS) == set(get_args(RowTaskName))


def _find_entity_type(mention: Mention, story: Story) -> str | None:
    if mention.kind == "name":
        return "PER"
    if isinstance(mention.referent, Thing):
        return "OBJ"
    if mention.role in ("p", "q"):
        return "LOC"
    return "DAY" if mention.role == "d" else None


def _make_cast(story: Story) -> dict[str, object]:
    """Return a participant from the story for every role that a wording may have -> {role: participant}."""
    world = story.world
    words = world.lexicon.words
    return {
        "a": world.hero, "b": world.friend, "c": world.expert, "x": world.thing, "p": world.place,
        "q": world.other_places[0], "g": world.product, "s": world.spots[3], "t": world.tasks[1], "n": 4, "k": 6,
        "j": 3, "d": world.day, "e": world.part_of_day, "f": world.evening, "w": world.weather, "rel": world.relation,
        "animal": words["animals"][0], "occasion": world.occasion, "m": words["good_moods"][0],
    }  # fmt: skip


@cache
def _answerable_wordings(language: str) -> dict[str, list[tuple[Wording, str]]]:
    """Parse the questions that a story answers -> {kind of event: [(question about it, role that is the answer)]}."""
    questions = load_lexicon(language).questions["answerable"]
    return {kind: [(parse_wording(text), role) for text, role in pairs] for kind, pairs in questions.items()}


@cache
def _unanswerable_wordings(language: str) -> dict[str, Wording]:
    """Parse the questions for stories without an event of this kind -> {kind of event: question about it}."""
    questions = load_lexicon(language).questions["unanswerable"]
    return {kind: parse_wording(text) for kind, text in questions.items()}

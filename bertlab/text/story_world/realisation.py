"""Turn events into sentences: choose a wording, and in it a name, pronoun or noun phrase for each person and thing.

A pronoun is used only if it has one possible referent: the person was mentioned in this sentence or the previous one,
and all other people who were mentioned there or take part in the event are known to have another gender.

Sentences of training and held-out worlds are disjoint by construction: the checksum of a sentence decides which of the
two may contain it, and other sentences for the event are tried at random until the checksum of one fits.
"""

import random
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from bertlab.text.story_world.lexicon import Lexicon, Word, load_lexicon
from bertlab.text.story_world.simulation import Event, Participant, Person, Thing
from bertlab.text.story_world.wordings import Slot, Wording, choose_particle, parse_wording

MAX_DRAWS = 24  # how many random sentences are tried for an event before the story is given up


@dataclass(frozen=True)
class Mention:
    """A part of a sentence that refers to something that takes part in the event."""

    start: int  # the position of the first character of the mention in the sentence
    end: int  # the position after the last character of the mention
    role: str  # the role of the referent in the event; "a.job" for the job of the role a
    referent: Participant  # the person or thing that is mentioned
    kind: str  # "name", "pronoun" or "omitted" for a person, otherwise "phrase" (also for a person without a name)
    case: str  # the case of the slot that the mention fills, such as "subj"


@dataclass(frozen=True)
class Sentence:
    """A sentence of a story."""

    text: str
    event: Event
    mentions: tuple[Mention, ...]  # the mentions of people and things, in order


class NoWordingForEvent(Exception):
    """Raised if none of the sentences tried for an event is allowed in this part of the data (training or held-out)."""


class Narrator:
    """Writes the sentences of one story."""

    def __init__(self, lexicon: Lexicon, rng: random.Random, held_out: bool, known: Iterable[Thing] = ()):
        self.lexicon, self.rng, self.held_out = lexicon, rng, held_out
        # how people and things are mentioned, the table `references` of `rules.toml`
        self._references = lexicon.rules["references"]
        # gender -> {case: pronoun}
        self._pronouns: dict[str, dict[str, str]] = lexicon.rules["pronouns"]
        # link of an event -> its connectives, and "share" -> how often a connective is used
        self._connectives: dict = lexicon.rules["connectives"]
        self._wordings = _parse_wordings(lexicon.language)
        self._recent_people: set[Person] = set()  # the people of the previous sentence
        self._subject: Person | None = None  # the subject of the previous sentence, see `_find_subject`
        self._known_things: set[Thing] = set(known)  # the things that the reader of the story knows

    def start_paragraph(self) -> None:
        """Begin a paragraph, in which people are named before pronouns refer to them."""
        self._recent_people, self._subject = set(), None

    def write_sentence(self, event: Event) -> Sentence:
        """Write the sentence of an event."""
        wordings = self._wordings[event.kind]
        for _ in range(MAX_DRAWS):
            sentence = self._draw_sentence(event, self.rng.choice(wordings))
            if is_held_out(sentence.text) == self.held_out:
                self._recent_people = {m.referent for m in sentence.mentions if isinstance(m.referent, Person)}
                self._subject = _find_subject(sentence)
                self._known_things |= {m.referent for m in sentence.mentions if isinstance(m.referent, Thing)}
                return sentence
        raise NoWordingForEvent(event.kind)

    def write_question(self, event: Event, wording: Wording) -> str:
        """Write a question about an event, with names instead of pronouns."""
        self.start_paragraph()
        self._known_things |= {each for each in event.roles.values() if isinstance(each, Thing)}
        return self._draw_sentence(event, wording).text

    def _draw_sentence(self, event: Event, wording: Wording) -> Sentence:
        rng = self.rng
        text = ""
        if wording.takes_connective and event.link and rng.random() < self._connectives["share"]:
            text = rng.choice(self._connectives[event.link]) + " "
        cast = {event.roles[slot.role] for slot in wording.slots}
        cast = {person for person in cast if isinstance(person, Person)}
        already_mentioned: list[Person] = []
        mentions: list[Mention] = []
        skips_space = False
        for part in wording.parts:
            if isinstance(part, str):
                text += part.removeprefix(" ") if skips_space else part
                skips_space = False
                continue
            referent = event.roles[part.role]
            phrase, kind = self._refer(part, referent, cast, already_mentioned, is_first_mention=not mentions)
            if kind == "omitted":
                skips_space = True
                already_mentioned.append(referent)
                mentions.append(Mention(len(text), len(text), part.role, referent, kind, part.case))
                continue
            # The possessive suffix of a name is not part of the mention.
            length = len(referent.name) if kind == "name" else len(phrase)
            role = f"{part.role}.job" if part.case == "job" else part.role
            mentions.append(Mention(len(text), len(text) + length, role, referent, kind, part.case))
            text += phrase
            if part.particles:
                text += choose_particle(phrase, part.particles)
            if isinstance(referent, Person) and part.case != "job":
                already_mentioned.append(referent)
        first = next((i for i, letter in enumerate(text) if letter.isalpha()), 0)
        return Sentence(text[:first] + text[first].upper() + text[first + 1 :], event, tuple(mentions))

    def _refer(
        self,
        slot: Slot,
        referent: Participant,
        cast: set[Person],
        already_mentioned: list[Person],
        is_first_mention: bool,
    ) -> tuple[str, str]:
        """Return the text for a slot and the kind of the mention; `cast`: the people of the wording."""
        if isinstance(referent, Person):
            if slot.case == "job":
                return self._inflect(referent.job, slot.form), "phrase"
            return self._refer_to_person(slot, referent, cast, already_mentioned, is_first_mention)
        if isinstance(referent, Thing):
            return self._refer_to_thing(slot, referent), "phrase"
        if isinstance(referent, int):
            referent = self.lexicon.words["numbers"][referent]
        return self._inflect(referent, slot.form), "phrase"

    def _refer_to_person(
        self, slot: Slot, person: Person, cast: set[Person], already_mentioned: list[Person], is_first_mention: bool
    ) -> tuple[str, str]:
        pronouns, references = self._pronouns.get(person.gender, {}), self._references
        if slot.case == "own":
            return pronouns["own"], "pronoun"
        if self._is_clear(person, cast, already_mentioned) and slot.case != "name":
            draw = self.rng.random()
            if is_first_mention and person is self._subject and slot.case == "subj" and draw < references["omit"]:
                return "", "omitted"
            # A second mention in one sentence is always a pronoun, where the language has one.
            if slot.case in pronouns and (
                draw < references["omit"] + references["pronoun"] or person in already_mentioned
            ):
                return pronouns[slot.case], "pronoun"
        name, kind = person.name, "name"
        if not name:
            name, kind = references["job"].format(noun=person.job.base), "phrase"
        return (self._substitute(name, references["possessive"]) if slot.case == "poss" else name), kind

    def _is_clear(self, person: Person, cast: set[Person], already_mentioned: list[Person]) -> bool:
        """Whether a pronoun for a person has one possible referent."""
        if not person.name or not (person in already_mentioned or person in self._recent_people):
            return False
        others = cast | set(already_mentioned)
        if person not in already_mentioned:
            others |= self._recent_people
        return all(other is person or (other.gender and other.gender != person.gender) for other in others)

    def _refer_to_thing(self, slot: Slot, thing: Thing) -> str:
        """Return a noun phrase for a thing, which depends on whether the reader knows it already."""
        if slot.form == "noun":
            return thing.noun.base
        references, is_known = self._references, thing in self._known_things
        if slot.form == "bare":
            pattern = self.rng.choice(references["bare_known"]) if is_known else references["new"]
            return pattern.format(adjective=thing.adjective.base, noun=thing.noun.base)
        if is_known:
            pattern = self.rng.choice(references["known"])
            return pattern.format(adjective=thing.adjective.base, noun=thing.noun.base)
        phrase = references["new"].format(adjective=thing.adjective.base, noun=thing.noun.base)
        return self.lexicon.inflect_text(phrase, references["new_form"]) if references["new_form"] else phrase

    def _inflect(self, word: Word, form: str) -> str:
        return self.lexicon.inflect(word, form) if form else word.base

    @staticmethod
    def _substitute(text: str, rules: list[list[str]]) -> str:
        """Apply the first of the rules (pattern, replacement) whose pattern is found."""
        for pattern, replacement in rules:
            if re.search(pattern, text):
                return re.sub(pattern, replacement, text, count=1)
        return text


def is_held_out(sentence: str) -> bool:
    """Whether only held-out worlds may contain a sentence: those with odd checksums, half of all sentences."""
    return bool(zlib.crc32(sentence.encode()) & 1)


def _find_subject(sentence: Sentence) -> Person | None:
    """Return the person who may stay unmentioned as the subject of the next sentence, or None.

    It is the person with whom the sentence begins, unless the sentence has another subject.
    """
    subjects = [mention for mention in sentence.mentions if mention.case == "subj"]
    first = subjects[0].referent if subjects else None
    is_only_subject = all(not isinstance(m.referent, Person) or m.referent is first for m in subjects)
    begins_sentence = isinstance(first, Person) and first.name and sentence.mentions[0] is subjects[0]
    return first if begins_sentence and is_only_subject else None


@cache
def _parse_wordings(language: str) -> dict[str, list[Wording]]:
    return {kind: [parse_wording(text) for text in texts] for kind, texts in load_lexicon(language).wordings.items()}

"""The vocabulary and grammar of the story world in one language, read from `locales/CODE/story_world`.

The code is the same for all languages. Everything that depends on the language is data: `general.toml` (words that all
themes share), `themes.toml` (the words of each theme, such as a bakery), `events.toml` (wordings of events),
`questions.toml` (questions about events, and the roles that answer them) and `rules.toml` (forms of words, pronouns,
noun phrases, connectives).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from bertlab.config.errors import DataError
from bertlab.config.languages import languages, read_data

FOLDER = "story_world"  # the folder of the files, in the folder of each language
# the lists of words that every theme has
THEME_FIELDS = ("places", "people", "things", "goods", "spots", "tasks", "scenes")


@dataclass(frozen=True)
class Word:
    """A word or phrase of the vocabulary, with its irregular forms."""

    base: str  # the word as it is listed in a dictionary
    forms: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Name of a form -> the form; only those that the rules of the language do not give correctly."""


@dataclass(frozen=True, eq=False)  # compared by identity, because hashing all its words would be slow
class Theme:
    """The words of one theme, such as a bakery. A story has one theme, so that its sentences belong together."""

    name: str  # the key of the theme in `themes.toml`
    places: tuple[Word, ...]  # places; the first one is where the people of the theme work
    people: tuple[Word, ...]  # the jobs that people of the theme may have
    things: tuple[Word, ...]  # single objects that a person owns, loses, breaks and borrows
    goods: tuple[Word, ...]  # countable objects that people buy, sell and share
    spots: tuple[Word, ...]  # where a lost object may lie ("behind the oven")
    tasks: tuple[Word, ...]  # what people do ("knead the dough")
    scenes: tuple[Word, ...]
    """Clauses, without capital and full stop, that say what the place looks, sounds or smells like."""


class Lexicon:
    """The words, wordings and rules of a language."""

    def __init__(self, language: str):
        if language not in story_languages():
            raise DataError("story-language-unknown", language=language, languages=list(story_languages()))
        self.language = language
        general, rules = (read_data(f"{FOLDER}/{name}", language) for name in ("general", "rules"))
        self.rules: dict = rules
        # form -> {base form of a word: this form of it}
        self._irregular_forms: dict[str, dict[str, str]] = rules.get("irregular", {})
        # gender -> first names
        self.names = {gender: _split(text) for gender, text in general["names"].items()}
        # gender of the friend -> what the friend can be to the hero, such as "neighbour"
        self.relations = {gender: self._read_words(text) for gender, text in general["relations"].items()}
        # kind of words, such as "drinks" -> the words
        self.words = {kind: self._read_words(text) for kind, text in general["words"].items()}
        self.themes = [
            Theme(name, *(self._read_words(lists[field]) for field in THEME_FIELDS))
            for name, lists in read_data(f"{FOLDER}/themes", language).items()
        ]
        # kind of event -> its wordings as texts, which `wordings.parse_wording` parses
        self.wordings: dict[str, list[str]] = read_data(f"{FOLDER}/events", language)
        self.questions: dict = read_data(f"{FOLDER}/questions", language)
        # form -> (pattern, replacement) of each rule, in order
        self._patterns = {
            form: [(re.compile(pattern), replacement) for pattern, replacement in pairs]
            for form, pairs in rules["forms"].items()
        }
        # (text, form) -> this form of the text
        self._cached_forms: dict[tuple[str, str], str] = {}

    def _read_words(self, text: str) -> tuple[Word, ...]:
        """Read a list of words; "word:a=form,b=form" states forms of a word."""
        words = []
        for entry in _split(text):
            base, _, forms = entry.partition(":")
            words.append(Word(base, dict(form.split("=") for form in forms.split(",") if form)))
        return tuple(words)

    def inflect(self, word: Word, form: str) -> str:
        """Return a form of a word, such as its plural or past tense."""
        if form in word.forms:
            return word.forms[form]
        return self.inflect_text(word.base, form)

    def inflect_text(self, text: str, form: str) -> str:
        """Return a form of a word or phrase by the rules of the language; phrases need not be in the vocabulary."""
        key = (text, form)
        if key not in self._cached_forms:
            self._cached_forms[key] = self._make_form(text, form)
        return self._cached_forms[key]

    def _make_form(self, text: str, form: str) -> str:
        """Make a form from the list of irregular words or, if the word is not in it, by the first rule that matches."""
        if irregular_forms := self._irregular_forms.get(form):
            first_word, _, later_words = text.partition(" ")
            if text in irregular_forms:
                return irregular_forms[text]
            if first_word in irregular_forms and form in self.rules.get("first_word", ()):
                return f"{irregular_forms[first_word]} {later_words}".strip()
            earlier_words, _, last_word = text.rpartition(" ")
            if last_word in irregular_forms and form not in self.rules.get("first_word", ()):
                return f"{earlier_words} {irregular_forms[last_word]}".strip()
        for pattern, replacement in self._patterns[form]:
            if pattern.search(text):
                return pattern.sub(replacement, text, count=1)
        return text


@cache
def load_lexicon(language: str) -> Lexicon:
    """Return the lexicon of a language; its files are read only once."""
    return Lexicon(language)


def story_languages() -> tuple[str, ...]:
    """Return the codes of the languages that have a story world.

    >>> story_languages()[:2]
    ('en', 'ko')
    """
    return tuple(code for code, language in languages().items() if (language.directory / FOLDER).is_dir())


def _split(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(";") if entry.strip()]

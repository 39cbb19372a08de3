"""Interface languages: each is one directory in `bertlab/locales`, named by its code; only English is named in code.

It contains `language.toml` (the fields of `Language`) and Fluent files (`*.ftl`, in any subdirectory): `errors/`,
`app/` (pages), `figures/` that Python makes, `views/` that the browser draws. It may also contain data:

- `examples.toml`, `samples.toml`: the texts that each page opens with, and sample rows of the evaluation page
- `story_world/`: words, wordings and grammar of generated stories (see `text.story_world.lexicon`)
- `example_rows.toml`: templates from which rows for an evaluation are generated
- `documents.toml`, `next_sentence_test_pairs.toml`: for the pages *Pre-training by hand* and *Next sentence*
- `clozes.toml`: sentences with a [MASK], and the words that fit
- `everyday.toml`: more of them, for `bertlab evaluate everyday`
- `classroom/`: the lessons of the classroom mode, see `bertlab.classroom.lesson`
- `question_words.toml`, `word_endings.toml`: for the error analysis, and for the names of clusters

To add a language, add a directory here, or in a directory whose path is in the environment variable `BERTLAB_LOCALES`.
Without `language.toml`, a directory adds texts to an existing language. Missing texts are shown in English.
"""

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

DEFAULT = "en"  # texts that another language lacks are shown in this one
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
MAX_PARAMETER_LENGTH = 1000  # in characters; Fluent replaces a text of more than 2,500 characters by "{???}"
MAX_NUMBER = 10**18  # larger integers are passed to Fluent as text
LOCALES = Path(__file__).parent.parent / "locales"


@dataclass(frozen=True)
class Language:
    """An interface language, with the content of its `language.toml`."""

    code: str  # the name of the directory, an ISO 639 code ("en")
    name: str  # the name of the language in the language itself ("English")
    script: str
    """A regular expression that matches the letters of a writing system that only this language uses; "" if there is
    none."""
    directory: Path
    answer_normaliser: str = ""
    """How answers in this language are normalised before they are compared: a key of `tasks.span.metrics.NORMALISERS`.
    "" if no published evaluation program covers the language; answers are then not scored."""
    surprise_threshold: float = 10.0
    """The default threshold of surprise, in nats: a word with more surprise is marked as one that does not fit. The
    threshold is larger for languages whose words have more tokens."""
    checkpoints: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    """Task type -> names of the shipped checkpoints that suit it, best first; the key "pretrained" is for all other
    types, and "comparison" is for two checkpoints, one before and one after fine-tuning."""
    example_tasks: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Task type -> the task that the app suggests for fine-tuning if no checkpoint of that type is shipped."""

    def uses_script(self, text: str) -> bool:
        """Whether a text contains a letter of this language's writing system.

        >>> languages()["ko"].uses_script("BERT는"), languages()["ko"].uses_script("BERT")
        (True, False)
        """
        return bool(self.script) and re.search(self.script, text) is not None


class Message:
    """A message that is stored as an id with parameters, and rendered when the language of the reader is known.

    >>> str(Message("text-empty"))
    'the text is empty: type some words'
    """

    def __init__(self, id: str, /, **params: object):
        self.id, self.params = id, params

    def render(self, language: str = DEFAULT) -> str:
        return render(self.id, language, **self.params)

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return f"Message({', '.join([repr(self.id), *(f'{name}={value!r}' for name, value in self.params.items())])})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and (self.id, self.params) == (other.id, other.params)

    def __hash__(self) -> int:
        return hash(self.id)


@cache
def languages() -> Mapping[str, Language]:
    """Return all languages, keyed by code: English first, then the others in alphabetical order of their codes.

    >>> list(languages())[:2], languages()["ko"].name
    (['en', 'ko'], '한국어')
    """
    directories = [directory for root in _find_locale_roots() for directory in root.iterdir()]
    directories = [directory for directory in directories if (directory / "language.toml").is_file()]
    by_code = {}
    for directory in sorted(directories, key=lambda path: (path.name != DEFAULT, path.name)):
        fields = tomllib.loads((directory / "language.toml").read_text(encoding="utf-8"))
        checkpoints = {task_type: tuple(names) for task_type, names in fields.get("checkpoints", {}).items()}
        by_code[directory.name] = Language(
            directory.name, fields["name"], fields.get("script", ""), directory, fields.get("answer_normaliser", ""),
            fields.get("surprise_threshold", Language.surprise_threshold), checkpoints, fields.get("example_tasks", {}),
        )  # fmt: skip
    return by_code


def has_latin_letters(text: str) -> bool:
    """Whether a text contains a Latin letter, with or without an accent.

    >>> has_latin_letters("BERT는"), has_latin_letters("漢字 3")
    (True, False)
    """
    return _LATIN.search(text) is not None


def detect_language(texts: Iterable[str]) -> str:
    """Return the code of the first language whose letters occur in at least a third of the texts, otherwise "en".

    >>> detect_language(["the", "고양이", "##s"]), detect_language(["the", "cat"])
    ('ko', 'en')
    """
    texts = list(texts)
    for code, language in languages().items():
        count = sum(language.uses_script(text) for text in texts)
        if count and 3 * count >= len(texts):
            return code
    return DEFAULT


def rank_shipped_checkpoints(task_type: str, language: str = DEFAULT) -> tuple[str, ...]:
    """Return the names of the shipped checkpoints for a task type: those of a language, then English ones, best first.

    >>> rank_shipped_checkpoints("span", "ko"), rank_shipped_checkpoints("masked_lm")
    (('korquad', 'squad'), ('strongest', 'scratch'))
    """
    languages_by_code = languages()
    english = languages_by_code[DEFAULT].checkpoints
    key = task_type if task_type in english else "pretrained"
    names = languages_by_code[language].checkpoints.get(key, ()) if language in languages_by_code else ()
    return tuple(dict.fromkeys((*names, *english[key])))


def find_example_task(task_type: str, language: str = DEFAULT) -> str | None:
    """Find a fine-tuning task of a type in a language or, if there is none, in English; None if there is neither.

    >>> find_example_task("tagging", "ko"), find_example_task("multiple_choice", "ko"), find_example_task("masked_lm")
    ('klue_ner', 'swag', None)
    """
    languages_by_code = languages()
    english = languages_by_code[DEFAULT].example_tasks.get(task_type)
    entry = languages_by_code.get(language)
    return entry.example_tasks.get(task_type, english) if entry else english


def render(id: str, language: str = DEFAULT, /, **params: object) -> str:
    """Return a message in a language, or in English if that language lacks it.

    >>> render("text-too-long", "en", tokens=70, limit=64)
    'the text has 70 tokens, but the model reads at most 64: shorten the text'
    """
    bundles = [_load_bundle(code) for code in (language, DEFAULT)]
    bundle = next((bundle for bundle in bundles if bundle and bundle.has_message(id)), None)
    if bundle is None:
        raise LookupError(f"no catalogue has a message {id!r}")
    arguments = {name: _convert_parameter(value, language) for name, value in params.items()}
    text, _ = bundle.format_pattern(bundle.get_message(id).value, arguments)
    return text


def render_all(language: str, /, *ids: str) -> tuple[str, ...]:
    """Return several messages without parameters in one language.

    >>> render_all("ko", "figure-start", "figure-end")
    ('시작', '끝')
    """
    return tuple(render(id, language) for id in ids)


def read_data(name: str, language: str) -> dict:
    """Read a TOML file of a language, or the English file if the language lacks it.

    >>> list(read_data("question_words", "en"))[:2]
    ['how many', 'why']
    """
    languages_by_code = languages()
    path = languages_by_code[language if language in languages_by_code else DEFAULT].directory / f"{name}.toml"
    if not path.is_file():
        path = languages_by_code[DEFAULT].directory / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def list_message_ids(language: str = DEFAULT) -> frozenset[str]:
    """Return the ids of all messages of a language."""
    return frozenset(_load_bundle(language)._messages)


def find_message_files(language: str) -> list[Path]:
    """Return the Fluent files of a language: those of its directory, then those of directories that add texts to it."""
    main_directory = languages()[language].directory
    other_directories = [root / language for root in _find_locale_roots() if root / language != main_directory]
    return [path for directory in (main_directory, *other_directories) for path in sorted(directory.rglob("*.ftl"))]


def _find_locale_roots() -> list[Path]:
    """Return the directories in which each subdirectory is a language: `LOCALES` and those of `BERTLAB_LOCALES`."""
    extra_roots = [Path(path) for path in os.environ.get("BERTLAB_LOCALES", "").split(os.pathsep) if path]
    return [LOCALES, *(path for path in extra_roots if path.is_dir())]


@cache
def _load_bundle(code: str):
    from fluent.runtime import FluentBundle, FluentResource  # imported here: `import bertlab` is 0.05 s faster

    if code not in languages():
        return None
    # With `use_isolating`, Fluent puts invisible marks around parameters; a user who copies a path would copy them too.
    bundle = FluentBundle([code], functions={"FORMAT": _format_number}, use_isolating=False)  # type: ignore[dict-item]
    for path in find_message_files(code):
        bundle.add_resource(FluentResource(path.read_text(encoding="utf-8")))
    return bundle


def _format_number(value: object, spec: str = "") -> str:
    """Format a number for `FORMAT($value, spec: ".1f")` in a catalogue: as Python does, but with the minus sign U+2212.

    >>> _format_number("-0.25", ".1f"), _format_number(1200, ",")
    ('−0.2', '1,200')
    """
    text = str(value)
    number = int(text) if text.lstrip("-").isdigit() else float(text)
    return format(number, str(spec)).replace("-", "−")


def _convert_parameter(value: object, language: str) -> object:
    """Convert a parameter to a type that Fluent accepts: text, or an integer, which may select a plural form."""
    from fluent.runtime.types import fluent_number

    if hasattr(value, "render"):
        return value.render(language)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < MAX_NUMBER:
        return fluent_number(value, useGrouping=False)
    if isinstance(value, list | tuple):
        value = ", ".join(str(_convert_parameter(part, language)) for part in value)
    text = str(value)
    return text if len(text) <= MAX_PARAMETER_LENGTH else f"{text[:MAX_PARAMETER_LENGTH]}…"

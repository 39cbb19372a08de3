"""Interface languages: one folder of `bertlab/locales` each. No other module depends on a particular language.

A folder is named by its code (`en`, `ko`) and holds `language.toml` (the fields of `Language`) and Fluent files
(`*.ftl`, in any subfolder): `errors/` for every error a user can meet, `app/` for the interface. It may hold data too:
`examples.toml` (the texts each page opens with), `samples.toml` (rows to try the evaluation with), `clozes.toml`
(sentences with a [MASK]) and `question_words.toml`. Adding a language is adding a folder, here or in a directory that
the environment variable `BERTLAB_LOCALES` names; what it lacks appears in English. A folder of such a directory without
`language.toml` adds texts to a language that exists.

Fluent: https://projectfluent.org/fluent/guide/
"""

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

DEFAULT = "en"
MAX_PARAMETER = 1000  # characters of a value in a message; Fluent replaces a longer text than 2,500 by "{???}"
MAX_NUMBER = 10**18  # larger whole numbers are put in as text
LOCALES = Path(__file__).parent.parent / "locales"


@dataclass(frozen=True)
class Language:
    """An interface language, as its folder describes it."""

    code: str
    """The folder's name, a code of ISO 639 ("en")."""
    name: str
    """What its speakers call it ("English")."""
    script: str
    """A regular expression that matches a letter only texts of this language have; "" where there is none."""
    directory: Path
    """Where its files are."""
    answer_script: str = ""
    """How predicted answers in this language are compared with the correct ones, a key of
    `tasks.span.metrics.NORMALISED`; "" where no published script covers the language, so answers are not scored."""
    checkpoints: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    """Task type -> names of the shipped checkpoints that suit it, best first; "pretrained" for other predictions."""
    example_tasks: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Task type -> the task that the app proposes for fine-tuning where no checkpoint of that type is shipped."""

    def uses_script(self, text: str) -> bool:
        """Whether a text has a letter of this language's own script.

        >>> languages()["ko"].uses_script("BERT는"), languages()["ko"].uses_script("BERT")
        (True, False)
        """
        return bool(self.script) and re.search(self.script, text) is not None


class Message:
    """A text by id and parameters, to be worded when the reader's language is known.

    Args:
        id: the id of a message in the catalogues.
        params: its parameters. Another `Message` or a `BertlabError` is worded in the same language.

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
    """Every language by its code: English first, the others in alphabetical order.

    >>> list(languages())[:2], languages()["ko"].name
    (['en', 'ko'], '한국어')
    """
    folders = [folder for root in _roots() for folder in root.iterdir() if (folder / "language.toml").is_file()]
    found = {}
    for folder in sorted(folders, key=lambda folder: (folder.name != DEFAULT, folder.name)):
        about = tomllib.loads((folder / "language.toml").read_text(encoding="utf-8"))
        checkpoints = {task_type: tuple(names) for task_type, names in about.get("checkpoints", {}).items()}
        found[folder.name] = Language(
            folder.name, about["name"], about.get("script", ""), folder, about.get("answer_script", ""), checkpoints,
            about.get("example_tasks", {}),
        )  # fmt: skip
    return found


def language_of(texts: Iterable[str]) -> str:
    """The language of texts, or of tokens: one whose own script a third of them use, else English.

    >>> language_of(["the", "고양이", "##s"]), language_of(["the", "cat"])
    ('ko', 'en')
    """
    texts = list(texts)
    for code, language in languages().items():
        used = sum(language.uses_script(text) for text in texts)
        if used and 3 * used >= len(texts):
            return code
    return DEFAULT


def shipped_checkpoints(task_type: str, language: str = DEFAULT) -> tuple[str, ...]:
    """The names of the shipped checkpoints for a task type, best first: those of a language, then the English ones.

    Args:
        task_type: a name of `tasks.registry.TASK_TYPES`; of one without checkpoints, the pre-trained ones are named.
        language: the language of the texts; a code that is unknown has no checkpoints of its own.

    >>> shipped_checkpoints("span", "ko"), shipped_checkpoints("masked_lm")
    (('korquad', 'squad'), ('strongest', 'scratch'))
    """
    known = languages()
    english = known[DEFAULT].checkpoints
    key = task_type if task_type in english else "pretrained"
    own = known[language].checkpoints.get(key, ()) if language in known else ()
    return tuple(dict.fromkeys((*own, *english[key])))


def example_task(task_type: str, language: str = DEFAULT) -> str | None:
    """A task of a type to fine-tune on: one of a language, else the English one; None where the type has none.

    >>> example_task("tagging", "ko"), example_task("multiple_choice", "ko"), example_task("masked_lm")
    ('klue_ner', 'swag', None)
    """
    known = languages()
    english = known[DEFAULT].example_tasks.get(task_type)
    return known[language].example_tasks.get(task_type, english) if language in known else english


def render(id: str, language: str = DEFAULT, /, **params: object) -> str:
    """A message in a language; in English where that language lacks it.

    Args:
        id: its id in the catalogues.
        language: a code of `languages()`.
        params: what the message puts in. Lists are joined by commas.

    Raises:
        LookupError: no catalogue has this id.

    >>> render("text-too-long", "en", tokens=70, limit=64)
    'the text has 70 tokens, the model reads at most 64: shorten it'
    """
    bundle = next((b for code in (language, DEFAULT) if (b := _bundle(code)) and b.has_message(id)), None)
    if bundle is None:
        raise LookupError(f"no catalogue has a message {id!r}")
    arguments = {name: _argument(value, language) for name, value in params.items()}
    text, _ = bundle.format_pattern(bundle.get_message(id).value, arguments)
    return text


def read_data(name: str, language: str) -> dict:
    """Read a TOML file of a language's folder, or the English one where the language lacks it.

    Args:
        name: its name without the suffix ("examples").
        language: a code; English stands in for an unknown one.

    >>> list(read_data("question_words", "en"))[:2]
    ['how many', 'why']
    """
    known = languages()
    path = known[language if language in known else DEFAULT].directory / f"{name}.toml"
    if not path.is_file():
        path = known[DEFAULT].directory / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def message_ids(language: str = DEFAULT) -> frozenset[str]:
    """The ids of every message that a language has."""
    return frozenset(_bundle(language)._messages)


def sources(language: str) -> list[Path]:
    """The Fluent files of a language: those of its own folder, then those that other directories add to it."""
    own = languages()[language].directory
    folders = [own, *(root / language for root in _roots() if root / language != own)]
    return [path for folder in folders for path in sorted(folder.rglob("*.ftl"))]


def _roots() -> list[Path]:
    more = [Path(path) for path in os.environ.get("BERTLAB_LOCALES", "").split(os.pathsep) if path]
    return [LOCALES, *(path for path in more if path.is_dir())]


@cache
def _bundle(code: str):
    from fluent.runtime import FluentBundle, FluentResource  # a twentieth of a second that `import bertlab` saves

    if code not in languages():
        return None
    # without marks around what is put in: they would come along when somebody copies a path out of an error
    bundle = FluentBundle([code], functions={"FORMAT": _format}, use_isolating=False)
    for path in sources(code):
        bundle.add_resource(FluentResource(path.read_text(encoding="utf-8")))
    return bundle


def _format(value: object, spec: str = "") -> str:
    """`FORMAT($value, spec: ".1f")` in a catalogue: Python's number format, with a minus as wide as a plus.

    >>> _format("-0.25", ".1f"), _format(1200, ",")
    ('−0.2', '1,200')
    """
    text = str(value)
    number = int(text) if text.lstrip("-").isdigit() else float(text)
    return format(number, str(spec)).replace("-", "−")


def _argument(value: object, language: str) -> object:
    """A parameter as Fluent takes it: text, or a whole number (which may choose a plural)."""
    from fluent.runtime.types import fluent_number

    if hasattr(value, "render"):
        return value.render(language)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < MAX_NUMBER:
        return fluent_number(value, useGrouping=False)
    if isinstance(value, list | tuple):
        value = ", ".join(str(_argument(part, language)) for part in value)
    text = str(value)
    return text if len(text) <= MAX_PARAMETER else f"{text[:MAX_PARAMETER]}…"

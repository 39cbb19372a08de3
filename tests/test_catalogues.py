"""The catalogues: every message exists in every language with the same parameters, and is used with its parameters."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from fluent.syntax import FluentParser
from fluent.syntax import ast as ftl
from fluent.syntax.visitor import Visitor

from bertlab.config import errors, languages

PACKAGE = Path(languages.__file__).parents[1]
ERRORS = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, ValueError)}
CODES = list(languages.languages())


class Variables(Visitor):
    """Collects the names of the variables of a message."""

    def __init__(self):
        self.names: set[str] = set()

    def visit_VariableReference(self, node):
        self.names.add(node.id.name)


@cache
def messages(code: str) -> dict[str, set[str]]:
    """The ids of a language's messages, each with the names of its parameters.

    Fails on a repeated id and on text that Fluent cannot parse.
    """
    found: dict[str, set[str]] = {}
    for path in languages.find_message_files(code):
        for entry in FluentParser().parse(path.read_text(encoding="utf-8")).body:
            assert not isinstance(entry, ftl.Junk), f"{path}: {entry.content[:80]!r}"
            if isinstance(entry, ftl.Message):
                assert entry.id.name not in found, f"{path}: {entry.id.name} is defined twice"
                variables = Variables()
                variables.visit(entry)
                found[entry.id.name] = variables.names
    return found


@cache
def trees() -> dict[str, ast.Module]:
    folders = (PACKAGE, PACKAGE.parent / "app", PACKAGE.parent / "benchmarks")
    paths = sorted(path for folder in folders for path in folder.rglob("*.py"))
    return {str(path.relative_to(PACKAGE.parent)): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def callee(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def uses() -> list[tuple[str, str, set[str] | None]]:
    """Every use of a message in the package: its place, the id, and the parameters passed (None for `**`)."""
    found = []
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and callee(node) in {*ERRORS, "Message"} and node.args:
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    names = {keyword.arg for keyword in node.keywords}
                    found.append((f"{path}:{node.lineno}", first.value, None if None in names else names))
    return found


@pytest.mark.parametrize("code", CODES[1:])
def test_the_messages_of_every_language_have_the_same_parameters(code):
    """A language may lack messages, which appear in English then; the shipped ones lack none."""
    english, other = messages(CODES[0]), messages(code)
    assert not {id: names for id, names in other.items() if english.get(id) != names}
    assert code not in ("ko",) or other.keys() == english.keys(), english.keys() - other.keys()


def test_every_error_is_in_the_catalogues_and_gets_its_parameters():
    for place, id, names in uses():
        assert id in messages(CODES[0]), f"{place}: no message {id}"
        if names is not None:
            assert messages(CODES[0])[id] <= names, f"{place}: {id} lacks {messages(CODES[0])[id] - names}"


def test_no_entry_is_unused():
    """An id is used where it is written out, or where an f-string can make it."""
    nodes = [node for tree in trees().values() for node in ast.walk(tree)]
    written = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    patterns = {pattern(node) for node in nodes if isinstance(node, ast.JoinedStr)}
    patterns = {text for text in patterns if re.search(r"[a-z]-|-[a-z]", text)}
    # texts of the canvas views and of the page that runs a model: `text.zoomIn`, `text[view]`
    for prefix, folder in (("canvas-", ""), ("live-", "live")):
        for source in (PACKAGE / "views" / "static" / folder).glob("*.js"):
            names = re.findall(r"[.\"](\w+)", source.read_text(encoding="utf-8"))
            written |= {prefix + re.sub(r"[A-Z]", lambda letter: f"-{letter[0].lower()}", name) for name in names}
    unused = [id for id in messages(CODES[0]) if id not in written and not any(re.fullmatch(p, id) for p in patterns)]
    assert not unused


def pattern(node: ast.JoinedStr) -> str:
    """An f-string as a regular expression: `f"view-{name}"` -> `view-.+`."""
    return "".join(re.escape(part.value) if isinstance(part, ast.Constant) else ".+" for part in node.values).replace(
        r"\-", "-"
    )


def test_an_error_is_worded_in_each_language():
    inner = errors.TextError("text-too-long", tokens=70, limit=64)
    assert (inner.id, inner.params) == ("text-too-long", {"tokens": 70, "limit": 64})
    assert "70" in inner.render("en")
    assert "70" in inner.render("ko")
    assert inner.render("ko") != inner.render("en") == str(inner)


def test_long_values_are_cut_in_messages():
    """Fluent would replace the whole message by `{???}`."""
    row = errors.DataError("label-unknown", label="7" * 4000, known="a, b")
    text = str(
        errors.DataError("invalid-row-stops", error=errors.DataError("invalid-row", source="a", row=3, reason=row))
    )
    assert len(text) < 2500
    assert "777…" in text
    assert "--invalid skip" in text
    assert "9" * 30 in str(errors.DataError("invalid-row", source="a", row=int("9" * 30), reason="x")).replace(",", "")


def test_an_error_can_be_pickled():
    import pickle

    error = pickle.loads(pickle.dumps(errors.TextError("text-too-long", tokens=70, limit=64)))
    assert (type(error), error.id, error.params) == (errors.TextError, "text-too-long", {"tokens": 70, "limit": 64})


@pytest.mark.parametrize("code", CODES)
def test_a_language_names_known_task_types_tasks_and_scripts(code):
    from bertlab.config.tasks import TASKS
    from bertlab.tasks.registry import TASK_TYPES
    from bertlab.tasks.span.metrics import NORMALISERS

    language = languages.languages()[code]
    assert language.answer_normaliser in NORMALISERS
    assert language.checkpoints.keys() <= {"pretrained", "comparison", *TASK_TYPES}
    for task_type, task in language.example_tasks.items():
        assert TASKS[task].kind == task_type


def test_a_folder_adds_a_language(tmp_path, monkeypatch):
    """A folder outside the package becomes a language; messages that it lacks appear in English."""
    folder = tmp_path / "xx"
    folder.mkdir()
    (folder / "language.toml").write_text('name = "Pseudo"\nscript = "[ŧđ]"\n', encoding="utf-8")
    (folder / "all.ftl").write_text("text-too-long = ŧoo long: { $tokens } > { $limit }\n", encoding="utf-8")
    monkeypatch.setenv("BERTLAB_LOCALES", str(tmp_path))
    for cached in (languages.languages, languages._load_bundle):
        cached.cache_clear()
    try:
        assert languages.languages()["xx"].name == "Pseudo"
        error = errors.TextError("text-too-long", tokens=70, limit=64)
        assert error.render("xx") == "ŧoo long: 70 > 64"
        assert errors.TextError("text-empty").render("xx") == errors.TextError("text-empty").render("en")
        assert languages.detect_language(["ŧext"]) == "xx"
        assert languages.rank_shipped_checkpoints("span", "xx") == languages.rank_shipped_checkpoints("span")
        assert languages.find_example_task("span", "xx") == languages.find_example_task("span")
    finally:
        monkeypatch.undo()
        for cached in (languages.languages, languages._load_bundle):
            cached.cache_clear()

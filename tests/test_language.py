"""Two languages: every word the window shows comes from one table, in both; and no number stands there unexplained."""

import ast
import inspect
import re
from functools import cache
from pathlib import Path

import pytest
from test_app import SCREENS, bodies, opened

from app.i18n import LANGUAGES
from app.i18n.strings import STRINGS
from app.i18n.strings.numbers import NUMBERS
from bertlab.views import figures, passage, xray

APP = Path(__file__).parent.parent / "app"
SOURCES = [path for path in sorted(APP.rglob("*.py")) if "strings" not in path.parts]
# methods of `st`, of its places and of our components that put their first argument on screen
SHOWING = {
    "title", "header", "subheader", "markdown", "write", "caption", "text", "code", "info", "warning", "error",
    "success", "button", "download_button", "link_button", "form_submit_button", "checkbox", "toggle", "radio",
    "selectbox", "multiselect", "slider", "select_slider", "text_input", "text_area", "number_input", "file_uploader",
    "popover", "expander", "tabs", "metric", "toast", "spinner", "status", "progress", "html", "segmented_control",
    "pills", "note", "number", "badge", "dialog", "TextColumn", "NumberColumn", "ProgressColumn", "LinkColumn",
    "exception", "data_editor", "color_picker", "date_input", "camera_input", "audio_input", "chat_input",
    "menu_button",
}  # fmt: skip
# functions of ours that hand their second argument to such a method
PASSING_ON = {"line", "text", "number", "choice", "flag"}
NAMED = {"label", "labels", "help", "placeholder", "axes", "shade", "body", "caption", "title"}
# names that are the same in every language
NAMES = {"bertviz", "English", "한국어", "auto", "[CLS]", "[SEP]", "[MASK]", "CSV", "HTML", "SVG", "PNG", "CKA"}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def calls(path: Path) -> list[ast.Call]:
    return [node for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]


def callee(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def shown(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call that come on screen."""
    places = [keyword.value for keyword in call.keywords if keyword.arg in NAMED]
    if callee(call) in SHOWING:
        places += call.args[:1]
    if callee(call) in PASSING_ON:
        places += call.args[1:2]
    return places


def literals(node: ast.expr) -> list[str]:
    """The texts written out in an expression; what a call gives is that call's affair, an index is no text."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.Call | ast.Subscript | ast.Compare):
        return []
    if isinstance(node, ast.IfExp):
        return literals(node.body) + literals(node.orelse)
    if isinstance(node, ast.JoinedStr):
        # one text, so that a tag around a value stays a tag
        return ["".join(part.value if isinstance(part, ast.Constant) else "0" for part in node.values)]
    return [text for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr) for text in literals(child)]


def words(text: str) -> str:
    """What of a text is neither HTML, an icon, nor a name of ours."""
    bare = re.sub(r"<[^<>]*>|&\w+;|:material/\w+:", " ", text)
    for name in NAMES:
        bare = bare.replace(name, " ")
    return " ".join(re.findall(r"[^\W\d_]{2,}", bare))


def pattern(node: ast.JoinedStr) -> str:
    """A name put together, as a regular expression.

    `f"view.{name}"` is `view\\..+`.
    """
    return "".join(re.escape(part.value) if isinstance(part, ast.Constant) else ".+" for part in node.values)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(APP)))
def test_no_word_on_screen_bypasses_the_table(path):
    bypassing = {
        f"{path.name}:{call.lineno}: {text!r}"
        for call in calls(path)
        for place in shown(call)
        for text in literals(place)
        if words(text) and not re.fullmatch(r"[a-z][\w.-]*", text)  # a key, as in `choice(st.radio, ..., key="look")`
    }
    assert not bypassing


def test_a_bypassing_word_would_be_found():
    source = 'left.button("Show all")\nst.html(f"<b class=x>{n} pieces</b>")\nurl.text(st.text_area, "Your text", "")'
    found = [words(text) for call in ast.walk(ast.parse(source)) if isinstance(call, ast.Call)
             for place in shown(call) for text in literals(place) if words(text)]  # fmt: skip
    assert sorted(found) == ["Show all", "Your text", "pieces"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(APP)))
def test_pictures_are_told_their_words(path):
    """A picture's own words are English; a page must hand it those of its reader."""
    views = {module.__name__.rpartition(".")[2]: module for module in (figures, passage, xray)}
    for call in calls(path):
        module = views.get(getattr(getattr(call.func, "value", None), "id", ""))
        if module and callee(call) in vars(module):
            parameters = inspect.signature(getattr(module, callee(call))).parameters.values()
            given = (None, inspect.Parameter.empty)
            worded = {p.name for p in parameters if p.name in NAMED and p.default not in given}
            told = {keyword.arg for keyword in call.keywords if keyword.arg}
            for keyword in call.keywords:
                if keyword.arg is None and isinstance(keyword.value, ast.Name):
                    told |= keys_of(path, keyword.value.id)
            assert worded <= told, f"{path.name}:{call.lineno}: {worded - told}"


def keys_of(path: Path, name: str) -> set[str]:
    """The keys of the dictionaries that a file calls by this name."""
    assigned = [node for node in ast.walk(tree(path)) if isinstance(node, ast.Assign)]
    assigned = [node for node in assigned if isinstance(node.value, ast.Dict)]
    named = [node.value for node in assigned if any(getattr(target, "id", "") == name for target in node.targets)]
    return {key.value for found in named for key in found.keys if isinstance(key, ast.Constant)}


def test_every_name_that_is_asked_for_is_in_the_table():
    for path in SOURCES:
        for call in calls(path):
            if callee(call) == "t" and isinstance(call.args[0], ast.Constant):
                assert call.args[0].value in STRINGS, f"{path.name}:{call.lineno}"
            if callee(call) == "t" and isinstance(call.args[0], ast.JoinedStr):
                asked = pattern(call.args[0])
                assert any(re.fullmatch(asked, name) for name in STRINGS), f"{path.name}:{call.lineno}: {asked}"


def test_every_text_is_used():
    nodes = [node for path in SOURCES for node in ast.walk(tree(path))]
    written = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    put_together = {pattern(node) for node in nodes if isinstance(node, ast.JoinedStr)} - {".+", ".+.+"}
    for name in STRINGS:
        assert name in written or any(re.fullmatch(asked, name) for asked in put_together), name


def test_both_languages_have_every_text_with_the_same_places():
    for name, texts in STRINGS.items():
        assert len(texts) == len(LANGUAGES), name
        assert all(text.strip() for text in texts), name
        places = [sorted(set(re.findall(r"{(\w+)", text))) for text in texts]
        assert places[0] == places[1], name


def test_every_korean_text_is_korean():
    for name, (english, korean) in STRINGS.items():
        assert not re.search("[가-힣]", english), name
        assert not words(english) or re.search("[가-힣]", korean) or english == korean, f"{name} is not translated"
        if english == korean:
            assert len(words(english).split()) <= 2, f"{name} is not translated"


def test_every_number_is_explained_in_full():
    for key, number in NUMBERS.items():
        assert number.formula.count("{") == number.formula.count("}"), key
        assert len(re.findall(r"\\left\b", number.formula)) == len(re.findall(r"\\right\b", number.formula)), key
        assert number.source, key
        assert number.link.startswith("https://"), key
        assert all(reading.endswith(".") for reading in number.reading), key
        assert "{" not in "".join(number.name + number.reading), f"{key}: a reading takes no values"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_number_on_a_page_opens_formula_reading_and_source(shipped, language):
    app = opened("next_sentence", lang=language)
    row, place = NUMBERS["nsp_probability"], list(LANGUAGES).index(language)
    assert [latex.value for latex in app.latex] == [f"$$\n{row.formula}\n$$"]
    assert row.reading[place] in [markdown.value for markdown in app.markdown]
    assert any(f"[{row.source}]({row.link})" in caption.value for caption in app.caption)


@pytest.mark.parametrize("screen", SCREENS)
def test_a_korean_page_shows_korean_labels(shipped, screen):
    app = opened(screen, lang="ko")
    kinds = ("button", "text_input", "text_area", "slider", "selectbox", "radio", "toggle", "checkbox", "number_input")
    labels = [widget.label for kind in kinds for widget in app.get(kind)]
    labels += [widget.help for kind in kinds for widget in app.get(kind) if getattr(widget, "help", None)]
    labels += [text.value for text in [*app.title, *app.subheader, *app.caption]]
    labels += [column for table in app.dataframe for column in map(str, table.value.columns)]
    typed = {part for name in dir(_examples()) for part in _texts(getattr(_examples(), name))}
    for label in labels:
        assert label in typed or not words(label) or re.search("[가-힣]", label), label
    for body in bodies(app):
        leads = re.findall(r'<p class="lead">(.*?)</p>', body)
        assert all(re.search("[가-힣]", lead) for lead in leads), body


def _examples():
    from app import examples

    return examples


def _texts(value) -> list[str]:
    """Every text inside of a value."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return _texts(list(value.values()))
    return [text for part in value for text in _texts(part)] if isinstance(value, list | tuple) else []

"""Texts of the pages in both languages, and pages with a Korean checkpoint."""

import html
import re
import shutil
from pathlib import Path

import pytest
import torch
from bertlab_app.examples import read_examples
from bertlab_app.widgets.display import NUMBERS
from support.pages import SCREENS, bodies, open_example_page, open_page
from support.pages import errors as alerts

import bertlab
from bertlab.checkpoints import checkpoint
from bertlab.config import languages
from bertlab.config.config import ModelConfig
from bertlab.lessons import find_lesson
from bertlab.nn.fast.model import FastBert
from bertlab.text.tokenizers.wordpiece import Tokenizer

APP = Path(__file__).parent.parent / "app" / "bertlab_app"
LANGUAGES = list(languages.languages())
# names that are the same in every language
UNTRANSLATED = {
    "bertviz", "English", "한국어", "auto", "[CLS]", "[SEP]", "[MASK]", "CSV", "HTML", "SVG", "PNG", "CKA", "ID",
}  # fmt: skip


def words(text: str) -> str:
    """The words of a text, without HTML, icons and the names that are the same in every language."""
    bare = re.sub(r"<[^<>]*>|&\w+;|:material/\w+:", " ", text)
    for name in UNTRANSLATED:
        bare = bare.replace(name, " ")
    return " ".join(re.findall(r"[^\W\d_]{2,}", bare))


def test_the_explanation_of_a_page_is_folded_below_its_introduction(shipped):
    app = open_page("heads")
    (heading,) = [body for body in bodies(app) if 'class="lead"' in body]
    assert languages.render("heads-about", "en") in html.unescape(heading)
    assert "<details class" in heading
    assert "<details open" not in heading
    assert f">{languages.render('page-lesson', 'en', title=find_lesson('heads', 'en'))}</a>" in html.unescape(heading)


def test_every_id_that_the_app_names_is_in_the_catalogues():
    ids, known = set(), languages.list_message_ids()
    for path in APP.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        ids |= set(re.findall(r'\bt\("([\w-]+)"', source))
        for keys in re.findall(r'display\.explain\(("[^)]*)\)', source):
            ids |= {f"number-{key}-explanation" for key in re.findall(r'"(\w+)"', keys)}
    assert len(ids) > 500
    assert not ids - known


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_explained_number_has_a_name_an_explanation_and_a_source(language):
    for key, number in NUMBERS.items():
        assert languages.render(f"number-{key}", language)
        assert languages.render(f"number-{key}-explanation", language)
        assert number.formula.count("{") == number.formula.count("}"), key
        assert number.source, key
        assert number.link.startswith("https://"), key


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_number_on_a_page_has_a_formula_an_explanation_and_a_source(shipped, language):
    app = open_page("next_sentence", lang=language)
    number, explanation = NUMBERS["nsp_probability"], languages.render("number-nsp_probability-explanation", language)
    [shown] = [markdown.value for markdown in app.markdown if number.formula in markdown.value]
    assert shown.startswith(f"$$\n{number.formula}\n$$\n\n{explanation}\n\n")
    assert f"[{number.source}]({number.link})" in shown


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("screen", SCREENS)
def test_every_page_opens_in_every_language(shipped, screen, language):
    app = open_page(screen, lang=language)
    assert not alerts(app)
    assert app.title[0].value == languages.render(f"{screen.replace('_', '-')}-title", language)
    if language == "ko":
        check_page_is_korean(app)


def check_page_is_korean(app) -> None:
    """Everything on a page but what a reader typed is in Korean."""
    kinds = ("button", "text_input", "text_area", "slider", "selectbox", "radio", "toggle", "checkbox", "number_input")
    labels = [widget.label for kind in kinds for widget in app.get(kind)]
    labels += [widget.help for kind in kinds for widget in app.get(kind) if getattr(widget, "help", None)]
    labels += [text.value for text in [*app.title, *app.subheader, *app.caption]]
    labels += [column for table in app.dataframe for column in map(str, table.value.columns)]
    # a button of a word that the model proposes shows a word of the vocabulary
    proposed = {button.label for button in app.button if (button.key or "").startswith("proposed-")}
    typed = proposed | {text for code in LANGUAGES for text in _texts(list(vars(read_examples(code)).values()))}
    for label in labels:
        assert label in typed or not words(label) or re.search("[가-힣]", label), label
    for body in bodies(app):
        leads = re.findall(r'<p class="lead">(.*?)</p>', body)
        assert all(re.search("[가-힣]", lead) for lead in leads), body


def _texts(value) -> list[str]:
    """Every text inside of a value."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return _texts(list(value.values()))
    return [text for part in value for text in _texts(part)] if isinstance(value, list | tuple) else []


def test_an_error_is_shown_in_korean(shipped):
    app = open_page("input", lang="ko", a="tea and bread " * 60)
    assert len(alerts(app)) == 1
    assert "토큰" in alerts(app)[0]


# -- a Korean checkpoint ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_korean(tmp_path_factory, checkpoints) -> Path:
    """`checkpoints`, and one called korean, of a Korean vocabulary."""
    directory = tmp_path_factory.mktemp("with-korean") / "checkpoints"
    shutil.copytree(checkpoints, directory)
    lines = [text for text in _texts([vars(read_examples("ko"))]) for _ in range(3)]
    tokenizer = Tokenizer.train(lines, 1200, cased=True, strip_accents=False, coverage=1.0)
    config = ModelConfig(
        vocab_size=tokenizer.vocab_size, hidden_size=16, num_layers=2, num_heads=2, intermediate_size=32,
        max_positions=64, initializer_range=0.5, pad_token_id=tokenizer.pad_id,
    )  # fmt: skip
    checkpoint.save(directory / "korean", FastBert(config, ("mlm", "nsp")).eval(), tokenizer, {}, dtype=torch.float32)
    return directory


@pytest.mark.parametrize("screen", ["fill_mask", "next_sentence", "attention", "input", "heads"])
def test_a_korean_reader_gets_the_korean_checkpoint_and_its_examples(with_korean, monkeypatch, screen):
    monkeypatch.setenv("BERTLAB_CHECKPOINTS", str(with_korean))
    app = open_example_page(screen, lang="ko")
    assert not alerts(app)
    assert any("<b>korean</b>" in body for body in bodies(app))
    assert all(re.search("[가-힣]", field.value) for field in app.text_input if field.value)
    # an untouched example follows the language, what was typed does not
    app.text_input[0].set_value("기차는 떠난다 [MASK]").run()
    untouched = [field.key for field in app.text_input if field.value][1:]
    app.session_state["lang"] = "en"
    app.run()
    # of a pair, the untouched second text is an English example now; it is longer than the Korean text, so it decides
    name = "strongest" if untouched and screen != "heads" else "korean"
    assert any(f"<b>{name}</b>" in body for body in bodies(app))
    assert app.text_input[0].value == "기차는 떠난다 [MASK]"
    assert not any(re.search("[가-힣]", app.text_input(key=key).value) for key in untouched)


def test_examples_suit_the_checkpoint_not_the_interface(with_korean, monkeypatch):
    monkeypatch.setenv("BERTLAB_CHECKPOINTS", str(with_korean))
    app = open_example_page("input", checkpoint="korean")
    assert app.text_input(key="a").value == read_examples("ko").pair[0]
    assert app.title[0].value == languages.render("input-title")


def test_the_language_is_that_of_the_record_or_else_of_the_vocabulary(with_korean, tiny_checkpoint, monkeypatch):
    assert bertlab.load(with_korean / "korean").language == "ko"
    assert bertlab.load(tiny_checkpoint).language == "en"
    session = bertlab.load(tiny_checkpoint)
    monkeypatch.setitem(session.record, "language", "ko")
    assert session.language == "ko"


def test_the_default_checkpoint_of_korean_readers_is_korean_if_there_is_one(with_korean, monkeypatch):
    monkeypatch.setenv("BERTLAB_CHECKPOINTS", str(with_korean))
    assert bertlab.default_checkpoint("fill-mask", "ko").name == "korean"
    assert bertlab.default_checkpoint("fill-mask").name == "strongest"
    assert bertlab.default_checkpoint("answer", "ko").name == "squad"


def test_examples_of_both_languages_have_the_same_parts():
    english, korean = vars(read_examples("en")), vars(read_examples("ko"))
    for name, value in english.items():
        assert len(_texts(value)) == len(_texts(korean[name])), name
        if name not in ("masked_word", "surgery"):
            assert all(re.search("[가-힣]", text) for text in _texts(korean[name])), name
    for examples in (english, korean):
        assert examples["masked_sentence"].count("[MASK]") == examples["time_machine_pair"][0].count("[MASK]") == 1


@pytest.mark.parametrize(
    ("screen", "field", "korean_text", "english_text"),
    [
        ("fill_mask", "text", "기차는 아침에 떠난다.", "Green tea."),
        ("input", "a", "기차는 아침에 떠난다.", "Green tea."),
        ("heads", "masked", "기차는 [MASK] 떠난다", "Green [MASK]."),
        ("logit-lens", "masked", "기차는 [MASK] 떠난다", "Green [MASK]."),
    ],
)  # fmt: skip
def test_auto_follows_the_script_of_the_text(with_korean, monkeypatch, screen, field, korean_text, english_text):
    monkeypatch.setenv("BERTLAB_CHECKPOINTS", str(with_korean))
    others = {"b": ""} if field == "a" else {}
    for lang in LANGUAGES:
        for text, name in ((korean_text, "korean"), (english_text, "strongest")):
            app = open_example_page(screen, lang=lang, **{field: text}, **others)
            assert any(f"<b>{name}</b>" in body for body in bodies(app)), (lang, text)


@pytest.mark.parametrize(("screen", "field"), [("tag", "named"), ("classify", "judged"), ("answer", "passage")])
def test_the_page_notes_a_text_in_another_language_than_the_checkpoint_in_one_line(shipped, screen, field):
    def notes(**parameters):
        app = open_page(screen, **parameters)
        return [body for body in bodies(app) if "[UNK]" in body and 'role="status"' in body]

    assert len(notes(**{field: "이 영화는 정말 지루하고 끔찍했어요."})) == 1
    assert not notes(**{field: "A very dull film."})
    assert not notes(**{field: ". . ."}, lang="ko"), "a text without letters is in no language"
    assert len(notes(**{field: "🙂 🔥 " * 20})) == 1, "every emoji is an unknown token"


@pytest.mark.parametrize(
    ("screen", "parameters", "count"),
    [
        ("compare", {"a": "철수가 서울에 갔다.", "b": ""}, 2),  # one note for each checkpoint
        ("tag", {"batch-tag": "철수가 서울에 갔다.\n영희는 집에 있다."}, 1),
        ("evaluation", {"from": "paste", "pasted": "text,label\n이 영화는 지루했어요.,negative\n"}, 1),
        ("time_machine", {"then.en.a": "철수가 서울에 [MASK].", "then.en.b": ""}, 1),
        ("guess", {"guess-text": "철수가 서울에 [MASK]."}, 1),
    ],
)
def test_pages_that_read_other_texts_note_their_language_too(shipped, shipped_runs, screen, parameters, count):
    """The note also says that no Korean checkpoint can be used instead."""
    app = open_page(screen, **parameters)
    if screen == "evaluation":
        app = next(button for button in app.button if "play_arrow" in (button.icon or "")).click().run()
    assert not app.exception
    missing = languages.render("checkpoint-none-in-language", language="Korean")
    assert sum(missing in body for body in bodies(app)) == count

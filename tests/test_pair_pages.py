"""The classification page with a checkpoint for text pairs: its examples, its labels, a missing second text, and the
table of batch predictions."""

import csv
import io

import pytest
import torch
from bertlab_app.examples import read_examples
from bertlab_app.widgets import batch
from bertlab_app.widgets.display import NUMBERS
from support.figures import read_charts
from support.pages import bodies, errors, open_example_page, open_page
from support.texts import text

import bertlab
from bertlab.checkpoints import checkpoint
from bertlab.cli.dispatch import main
from bertlab.nn.fast.model import FastBert


@pytest.fixture(scope="module")
def pair_checkpoints(tmp_path_factory, tiny_model, tiny_tokenizer) -> dict[str, str]:
    """Checkpoints fine-tuned on text pairs, by their prediction: "value" (regression; "값" is the Korean one) or
    "label" (classification)."""
    paths, directory = {}, tmp_path_factory.mktemp("comparers")
    for name, head, language in (("value", "regress", "en"), ("값", "regress", "ko"), ("label", "classify", "en")):
        kind = "regression" if head == "regress" else "classification"
        task = {"kind": kind, "text": ["sentence1", "sentence2"]}
        record = {"task": task, "language": language} | ({"value_range": [0, 5]} if head == "regress" else {})
        model = FastBert(tiny_model.config.replace(labels=("no", "yes") if head == "classify" else ()), [head])
        model.load_state_dict(tiny_model.state_dict(), strict=False)
        path = directory / f"{head}-{language}"
        paths[name] = str(checkpoint.save(path, model, tiny_tokenizer, record, dtype=torch.float32))
    return paths


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_checkpoint_trained_on_sentence_order_predicts_the_order(
    shipped, tmp_path, tiny_model, tiny_tokenizer, capsys, language
):
    record = {"objectives": ["masked words", "sentence order"]}
    place = str(checkpoint.save(tmp_path / "ordered", tiny_model, tiny_tokenizer, record, dtype=torch.float32))
    fact = bertlab.load(place).next_sentence("The bell rang.", "We went in.")
    assert fact.outcomes == ("in order", "swapped")
    assert fact.label in fact.outcomes
    assert main(["nsp", "The bell rang.", "We went in.", "--checkpoint", place]) == 0
    assert "swapped" in capsys.readouterr().out
    app = open_page("next_sentence", checkpoint=place, lang=language)
    assert shows(app, "next-sentence-order-note", language)
    assert text("next-sentence-no-order", language) in results(app)[0]
    app = open_page("heads", ask="sentence_pair", changes="0.0", checkpoint=place, lang=language)
    assert any(text(f"next-sentence-{answer}-order", language) in results(app)[0] for answer in ("yes", "no"))


def results(app) -> list[str]:
    return [body for body in bodies(app) if 'class="say"' in body]


def shows(app, key: str, language: str) -> bool:
    return any(text(key, language) in body for body in bodies(app))


@pytest.mark.parametrize(("name", "language"), [("value", "en"), ("값", "ko"), ("label", "en")])
def test_a_checkpoint_for_pairs_opens_with_two_similar_texts(shipped, pair_checkpoints, name, language):
    app = open_example_page("classify", checkpoint=pair_checkpoints[name])
    assert tuple(field.value for field in app.text_input) == read_examples(language).similar_pair
    assert results(app)
    assert "judged2" not in app.query_params, "an example is not written to the address"


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("name", ["value", "label"])
def test_the_texts_of_the_page_fit_a_value_or_a_label(shipped, pair_checkpoints, name, language):
    app = open_example_page("classify", lang=language, checkpoint=pair_checkpoints[name])
    of, effect = ("classify-value", "word_effect_value") if name == "value" else ("classify", "word_effect")
    assert app.title[0].value == text(f"{of}-title", language)
    assert shows(app, f"{of}-lead", language)
    (words,) = [heading for heading in app.subheader if heading.value == text(f"{of}-words", language)]
    assert words.help == text(f"{of}-words-help", language)
    formulas = [markdown.value for markdown in app.markdown if markdown.value.startswith("$$")]
    assert NUMBERS[effect].formula in formulas[-1]
    axis = read_charts(app)[-1]["layout"]["yaxis"]["title"]["text"]
    assert axis == text("classify-value-axis" if name == "value" else "classify-log-odds-axis", language)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_without_the_second_text_the_page_shows_a_note_and_no_number(shipped, pair_checkpoints, language):
    app = open_example_page("classify", lang=language, checkpoint=pair_checkpoints["value"])
    app.text_input(key="judged2").set_value("").run()
    assert not app.exception, app.exception[0].message
    assert shows(app, "classify-second-text-missing", language)
    assert not results(app)
    assert not read_charts(app)
    linked = {name: "".join(value) for name, value in app.query_params.items()}
    assert shows(open_example_page("classify", **linked), "classify-second-text-missing", language), (
        "the link shows the same"
    )
    app.text_input(key="judged2").set_value("A bowl.").run()
    assert results(app)
    assert not errors(app)


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("pasted", ["Green tea.\nA bowl.", "sentence,score\nGreen tea.,4\nA bowl.,1"])
def test_a_batch_of_single_texts_cannot_be_predicted(shipped, pair_checkpoints, language, pasted):
    link = {"lang": language, "checkpoint": pair_checkpoints["value"], "batch-classify": pasted}
    app = open_example_page("classify", **link)
    assert shows(app, "batch-second-text-missing", language)
    assert not [button for button in app.button if button.key == "ask-classify"]


def test_a_batch_of_pairs_is_predicted(shipped, pair_checkpoints):
    app = open_example_page(
        "classify", checkpoint=pair_checkpoints["value"], **{"batch-classify": "Green tea.\tA bowl.\nRain.\tA."}
    )
    assert not shows(app, "batch-second-text-missing", 0)
    app = app.button(key="ask-classify").click().run()
    assert not app.exception, app.exception[0].message
    assert not any(app.dataframe[-1].value["error"])


@pytest.fixture
def saves(monkeypatch) -> list[bytes]:
    """The CSV files that the page offered for download."""
    files, encode = [], batch.encode_csv
    monkeypatch.setattr(batch, "encode_csv", lambda rows: files.append(encode(rows)) or files[-1])
    return files


@pytest.mark.parametrize("screen", ["classify", "tag"])
def test_the_columns_of_a_table_come_before_the_predictions(shipped, saves, screen):
    pasted = "id,text,label,Probability,error\n7,Green tea.,1,0.5,\n9, ,0,,none\n8,A bowl.,0,,\n"
    app = open_page(screen, **{f"batch-{screen}": pasted})
    app = app.button(key=f"ask-{screen}").click().run()
    assert not app.exception, app.exception[0].message
    table = app.dataframe[-1].value
    columns = list(table.columns)
    assert columns[:5] == ["id", "text", "label", "Probability", "error"]
    assert columns[-1] == "error_2"
    assert len({name.lower() for name in columns}) == len(columns)
    assert "pair" not in columns
    assert list(table["id"]) == ["7", "9", "8"]
    assert [bool(error) for error in table["error_2"]] == [False, True, False]
    if screen == "classify":
        assert columns[5:7] == ["predicted", "probability_2"]
        best = [bertlab.load("sst2").classify(text).best for text in ("Green tea.", "A bowl.")]
        assert list(table["predicted"].fillna("")) == [best[0].label, "", best[1].label]
    else:
        assert columns[5:7] == ["predicted_entities", "predicted_tags"]
        assert table["predicted_tags"][2].startswith("A/")
    (saved,) = saves
    first, *rows = csv.reader(io.StringIO(saved.decode("utf-8-sig")))
    assert first == columns
    assert [row[:3] for row in rows] == [["7", "Green tea.", "1"], ["9", " ", "0"], ["8", "A bowl.", "0"]]


def test_lines_have_one_column_before_the_predictions(shipped, pair_checkpoints):
    app = open_example_page("classify", **{"batch-classify": "Green tea.\nA bowl."})
    app = app.button(key="ask-classify").click().run()
    assert list(app.dataframe[-1].value.columns)[:3] == ["text", "predicted", "probability"]
    app = open_example_page(
        "classify", checkpoint=pair_checkpoints["value"], **{"batch-classify": "Green tea.\tA bowl.\nA.\tB."}
    )
    app = app.button(key="ask-classify").click().run()
    assert list(app.dataframe[-1].value.columns) == ["1", "2", "predicted", "error"]

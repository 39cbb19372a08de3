"""Recipe of CONTRIBUTING.md: a file format, added from outside the package and read by commands and the app."""

import json

import pytest
from bertlab_app.widgets import files
from support.pages import errors, open_page

from bertlab.checkpoints import checkpoint
from bertlab.cli import main
from bertlab.config.languages import Message
from bertlab.text.readers import registry


class Cards(registry.FileFormat):
    """A toy format: a title, a colon and a text in each line."""

    suffixes = (".cards",)

    def read(self, file, section, columns=None):
        for number, line in enumerate(file.lines(), 1):
            title, colon, text = line.decode().strip().partition(": ")
            reason = None if colon else Message("row-without-text")
            yield registry.Record(number, {"title": title, "text": text} if colon else None, reason)


@pytest.fixture
def cards():
    registry.register(format := Cards())
    yield
    registry.unregister(format)


def test_a_corpus_is_prepared_from_a_new_file_format(cards, tmp_path, capsys):
    lines = [f"Card {i}: The keeper carried lantern {i}. The boats stayed in the harbour." for i in range(50)]
    (tmp_path / "tales.cards").write_text("\n".join(lines))
    words = ["prepare", str(tmp_path / "tales.cards"), "--out", str(tmp_path / "corpus"), "--vocab-size", "60"]
    assert main([*words, "--workers", "1"]) == 0
    assert json.loads((tmp_path / "corpus" / "corpus.json").read_text())["documents"] == 50
    assert "cards" in registry.upload_suffixes()


def test_a_custom_task_is_trained_and_evaluated_on_a_new_file_format(cards, tmp_path, tiny_checkpoint, capsys):
    data = tmp_path / "weather.cards"
    data.write_text(
        "\n".join(f"{('dry', 'wet')[i % 2]}: {('The sun shone', 'Rain fell')[i % 2]} on day {i}." for i in range(40))
    )
    words = ["finetune", "custom", "--type", "classification", "--text-column", "text", "--label-column", "title"]
    words += ["--data", str(data), "--from", str(tiny_checkpoint), "--out", str(tmp_path / "run"), "--epochs", "1"]
    assert main([*words, "--device", "cpu", "--precision", "float32", "--threads", "1"]) == 0
    assert checkpoint.load(tmp_path / "run" / "checkpoint").config.labels == ("dry", "wet")
    capsys.readouterr()
    path = str(tmp_path / "run" / "checkpoint")
    assert main(["evaluate", "custom", "--checkpoint", path, "--data", str(data), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["examples"] == 40


def test_the_classify_page_reads_an_upload_in_a_new_file_format(cards, shipped, monkeypatch):
    monkeypatch.setattr(files, "may_start_jobs", lambda: False)  # a student, whose upload is read by the page itself
    page = open_page("classify")
    content = "Monday: Rain fell.\nTuesday: The boats stayed in.\n"
    page.file_uploader(key="upload-classify").set_value(("reports.cards", content.encode(), "text/plain")).run()
    assert page.selectbox(key="text-classify").value == "text"
    page = next(button for button in page.button if button.key == "ask-classify").click().run()
    assert not page.exception
    assert not errors(page)
    table = page.dataframe[-1].value
    assert list(table["title"]) == ["Monday", "Tuesday"]
    assert list(table["text"]) == ["Rain fell.", "The boats stayed in."]
    assert not any(table["error"])


def test_an_invalid_row_of_an_uploaded_new_format_is_reported(cards, shipped):
    page = open_page("evaluation", **{"from": "upload", "skip": "0"})
    lines = [*(f"{number % 2}: Green tea number {number}." for number in range(6)), "no colon"]
    upload = page.file_uploader(key="evaluation-upload")
    page = upload.set_value(("rows.cards", "\n".join(lines).encode(), "text/plain")).run()
    (error,) = errors(page)
    assert "rows.cards row 7" in error

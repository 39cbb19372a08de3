"""Recipe of CONTRIBUTING.md: a file format, added from outside the package and used to prepare a corpus."""

import json

import pytest

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

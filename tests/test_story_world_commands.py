"""Commands of the story world: corpora and labelled rows from nothing, and training on them."""

import json

import pytest
from support.errors import raises_error

import bertlab
from bertlab.cli import main
from bertlab.config.tasks import TASKS
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.story_world.rows import ROW_TASKS
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training.pretraining import pretrain

SMALL = ["--layers", "1", "--hidden", "16", "--attention-heads", "2", "--threads", "1", "--batch-size", "4"]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A checkpoint that `bertlab pretrain` made without a corpus, in the directory where it was made."""
    directory = tmp_path_factory.mktemp("stories")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        prepare = ["prepare", "story-world", "--out", "runs/story-world", "--documents", "120", "--workers", "1"]
        assert main(prepare) == 0
        assert main(prepare) == 0, "the same command opens the corpus"
        assert main(["pretrain", "--out", "runs/first", "--steps", "2", "--no-snapshots", *SMALL]) == 0
    return directory / "runs" / "first" / "checkpoint"


def test_pretraining_needs_no_corpus(checkpoint):
    record = json.loads((checkpoint / "bertlab.json").read_text(encoding="utf-8"))
    assert record["steps"] == 2
    assert record["validation"]["rows"] > 0
    runs = checkpoint.parents[1]
    assert Corpus.open(runs / "story-world").facts["documents"] == 120
    assert Corpus.open(runs / "story-world-heldout").facts["documents"] == 12
    assert len(list((runs / "story-world-stories").iterdir())) == 2


def test_stories_are_prepared_with_a_small_vocabulary_if_no_corpus_is_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    prepared = []
    monkeypatch.setattr(pretrain, "prepare", prepared.append)
    with pytest.raises(bertlab.BertlabError):  # nothing is prepared
        bertlab.pretrain(None, "run", steps=1)
    assert [(config.text, config.vocab_size) for config in prepared] == [(("story-world",), 2048)]


def test_korean_stories_are_prepared_cased(tmp_path):
    facts = bertlab.prepare("story-world", out=tmp_path / "ko", language="ko", documents=60, workers=1)
    assert facts.documents == 60
    tokenizer = Tokenizer.load(tmp_path / "ko" / "tokenizer")
    assert not tokenizer.lowercase
    assert tokenizer.encode("월요일 아침").tokens[1] == "월요일"


@pytest.mark.parametrize(
    ("settings", "id"), [({"language": "xx"}, "story-language-unknown"), ({"documents": 0}, "setting-out-of-range")]
)
def test_invalid_settings_of_stories(settings, id, tmp_path, capsys):
    with raises_error(bertlab.BertlabError, id):
        bertlab.prepare("story-world", out=tmp_path / "c", **settings)
    flags = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    assert main(["prepare", "story-world", "--out", str(tmp_path / "c"), *flags]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_flags_of_stories_are_rejected_for_other_texts(tmp_path):
    with raises_error(bertlab.BertlabError, "story-flags-unused"):
        bertlab.prepare("texts", out=tmp_path / "c", language="ko")


def test_korean_questions_are_fine_tuned_on_as_a_korean_task(tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    assert main(["story-world", "questions", "--out", str(rows), "--rows", "10", "--language", "ko"]) == 0
    words = capsys.readouterr().out.splitlines()[-1].split()
    assert words[:5] == ["bertlab", "finetune", "story_qa_ko", "--data", str(rows)]
    assert TASKS["story_qa_ko"].language == "ko"


def test_the_task_of_questions_can_be_evaluated_and_recorded(checkpoint, tmp_path, capsys):
    rows, run = tmp_path / "rows.jsonl", str(tmp_path / "run")
    assert main(["story-world", "questions", "--out", str(rows), "--rows", "40"]) == 0
    words = ["finetune", "story_qa", "--data", str(rows), "--from", str(checkpoint), "--out", run]
    assert main([*words, "--epochs", "0.2", "--batch-size", "8", "--max-tokens", "64", "--threads", "1"]) == 0
    held_out = str(rows.with_name("rows-heldout.jsonl"))
    assert main(["evaluate", "story_qa", "--checkpoint", run, "--data", held_out, "--record"]) == 0
    record = json.loads((tmp_path / "run" / "checkpoint" / "bertlab.json").read_text(encoding="utf-8"))
    assert record["measured_on"] == ["rows-heldout.jsonl"]
    assert {"f1", "exact_match", "null_threshold"} <= set(record["validation"])


@pytest.mark.parametrize("task", ROW_TASKS)
def test_rows_can_be_fine_tuned_on(task, checkpoint, tmp_path, monkeypatch, capsys):
    """The command prints the command that reads its rows."""
    monkeypatch.chdir(tmp_path)
    assert main(["story-world", task, "--out", "rows.jsonl", "--rows", "40"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len((tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()) == 40
    assert len((tmp_path / "rows-heldout.jsonl").read_text(encoding="utf-8").splitlines()) == 4
    words = printed[-1].split()[1:]
    words[words.index("--from") + 1] = str(checkpoint)
    assert main([*words, "--epochs", "0.2", "--batch-size", "8", "--max-tokens", "64", "--threads", "1"]) == 0
    assert (tmp_path / "runs" / task / "checkpoint").is_dir()

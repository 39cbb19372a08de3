"""`bertlab bench serve`: every step predicts what the student predicts; its batches, its cache and its file of rows."""

import json

import pytest
from support.errors import command_error, raises_error
from support.serving_runs import make_run
from support.tiny_model import TEXTS

from benchmarks import serve
from benchmarks.results import read_results
from benchmarks.serve_classifiers import Classifier, make_batch
from benchmarks.serve_steps import make_step_result, measure_speed, open_base, repeat_texts
from bertlab.abilities.cost import serving_rows as serve_rows
from bertlab.abilities.cost.serving_rows import PEERS, STEPS, append_run, read_runs
from bertlab.checkpoints import checkpoint
from bertlab.cli import main
from bertlab.config.errors import CheckpointError, DataError
from bertlab.config.presets import PRESETS


class Recorder:
    """Classify a text as its length, and record the batches."""

    def __init__(self):
        self.batches = []

    def __call__(self, batches):
        for batch in batches:
            self.batches.append(list(batch))
            yield [len(text) for text in batch]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    texts = [*TEXTS[:4], TEXTS[0], TEXTS[1]]
    lines = [json.dumps({"sentence": text, "label": number % 2}) for number, text in enumerate(texts)]
    path.write_text("\n".join(lines))
    return path


def test_texts_of_similar_length_share_a_batch_and_keep_their_labels():
    texts = ["a" * length for length in (3, 50, 4, 48, 1, 49)]
    recorder = Recorder()
    assert Classifier(recorder, 2).classify(texts) == [3, 50, 4, 48, 1, 49]
    assert [[len(text) for text in batch] for batch in recorder.batches] == [[50, 49], [48, 4], [3, 1]]
    recorder.batches.clear()
    assert Classifier(recorder, 4, groups_by_length=False).classify(texts) == [3, 50, 4, 48, 1, 49]
    assert recorder.batches == [texts[:4], texts[4:]]


def test_a_cache_computes_each_distinct_text_once_until_it_is_cleared():
    recorder = Recorder()
    classifier = Classifier(recorder, 8, uses_cache=True)
    assert classifier.classify(["tea", "rain", "tea"]) == [3, 4, 3]
    assert classifier.classify(["rain", "boat"]) == [4, 4]
    assert sorted(text for batch in recorder.batches for text in batch) == ["boat", "rain", "tea"]
    classifier.cache.clear()
    classifier.classify(["tea"])
    assert recorder.batches[-1] == ["tea"]


def test_a_share_of_the_requests_repeats_others():
    texts = [str(number) for number in range(100)]
    stream = repeat_texts(texts, 0.3)
    assert len(stream) == 100
    assert len(set(stream)) == 70
    assert set(stream) <= set(texts)
    assert sorted(repeat_texts(texts, 0.0)) == sorted(texts)


def test_every_classifier_gets_its_own_requests_in_every_round():
    counts = {"a": 0, "b": 0}

    def count(name):
        def classify_batches(batches):
            for batch in batches:
                counts[name] += len(batch)
                yield [0] * len(batch)

        return Classifier(classify_batches, 4)

    speeds = measure_speed({"a": count("a"), "b": count("b")}, {"a": ["x"] * 3, "b": ["y"] * 2}, 3, 1e-9)
    assert [len(values) for values in speeds["a"]] == [3, 9]  # three rounds of three single texts
    assert [len(values) for values in speeds["b"]] == [3, 6]
    assert counts == {"a": 3 + 3 * (3 + 3), "b": 2 + 3 * (2 + 2)}  # a warm-up, then a pass and single texts a round


def test_a_step_is_summarised_by_medians_and_compared_with_the_student():
    result = make_step_result("int8", ([10.0, 30.0, 20.0], [1.0, 2.0, 3.0]), [0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 1, 0])
    assert (result.texts_per_second, result.slowest, result.fastest, result.p50_ms) == (20.0, 10.0, 30.0, 2.0)
    assert (result.accuracy, result.changed) == (75.0, 1)
    result = make_step_result("base", ([1.0], [1.0]), [0], None, None)
    assert (result.accuracy, result.changed) == (None, None)


def test_a_batch_is_truncated_and_padded_to_its_longest_text(shipped):
    tokenizer = checkpoint.load("sst2").tokenizer
    batch = make_batch(tokenizer, [TEXTS[0], "tea"], 6)
    expected = list(tokenizer.encode("tea").ids)
    assert batch.input_ids_BT.shape == (2, 6)
    assert batch.input_ids_BT[1, : len(expected)].tolist() == expected
    assert batch.input_ids_BT[0].tolist() == [*tokenizer.encode(TEXTS[0]).ids[:5], tokenizer.sep_id]
    assert batch.lengths == [6, len(expected)]


@pytest.mark.slow
def test_all_steps_and_peers_predict_the_labels_of_the_student(shipped, rows, tmp_path, monkeypatch, capsys):
    """The base is the student itself, so that all nine predictions can be compared, those of int8 but for rounding."""
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr(serve_rows, "ROWS_PATH", tmp_path / "serving.jsonl")
    monkeypatch.setattr("benchmarks.results.RESULTS_PATH", tmp_path / "results.jsonl")
    monkeypatch.setattr(serve, "count_cores", lambda: 1)
    words = ["bench", "serve", "sst2", "--base", "sst2", "--data", str(rows), "--max-tokens", "32"]
    words += ["--texts", "6", "--rounds", "1", "--seconds", "0.01", "--batch-size", "4"]
    assert main([*words, "--record"]) == 0
    printed = capsys.readouterr().out
    run = read_runs(tmp_path / "serving.jsonl")["sst2"]
    assert [step.name for step in run.steps] == [*STEPS, *PEERS]
    assert (run.rows, run.texts, run.cores, run.base) == (6, 6, 1, "sst2")
    assert run.repeated_rows == pytest.approx(2 / 6, abs=1e-3)
    for step in run.steps:
        assert step.texts_per_second > 0
        assert step.p50_ms <= step.p95_ms
        if step.name not in ("int8", "workers", "cache"):
            assert step.accuracy == run.find("student").accuracy, step.name
            assert not step.changed, step.name
    assert "random weights" not in printed
    (result,) = read_results(tmp_path / "results.jsonl")
    assert result.value == round(run.times_faster("workers"), 1)
    assert result.claim.startswith("Serving: sst2")


def test_the_newest_run_of_each_task_is_read(tmp_path):
    path = tmp_path / "serving.jsonl"
    assert read_runs(path) == {}
    for run in (make_run(), make_run(task="nsmc"), make_run(cores=4)):
        append_run(run, path)
    runs = read_runs(path)
    assert list(runs) == ["nsmc", "sst2"]
    assert runs["sst2"] == make_run(cores=4)
    assert (runs["sst2"].times_faster("workers"), runs["sst2"].points_lost) == (70.0, 1.0)
    row = json.loads(path.read_text().splitlines()[0])
    for damaged in (row | {"steps": row["steps"][:3]}, {"task": "sst2"}, []):
        path.write_text(json.dumps(damaged) + "\n")
        with raises_error(DataError, "bench-results-line-invalid", line=1):
            read_runs(path)


def test_random_weights_get_a_published_accuracy_with_its_source():
    text = "\n".join(serve.format_run(make_run()))
    assert "92.7" in text
    assert "Devlin" in text
    assert "random weights" not in "\n".join(serve.format_run(make_run(base="mine")))
    result = serve.make_result(make_run())
    assert (result.value, result.target) == (70.0, 30)
    assert "-1.00 points" in result.peer


def test_a_checkpoint_of_another_kind_is_refused(shipped, rows):
    common = "bench", "serve", "sst2", "--data", str(rows)
    assert command_error(*common, "--small", "strongest").id == "checkpoint-lacks-labels"
    assert command_error(*common, "--base", "wikiann_en").id == "head-missing"
    assert isinstance(command_error(*common, "--small", "none-such"), CheckpointError)


def test_without_a_base_checkpoint_the_weights_are_random_and_the_size_is_that_of_the_preset(shipped, monkeypatch):
    asked = []
    monkeypatch.setattr("benchmarks.serve_steps.get_preset", lambda name: asked.append(name) or PRESETS["mini"])
    student = checkpoint.load("sst2")
    model, tokenizer = open_base(student, None)
    assert asked == ["base"]
    assert (model.config.num_hidden_layers, model.config.hidden_size, model.config.intermediate_size) == (4, 256, 1024)
    assert (model.config.vocab_size, model.config.num_labels) == (student.config.vocab_size, 2)
    assert tokenizer("tea")["input_ids"] == list(student.tokenizer.encode("tea").ids)
    assert not model.training

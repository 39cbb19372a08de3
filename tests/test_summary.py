"""Extractive summaries: sentences, centrality, choice, ROUGE, documents, and the command."""

import json

import numpy as np
import pytest
from support.errors import raises_error

import bertlab
from bertlab.abilities.summary.centrality import choose_sentences, compute_centrality, find_smallest_cosine
from bertlab.abilities.summary.compute import compare_with_references, summarise_texts
from bertlab.cli import main
from bertlab.config.errors import DataError, TextError
from bertlab.tasks.rouge import compute_lcs_length, compute_rouge
from bertlab.text.pretraining.sentences import find_sentences, split_sentences
from bertlab.text.readers.text_file import read_documents


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("BERTLAB_CACHE", str(tmp_path / "cache"))


def unit(*rows) -> np.ndarray:
    vectors = np.array(rows, np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_sentences_have_their_places():
    text = 'It rained. "Yes!" Tea.\n\n***\n비가 왔다. 차를 마셨다. 🙂'
    assert [text[slice(*span)] for span in find_sentences(text)] == [
        "It rained.", '"Yes!"', "Tea.", "비가 왔다.", "차를 마셨다.",
    ]  # fmt: skip
    assert [text.index("Tea."), text.index("Tea.") + 4] == list(find_sentences(text)[2])


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Kim met Mr. and Mrs. Lee in St. Ives. | It rained.",
        "J. K. Moon, J.K. Moon and the U.S. Army came. | He lives in the U.S. | The end.",
        "It was No. 5 on Nov. 3, see p. 4 (fig. 2). | He said no. | 5 minutes later it rained. | You may. | 3 came.",
        "Rain vs. snow, e.g. here at 5 p.m. on Monday, etc. and so on. | At 5 p.m. | Police came, etc. | The rest.",
        "1. Rain fell. | 2. Tea. | She is 5. | Then 100 came. | It ended in 1999. | 50 stayed.",
        "2024. 5. 3. 서울에서 열렸다. | 2024.5.3. 서울이다. | 2023. 12. 발표했다. | 그는 1999. | 비가 왔다.",
        "가. 서론이다. | 나. 본론이다. | 비가 왔다. | 해. | 달.",
        "물리학자 J. 로버트가 말했다. | Dr. 김은 웃었다. | ABC Inc. 대표다. | 왜? | Mr. 이가 왔다! | 끝.",
        'Is it "Mr. X."? | (He is Dr. No.) | Mr.',
    ],
)
def test_a_period_of_an_abbreviation_ends_no_sentence(text):
    assert split_sentences(text.replace("| ", "")) == text.split(" | ")


def test_long_lines_are_split_in_linear_time():
    assert len(split_sentences("Dr. " * 50_000 + "tea. " * 50_000)) == 50_000


def test_centrality_is_the_pagerank_of_the_written_out_matrix():
    vectors = np.random.default_rng(0).normal(size=(9, 5)) + 1
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    weights = vectors @ vectors.T
    weights = weights - weights.min()
    np.fill_diagonal(weights, 0)
    google = 0.15 / 9 + 0.85 * weights / weights.sum(0)
    values, axes = np.linalg.eig(google)
    expected = np.real(axes[:, np.argmax(values.real)])
    np.testing.assert_allclose(compute_centrality(vectors), 9 * expected / expected.sum(), atol=1e-5)


@pytest.mark.parametrize("vectors", [unit([1, 0]), unit([1, 0], [0, 1]), unit(*[[1, 2]] * 4)])
def test_equal_or_single_sentences_are_all_average(vectors):
    np.testing.assert_allclose(compute_centrality(vectors), 1, atol=1e-6)


def test_many_sentences_need_no_matrix():
    vectors = np.random.default_rng(0).normal(size=(3000, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert find_smallest_cosine(vectors) == pytest.approx(float((vectors @ vectors.T).min()), abs=1e-6)
    assert compute_centrality(vectors).mean() == pytest.approx(1)


def test_similar_and_repeated_sentences_are_not_chosen_twice():
    texts = ["Rain fell on the town.", "Rain came down.", "A lamp was lit.", "Then rain fell on the hill."]
    vectors, centrality = unit([1, 0], [1, 0.05], [0, 1], [0.5, 1]), np.array([4.0, 3.9, 1.0, 2.0])
    assert choose_sentences(texts, vectors, centrality, 2, diversity=0) == ([0, 1], [])
    assert choose_sentences(texts, vectors, centrality, 2, diversity=0.6) == ([0, 2], [])
    assert choose_sentences(texts, vectors, centrality, 4, diversity=0.6) == ([0, 2, 1], [3])
    assert choose_sentences(["Tea.", "tea"], unit([1, 0], [1, 0]), np.ones(2), 2) == ([0], [1])


def test_summaries_of_several_texts_equal_those_of_each(tiny_checkpoint):
    session = bertlab.load(tiny_checkpoint)
    texts = ["Rain fell. The keeper carried a lantern. Tea. The lantern fell.", "Tea.", "비가 왔다. Rain! 🙂 " * 300]
    together = summarise_texts(session.loaded, texts, 2)
    for text, found in zip(texts, together, strict=True):
        alone = session.summary(text, 2)
        assert (found.chosen, found.first) == (alone.chosen, alone.first)
        assert list(found.chosen) == sorted(found.chosen)
        assert all(text[each.start : each.end] == each.text for each in found.sentences)
    assert [len(each.chosen) for each in together] == [2, 1, 2]  # of the last text, only two sentences differ
    assert len(together[2].sentences) == 600
    with raises_error(TextError, "text-empty"):
        session.summary("... 🙂")


def test_rouge_equals_values_computed_by_hand():
    # reference: the cat sat here; summary: here the cat lay. Common: 3 words, "the cat"; LCS: the cat
    assert compute_rouge("The cat sat here.", "Here the cat lay") == pytest.approx(
        {"rouge1": 6 / 8, "rouge2": 2 / 6, "rougeL": 4 / 8}
    )
    # a word counts as often as in the text that has it less often
    assert compute_rouge("tea tea rain", "tea") == pytest.approx({"rouge1": 2 / 4, "rouge2": 0, "rougeL": 2 / 4})
    assert compute_rouge("비가 왔다", "비가 왔다!") == {"rouge1": 1, "rouge2": 1, "rougeL": 1}
    assert set(compute_rouge("", "tea").values()) == set(compute_rouge("", "").values()) == {0}


def test_lcs_equals_the_usual_table():
    rng = np.random.default_rng(0)
    for _ in range(20):
        first, second = ("".join(rng.choice(list("abc"), size)) for size in rng.integers(0, 90, 2))
        table = np.zeros((len(first) + 1, len(second) + 1), int)
        for i, a in enumerate(first, 1):
            for j, b in enumerate(second, 1):
                table[i, j] = table[i - 1, j - 1] + 1 if a == b else max(table[i - 1, j], table[i, j - 1])
        assert compute_lcs_length(first, second) == table[-1, -1]


def test_documents_are_a_file_or_its_rows(tmp_path):
    (tmp_path / "a.txt").write_text("Rain fell.\n\nTea.\n", encoding="utf-8")
    assert read_documents(tmp_path / "a.txt").texts == ("Rain fell.\n\nTea.",)
    (tmp_path / "a.csv").write_text("summary,id,text\nS,7,Rain.\n,8,***\n,9,Tea.\n", encoding="utf-8")
    found = read_documents(tmp_path / "a.csv")
    assert (found.texts, found.ids, found.references, found.num_blank) == (("Rain.", "Tea."), ("7", "9"), ("S", ""), 1)
    with raises_error(DataError, "rows-column-not-found"):
        read_documents(tmp_path / "a.csv", reference_column="gold")
    (tmp_path / "b.txt").write_text("***\n", encoding="utf-8")
    with raises_error(DataError, "file-without-texts"):
        read_documents(tmp_path / "b.txt")


def test_the_command(tmp_path, tiny_checkpoint, capsys):
    text = "Rain fell. The keeper carried a lantern. Tea was cold. The keeper slept."
    rows = [{"text": text, "summary": "Rain fell. The keeper carried a lantern."}, {"text": "Tea.", "summary": ""}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    words = ["summary", str(tmp_path / "a.jsonl"), "--checkpoint", str(tiny_checkpoint), "--sentences", "2"]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [len(row["sentences"]) for row in found["documents"]] == [2, 1]
    assert found["documents"][0]["summary"] == " ".join(row["text"] for row in found["documents"][0]["sentences"])
    assert found["rouge"]["references"] == 1
    assert found["rouge"]["first"] == {"rouge1": 1.0, "rouge2": 1.0, "rougeL": 1.0}
    assert main(words) == 0
    captured = capsys.readouterr()
    assert "ROUGE-L" in captured.out
    assert "stsb_vectors" in captured.err
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    assert main(["summary", str(tmp_path / "a.txt"), "--checkpoint", str(tiny_checkpoint)]) == 0
    assert "ROUGE" not in capsys.readouterr().out
    assert compare_with_references([], []) is None

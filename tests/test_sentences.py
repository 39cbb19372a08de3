"""Vectors of many texts: the cache, neighbours, duplicates, clusters, maps, and their commands."""

import ast
import csv
import json
import unicodedata
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from bertlab_app.examples import read_examples
from support.errors import raises_error
from support.hard_strings import CJK, EMOJI, HANGUL, MIXED

import bertlab
from bertlab.abilities.sentences import vectors as sentence_vectors
from bertlab.abilities.sentences.clusters import (
    MIN_TEXTS,
    NO_CLUSTER,
    cluster_sentences,
    list_map_methods,
    map_sentences,
    name_clusters,
    reduce_vectors,
)
from bertlab.abilities.sentences.vector_cache import VectorCache
from bertlab.abilities.sentences.vector_files import write_vectors
from bertlab.abilities.sentences.vectors import find_neighbours, find_similar_pairs
from bertlab.cli import main, sentences
from bertlab.config.errors import BertlabError, DataError, TextError
from bertlab.config.languages import Message
from bertlab.text.readers.text_file import join_lines, read_texts

TEXTS = ["Rain fell.", "The keeper carried the lantern.", "tea", "Rain fell.", "🙂 tea 차"]


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("BERTLAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def groups(count: int, size: int = 12, seed: int = 0, noise: float = 0.1) -> np.ndarray:
    """Vectors of length 1 around `count` centres."""
    rng = np.random.default_rng(seed)
    vectors = np.repeat(rng.normal(size=(count, 24)), size, axis=0) + noise * rng.normal(size=(count * size, 24))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


# -- vectors and their cache ---------------------------------------------------------------------------------------


def test_a_second_run_answers_from_the_cache(tiny_checkpoint, cache):
    session = bertlab.load(tiny_checkpoint)
    computed = []
    first = session.sentence_vectors(TEXTS, progress=lambda parts: computed.append(len(parts)) or parts)
    np.testing.assert_allclose(first.vectors_SP, session.embed(TEXTS), atol=1e-5)
    again = session.sentence_vectors(TEXTS, progress=lambda parts: computed.append(len(parts)) or parts)
    assert computed == [1, 0]
    assert (first.num_cached, again.num_cached) == (0, 4)
    np.testing.assert_array_equal(again.vectors_SP, first.vectors_SP)
    assert session.sentence_vectors(TEXTS, use_cache=False).num_cached == 0


def test_another_model_does_not_get_the_same_vectors(tiny_checkpoint, cache):
    session = bertlab.load(tiny_checkpoint)
    session.sentence_vectors(TEXTS)
    assert session.prune("0.0", zeroed=True).sentence_vectors(TEXTS).num_cached == 0


def test_a_damaged_or_unwritable_cache_is_ignored(tiny_checkpoint, cache, tmp_path):
    session = bertlab.load(tiny_checkpoint)
    session.sentence_vectors(TEXTS)
    (file,) = cache.rglob("*.sqlite")
    file.write_bytes(b"no database" * 500)
    assert session.sentence_vectors(TEXTS).num_cached == 0
    session.sentence_vectors(TEXTS)
    assert session.sentence_vectors(TEXTS).num_cached == 4
    (tmp_path / "file").touch()
    blocked = VectorCache("a", 2, tmp_path / "file")
    blocked.write(["tea"], np.ones((1, 2), np.float32))
    assert blocked.read(["tea"]) == {}


def test_long_texts_are_truncated_and_texts_without_tokens_are_refused(tiny_checkpoint, cache):
    session = bertlab.load(tiny_checkpoint)
    limit = session.config.max_positions
    vectors = session.sentence_vectors(["tea " * (limit - 2), "tea " * limit])
    assert vectors.truncated == (1,)
    np.testing.assert_allclose(vectors.vectors_SP[0], vectors.vectors_SP[1], atol=1e-5)
    with raises_error(TextError, "text-without-tokens", row=2):
        session.sentence_vectors(["tea", "\u200b"])
    with raises_error(TextError, "text-without-tokens", row=1):
        session.sentence_vectors([""])
    assert session.sentence_vectors([]).vectors_SP.shape == (0, session.config.hidden_size)


def test_texts_that_the_checkpoint_cannot_read_are_found(cache):
    english, korean = "Rain fell on the roof.", "비가 지붕에 내렸다."
    unknown = ["강에 새 다리가 열린다", "米價 上昇", "🙂🙂", "각"]
    assert bertlab.load("sentences").sentence_vectors([english, *unknown, english]).unreadable_indices == (1, 2, 3, 4)
    readable = [korean, "새 BERT 모델", "米價 上昇", "각", "ㄱㄴㄷ", "2026"]
    texts = [*readable, english, "🙂🙂", "\u1100\u119e\u11b7", "🙂..."]  # the last but one is old Hangul
    assert bertlab.load("sentences_ko").sentence_vectors(texts).unreadable_indices == (6, 7, 8, 9)


# -- neighbours and duplicates -------------------------------------------------------------------------------------


def test_neighbours_are_sorted_by_cosine():
    vectors = np.array([[1, 0], [0.6, 0.8], [0.8, 0.6]], np.float32)
    found = find_neighbours(vectors, vectors[0], top_k=2, skip=0)
    assert [(each.index, round(each.cosine, 2)) for each in found] == [(2, 0.8), (1, 0.6)]


def test_similar_pairs_equal_those_of_all_comparisons():
    vectors = groups(4, 5)
    vectors[7] = vectors[3]
    cosine = vectors @ vectors.T
    expected = {(i, j) for i in range(20) for j in range(i + 1, 20) if cosine[i, j] >= 0.9}
    found = find_similar_pairs(vectors, 0.9)
    assert found.total == len(expected)
    listed = {(pair.first, pair.second) for pair in found.pairs}
    assert listed <= expected  # of several copies of a text, only one is compared with others
    assert (3, 7) in listed
    assert [pair.cosine for pair in found.pairs] == sorted((pair.cosine for pair in found.pairs), reverse=True)
    assert {frozenset(group) for group in found.groups} == {
        frozenset({0, 1, 2, 3, 4, 7}), frozenset({5, 6, 8, 9}), frozenset(range(10, 15)), frozenset(range(15, 20)),
    }  # fmt: skip
    assert len(find_similar_pairs(vectors, 0.9, limit=2).pairs) == 2


def test_groups_that_grow_over_many_parts_of_the_matrix_are_complete(monkeypatch):
    """The cosines of many texts are compared in parts, so that they fit into memory."""
    vectors = groups(30, 4)[np.random.default_rng(1).permutation(120)]
    whole = find_similar_pairs(vectors, 0.9, limit=50)
    assert len(whole.groups) == 30
    monkeypatch.setattr(sentence_vectors, "CELLS_AT_ONCE", 1)
    found = find_similar_pairs(vectors, 0.9, limit=50)
    assert (found.total, found.groups) == (whole.total, whole.groups)
    cosines = [[pair.cosine for pair in each.pairs] for each in (found, whole)]
    np.testing.assert_allclose(*cosines, atol=1e-5)


def test_many_copies_of_a_text_are_one_group():
    copies = np.repeat(np.array([[0.6, 0.8]], np.float32), 5000, axis=0)
    found = find_similar_pairs(copies, 0.9, limit=3)
    assert (found.total, len(found.groups), len(found.groups[0])) == (5000 * 4999 // 2, 1, 5000)
    clusters = cluster_sentences(["tea"] * 5000, copies)
    assert clusters.clusters == ()
    assert set(clusters.labels) == {NO_CLUSTER}
    assert map_sentences(copies).shape == (5000, 2)


@pytest.mark.parametrize("threshold", [0.9, -1.0])
def test_an_unreadable_text_is_similar_only_to_equal_texts_and_in_no_cluster(threshold):
    """All emoji have the vector of [UNK], so their cosine is 1 without any similarity."""
    texts = ["🙂", "🔥", "🙂", *["tea"] * 6]
    vectors = groups(2, 6)[3:]
    vectors[:3] = vectors[0]
    unreadable = {index: texts[index] for index in range(3)}
    found = find_similar_pairs(vectors, threshold, unreadable_texts=unreadable)
    pairs = {(pair.first, pair.second) for pair in found.pairs}
    assert {pair for pair in pairs if pair[0] < 3} == {(0, 2)}
    assert found.total == 1 + 15, "six lines about tea are similar to each other"
    assert (0, 2) in found.groups
    assert find_similar_pairs(vectors[:3], threshold).total == 3, "without the argument, all vectors count"
    assert cluster_sentences(texts, vectors, 3, tuple(unreadable)).labels[:3] == (NO_CLUSTER,) * 3


@pytest.mark.parametrize(("name", "language"), [("sentences", "en"), ("sentences_ko", "ko")])
def test_a_shipped_checkpoint_separates_unrelated_headlines(name, language, cache):
    headlines = read_examples(language).headlines
    vectors = bertlab.load(name).sentence_vectors(headlines)
    cosine = vectors.vectors_SP @ vectors.vectors_SP.T
    assert vectors.is_checkpoint_suited
    assert cosine[np.triu_indices(len(headlines), 1)].mean() < 0.4  # 0.6 to 0.8 without training
    for first, second in ((1, 7), (16, 23)):  # two pairs of the examples say the same in other words
        assert find_neighbours(vectors.vectors_SP, vectors.vectors_SP[first], 1, first)[0].index == second


# -- clusters and maps ---------------------------------------------------------------------------------------------


def test_a_particle_that_stands_alone_names_no_cluster():
    texts = ["쌀(米)은 너무 비싸다", "콩(豆)은 너무 싸다", "보리(麥)는 비싸다"]
    names = name_clusters(texts, [[0, 1, 2]], count=20)[0]
    assert "비싸다" in names
    assert not {"은", "는", "너무"} & set(names)


def test_clusters_are_found_and_named():
    words = ["rain", "match", "train"]
    texts = [f"the {words[index // 12]} number{index}" for index in range(36)]
    found = cluster_sentences(texts, groups(3))
    assert sorted(each.members for each in found.clusters) == [tuple(range(i, i + 12)) for i in (0, 12, 24)]
    for cluster in found.clusters:
        assert cluster.words[0] == words[cluster.members[0] // 12]
        assert cluster.centre in cluster.members
    assert all(index in found.clusters[label].members for index, label in enumerate(found.labels))


@pytest.mark.parametrize("method", list_map_methods())
def test_maps_put_similar_texts_together(method):
    points = map_sentences(groups(3), method)
    centres = points.reshape(3, 12, 2).mean(1)
    spread = np.linalg.norm(points.reshape(3, 12, 2) - centres[:, None], axis=-1).max()
    distance = min(np.linalg.norm(centres[i] - centres[j]) for i in range(3) for j in range(i))
    assert distance > spread
    np.testing.assert_array_equal(map_sentences(groups(3), method), points)


def test_no_point_of_a_small_map_is_far_outside():
    points = map_sentences(groups(5, 6, seed=7, noise=1.0))
    distance = np.linalg.norm(points - np.median(points, axis=0), axis=1)
    assert distance.max() < 2.5 * np.median(distance)  # 3.1 with scikit-learn's learning rate


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6])
def test_few_texts_have_a_map(count):
    points = map_sentences(groups(count, 1))
    assert points.shape == (count, 2)
    assert np.isfinite(points).all()


def test_reduced_vectors_keep_distances_of_a_plane():
    plane = np.random.default_rng(0).normal(size=(9, 2)) @ np.eye(2, 7)
    reduced = reduce_vectors(plane.astype(np.float32), 2)
    distances = [np.linalg.norm(rows[:, None] - rows, axis=-1) for rows in (plane, reduced)]
    np.testing.assert_allclose(distances[0], distances[1], atol=1e-5)


# -- files and commands --------------------------------------------------------------------------------------------


def test_texts_are_lines_or_a_column(tmp_path):
    (tmp_path / "a.txt").write_text("green tea\n\n  black  tea\nrain\n", encoding="utf-8")
    lines = read_texts(tmp_path / "a.txt")
    assert (lines.texts, lines.ids) == (("green tea", "black tea", "rain"), ("1", "3", "4"))
    (tmp_path / "a.csv").write_text("id,title,text\n7,T,rain\n8,U,\n9,V,tea\n", encoding="utf-8")
    table = read_texts(tmp_path / "a.csv")
    assert (table.texts, table.ids, table.num_blank) == (("rain", "tea"), ("7", "9"), 1)
    assert read_texts(tmp_path / "a.csv", "title", "text").ids == ("rain", "", "tea")
    with raises_error(DataError, "rows-column-not-found"):
        read_texts(tmp_path / "a.csv", "subject")
    (tmp_path / "b.txt").write_text("tea\n\u200b\n\x00\ufffd \u00ad\nr\u00adain\n", encoding="utf-8")
    invisible = read_texts(tmp_path / "b.txt")
    assert (invisible.ids, invisible.num_blank) == (("1", "4"), 2)


def test_vectors_are_written_with_ids(tmp_path):
    (tmp_path / "a.txt").write_text("tea\nrain\n", encoding="utf-8")
    file, vectors = read_texts(tmp_path / "a.txt"), np.eye(2, dtype=np.float32)
    write_vectors(tmp_path / "v.npy", file, vectors)
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), vectors)
    rows = [json.loads(line) for line in (tmp_path / "v.ids.jsonl").read_text().splitlines()]
    assert rows == [{"id": "1", "text": "tea"}, {"id": "2", "text": "rain"}]
    write_vectors(tmp_path / "v.parquet", file, vectors)
    assert pyarrow.parquet.read_table(tmp_path / "v.parquet").to_pylist()[1]["vector"] == [0.0, 1.0]
    with raises_error(BertlabError, "vectors-suffix-unknown"):
        write_vectors(tmp_path / "v.csv", file, vectors)


def test_the_commands(tmp_path, tiny_checkpoint, cache, capsys):
    texts = [f"tea {['rain', 'lantern'][number % 2]} {number}" for number in range(12)]
    (tmp_path / "lines.txt").write_text("\n".join(texts), encoding="utf-8")
    words = [str(tmp_path / "lines.txt"), "--checkpoint", str(tiny_checkpoint)]
    assert main(["embed", *words, "--out", str(tmp_path / "v.npy")]) == 0
    assert np.load(tmp_path / "v.npy").shape[0] == 12
    capsys.readouterr()
    assert main(["similar", *words, "--query", texts[3], "--top-k", "2", "--json"]) == 0
    captured = capsys.readouterr()
    first, _ = json.loads(captured.out)["neighbours"]
    assert round(first["cosine"], 4) == 1
    assert first["text"] == texts[int(first["id"]) - 1]
    assert "stsb_vectors" in captured.err  # the checkpoint was not trained to make sentence vectors
    assert main(["similar", *words, "--threshold", "0.1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"] > 0
    assert main(["cluster", *words, "--min-size", "2", "--out", str(tmp_path / "c.csv"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["clusters"] is not None
    with (tmp_path / "c.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["text"] for row in rows] == texts
    assert main(["similar", *words]) == 0
    assert main(["cluster", *words]) == 0
    assert main(["embed", *words, "--out", str(tmp_path / "v.txt")]) == 2


def run(command: str, lines: list[str], directory: Path, checkpoint: Path, *options: str) -> None:
    (directory / "lines.txt").write_text("\n".join(lines), encoding="utf-8")
    words = [str(directory / "lines.txt"), "--checkpoint", str(checkpoint), *options]
    assert main([command, *words]) == 0


def test_cluster_says_that_many_texts_take_long(tmp_path, tiny_checkpoint, cache, capsys, monkeypatch):
    lines = [f"tea {number}" for number in range(12)]
    run("cluster", lines, tmp_path, tiny_checkpoint)
    notice = str(Message("sentences-clustering-slow", count=12))
    assert notice not in capsys.readouterr().err
    monkeypatch.setattr(sentences, "SLOW_TO_CLUSTER", 12)
    run("cluster", lines, tmp_path, tiny_checkpoint)
    assert notice in capsys.readouterr().err


@pytest.mark.parametrize("strings", [CJK, HANGUL, EMOJI, MIXED])
def test_the_commands_accept_unusual_lines(strings, tmp_path, tiny_checkpoint, cache, capsys):
    lines = [unicodedata.normalize("NFC", line) for line in map(join_lines, strings) if line]
    run("embed", lines, tmp_path, tiny_checkpoint, "--out", str(tmp_path / "v.npy"))
    vectors = np.load(tmp_path / "v.npy")
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    capsys.readouterr()
    run("similar", lines, tmp_path, tiny_checkpoint, "--query", lines[0], "--json")
    assert json.loads(capsys.readouterr().out)["neighbours"][0]["cosine"] == pytest.approx(1, abs=1e-4)
    run("cluster", lines, tmp_path, tiny_checkpoint, "--out", str(tmp_path / "c.csv"))
    with (tmp_path / "c.csv").open(newline="", encoding="utf-8") as file:
        assert [row["text"] for row in csv.DictReader(file)] == lines


def test_a_third_of_the_lines_decides_the_language(tmp_path, cache, capsys):
    lines = [
        "The price of rice rises",
        "A new bridge opens",
        "Rain fell on the roof",
        "강에 새 다리가 열린다",
        "봄에 비가 온다",
    ]
    for count, checkpoint, unreadable in ((4, "sentences", 1), (5, "sentences_ko", 3)):
        (tmp_path / "lines.txt").write_text("\n".join(lines[:count]), encoding="utf-8")
        assert main(["similar", str(tmp_path / "lines.txt"), "--json"]) == 0
        captured = capsys.readouterr()
        assert json.loads(captured.out)["checkpoint"] == checkpoint
        assert str(Message("sentences-unreadable", count=unreadable, checkpoint=checkpoint)) in captured.err


def test_one_line_and_equal_lines_give_a_clear_line(tmp_path, tiny_checkpoint, cache, capsys):
    run("similar", ["tea"], tmp_path, tiny_checkpoint)
    captured = capsys.readouterr()
    assert str(Message("sentences-only-one")) in captured.err
    assert "0 pairs" in captured.out
    run("cluster", ["tea"] * 5000, tmp_path, tiny_checkpoint)
    captured = capsys.readouterr()
    assert str(Message("sentences-too-few-to-cluster", least=MIN_TEXTS)) in captured.err
    assert "0 clusters; 5,000 of 5,000 texts in no cluster" in captured.out
    run("similar", ["tea"] * 5000, tmp_path, tiny_checkpoint, "--json")
    found = json.loads(capsys.readouterr().out)
    assert (found["total"], len(found["pairs"]), len(found["groups"])) == (5000 * 4999 // 2, 10, 1)
    run("embed", ["tea"], tmp_path, tiny_checkpoint, "--out", str(tmp_path / "v.npy"))
    assert "1 vector of" in capsys.readouterr().out


def test_a_hundred_thousand_lines_are_embedded_once_each(tmp_path, tiny_checkpoint, cache):
    lines = [f"tea {number % 50}" for number in range(100_000)]
    run("embed", lines, tmp_path, tiny_checkpoint, "--out", str(tmp_path / "v.npy"))
    vectors = np.load(tmp_path / "v.npy", mmap_mode="r")
    assert len(vectors) == 100_000
    np.testing.assert_array_equal(vectors[:50], vectors[-50:])
    run("similar", lines, tmp_path, tiny_checkpoint, "--threshold", "1.01")


def test_scikit_learn_is_imported_only_where_it_is_needed():
    """Importing it takes seconds, and most commands do not need it."""
    for path in Path(bertlab.__file__).parent.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.partition(".")[0] for name in names} & {"sklearn", "scipy", "umap"}, path

"""The page Sentences: its example, its views, a link to a selection, and lines of all kinds."""

import re

import numpy as np
import pytest
from bertlab_app.examples import read_examples
from bertlab_app.widgets import components
from support.figures import read_charts
from support.pages import HOSTILE, bodies, errors, open_example_page
from support.texts import text as interface_text

from bertlab.abilities.sentences.clusters import NO_CLUSTER, Cluster, Clusters
from bertlab.abilities.sentences.figures import MAX_MATRIX_ROWS, MAX_NAMED_CLUSTERS, cluster_matrix, sentence_map


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path_factory, shipped):
    monkeypatch.setenv("BERTLAB_CACHE", str(tmp_path_factory.mktemp("cache")))


def open_page(**parameters):
    page = open_example_page("sentences", **parameters)
    return page


def rows_of(page) -> list[dict]:
    (table,) = page.dataframe
    return table.value.to_dict("records")


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_page_opens_with_neighbours_of_its_example(language):
    page = open_page(lang=language)
    assert not errors(page)
    assert len(set(read_examples(language).headlines)) == 40
    lines, rows = page.text_area[0].value.splitlines(), rows_of(page)
    assert len(rows) == 10
    for _, number, line in map(dict.values, rows):  # the names of the columns are translated
        assert lines[number - 1] == line != lines[0]
    assert len(read_charts(page)) == 1


def test_a_link_opens_a_view():
    assert [row["number"] for row in rows_of(open_page(view="selection", chosen="[2,5,99,-1]"))] == [3, 6]
    assert len(rows_of(open_page(view="selection", group="all"))) == 40
    page = open_page(lines="tea\ntea\nrain fell\ntea", view="similar", threshold="1.0")
    assert [row["number"] for row in rows_of(page)] == [1, 2, 4]
    assert len(read_charts(open_page(view="matrix"))) == 2


def notes(page) -> str:
    return " ".join(body for body in bodies(page) if 'class="note' in body)


def test_too_few_or_too_many_lines_give_a_clear_line():
    assert "at least two" in notes(open_page(lines=" "))
    assert "only one line" in notes(open_page(lines="tea"))
    page = open_page(lines="a\n" * 100_000, view="similar")
    assert "100,000" in notes(page)
    assert "All 5,000 lines are equal" in notes(page)
    assert len(rows_of(page)) == 5000


def test_lines_that_the_checkpoint_cannot_read_are_counted(monkeypatch):
    monkeypatch.delenv("BERTLAB_CHECKPOINTS")  # the tiny checkpoints of the tests know Korean letters
    lines = ["The price of rice rises", "A new bridge opens", "Rain fell", "강에 다리가 열린다"]
    page = open_page(lines="\n".join(lines))
    assert "1 line is in a language or script that sentences cannot read" in notes(page)
    assert "cannot read" not in notes(open_page(lines="\n".join(lines[:3])))


def test_unusual_lines_are_shown_as_text():
    lines = f"🙂🙃\n한국어와 English 漢字\n{HOSTILE}\n\u200b\nᄒᆞᆫ글 ㅋ\ntea"
    page = open_page(lines=lines, view="selection", group="all")
    assert not errors(page)
    assert rows_of(page)[2]["line"] == HOSTILE
    assert len(rows_of(page)) == 5  # a line of invisible characters counts as blank


# -- figures -------------------------------------------------------------------------------------------------------


def make_clusters(count: int, size: int = 2) -> Clusters:
    members = [tuple(range(size * index, size * index + size)) for index in range(count)]
    clusters = tuple(Cluster((f"word{index}",), each, each[0]) for index, each in enumerate(members))
    labels = tuple(index // size for index in range(size * count))
    return Clusters(clusters, (*labels, NO_CLUSTER))


def test_clusters_differ_in_colour_and_symbol():
    clusters = make_clusters(MAX_NAMED_CLUSTERS + 3)
    count = len(clusters.labels)
    figure = sentence_map(["<b>tea</b>"] * count, np.zeros((count, 2)), clusters)
    looks = [(trace.marker.color, trace.marker.symbol) for trace in figure.data]
    assert len(set(looks)) == len(looks) == MAX_NAMED_CLUSTERS + 2
    assert sorted(index for trace in figure.data for index in trace.customdata) == list(range(count))
    assert "<b>" not in figure.data[0].text[0]


def test_the_overview_has_mean_cosines_without_the_diagonal():

    vectors = np.array([[1, 0], [0.6, 0.8], [0, 1], [0, 1], [1, 0]], np.float32)
    (heatmap,) = cluster_matrix(vectors, make_clusters(2)).data
    np.testing.assert_allclose(heatmap.z, [[0.6, 0.4], [0.4, 1.0]], atol=1e-3)
    many = make_clusters(MAX_MATRIX_ROWS + 5)
    assert len(cluster_matrix(np.ones((len(many.labels), 2)), many).data[0].z) == MAX_MATRIX_ROWS


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_the_upload_field_is_in_the_language_of_the_interface(lang):
    """Streamlit has its texts in English only, so the style sheet replaces them."""
    page = open_page(lang=lang, lines="")
    (sheet,) = [block.proto.body for block in page.get("html") if "--bertlab-upload:" in block.proto.body]
    assert f'--bertlab-upload: "{interface_text("upload-button", lang)}"' in sheet
    assert "PARQUET" in sheet
    css = (components.STATIC / "app.css").read_text(encoding="utf-8")
    assert set(re.findall(r"--bertlab-upload[a-z-]*", css)) == set(re.findall(r"--bertlab-upload[a-z-]*", sheet))

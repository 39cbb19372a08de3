"""Sentences: a vector for each line, a map of the vectors with clusters, and the cosines of the lines."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from bertlab_app import calls, server, url
from bertlab_app.data import labelled_rows, sessions
from bertlab_app.i18n import language, t
from bertlab_app.widgets import display, fields, files, frame, plots, selection
from bertlab_app.widgets.batch import draw_csv_button

from bertlab.abilities.sentences.clusters import (
    NO_CLUSTER,
    Clusters,
    MapMethod,
    cluster_sentences,
    list_map_methods,
    map_sentences,
)
from bertlab.abilities.sentences.figures import (
    MAX_MATRIX_ROWS,
    cluster_matrix,
    cosine_matrix,
    name_cluster,
    sentence_map,
)
from bertlab.abilities.sentences.vectors import SimilarPairs, find_neighbours, find_similar_pairs
from bertlab.text.readers.pasted_table import parse_pasted_table
from bertlab.text.readers.registry import upload_suffixes
from bertlab.text.readers.rows import Rows, format_text
from bertlab.text.readers.text_file import TEXT_NAMES, choose_text_column, join_lines

MAX_LINES = 5_000  # further lines are left out, because all users share the CPU cores
NUM_NEIGHBOURS = 10  # how many neighbours (most similar lines) of a line are listed
MAX_GROUPS = 200  # the maximum number of groups of similar lines that are listed
MAX_LINKED = 300  # the maximum number of selected lines that the address contains
LABEL_LENGTH = 80  # how many characters of a line are shown in the field that chooses a line
LANGUAGE_SAMPLE = 50  # how many lines at the beginning are read to recognise the language
MAX_LINES_IN_CODE = 200  # if there are more lines, the Python code on the page reads them from a file


@dataclass(frozen=True)
class Lines:
    """The lines to compare."""

    texts: tuple[str, ...]  # the lines, without those that are blank or have only invisible characters
    file: str = ""  # the name of the uploaded file; "" for pasted lines


def read_lines(example: tuple[str, ...]) -> Lines:
    """Draw the fields, and return the lines; notes say which lines are left out."""
    left, right = st.columns([3, 2])
    pasted_text = fields.text(left.text_area, t("sentences-lines"), "\n".join(example), key="lines", height=180)
    fields.note_too_long_for_link(left, pasted_text)
    upload = right.file_uploader(t("sentences-upload"), upload_suffixes(), key="upload-lines")
    right.caption(t("sentences-upload-help", limit=MAX_LINES))
    table = labelled_rows.read_upload(upload, by_line=True) if upload else parse_pasted_table(pasted_text, TEXT_NAMES)
    texts = choose_column(right, table) if table else pasted_text.splitlines()
    lines = [line for line in map(join_lines, texts) if line]
    if len(lines) > MAX_LINES:
        frame.note(t("sentences-too-many", limit=MAX_LINES, count=len(lines)))
    return Lines(tuple(lines[:MAX_LINES]), upload.name if upload else "")


def choose_column(container, table: Rows) -> list[str]:
    column = choose_text_column(table.columns, TEXT_NAMES, table.rows)
    if len(table.columns) > 1:
        column = fields.column(container, t("batch-text-column"), column, table.columns, "lines-column")
    return [format_text(row.get(column)) for row in table.rows]


# The vectors and the unreadable lines are not part of the cache keys: the checkpoint and the lines determine them.
@st.cache_resource(max_entries=16, show_spinner=False)
def cluster_cached(
    checkpoint: sessions.CheckpointKey, lines: Sequence[str], _vectors_SP, min_size: int, _unreadable_indices
) -> Clusters:
    return cluster_sentences(lines, _vectors_SP, min_size, _unreadable_indices)


@st.cache_resource(max_entries=16, show_spinner=False)
def map_cached(checkpoint: sessions.CheckpointKey, lines: Sequence[str], _vectors_SP, method: MapMethod):
    return map_sentences(_vectors_SP, method)


@st.cache_resource(max_entries=16, show_spinner=False)
def find_pairs_cached(
    checkpoint: sessions.CheckpointKey, lines: Sequence[str], _vectors_SP, threshold: float, _unreadable_texts
) -> SimilarPairs:
    return find_similar_pairs(_vectors_SP, threshold, unreadable_texts=_unreadable_texts)


def draw_map(checkpoint: sessions.CheckpointKey, lines: calls.Expression, vectors: calls.Expression) -> Clusters:
    """Draw the map with its controls, and return the clusters."""
    left, right = st.columns([1, 1])
    names = {name: t(f"sentences-map-{name}") for name in list_map_methods()}
    method = fields.choice(left.segmented_control, t("sentences-map-method"), names, "map", required=True)
    sizes, automatic = range(0, 31), t("sentences-min-size-auto")
    min_size = fields.integer_choice(
        right.select_slider, t("sentences-min-size"), sizes, 0, key="size", help=t("sentences-min-size-help"),
        format_func=lambda size: f"{size}" if size else automatic,
    )  # fmt: skip
    min_size = 2 if min_size == 1 else min_size  # at least two lines; 0 lets `cluster_sentences` choose the minimum
    vectors_SP = vectors.field("vectors_SP")
    with st.spinner(t("sentences-map-progress"), show_time=True):
        server.import_slow_modules()
        clusters = calls.assign("clusters", calls.call_function(
            cluster_sentences, lines, vectors_SP, min_size, vectors.field("unreadable_indices"),
            compute_with=lambda *values: cluster_cached(checkpoint, *values),
        ))  # fmt: skip
        points = calls.assign("points", calls.call_function(
            map_sentences, vectors_SP, method,
            compute_with=lambda *values: map_cached(checkpoint, lines.result, *values),
        ))  # fmt: skip
    cluster_result = clusters.result
    words = [
        " ".join(cluster_result.clusters[label].words) if label != NO_CLUSTER else "" for label in cluster_result.labels
    ]
    data = {
        "line": list(lines.result), "cluster": [label + 1 for label in cluster_result.labels], "words": words,
        "x": points.result[:, 0].tolist(), "y": points.result[:, 1].tolist(),
    }  # fmt: skip
    plots.draw(
        "sentence-map", sentence_map, lines, points, clusters, data=data, on_selection=store_selection,
        lang=language(),
    )  # fmt: skip
    # The address keeps only the values that are stored again each time the script of the page is executed.
    url.store("chosen", url.recall("chosen", "[]"), "[]")
    num_outside = cluster_result.labels.count(NO_CLUSTER)
    count, total = len(cluster_result.clusters), len(cluster_result.labels)
    st.caption(t("sentences-map-help", clusters=count, outside=num_outside, total=total))
    display.explain(f"map_{method}", "cluster", "cluster_words")
    return cluster_result


def store_selection(indices: Sequence[int]) -> None:
    """Store the lines that a lasso, box or click selects, and show them; if it is one line, show its neighbours."""
    url.store("chosen", url.write_value(list(indices)[:MAX_LINKED]), "[]")
    st.session_state["sentences.chosen"] = tuple(indices)
    if len(indices) == 1:
        set_field("line", str(indices[0]))
        set_field("view", "neighbours")
    else:
        set_field("group", "lasso")
        set_field("view", "selection")


def set_field(name: str, value: str) -> None:
    """Set the value of a field before the page is drawn again."""
    st.session_state.pop(name, None)
    url.store(name, value)


def draw_selection(lines: Sequence[str], clusters: Clusters) -> None:
    """List the lines that were selected on the map, or those of a cluster, and offer them as a CSV file."""
    names = {"lasso": t("sentences-group-lasso"), "all": t("sentences-group-all")}
    names |= {str(index): name_cluster(cluster, language()) for index, cluster in enumerate(clusters.clusters)}
    if NO_CLUSTER in clusters.labels and clusters.clusters:
        names[str(NO_CLUSTER)] = t("sentences-group-none", count=clusters.labels.count(NO_CLUSTER))
    group = fields.choice(st.selectbox, t("sentences-group"), names, "group")
    if group == "lasso":
        chosen_indices = sorted(read_selection(len(lines)))
    elif group == "all":
        chosen_indices = list(range(len(lines)))
    else:
        chosen_indices = [index for index, label in enumerate(clusters.labels) if label == int(group)]
    if not chosen_indices:
        st.caption(t("sentences-group-empty"))
        return
    rows = []
    for index in chosen_indices:
        label = clusters.labels[index]
        words = ", ".join(clusters.clusters[label].words) if label != NO_CLUSTER else ""
        rows.append({"number": index + 1, "line": lines[index], "words": words})
    draw_rows(rows, "lines")


def read_selection(count: int) -> list[int]:
    """Read the indices of the selected lines: from the address or, if they were too many for it, from the session."""
    linked_indices = url.parse_value(url.recall("chosen", "[]"), [])
    linked_indices = linked_indices if isinstance(linked_indices, list) else []
    stored_indices = st.session_state.get("sentences.chosen", ())
    is_link_incomplete = len(linked_indices) == MAX_LINKED and list(stored_indices[:MAX_LINKED]) == linked_indices
    chosen_indices = stored_indices if is_link_incomplete else linked_indices
    return [index for index in chosen_indices if type(index) is int and 0 <= index < count]


def draw_neighbours(lines: Sequence[str], vectors: calls.Expression) -> None:
    """Let the user choose a line, and list the lines that have the largest cosine with that line."""
    indices = range(len(lines))
    line_index = fields.integer_choice(
        st.selectbox, t("sentences-line"), indices, 0, key="line",
        format_func=lambda index: f"{index + 1} · {lines[index][:LABEL_LENGTH]}",
    )  # fmt: skip
    neighbours = calls.call_function(
        find_neighbours,
        vectors.field("vectors_SP"),
        vectors.field("vectors_SP")[line_index],
        NUM_NEIGHBOURS,
        line_index,
    )
    rows = [
        {"cosine": neighbour.cosine, "number": neighbour.index + 1, "line": lines[neighbour.index]}
        for neighbour in neighbours.result
    ]
    draw_rows(rows, "neighbours")
    display.explain("sentence_cosine")


def draw_similar(checkpoint: sessions.CheckpointKey, lines: Sequence[str], vectors: calls.Expression) -> None:
    """Draw a slider for a cosine, and list the groups that result from joining all pairs with at least this cosine."""
    threshold = fields.number(
        st.slider, t("sentences-threshold"), 0.5, 1.0, 0.9, key="threshold", step=0.01, format="%.2f",
        help=t("sentences-threshold-help"),
    )  # fmt: skip
    similar_pairs = calls.call_function(
        # the threshold is slightly lower than chosen, because equal vectors may have a rounded cosine of 0.9999999
        find_similar_pairs, vectors.field("vectors_SP"), threshold - 1e-6,
        unreadable_texts=vectors.field("unreadable_texts"),
        compute_with=lambda *values, unreadable_texts: find_pairs_cached(
            checkpoint, tuple(lines), *values, unreadable_texts
        ),
    ).result  # fmt: skip
    st.caption(t("sentences-pairs", pairs=similar_pairs.total, groups=len(similar_pairs.groups)))
    rows = [
        {"group": number, "number": index + 1, "line": lines[index]}
        for number, group in enumerate(similar_pairs.groups[:MAX_GROUPS], 1)
        for index in group
    ]
    if rows:
        draw_rows(rows, "similar")


def draw_matrix(lines: calls.Expression, vectors: calls.Expression, clusters: Clusters) -> None:
    """Draw the cosine of every two lines or, for many lines, the mean cosine of every two clusters."""
    vectors_SP = vectors.field("vectors_SP")
    if len(lines.result) <= MAX_MATRIX_ROWS:
        plots.draw("cosines", cosine_matrix, lines, vectors_SP, lang=language())
        st.caption(t("sentences-matrix-help"))
    elif clusters.clusters:
        frame.note(t("sentences-matrix-overview", limit=MAX_MATRIX_ROWS))
        plots.draw("cosines", cluster_matrix, vectors_SP, clusters, lang=language())
    else:
        frame.note(t("sentences-matrix-none", limit=MAX_MATRIX_ROWS))
    display.explain("sentence_cosine")


def draw_rows(rows: list[dict], name: str) -> None:
    """Draw rows as a table with translated column names, and offer them as a CSV file."""
    rows = [{t(f"sentences-column-{column}"): cell for column, cell in row.items()} for row in rows]
    cosine_column = t("sentences-column-cosine")
    config = {cosine_column: st.column_config.ProgressColumn(min_value=-1.0, max_value=1.0, format="%.2f")}
    st.dataframe(rows, hide_index=True, column_config=config if cosine_column in rows[0] else None, key=f"table-{name}")
    draw_csv_button(rows, name)


def make_lines_expression(lines: Lines) -> calls.Expression:
    """Make the expression of the lines; if there are many or they were uploaded, the code reads them from a file."""
    if not lines.file and len(lines.texts) <= MAX_LINES_IN_CODE:
        return calls.assign("lines", lines.texts)
    steps = (
        "from bertlab.text.readers.text_file import read_texts",
        f"lines = read_texts({lines.file or 'lines.txt'!r}).texts[:{MAX_LINES}]",
    )
    return calls.Expression(lines.texts, "lines", steps)


def show_vectors(lines: Lines) -> None:
    """Compute the vectors of at least two lines, and show them."""
    checkpoint = selection.open_checkpoint("embed", *lines.texts[:LANGUAGE_SAMPLE])
    if len(set(lines.texts)) == 1:
        frame.note(t("sentences-all-equal", count=len(lines.texts)))
    lines_expression, progress = make_lines_expression(lines), frame.progress_bar(st.empty(), "sentences-progress")
    vectors = calls.call_session(checkpoint, "sentence_vectors", lines_expression, progress=progress)
    name = os.path.basename(sessions.open_session(checkpoint).name)
    if vectors.result.unreadable_indices:
        frame.note(t("sentences-unreadable-page", count=len(vectors.result.unreadable_indices), checkpoint=name))
    if not vectors.result.is_checkpoint_suited:
        frame.note(t("sentences-untrained-page", checkpoint=name))
    if vectors.result.truncated:
        frame.note(t("sentences-cut", count=len(vectors.result.truncated)))
    clusters = draw_map(checkpoint, lines_expression, vectors)
    views = {name: t(f"sentences-view-{name}") for name in ("neighbours", "selection", "similar", "matrix")}
    view = fields.choice(
        st.segmented_control, t("sentences-view"), views, "view", required=True, label_visibility="collapsed"
    )
    if view == "selection":
        draw_selection(lines.texts, clusters)
    elif view == "neighbours":
        draw_neighbours(lines.texts, vectors)
    elif view == "similar":
        draw_similar(checkpoint, lines.texts, vectors)
    else:
        draw_matrix(lines_expression, vectors, clusters)


frame.heading("sentences")
with frame.show_errors():
    lines = read_lines(selection.examples_for("embed").headlines)
    if len(lines.texts) < 2:
        frame.note(t("sentences-too-few", count=len(lines.texts)))
    else:
        show_vectors(lines)
files.draw_panel("embed")

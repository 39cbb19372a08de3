"""The views of the page Sentences: map and clusters, selected lines, neighbours, similar lines, matrix.

Shape legend: S sentences (the lines), P dimensions of a sentence vector.
"""

from collections.abc import Sequence

import streamlit as st

from bertlab.abilities.sentences.clusters import (
    NO_CLUSTER,
    Clusters,
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
from bertlab.abilities.sentences.vectors import find_neighbours, find_similar_pairs
from bertlab_app import calls, display, fields, frame, plots, server, url, url_fields
from bertlab_app.data import sentence_results, sessions
from bertlab_app.i18n import language, t
from bertlab_app.parts.batch import encode_csv

NUM_NEIGHBOURS = 10  # how many neighbours (most similar lines) of a line are listed
MAX_GROUPS = 200  # the maximum number of groups of similar lines that are listed
MAX_LINKED = 300  # the maximum number of selected lines that the address contains
LABEL_LENGTH = 80  # how many characters of a line are shown in the field that chooses a line


def draw_map(checkpoint: sessions.CheckpointKey, lines: calls.Expression, vectors: calls.Expression) -> Clusters:
    """Draw the map with its controls, and return the clusters. A lasso selects lines, a click one line."""
    left, right = st.columns([1, 1])
    names = {name: t(f"sentences-map-{name}") for name in list_map_methods()}
    method = fields.choice(left.segmented_control, t("sentences-map-method"), names, "map", required=True)
    sizes, automatic = range(0, 31), t("sentences-min-size-auto")
    min_size = url_fields.integer_choice(
        right.select_slider, t("sentences-min-size"), sizes, 0, key="size", help=t("sentences-min-size-help"),
        format_func=lambda size: f"{size}" if size else automatic,
    )  # fmt: skip
    min_size = 2 if min_size == 1 else min_size  # at least two lines; 0 lets `cluster_sentences` choose the minimum
    vectors_SP = vectors.field("vectors_SP")
    with st.spinner(t("sentences-map-progress"), show_time=True):
        server.import_slow_modules()
        clusters = calls.assign("clusters", calls.call_function(
            cluster_sentences, lines, vectors_SP, min_size, vectors.field("unreadable_indices"),
            compute_with=lambda *values: sentence_results.cluster_cached(checkpoint, *values),
        ))  # fmt: skip
        points = calls.assign("points", calls.call_function(
            map_sentences, vectors_SP, method,
            compute_with=lambda *values: sentence_results.map_cached(checkpoint, lines.result, *values),
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
        "sentence-map", sentence_map, lines, points, clusters, data=data, on_selection=_store_selection,
        lang=language(),
    )  # fmt: skip
    # The address keeps only the values that are stored again each time the script of the page is executed.
    url.store("chosen", url.recall("chosen", "[]"), "[]")
    num_outside = cluster_result.labels.count(NO_CLUSTER)
    count, total = len(cluster_result.clusters), len(cluster_result.labels)
    st.caption(t("sentences-map-help", clusters=count, outside=num_outside, total=total))
    display.explain(f"map_{method}", "cluster", "cluster_words")
    return cluster_result


def _store_selection(indices: Sequence[int]) -> None:
    """Store the lines that a lasso, box or click selects, and show them; if it is one line, show its neighbours."""
    url.store("chosen", url.write_value(list(indices)[:MAX_LINKED]), "[]")
    st.session_state["sentences.chosen"] = tuple(indices)
    if len(indices) == 1:
        _set_field("line", str(indices[0]))
        _set_field("view", "neighbours")
    else:
        _set_field("group", "lasso")
        _set_field("view", "selection")


def _set_field(name: str, value: str) -> None:
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
        chosen_indices = sorted(_read_selection(len(lines)))
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
    _draw_rows(rows, "lines")


def _read_selection(count: int) -> list[int]:
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
    line_index = url_fields.integer_choice(
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
    _draw_rows(rows, "neighbours")
    display.explain("sentence_cosine")


def draw_similar(checkpoint: sessions.CheckpointKey, lines: Sequence[str], vectors: calls.Expression) -> None:
    """Draw a slider for a cosine, and list the groups that result from joining all pairs with at least this cosine."""
    threshold = url_fields.number(
        st.slider, t("sentences-threshold"), 0.5, 1.0, 0.9, key="threshold", step=0.01, format="%.2f",
        help=t("sentences-threshold-help"),
    )  # fmt: skip
    similar_pairs = calls.call_function(
        # the threshold is slightly lower than chosen, because equal vectors may have a rounded cosine of 0.9999999
        find_similar_pairs, vectors.field("vectors_SP"), threshold - 1e-6,
        unreadable_texts=vectors.field("unreadable_texts"),
        compute_with=lambda *values, unreadable_texts: sentence_results.find_pairs_cached(
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
        _draw_rows(rows, "similar")


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


def _draw_rows(rows: list[dict], name: str) -> None:
    """Draw rows as a table with translated column names, and offer them as a CSV file."""
    rows = [{t(f"sentences-column-{column}"): cell for column, cell in row.items()} for row in rows]
    cosine_column = t("sentences-column-cosine")
    config = {cosine_column: st.column_config.ProgressColumn(min_value=-1.0, max_value=1.0, format="%.2f")}
    st.dataframe(rows, hide_index=True, column_config=config if cosine_column in rows[0] else None, key=f"table-{name}")
    st.download_button(
        t("batch-download"), encode_csv(rows), f"{name}.csv", "text/csv", on_click="ignore",
        icon=":material/download:", key=f"download-{name}",
    )  # fmt: skip

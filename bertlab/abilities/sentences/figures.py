"""Figures of sentence vectors: a map with clusters, and the cosines of sentences or of clusters.

Shape legend: S texts, P dimensions of a vector, C clusters, 2 coordinates on the map.
"""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bertlab.abilities.sentences.clusters import NO_CLUSTER, Cluster, Clusters
from bertlab.config.languages import DEFAULT, render
from bertlab.views.figures import COLOURS, DIVERGING, GREY, empty_figure, escape_markup
from bertlab.views.shortening import shorten, shorten_to_width

MAX_NAMED_CLUSTERS = 14  # how many clusters have a name, a colour and a symbol of their own; the others look alike
MAX_MATRIX_ROWS = 40  # maximum number of rows of a matrix; with more texts or clusters, it would not be legible
# A cluster has a symbol as well as a colour, for readers who cannot tell the colours apart.
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon")
HOVER_LENGTH = 90  # maximum number of characters of a text in a tooltip
# maximum widths of a cluster's name on the map and beside the matrix, in Latin letters
NAME_WIDTH, LABEL_WIDTH = 22, 16


def sentence_map(
    texts: Sequence[str],
    points_S2: np.ndarray,
    clusters: Clusters,
    *,
    lang: str = DEFAULT,
) -> go.Figure:
    """Draw the texts as points; a cluster has a colour, a symbol and a name.

    The customdata of a point is the index of its text.

    Args:
        texts: the texts.
        points_S2: their points, from `explore.clusters.map_sentences`.
        clusters: from `explore.clusters.cluster_sentences`.
        lang: the language of the labels.
    """
    figure = empty_figure(height=460)
    names = [name_cluster(each, lang) for each in clusters.clusters[:MAX_NAMED_CLUSTERS]]
    # For each text: the index of its cluster, MAX_NAMED_CLUSTERS if the cluster has no name of its own, or NO_CLUSTER.
    shown_label_S = np.minimum(np.array(clusters.labels, int), MAX_NAMED_CLUSTERS)
    groups = [(NO_CLUSTER, render("figure-no-cluster", lang), GREY, "circle-open")]
    groups += [
        (index, name, COLOURS[index % len(COLOURS)], SYMBOLS[(index + index // len(COLOURS)) % len(SYMBOLS)])
        for index, name in enumerate(names)
    ]
    groups += [(MAX_NAMED_CLUSTERS, render("figure-other-clusters", lang), GREY, "x-thin-open")]
    size = 11 if len(texts) <= 300 else 7 if len(texts) <= 1500 else 5
    for label, name, colour, symbol in groups:
        rows = np.flatnonzero(shown_label_S == label)
        if not len(rows):
            continue
        figure.add_scatter(
            x=np.round(points_S2[rows, 0], 3).tolist(), y=np.round(points_S2[rows, 1], 3).tolist(), mode="markers",
            name=escape_markup(name), customdata=rows.tolist(),
            text=[escape_markup(shorten(texts[row], HOVER_LENGTH)) for row in rows],
            hovertemplate="%{text}<extra></extra>",
            marker={"color": colour, "symbol": symbol, "size": size, "opacity": 0.55 if label == NO_CLUSTER else 0.9},
        )  # fmt: skip
    for index, cluster in enumerate(clusters.clusters[:MAX_NAMED_CLUSTERS]):
        x, y = np.median(points_S2[list(cluster.members)], axis=0)
        words = escape_markup(shorten_to_width(", ".join(cluster.words[:2]) or names[index], NAME_WIDTH))
        figure.add_annotation(
            x=float(x), y=float(y), text=f"<b>{words}</b>", showarrow=False, yshift=15, font={"size": 13}
        )
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    figure.update_layout(
        showlegend=True, legend={"orientation": "h", "y": -0.02, "yanchor": "top", "font": {"size": 13}},
        dragmode="lasso", uirevision="map",
    )  # fmt: skip
    return figure


def name_cluster(cluster: Cluster, lang: str = DEFAULT) -> str:
    """Name a cluster by its words and its size."""
    words = ", ".join(cluster.words[:3]) or render("figure-cluster-without-words", lang)
    return f"{words} ({len(cluster.members):,})"


def cosine_matrix(texts: Sequence[str], vectors_SP: np.ndarray, *, lang: str = DEFAULT) -> go.Figure:
    """Draw the cosines of all pairs of texts as a matrix.

    Args:
        texts: the texts, not many more than `MAX_MATRIX_ROWS`.
        vectors_SP: their vectors, of length 1.
        lang: the language of the labels.
    """
    numbers = [f"{number}" for number in range(1, len(texts) + 1)]
    hover = [escape_markup(shorten(text, HOVER_LENGTH)) for text in texts]
    return _draw_matrix(numbers, vectors_SP @ vectors_SP.T, hover, lang)


def cluster_matrix(vectors_SP: np.ndarray, clusters: Clusters, *, lang: str = DEFAULT) -> go.Figure:
    """Draw the mean cosine between the texts of every two clusters, as an overview of many texts.

    Args:
        vectors_SP: the vectors of all texts, of length 1.
        clusters: from `explore.clusters.cluster_sentences`, with at least one cluster.
        lang: the language of the labels.
    """
    return _draw_matrix(*_mean_cosines(vectors_SP, clusters, lang), lang)


def _mean_cosines(vectors_SP: np.ndarray, clusters: Clusters, lang: str) -> tuple[list[str], np.ndarray, list[str]]:
    """Compute the mean cosine of every two clusters, without the cosine of a text with itself.

    Returns:
        The labels of the clusters, the mean cosines, and the texts of the tooltips.
    """
    shown_clusters = clusters.clusters[:MAX_MATRIX_ROWS]
    names = [name_cluster(cluster, lang) for cluster in shown_clusters]
    sums_CP = np.stack([vectors_SP[list(cluster.members)].sum(0) for cluster in shown_clusters])
    sizes_C = np.array([len(cluster.members) for cluster in shown_clusters])
    total_CC = sums_CP @ sums_CP.T - np.diag(sizes_C)
    num_pairs_CC = np.outer(sizes_C, sizes_C) - np.diag(sizes_C)
    labels = [
        f"{index + 1} · {shorten_to_width(', '.join(cluster.words[:2]), LABEL_WIDTH)}"
        for index, cluster in enumerate(shown_clusters)
    ]
    return labels, total_CC / num_pairs_CC.clip(1), list(map(escape_markup, names))


def _draw_matrix(labels: Sequence[str], cosine_SS: np.ndarray, hover: Sequence[str], lang: str) -> go.Figure:
    """Draw a symmetric matrix of cosines.

    Args:
        labels: the labels of the rows; the label of a column is the part of the row's label before " · ".
        cosine_SS: the cosines.
        hover: for each row and its column, the text in a tooltip, as HTML.
        lang: the language of the colour scale.
    """
    figure = empty_figure(height=min(640, 130 + 22 * max(len(labels), 6)))
    texts = [[f"{row}<br>{column}" for column in hover] for row in hover]
    labels = list(map(escape_markup, labels))
    positions = list(range(len(labels)))
    figure.add_heatmap(
        x=positions, y=positions, z=np.round(cosine_SS, 3).tolist(), zmin=-1, zmax=1, colorscale=DIVERGING,
        text=texts, hovertemplate="%{text}<br><b>%{z:.2f}</b><extra></extra>",
        colorbar={"thickness": 10, "len": 0.9,
                  "title": {"text": render("figure-cosine-similarity", lang), "side": "right"}},
    )  # fmt: skip
    ticks = {"tickvals": positions, "ticktext": labels, "tickfont": {"size": 11}}
    figure.update_yaxes(**ticks, autorange="reversed")
    figure.update_xaxes(**(ticks | {"ticktext": [label.partition(" · ")[0] for label in labels], "tickangle": 0}))
    return figure

"""Figures of position vectors, learned and sinusoidal: how similar the vectors of two positions are.

Shape legend: S positions on the axes of the matrices, P distances between two positions.
"""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bertlab.abilities.wordpiece.positions import PositionSimilarity
from bertlab.config.languages import DEFAULT, render
from bertlab.views.figures import BLUE, GREY, GRID, ORANGE, empty_figure

# (place on the scale, colour) for cosines from -1 to 1
_SCALE = [[0.0, ORANGE], [0.5, "rgba(127, 127, 127, 0.08)"], [1.0, BLUE]]


def position_maps(similarity: PositionSimilarity, *, lang: str = DEFAULT) -> go.Figure:
    """Draw the cosine similarity of the vectors of every two positions: learned vectors left, sinusoidal ones right.

    Args:
        similarity: from `Session.position_similarity`.
        lang: the language of the labels.
    """
    titles = [render(f"figure-{name}-positions", lang) for name in ("learned", "sinusoidal")]
    figure = make_subplots(1, 2, subplot_titles=titles, horizontal_spacing=0.12)
    positions = similarity.positions_S.tolist()
    for column, matrix in enumerate((similarity.learned_SS, similarity.sinusoidal_SS), 1):
        figure.add_heatmap(
            x=positions, y=positions, z=np.round(matrix, 3).tolist(), zmin=-1, zmax=1, colorscale=_SCALE,
            showscale=column == 2, colorbar={"thickness": 10, "len": 0.9},
            hovertemplate="%{x}, %{y}: %{z:.2f}<extra></extra>", row=1, col=column,
        )  # fmt: skip
        figure.update_yaxes(autorange="reversed", showgrid=False, row=1, col=column)
        figure.update_xaxes(showgrid=False, row=1, col=column)
    figure.update_layout(
        empty_figure(height=340).layout.to_plotly_json() | {"margin": {"t": 40, "b": 30, "l": 40, "r": 10}}
    )
    return figure


def similarity_by_distance(similarity: PositionSimilarity, *, lang: str = DEFAULT) -> go.Figure:
    """Draw the mean cosine similarity of two position vectors for each distance between the positions.

    There is one curve for learned and one for sinusoidal vectors.

    Args:
        similarity: from `Session.position_similarity`.
        lang: the language of the labels.
    """
    figure = empty_figure(height=280)
    for name, values, colour, dash in (
        ("learned", similarity.learned_P, BLUE, "solid"), ("sinusoidal", similarity.sinusoidal_P, GREY, "dash"),
    ):  # fmt: skip
        figure.add_scatter(
            x=list(range(len(values))), y=np.round(values, 4).tolist(), mode="lines",
            name=render(f"figure-{name}-positions", lang), line={"color": colour, "dash": dash, "width": 2.5},
            hovertemplate="%{x}: %{y:.2f}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title=render("figure-position-distance", lang), showgrid=False)
    figure.update_yaxes(title=render("figure-cosine-similarity", lang), showgrid=True, gridcolor=GRID, nticks=5)
    figure.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.12})
    return figure

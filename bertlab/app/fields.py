"""Input fields that several pages share. Each is bound to the address by `bertlab.app.url`."""

from collections.abc import Callable, Sequence

import streamlit as st

from bertlab.app import url
from bertlab.app.data import sessions
from bertlab.app.i18n import t
from bertlab.config.config import ModelConfig

TAU = 30.0  # the threshold of "no answer" ranges from -30 to 30
NUMBER_WIDTH = 150  # pixels; two number fields fit side by side on a telephone
LIVE = "120ms"  # a text field is read when its user pauses this long


def text_line(place, label: str, default: str, *, key: str, **settings) -> str:
    """A one-line text field in a place (`st` or a column), read while it is typed."""
    value = url.text(place.text_input, label, default, key=key, live=LIVE, **settings)
    note_too_long_for_link(place, value)
    return value


def note_too_long_for_link(place, text: str) -> None:
    """Show a caption under a text that is too long to be part of the address."""
    if len(text) > url.MAX_TEXT_LENGTH:
        place.caption(t("text-too-long-for-link"))


def sentence_pair(first: str, second: str) -> tuple[str, str]:
    """Two text fields, A and B, shared by the pages that take a pair.

    Args:
        first, second: the examples that the fields open with.
    """
    left, right = st.columns(2)
    a = text_line(left, t("sentence-a"), first, key="a")
    b = text_line(right, t("sentence-b"), second, key="b", placeholder=t("sentence-b-optional"))
    return a, b


def choice(widget: Callable, label: str, names: dict[str, str], key: str, **settings) -> str:
    """A choice among values that may change while the page is open, for example with another file.

    Args:
        names: {value: text on screen}. The first value replaces one that is no longer offered.
    """
    options = list(names)
    if st.session_state.get(key, options[0]) not in options:
        del st.session_state[key]
    return url.choice(widget, label, options, key=key, format_func=names.get, **settings)


def column(place, label: str, guess: str, names: Sequence[str], key: str) -> str:
    """A choice of a table's column.

    Args:
        guess: the column that is selected at first; "" for none.
    """
    return choice(place.selectbox, label, {name: name or t("no-column") for name in (guess, *names)}, key)


def position(place, label: str, tokens: Sequence[str], default: int, *, key: str) -> int:
    """A choice of a position in a text by its token."""
    numbers = range(len(tokens))
    return url.integer_choice(
        place.selectbox, label, numbers, default, key=key, format_func=lambda at: f"{at} · {tokens[at]}"
    )


def hidden_state(widget: Callable, label: str, layers: int, default: int, *, key: str, **settings) -> int:
    """A choice of a hidden state: the embeddings, or the output of a layer, which has the layer's number.

    Args:
        layers: how many layers the model has.
        default: the choice at first.

    Returns:
        0 for the embeddings, n + 1 for the output of layer n. The address holds the same number.
    """
    names = [state_name(state) for state in range(layers + 1)]
    return url.integer_choice(
        widget, label, range(layers + 1), default, key=key, format_func=names.__getitem__, **settings
    )


def state_name(state: int) -> str:
    """What a hidden state is called: 0 is the embeddings, n + 1 the output of layer n."""
    return t("hidden-state-layer").format(state - 1) if state else t("hidden-state-embeddings")


def layer_and_head(config: ModelConfig, default: tuple[int, int] = (0, 0), prefix: str = "") -> tuple[int, int]:
    """Two number fields for a layer and a head, counted from zero as in the pictures.

    Args:
        prefix: of the address parameters; "" for the fields shared with the attention views.
    """
    with st.container(horizontal=True):
        counts = {"layer": config.num_layers, "head": config.num_heads}
        layer, head = (
            url.number(
                st.number_input, t(part), 0, count - 1, default[at], key=f"neuron.{prefix}{part}",
                name=f"{prefix}{part}", width=NUMBER_WIDTH,
            )
            for at, (part, count) in enumerate(counts.items())
        )  # fmt: skip
    return layer, head


def threshold(place, checkpoint: sessions.Checkpoint) -> float:
    """The slider of tau. It starts at the checkpoint's own threshold, or at 0 where it has none."""
    own = sessions.session(checkpoint).loaded.null_threshold or 0.0
    tuned = round(min(max(own, -TAU), TAU), 1)
    return url.number(place.slider, t("tau"), -TAU, TAU, tuned, key="tau", step=0.1, format="%.1f", help=t("tau-help"))


def zoomed(place) -> bool:
    """Choose how bars of probabilities are drawn: to a fixed scale of 0 to 100 %, or up to the longest bar."""
    names = {"full": t("bars-full"), "zoom": t("bars-zoom")}
    scale = url.choice(
        place.segmented_control, t("bars-scale"), list(names), key="bars", format_func=names.get, required=True,
        label_visibility="collapsed",
    )  # fmt: skip
    return scale == "zoom"

"""The part of the Before and after page that shows two to six models on one sentence, side by side."""

import streamlit as st

import bertlab
from bertlab.abilities.compare import side_by_side_figures as side_by_side
from bertlab.abilities.compare.side_by_side import ModelView, view_models
from bertlab.views.numbers import percent
from bertlab_app import calls, display, frame, plots, selection, url, url_fields
from bertlab_app.data import cached_results, sessions
from bertlab_app.examples import read_examples
from bertlab_app.i18n import language, t
from bertlab_app.parts import masked_text

MIN_MODELS, MAX_MODELS = 2, 6
NUM_CANDIDATES = 3  # how many candidates are shown for each mask
MAX_SAVED_TOKENS = 60  # the CSV file of a longer sentence contains only the values that the figure shows


def draw_models() -> None:
    """Let the user choose checkpoints and a sentence, and draw the tokens, candidates and attention of each model."""
    names = choose_models()
    if not MIN_MODELS <= len(names) <= MAX_MODELS:
        frame.note(t("compare-models-count", least=MIN_MODELS, most=MAX_MODELS))
        return
    checkpoints = tuple(sessions.find_checkpoint(name) for name in names)
    sentence = masked_text.draw_masked_text(read_examples(sessions.open_session(checkpoints[0]).language))
    if not sentence.text.strip():
        frame.note(t("fill-mask-empty"))
        return
    with st.spinner(t("compare-progress")):
        views = compute_views(checkpoints, sentence.masked_text, tuple(sentence.originals))
    display.table(make_table(views.result))
    st.subheader(t("compare-models-attention"), anchor=False)
    layer_name = url_fields.choice(
        st.segmented_control, t("compare-models-layer"), ["last", "middle", "first"], key="depth", required=True,
        format_func=lambda name: t(f"compare-models-{name}"), label_visibility="collapsed",
    )  # fmt: skip
    # a share of the layers, because models may have different numbers of them: 0 is the first layer, 1 the last one
    depth = {"first": 0.0, "middle": 0.5, "last": 1.0}[layer_name]
    is_short = max(len(view.tokens) for view in views.result) <= MAX_SAVED_TOKENS
    data = side_by_side.attention_columns(views.result, depth) if is_short else None
    plots.draw("model-attention", side_by_side.attention_maps, views, depth, data=data, lang=language())


def choose_models() -> list[str]:
    """Let the user choose shipped checkpoints, or type directories and hub ids. Return their names."""
    shipped = list(bertlab.find_shipped_checkpoints())
    stored = url.parse_value(url.recall("models"), [])
    chosen = [*(stored if isinstance(stored, list) else []), *st.session_state.get("models", [])]
    options = list(dict.fromkeys([*shipped, *(name for name in chosen if isinstance(name, str))]))
    default = (selection.list_shipped("masked_lm") or shipped)[:MIN_MODELS]
    return url_fields.multiple_choice(
        st.multiselect, t("compare-models-chosen"), options, default, key="models", accept_new_options=True,
        max_selections=MAX_MODELS, help=t("checkpoint-help"), placeholder=t("compare-models-placeholder"),
    )  # fmt: skip


def compute_views(
    checkpoints: tuple[sessions.CheckpointKey, ...], text: str, originals: tuple[str, ...]
) -> calls.Expression:
    """Call `view_models` for the chosen checkpoints. Return the views with the Python code that computes them."""
    names = [sessions.loadable_name(checkpoint) for checkpoint in checkpoints]
    load_calls = ", ".join(f"bertlab.load({name!r})" for name in names)
    models = calls.Expression(checkpoints, "sessions", ("import bertlab", f"sessions = [{load_calls}]"))
    views_call = calls.call_function(
        view_models, models, text, NUM_CANDIDATES, originals, compute_with=cached_results.view_checkpoints
    )
    return calls.assign("views", views_call)


def make_table(views: tuple[ModelView, ...]) -> dict[str, list[str]]:
    """Make the columns of the table: a row for each model, and a column for the predictions of each mask."""
    table = {
        t("compare-models-model"): [view.name for view in views],
        t("compare-models-family"): [view.family for view in views],
        t("compare-models-size"): [
            f"{view.layers}\u00a0×\u00a0{view.hidden}, {view.parameters / 1e6:.1f}\u00a0M" for view in views
        ],
        t("compare-models-tokens"): [
            f"{len(view.tokens)}: {' '.join(row.token for row in view.tokens if not row.special)}" for view in views
        ],
    }
    num_masks = max((len(view.fills or ()) for view in views), default=0)
    for mask in range(num_masks):
        title = t("fill-mask-mask-number", number=mask + 1)
        table[title] = [_format_fill(view, mask) for view in views]
    return table


def _format_fill(view: ModelView, mask: int) -> str:
    """Format the best candidates of a mask, with a tick at the word that the mask replaced."""
    if view.fills is None:
        return t("compare-models-no-masks")
    fill = view.fills[mask]
    original = fill.original.token if fill.original else None
    parts = [
        f"{row.token}{' ✓' if row.token == original else ''} {percent(row.probability)}" for row in fill.candidates
    ]
    if fill.original and original not in [row.token for row in fill.candidates]:
        parts.append(f"… {original} {percent(fill.original.probability)}")
    return ", ".join(parts)

"""Before and after: compare two checkpoints on one text, one checkpoint on two texts, or several checkpoints."""

from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from bertlab_app import calls, url
from bertlab_app.data import cached_results, sessions
from bertlab_app.examples import read_examples
from bertlab_app.i18n import language, t
from bertlab_app.widgets import display, fields, frame, masked_text, plots, selection, sentences

from bertlab.abilities.compare import figures as differences
from bertlab.abilities.compare import side_by_side_figures as side_by_side
from bertlab.abilities.compare.compute import Comparison, compare
from bertlab.abilities.compare.side_by_side import ModelView, view_models
from bertlab.checkpoints.locate import find_shipped_checkpoints
from bertlab.config.config import ModelConfig
from bertlab.views import columns
from bertlab.views.numbers import percent

MAX_LISTED_WORDS = 12  # further words that two vocabularies split differently are only counted
MAX_SAVED_TOKENS = 100  # for longer texts, the CSV files contain only what the figures show, not all token pairs
MIN_MODELS, MAX_MODELS = 2, 6
NUM_CANDIDATES = 3  # how many candidates are shown for each mask
MAX_SAVED_MODEL_TOKENS = 60  # the CSV file of a longer sentence contains only the values that the figure shows


def compare_inputs(
    first: sessions.CheckpointKey,
    second: sessions.CheckpointKey,
    texts: tuple[str, str],
    second_texts: tuple[str, str] | None,
) -> calls.Expression:
    # `cached_results.compare_checkpoints`, the cached version of `compare`, takes checkpoints instead of sessions
    session = calls.Expression(first, "session", checkpoint=first)
    other = calls.Expression(second, "other", (f"other = bertlab.load({sessions.loadable_name(second)!r})",))
    arguments = [texts[0], texts[1] or None, *((second_texts[0], second_texts[1] or None) if second_texts else ())]
    call = calls.call_function(compare, session, other, *arguments, compute_with=cached_results.compare_checkpoints)
    return calls.assign("comparison", call)


def show_alignment(comparison: Comparison, *, compares_texts: bool) -> None:
    """Show notes about the compared units: whether they are words instead of tokens, and how many are left out."""
    if comparison.unit_kind == "words":
        frame.note(t("compare-by-word"))
        list_words_split_differently(comparison)
    first, second = comparison.num_left_out
    if first or second:
        frame.note(t("compare-tokens-left-out", first=first, second=second))
    elif compares_texts:
        # one of the two notes is always shown, so that the figures do not move while the user types
        frame.note(t("compare-same-length"))


def list_words_split_differently(comparison: Comparison) -> None:
    """List the words that the two vocabularies split differently, with their tokens in each vocabulary."""
    units = {unit.label: unit for unit in comparison.units if unit.is_split_differently}
    if not units:
        frame.note(t("compare-words-split-alike"))
        return
    listed_units = list(units.values())[:MAX_LISTED_WORDS]
    display.table(
        {
            t("compare-split-word"): [unit.label for unit in listed_units],
            t("compare-checkpoint-before"): [" ".join(unit.first_tokens) for unit in listed_units],
            t("compare-checkpoint-after"): [" ".join(unit.second_tokens) for unit in listed_units],
        }
    )
    if len(units) > len(listed_units):
        frame.note(t("compare-more-words-split", count=len(units) - len(listed_units)))


def draw_heads(comparison: calls.Expression, config: ModelConfig) -> None:
    """Draw how much every head differs, and how the attention of one head differs."""
    result = comparison.result
    if not result.has_comparable_heads:
        frame.note(t("compare-different-head-counts"))
        return
    most_different_head = np.unravel_index(int(result.js_LN.argmax()), result.js_LN.shape)
    left, right = st.columns(2, gap="large")
    with right:
        st.subheader(t("compare-head"), anchor=False)
        chosen_head = fields.layer_and_head(config, tuple(map(int, most_different_head)), "compare.")
        draw_figure("head", differences.head_difference, comparison, *chosen_head, lang=language())
        display.sentence(sentences.compared_head(result, *chosen_head))
    with left:
        st.subheader(t("compare-heads"), anchor=False, help=t("compare-heads-help"))
        draw_figure(
            "heads", differences.head_differences, comparison, chosen=chosen_head, lang=language(),
            on_click=lambda data: fields.set_layer_and_head(*data[:2], "compare."),
        )  # fmt: skip
        display.sentence(sentences.compared_heads(result))
    display.explain("js_distance", "attention_difference")


def draw_layers(comparison: calls.Expression) -> None:
    """Draw the difference of every layer, and the tokens whose hidden states differ most."""
    result = comparison.result
    if result.cosine_distance_LU is None:
        st.subheader(t("compare-layers"), anchor=False)
        draw_figure("similarity", differences.layer_similarity, comparison, lang=language())
        display.sentence(sentences.compared_layers(result))
        display.explain("cka")
        return
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(t("compare-layers"), anchor=False)
        draw_figure("drift", differences.layer_differences, comparison, lang=language())
        display.sentence(sentences.compared_layers(result))
    with right:
        st.subheader(t(f"compare-changed-{result.unit_kind}"), anchor=False)
        last_index = len(result.cosine_distance_LU) - 1
        hidden_index = fields.hidden_state(st.select_slider, t("compare-at-layer"), last_index, last_index, key="moved")
        draw_figure("moved-most", differences.most_changed_tokens, comparison, hidden_index, lang=language())
        display.sentence(sentences.changed_tokens(result, hidden_index))
    display.explain("cka", "cosine_distance")


def draw_figure(
    key: str,
    function: Callable[..., go.Figure],
    comparison: calls.Expression,
    *values,
    on_click: Callable[[list], None] | None = None,
    **options,
) -> None:
    result = comparison.result
    # all token pairs of a long text would slow the page down
    data = getattr(columns, function.__name__)(result, *values) if len(result.units) <= MAX_SAVED_TOKENS else None
    plots.draw(key, function, comparison, *values, data=data, on_click=on_click, **options)


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
    layer_name = fields.choice(
        st.segmented_control, t("compare-models-layer"), ["last", "middle", "first"], key="depth", required=True,
        format_func=lambda name: t(f"compare-models-{name}"), label_visibility="collapsed",
    )  # fmt: skip
    # a share of the layers, because models may have different numbers of them: 0 is the first layer, 1 the last one
    depth = {"first": 0.0, "middle": 0.5, "last": 1.0}[layer_name]
    is_short = max(len(view.tokens) for view in views.result) <= MAX_SAVED_MODEL_TOKENS
    data = side_by_side.attention_columns(views.result, depth) if is_short else None
    plots.draw("model-attention", side_by_side.attention_maps, views, depth, data=data, lang=language())


def choose_models() -> list[str]:
    """Let the user choose shipped checkpoints, or type directories and hub ids."""
    shipped = list(find_shipped_checkpoints())
    stored = url.parse_value(url.recall("models"), [])
    chosen = [*(stored if isinstance(stored, list) else []), *st.session_state.get("models", [])]
    options = list(dict.fromkeys([*shipped, *(name for name in chosen if isinstance(name, str))]))
    default = (selection.list_shipped("masked_lm") or shipped)[:MIN_MODELS]
    return fields.multiple_choice(
        st.multiselect, t("compare-models-chosen"), options, default, key="models", accept_new_options=True,
        max_selections=MAX_MODELS, help=t("checkpoint-help"), placeholder=t("compare-models-placeholder"),
    )  # fmt: skip


def compute_views(
    checkpoints: tuple[sessions.CheckpointKey, ...], text: str, originals: tuple[str, ...]
) -> calls.Expression:
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
        table[title] = [format_fill(view, mask) for view in views]
    return table


def format_fill(view: ModelView, mask: int) -> str:
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


def choose_checkpoint(container, label: str, key: str, default: str) -> sessions.CheckpointKey:
    checkpoint_name = fields.text(
        container.selectbox, label, default, key=key, options=[sessions.AUTO, *find_shipped_checkpoints()],
        accept_new_options=True, help=t("checkpoint-help"),
    )  # fmt: skip
    if checkpoint_name == sessions.AUTO:
        return sessions.select_checkpoint("attention", language())
    return sessions.find_checkpoint(checkpoint_name)


def compare_two(comparison_kind: str) -> None:
    """Draw the fields and the figures of two checkpoints or two texts."""
    second_texts = None
    if comparison_kind == "checkpoints":
        left, right = st.columns(2)
        # "auto" takes the place of a checkpoint that is not shipped
        before, after = [*selection.list_shipped("comparison")[:2], sessions.AUTO, sessions.AUTO][:2]
        first = choose_checkpoint(left, t("compare-checkpoint-before"), "before", before)
        second = choose_checkpoint(right, t("compare-checkpoint-after"), "after", after)
        examples = read_examples(sessions.open_session(first).language)
        texts = fields.sentence_pair(*examples.pair)
    else:
        # the sidebar's field is disabled on this page, but the checkpoint selected in it is the default of this field
        default = st.session_state.get("opened", sessions.AUTO)
        first = second = choose_checkpoint(st.columns(2)[0], t("checkpoint"), "compare.checkpoint", default)
        examples = read_examples(sessions.open_session(first).language)
        st.html(f'<p class="small">{t("compare-first-text")}</p>')
        texts = fields.sentence_pair(*examples.pair)
        st.html(f'<p class="small">{t("compare-second-text")}</p>')
        left, right = st.columns(2)
        second_texts = (
            fields.text_line(left, t("sentence-a"), examples.pair[0], key="a2"),
            fields.text_line(right, t("sentence-b"), examples.changed_second_sentence, key="b2"),
        )
    filled_texts = [text for text in (*texts, *(second_texts or ())) if text]
    for checkpoint in dict.fromkeys((first, second)):
        selection.note_other_language(checkpoint, "attention", filled_texts)
    with st.container(key="comparison"), frame.show_errors(), st.spinner(t("compare-progress")):
        comparison = compare_inputs(first, second, texts, second_texts)
        show_alignment(comparison.result, compares_texts=second_texts is not None)
        draw_heads(comparison, sessions.open_session(first).config)
        draw_layers(comparison)


frame.heading("compare")
comparison_kind = fields.choice(
    st.segmented_control, t("compare-between"), ["checkpoints", "inputs", "models"], key="between", required=True,
    format_func=lambda kind: t(f"compare-{kind}"), label_visibility="collapsed",
)  # fmt: skip
with frame.show_errors():
    if comparison_kind == "models":
        draw_models()
    else:
        compare_two(comparison_kind)

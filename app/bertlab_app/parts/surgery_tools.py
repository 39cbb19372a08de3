"""The tools of the Head surgery page below the grid of heads: edit attention, patch hidden states, export the model.

The fields of the first two tools initially contain an example that changes the prediction, and a sentence says what the
change in the fields would do.
"""

import shlex

import numpy as np
import streamlit as st

from bertlab.abilities.results import TokenRow
from bertlab.abilities.surgery import syntax as changes
from bertlab.tasks.registry import TASK_TYPES
from bertlab.views.numbers import percent
from bertlab.views.passage import escape_html
from bertlab.views.token_labels import token_labels
from bertlab_app import fields, frame, selection, url_fields
from bertlab_app.data import cached_results, sessions
from bertlab_app.i18n import t
from bertlab_app.parts.surgery import SurgeryInput, name_outcome, parse_changes, store_changes


def _choose_position(container, tokens: tuple[TokenRow, ...], key: str, default: int = 0) -> int:
    names = token_labels(tokens)
    return fields.position(container, t("heads-position"), names, min(default, len(names) - 1), key=key)


def edit_attention(
    line: str, checkpoint: sessions.CheckpointKey, surgery_input: SurgeryInput, tokens: tuple[TokenRow, ...], other: str
) -> None:
    """Draw the fields that replace a row of attention: all weight on one position, equal weights, or typed weights."""
    st.caption(t("heads-row-lead"))
    config = sessions.open_session(checkpoint).config
    (default_layer, default_head, default_position), default_target = _find_example_row(surgery_input)
    default_layer, default_head = min(default_layer, config.num_layers - 1), min(default_head, config.num_heads - 1)
    containers = st.columns([1, 1, 2])
    layer = url_fields.number(
        containers[0].number_input, t("layer"), 0, config.num_layers - 1, default_layer, key="row.layer"
    )
    head = url_fields.number(
        containers[1].number_input, t("head"), 0, config.num_heads - 1, default_head, key="row.head"
    )
    position = _choose_position(containers[2], tokens, "row.from", default_position)
    method = url_fields.choice(
        st.segmented_control, t("heads-row-weights"), ["one", "uniform", "hand"], key="row.how", required=True,
        format_func=lambda method: t(f"heads-row-{method}"),
    )  # fmt: skip
    weights: list[tuple[int, float]] = []
    if method == "one":
        weights = [(_choose_position(st, tokens, "row.to", default_target), 1.0)]
    if method == "hand":
        probs_T = cached_results.compute(
            checkpoint,
            "attention_row",
            surgery_input.text,
            surgery_input.pair,
            layer=layer,
            head=head,
            position=position,
        )
        probs_T = probs_T.astype(float)  # 0.225 is slightly smaller in float32 and would be shown as 0.224
        token_column, current_column, new_column = t("heads-row-token"), t("heads-row-now"), t("heads-row-new")
        rows = {token_column: token_labels(tokens), current_column: probs_T.round(4), new_column: probs_T.round(3)}
        weight_column = st.column_config.NumberColumn(min_value=0.0, max_value=1000.0, step=0.001, format="%.3f")
        edited_rows = st.data_editor(
            rows, key=f"row-{layer}-{head}-{position}-{hash(surgery_input)}", disabled=[token_column, current_column],
            column_config={current_column: st.column_config.NumberColumn(format="%.4f"), new_column: weight_column},
            height=320,
        )  # fmt: skip
        weights = [
            (target, float(weight)) for target, weight in enumerate(edited_rows[new_column]) if weight and weight > 0
        ]
        st.caption(t("heads-row-scaled"))
    if method == "hand" and not weights:
        frame.note(t("heads-row-empty"), "error")
    part = changes.format_row_part((layer, head, position), weights)
    st.button(
        t("heads-apply"), on_click=store_changes, args=(changes.add(line, part, config.num_heads),), key="put-row",
        icon=":material/check:", disabled=method == "hand" and not weights,
    )  # fmt: skip
    if weights or method == "uniform":
        show_preview(line, part, checkpoint, surgery_input, other)


def patch_hidden_states(
    line: str, checkpoint: sessions.CheckpointKey, surgery_input: SurgeryInput, tokens: tuple[TokenRow, ...], other: str
) -> None:
    """Draw the fields that replace a hidden state with a hidden state of another text."""
    config = sessions.open_session(checkpoint).config
    other_tokens = cached_results.compute(checkpoint, "encode", other)
    default_target, default_source = _find_example_patch(surgery_input)
    containers = st.columns([3, 4, 3, 4], vertical_alignment="bottom")
    source_state = fields.hidden_state(
        containers[0].selectbox, t("heads-patch-from"), config.num_layers, default_source[0], key="patch.layer"
    )
    source_position = _choose_position(containers[1], other_tokens, "patch.from", default_source[1])
    target_state = fields.hidden_state(
        containers[2].selectbox, t("heads-patch-to"), config.num_layers, default_target[0], key="patch.into"
    )
    target_position = _choose_position(containers[3], tokens, "patch.to", default_target[1])
    part = changes.format_patch_part((target_state, target_position), (source_state, source_position))
    part_for_all = changes.format_patch_part((target_state, None), (source_state, None))
    with st.container(horizontal=True, gap="xsmall"):
        for key, name, button_part in (
            ("put-patch", t("heads-apply"), part), ("put-patch-all", t("heads-patch-all-positions"), part_for_all),
        ):  # fmt: skip
            st.button(
                name,
                on_click=store_changes,
                args=(changes.add(line, button_part, config.num_heads),),
                key=key,
                icon=":material/check:",
            )
    show_preview(line, part, checkpoint, surgery_input, other)
    st.caption(t("heads-patch-help"))


def _find_example_row(surgery_input: SurgeryInput) -> tuple[tuple[int, int, int], int]:
    """Find the initial row of "Edit attention": its (layer, head, position), and the position to attend to."""
    if (example_changes := _find_example(surgery_input)) is None:
        return (0, 0, 0), 0
    ((row, ((target, _),)),) = changes.resolve(example_changes[0], 1).rows.items()
    return row, target


def _find_example_patch(surgery_input: SurgeryInput) -> tuple[tuple[int, int], tuple[int, int]]:
    """Find the initial patch of "Patch hidden states": the target and the source, each (hidden state, position)."""
    if (example_changes := _find_example(surgery_input)) is None:
        return (0, 1), (0, 1)
    ((target, source),) = changes.resolve(example_changes[1], 1).patches.items()
    return target, source


def _find_example(surgery_input: SurgeryInput) -> tuple[str, str] | None:
    """Find the two example changes, a row and a patch, for the example text of a prediction; None for other texts."""
    examples = selection.examples_for(TASK_TYPES[surgery_input.kind].command)
    texts = {"masked_lm": (examples.masked_sentence, None), "sentence_pair": examples.pair}
    if (surgery_input.text, surgery_input.pair) != texts.get(surgery_input.kind, (examples.review, None)):
        return None
    return examples.surgery.get(surgery_input.kind)


def show_preview(
    line: str, part: str, checkpoint: sessions.CheckpointKey, surgery_input: SurgeryInput, other: str
) -> None:
    """Say what a change would do to the prediction, or that it is applied already."""
    if part in changes.split(line):
        st.caption(t("heads-preview-applied"))
        return
    config = sessions.open_session(checkpoint).config
    current, changed = (
        cached_results.compute(
            checkpoint,
            "intervene",
            *surgery_input.positional_arguments,
            changes=changed_line,
            other=other,
            mask=surgery_input.mask,
        )
        for changed_line in (line, changes.add(line, part, config.num_heads))
    )
    # in both results, the first outcome is the prediction without any changes
    names = [
        f"<b>{escape_html(name_outcome(change.kind, change.outcomes[change.top].label))}</b>"
        for change in (current, changed)
    ]
    word = name_outcome(current.kind, current.outcomes[0].label)
    shares = {"before": percent(current.outcomes[0].after), "after": percent(changed.outcomes[0].after)}
    sentence = t("heads-preview", word=f"<b>{escape_html(word)}</b>", **shares)
    if changed.top and names[0] != names[1]:
        sentence += " " + t("heads-preview-top", word=names[1], after=percent(changed.outcomes[changed.top].after))
    st.html(f'<p class="small" dir="auto">{sentence}</p>')


def show_export_command(line: str, checkpoint: sessions.CheckpointKey) -> None:
    """Show the command that exports the model without the ablated heads, and how much smaller the model gets."""
    config = sessions.open_session(checkpoint).config
    parsed_changes = parse_changes(line, config)
    st.caption(t("heads-export-lead"))
    if not parsed_changes.heads:
        frame.note(t("heads-export-no-heads"))
        return
    if parsed_changes.rows or parsed_changes.patches:
        st.caption(t("heads-export-heads-only"))
    ablated_heads = sorted(
        parsed_changes.heads & {(layer, head) for layer, head in np.ndindex(config.num_layers, config.num_heads)}
    )
    heads = ",".join(f"{layer}.{head}" for layer, head in ablated_heads)
    command = ["bertlab", "export", "pruned", "--checkpoint", sessions.loadable_name(checkpoint), "--prune", heads]
    st.code(shlex.join(command), language="bash", wrap_lines=True)
    # the weights of the query, key, value and output projection of one head, and the biases of the first three
    num_head_weights = 4 * config.hidden_size * config.head_size + 3 * config.head_size
    total = sum(parameter.numel() for parameter in sessions.open_session(checkpoint).model.parameters())
    num_vocabulary_weights = config.vocab_size * config.hidden_size
    shares = {
        "share": percent(num_head_weights * len(ablated_heads) / total),
        "vocabulary": percent(num_vocabulary_weights / total),
    }
    st.caption(t("heads-export-size", heads=len(ablated_heads), **shares))
    st.caption(t("heads-export-compatibility"))

"""Head surgery: ablate heads, edit attention or patch hidden states, and compare one prediction before and after."""

import shlex
from collections.abc import Callable
from dataclasses import astuple, dataclass

import numpy as np
import streamlit as st
from bertlab_app import calls, url
from bertlab_app.data import sessions
from bertlab_app.i18n import language, t
from bertlab_app.widgets import components, display, fields, frame, plots, selection, sentences

from bertlab.abilities.attention.roles import PATTERNS
from bertlab.abilities.results import HeadEffects, HeadRoles, PredictionChange, TokenRow
from bertlab.abilities.surgery import figures as change_figures
from bertlab.abilities.surgery import syntax as changes
from bertlab.abilities.surgery.figures import MIN_COLOUR_LIMIT
from bertlab.config.config import ModelConfig
from bertlab.config.errors import InterventionError
from bertlab.tasks.registry import TASK_TYPES, list_intervention_types
from bertlab.tasks.sentence_pair import PAIR_OBJECTIVES
from bertlab.text.tokenizers.encoding import MASK_NAMES
from bertlab.text.word_spans import MASK
from bertlab.views import columns
from bertlab.views.figures import DIVERGING
from bertlab.views.numbers import percent
from bertlab.views.palette import PALETTE
from bertlab.views.passage import escape_html
from bertlab.views.token_labels import token_labels

MAX_CHANGE_BUTTONS = 18  # how many changes have a button; further changes are only counted
# The texts of the grid that contain no values; their message ids begin with "heads-grid-".
GRID_TEXTS = ("label", "off", "toggle", "helps", "hurts", "unmeasured", "hint")
# Heads that help the prediction have the colour of positive values; heads that hurt it, the colour of negative values.
# "dark" and "light" are the backgrounds of the two themes.
GRID_COLOURS = {
    "helps": DIVERGING[-1][1], "hurts": DIVERGING[0][1],
    "dark": PALETTE["themes"]["dark"]["ground"], "light": PALETTE["themes"]["light"]["ground"],
}  # fmt: skip
# The values of `tool` in the address: "row" edits attention, "patch" replaces hidden states, "keep" shows the
# command that exports the pruned model, "map" draws the effects of all heads.
TOOLS = ("none", "row", "patch", "keep", "map")


@dataclass(frozen=True)
class SurgeryInput:
    """The input of `Session.intervene`, which compares a prediction for this input before and after the changes."""

    kind: str  # the name of a task type whose predictions interventions can change
    text: str  # the text, or the question
    pair: str | None  # the second text, or the passage; None if there is none
    mask: int = 0  # which [MASK] of the text is predicted, counted from 0

    @property
    def positional_arguments(self) -> tuple[str, str, str | None]:
        """The positional arguments of `Session.intervene` and `Session.head_effects`."""
        return self.kind, self.text, self.pair


def choose_surgery_input() -> SurgeryInput:
    """Draw the fields for the prediction and its texts, and return their values."""
    left, right = st.columns([4, 1])
    names = [task_type.name for task_type in list_intervention_types()]
    kind = fields.choice(
        left.segmented_control, t("heads-prediction"), names, key="ask", required=True, label_visibility="collapsed",
        format_func=lambda kind: t(f"heads-prediction-{kind}"),
    )  # fmt: skip
    examples = selection.examples_for(TASK_TYPES[kind].command)
    if kind == "sentence_pair":
        return SurgeryInput(kind, *fields.sentence_pair(*examples.pair))
    if kind == "span":
        question = fields.text_line(st, t("answer-question"), examples.questions[0], key="question")
        return SurgeryInput(kind, question, fields.passage(st, examples.passage, 130))
    if kind != "masked_lm":
        return SurgeryInput(kind, fields.text_line(st, t("heads-text"), examples.review, key="judged"), None)
    text = fields.text_line(st, t("heads-text"), examples.masked_sentence, key="masked", help=t("heads-text-help"))
    num_masks = sum(map(text.count, MASK_NAMES))
    if num_masks < 2:
        return SurgeryInput(kind, text, None)
    # the field stands beside the text, so that the page does not move when the user types a second [MASK]
    mask_number = fields.integer_choice(
        right.selectbox, t("heads-mask-number"), range(1, num_masks + 1), 1, key="which",
        format_func=f"{MASK} {{}}".format, label_visibility="collapsed",
    )  # fmt: skip
    return SurgeryInput(kind, text, None, mask_number - 1)


def recall_changes() -> str:
    """Return the line of changes in the address."""
    line = url.recall("changes")
    url.store("changes", line)
    fields.note_too_long_for_link(st, line)
    return line


def store_changes(line: str) -> None:
    url.store("changes", line)


def parse_changes(line: str, config: ModelConfig) -> changes.Changes:
    try:
        return changes.resolve(line, config.num_heads)
    except InterventionError:
        return changes.resolve("", config.num_heads)


def draw_change_buttons(line: str, config: ModelConfig) -> None:
    """Draw a button that removes each change, and two more buttons: undo the last change, and remove all changes."""
    parsed_changes = parse_changes(line, config)
    heads = range(config.num_heads)
    layers_off = [
        layer for layer in range(config.num_layers) if all((layer, head) in parsed_changes.heads for head in heads)
    ]
    heads_off = sorted(head for head in parsed_changes.heads if head[0] not in layers_off)
    # (text of a button, part of the line for its change). Adding the part again removes the change.
    buttons = [(t("heads-change-layer", layer=layer), f"{layer}s") for layer in layers_off]
    buttons += [(t("heads-change-head", layer=layer, head=head), f"{layer}.{head}") for layer, head in heads_off]
    for layer, head, position in parsed_changes.rows:
        buttons.append(
            (t("heads-change-row", layer=layer, head=head, position=position), f"r{layer}.{head}.{position}")
        )
    for hidden_index, position in parsed_changes.patches:
        position_code = changes.EVERY if position is None else str(position)
        name = (
            t("heads-change-all-patches", state=fields.name_hidden_state(hidden_index))
            if position is None
            else t("heads-change-patch", state=fields.name_hidden_state(hidden_index), position=position)
        )
        buttons.append((name, f"p{hidden_index}.{position_code}"))
    with st.container(horizontal=True, gap="xsmall", key="heads-undo"):
        st.button(
            t("heads-undo"),
            on_click=store_changes,
            args=(changes.undo(line),),
            disabled=not line,
            icon=":material/undo:",
        )
        st.button(
            t("heads-reset"), on_click=store_changes, args=("",), disabled=not line, icon=":material/restart_alt:"
        )
    with st.container(horizontal=True, gap="xsmall", key="heads-changes"):
        for name, part in buttons[:MAX_CHANGE_BUTTONS]:
            new_line, tooltip = changes.add(line, part, config.num_heads), t("heads-change-remove")
            st.button(name, key=f"back-{part}", on_click=store_changes, args=(new_line,), help=tooltip,
                      icon=":material/close:", type="tertiary")  # fmt: skip
        if len(buttons) > MAX_CHANGE_BUTTONS:
            st.caption(t("heads-change-more", count=len(buttons) - MAX_CHANGE_BUTTONS))
        if not buttons:
            st.caption(t("heads-no-changes"))


def call_head_effects(
    checkpoint: sessions.CheckpointKey, surgery_input: SurgeryInput, progress: Callable | None = None
) -> calls.Expression:
    """Compute `Session.head_effects` for an input, with the Python code that the page shows."""
    options = {"mask": surgery_input.mask, "progress": progress}
    return calls.call_session(checkpoint, "head_effects", *surgery_input.positional_arguments, **options)


def measure_effects(checkpoint: sessions.CheckpointKey, surgery_input: SurgeryInput, container) -> None:
    """Compute the effect of every head, layer by layer, with a progress bar."""
    bar = container.progress(0.0, t("heads-measuring"))
    call_head_effects(checkpoint, surgery_input, lambda share: bar.progress(share, t("heads-measuring")))
    st.session_state["heads.measured"] = (checkpoint, *astuple(surgery_input))
    url.write_address()
    st.rerun()


def draw_grid(line: str, config: ModelConfig, effects: HeadEffects | None, roles: HeadRoles) -> None:
    """Draw the grid of layers and heads to click, coloured by the effect of each head on the prediction."""
    texts = {name: t(f"heads-grid-{name}") for name in GRID_TEXTS} | {
        "layer": t("heads-grid-layer", layer="{layer}"),
        "head": t("heads-grid-head", layer="{layer}", head="{head}"),
        "effect": t("heads-grid-effect", effect="{effect}", before="{before}", after="{after}"),
        "role": t("heads-grid-role", role="{role}", share="{share}"),
        "roles": {
            role: t(f"heads-role-{role}") if role in PATTERNS else role
            for role in (*PATTERNS, *(name for names in roles.names_LN for name in names))
        },
    }
    roles_LN = [
        [[name, float(share)] for name, share in zip(names, shares, strict=True)]
        for names, shares in zip(roles.names_LN, roles.share_LN, strict=True)
    ]
    data = {
        "layers": config.num_layers, "heads": config.num_heads, "line": line, "texts": texts,
        "roles": roles_LN, "colours": GRID_COLOURS,
        # the last line that the grid sent, so that the grid can tell whether these data are older than its state
        "received": st.session_state.get("heads.received"),
        "off": [f"{layer}.{head}" for layer, head in sorted(parse_changes(line, config).heads)],
    }  # fmt: skip
    if effects is not None:
        data |= {
            "effects": effects.effects_LN.astype(float).round(4).tolist(),
            # the absolute change from which on the colours have their full strength
            "limit": max(float(np.abs(effects.effects_LN).max(initial=0)), MIN_COLOUR_LIMIT),
            "probabilities": effects.probabilities_LN.round(6).tolist(),
            "before": 1 / (1 + float(np.exp(-effects.log_odds))),
        }  # fmt: skip

    def store_new_line(new_line: str) -> None:
        st.session_state["heads.received"] = new_line
        store_changes(changes.shorten(new_line, config.num_heads))

    components.draw_head_grid(data, store_new_line)


def list_outcome_names(kind: str) -> dict[str, str]:
    """Return {label: the name shown in its place} for labels that have one."""
    if kind != "sentence_pair":
        return {"": t("heads-outcome-none")}
    return {
        label: t(f"next-sentence-{answer}-{name}")
        for name, objective in PAIR_OBJECTIVES.items()
        if objective
        for answer, label in zip(("yes", "no"), objective.labels, strict=True)
    }


def name_outcome(kind: str, label: str) -> str:
    """Return the name of an outcome of a task type in the language of the interface."""
    return list_outcome_names(kind).get(label, label)


def prediction_html(change: PredictionChange) -> str:
    old, new = change.outcomes[0], change.outcomes[change.top]  # the most probable outcome before and after
    old_name, new_name = (escape_html(name_outcome(change.kind, outcome.label)) for outcome in (old, new))
    sentence = t(
        "heads-before-after",
        word=f"<b>{old_name}</b>",
        before=percent(old.before),
        after=f"<b>{percent(old.after)}</b>",
    )
    if change.top:
        sentence += t("heads-most-probable-now", word=f"<b>{new_name}</b>", after=percent(new.after))
    return f'<p class="say" dir="auto">{sentence}</p>'


def choose_position(container, tokens: tuple[TokenRow, ...], key: str, default: int = 0) -> int:
    names = token_labels(tokens)
    return fields.position(container, t("heads-position"), names, min(default, len(names) - 1), key=key)


def edit_attention(
    line: str, checkpoint: sessions.CheckpointKey, surgery_input: SurgeryInput, tokens: tuple[TokenRow, ...], other: str
) -> None:
    """Draw the fields that replace a row of attention: all weight on one position, equal weights, or typed weights."""
    st.caption(t("heads-row-lead"))
    config = sessions.open_session(checkpoint).config
    (default_layer, default_head, default_position), default_target = find_example_row(surgery_input)
    default_layer, default_head = min(default_layer, config.num_layers - 1), min(default_head, config.num_heads - 1)
    containers = st.columns([1, 1, 2])
    layer = fields.number(
        containers[0].number_input, t("layer"), 0, config.num_layers - 1, default_layer, key="row.layer"
    )
    head = fields.number(containers[1].number_input, t("head"), 0, config.num_heads - 1, default_head, key="row.head")
    position = choose_position(containers[2], tokens, "row.from", default_position)
    method = fields.choice(
        st.segmented_control, t("heads-row-weights"), ["one", "uniform", "hand"], key="row.how", required=True,
        format_func=lambda method: t(f"heads-row-{method}"),
    )  # fmt: skip
    weights: list[tuple[int, float]] = []
    if method == "one":
        weights = [(choose_position(st, tokens, "row.to", default_target), 1.0)]
    if method == "hand":
        probs_T = calls.compute(
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
    other_tokens = calls.compute(checkpoint, "encode", other)
    default_target, default_source = find_example_patch(surgery_input)
    containers = st.columns([3, 4, 3, 4], vertical_alignment="bottom")
    source_state = fields.hidden_state(
        containers[0].selectbox, t("heads-patch-from"), config.num_layers, default_source[0], key="patch.layer"
    )
    source_position = choose_position(containers[1], other_tokens, "patch.from", default_source[1])
    target_state = fields.hidden_state(
        containers[2].selectbox, t("heads-patch-to"), config.num_layers, default_target[0], key="patch.into"
    )
    target_position = choose_position(containers[3], tokens, "patch.to", default_target[1])
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


def find_example_row(surgery_input: SurgeryInput) -> tuple[tuple[int, int, int], int]:
    """Find the initial row of "Edit attention": its (layer, head, position), and the position to attend to."""
    if (example_changes := find_example(surgery_input)) is None:
        return (0, 0, 0), 0
    ((row, ((target, _),)),) = changes.resolve(example_changes[0], 1).rows.items()
    return row, target


def find_example_patch(surgery_input: SurgeryInput) -> tuple[tuple[int, int], tuple[int, int]]:
    """Find the initial patch of "Patch hidden states": the target and the source, each (hidden state, position)."""
    if (example_changes := find_example(surgery_input)) is None:
        return (0, 1), (0, 1)
    ((target, source),) = changes.resolve(example_changes[1], 1).patches.items()
    return target, source


def find_example(surgery_input: SurgeryInput) -> tuple[str, str] | None:
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
        calls.compute(
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


frame.heading("heads")
surgery_input, line = choose_surgery_input(), recall_changes()
with frame.show_errors():
    checkpoint = selection.open_checkpoint(
        TASK_TYPES[surgery_input.kind].command, surgery_input.text, surgery_input.pair or ""
    )
    config = sessions.open_session(checkpoint).config
    # predict before anything is drawn, so that an error in the text is shown only once
    calls.compute(checkpoint, "intervene", *surgery_input.positional_arguments, mask=surgery_input.mask)
    tokens = calls.compute(checkpoint, "encode", surgery_input.text, surgery_input.pair)
    is_measured = st.session_state.get("heads.measured") == (checkpoint, *astuple(surgery_input))
    effects = call_head_effects(checkpoint, surgery_input) if is_measured else None
    left, right = st.columns([3, 2], gap="medium")
    with left.container(key="heads-measured"):
        progress_container = st.empty()  # the style sheet lays this first element over the grid
        draw_grid(
            line,
            config,
            effects and effects.result,
            calls.compute(checkpoint, "head_roles", surgery_input.text, surgery_input.pair),
        )
        draw_change_buttons(line, config)
        display.explain("head_effect", "patch_effect")
    tool = fields.choice(
        st.segmented_control, t("heads-tool"), list(TOOLS), key="tool", required=True,
        format_func=lambda tool: t(f"heads-tool-{tool}"),
    )  # fmt: skip
    example = selection.examples_for(TASK_TYPES[surgery_input.kind].command).other_masked_sentence
    other_text = url.recall("other", example)
    with frame.show_errors():
        if tool == "row":
            edit_attention(line, checkpoint, surgery_input, tokens, other_text)
        elif tool == "patch":
            st.caption(t("heads-patch-lead"))
            other_text = fields.text_line(st, t("heads-patch-other"), example, key="other")
            patch_hidden_states(line, checkpoint, surgery_input, tokens, other_text)
        elif tool == "keep":
            show_export_command(line, checkpoint)
        elif tool == "map" and effects is not None:
            data = columns.head_effects(effects.result)
            plots.draw("head-map", change_figures.head_map, effects, data=data, lang=language())
            display.sentence(
                sentences.head_effects(effects.result, name_outcome(effects.result.kind, effects.result.label))
            )
    url.store("other", other_text, example)
    with right.container(key="heads-result"), frame.show_errors():
        arguments = {"changes": line, "other": other_text, "mask": surgery_input.mask}
        change = calls.call_session(checkpoint, "intervene", *surgery_input.positional_arguments, **arguments)
        st.html(prediction_html(change.result))
        names = list_outcome_names(change.result.kind)
        options = {"names": names, "zoom": fields.zoom_switch(st), "lang": language()}
        data = columns.prediction_change(change.result)
        plots.draw("before-after", change_figures.before_after, change, data=data, is_shared=True, **options)
        if line:
            display.sentence(sentences.prediction_change(change.result, names))
        if TASK_TYPES[surgery_input.kind].interventions_cover_all_candidates:
            st.caption(t("heads-span-probabilities"))
    if effects is None:
        measure_effects(checkpoint, surgery_input, progress_container)

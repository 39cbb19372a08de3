"""Components of the Head surgery page: text fields, the grid of heads, and the list of changes.

The address holds all changes as one line of text (`bertlab.abilities.surgery.syntax`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import streamlit as st

from bertlab.abilities.attention.roles import PATTERNS
from bertlab.abilities.results import HeadEffects, HeadRoles, PredictionChange
from bertlab.abilities.surgery import syntax as changes
from bertlab.abilities.surgery.figures import MIN_COLOUR_LIMIT
from bertlab.config.config import ModelConfig
from bertlab.config.errors import InterventionError
from bertlab.tasks.registry import TASK_TYPES, list_intervention_types
from bertlab.tasks.sentence_pair import PAIR_OBJECTIVES
from bertlab.text.tokenizers.encoding import MASK_NAMES
from bertlab.text.word_spans import MASK
from bertlab.views.figures import DIVERGING
from bertlab.views.numbers import percent
from bertlab.views.palette import PALETTE
from bertlab.views.passage import escape_html
from bertlab_app import calls, components, fields, selection, url, url_fields
from bertlab_app.data import sessions
from bertlab_app.examples import Examples
from bertlab_app.i18n import t

MAX_CHANGE_BUTTONS = 18  # how many changes have a button; further changes are only counted
# The texts of the grid that contain no values; their message ids begin with "heads-grid-".
GRID_TEXTS = ("label", "off", "toggle", "helps", "hurts", "unmeasured", "hint")
# Heads that help the prediction have the colour of positive values; heads that hurt it, the colour of negative values.
# "dark" and "light" are the backgrounds of the two themes.
GRID_COLOURS = {
    "helps": DIVERGING[-1][1], "hurts": DIVERGING[0][1],
    "dark": PALETTE["themes"]["dark"]["ground"], "light": PALETTE["themes"]["light"]["ground"],
}  # fmt: skip


@dataclass(frozen=True)
class SurgeryInput:
    """The input of `Session.intervene`, which compares a prediction for this input before and after the changes."""

    kind: str  # the name of a task type whose predictions interventions can change (`supports_interventions`)
    text: str  # the text, or the question
    pair: str | None  # the second text, or the passage; None if there is none
    mask: int = 0  # Which [MASK] of the text is predicted, counted from 0

    @property
    def positional_arguments(self) -> tuple[str, str, str | None]:
        """The positional arguments of `Session.intervene` and `Session.head_effects`."""
        return self.kind, self.text, self.pair


def choose_surgery_input() -> SurgeryInput:
    """Draw the fields for the prediction and its texts, and return their values."""
    left, right = st.columns([4, 1])
    names = [task_type.name for task_type in list_intervention_types()]
    if (name_in_link := url.recall("ask", names[0])) in TASK_TYPES:  # an older link may contain an alias of a task type
        url.store("ask", TASK_TYPES[name_in_link].name, names[0])
    kind = url_fields.choice(
        left.segmented_control, t("heads-prediction"), names, key="ask", required=True, label_visibility="collapsed",
        format_func=lambda kind: t(f"heads-prediction-{kind}"),
    )  # fmt: skip
    examples = selection.examples_for(TASK_TYPES[kind].command)
    return _FIELDS.get(kind, _draw_text_field)(kind, examples, right)


def _draw_sentence_fields(kind: str, examples: Examples, right) -> SurgeryInput:
    return SurgeryInput(kind, *fields.sentence_pair(*examples.pair))


def _draw_question_fields(kind: str, examples: Examples, right) -> SurgeryInput:
    question = fields.text_line(st, t("answer-question"), examples.questions[0], key="question")
    return SurgeryInput(kind, question, fields.passage(st, examples.passage, 130))


def _draw_text_field(kind: str, examples: Examples, right) -> SurgeryInput:
    return SurgeryInput(kind, fields.text_line(st, t("heads-text"), examples.review, key="judged"), None)


def _draw_mask_fields(kind: str, examples: Examples, right) -> SurgeryInput:
    """Draw the field of a text with [MASK] and, in the column `right`, a choice of one of several [MASK]s."""
    text = fields.text_line(st, t("heads-text"), examples.masked_sentence, key="masked", help=t("heads-text-help"))
    num_masks = sum(map(text.count, MASK_NAMES))
    if num_masks < 2:
        return SurgeryInput(kind, text, None)
    widget_options = {"format_func": f"{MASK} {{}}".format, "label_visibility": "collapsed"}
    # the field stands beside the text, so that the page does not move when the user types a second [MASK]
    mask_number = url_fields.integer_choice(
        right.selectbox, t("heads-mask-number"), range(1, num_masks + 1), 1, key="which", **widget_options
    )
    return SurgeryInput(kind, text, None, mask_number - 1)


# task type -> the function that draws the fields of its texts; other task types have one text field
_FIELDS = {"masked_lm": _draw_mask_fields, "sentence_pair": _draw_sentence_fields, "span": _draw_question_fields}


# -- the line of changes -----------------------------------------------------------------------------------------


def recall_changes() -> str:
    """Return the line of changes in the address. Show a caption if the line is too long for a link."""
    line = url.recall("changes")
    url.store("changes", line)
    fields.note_too_long_for_link(st, line)
    return line


def store_changes(line: str) -> None:
    """Replace the line of changes in the address."""
    url.store("changes", line)


def parse_changes(line: str, config: ModelConfig) -> changes.Changes:
    """Parse a line of changes. An invalid line gives no changes here; `Session.intervene` reports its error."""
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


# -- the grid ------------------------------------------------------------------------------------------------------


def recall_effects(checkpoint: sessions.CheckpointKey, surgery_input: SurgeryInput) -> calls.Expression | None:
    """Return the effect of every head from the cache; None until `measure_effects` has computed it."""
    if st.session_state.get("heads.measured") != (checkpoint, surgery_input):
        return None
    return _call_head_effects(checkpoint, surgery_input)


def _call_head_effects(
    checkpoint: sessions.CheckpointKey, surgery_input: SurgeryInput, progress: Callable | None = None
) -> calls.Expression:
    """Compute `Session.head_effects` for an input, with the Python code that the page shows."""
    options = {"mask": surgery_input.mask, "progress": progress}
    return calls.call_session(checkpoint, "head_effects", *surgery_input.positional_arguments, **options)


def measure_effects(checkpoint: sessions.CheckpointKey, surgery_input: SurgeryInput, container) -> None:
    """Compute the effect of every head, layer by layer, with a progress bar. Then run the page again.

    A user action interrupts the computation. Finished layers are cached, so the page goes on with the next layer.
    """
    bar = container.progress(0.0, t("heads-measuring"))
    _call_head_effects(checkpoint, surgery_input, lambda share: bar.progress(share, t("heads-measuring")))
    st.session_state["heads.measured"] = (checkpoint, surgery_input)
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
            "effects": effects.effects_LN.astype(float).round(4).tolist(), "limit": find_colour_limit(effects),
            "probabilities": effects.probabilities_LN.round(6).tolist(),
            "before": 1 / (1 + float(np.exp(-effects.log_odds))),
        }  # fmt: skip

    def store_new_line(new_line: str) -> None:
        st.session_state["heads.received"] = new_line
        store_changes(changes.shorten(new_line, config.num_heads))

    components.draw_head_grid(data, store_new_line)


def find_colour_limit(effects: HeadEffects) -> float:
    """Return the absolute change of the log-odds from which on the colours of the grid have their full strength."""
    return max(float(np.abs(effects.effects_LN).max(initial=0)), MIN_COLOUR_LIMIT)


def list_outcome_names(kind: str) -> dict[str, str]:
    """Return {label: the name shown in its place} for labels that have one. The label of "no answer" is empty."""
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
    """Return one line of HTML with the probability of the prediction before and after the changes."""
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

"""The controls of head surgery: text fields, the grid of heads, the list of changes with undo, and the tools that add a
change. The address holds the changes as one line (`bertlab.explore.intervention_syntax`). Computes nothing.
"""

import shlex
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import streamlit as st

from bertlab.app import calls, components, fields, frame, selection, url
from bertlab.app.data import sessions
from bertlab.app.examples import Examples
from bertlab.app.i18n import t
from bertlab.config.config import ModelConfig
from bertlab.config.errors import InterventionError
from bertlab.explore import intervention_syntax as changes
from bertlab.explore.facts import HeadEffects, HeadRoles, PredictionChange, TokenRow
from bertlab.tasks.registry import TASK_TYPES, probe_types
from bertlab.text.word_spans import MASK
from bertlab.views.change_figures import MIN_COLOUR_LIMIT
from bertlab.views.figures import DIVERGING
from bertlab.views.numbers import percent
from bertlab.views.palette import PALETTE
from bertlab.views.passage import escape_html
from bertlab.views.token_labels import token_labels

MAX_BUTTONS = 18  # changes that get a button of their own
ROLES = ("previous", "next", "itself", "same")  # [CLS] and [SEP] have the same name in every language
GRID = ("label", "off", "toggle", "helps", "hurts", "unmeasured", "hint")
# a head that helps the prediction has the colour of positive values, one that hurts it that of negative values
COLOURS = {
    "helps": DIVERGING[-1][1], "hurts": DIVERGING[0][1],
    "dark": PALETTE["themes"]["dark"]["ground"], "light": PALETTE["themes"]["light"]["ground"],
}  # fmt: skip


@dataclass(frozen=True)
class ProbeInput:
    """The input of `Session.intervene`: the prediction that is observed under changes."""

    kind: str
    """The name of a task type that can be probed."""
    text: str
    """The text, or the question."""
    pair: str | None
    """The second text, or the passage; None for none."""
    mask: int = 0
    """Which [MASK] of the text is predicted, counted from zero."""

    @property
    def values(self) -> tuple[str, str, str | None]:
        """The positional arguments of `Session.intervene`."""
        return self.kind, self.text, self.pair


def probe_fields() -> ProbeInput:
    """The fields for the prediction that is observed and for its texts."""
    left, right = st.columns([4, 1])
    names = [task_type.name for task_type in probe_types()]
    if (linked := url.recall("ask", names[0])) in TASK_TYPES:  # older links use older names
        url.store("ask", TASK_TYPES[linked].name, names[0])
    kind = url.choice(
        left.segmented_control, t("heads-prediction"), names, key="ask", required=True, label_visibility="collapsed",
        format_func=lambda kind: t(f"heads-prediction-{kind}"),
    )  # fmt: skip
    examples = selection.examples_for(TASK_TYPES[kind].command)
    return FIELDS.get(kind, _text_field)(kind, examples, right)


def _sentence_fields(kind: str, examples: Examples, right) -> ProbeInput:
    return ProbeInput(kind, *fields.sentence_pair(*examples.pair))


def _question_fields(kind: str, examples: Examples, right) -> ProbeInput:
    question = fields.text_line(st, t("question-question"), examples.questions[0], key="question")
    passage = url.text(st.text_area, t("question-passage"), examples.passage, key="passage", height=130)
    fields.note_too_long_for_link(st, passage)
    return ProbeInput(kind, question, passage)


def _text_field(kind: str, examples: Examples, right) -> ProbeInput:
    return ProbeInput(kind, fields.text_line(st, t("heads-text"), examples.review, key="judged"), None)


def _mask_fields(kind: str, examples: Examples, right) -> ProbeInput:
    text = fields.text_line(st, t("heads-text"), examples.masked_sentence, key="masked", help=t("heads-text-help"))
    masks = text.count(MASK)
    if masks < 2:
        return ProbeInput(kind, text, None)
    named = {"format_func": f"{MASK} {{}}".format, "label_visibility": "collapsed"}
    # beside the text, so that a second [MASK] does not move the page
    mask = url.integer_choice(right.selectbox, t("heads-mask-number"), range(1, masks + 1), 1, key="which", **named)
    return ProbeInput(kind, text, None, mask - 1)


# task type -> the fields of its texts; a type without an entry has one text field
FIELDS = {"masked_lm": _mask_fields, "sentence_pair": _sentence_fields, "span": _question_fields}


# -- the line of changes -----------------------------------------------------------------------------------------


def stored_changes() -> str:
    """The line of changes in the address."""
    line = url.recall("changes")
    url.store("changes", line)
    fields.note_too_long_for_link(st, line)
    return line


def store_changes(line: str) -> None:
    """Replace the line of changes."""
    url.store("changes", line)


def parse_changes(line: str, config: ModelConfig) -> changes.Changes:
    """The changes of a line; none for an invalid line, which the prediction reports as an error."""
    try:
        return changes.resolve(line, config.num_heads)
    except InterventionError:
        return changes.resolve("", config.num_heads)


def change_buttons(line: str, config: ModelConfig) -> None:
    """A button for each change that removes it, and buttons that undo the last change or all of them."""
    parsed = parse_changes(line, config)
    whole = [n for n in range(config.num_layers) if all((n, head) in parsed.heads for head in range(config.num_heads))]
    single = sorted(head for head in parsed.heads if head[0] not in whole)
    shown = [(t("heads-change-layer", layer=layer), f"{layer}s") for layer in whole]
    shown += [(t("heads-change-head", layer=layer, head=head), f"{layer}.{head}") for layer, head in single]
    for layer, head, position in parsed.rows:
        shown.append((t("heads-change-row", layer=layer, head=head, position=position), f"r{layer}.{head}.{position}"))
    for layer, position in parsed.patches:
        place = changes.EVERY if position is None else str(position)
        name = (
            t("heads-change-all-patches", state=fields.name_hidden_state(layer))
            if position is None
            else t("heads-change-patch", state=fields.name_hidden_state(layer), place=place)
        )
        shown.append((name, f"p{layer}.{place}"))
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
        for name, part in shown[:MAX_BUTTONS]:
            back = changes.add(line, part, config.num_heads)
            st.button(name, key=f"back-{part}", on_click=store_changes, args=(back,), help=t("heads-change-remove"),
                      icon=":material/close:", type="tertiary")  # fmt: skip
        if len(shown) > MAX_BUTTONS:
            st.caption(t("heads-change-more", count=len(shown) - MAX_BUTTONS))
        if not shown:
            st.caption(t("heads-no-changes"))


# -- the grid ------------------------------------------------------------------------------------------------------


def measured_effects(checkpoint: sessions.Checkpoint, probe_input: ProbeInput) -> calls.Expression | None:
    """The effect of every head, or None until `measure_effects` has computed it."""
    if st.session_state.get("heads.measured") != (checkpoint, probe_input):
        return None
    return _effects(checkpoint, probe_input)


def _effects(
    checkpoint: sessions.Checkpoint, probe_input: ProbeInput, progress: Callable | None = None
) -> calls.Expression:
    options = {"mask": probe_input.mask, "progress": progress}
    return calls.call_session(checkpoint, "head_effects", *probe_input.values, **options)


def measure_effects(checkpoint: sessions.Checkpoint, probe_input: ProbeInput, place) -> None:
    """Compute the effect of every head, layer by layer, with a progress bar, then run the page again.

    Finished layers are cached: a user action interrupts the computation, and the next run continues from there.
    """
    bar = place.progress(0.0, t("heads-measuring"))
    _effects(checkpoint, probe_input, lambda share: bar.progress(share, t("heads-measuring")))
    st.session_state["heads.measured"] = (checkpoint, probe_input)
    url.write_address()
    st.rerun()


def grid(line: str, config: ModelConfig, effects: HeadEffects | None, roles: HeadRoles) -> None:
    """The grid of layers and heads to click, coloured by the effect of each head on the prediction."""
    texts = {name: t(f"heads-grid-{name}") for name in GRID} | {
        "layer": t("heads-grid-layer", layer="{layer}"),
        "head": t("heads-grid-head", layer="{layer}", head="{head}"),
        "effect": t("heads-grid-effect", effect="{effect}", before="{before}", after="{after}"),
        "role": t("heads-grid-role", role="{role}", share="{share}"),
        "roles": {role: t(f"heads-role-{role}") for role in ROLES} | {"[CLS]": "[CLS]", "[SEP]": "[SEP]"},
    }
    named = [
        [[name, float(share)] for name, share in zip(names, shares, strict=True)]
        for names, shares in zip(roles.names_LN, roles.share_LN, strict=True)
    ]
    data = {
        "layers": config.num_layers, "heads": config.num_heads, "log": line, "texts": texts, "roles": named,
        "colours": COLOURS,
        "received": st.session_state.get("heads.received"),
        "out": [f"{layer}.{head}" for layer, head in sorted(parse_changes(line, config).heads)],
    }  # fmt: skip
    if effects is not None:
        data |= {
            "effects": effects.effects_LN.astype(float).round(4).tolist(), "limit": colour_limit(effects),
            "probabilities": effects.probabilities_LN.round(6).tolist(),
            "before": 1 / (1 + float(np.exp(-effects.log_odds))),
        }  # fmt: skip

    def changed(new_line: str) -> None:
        st.session_state["heads.received"] = new_line
        store_changes(changes.shorten(new_line, config.num_heads))

    components.draw_head_grid(data, changed)


def colour_limit(effects: HeadEffects) -> float:
    """The change of log-odds at which the colours reach their full strength."""
    return max(float(np.abs(effects.effects_LN).max(initial=0)), MIN_COLOUR_LIMIT)


def prediction_line(change: PredictionChange, names: dict[str, str]) -> str:
    """The prediction before and after in one line of HTML."""
    first, top = change.outcomes[0], change.outcomes[change.top]
    word, now = (escape_html(names.get(outcome.label, outcome.label)) for outcome in (first, top))
    line = t(
        "heads-before-after",
        word=f"<b>{word}</b>",
        before=percent(first.before),
        after=f"<b>{percent(first.after)}</b>",
    )
    if change.top:
        line += t("heads-most-probable-now", word=f"<b>{now}</b>", after=percent(top.after))
    return f'<p class="say" dir="auto">{line}</p>'


# -- tools -----------------------------------------------------------------------------------------------------------


def _position_field(place, tokens: tuple[TokenRow, ...], key: str, default: int = 0) -> int:
    """A choice of a position by its token."""
    names = token_labels(tokens)
    return fields.position(place, t("heads-position"), names, min(default, len(names) - 1), key=key)


def row_tool(line: str, checkpoint: sessions.Checkpoint, probe_input: ProbeInput, tokens: tuple[TokenRow, ...]) -> None:
    """Set one row of attention: uniform, all on one position, or numbers typed by the user."""
    st.caption(t("heads-row-lead"))
    config = sessions.open_session(checkpoint).config
    cells = st.columns([1, 1, 2])
    layer = url.number(cells[0].number_input, t("layer"), 0, config.num_layers - 1, 0, key="row.layer")
    head = url.number(cells[1].number_input, t("head"), 0, config.num_heads - 1, 0, key="row.head")
    position = _position_field(cells[2], tokens, "row.from")
    how = url.choice(
        st.segmented_control, t("heads-row-weights"), ["uniform", "one", "hand"], key="row.how", required=True,
        format_func=lambda how: t(f"heads-row-{how}"),
    )  # fmt: skip
    weights: list[tuple[int, float]] = []
    if how == "one":
        weights = [(_position_field(st, tokens, "row.to"), 1.0)]
    if how == "hand":
        own_T = sessions.compute(
            checkpoint, "attention_row", probe_input.text, probe_input.pair, layer=layer, head=head, position=position
        )
        own_T = own_T.astype(float)  # 0.225 is slightly smaller in float32 and would be shown as 0.224
        now, new = t("heads-row-now"), t("heads-row-new")
        rows = {t("heads-row-token"): token_labels(tokens), now: own_T.round(4), new: own_T.round(3)}
        number = st.column_config.NumberColumn(min_value=0.0, max_value=1000.0, step=0.001, format="%.3f")
        edited = st.data_editor(
            rows, key=f"row-{layer}-{head}-{position}-{hash(probe_input)}", disabled=[t("heads-row-token"), now],
            column_config={now: st.column_config.NumberColumn(format="%.4f"), new: number}, height=320,
        )  # fmt: skip
        weights = [(at, float(weight)) for at, weight in enumerate(edited[new]) if weight and weight > 0]
        st.caption(t("heads-row-scaled"))
    if how == "hand" and not weights:
        frame.note(t("heads-row-empty"), "error")
    part = changes.row_part((layer, head, position), weights)
    st.button(
        t("heads-apply"), on_click=store_changes, args=(changes.add(line, part, config.num_heads),), key="put-row",
        icon=":material/check:", disabled=how == "hand" and not weights,
    )  # fmt: skip


def patch_tool(line: str, checkpoint: sessions.Checkpoint, other: str, tokens: tuple[TokenRow, ...]) -> None:
    """Patch a hidden state of another sentence into this one."""
    config = sessions.open_session(checkpoint).config
    other_tokens = sessions.compute(checkpoint, "encode", other)
    cells = st.columns([1, 2, 1, 2], vertical_alignment="bottom")
    from_layer = fields.hidden_state(cells[0].selectbox, t("heads-patch-from"), config.num_layers, 0, key="patch.layer")
    from_position = _position_field(cells[1], other_tokens, "patch.from", 1)
    layer = fields.hidden_state(cells[2].selectbox, t("heads-patch-to"), config.num_layers, 0, key="patch.into")
    position = _position_field(cells[3], tokens, "patch.to", 1)
    one = changes.patch_part((layer, position), (from_layer, from_position))
    every = changes.patch_part((layer, None), (from_layer, None))
    with st.container(horizontal=True, gap="xsmall"):
        for name, part in ((t("heads-apply"), one), (t("heads-patch-all-positions"), every)):
            st.button(
                name, on_click=store_changes, args=(changes.add(line, part, config.num_heads),), icon=":material/check:"
            )
    st.caption(t("heads-patch-help"))


def keep_tool(line: str, checkpoint: sessions.Checkpoint) -> None:
    """Show the command that removes the knocked-out heads permanently."""
    config = sessions.open_session(checkpoint).config
    parsed = parse_changes(line, config)
    st.caption(t("heads-export-lead"))
    if not parsed.heads:
        frame.note(t("heads-export-no-heads"))
        return
    if parsed.rows or parsed.patches:
        st.caption(t("heads-export-heads-only"))
    knocked_out = sorted(
        parsed.heads & {(layer, head) for layer, head in np.ndindex(config.num_layers, config.num_heads)}
    )
    heads = ",".join(f"{layer}.{head}" for layer, head in knocked_out)
    command = ["bertlab", "export", "pruned", "--checkpoint", sessions.short_name(checkpoint), "--prune", heads]
    st.code(shlex.join(command), language="bash", wrap_lines=True)
    weights = 4 * config.hidden_size * config.head_size + 3 * config.head_size
    total = sum(parameter.numel() for parameter in sessions.open_session(checkpoint).model.parameters())
    vocabulary = config.vocab_size * config.hidden_size
    shares = {"share": percent(weights * len(knocked_out) / total), "vocabulary": percent(vocabulary / total)}
    st.caption(t("heads-export-size", heads=len(knocked_out), **shares))
    st.caption(t("heads-export-compatibility"))

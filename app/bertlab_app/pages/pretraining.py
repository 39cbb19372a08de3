"""Pre-training by hand: draw a sentence pair and its masks from a text, and see the predictions and the losses."""

import streamlit as st
from bertlab_app import calls
from bertlab_app.data import sessions
from bertlab_app.i18n import language, t
from bertlab_app.widgets import display, fields, frame, plots, selection, sentences

from bertlab.abilities.pretraining_example import figures as pretraining
from bertlab.abilities.pretraining_example.compute import DrawSettings, read_documents
from bertlab.abilities.pretraining_example.results import ExampleLosses, PretrainingExample
from bertlab.config.languages import DEFAULT
from bertlab.text.pretraining.sentences import split_sentences
from bertlab.views.numbers import percent
from bertlab.views.passage import escape_html
from bertlab.views.shortening import shorten

MAX_DRAWS = 100  # the number of the last random draw; the running mean takes one forward pass for each draw
MAX_MASK_PERCENT = 60  # the highest share of tokens that are chosen for prediction, in percent
# slider -> its default, in percent of the tokens chosen for prediction
SHARES = {"mask-share": 80, "random-share": 10, "same-share": 10}
QUOTE_LENGTH = 80  # how many characters the page quotes from the document that contains a random sentence B


def choose_draw() -> int:
    """Show the field for the number of the random draw, and the buttons that go on to a later draw."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        button_containers = [st.container(width="content") for _ in range(2)]
        number = fields.number(
            st.number_input, t("pretraining-draw"), 1, MAX_DRAWS, 1, key="draw", width=150,
            help=t("pretraining-draw-help"),
        )  # fmt: skip
        buttons = (("pretraining-draw-again", 1, "primary"), ("pretraining-draw-more", 10, "secondary"))
        for container, (label, count, kind) in zip(button_containers, buttons, strict=True):
            container.button(
                t(label), key=f"draw-{count}", type=kind, icon=":material/casino:", on_click=advance, args=(count,),
                disabled=number == MAX_DRAWS,
            )  # fmt: skip
    return number


def advance(count: int) -> None:
    """Go on by `count` draws, before the page is drawn again."""
    st.session_state["draw"] = min(MAX_DRAWS, st.session_state["draw"] + count)


def choose_settings(objective: str) -> dict[str, object]:
    """Show the sliders and switches of the masking and the sentence pairs."""
    mask_container, *share_containers = st.container(key="shares").columns(4)
    settings = {"chosen_share": draw_slider(mask_container, "mask", 1, MAX_MASK_PERCENT, 15)}
    for container, (name, default) in zip(share_containers, SHARES.items(), strict=True):
        share = draw_slider(container, name, 0, 100, default, on_change=balance_shares, args=(name,))
        settings[name.replace("-", "_")] = share
    del settings["same_share"]  # not a field of `DrawSettings`, because it is 100 % minus the other two
    with st.container(horizontal=True):
        settings["whole_word"] = fields.flag(
            st.toggle, t("pretraining-whole-word"), key="whole-word", help=t("pretraining-whole-word-help")
        )
        is_order = fields.flag(
            st.toggle, t("pretraining-order"), key="order", default=objective == "order",
            help=t("pretraining-order-help"),
        )  # fmt: skip
    settings["pair_objective"] = "order" if is_order else "next"
    defaults = {"chosen_share": 15, "mask_share": 80, "random_share": 10, "whole_word": False, "pair_objective": "next"}
    return {
        name: value / 100 if type(value) is int else value
        for name, value in settings.items()
        if value != defaults[name]
    }


def draw_slider(container, name: str, low: int, high: int, default: int, **settings) -> int:
    """Draw a slider of a share in percent."""
    label, number_format = t(f"pretraining-{name}"), t("pretraining-percent")
    return fields.number(container.slider, label, low, high, default, key=name, format=number_format, **settings)


def balance_shares(changed_share: str) -> None:
    """After the user has moved one slider of `SHARES`, scale the other two so that all three add up to 100 %."""
    first, second = (name for name in SHARES if name != changed_share)
    state = st.session_state
    new_sum, old_sum = 100 - state[changed_share], state[first] + state[second]
    state[first] = round(new_sum * state[first] / old_sum) if old_sum else new_sum // 2
    state[second] = new_sum - state[first]


def show_pair(example: PretrainingExample, limit: int) -> None:
    """Show the drawn sentence pair: its label, the origin of sentence B, and every token with its replacement."""
    draw_text = t(f"pretraining-drawn-{example.pair_objective}-{example.label}", draw=example.seed)
    st.html(f'<p class="say">{draw_text}</p>')
    count = len(example.predictions)
    chosen_line = t(
        "pretraining-chosen", count=count, tokens=len(example.tokens), share=percent(count / len(example.tokens))
    )
    lines = [t("pretraining-odds"), chosen_line]
    if example.document_b is not None:
        first_sentence = shorten(split_sentences(example.document_b)[0], QUOTE_LENGTH)
        lines.insert(1, t("pretraining-document-b", text=first_sentence))
    st.html(f'<p class="small" dir="auto">{escape_html(" ".join(lines))}</p>')
    if example.text_sentences == 1:
        frame.note(t("pretraining-one-sentence"))
    if example.text_tokens > limit - 3:  # [CLS] and two [SEP] take three positions
        frame.note(t("pretraining-long-document", tokens=example.text_tokens, limit=limit))
    st.html(f'<div class="tokens">{pretraining.example_html(example, lang=language())}</div>')


def show_losses(example: PretrainingExample) -> None:
    """Show the losses of this draw and, if the sentence pair has none, a note that says why."""
    losses, pair = example.losses, example.pair
    cells = [(losses.mlm, t("pretraining-mlm-loss", count=len(example.predictions)))]
    if pair is not None:
        probability = 1 - pair.probability if example.label else pair.probability
        label = t(f"pretraining-label-{pair.objective}-{example.label}")
        name = t(f"pretraining-{pair.objective}-loss", label=label, probability=percent(probability))
        cells.append((losses.pair, name))
        cells.append((losses.total, t("pretraining-total-loss")))
    body = "".join(f"<div><b>{value:.2f}</b><span>{escape_html(name)}</span></div>" for value, name in cells)
    st.html(f'<div class="figures">{body}</div>')
    if pair is None:
        frame.note(t(f"pretraining-objective-{example.checkpoint_objective}"))


def show_predictions(example: calls.Expression) -> None:
    """Show the candidates for every predicted token, and the probability, rank and loss of the true one."""
    rows = example.result.predictions
    st.subheader(t("pretraining-answers"), anchor=False, help=t("pretraining-answers-help"))
    data = pretraining.candidate_columns(example.result)
    plots.draw("candidates", pretraining.candidate_grid, example, data=data, lang=language())
    display.sentence(sentences.predictions(example.result))
    notes = {kind: f" ({t(f'figure-replacement-{kind}')})" for kind in ("random", "unchanged")}
    display.table(
        {
            t("pretraining-token"): [
                f"{row.token} → {row.input_token}{notes.get(row.replacement_kind, '')}" for row in rows
            ],
            t("pretraining-probability"): [percent(row.probability) for row in rows],
            t("pretraining-rank"): [f"{row.rank:,}" for row in rows],
            t("pretraining-token-loss"): [f"{row.loss:.2f}" for row in rows],
        }
    )


def show_running_mean(checkpoint: sessions.CheckpointKey, text: str, draws: int, settings: dict[str, object]) -> None:
    st.subheader(t("pretraining-losses"), anchor=False, help=t("pretraining-losses-help"))
    bar = frame.progress_bar(st.empty(), "pretraining-progress")
    losses = calls.call_session(checkpoint, "pretraining_losses", text, draws, progress=bar, **settings)
    st.html(f'<p class="small">{escape_html(describe_means(losses.result))}</p>')
    data = pretraining.loss_columns(losses.result)
    plots.draw("losses", pretraining.loss_curves, losses, data=data, lang=language())


def describe_means(losses: tuple[ExampleLosses, ...]) -> str:
    names = ["mlm"] if losses[0].pair is None else ["mlm", "pair", "total"]
    means = [sum(getattr(row, name) for row in losses) / len(losses) for name in names]
    parts = [f"{t(f'figure-loss-{name}')} {mean:.2f}" for name, mean in zip(names, means, strict=True)]
    return t("pretraining-mean", draws=len(losses), losses=" · ".join(parts))


frame.heading("pretraining")
session = selection.find_session("fill-mask")
example_text = read_documents(session.language if session else DEFAULT)[0]
text = fields.text(
    st.text_area, t("pretraining-document"), example_text, key="document", height=120,
    help=t("pretraining-document-help"),
)  # fmt: skip
fields.note_too_long_for_link(st, text)
button_container = st.empty()  # reserves space, so that the page below is not redrawn when the button appears
if text != example_text:
    button_container.button(
        t("pretraining-example-text"), key="example-text", type="tertiary",
        on_click=st.session_state.__setitem__, args=("document", example_text),
    )  # fmt: skip
draw_number = choose_draw()
settings = choose_settings(session.loaded.pair_objective if session else "next")

with st.container(key="drawn"), frame.show_errors():
    checkpoint = selection.open_checkpoint("fill-mask", text)
    example = calls.call_session(checkpoint, "pretraining_example", text, draw_number, **settings)
    limit = min(DrawSettings.max_tokens, sessions.open_session(checkpoint).config.max_tokens)
    show_pair(example.result, limit)
    show_losses(example.result)
    show_predictions(example)
    display.explain("mask_shares", "mask_probability", "rank", "token_loss", "nsp_probability", "pretraining_loss")
    show_running_mean(checkpoint, text, draw_number, settings)

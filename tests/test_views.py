"""Payloads, figures and HTML of the views. test_attention_js.py tests their scripts in a browser."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from support.errors import raises_error
from support.view_facts import attention, decode, long_attention, neuron, rows

from bertlab.abilities.answer import span_attention
from bertlab.abilities.attention import bertviz_view
from bertlab.abilities.results import InputMap
from bertlab.config.errors import BertlabError, TextError
from bertlab.config.languages import render
from bertlab.tasks.masked_lm import Candidate, MaskFill, Original
from bertlab.tasks.sentence_pair import NextSentence
from bertlab.tasks.span.answer import Answer, Answers
from bertlab.text.tokenizers.subword import decode_byte_level
from bertlab.views import assets, curves, figures, html, passage, payload
from bertlab.views.token_labels import token_labels, word_indices

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--",
    "<img src=x onerror=alert(1)>",
    "%{x}",
    "&lt;b&gt;",
    "a\x00b\n",
]


def decoded(packed: bytes) -> tuple[dict, dict[int, np.ndarray]]:
    header, blocks = payload.unpack(packed)
    shape = (header["heads"], len(header["tokens"]), len(header["tokens"]))
    return header, {
        about["layer"]: decode(block, header["scale"]).reshape(shape)
        for about, block in zip(header["blocks"], blocks, strict=True)
        if about["kind"] == "layer"
    }


def test_attention_of_short_texts_is_packed_whole_and_almost_exactly():
    fact = attention()
    header, layers = decoded(payload.AttentionPack(fact).bytes())
    assert (header["layers"], header["heads"], sorted(layers)) == (3, 4, [0, 1, 2])
    assert header["tokens"] == [row.token for row in fact.tokens]
    assert header["segments"] == [row.segment for row in fact.tokens]
    assert header["hideable"] == [0, 8, 15]
    for layer, probs in layers.items():
        assert np.abs(probs - fact.probs_LNTT[layer]).max() <= header["error"] == 1e-5


def test_12_x_12_x_128_fits_a_megabyte_within_the_promised_error():
    fact = long_attention(128)
    packed = payload.AttentionPack(fact).bytes()
    header, layers = decoded(packed)
    assert len(packed) <= 1_000_000
    assert len(layers) == 12
    worst = max(np.abs(probs - fact.probs_LNTT[layer]).max() for layer, probs in layers.items())
    assert worst <= header["error"] == 0.004


@pytest.mark.parametrize("power", payload.POWERS)
def test_every_scale_stays_within_its_largest_error(power):
    probs = np.concatenate([np.linspace(0, 1, 5001), np.geomspace(1e-6, 1, 2000)]).astype(np.float32)
    codes = payload._make_code_table(power)[payload._quantise(probs)]
    back = decode(codes.tobytes(), {"bytes": 1, "power": power})
    assert np.abs(back - probs).max() <= 0.0041
    if power == 0.5:
        assert (np.abs(back - probs) <= np.sqrt(probs) / 255 + 1e-5).all()


def test_near_uniform_attention_also_fits():
    rng = np.random.default_rng(0)
    probs = rng.exponential(size=(12, 12, 128, 128)).astype(np.float32)
    probs /= probs.sum(-1, keepdims=True)
    packed = payload.AttentionPack(replace(long_attention(128), probs_LNTT=probs)).bytes()
    assert len(packed) <= 1_000_000


def test_long_attention_is_packed_as_thumbnails_and_visible_heads():
    fact = long_attention(512, layers=4, heads=12)
    pack = payload.AttentionPack(fact)
    first, other = pack.bytes(), pack.bytes({"view": "lines", "layer": 3})
    assert len(first) <= 1_000_000
    assert len(other) <= 5_000_000
    (header, blocks), (again, more) = payload.unpack(first), payload.unpack(other)
    kinds = [(about["kind"], about.get("layer"), about.get("head")) for about in header["blocks"]]
    assert kinds == [("thumbs", None, None), ("head", 0, 0)]
    assert [about.get("head") for about in again["blocks"]] == [None, *range(12)]
    assert header["id"] == again["id"]
    assert header["scale"] == again["scale"]
    head = decode(more[6], header["scale"]).reshape(512, 512)
    assert np.abs(head - fact.probs_LNTT[3, 5]).max() <= header["error"]
    thumbs = decode(blocks[0], header["scale"]).reshape(4, 12, 64, 64)
    assert thumbs[3, 5, 0, 0] == pytest.approx(fact.probs_LNTT[3, 5, :8, :8].max(), abs=0.004)
    assert thumbs[1, 2, 63, 7] == pytest.approx(fact.probs_LNTT[1, 2, 504:, 56:64].max(), abs=0.004)
    everything = decoded(payload.AttentionPack(fact).complete_bytes())[1]
    assert sorted(everything) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({}, (0, (0,))),
        ({"view": "matrix", "layer": 1, "head": 3}, (1, (3,))),
        ({"view": "lines", "layer": 1}, (1, (0, 1, 2, 3))),
        ({"view": "lines", "layer": 99, "heads": [2, 0, 77, "x"]}, (1, (0, 2))),
        ({"view": 5, "layer": "x", "head": True, "heads": {}}, (0, (0,))),
    ],
)
def test_the_state_of_a_view_determines_its_visible_heads(state, expected):
    assert payload.AttentionPack(long_attention(800, layers=2, heads=4)).visible_heads(state) == expected


def test_tokens_are_numbered_by_their_words():
    row = rows()[1]

    def numbers(*tokens):
        token_rows, start = [], 0
        for token in tokens:
            size = len(token.lstrip("#Ġ")) or 1
            start += token.startswith("Ġ")
            token_rows.append(replace(row, token=token, start=start, end=start + size))
            start += size
        return word_indices(token_rows)

    assert numbers("lamp", "##light", "##er", ".") == [0, 0, 0, 1]
    assert numbers("海", "边") == [0, 1], "characters of Chinese are tokens of their own"
    assert numbers("Ġlamp", "s", ",", "Ġand") == [0, 0, 1, 2]
    assert "words" not in payload.unpack(payload.AttentionPack(attention()).bytes())[0], "nothing to merge"


def test_thumbnails_of_a_length_that_is_no_multiple_of_their_size():
    fact = long_attention(141, layers=12, heads=12)
    header, blocks = payload.unpack(payload.AttentionPack(fact).bytes())
    thumbs = decode(blocks[0], header["scale"]).reshape(12, 12, 64, 64)
    bins = np.arange(141) * 64 // 141
    row, column = bins == 40, bins == 17
    assert thumbs[2, 3, 40, 17] == pytest.approx(fact.probs_LNTT[2, 3][row][:, column].max(), abs=0.004)


def test_the_id_changes_with_every_probability():
    fact = attention()
    changed = fact.probs_LNTT.copy()
    changed[2, 3, 5, [1, 2]] = changed[2, 3, 5, [2, 1]]
    facts = (fact, fact, replace(fact, probs_LNTT=changed))
    ids = [payload.unpack(payload.AttentionPack(f).bytes())[0]["id"] for f in facts]
    assert ids[0] == ids[1] != ids[2]


def test_options_change_without_touching_the_numbers():
    packed = payload.AttentionPack(attention()).bytes(options={"lang": "en"})
    other = payload.with_options(packed, {"lang": "ko", "state": {"layer": 2}})
    assert payload.unpack(other)[0]["options"] == {"lang": "ko", "state": {"layer": 2}}
    assert payload.unpack(other)[1] == payload.unpack(packed)[1]
    assert payload.with_options(other, {"lang": "en"}) == packed


def test_neuron_payload_is_exact():
    fact = neuron()
    header, blocks = payload.unpack(payload.neuron_bytes(fact))
    assert (header["layer"], header["head"], header["dimensions"]) == (1, 2, 8)
    arrays = [np.frombuffer(block, "<f4") for block in blocks]
    for array, expected in zip(arrays, (fact.query_TD, fact.key_TD, fact.scores_TT, fact.probs_TT), strict=True):
        np.testing.assert_array_equal(array, expected.ravel())


def test_facts_of_different_lengths_and_foreign_bytes_are_refused():
    fact = attention()
    with raises_error(BertlabError, "view-shape-mismatch", tokens=15):
        payload.AttentionPack(replace(fact, tokens=fact.tokens[1:])).bytes()
    with raises_error(BertlabError, "view-shape-mismatch", tokens=15):
        payload.neuron_bytes(replace(neuron(), tokens=fact.tokens[1:]))
    with raises_error(BertlabError, "view-payload-invalid"):
        payload.unpack(b"PK\x03\x04 something else")


def test_a_typed_mask_cannot_be_hidden():
    tokens = list(rows())
    tokens[3] = replace(tokens[3], token="[MASK]", special=True)
    header, _ = payload.unpack(payload.AttentionPack(replace(attention(), tokens=tuple(tokens))).bytes())
    assert header["hideable"] == [0, 8, 15]


def test_byte_level_tokens_become_characters():
    row = rows()[1]
    written = ["Ġlamp", "ìĺ¤ëŀĺ", "Ġíķ", "Ċ", "Ġ고"]  # the last is not of the byte-level alphabet
    shown = token_labels([replace(row, token=decode_byte_level(token)) for token in written])
    assert shown == ["Ġlamp", "오래", "Ġ⟨ed95⟩", "␊", "Ġ고"]


def test_pages_escape_tokens_and_titles():
    tokens = tuple(replace(row, token=token) for row, token in zip(rows(), HOSTILE * 3, strict=False))
    fact = replace(attention(), tokens=tokens)
    for page in (html.attention_html(fact, title=HOSTILE[0]), bertviz_view.head_view_html(fact)):
        assert "alert(1)</script>" not in page
        assert "<script>alert" not in page
        assert "<img" not in page
    assert html.attention_html(fact).lower().count("</script") == 2
    assert bertviz_view.head_view_html(fact).lower().count("</script") == 3


@pytest.mark.parametrize("page", [html.attention_html(attention()), html.neuron_html(neuron())])
def test_pages_load_nothing_from_other_hosts(page):
    page = page.replace("http://www.w3.org/2000/svg", "")  # a namespace, never fetched
    assert not re.search(r"https?://|//cdn", page)


def test_bertviz_page_is_small_rounded_and_for_short_inputs():
    page = bertviz_view.head_view_html(attention(), layer=1)
    assert not re.search(r"0\.\d{5,}", page[page.index("const PARAMS") : page.index("const whole")])
    assert '"layer":1' in page
    with raises_error(TextError, "bertviz-text-too-long", tokens=65):
        bertviz_view.head_view_html(long_attention(65, 1, 1))


@pytest.mark.parametrize("view", ["attention", "neuron"])
@pytest.mark.parametrize("host", ["streamlit", "jupyter", "page"])
def test_bundles_are_one_module_that_fetches_nothing(view, host):
    source = assets.bundle_for_host(view, host)
    source = source.replace("http://www.w3.org/2000/svg", "")  # a namespace, never fetched
    assert not re.search(r"^import |import\(|fetch\(|innerHTML|https?:|\beval\(", source, re.MULTILINE)
    assert len(re.findall(r"^function render\(", source, re.MULTILINE)) == 1
    assert not re.search(r"^export (?!default)", source, re.MULTILINE), (
        "anywidget would treat a named export as its own"
    )
    assert source.count("export default") == (host != "page")
    assert "</" not in source


def test_widgets_send_the_layer_and_heads_in_view():
    from bertlab.views.widget import AttentionWidget, NeuronWidget

    def sent():
        blocks = payload.unpack(widget.payload)[0]["blocks"]
        return [(about["layer"], about["head"]) for about in blocks if about["kind"] == "head"]

    widget = AttentionWidget(long_attention(), state={"layer": 2, "head": 3})
    assert sent() == [(2, 3)]
    widget.state = {**widget.state, "layer": 7}
    assert sent() == [(7, 3)]
    widget.state = {**widget.state, "view": "lines"}
    assert sent() == [(7, head) for head in range(12)]
    widget.state = {**widget.state, "heads": [4, 6]}
    assert sent() == [(7, 4), (7, 6)]
    assert widget.figure().data[0].name == "layer 7, head 4"
    assert "<h1>" in widget.html()
    widget.show(attention())
    assert sorted(decoded(widget.payload)[1]) == [0, 1, 2]
    assert widget.state["layer"] == 7

    opened = NeuronWidget(neuron(), state={"token": 3})
    before = opened.payload
    assert payload.unpack(before)[0]["kind"] == "neuron"
    np.testing.assert_allclose(opened.figure().data[1].y, neuron().probs_TT[3], atol=1e-5)
    opened.show(neuron(seed=1))
    assert opened.payload != before
    assert opened.state == {"token": 3}


@pytest.mark.parametrize(("lang", "title", "layer"), [("en", "Attention", "Layer"), ("ko", "어텐션", "레이어")])
def test_pages_are_in_the_language_of_the_reader(lang, title, layer):
    from bertlab.views.widget import AttentionWidget

    widget = AttentionWidget(attention(), lang=lang)
    for page in (html.attention_html(attention(), options={"lang": lang}), widget.html()):
        assert f'<html lang="{lang}">' in page
        assert f"<h1>{title}</h1>" in page
    page = bertviz_view.head_view_html(attention(), lang=lang)
    assert f'<html lang="{lang}">' in page
    assert f"<span>{layer}: " in page
    assert render("figure-layer-head", lang, layer=0, head=0) == widget.figure().data[0].name


def test_mask_bars_put_the_likeliest_on_top():
    fill = MaskFill(3, 4, 10, (Candidate("sat", 5, 0.75), Candidate("2024", 6, 0.2), Candidate("<b>", 7, 0.0002)))
    figure = figures.mask_bars(fill)
    bars = figure.data[0]
    assert list(bars.x) == [0.0002, 0.2, 0.75]
    assert list(figure.layout.yaxis.ticktext) == ["&lt;b&gt;", "2024", "sat"]
    assert list(bars.text) == ["< 0.1%", "20.0%", "75.0%"]
    assert "<b>" not in figure.to_json()
    assert figures.mask_bars(MaskFill(0, 0, 0, ())).data[0].x == ()


def test_bars_of_probabilities_have_a_fixed_scale_unless_zoomed():
    low, high = (MaskFill(0, 0, 0, (Candidate("tea", 5, probability),)) for probability in (0.08, 0.7))
    assert figures.mask_bars(low).layout.xaxis.range == figures.mask_bars(high).layout.xaxis.range
    assert figures.mask_bars(low, zoom=True).layout.xaxis.range[1] < 0.1


def test_the_original_token_has_a_bar_and_its_rank():
    candidates = (Candidate("sat", 5, 0.75), Candidate("lay", 6, 0.2))
    among = figures.mask_bars(MaskFill(0, 0, 0, candidates, Original("lay", 6, 0.2, 2))).data[0]
    assert list(among.marker.line.width) == [3, 0]
    assert among.text[0].endswith("rank 2")
    below = figures.mask_bars(MaskFill(0, 0, 0, candidates, Original("stood", 9, 0.001, 1204))).data[0]
    assert list(below.x) == [0.001, 0.2, 0.75]
    assert below.text[0].endswith("rank 1,204")


def test_span_curves_have_a_point_for_each_word():
    text = "The <b>mill</b> stood by the river"
    words = tuple((m.start(), m.end()) for m in re.finditer(r"\S+", text))
    start, end = (0.1, 0.7, 0.1, 0.05, 0.03, 0.02), (0.0, 0.9, 0.0, 0.05, 0.03, 0.02)
    best = Answer("<b>mill</b>", 4, 15, 3.0, 0.8)
    answers = Answers((best,), 0.0, 0.1, words, start, end, ((0, len(text)),), 0)
    figure = figures.span_curves(answers, text, lang="ko")
    assert [trace.name for trace in figure.data] == ["시작", "끝"]
    assert tuple(figure.data[0].y) == start
    assert tuple(figure.data[1].y) == end
    assert tuple(figure.layout.yaxis.range) == (0, 1.05), "one scale for all answers"
    assert figures.span_curves(replace(answers, start_probs=(0.1,) * 6, end_probs=(0.2,) * 6), text, zoom=True).layout[
        "yaxis"
    ]["range"][1] == pytest.approx(0.21)
    assert figure.layout.xaxis.ticktext[1] == "&lt;b&gt;mill&lt;/b&gt;"
    assert (figure.layout.shapes[0].x0, figure.layout.shapes[0].x1) == (0.5, 1.5)
    assert figures.span_curves(replace(answers, answers=(), words=(), start_probs=(), end_probs=()), "").data


def test_span_curves_name_no_more_words_than_fit():
    count = 400
    words = tuple((2 * i, 2 * i + 1) for i in range(count))
    answers = Answers((), 0.0, 1.0, words, (0.0,) * count, (0.0,) * count, ((0, 2 * count),), 0)
    assert len(figures.span_curves(answers, "a " * count).layout.xaxis.tickvals) <= 40


def test_embedding_strips_show_three_embeddings_and_their_sum():
    tokens = rows()
    rng = np.random.default_rng(0)
    parts = rng.normal(size=(4, len(tokens), 128))
    figure = figures.embedding_strips(InputMap(tokens, *parts))
    assert len(figure.data) == 4
    assert np.array(figure.data[2].z).shape == (len(tokens), 96)
    np.testing.assert_allclose(np.array(figure.data[3].z), parts[3][:, :96], atol=1e-4)
    assert list(figure.layout.yaxis.ticktext) == [row.token for row in tokens]
    parts[1] = 0
    without_positions = figures.embedding_strips(InputMap(tokens, *parts))
    assert len(without_positions.data) == 3
    assert without_positions.layout.xaxis3.domain[1] == pytest.approx(1)


@pytest.mark.parametrize("probability", [0.0, 0.25, 1.0])
def test_nsp_gauge_is_cut_at_the_probability(probability):
    figure = figures.nsp_gauge(NextSentence(probability), labels=("<u>next</u>", "not"))
    assert [trace.x[0] for trace in figure.data] == [probability, 1 - probability]
    assert "<u>" not in figure.to_json()


@pytest.mark.parametrize("text", HOSTILE)
def test_plotly_reads_no_markup_in_safe_text(text):
    assert not re.search(r"<[^ ]|%\{|[\x00-\x1f]", figures.escape_markup(text))


def test_highlight_marks_the_spans_and_nothing_else():
    text = "In <b>1911</b> a flood carried its wheel away.\n오래 전 일이다."
    flood = text.index("a flood")
    marked = passage.highlight(text, [Answer("a flood", flood, flood + 7, 3.0, 0.8), Answer("", 0, 2, 1.0, 0.05)])
    assert unescape(re.sub(r"<[^>]*>", "", marked)) == text
    assert re.findall(r"<mark[^>]*>([^<]*)", marked) == ["a flood"]
    assert "<mark" not in passage.highlight(text, [])


@pytest.mark.parametrize("text", [*HOSTILE, "", "\ud800 alone", "שלום 👩‍👩‍👧 世界"])
def test_passages_show_any_text_as_it_is(text):
    marked = passage.highlight(text, [Answer("", 0, 10_000, 1.0, 0.5)])
    assert not re.search(r"<(script|img|!--)", marked)
    marked.encode()
    shown = unescape(re.sub(r"</?(div|mark)[^>]*>", "", marked))
    assert shown == text.encode("utf-8", "replace").decode() or "\x00" in text


def test_tokens_tell_sentences_apart_without_colour():
    marked = passage.tokens_html(rows())
    assert [unescape(word) for word in re.findall(r">([^<]+)</bdi>", marked)] == [row.token for row in rows()]
    assert marked.count("2px solid") == 7
    assert marked.count("2px dashed") == 6
    assert marked.count("2px dotted") == 3
    hostile = [replace(row, token=token) for row, token in zip(rows(), HOSTILE, strict=False)]
    assert not re.search(r"<(script|img|!--)", passage.tokens_html(hostile))


def test_the_hover_text_of_a_head_names_its_layer_only_once():
    """The tick beside a row says "layer 3" already, and Plotly puts the tick into the hover text."""
    template = span_attention.heads_map(np.full((2, 3), 0.1), 0.1, axes=("head", "layer")).data[0].hovertemplate
    assert "layer" not in template
    assert template.startswith("%{y}")


def test_ticks_of_small_shares_are_distinct_and_large_counts_short():
    drawn = span_attention.heads_map(np.array([[0.0005, 0.0015]]), 0.001)
    assert drawn.data[0].marker.colorbar.tickformat == figures.PERCENT_TICKS == ".3~p"
    rows = [{"step": 1, "tokens": 3718849, "loss": 2.0}, {"step": 2, "tokens": 7437698, "loss": 1.5}]
    axis = curves.run_curves({"run": rows}, "loss").layout.xaxis
    assert (axis.tickformat, axis.hoverformat) == (".3~s", ",.0f")
